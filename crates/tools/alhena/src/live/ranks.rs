//! Lists of ranks for people.

/// `0-3, 7` for these ranks, which are in order.
pub fn list(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    let words = runs.iter().map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn neighbours_are_one_word() {
        assert_eq!(super::list(&[0, 1, 2, 3, 7, 9, 10]), "0-3, 7, 9, 10");
        assert_eq!(super::list(&[]), "");
    }
}

//! Lists of ranks for people.

/// The runs of neighbours among ranks that are in order, as the first and the last of each.
pub fn runs(ranks: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    ranks.chunk_by(|a, b| a.checked_add(1) == Some(*b)).map(|run| (run[0], run[run.len() - 1]))
}

/// `0-3, 7` for these ranks, which are in order.
pub fn list(ranks: &[u32]) -> String {
    let words = runs(ranks).map(|(first, last)| match last - first {
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

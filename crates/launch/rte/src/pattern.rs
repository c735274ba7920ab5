//! File name patterns for output: `%r` rank, `%a` program index, `%h` host, `%p` mpiexec's pid, `%%` percent.

/// What a pattern can name.
pub struct Names<'a> {
    /// Rank in the job.
    pub rank: usize,
    /// Index of the program (also `%g`, the process group of MPICH's patterns).
    pub app: usize,
    /// Name of this host.
    pub host: &'a str,
    /// Process id of mpiexec.
    pub pid: u32,
}

/// Fills `pattern` in. Unknown letters stay as they are.
pub fn expand(pattern: &str, names: &Names<'_>) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('r') => out.push_str(&names.rank.to_string()),
            Some('a' | 'g') => out.push_str(&names.app.to_string()),
            Some('h') => out.push_str(names.host),
            Some('p') => out.push_str(&names.pid.to_string()),
            Some('%') => out.push('%'),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
        rest = after.as_str();
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_filled_in() {
        let names = Names { rank: 3, app: 1, host: "node7", pid: 42 };
        assert_eq!(expand("out/%h.%r-%a.%p%%x%z%", &names), "out/node7.3-1.42%x%z%");
        assert_eq!(expand("plain", &names), "plain");
    }
}

//! The transports between the ranks, as `-report` prints them: the ranks of a host report, equal lines are printed once.

use std::fmt::Write;

use super::Proxy;
use hardware::CpuSet;

impl Proxy {
    /// `rank` has reported its transports. All ranks of this host have: prints what they are.
    pub(super) fn transports(&mut self, rank: usize, text: String) {
        self.reports.push((self.job.world[rank], text));
        if self.reports.len() < self.ranks.len() {
            return;
        }
        let table = table(&std::mem::take(&mut self.reports), &self.job.host);
        self.note(&table);
    }
}

/// Reports of ranks, joined where they are the same.
fn table(reports: &[(u32, String)], host: &str) -> String {
    let mut rows: Vec<(&str, Vec<u32>)> = Vec::new();
    for (rank, line) in reports.iter().flat_map(|(rank, text)| text.lines().map(move |line| (*rank, line))) {
        match rows.iter_mut().find(|(other, _)| *other == line) {
            Some((_, ranks)) => ranks.push(rank),
            None => rows.push((line, vec![rank])),
        }
    }
    let mut text = format!("mpiexec: transports on {host}:\n");
    for (line, ranks) in rows {
        let ranks: CpuSet = ranks.into_iter().collect();
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or("");
        let (to, transport, why) = (field(), field(), field());
        let _ = writeln!(text, "  {:24} {transport:6} {why}", format!("ranks {ranks} to {to}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_one() {
        let reports = [(1, "themselves\tself\tw\nranks 0-1\tvader\tx\n".to_owned())];
        let both = [reports[0].clone(), (0, reports[0].1.clone())];
        let text = table(&both, "here");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("ranks 0-1 to themselves") && text.contains("vader  x"), "{text}");
    }
}

//! Times of all hosts by rank 0's clock.

use std::collections::HashMap;

use trace::events::{Look, Snapshot};

/// The clocks of hosts, by name.
pub struct Clocks {
    /// Rank 0's host.
    first: String,
    looks: HashMap<String, Vec<Look>>,
}

impl Clocks {
    /// Those of the hosts of these ranks.
    pub fn of(all: &[Snapshot]) -> Clocks {
        let first = all.iter().min_by_key(|one| one.rank).map(|one| one.names.host.clone());
        let looks = all.iter().filter(|one| !one.looks.is_empty());
        let looks = looks.map(|one| (one.names.host.clone(), one.looks.clone())).collect();
        Clocks { first: first.unwrap_or_default(), looks }
    }

    /// A time of a host by rank 0's clock. Between two looks the clocks drift apart evenly.
    pub fn align(&self, host: &str, time: u64) -> u64 {
        let ahead = match self.looks.get(host).map(Vec::as_slice) {
            None | Some([]) => 0,
            Some([one]) => one.ahead,
            Some([begin, .., end]) => {
                let (whole, part) = (end.when.saturating_sub(begin.when), time as f64 - begin.when as f64);
                let drift = if whole == 0 { 0.0 } else { (end.ahead - begin.ahead) as f64 / whole as f64 };
                begin.ahead + (drift * part) as i64
            }
        };
        time.saturating_add_signed(ahead)
    }

    /// By how much such a time may be wrong; `None`: that is not known.
    pub fn uncertainty(&self, host: &str) -> Option<u64> {
        if host == self.first {
            return Some(0);
        }
        self.looks.get(host)?.iter().map(|look| look.uncertainty).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interpose::shared::Names;

    fn rank(rank: u32, host: &str, looks: Vec<Look>) -> Snapshot {
        let names = Names { host: host.to_owned(), ..Names::default() };
        Snapshot { rank, names, looks, ..Snapshot::default() }
    }

    #[test]
    fn clocks_that_drift_are_aligned() {
        let look = |when, ahead| Look { when, ahead, uncertainty: 3 };
        let looks = vec![look(1_000, 500), look(2_000, 600)];
        let clocks = Clocks::of(&[rank(0, "a", vec![]), rank(1, "b", looks), rank(2, "c", vec![])]);
        assert_eq!(clocks.align("a", 7), 7);
        assert_eq!(clocks.align("b", 1_000), 1_500);
        assert_eq!(clocks.align("b", 1_500), 2_050);
        assert_eq!(clocks.align("b", 3_000), 3_700);
        assert_eq!(["a", "b", "c"].map(|host| clocks.uncertainty(host)), [Some(0), Some(3), None]);
    }
}

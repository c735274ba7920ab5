//! Which atomic operations on the same word may be under way together: networks do them in any order, above all when
//! one must be posted again.

use btl::Atomic;

/// Atomic operations of this process under way in the memory of one peer.
#[derive(Clone, Debug, Default)]
pub struct UnderWay {
    /// Address of the word, and what may be done to it meanwhile.
    words: Vec<(u64, Kind)>,
}

/// What operations on a word may overtake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Add,
    And,
    Or,
    Xor,
    /// No other operation.
    Alone,
}

impl Kind {
    /// Operations that fetch nothing may overtake those of the same kind: the word is the same in the end.
    fn of(change: Atomic, fetches: bool) -> Kind {
        match change {
            _ if fetches => Kind::Alone,
            Atomic::Add(_) => Kind::Add,
            Atomic::And(_) => Kind::And,
            Atomic::Or(_) => Kind::Or,
            Atomic::Xor(_) => Kind::Xor,
            Atomic::Swap(_) | Atomic::CompareSwap { .. } => Kind::Alone,
        }
    }
}

impl UnderWay {
    /// Notes that an operation on `word` begins; `false`: it must wait for others, and is not noted.
    pub fn begin(&mut self, word: u64, change: Atomic, fetches: bool) -> bool {
        let kind = Kind::of(change, fetches);
        let together = |other: Kind| kind == other && kind != Kind::Alone;
        if self.words.iter().any(|&(other, its)| other == word && !together(its)) {
            return false;
        }
        self.words.push((word, kind));
        true
    }

    /// An operation on `word` is over.
    pub fn end(&mut self, word: u64) {
        // Those of one word are alike.
        if let Some(place) = self.words.iter().position(|&(other, _)| other == word) {
            self.words.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UnderWay;
    use btl::Atomic;

    #[test]
    fn only_operations_that_commute_are_under_way_together() {
        let mut words = UnderWay::default();
        assert!(words.begin(8, Atomic::Add(1), false) && words.begin(8, Atomic::Add(2), false));
        assert!(!words.begin(8, Atomic::Xor(1), false) && !words.begin(8, Atomic::Add(1), true));
        assert!(words.begin(16, Atomic::Swap(1), false) && !words.begin(16, Atomic::Swap(2), false));
        words.end(8);
        assert!(!words.begin(8, Atomic::Add(1), true), "one is left");
        words.end(8);
        assert!(words.begin(8, Atomic::Add(1), true) && !words.begin(8, Atomic::Add(1), false));
    }
}

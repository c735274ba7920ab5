//! Conditions on words.

/// How a word is compared with a value (`SHMEM_CMP_EQ` and its like).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    AtLeast,
    /// Less.
    Less,
    /// Less or equal.
    AtMost,
}

impl Compare {
    /// Whether `word` stands so to `value`.
    pub const fn holds(self, word: u64, value: u64) -> bool {
        match self {
            Compare::Equal => word == value,
            Compare::NotEqual => word != value,
            Compare::Greater => word > value,
            Compare::AtLeast => word >= value,
            Compare::Less => word < value,
            Compare::AtMost => word <= value,
        }
    }
}

//! How processes of different jobs introduce themselves to each other.

use btl_tcp::Card;
use connect::Secret;

/// What a process gives those of other jobs that it meets: where it is called, and a key of its own, from which it makes a secret
/// with each of them.
#[derive(Clone, Debug)]
pub(crate) struct Introduction {
    pub(crate) key: Secret,
    pub(crate) card: Card,
}

impl Introduction {
    /// As text: the key, and the card.
    pub(crate) fn encode(&self) -> String {
        format!("{} {}", self.key.encode(), self.card.encode())
    }

    /// What [`Introduction::encode`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Introduction> {
        let (key, card) = text.split_once(' ')?;
        Some(Introduction { key: Secret::parse(key)?, card: Card::parse(card)? })
    }
}

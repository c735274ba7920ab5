//! What is kept for each process of the node.

use std::collections::VecDeque;

use btl::Peer;
use shm::doorbell::Doorbell;
use shm::fastbox;
use shm::queue::Queue;

/// One peer, as this process sees it.
#[derive(Debug)]
pub(crate) struct Link {
    /// Our fastbox to the peer; closed until we have one.
    pub outbound: fastbox::Sender<'static>,
    /// The peer's fastbox to us; closed until it has announced one.
    pub inbound: fastbox::Receiver<'static>,
    /// The peer's doorbell.
    pub doorbell: &'static Doorbell,
    /// The peer's receive queue.
    pub queue: Queue<'static>,
    /// Small and large bounce buffers of the peer that lately came with something from it, the oldest first; of each
    /// size at most as many as there are.
    pub borrowable: Option<Box<[VecDeque<u32>; 2]>>,
    /// Messages until the peer gets a fastbox.
    pub until_fastbox: u32,
    /// A fastbox that was claimed and could not be announced yet.
    pub claimed: Option<u32>,
    /// The peer's name above.
    pub peer: Peer,
    /// Copies from it that are to be made alone, since lately memory of ours was on offer at the same time.
    pub alone: u8,
    /// Payload sent to it, in bytes.
    pub sent: u64,
    /// What is known of its process's end.
    pub end: End,
}

/// What is known of the end of a peer's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It lives, as far as is known.
    No,
    /// It has ended; what it had sent may still be here.
    Seen,
    /// The layer above knows.
    Reported,
}

/// In a note through a fastbox, which names a bounce buffer: it is one of the receiver's, that the sender has borrowed.
pub(crate) const BORROWED: u64 = 1 << 32;

/// An entry of a receive queue.
///
/// ```text
///   47 ... 40   39 ... 24   23 .... 0
///   kind        sender      number of the bounce buffer or fastbox
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A message in a bounce buffer of its sender.
    Bounce { owner: u32, bounce: u32 },
    /// The sender uses this one of our fastboxes from now on.
    Fastbox { sender: u32, number: u32 },
}

const KIND: u32 = 40;
const SENDER: u32 = 24;

impl Entry {
    pub fn encode(self) -> u64 {
        let (kind, sender, number) = match self {
            Entry::Bounce { owner, bounce } => (1, owner, bounce),
            Entry::Fastbox { sender, number } => (2, sender, number),
        };
        kind << KIND | u64::from(sender) << SENDER | u64::from(number)
    }

    /// `None` for what no sender writes.
    pub fn decode(entry: u64) -> Option<Entry> {
        let sender = (entry >> SENDER) as u32 & 0xFFFF;
        let number = entry as u32 & 0x00FF_FFFF;
        match entry >> KIND {
            1 => Some(Entry::Bounce { owner: sender, bounce: number }),
            2 => Some(Entry::Fastbox { sender, number }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Entry;

    #[test]
    fn entries_survive_the_queue() {
        for entry in [
            Entry::Bounce { owner: 0, bounce: 0 },
            Entry::Bounce { owner: 65535, bounce: 0x00FF_FFFF },
            Entry::Fastbox { sender: 7, number: 31 },
        ] {
            assert!(entry.encode() < shm::queue::ENTRY_LIMIT);
            assert_eq!(Entry::decode(entry.encode()), Some(entry));
        }
        assert_eq!(Entry::decode(0), None);
        assert_eq!(Entry::decode(9 << 40), None);
    }
}

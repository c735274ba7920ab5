//! SMSG: short messages into a mailbox per peer.

use crate::MemHandle;
use mem::PeerBytes;

/// Accepts every tag in [`crate::Gni::smsg_get_next_wtag`].
pub const ANY_TAG: u8 = 0xff;

/// What a mailbox does about messages that the network lost (`gni_smsg_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum SmsgType {
    /// No mailbox.
    #[default]
    Invalid = 0,
    /// A lost message is reported to its sender and not sent again.
    Mbox = 1,
    /// The NIC's library sends again, up to a limit.
    MboxAutoRetransmit = 2,
}

/// One side's mailbox (`gni_smsg_attr_t`): where its peer's messages for it go. Sent to the peer, for instance
/// in a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SmsgAttr {
    /// The kind; both sides must agree.
    pub kind: SmsgType,
    /// Address of the registered buffer that the mailbox lies in.
    pub buffer: u64,
    /// That buffer's handle. Its registration names the completion queue for arrivals.
    pub handle: MemHandle,
    /// Offset in bytes of the mailbox in the buffer, a multiple of 64.
    pub offset: u32,
    /// Size in bytes of the mailbox: at least [`crate::Gni::smsg_buffer_size_needed`].
    pub size: u32,
    /// Messages the mailbox holds; both sides must agree.
    pub credits: u16,
    /// Largest message, header and data; both sides must agree.
    pub max_size: u32,
}

impl SmsgAttr {
    /// Length in bytes of [`SmsgAttr::to_bytes`].
    pub const WIRE: usize = 44;

    /// The attributes as bytes for a peer of the same byte order.
    pub fn to_bytes(&self) -> [u8; SmsgAttr::WIRE] {
        let mut bytes = [0; SmsgAttr::WIRE];
        bytes[0..8].copy_from_slice(&self.buffer.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.handle.0[0].to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.handle.0[1].to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.offset.to_ne_bytes());
        bytes[28..32].copy_from_slice(&self.size.to_ne_bytes());
        bytes[32..36].copy_from_slice(&self.max_size.to_ne_bytes());
        bytes[36..38].copy_from_slice(&self.credits.to_ne_bytes());
        bytes[38] = self.kind as u8;
        bytes
    }

    /// The attributes a peer has sent; `None` when there are too few bytes or the kind does not exist.
    pub fn from_bytes(bytes: &[u8]) -> Option<SmsgAttr> {
        let bytes: &[u8; SmsgAttr::WIRE] = bytes.get(..SmsgAttr::WIRE)?.try_into().ok()?;
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        Some(SmsgAttr {
            kind: match bytes[38] {
                0 => SmsgType::Invalid,
                1 => SmsgType::Mbox,
                2 => SmsgType::MboxAutoRetransmit,
                _ => return None,
            },
            buffer: long(0),
            handle: MemHandle([long(8), long(16)]),
            offset: word(24),
            size: word(28),
            credits: u16::from_ne_bytes([bytes[36], bytes[37]]),
            max_size: word(32),
        })
    }
}

/// A message in its mailbox: header, then data.
///
/// The bytes lie in registered memory that the peer's NIC can write. They stay as they are until
/// [`crate::Gni::smsg_release`], as long as the peer behaves.
#[derive(Clone, Copy, Debug)]
pub struct SmsgMessage {
    /// The message's tag.
    pub tag: u8,
    /// Header and data together.
    pub bytes: PeerBytes<'static>,
}

#[cfg(test)]
mod tests {
    use super::{SmsgAttr, SmsgType};
    use crate::MemHandle;

    #[test]
    fn attributes_survive_the_wire() {
        let attr = SmsgAttr {
            kind: SmsgType::MboxAutoRetransmit,
            buffer: 0x1234_5678_9abc_d000,
            handle: MemHandle([1, u64::MAX]),
            offset: 4096,
            size: 70_000,
            credits: 32,
            max_size: 8192,
        };
        assert_eq!(SmsgAttr::from_bytes(&attr.to_bytes()), Some(attr));
        assert_eq!(SmsgAttr::from_bytes(&attr.to_bytes()[1..]), None);
        let mut unknown = attr.to_bytes();
        unknown[38] = 9;
        assert_eq!(SmsgAttr::from_bytes(&unknown), None);
    }
}

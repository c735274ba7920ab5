//! What carries headers and data between NICs.

use mem::UserMem;
use portals::{Armed, Jid, MatchBits, Nid, ProcessId, Result, Uid};

/// A process as the fabric vouches for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The process.
    pub id: ProcessId,
    /// Its user.
    pub uid: Uid,
    /// Its job.
    pub jid: Jid,
}

/// Where an operation is to find its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// Index of the target's portal table.
    pub index: u32,
    /// Entry of its access table.
    pub access: u32,
    /// The bits.
    pub match_bits: MatchBits,
    /// The initiator's offset.
    pub offset: u64,
    /// Bytes asked for.
    pub len: u64,
}

/// What one NIC sends to another. A number `md` is a descriptor of the NIC that an answer goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// The data is the initiator's.
    Put {
        /// Where it goes.
        spot: Spot,
        /// The initiator's word.
        hdr_data: u64,
        /// Whose acknowledgement is wanted.
        ack: Option<u32>,
    },
    /// No data; a reply is wanted.
    Get {
        /// Where it comes from.
        spot: Spot,
        /// For which descriptor, and from which of its bytes on.
        reply: (u32, u64),
    },
    /// The data is the initiator's; a reply is wanted.
    GetPut {
        /// What is swapped.
        spot: Spot,
        /// The initiator's word.
        hdr_data: u64,
        /// As for a get.
        reply: (u32, u64),
    },
    /// A put was accepted.
    Ack {
        /// The initiator's descriptor.
        md: u32,
        /// The put's spot, with the offset where it went.
        spot: Spot,
        /// Bytes accepted.
        mlength: u64,
    },
    /// What a get or get-put has fetched: the data.
    Reply {
        /// The initiator's descriptor, and from which of its bytes on.
        into: (u32, u64),
        /// The operation's spot, with the offset where it came from.
        spot: Spot,
        /// Bytes of data.
        mlength: u64,
    },
}

impl Header {
    /// Bytes of data that come with the header.
    pub fn data_len(&self) -> u64 {
        match self {
            Header::Put { spot, .. } | Header::GetPut { spot, .. } => spot.len,
            Header::Get { .. } | Header::Ack { .. } => 0,
            Header::Reply { mlength, .. } => *mlength,
        }
    }
}

/// Data that goes with a header.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// Memory that stays as it is until the operation's END.
    Runs(&'a [UserMem]),
    /// Bytes that the fabric copies.
    Bytes(&'a [u8]),
}

impl Data<'_> {
    /// All of it in one piece.
    pub fn gather(&self) -> Vec<u8> {
        match self {
            Data::Bytes(bytes) => bytes.to_vec(),
            Data::Runs([run]) => run.as_bytes().to_vec(),
            Data::Runs(runs) => runs.iter().map(|run| run.as_bytes().to_vec()).collect::<Vec<_>>().concat(),
        }
    }
}

/// Answer of [`Fabric::send`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The memory is free again.
    Done,
    /// The memory is in use until [`Fabric::next_end`] reports the end.
    Pending,
    /// The target is gone.
    Unreachable,
}

/// Something that was pending has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The ticket of [`Fabric::send`] or [`Fabric::deliver`].
    pub ticket: u32,
    /// Whether it went well; else the other process is gone.
    pub fine: bool,
}

/// A header that has arrived. Its data stays with the fabric until [`Fabric::deliver`], [`Fabric::bytes`] or
/// [`Fabric::discard`], one of which is called before the next arrival is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The sender.
    pub from: Identity,
    /// The header, as it was sent: numbers of another process, unchecked.
    pub header: Header,
}

/// Carries headers and data of one NIC: reliably, and in order between two processes. No method blocks.
pub trait Fabric {
    /// This process.
    fn identity(&self) -> Identity;

    /// See [`portals::Portals::distance`].
    ///
    /// # Errors
    /// `PROCESS_INVALID`.
    fn distance(&self, nid: Nid) -> Result<u32>;

    /// Whether a process is known, be it alive or not.
    fn knows(&self, id: ProcessId) -> bool;

    /// Takes a header for `to`, a process that is known, with data of [`Header::data_len`] bytes.
    fn send(&mut self, to: ProcessId, header: &Header, data: Data<'_>, ticket: u32) -> Sent;

    /// Headers that wait for the network, or whose data does.
    fn waiting(&self) -> usize;

    /// The next header from any NIC, oldest first for each sender. `None` after a poll that finds none.
    fn next_arrival(&mut self) -> Option<Arrival>;

    /// Puts the first bytes of the last arrival's data into `into`, as many as that has room for; `walked` match entries
    /// were looked at before. Returns whether it is done; else [`Fabric::next_end`] will say so.
    fn deliver(&mut self, into: &[UserMem], walked: u32, ticket: u32) -> bool;

    /// The last arrival's data, of a get-put, at once.
    fn bytes(&mut self, walked: u32) -> Vec<u8>;

    /// Drops the last arrival's data; `walked` match entries were looked at.
    fn discard(&mut self, walked: u32);

    /// What has come to its end.
    fn next_end(&mut self) -> Option<End>;

    /// See [`portals::Portals::lost`].
    fn lost(&mut self) -> Option<ProcessId> {
        None
    }

    /// See [`portals::Portals::must_look_for_losses`].
    fn must_look_for_losses(&self) -> bool {
        false
    }

    /// See [`portals::Portals::look_for_losses`].
    fn look_for_losses(&mut self, _awaited: &[ProcessId]) -> bool {
        false
    }

    /// See [`portals::Portals::would_miss`].
    fn would_miss(&self, _id: ProcessId) -> bool {
        false
    }

    /// Whether all that was sent has left, and nothing needs turns.
    fn is_quiet(&self) -> bool;

    /// See [`portals::Portals::arm`].
    fn arm(&mut self) -> Option<Armed> {
        None
    }

    /// See [`portals::Portals::must_arm_again`].
    fn must_arm_again(&self) -> bool {
        false
    }

    /// See [`portals::Portals::disarm`].
    fn disarm(&mut self) {}
}

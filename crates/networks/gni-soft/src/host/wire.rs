//! What travels between NICs over sockets: a hello within a host, requests, responses. Same byte order on both sides.

use super::core_segment::PACKET_WORDS;
use crate::fabric::{Packet, PacketKind};
use gni::{Amo, Cookie, HwStatus, InstId, JobKey, MemHandle, MsgqAttr, PeAddr, Ptag};

/// Length in bytes of a [`Hello`].
pub(super) const HELLO: usize = 32;
/// Length in bytes of a request's head.
pub(super) const REQUEST: usize = 72;
/// Length in bytes of a response's head.
pub(super) const RESPONSE: usize = 16;
/// Longest data of one request or response.
pub(super) const MOST: usize = 1 << 20;

/// Also the version of what follows.
const MAGIC: u64 = 0x616c_6865_6e61_4733;

/// The first bytes on a connection within a host: the caller, and its purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hello {
    pub(super) purpose: Purpose,
    pub(super) key: JobKey,
    pub(super) pe: PeAddr,
    pub(super) inst: InstId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// Send the core segment's descriptor.
    Core,
    /// Send this block's descriptor.
    Block(u32),
    /// Send the node segment's descriptor.
    Node,
    /// Requests follow.
    Data,
    /// Send the descriptor of the file that holds the owner's doorbell.
    Doorbell,
}

impl Hello {
    pub(super) fn to_bytes(self) -> [u8; HELLO] {
        let (purpose, argument) = match self.purpose {
            Purpose::Core => (0u32, 0),
            Purpose::Block(block) => (1, block),
            Purpose::Node => (2, 0),
            Purpose::Data => (3, 0),
            Purpose::Doorbell => (4, 0),
        };
        let mut bytes = [0; HELLO];
        bytes[..8].copy_from_slice(&MAGIC.to_ne_bytes());
        bytes[8..12].copy_from_slice(&purpose.to_ne_bytes());
        bytes[12..16].copy_from_slice(&argument.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.key.cookie.0.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.pe.0.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.inst.0.to_ne_bytes());
        bytes[28] = self.key.ptag.0;
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Hello> {
        let bytes: &[u8; HELLO] = bytes.try_into().ok()?;
        let mut read = Reader(bytes);
        let (magic, purpose, argument) = (read.long()?, read.word()?, read.word()?);
        let (cookie, pe, inst) = (read.word()?, read.word()?, read.word()?);
        let purpose = match purpose {
            0 => Purpose::Core,
            1 => Purpose::Block(argument),
            2 => Purpose::Node,
            3 => Purpose::Data,
            4 => Purpose::Doorbell,
            _ => return None,
        };
        let key = JobKey { ptag: Ptag(bytes[28]), cookie: Cookie(cookie) };
        (magic == MAGIC).then_some(Hello { purpose, key, pe: PeAddr(pe), inst: InstId(inst) })
    }
}

/// What a request asks for; its data, if any, follows the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// Store the data, then possibly a word at another address.
    Write { flag: Option<(u64, u64)> },
    /// Store the data, its first four bytes last.
    Message,
    /// Store one 32-bit word.
    Store { value: u32 },
    /// Send this many bytes back.
    Read { len: u32 },
    /// Change a word and send the old one back.
    Atomic { command: Amo, first: u64, second: u64 },
    /// Only the event.
    Event,
    /// A message for the node's shared queue.
    Shared { tag: u8 },
    /// A datagram packet.
    Packet,
    /// Join the two nodes' shared queues.
    Connect { attr: MsgqAttr },
    /// A shared-queue credit comes back to this node.
    Credit,
}

/// A request's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) ask: Ask,
    /// Names the request in its response; 0: none is wanted.
    pub(super) id: u32,
    /// Bytes of data that follow.
    pub(super) data: u32,
    pub(super) handle: MemHandle,
    pub(super) addr: u64,
    pub(super) event: Option<u64>,
}

const AMOS: [Amo; 11] = [
    Amo::Add,
    Amo::And,
    Amo::Or,
    Amo::Xor,
    Amo::AndXor,
    Amo::FetchAdd,
    Amo::FetchAnd,
    Amo::FetchOr,
    Amo::FetchXor,
    Amo::FetchAndXor,
    Amo::CompareSwap,
];

impl Request {
    pub(super) fn to_bytes(self) -> [u8; REQUEST] {
        let (kind, sub, a, b) = match self.ask {
            Ask::Write { flag: None } => (0u8, 0u8, 0, 0),
            Ask::Write { flag: Some((addr, value)) } => (1, 0, addr, value),
            Ask::Message => (2, 0, 0, 0),
            Ask::Store { value } => (3, 0, value.into(), 0),
            Ask::Read { len } => (4, 0, len.into(), 0),
            Ask::Atomic { command, first, second } => {
                let sub = AMOS.iter().position(|&amo| amo == command).unwrap_or(usize::from(u8::MAX));
                (5, sub as u8, first, second)
            }
            Ask::Event => (6, 0, 0, 0),
            Ask::Shared { tag } => (7, tag, 0, 0),
            Ask::Packet => (8, 0, 0, 0),
            Ask::Connect { attr } => {
                let a = u64::from(attr.max_message) | u64::from(attr.credits) << 32;
                (9, 0, a, u64::from(attr.pool) | u64::from(attr.instances) << 32)
            }
            Ask::Credit => (10, 0, 0, 0),
        };
        let mut bytes = [0; REQUEST];
        bytes[0] = kind;
        bytes[1] = sub;
        bytes[2] = self.event.is_some().into();
        bytes[4..8].copy_from_slice(&self.id.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.data.to_ne_bytes());
        let longs = [self.handle.0[0], self.handle.0[1], self.addr, self.event.unwrap_or(0), a, b];
        for (place, long) in bytes[16..].chunks_exact_mut(8).zip(longs) {
            place.copy_from_slice(&long.to_ne_bytes());
        }
        bytes
    }

    /// `None` for bytes that are no request.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Request> {
        let mut read = Reader(bytes.get(4..REQUEST)?);
        let (id, data, _) = (read.word()?, read.word()?, read.word()?);
        let handle = MemHandle([read.long()?, read.long()?]);
        let (addr, event, a, b) = (read.long()?, read.long()?, read.long()?, read.long()?);
        let ask = match bytes[0] {
            0 => Ask::Write { flag: None },
            1 => Ask::Write { flag: Some((a, b)) },
            2 => Ask::Message,
            3 => Ask::Store { value: a as u32 },
            4 => Ask::Read { len: u32::try_from(a).ok().filter(|&len| len as usize <= MOST)? },
            5 => Ask::Atomic { command: *AMOS.get(usize::from(bytes[1]))?, first: a, second: b },
            6 => Ask::Event,
            7 => Ask::Shared { tag: bytes[1] },
            8 => Ask::Packet,
            9 => Ask::Connect {
                attr: MsgqAttr {
                    max_message: a as u32,
                    credits: (a >> 32) as u32,
                    pool: b as u32,
                    instances: (b >> 32) as u32,
                },
            },
            10 => Ask::Credit,
            _ => return None,
        };
        if data as usize > MOST {
            return None;
        }
        Some(Request { ask, id, data, handle, addr, event: (bytes[2] != 0).then_some(event) })
    }
}

/// A response's head; for `Read` and `Atomic` the bytes follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Response {
    pub(super) id: u32,
    pub(super) status: HwStatus,
    pub(super) data: u32,
}

impl Response {
    pub(super) fn to_bytes(self) -> [u8; RESPONSE] {
        let mut bytes = [0; RESPONSE];
        bytes[0..4].copy_from_slice(&self.id.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.data.to_ne_bytes());
        bytes[8] = self.status as u8;
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Response> {
        let mut read = Reader(bytes.get(..RESPONSE)?);
        let (id, data) = (read.word()?, read.word()?);
        let status = *HwStatus::ALL.get(usize::from(bytes[8]))?;
        (data as usize <= MOST).then_some(Response { id, status, data })
    }
}

/// Reads numbers off the front of bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn long(&mut self) -> Option<u64> {
        let (long, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_ne_bytes(*long))
    }
}

/// A datagram packet as words.
pub(super) fn packet_words(packet: &Packet) -> [u64; PACKET_WORDS] {
    let mut words = [0; PACKET_WORDS];
    words[0] = packet.kind as u64 | u64::from(packet.len) << 8 | u64::from(packet.key.ptag.0) << 16;
    words[1] = u64::from(packet.pe.0) | u64::from(packet.inst.0) << 32;
    words[2] = u64::from(packet.key.cookie.0) | u64::from(packet.sequence) << 32;
    for (word, chunk) in words[4..].iter_mut().zip(packet.data.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*chunk);
    }
    words
}

/// The packet that `words` stand for, if they do.
pub(super) fn packet_of(words: &[u64; PACKET_WORDS]) -> Option<Packet> {
    let kind = match words[0] as u8 {
        0 => PacketKind::Request,
        1 => PacketKind::Reply,
        2 => PacketKind::Held,
        3 => PacketKind::Cancel,
        _ => return None,
    };
    let mut data = [0; gni::limits::DATAGRAM_MAX];
    for (chunk, word) in data.as_chunks_mut::<8>().0.iter_mut().zip(&words[4..]) {
        *chunk = word.to_ne_bytes();
    }
    Some(Packet {
        kind,
        pe: PeAddr(words[1] as u32),
        inst: InstId((words[1] >> 32) as u32),
        key: JobKey { ptag: Ptag((words[0] >> 16) as u8), cookie: Cookie(words[2] as u32) },
        sequence: (words[2] >> 32) as u32,
        len: (words[0] >> 8) as u8,
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_the_wire() {
        let attr = MsgqAttr { max_message: 128, credits: 4, pool: 64, instances: 8 };
        let asks = [
            Ask::Write { flag: None },
            Ask::Write { flag: Some((1 << 40, u64::MAX)) },
            Ask::Message,
            Ask::Store { value: u32::MAX },
            Ask::Read { len: MOST as u32 },
            Ask::Atomic { command: Amo::CompareSwap, first: 3, second: u64::MAX },
            Ask::Event,
            Ask::Shared { tag: 200 },
            Ask::Packet,
            Ask::Connect { attr },
            Ask::Credit,
        ];
        for ask in asks {
            for event in [None, Some(0), Some(u64::MAX)] {
                let request = Request { ask, id: 7, data: 99, handle: MemHandle([1, 2]), addr: 3, event };
                assert_eq!(Request::from_bytes(&request.to_bytes()), Some(request));
            }
        }
        let response = Response { id: u32::MAX, status: HwStatus::HostData, data: 8 };
        assert_eq!(Response::from_bytes(&response.to_bytes()), Some(response));
        let key = JobKey::for_job(5);
        let hello = Hello { purpose: Purpose::Block(9), key, pe: PeAddr(1), inst: InstId(2) };
        assert_eq!(Hello::from_bytes(&hello.to_bytes()), Some(hello));
        assert_eq!(Hello::from_bytes(&[0; HELLO]), None);
    }

    #[test]
    fn what_is_no_head_is_refused() {
        assert_eq!(Request::from_bytes(&[0xff; REQUEST]), None);
        assert_eq!(Request::from_bytes(&[0; REQUEST - 1]), None);
        assert_eq!(Response::from_bytes(&[0xff; RESPONSE]), None);
    }

    #[test]
    fn packets_survive_the_inbox() {
        let packet = Packet {
            kind: PacketKind::Cancel,
            pe: PeAddr(0x3_ffff),
            inst: InstId(u32::MAX),
            key: JobKey::for_job(77),
            sequence: 0x8765_4321,
            len: 128,
            data: core::array::from_fn(|i| i as u8),
        };
        assert_eq!(packet_of(&packet_words(&packet)), Some(packet));
    }
}

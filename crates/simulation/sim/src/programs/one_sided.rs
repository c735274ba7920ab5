//! Puts or gets by the ranks of one node, in memory of those of another.

use super::{Pairs, Start, Timed, is_painted, paint};
use crate::cluster::{Program, Step};
use crate::endpoint::Endpoint;
use crate::speaks::Speaks;
use crate::windows::{Access, DataDirection, Interface, Remote};
use abi::Result;
use mem::{PeerBytes, UserMem};
use pml::ReqId;

/// Windows before time is taken.
const WARM_UP: u32 = 2;
/// Of the data's pattern.
const SEED: u32 = 11;
/// What a rank sends of its memory's key lies in the first page of that memory, and what its partner sends behind it.
const PAGE: usize = 4096;

/// Two ranks send each other the keys of their memory.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    begun: bool,
    open: Vec<ReqId>,
}

impl Meeting {
    /// Bytes at the beginning of a rank's memory that it needs.
    pub const BYTES: usize = PAGE;
    const TAG: i32 = 77;

    /// Goes on; the partner's memory when it is over.
    pub fn with(&mut self, end: &mut Endpoint, partner: u32) -> Result<Option<Remote>> {
        let sent = end.memory().part(PAGE / 2, Remote::BYTES);
        if !self.begun {
            self.begun = true;
            let say = end.memory().part(0, Remote::BYTES);
            say.write(PeerBytes::of(&end.expose(partner)?));
            self.open.push(end.irecv(partner, Meeting::TAG, sent)?);
            self.open.extend(end.isend(partner, Meeting::TAG, say)?);
        }
        self.open.retain(|&id| !end.take(id));
        Ok(self.open.is_empty().then(|| end.remote(partner, sent)))
    }
}

/// Where data of so many bytes leaves a rank's memory, and where it lands there, behind what a meeting needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub bytes: usize,
}

impl Buffers {
    /// Bytes of memory up to the end of both.
    pub fn memory(self) -> usize {
        self.landing_offset() + self.stride()
    }

    /// The one that is read.
    pub fn leaving(self, end: &Endpoint) -> UserMem {
        end.memory().part(Buffers::LEAVING_OFFSET, self.bytes)
    }

    /// The one that is written.
    pub fn landing(self, end: &Endpoint) -> UserMem {
        end.memory().part(self.landing_offset(), self.bytes)
    }

    /// Where a rank's memory is read.
    pub const LEAVING_OFFSET: usize = Meeting::BYTES;

    /// Where it is written.
    pub fn landing_offset(self) -> usize {
        Buffers::LEAVING_OFFSET + self.stride()
    }

    fn stride(self) -> usize {
        self.bytes.next_multiple_of(PAGE)
    }
}

/// One rank: of the first node, it begins windows of puts or gets and flushes after each; of the second, it does
/// nothing.
#[derive(Debug)]
pub struct OneSided {
    pairs: Pairs,
    by: (Interface, DataDirection),
    buffers: Buffers,
    window: u32,
    windows: u32,
    done: u32,
    meeting: Meeting,
    remote: Option<Remote>,
    /// Accesses of the window that are still to begin, beside this one.
    left: u32,
    access: Option<Access>,
    flushing: bool,
    start: Start,
    time: Timed,
}

impl OneSided {
    /// A rank's part in `windows` windows of `window` accesses of `bytes`.
    pub fn new(
        pairs: Pairs,
        by: (Interface, DataDirection),
        bytes: usize,
        window: u32,
        windows: u32,
    ) -> OneSided {
        OneSided {
            pairs,
            by,
            buffers: Buffers { bytes },
            window,
            windows: windows + WARM_UP,
            done: 0,
            meeting: Meeting::default(),
            remote: None,
            left: 0,
            access: None,
            flushing: false,
            start: Start::default(),
            time: Timed::default(),
        }
    }

    /// When the timed windows began and ended; meaningful on the first node.
    pub fn time(&self) -> Timed {
        self.time
    }

    /// Whether the data has come to where it belongs on this rank, if it does.
    pub fn is_intact(&self, end: &Endpoint) -> bool {
        let lands = self.pairs.is_first(end.rank()) == (self.by.1 == DataDirection::Get);
        !lands || is_painted(self.buffers.landing(end), SEED)
    }

    fn next(&self, end: &mut Endpoint, remote: Remote) -> Access {
        let (local, offset) = match self.by.1 {
            DataDirection::Put => (self.buffers.leaving(end), self.buffers.landing_offset()),
            DataDirection::Get => (self.buffers.landing(end), Buffers::LEAVING_OFFSET),
        };
        end.access(self.by, remote, local, offset)
    }
}

impl Program for OneSided {
    fn memory(&self) -> usize {
        self.buffers.memory()
    }

    fn speaks(&self) -> Speaks {
        Pairs::SPEAKS
    }

    fn step(&mut self, end: &mut Endpoint) -> Result<Step> {
        let Some(remote) = self.remote else {
            let partner = self.pairs.partner(end.rank());
            paint(self.buffers.leaving(end), SEED);
            self.remote = self.meeting.with(end, partner)?;
            return match self.remote {
                None => Ok(Step::Waiting),
                Some(_) if self.pairs.is_first(end.rank()) => self.step(end),
                Some(_) => Ok(Step::Done),
            };
        };
        if !self.pairs.is_first(end.rank()) {
            return Ok(Step::Done);
        }
        loop {
            if let Some(access) = &mut self.access {
                if !end.begin(access)? {
                    return Ok(Step::Waiting);
                }
                self.access = None;
            }
            if self.left > 0 {
                self.left -= 1;
                self.access = Some(self.next(end, remote));
                continue;
            }
            if self.flushing {
                if !end.is_flushed(&remote)? {
                    return Ok(Step::Waiting);
                }
                self.done += 1;
                self.flushing = false;
            }
            if self.done + 1 == WARM_UP && self.start.pauses(self.pairs, end) {
                return Ok(Step::Computing);
            }
            if self.done == WARM_UP {
                self.time.begun = end.now();
            }
            if self.done == self.windows {
                self.time.ended = end.now();
                return Ok(Step::Done);
            }
            (self.left, self.flushing) = (self.window, true);
        }
    }
}

//! A second, sequential and simpler-minded, implementation of matching: lists are vectors, nothing is ever under way.

use portals::{MatchBits, Options, ProcessId, ProcessMatch, Threshold, Unlink};

#[derive(Clone, Debug)]
pub(crate) struct OracleMd {
    pub user: u64,
    pub memory: Vec<u8>,
    pub offset: usize,
    pub threshold: Threshold,
    pub max_size: usize,
    pub options: Options,
    pub unlink: Unlink,
    pub exhausted: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct OracleEntry {
    pub name: u64,
    pub source: ProcessMatch,
    pub bits: MatchBits,
    pub ignore: MatchBits,
    pub unlink: Unlink,
    pub md: Option<OracleMd>,
}

/// What an accepted operation did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub user: u64,
    pub offset: usize,
    pub mlength: usize,
    pub unlinked: bool,
    /// What a get fetched.
    pub data: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Oracle {
    pub list: Vec<OracleEntry>,
    pub dropped: u64,
}

impl Oracle {
    /// A put of `data`, or a get of `len` bytes.
    pub(crate) fn operate(
        &mut self,
        from: ProcessId,
        bits: MatchBits,
        remote: usize,
        data: Option<&[u8]>,
        len: usize,
    ) -> Option<Outcome> {
        let wants = if data.is_some() { Options::OP_PUT } else { Options::OP_GET };
        for at in 0..self.list.len() {
            let entry = &mut self.list[at];
            if !entry.source.fits(from) || (entry.bits ^ bits) & !entry.ignore != 0 {
                continue;
            }
            let Some(md) = entry.md.as_mut() else { continue };
            if md.exhausted || md.threshold == Threshold::Count(0) || !md.options.has(wants) {
                continue;
            }
            let managed = md.options.has(Options::MANAGE_REMOTE);
            let offset = if managed { remote } else { md.offset };
            let room = md.memory.len().saturating_sub(offset);
            let beyond = offset > md.memory.len() || len > room;
            if beyond && !md.options.has(Options::TRUNCATE) {
                continue;
            }
            let (offset, mlength) = (offset.min(md.memory.len()), len.min(room));
            let place = offset..offset + mlength;
            if let Some(data) = data {
                md.memory[place.clone()].copy_from_slice(&data[..mlength]);
            }
            let fetched = if data.is_none() { md.memory[place].to_vec() } else { Vec::new() };
            if !managed {
                md.offset += mlength;
                md.exhausted = md.options.has(Options::MAX_SIZE) && md.memory.len() - md.offset < md.max_size;
            }
            if let Threshold::Count(left) = &mut md.threshold {
                *left -= 1;
            }
            let inactive = md.exhausted || md.threshold == Threshold::Count(0);
            let unlinked = inactive && md.unlink == Unlink::Unlink;
            let outcome = Outcome { user: md.user, offset, mlength, unlinked, data: fetched };
            if unlinked {
                entry.md = None;
                if entry.unlink == Unlink::Unlink {
                    self.list.remove(at);
                }
            }
            return Some(outcome);
        }
        self.dropped += 1;
        None
    }
}

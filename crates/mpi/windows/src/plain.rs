//! Puts and gets of another node's rank that the network does by one operation, and puts that one message carries: there is
//! room, right arguments, predefined types, an open epoch, a rank that is locked. All under one lock of the state, without
//! an allocation. For the rest, and to report what is wrong, the ordinary function begins anew.

use abi::{Address, Count, Datatype};
use btl::{Class, RemoteMemory};
use engine::{Head, P2p};
use mem::{Source, UserMem};
use osc::NO_TOKEN;

use super::access::{Aim, Rules};
use super::far::{PUT, PutPayload, number};
use super::movement::DataDirection;
use super::network::Reached;
use super::{WINDOWS, Window};
use objects::datatype::simple;
use objects::state::State;

/// Begins a put or get, for which the next flush waits; `None`: nothing was begun.
#[inline]
pub(super) fn begin_at_once(
    state: &mut State,
    way: DataDirection,
    (origin, origin_count, origin_type): (Address, Count, Datatype),
    aim: &Aim,
    win: abi::Win,
) -> Option<()> {
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win).ok()?;
    // A negative rank is a huge one.
    let rank = aim.rank as u32;
    let target = window.far.as_ref()?.network.target(rank).map(|target| (target.peer, target.reached));
    let memory = simple(origin, origin_count, origin_type)?;
    let size = datatype::predefined_dense_size(aim.datatype)?;
    let len = memory.len();
    if len == 0 || aim.count.checked_mul(i64::from(size))? as usize != len {
        return None;
    }
    let (start, there) = window.targets.get(rank as usize)?.locate(aim, len)?;
    if !window.has_joined(rank) {
        return None;
    }
    match aim.rules {
        Rules::Epoch => window.epochs.access(rank).ok()?,
        Rules::Light => {}
        // A request waits for more than a flush does.
        Rules::Request => return None,
    }
    let Some((peer, Reached { key, remote, .. })) = target else {
        return match way {
            DataDirection::Put => window.put_by_message(&mut state.p2p, (win, rank), memory, there),
            DataDirection::Get => None,
        };
    };
    let (bml, network) = (&mut state.p2p.bml, &mut window.far.as_mut()?.network);
    match way {
        DataDirection::Put if len <= remote.max => {
            bml.write(peer, memory, &key, start).ok()?;
            network.writes(rank);
        }
        DataDirection::Get if osc::is_one_read(&remote, memory.address(), there, len) => {
            let read = |peer, cookie| bml.read(peer, memory, &key, start, cookie);
            network.read(win, (rank, NO_TOKEN), read).ok()?;
        }
        DataDirection::Put | DataDirection::Get => return None,
    }
    Some(())
}

impl Window {
    /// Puts `memory` to an address of a rank by one message, if that can leave now.
    fn put_by_message(
        &mut self,
        p2p: &mut P2p,
        (win, rank): (abi::Win, u32),
        memory: UserMem,
        there: usize,
    ) -> Option<()> {
        let peer = self.near(rank).is_none().then(|| self.peer(rank))?;
        let mut payload = PutPayload::new(there, memory);
        if payload.remaining() > p2p.most(peer) {
            return None;
        }
        let head = Head { class: Class::Osc, kind: PUT, words: &[number(win), rank.into(), 1] };
        p2p.request(peer, head, &mut payload).ok()?;
        self.far.as_mut()?.operations.asked(rank);
        Some(())
    }
}

impl super::RankMemory {
    /// Where the data of `len` bytes begins that an operation means: the byte, and its address in the target.
    #[inline(always)]
    fn locate(&self, aim: &Aim, len: usize) -> Option<(u64, usize)> {
        let unit = if aim.rules == Rules::Light { 1 } else { self.unit };
        // A negative displacement is a huge one.
        let start = (aim.disp as u64).checked_mul(unit)?;
        let is_inside = start.checked_add(len as u64)? <= self.size;
        is_inside.then(|| (start, self.base.wrapping_add(start as usize)))
    }
}

//! Memory attached to dynamic windows (MPI-5.0 section 12.2.4).

use abi::{Address, Aint, Error, Result};
use osc::{Direct, Regions, Side};

use super::access::Reach;
use super::far::LOST;
use super::{Near, WINDOWS, Window};
use objects::domain::Token;

const RANGE: Error =
    Error::new(abi::ERR_RMA_RANGE, "the operation reaches memory that the target has not attached");

/// Looks at a table that is being changed before this process asks whether its owner has ended.
const TURNS: u32 = 1000;

/// `MPI_Win_attach`
pub fn attach(t: &mut Token, win: abi::Win, base: Address, size: Aint) -> Result<()> {
    let size = u64::try_from(size).map_err(|_| Error::new(abi::ERR_SIZE, "the size is negative"))?;
    change(t, win, |regions| regions.attach(base.0 as u64, size))
}

/// `MPI_Win_detach`
pub fn detach(t: &mut Token, win: abi::Win, base: Address) -> Result<()> {
    change(t, win, |regions| regions.detach(base.0 as u64))
}

fn change(t: &mut Token, win: abi::Win, change: impl FnOnce(&mut Regions) -> Result<()>) -> Result<()> {
    let mut state = t.lock();
    let window = WINDOWS.get_mut(&mut state.tables).get_mut(win)?;
    let rank = window.rank;
    let local = window.local;
    let Window { regions, control, .. } = window;
    let not_dynamic = Error::new(abi::ERR_RMA_FLAVOR, "only dynamic windows have memory attached");
    let regions = regions.get_mut(rank as usize).ok_or(not_dynamic)?;
    regions.conceal(control.view(), local);
    let changed = change(regions);
    regions.publish(control.view(), local);
    changed
}

impl Window {
    /// Whether all of the data is attached at its target.
    ///
    /// # Errors
    /// `MPI_ERR_RMA_RANGE`, `MPI_ERR_PROC_ABORTED`.
    pub(super) fn check_regions(&mut self, near: Near, data: &Side) -> Result<()> {
        let rank = near.rank;
        if rank != self.rank {
            let reach = self.reach(rank)?;
            let Reach::Direct(node, process) = reach else { return Err(RANGE) };
            let direct = Direct { node: &node, process };
            let mut turns = 0u32;
            loop {
                let Window { regions, control, .. } = &mut *self;
                let read = |address: u64, words: &mut [[u64; 2]]| direct.read_words(address, words);
                let refreshed = regions[rank as usize].refresh(control.view(), near.local, read);
                if refreshed.map_err(|error| self.explain(rank, error))? {
                    break;
                }
                // The target changes its regions, which takes it no longer than a few stores, unless it ends meanwhile.
                platform::waiter::give_way();
                turns = turns.wrapping_add(1);
                if turns.is_multiple_of(TURNS) && self.has_ended(rank) {
                    return Err(LOST);
                }
            }
        }
        let regions = &self.regions[rank as usize];
        let covered = data.runs(|run| regions.cover(run.address() as u64, run.len() as u64));
        if covered || data.is_empty() { Ok(()) } else { Err(RANGE) }
    }
}

//! Which memory an operation means, and whether it may: all that is wrong with it is found out at the origin.

use std::sync::Arc;

use abi::{Address, Count, Datatype, Error, Result};
use node::{Node, Process};
use osc::Side;

use super::Window;
use super::far::LOST;
use objects::datatype::Types;
use objects::memory::side;

/// The target of an operation as a call names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    pub rank: i32,
    pub disp: abi::Aint,
    pub count: Count,
    pub datatype: Datatype,
    pub rules: Rules,
}

/// What an operation needs, and how it counts displacements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rules {
    /// An epoch of any kind.
    Epoch,
    /// The call returns a request, so the epoch has to be one of a lock.
    Request,
    /// None; displacements are in bytes (the light interface).
    Light,
}

/// What completes an operation at its origin, which keeps its buffers as they are until then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Completion {
    /// A flush, or the end of the epoch.
    Flush,
    /// Its request, which takes its result.
    Request,
}

impl Rules {
    pub fn completion(self) -> Completion {
        match self {
            Rules::Epoch | Rules::Light => Completion::Flush,
            Rules::Request => Completion::Request,
        }
    }
}

/// Where the memory of a target is.
pub(super) enum Reach {
    /// In this process: its own, or mapped.
    Here,
    /// In another process of the node, for the system to copy.
    Direct(Arc<Node>, Process),
    /// In a process that is asked by messages.
    Far,
}

/// The error if the target's memory does not hold the data.
const RANGE: Error =
    Error::new(abi::ERR_RMA_RANGE, "the operation reaches beyond the memory that the target exposes");

/// An address for data that is not looked at.
const SOMEWHERE: Address = Address(64);

impl Window {
    /// The rank that an operation means and the data at its target, checked; `None`: there is nothing to do, since the
    /// target is `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// `MPI_ERR_RANK`, `MPI_ERR_RMA_SYNC`, `MPI_ERR_COUNT`, `MPI_ERR_TYPE`, `MPI_ERR_DISP`, `MPI_ERR_RMA_RANGE`.
    pub(super) fn aim(&mut self, types: &Types, aim: &Aim) -> Result<Option<(u32, Side)>> {
        if aim.rank == abi::PROC_NULL {
            return Ok(None);
        }
        let rank = self.check_rank(aim.rank)?;
        if aim.rules == Rules::Request {
            self.epochs.passive(rank)?;
        }
        if aim.rules != Rules::Light {
            self.epochs.access(rank)?;
        }
        let items = types.items(SOMEWHERE, aim.count, aim.datatype)?;
        let target = self.targets[rank as usize];
        if self.facts.flavor == abi::WIN_FLAVOR_DYNAMIC {
            let data = side(&items, Address(aim.disp as usize))?;
            // By messages the target looks itself.
            if let Some(near) = self.near(rank) {
                self.check_regions(near, &data)?;
            }
            return Ok(Some((rank, data)));
        }
        let disp = u64::try_from(aim.disp)
            .map_err(|_| Error::new(abi::ERR_DISP, "the target displacement is negative"))?;
        let unit = if aim.rules == Rules::Light { 1 } else { target.unit };
        let start = disp.checked_mul(unit).ok_or(RANGE)?;
        let base = target.base.wrapping_add(start as usize);
        let data = side(&items, Address(base))?;
        if !data.is_empty() {
            let (lowest, span) = data.span();
            // The displacement of the lowest byte, as the datatype has it: exact, since it fits 64 bits.
            let first = i128::from(start) + i128::from(lowest.wrapping_sub(base) as i64);
            if first < 0 || first + i128::from(span) > i128::from(target.size) {
                return Err(RANGE);
            }
        }
        Ok(Some((rank, data)))
    }

    /// The error of an operation whose target the system does not let this process reach: that it is lost, if so.
    #[cold]
    pub(super) fn explain(&self, rank: u32, error: Error) -> Error {
        if error.class == abi::ERR_RMA_RANGE && self.has_ended(rank) { LOST } else { error }
    }

    /// Where the memory of a rank is.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` if it has ended, `MPI_ERR_RMA_RANGE` if the system does not let this process reach it any more.
    pub(super) fn reach(&self, rank: u32) -> Result<Reach> {
        if self.targets[rank as usize].mapped || rank == self.rank {
            return Ok(Reach::Here);
        }
        if self.near(rank).is_none() {
            return Ok(Reach::Far);
        }
        let peer = btl::Peer(self.group.members()[rank as usize]);
        let found = self.node.as_ref().and_then(|node| {
            let process = node.place_of(peer).and_then(|place| node.reach(place))?;
            Some(Reach::Direct(node.clone(), process))
        });
        const UNREACHED: Error =
            Error::new(abi::ERR_RMA_RANGE, "the memory of the target cannot be reached any more");
        found.ok_or_else(|| self.explain(rank, UNREACHED))
    }
}

/// The error if the two sides do not fit together.
pub(super) const UNEQUAL: Error =
    Error::new(abi::ERR_TYPE, "the data at the origin and at the target differ in length");

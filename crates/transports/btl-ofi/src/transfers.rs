//! Reads and writes under way.

use std::collections::VecDeque;

use mem::{Slab, UserMem};
use ofi::{Address, Endpoint, Local, Refused, Remote};

use crate::cookie::TRANSFER;

/// A read or write under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    pub(crate) connection: u32,
    pub(crate) address: Address,
    pub(crate) purpose: Purpose,
    pub(crate) places: Places,
    pub(crate) stores: bool,
}

/// Whom a transfer is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The layer above. A write in a window has no cookie. The local memory was registered where a region is given.
    Above { cookie: Option<u64>, region: Option<u32> },
    /// An Eager GET into a receive buffer.
    EagerGet { context: u32, buffer: u32, words: u8 },
}

/// Where the bytes of a transfer are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) memory: UserMem,
    pub(crate) local: Local,
    pub(crate) remote: Remote,
}

/// All transfers, by name.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    all: Slab<Transfer, 20, 12>,
    /// Those that wait for the provider, oldest first.
    again: VecDeque<u32>,
}

impl Transfers {
    /// Begins a transfer, or has it wait for the provider.
    ///
    /// # Errors
    /// [`Refused`]: `Again` where there is no name, `Failed` where the provider never takes it.
    pub(crate) fn begin(&mut self, transfer: Transfer, endpoint: &mut Endpoint) -> Result<(), Refused> {
        let name = self.all.insert(transfer).map_err(|_| Refused::Again)?;
        // Those that came before go first.
        let begun = if self.again.is_empty() { self.post(name, endpoint) } else { Err(Refused::Again) };
        match begun {
            Ok(()) => {}
            Err(Refused::Again) => self.again.push_back(name),
            Err(failed @ Refused::Failed(_)) => {
                self.all.remove(name);
                return Err(failed);
            }
        }
        Ok(())
    }

    fn post(&mut self, name: u32, endpoint: &mut Endpoint) -> Result<(), Refused> {
        let Some(&Transfer { address, places, stores, .. }) = self.all.get(name) else {
            return Ok(());
        };
        let Places { memory, local, remote } = places;
        let cookie = TRANSFER | u64::from(name);
        match stores {
            true => endpoint.write(address, memory, local, remote, cookie),
            false => endpoint.read(address, memory, local, remote, cookie),
        }
    }

    /// Begins what waits, oldest first, as far as the provider has room; stops at one that it never takes, and gives that
    /// one's name and error.
    pub(crate) fn post_again(&mut self, endpoint: &mut Endpoint) -> Option<(u32, i32)> {
        while let Some(&name) = self.again.front() {
            let begun = self.post(name, endpoint);
            if begun == Err(Refused::Again) {
                return None;
            }
            self.again.pop_front();
            if let Err(Refused::Failed(error)) = begun {
                return Some((name, error));
            }
        }
        None
    }

    /// Takes a transfer that is over.
    pub(crate) fn take(&mut self, name: u32) -> Option<Transfer> {
        self.all.remove(name)
    }

    /// Whether none is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether some wait for the provider.
    pub(crate) fn wait(&self) -> bool {
        !self.again.is_empty()
    }
}

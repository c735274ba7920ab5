//! A libfabric provider for tests: endpoints of one thread, and a user whose every step is checked.
//!
//! No software provider of libfabric asks for registered memory of one's own, keys that the provider chooses or regions
//! that belong to an endpoint; adapters do. This one asks for what [`Modes`] sets and panics where its user does
//! not do it: memory without a region or outside it, a region without the right access, more operations than it holds,
//! a context that is in use, a key that was not asked for, an address where an offset is right.
#![allow(clippy::missing_safety_doc)]

mod endpoint;
mod info;
mod matching;
mod memory;
mod messages;
mod modes;
mod objects;
mod rma;

pub use memory::open_regions;
pub use modes::Modes;
use ofi::Library;

/// The library whose only provider, `mock`, works by `modes` on this thread from now on.
pub fn library(modes: Modes) -> Library {
    modes::set(modes);
    Library {
        version: info::version,
        getinfo: info::getinfo,
        freeinfo: info::freeinfo,
        dupinfo: info::dupinfo,
        fabric: objects::fabric,
        strerror: info::strerror,
    }
}

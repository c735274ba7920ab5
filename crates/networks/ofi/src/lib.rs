//! libfabric, loaded when it is first needed: its structs as far as they are used ([`abi`]), the library ([`Library`]),
//! and one endpoint with all that belongs to it ([`Endpoint`]).
//!
//! Nothing here needs libfabric's headers or the library itself to build. Almost the whole interface is tables of
//! functions behind six symbols, so a test can put a provider of its own in their place.

pub mod abi;
mod card;
mod choose;
mod endpoint;
mod library;
mod memory;
mod messages;
mod operations;
mod overflow;
mod params;
mod rma;
mod tagged;

pub use card::{Card, Obstacle, Unreached};
pub use choose::Wishes;
pub use endpoint::{Address, BATCH, Completion, Endpoint, Facts, OpenError, Refused};
pub use library::{Library, NotLoaded};
pub use memory::{Local, Region};
pub use params::OfiParams;
pub use rma::Remote;

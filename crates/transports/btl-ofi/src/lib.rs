//! The transport over libfabric: reliable datagrams, and remote memory where the provider has it.
//!
//! The protocols are those of the transport over Gemini ([`rdma`]); the provider's limits choose among them.
//!
//! # Bands
//!
//! ```text
//!   payload + header      way                                          memory it takes
//!   ≤ inject limit        one message, copied by the provider          none
//!   ≤ frame               one message from a registered buffer         a pool, and receives of one frame each
//!   ≤ eager limit         Eager GET, where frames are shorter than     a pool for each direction
//!                         that and the provider reads remote memory
//!   above                 rendezvous of the layer above: GET; Put      the user's, registered
//!                         Fallback where the provider only writes;
//!                         fragments of a frame where it does neither
//! ```
//!
//! # Frames
//!
//! ```text
//!   0     7     8      12      16
//!   kind  mark  from   sizes   header words   payload      kind SEND
//!               from   as in `rdma::wire`                  kinds GET_INIT, RDMA_COMPLETE
//! ```
//! The mark is the job's: a frame for a process that had this address before is dropped. Where the provider names the
//! sender (`FI_SOURCE`), `from` must agree with it.
//!
//! # Memory
//!
//! | the provider asks for | done |
//! |---|---|
//! | `FI_MR_LOCAL` | buffers are registered by blocks, the user's memory through the cache |
//! | `FI_MR_VIRT_ADDR` | peers address by address, else by offset in the region |
//! | `FI_MR_ALLOCATED` | memory is mapped when it is registered; the cache ends a registration whose memory goes |
//! | `FI_MR_PROV_KEY` | the provider chooses keys, else they are counted up within `mr_key_size` |
//! | `FI_MR_ENDPOINT` | a region is bound to the endpoint, then enabled |
//!
//! # Back-pressure, loss, sleep
//!
//! A provider takes messages out of the network for which no receive is posted, and keeps them, of a receiver that sleeps as
//! well. So a peer is sent `btl_ofi_window` messages that it has not reported as acknowledged ([`btl::Credits`]), and a report leaves
//! for each half of a window.
//!
//! What the provider has no room for waits in the connection's list; further sends to that peer are [`btl::Busy`]
//! meanwhile, and the process does not sleep, since no provider announces such room. A completion gives a buffer
//! back, and ends a sleep: that is on the descriptor of the completion queue, as `fi_trywait` allows. A failed
//! message ends its peer; a failed read or write fails alone unless the connection is gone. Hosts that do not answer the
//! provider's sockets are suspected (`silence`).
//!
//! Peers are entered in the provider's address table with the first message to them.
//!
//! # When it is loaded
//!
//! libfabric is loaded where the parameter `btl` names `ofi` and a peer is out of vader's reach. Rendezvous is by PUT
//! where the provider only writes (with `FI_DELIVERY_COMPLETE`, or else a write is not known to be in place).
//! docs/libfabric.md has the rest.
#![deny(unsafe_code)]

mod arrivals;
mod cookie;
mod error;
mod get_put;
pub mod join;
mod memory;

mod open;
mod params;
mod peers;
mod plan;
mod receives;
mod remote;
mod sending;
mod silence;
mod state;
mod stats;
mod transfers;
mod transport;

pub use error::{Error, NoRoom};
pub use open::Opening;
pub use params::BtlOfiParams;
pub use plan::{OfiPlan, TooShort};
pub use state::Ofi;
pub use stats::Stats;

//! The transport over TCP, between hosts and, where asked for, within one.
//!
//! ```text
//!   send ──► frame ──► the peer's output, and at once the socket ──► … ──► the peer's input ──► arrival
//!            [length | words | kind][header][payload]                       64 KiB a read, several frames
//! ```
//!
//! * **Connections** are made when the first message asks for one, one for each pair of processes ([`pair`]), to the
//!   address that answers ([`hello`], [`card`]).
//! * **Nothing blocks.** What a socket does not take waits in the peer's output; when that is full, [`btl::Busy`].
//!   Who does not receive is not read from: TCP holds its peers back.
//! * **Gets and puts** are requests to the peer's transport ([`frame`]). Their payload goes from the memory of one user to the
//!   socket, and from the socket into the memory of the other, without a copy in between ([`direct`], [`output`]). Both
//!   processes must make progress meanwhile.
//! * **Several networks.** Large gets and puts are divided among connections, one over each network that both hosts have
//!   ([`lanes`]).
//! * **Polling.** A process that waits reads the socket of the peer that it talked to last, and asks the set for the others
//!   every few polls.
//! * **One descriptor**, an epoll set with all sockets, is readable when there is something to do ([`btl::Btl::descriptor`]).
//! * **Strangers** who reach the port are turned away, unless they prove that they are of the job (crate `connect`).
//! * **Who is between** two processes gets no connection to the wrong one, and reads or changes no bytes where that is wished
//!   ([`seal`], `btl_tcp_security`).
//! * **A broken connection ends the peer**: what it had sent whole still arrives, then [`btl::Event::PeerLost`]. A host that answers
//!   no more breaks its connections ([`watch`]); a process that computes does not.
//! * **Descriptors run short**: idle connections are closed, and made again when they are wanted ([`room`]).
//!
//! [`pair`], [`hello`], [`frame`] and [`card`] hold no sockets; property tests feed them. [`network`] has the sockets.
#![deny(unsafe_code)]

mod callers;
mod card;
mod direct;
mod frame;
mod hello;
pub mod join;
mod lanes;
mod listening;
mod network;
mod output;
mod pair;
mod params;
mod reading;
mod room;
mod seal;
mod transport;
mod watch;
mod writing;

pub use card::Card;
pub use hello::JobProof;
pub use listening::{Listening, SetupError};
pub use params::{Security, TcpParams};
pub use transport::{Tcp, connects};

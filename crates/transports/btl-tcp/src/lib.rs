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
//!   A process that does not receive does not read: TCP holds its peers back.
//! * **Short messages in a row** to one peer leave together, and a thread sees to it that none waits while the process computes
//!   ([`burst`]).
//! * **Gets and puts** are requests to the peer's transport ([`frame`]). Their payload goes from the memory of one user to the
//!   socket, and from the socket into the memory of the other, without a copy in between ([`direct`], [`output`]). Both
//!   processes must make progress meanwhile.
//! * **Several networks.** Large gets and puts are divided among connections, one over each network that both hosts have
//!   ([`lanes`]).
//! * **Rails.** Below data reliability each of these networks is a way of its own for messages, and a connection that breaks is
//!   made anew ([`rails`]).
//! * **Polling.** A process that waits reads the socket of the peer that it talked to last, and asks the set for the others
//!   every few polls.
//! * **One descriptor**, an epoll set with all sockets, is readable when there is something to do ([`btl::Btl::descriptor`]).
//! * **Strangers** that reach the port are turned away, unless they prove that they are of the job (crate `connect`).
//! * **An attacker between** two processes gets no connection to the wrong one, and reads or changes no bytes where
//!   that is wished ([`seal`], `btl_tcp_security`).
//! * **A broken connection ends the peer**: what it had sent whole still arrives, then [`btl::Event::PeerLost`]. A host that answers
//!   no more breaks its connections ([`watch`]); a process that computes does not.
//! * **Descriptors run short**: idle connections are closed, and made again when they are wanted ([`room`]).
//!
//! [`pair`], [`hello`], [`frame`] and [`card`] hold no sockets; property tests feed them. [`network`] has the sockets.
//!
//! # Decisions
//!
//! **Both connect at once**: the connection of the lower rank wins. The process that connected confirms the connection
//! it takes, so that both take the same of several. A process that computes answers nothing; so silence alone ends no
//! attempt. Property tests run [`pair`] and [`frame`] over a network that is late, refuses, swallows and misleads.
//!
//! **A large message is fetched.** The receiver's transport asks for it; the transports do this among themselves, so no
//! frame of the message layer is needed between request and data. What the sender exposed and hides too early is copied
//! first. A process that waits reads the socket of its latest peer and polls the set every eighth time. All sockets and
//! a timer are in the set.
//!
//! **Lanes.** The kernel's route to each of the peer's addresses names the interface; an address that does not lead to
//! the peer fails its proof and costs that lane alone. A slower network gets less, and one far too slow only a little
//! now and then. A get or put is done when the peer has answered for every part. Fragments of messages that cannot be
//! fetched (data with holes) stay on the first connection: they have no request that could be made again.
//!
//! **Descriptors.** A rank takes three quarters of the descriptors that the limit for open files leaves (or all but
//! 64). Where there is no room, callers that send nothing for 5 ms are given up.
//!
//! **Hosts that are gone.** `TCP_USER_TIMEOUT` would also end the connection to a process that computes and does not
//! read. So the transport asks the kernel now and then whether the other kernel has answered, and gives the peer up
//! after `btl_tcp_silence_ms`. Where a window is closed the kernel probes rarely, so the end is noticed late; mpiexec's
//! daemons notice within seconds that a host is gone. After a second of silence a rank reports its suspicion to its
//! proxy (`btl::Suspects`), which calls that host anew (`rte`'s `proxy::suspects`). Where the rank still suspects and
//! no call was answered for `-host-silence`, or a `btl_tcp_silence_ms` that was raised, mpiexec ends the job. A
//! suspicion costs nothing, so a transport may have it early; libfabric over TCP has it by the same kernel (`btl_ofi`).
#![deny(unsafe_code)]

mod awaited;
mod burst;
mod callers;
mod card;
mod conversation;
mod conversations;
mod direct;
mod foreign;
mod frame;
mod hello;
pub mod join;
mod lanes;
mod listening;
mod meeting;
mod network;
mod numbers;
mod output;
mod pair;
mod params;
mod rails;
mod reading;
mod room;
mod seal;
mod tracks;
mod transport;
mod watch;
mod writing;

pub use card::Card;
pub use foreign::Foreign;
pub use hello::JobProof;
pub use listening::{Listening, Port, SetupError, listen};
pub use params::{Security, TcpParams};
pub use transport::{Tcp, connects};

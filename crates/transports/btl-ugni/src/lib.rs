//! The transport over Gemini: short messages, Eager GET, and one-sided copies, over any [`gni::Gni`].
//!
//! After S. Gutierrez et al., *Performance Evaluation of Open MPI on Cray XE/XK Systems* (2012), section V. The
//! transport holds no clock, thread or global; a [`gni::Clock`] gives it the time, so that it runs over
//! real NICs and over simulated ones on virtual time unchanged.
//!
//! # Bands
//!
//! ```text
//!   payload + header      way                                          memory it takes
//!   ≤ SMSG limit          one message into the peer's mailbox          credits × limit per peer
//!   ≤ eager limit         Eager GET: the request names a registered    a shared pool
//!                         buffer, the receiver fetches it
//!   above                 rendezvous of the layer above, which uses    the user's, registered
//!                         get and put; Put Fallback where a GET is
//!                         not aligned
//! ```
//!
//! # Eager GET (the paper's figures 2 and 3)
//!
//! ```text
//!   sender                                             receiver
//!   copy payload into a registered send buffer
//!   GET_INIT: header, where the payload is  ───SMSG──▶ reserve a registered receive buffer (none: wait)
//!                                                      GET, by FMA up to its limit, else by BTE
//!   local event of GET_INIT ┐                          deliver header and payload
//!   RDMA_COMPLETE           ┴ both in: buffer free ◀── RDMA_COMPLETE (no credit: wait)
//! ```
//!
//! # Rendezvous, and Put Fallback
//!
//! The layer above offers a long message with its buffer exposed; the receiver registers its own and fetches.
//!
//! ```text
//!   sender                                             receiver
//!   expose: register the buffer
//!   RTS: header, where the buffer is   ────SMSG───▶    get: register, GET in pieces of get_limit,
//!                                                           by FMA up to its limit, else by BTE
//!   conceal                            ◀───SMSG────    ACK
//! ```
//!
//! A GET needs addresses and length to be multiples of 4. The sender cannot know the receive buffer's alignment, so
//! the receiver decides: [`btl::Btl::get`] answers [`btl::Refusal::Unfit`], or the layer above sees by the limits that
//! it would, and one more message turns the transfer round:
//!
//! ```text
//!   RTS                                ────SMSG───▶    expose: register the buffer
//!                                      ◀───SMSG────    RTR: where the buffer is
//!   put: register, PUT in pieces       ═══PUT══════▶
//!   FIN                                ────SMSG───▶    conceal
//! ```
//!
//! Where neither fits (a strided buffer, no registration left), the message goes in fragments, each inline or by Eager
//! GET.
//!
//! # Connections
//!
//! Lazy, by datagrams, which exchange mailboxes; each process keeps one wildcard posted for peers that call it
//! first. Sends are [`btl::Busy`] until the connection is made.
//!
//! # Back-pressure and faults
//!
//! A short message without credit is `Busy`. What was accepted (an Eager GET request, an RDMA_COMPLETE) waits
//! in its connection's list, and further sends are `Busy` as long as that is not empty. Failed transactions are
//! posted again up to `rdma_max_retries` times, messages are sent again by the NIC; after that the peer counts
//! as lost. An overrun of the arrival queue makes all connected mailboxes be looked at. Local queues cannot
//! overrun: no more is begun than they hold. A peer on which this process depends without having anything under way
//! (credits that do not come back, memory that is not fetched) is probed once in a while.
//!
//! # Beside other transports
//!
//! The transport is used where the parameter `btl` names it. Where vader is there, too, both ring one doorbell. After a
//! refusal a process does not sleep, since only its own turns find out that a peer is gone. It waits in `MPI_Finalize`
//! until all it sent was acknowledged, then for all others, because a NIC whose process has ended acknowledges nothing.
//! A lost peer ends the job unless the program has its own error handler: other ranks may wait for what will not come.
#![deny(unsafe_code)]

mod arrivals;
mod connect;
mod connections;
mod eager_get;
mod hello;
pub mod join;
mod mailboxes;
mod memory;
mod params;
mod peers;
mod probe;
mod rdma;
mod registration;
mod remote;
mod sending;
mod shown;
mod stats;
mod transfer;
mod transport;

pub use params::{MailboxSteps, Notice, UgniParams, UgniPlan, Unusable, UseMsgq};
pub use peers::{BadAddress, PeerAddress};
pub use registration::Interface;
pub use stats::Stats;
pub use transport::{Job, SetupError, Ugni};

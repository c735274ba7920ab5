//! The registration cache: memory that was registered with a network interface stays so, because the next message
//! will probably come from the same buffer.
//!
//! A registration names pages, a program names addresses. After `munmap`, `mremap`, `realloc` or
//! `madvise(MADV_DONTNEED)` the same addresses have other pages, and a transfer through the old registration moves
//! the wrong bytes. So the cache is keyed by address range *and* validity, and the kernel reports when validity ends:
//!
//! ```text
//!   program          munmap ───────────▶ pages gone ── waits until the event is read ──▶ returns
//!                                            │ UFFD_EVENT_UNMAP
//!   monitor thread   poll ──────────────▶ handling := on ─ read ─ mark ranges invalid ─ handling := off ─▶ poll
//!                                                            │ (a table of atomics, no lock, no memory)
//!   cache            acquire ─▶ nothing being unmapped, nothing being handled? ─▶ look up ─▶ still valid? ─▶ hit
//! ```
//!
//! * [`Rcache`] is what a transport uses: [`Rcache::acquire`], [`Rcache::release`]. It works on anything that
//!   registers memory ([`Register`]).
//! * [`Index`] is its core without system calls: which ranges there are, which is used least recently.
//! * [`Watch`] knows whether a range is still what it was: a [`Monitor`] by userfaultfd; [`Unwatched`] where there is
//!   none, so that nothing of the user's is kept; [`Trusting`] for programs that promise to unmap nothing.
//!
//! # Why userfaultfd in write-protect mode
//!
//! Hooks on `munmap` and `free` miss what the C library and direct system calls do. userfaultfd reports every change
//! of the ranges registered with it. A registration in missing mode would make `read(2)` into untouched memory fail;
//! in write-protect mode, with no page protected, it changes nothing but that events are sent. `UFFD_USER_MODE_ONLY`
//! makes it available without privilege.
//!
//! # What is not seen
//!
//! Another process that cuts a file shorter while we have it mapped, and a thread that gives pages back
//! (`MADV_DONTNEED`) of the very buffer that MPI is just being handed; the latter is an error of the program
//! (MPI-5.0 section 3.7.2).
//!
//! # Proofs and tests
//!
//! `munmap` waits until a thread has read the event; the thread announces that it reads before it reads. So a look-up
//! after `munmap` has returned finds it at work or the range marked (`validity`, checked by loom). Between `munmap`'s
//! freeing of addresses and its event, the kernel itself shows that something is changing. Where userfaultfd is
//! refused, user buffers are registered for each transfer. The software Gemini NIC's pinned mode holds pages by fixed
//! buffers of io_uring; with the monitor switched off, the tests corrupt data there.

#![deny(unsafe_code)]

mod cache;
mod extent;
mod index;
#[cfg(not(loom))]
mod monitor;
#[cfg(not(loom))]
mod open;
mod params;
mod register;
mod stats;
mod sync;
#[cfg(not(loom))]
mod uffd;
pub mod validity;
mod watch;

pub use cache::Rcache;
pub use extent::Extent;
pub use index::{Hold, Index, Key};
#[cfg(not(loom))]
pub use monitor::{Monitor, Refused};
#[cfg(not(loom))]
pub use open::watch;
pub use params::{Pages, RcacheParams, Watching};
pub use register::Register;
pub use stats::Stats;
pub use watch::{Trusting, Unwatched, Watch, WatchId};

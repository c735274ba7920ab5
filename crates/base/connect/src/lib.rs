//! Which callers a port of a job admits.
//!
//! Any process that reaches a host can connect to a port, send nothing, or send anything: a port scan does all of that.
//! So each port of a job asks its callers for a proof that they know the job's [`Secret`], and proves the same, before
//! it reads any other byte.
//!
//! ```text
//!   caller                                            owner of the port
//!    │ ── hello: version, role, byte order, job,           checks all but the nonce
//!    │           from, to, nonce, ends ────────────────►
//!    │ ◄─ challenge: nonce, proof over both nonces ─────
//!    │    checks the proof
//!    │ ── proof over both nonces and the challenge ────►  checks it; the connection is theirs
//! ```
//!
//! A proof is HMAC-SHA-256 with the secret as its key. Nonces are fresh in each connection, and each side's proof
//! begins with a word of its own, so a proof that was overheard or reflected proves nothing. The exchange ends with a
//! [`Session`]: keys of this connection alone, from the secret and both nonces. What carries orders is encrypted with
//! them; data is protected as its owner wishes ([`Protection`]), and signed at least where the two sides see different
//! ends of the connection, since then something is between them.
//!
//! [`exchange`] is the exchange without sockets, clocks and randomness; [`channel`] what follows it. [`Acceptor`] reads
//! callers as their bytes come.
//!
//! # Callers
//!
//! The exchange is read as its bytes come, and never waited for. Callers have two seconds for their hello, and 256 of
//! them wait at a time; 256 more may wait for their proof, at ranks for as long as they compute. So neither silent
//! callers nor repeated hellos turn out callers that answer. The first caller turned away is reported. The port of
//! mpiexec, `btl-tcp` and `gni-soft` all do so; each has its own secret: that of the order, one of the key space, and
//! one for each NIC. Control connections (`rte::link`, `pmi::star`) are encrypted; data connections compare where both
//! sides see the ends of the connection, and sign frames where these differ (`btl_tcp::seal`).
#![forbid(unsafe_code)]

mod acceptor;
pub mod channel;
pub mod datagram;
mod ends;
pub mod exchange;
mod secret;
mod tcp;

pub use acceptor::{Acceptor, Caller, GRACE};
pub use channel::{Opener, Protection, Sealer, Session, Urgent};
pub use ends::Ends;
pub use exchange::{Refusal, Role, Who};
pub use secret::Secret;
pub use tcp::{prove, read_within};

//! Which threads may make calls that take as long as the system likes.

use std::marker::PhantomData;

/// Proof that the calling thread holds nothing that others wait for: a call of the system may block it. Code that runs with
/// a state locked has none and cannot get one, so such a call there does not compile.
///
/// ```text
///   engine::Token ──may_block──► Blocking<'t>      the token is borrowed: no lock while the proof lives, and the reverse
///   engine's workers ──────────► Blocking<'_>      they hold nothing
///        │
///        ▼
///   io::Posix::calls(&blocking) ──► reads, writes, locks, sizes
/// ```
#[derive(Debug)]
pub struct Blocking<'t>(PhantomData<&'t mut ()>);

impl Blocking<'_> {
    /// For callers that hold nothing: the engine, for its token and its workers; tests; processes without a state.
    /// A lint (`clippy.toml`) keeps others out.
    #[must_use]
    pub const fn vouch() -> Blocking<'static> {
        Blocking(PhantomData)
    }
}

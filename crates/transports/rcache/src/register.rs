//! What the cache needs of a network interface.

use core::hash::Hash;
use mem::UserMem;

/// Something that registers memory: a Gemini NIC, a libfabric domain.
pub trait Register {
    /// Names a registration; never two that exist at the same time.
    type Handle: Copy + Eq + Hash;
    /// Why a call did not succeed.
    type Error;

    /// Registers `memory`, which must stay mapped until [`Register::deregister`], or be invalidated.
    ///
    /// # Errors
    /// The interface's own.
    fn register(&mut self, memory: UserMem) -> Result<Self::Handle, Self::Error>;

    /// Ends a registration.
    ///
    /// # Errors
    /// The interface's own; the cache tries again later.
    fn deregister(&mut self, handle: Self::Handle) -> Result<(), Self::Error>;

    /// Whether `error` means that registrations are used up, so that giving one back may help.
    fn is_exhausted(error: &Self::Error) -> bool;
}

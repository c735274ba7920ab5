//! The place of a transport in the table, whether it is there or not.

use btl_self::Loopback;

/// Where a transport stands.
pub(crate) trait Slot {
    type Transport;

    /// The transport, if it is there.
    fn there(&self) -> Option<&Self::Transport>;
    /// The transport, if it is there.
    fn there_mut(&mut self) -> Option<&mut Self::Transport>;

    /// The transport of a route.
    #[inline(always)]
    fn routed(&self) -> &Self::Transport {
        self.there().expect(ROUTED)
    }

    /// The transport of a route.
    #[inline(always)]
    fn routed_mut(&mut self) -> &mut Self::Transport {
        self.there_mut().expect(ROUTED)
    }
}

/// Why the transport of a route is there.
const ROUTED: &str = "a route names a transport that is there";

impl Slot for Loopback {
    type Transport = Loopback;

    #[inline(always)]
    fn there(&self) -> Option<&Loopback> {
        Some(self)
    }

    #[inline(always)]
    fn there_mut(&mut self) -> Option<&mut Loopback> {
        Some(self)
    }
}

/// In place.
impl Slot for Option<btl_vader::Vader> {
    type Transport = btl_vader::Vader;

    #[inline(always)]
    fn there(&self) -> Option<&Self::Transport> {
        self.as_ref()
    }

    #[inline(always)]
    fn there_mut(&mut self) -> Option<&mut Self::Transport> {
        self.as_mut()
    }
}

/// Elsewhere, so that it does not lengthen the table.
impl<T> Slot for Option<Box<T>> {
    type Transport = T;

    #[inline(always)]
    fn there(&self) -> Option<&T> {
        self.as_deref()
    }

    #[inline(always)]
    fn there_mut(&mut self) -> Option<&mut T> {
        self.as_deref_mut()
    }
}

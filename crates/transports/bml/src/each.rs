//! The list of transports, and macros that do something with one of them or with each.

/// Hands the list of networks to the macro `$then`, after its own arguments: the variant of [`crate::Reached`], the field
/// of [`crate::Bml`], the name in the parameter `btl`, and the type that joins the job ([`btl::Join`]).
///
/// Where several reach a peer, the one that declares the least time is its route ([`btl::Pace`]); of those that declare
/// the same, the first. What stands on other transports comes after them.
macro_rules! networks {
    ($then:ident $args:tt) => {
        $then! { $args
            Gemini gemini "ugni" btl_ugni::join::Joining,
            Ofi ofi "ofi" btl_ofi::join::Joining,
            Tcp tcp "tcp" btl_tcp::join::Joining,
            Udp udp "udp" btl_udp::join::Joining,
            Portals portals "portals" btl_portals::join::Joining<crate::Bml>,
            Dr dr "dr" btl_dr::join::Joining<crate::Bml>,
            Verify verify "verify" btl_verify::join::Joining<crate::Bml>,
        }
    };
}

/// Hands the list of all transports to the macro `$then`, after its own arguments: variant, field and name. Those within a
/// host come before the networks.
macro_rules! transports {
    ($then:ident $args:tt) => {
        networks! { with_those_of_a_host($then $args) }
    };
}
macro_rules! with_those_of_a_host {
    (($then:ident $args:tt) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        $then! { $args
            Itself loopback "self",
            Vader vader "vader",
            $($variant $field $name,)*
        }
    };
}

/// Evaluates `$call` with `$btl` bound to the transport `$which`, as `$get` gives it.
macro_rules! on {
    ($bml:ident.$get:ident($which:expr), $btl:ident => $call:expr) => {
        transports!(on_one($bml, $get, $which, $btl, $call))
    };
}
macro_rules! on_one {
    (($bml:ident, $get:ident, $which:expr, $btl:ident, $call:expr) $($variant:ident $field:ident $name:literal,)*) => {
        match $which {
            $(Reached::$variant => {
                let $btl = $bml.$field.$get();
                $call
            })*
        }
    };
}

/// Evaluates `$call` with `$btl` bound to each transport that is there, in turn.
macro_rules! on_each {
    ($bml:ident.$there:ident(), $btl:ident => $call:expr) => {
        transports!(on_every($bml, $there, $btl, $call))
    };
}
macro_rules! on_every {
    (($bml:ident, $there:ident, $btl:ident, $call:expr) $($variant:ident $field:ident $name:literal,)*) => {
        $(if let Some($btl) = $bml.$field.$there() {
            $call;
        })*
    };
}

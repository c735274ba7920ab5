//! The list of transports, and macros that do something with one of them or with each.

/// Hands the list of transports to the macro `$then`, after its own arguments: the variant of [`Reached`] and the field of
/// [`Bml`]. Where several reach a peer, the one that declares the least time is its route ([`btl::Pace`]).
macro_rules! transports {
    ($then:ident $args:tt) => {
        $then! { $args
            Itself loopback,
            Vader vader,
            Gemini gemini,
            Portals portals,
            Ofi ofi,
            Tcp tcp,
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
    (($bml:ident, $get:ident, $which:expr, $btl:ident, $call:expr) $($name:ident $field:ident,)*) => {
        match $which {
            $(Reached::$name => {
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
    (($bml:ident, $there:ident, $btl:ident, $call:expr) $($name:ident $field:ident,)*) => {
        $(if let Some($btl) = $bml.$field.$there() {
            $call;
        })*
    };
}

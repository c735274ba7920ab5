//! Handle types: pointer-sized integers, as the ABI's pointers to incomplete structs are passed.

macro_rules! handles {
    ($($name:ident)*) => {
        $(
            #[doc = concat!("`MPI_", stringify!($name), "` as it crosses the ABI. Copyable, owns nothing.")]
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
            #[repr(transparent)]
            pub struct $name(pub usize);
        )*
    };
}

handles! { Comm Group Request Datatype Op Win File Info Errhandler Session Message }

macro_rules! tool_handles {
    ($($name:ident $cname:ident)*) => {
        $(
            #[doc = concat!("`", stringify!($cname), "` of the tool interface. Copyable, owns nothing.")]
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
            #[repr(transparent)]
            pub struct $name(pub usize);
        )*
    };
}

tool_handles! {
    TEnum MPI_T_enum
    TCvarHandle MPI_T_cvar_handle
    TPvarHandle MPI_T_pvar_handle
    TPvarSession MPI_T_pvar_session
    TEventRegistration MPI_T_event_registration
    TEventInstance MPI_T_event_instance
}

/// An address in the caller's memory, or one of the magic values `MPI_BOTTOM`, `MPI_IN_PLACE` and
/// `MPI_BUFFER_AUTOMATIC`; also a value that MPI keeps for the program (`extra_state`, attribute values).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Address(pub usize);

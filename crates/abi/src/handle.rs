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

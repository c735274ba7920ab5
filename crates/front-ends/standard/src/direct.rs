//! Functions that raise no error, and the values that some of them return.

/// Exports a function under its two names.
macro_rules! direct {
    ($mpi:ident, $pmpi:ident, ($($argument:ident: $kind:ty),*) -> $returns:ty $body:block) => {
        #[allow(unused_variables)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi($($argument: $kind),*) -> $returns $body

        crate::entry::alias! { $mpi, $pmpi, ($($argument: $kind),*) -> $returns }
    };
}
pub(crate) use direct;

/// A handle as its integer; both are the same number (MPI-5.0 section 20.2).
pub fn to_int<H: Handle>(handle: H) -> i32 {
    handle.number() as u32 as i32
}

/// The handle of an integer.
pub fn from_int<H: Handle>(number: i32) -> H {
    H::of(number as u32 as usize)
}

/// `MPI_Aint_add`: addresses wrap as unsigned integers do.
pub fn aint_add(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(left: isize, right: isize) -> isize {
    left.wrapping_sub(right)
}

/// A handle type of the ABI.
pub trait Handle {
    /// The handle's number.
    fn number(self) -> usize;
    /// The handle with a number.
    fn of(number: usize) -> Self;
}

macro_rules! handles {
    ($($name:ident)*) => { $(
        impl Handle for abi::$name {
            fn number(self) -> usize {
                self.0
            }
            fn of(number: usize) -> Self {
                abi::$name(number)
            }
        }
    )* };
}

handles! { Comm Errhandler File Group Info Message Op Request Session Datatype Win }

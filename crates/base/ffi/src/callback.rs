//! Functions that the program hands to MPI.
//!
//! A value of these types is a pointer of the program to a function of the stated type: that is the caller's
//! promise when it passes one, which makes [`call`](UserFunction::call) safe to use here. Calls are "C-unwind":
//! an exception that leaves the function ends the process instead of unwinding through frames that cannot take it.

use abi::{Address, Comm, Count, Datatype, ERR_ARG, Error, Offset, Result, Status};

macro_rules! callbacks {
    ($( $(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name(unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?);

        impl $name {
            /// Calls the program's function.
            pub fn call(self, $($argument: $kind),*) $(-> $result)? {
                // SAFETY: the program promised a function of this type when it passed the pointer.
                unsafe { (self.0)($($argument),*) }
            }

            /// The function's address.
            pub fn address(self) -> usize {
                self.0 as usize
            }
        }

        // The program's functions differ by the pointers that it passed.
        impl PartialEq for $name {
            fn eq(&self, other: &$name) -> bool {
                self.address() == other.address()
            }
        }

        impl Eq for $name {}
    )* };
}

callbacks! {
    /// A reduction (MPI-5.0 section 6.9.5).
    UserFunction(input: Address, in_out: Address, len: &mut i32, datatype: &mut Datatype);
    /// A reduction with a large count.
    UserFunctionC(input: Address, in_out: Address, len: &mut Count, datatype: &mut Datatype);
    /// Fills the status of a generalized request (MPI-5.0 section 13.2).
    GrequestQueryFunction(extra_state: Address, status: &mut Status) -> i32;
    /// Frees what a generalized request holds.
    GrequestFreeFunction(extra_state: Address) -> i32;
    /// Cancels a generalized request; `complete` is 1 if it has completed.
    GrequestCancelFunction(extra_state: Address, complete: i32) -> i32;
    /// Copies an attribute when its object is duplicated (MPI-5.0 section 7.7); `handle` is the communicator,
    /// datatype or window.
    CopyAttrFunction(
        handle: usize, keyval: i32, extra_state: Address, value: Address, copy: &mut Address, flag: &mut i32
    ) -> i32;
    /// Deletes an attribute.
    DeleteAttrFunction(handle: usize, keyval: i32, value: Address, extra_state: Address) -> i32;
    /// Extent of a datatype in a file's representation (MPI-5.0 section 14.5.3).
    DatarepExtentFunction(datatype: Datatype, extent: &mut isize, extra_state: Address) -> i32;
    /// Converts between memory and a file's representation.
    DatarepConversionFunction(
        user: Address, datatype: Datatype, count: i32, file: Address, position: Offset, extra_state: Address
    ) -> i32;
    /// Converts, with a large count.
    DatarepConversionFunctionC(
        user: Address, datatype: Datatype, count: Count, file: Address, position: Offset, extra_state: Address
    ) -> i32;
    /// An event of the tool interface (MPI-5.0 section 15.3.8).
    TEventFunction(
        instance: abi::TEventInstance, registration: abi::TEventRegistration, safety: i32, user_data: Address
    );
    /// Takes a message of the light interface: the window, the rank that has sent it, bytes that are valid during the
    /// call.
    LightFunction(window: usize, source: i32, payload: Address, bytes: usize, context: Address);
    /// Called when an event registration has been freed.
    TEventFreeFunction(registration: abi::TEventRegistration, safety: i32, user_data: Address);
    /// Called when events were dropped.
    TEventDroppedFunction(
        count: Count, registration: abi::TEventRegistration, source: i32, safety: i32, user_data: Address
    );
}

/// Handles an error of a communicator, window, file or session (MPI-5.0 section 9.3). Only `standard` calls it, after
/// every frame of the library has returned, so that it may throw; other crates pass its address on.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct ErrhandlerFunction(unsafe extern "C-unwind" fn(*mut usize, *mut i32, ...));

impl ErrhandlerFunction {
    /// The function's address.
    pub fn address(self) -> usize {
        self.0 as usize
    }
}

/// A function that must be given.
///
/// # Errors
/// `MPI_ERR_ARG` for NULL; `what` becomes the error's text.
#[inline(always)]
pub fn given<F>(function: Option<F>, what: &'static str) -> Result<F> {
    function.ok_or_else(|| Error::new(ERR_ARG, what))
}

/// How an attribute is copied when its object is duplicated.
#[derive(Clone, Copy, Debug)]
pub enum CopyAttr {
    /// `MPI_COMM_NULL_COPY_FN` and its kin: the copy does not get the attribute.
    Null,
    /// `MPI_COMM_DUP_FN` and its kin: the copy gets the same value.
    Dup,
    /// The program's function decides.
    User(CopyAttrFunction),
}

impl CopyAttr {
    /// Distinguishes the magic values from a function.
    ///
    /// # Safety
    /// Anything but 0 and 1 must be the address of a function of the right type.
    pub unsafe fn from_address(address: usize) -> CopyAttr {
        match address {
            abi::COMM_NULL_COPY_FN => CopyAttr::Null,
            abi::COMM_DUP_FN => CopyAttr::Dup,
            // SAFETY: the caller vouches for the address.
            _ => CopyAttr::User(unsafe { core::mem::transmute::<usize, CopyAttrFunction>(address) }),
        }
    }
}

/// The function behind `MPI_Comm_copy_attr_function` and the three like it is one type: all handles are passed
/// alike.
const _: () = assert!(size_of::<Comm>() == size_of::<usize>());

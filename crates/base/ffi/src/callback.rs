//! Functions that the program hands to MPI.
//!
//! A value of these types is the address of a function of the program, and [whose](Origin) it is. That it is of the stated type
//! is the caller's promise when it passes one, which makes [`call`](UserFunction::call) safe to use here. Calls are
//! "C-unwind": an exception that leaves the function ends the process instead of unwinding through frames that cannot take it.

use core::cell::Cell;
use core::num::NonZeroUsize;

use abi::{Address, Comm, Count, Datatype, ERR_ARG, Error, Offset, Result, Status};

/// In whose convention functions are called, and in whose terms they get their arguments.
#[derive(Clone, Copy, Debug)]
pub struct Origin(Option<&'static Callers>);

impl Origin {
    /// The standard C interface.
    pub const STANDARD: Origin = Origin(None);

    /// A front-end that calls functions by this table.
    pub const fn of(callers: &'static Callers) -> Origin {
        Origin(Some(callers))
    }

    /// The table.
    #[inline(always)]
    pub fn callers(self) -> Option<&'static Callers> {
        self.0
    }

    /// Whether attributes are integers there, and not pointers (MPI-5.0 section 19.3.7).
    pub fn has_integers(self) -> bool {
        self.0.is_some_and(|callers| callers.attributes_are_integers)
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        let address = |origin: &Origin| origin.0.map(core::ptr::from_ref);
        address(self) == address(other)
    }
}

impl Eq for Origin {}

macro_rules! callbacks {
    ($( $(#[$doc:meta])* $name:ident $field:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?; )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name {
                address: NonZeroUsize,
                origin: Origin,
            }

            impl $name {
                /// The function at an address, unless that is NULL.
                ///
                /// # Safety
                /// The program gave the address of a function of this type, as `origin` has it.
                pub unsafe fn of(address: usize, origin: Origin) -> Option<$name> {
                    NonZeroUsize::new(address).map(|address| $name { address, origin })
                }

                /// Calls the program's function.
                pub fn call(self, $($argument: $kind),*) $(-> $result)? {
                    type Function = unsafe extern "C-unwind" fn($($kind),*) $(-> $result)?;
                    match self.origin.callers().and_then(|callers| callers.$field) {
                        // SAFETY: the program promised a function of this type when it passed the address.
                        None => unsafe {
                            let function = core::mem::transmute::<usize, Function>(self.address.get());
                            function($($argument),*)
                        },
                        // SAFETY: as above; the table is the front-end's that the function came through.
                        Some(caller) => unsafe { caller(self.address.get(), $($argument),*) },
                    }
                }

                /// The function's address.
                pub fn address(self) -> usize {
                    self.address.get()
                }

                /// Whose it is.
                pub fn origin(self) -> Origin {
                    self.origin
                }
            }
        )*

        /// How a front-end calls functions of the program, each given the function's address. Where it has nothing, a function
        /// is called as the standard C interface calls it.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        pub struct Callers {
            /// Attributes are integers there, and not pointers.
            pub attributes_are_integers: bool,
            /// Calls an error handler, whose address is that of the [due](due_handler) one.
            pub error_handler: Option<unsafe extern "C-unwind" fn(*mut usize, *mut i32)>,
            $(
                $(#[$doc])*
                pub $field: Option<unsafe extern "C-unwind" fn(usize, $($kind),*) $(-> $result)?>,
            )*
        }

        impl Callers {
            /// All functions are called as the standard C interface calls them.
            pub const STANDARD: Callers =
                Callers { attributes_are_integers: false, error_handler: None, $( $field: None, )* };
        }
    };
}

callbacks! {
    /// A reduction (MPI-5.0 section 6.9.5).
    UserFunction reduce(input: Address, in_out: Address, len: &mut i32, datatype: &mut Datatype);
    /// A reduction with a large count.
    UserFunctionC reduce_large(input: Address, in_out: Address, len: &mut Count, datatype: &mut Datatype);
    /// Fills the status of a generalized request (MPI-5.0 section 13.2).
    GrequestQueryFunction query(extra_state: Address, status: &mut Status) -> i32;
    /// Frees what a generalized request holds.
    GrequestFreeFunction free(extra_state: Address) -> i32;
    /// Cancels a generalized request; `complete` is 1 if it has completed.
    GrequestCancelFunction cancel(extra_state: Address, complete: i32) -> i32;
    /// Copies an attribute when its object is duplicated (MPI-5.0 section 7.7); `handle` is the communicator,
    /// datatype or window.
    CopyAttrFunction copy(
        handle: usize, keyval: i32, extra_state: Address, value: Address, copy: &mut Address, flag: &mut i32
    ) -> i32;
    /// Deletes an attribute.
    DeleteAttrFunction delete(handle: usize, keyval: i32, value: Address, extra_state: Address) -> i32;
    /// Extent of a datatype in a file's representation (MPI-5.0 section 14.5.3).
    DatarepExtentFunction extent(datatype: Datatype, extent: &mut isize, extra_state: Address) -> i32;
    /// Converts between memory and a file's representation.
    DatarepConversionFunction convert(
        user: Address, datatype: Datatype, count: i32, file: Address, position: Offset, extra_state: Address
    ) -> i32;
    /// Converts, with a large count.
    DatarepConversionFunctionC convert_large(
        user: Address, datatype: Datatype, count: Count, file: Address, position: Offset, extra_state: Address
    ) -> i32;
    /// An event of the tool interface (MPI-5.0 section 15.3.8).
    TEventFunction event(
        instance: abi::TEventInstance, registration: abi::TEventRegistration, safety: i32, user_data: Address
    );
    /// Takes a message of the light interface: the window, the rank that has sent it, bytes that are valid during the
    /// call.
    LightFunction light(window: usize, source: i32, payload: Address, bytes: usize, context: Address);
    /// Called when an event registration has been freed.
    TEventFreeFunction event_free(registration: abi::TEventRegistration, safety: i32, user_data: Address);
    /// Called when events were dropped.
    TEventDroppedFunction event_dropped(
        count: Count, registration: abi::TEventRegistration, source: i32, safety: i32, user_data: Address
    );
}

/// Handles an error of a communicator, window, file or session (MPI-5.0 section 9.3). Only the front-end calls it, after
/// every frame of the library has returned, so that it may throw; other crates pass it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrhandlerFunction {
    address: NonZeroUsize,
    origin: Origin,
}

impl ErrhandlerFunction {
    /// The function at an address, unless that is NULL.
    ///
    /// # Safety
    /// The program gave the address of an error handler, as `origin` has it.
    pub unsafe fn of(address: usize, origin: Origin) -> Option<ErrhandlerFunction> {
        NonZeroUsize::new(address).map(|address| ErrhandlerFunction { address, origin })
    }

    /// What to call with pointers to the handle and the code, on this thread and next: the function itself or the one of its
    /// front-end that calls it.
    pub fn due(self) -> usize {
        match self.origin.callers().and_then(|callers| callers.error_handler) {
            None => self.address.get(),
            Some(caller) => {
                DUE.set(self.address.get());
                caller as usize
            }
        }
    }
}

thread_local! {
    static DUE: Cell<usize> = const { Cell::new(0) };
}

/// The address of the error handler that a front-end's `error_handler` is to call, on this thread.
pub fn due_handler() -> usize {
    DUE.get()
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
    /// Anything but 0 and 1 must be the address of a function of the right type, as `origin` has it.
    pub unsafe fn of(address: usize, origin: Origin) -> CopyAttr {
        match address {
            abi::COMM_NULL_COPY_FN => CopyAttr::Null,
            abi::COMM_DUP_FN => CopyAttr::Dup,
            // SAFETY: the caller vouches for the address.
            _ => unsafe { CopyAttrFunction::of(address, origin) }.map_or(CopyAttr::Null, CopyAttr::User),
        }
    }
}

/// The function behind `MPI_Comm_copy_attr_function` and the three like it is one type: all handles are passed
/// alike.
const _: () = assert!(size_of::<Comm>() == size_of::<usize>());

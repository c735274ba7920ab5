//! Functions of the program that the library calls: with the dialect's handles and statuses, and its error codes back.
//!
//! The engine keeps with each function which front-end it came through ([`ffi::Origin`]), and calls it by that one's
//! [`callers`].

use core::mem::transmute;

use abi::{Address, Count, Datatype, Offset};
use ffi::Callers;

use crate::cxx;
use crate::status::{Layout, fill};

/// What a function of a program is given in its ABI.
pub trait Dialect {
    /// A handle.
    type Handle: Copy;
    /// A status.
    type Status: Layout;
    /// The handle of a datatype.
    fn datatype(ours: usize) -> Self::Handle;
    /// The handle of an object with attributes or an error handler, of whichever kind, as the register of a pointer has it.
    fn object(ours: usize) -> usize;
    /// The key of an attribute.
    fn keyval(ours: i32) -> i32;
    /// The error code of one of its own; `i32::MIN` for none.
    fn code_of(theirs: i32) -> i32;
    /// An error code.
    fn code_to(ours: i32) -> i32;
}

/// How functions of a program are called.
pub const fn callers<D: Dialect>() -> Callers {
    Callers {
        error_handler: Some(error_handler::<D>),
        reduce: Some(reduce::<D, i32>),
        reduce_large: Some(reduce::<D, Count>),
        query: Some(query::<D>),
        free: Some(free::<D>),
        cancel: Some(cancel::<D>),
        copy: Some(copy_attribute::<D>),
        delete: Some(delete::<D>),
        extent: Some(extent::<D>),
        convert: Some(convert::<D, i32>),
        convert_large: Some(convert::<D, Count>),
        ..Callers::STANDARD
    }
}

/// The program's function at an address.
macro_rules! program {
    ($address:expr, ($($kind:ty),*) $(-> $returns:ty)?) => {
        transmute::<usize, unsafe extern "C-unwind" fn($($kind),*) $(-> $returns)?>($address)
    };
}

/// A code that the program's function returns: a class, one that the program made, or any number.
fn returned<D: Dialect>(code: i32) -> i32 {
    match D::code_of(code) {
        i32::MIN => abi::ERR_OTHER,
        code => code,
    }
}

unsafe extern "C" {
    /// The address of the error handler that is to be called, on this thread.
    fn alhena_due_handler_1() -> usize;
}

unsafe extern "C-unwind" fn error_handler<D: Dialect>(handle: *mut usize, code: *mut i32) {
    // SAFETY: the engine gives both places, and the program an error handler; it takes no further arguments.
    unsafe {
        // An integer's place is the first half of a pointer's.
        let (mut theirs, mut number) = (D::object(*handle), D::code_to(*code));
        let function = alhena_due_handler_1();
        program!(function, (*mut usize, *mut i32))(&raw mut theirs, &raw mut number);
        *code = returned::<D>(number);
    }
}

unsafe extern "C-unwind" fn reduce<D: Dialect, N: Copy + TryInto<i32>>(
    function: usize,
    input: Address,
    in_out: Address,
    length: &mut N,
    datatype: &mut Datatype,
) {
    let mut theirs = D::datatype(datatype.0);
    if (*length).try_into().is_ok_and(|length| cxx::reduce(function, input, in_out, length, theirs)) {
        return;
    }
    // SAFETY: the program gave a function of this type.
    unsafe {
        program!(function, (Address, Address, *mut N, *mut D::Handle))(input, in_out, length, &raw mut theirs)
    };
}

unsafe extern "C-unwind" fn query<D: Dialect>(
    function: usize,
    own: Address,
    status: &mut abi::Status,
) -> i32 {
    let mut theirs = D::Status::ZERO;
    fill(&mut theirs, status);
    // SAFETY: as above.
    let code = unsafe { program!(function, (Address, *mut D::Status) -> i32)(own, &raw mut theirs) };
    *status = theirs.ours();
    returned::<D>(code)
}

unsafe extern "C-unwind" fn free<D: Dialect>(function: usize, own: Address) -> i32 {
    // SAFETY: as above.
    returned::<D>(unsafe { program!(function, (Address) -> i32)(own) })
}

unsafe extern "C-unwind" fn cancel<D: Dialect>(function: usize, own: Address, complete: i32) -> i32 {
    // SAFETY: as above.
    returned::<D>(unsafe { program!(function, (Address, i32) -> i32)(own, complete) })
}

unsafe extern "C-unwind" fn copy_attribute<D: Dialect>(
    function: usize,
    handle: usize,
    key: i32,
    own: Address,
    value: Address,
    copy: &mut Address,
    flag: &mut i32,
) -> i32 {
    // SAFETY: as above; a handle that is an integer goes in the register of a pointer.
    returned::<D>(unsafe {
        program!(function, (usize, i32, Address, Address, *mut Address, *mut i32) -> i32)(
            D::object(handle),
            D::keyval(key),
            own,
            value,
            copy,
            flag,
        )
    })
}

unsafe extern "C-unwind" fn delete<D: Dialect>(
    function: usize,
    handle: usize,
    key: i32,
    value: Address,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned::<D>(unsafe {
        program!(function, (usize, i32, Address, Address) -> i32)(
            D::object(handle),
            D::keyval(key),
            value,
            own,
        )
    })
}

unsafe extern "C-unwind" fn extent<D: Dialect>(
    function: usize,
    datatype: Datatype,
    extent: &mut isize,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned::<D>(unsafe {
        program!(function, (D::Handle, *mut isize, Address) -> i32)(D::datatype(datatype.0), extent, own)
    })
}

unsafe extern "C-unwind" fn convert<D: Dialect, N>(
    function: usize,
    user: Address,
    datatype: Datatype,
    count: N,
    file: Address,
    position: Offset,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned::<D>(unsafe {
        program!(function, (Address, D::Handle, N, Address, Offset, Address) -> i32)(
            user,
            D::datatype(datatype.0),
            count,
            file,
            position,
            own,
        )
    })
}

//! Functions of the program that the library calls: with MPICH's handles and statuses, and MPICH's error codes back.
//!
//! The engine keeps with each function that it came through this front-end ([`ffi::Origin`]), and calls it by [`MPICH`].

use core::mem::transmute;

use abi::{Address, Count, Datatype, Offset};
use ffi::Callers;

use crate::functions::{comm, datatype, errcode, file, keyval, session, win};
use crate::status::Status;
use crate::{Handle, P};

/// How functions of a program of this ABI are called.
pub static MPICH: Callers = Callers {
    error_handler: Some(error_handler),
    reduce: Some(reduce),
    reduce_large: Some(reduce_large),
    query: Some(query),
    free: Some(free),
    cancel: Some(cancel),
    copy: Some(copy_attribute),
    delete: Some(delete),
    extent: Some(extent),
    convert: Some(convert),
    convert_large: Some(convert_large),
    ..Callers::STANDARD
};

/// The program's function at an address.
macro_rules! program {
    ($address:expr, ($($kind:ty),*) $(-> $returns:ty)?) => {
        transmute::<usize, unsafe extern "C-unwind" fn($($kind),*) $(-> $returns)?>($address)
    };
}

/// A code that the program's function returns: a class, one that the program made, or any number.
fn returned(code: i32) -> i32 {
    match errcode::of(code) {
        i32::MIN => abi::ERR_OTHER,
        code => code,
    }
}

/// The handle of an object with attributes or an error handler, of whichever kind. Those of communicators, windows, files and
/// sessions that a program did not make, and of datatypes, lie apart in the standard ABI; files have addresses.
fn object(ours: usize) -> usize {
    const FILE_NULL: usize = abi::FILE_NULL.0;
    const WIN_NULL: usize = abi::WIN_NULL.0;
    const SESSION_NULL: usize = abi::SESSION_NULL.0;
    const DATATYPES: usize = abi::DATATYPE_NULL.0;
    let integer = |handle: Handle| handle as u32 as usize;
    match ours {
        0x1000.. => ours,
        FILE_NULL => file::to(ours),
        WIN_NULL => integer(win::to(ours)),
        SESSION_NULL => integer(session::to(ours)),
        DATATYPES.. => integer(datatype::to(ours)),
        _ => integer(comm::to(ours)),
    }
}

unsafe extern "C" {
    /// The address of the error handler that is to be called, on this thread.
    fn alhena_due_handler_1() -> usize;
}

unsafe extern "C-unwind" fn error_handler(handle: *mut usize, code: *mut i32) {
    // SAFETY: the engine gives both places, and the program an error handler; it takes no further arguments.
    unsafe {
        // An integer's place is the first half of a pointer's.
        let (mut theirs, mut number) = (object(*handle), errcode::to(*code));
        let function = alhena_due_handler_1();
        program!(function, (*mut usize, *mut i32))(&raw mut theirs, &raw mut number);
        *code = returned(number);
    }
}

unsafe extern "C-unwind" fn reduce(
    function: usize,
    input: Address,
    in_out: Address,
    length: &mut i32,
    datatype: &mut Datatype,
) {
    let mut theirs = datatype::to(datatype.0);
    // SAFETY: the program gave a function of this type.
    unsafe {
        program!(function, (Address, Address, *mut i32, *mut Handle))(input, in_out, length, &raw mut theirs)
    };
}

unsafe extern "C-unwind" fn reduce_large(
    function: usize,
    input: Address,
    in_out: Address,
    length: &mut Count,
    datatype: &mut Datatype,
) {
    let mut theirs = datatype::to(datatype.0);
    // SAFETY: as above.
    unsafe {
        program!(function, (Address, Address, *mut Count, *mut Handle))(
            input,
            in_out,
            length,
            &raw mut theirs,
        )
    };
}

unsafe extern "C-unwind" fn query(function: usize, own: Address, status: &mut abi::Status) -> i32 {
    let mut theirs = Status::of(status);
    // SAFETY: as above.
    let code = unsafe { program!(function, (Address, *mut Status) -> i32)(own, &raw mut theirs) };
    *status = theirs.ours();
    returned(code)
}

unsafe extern "C-unwind" fn free(function: usize, own: Address) -> i32 {
    // SAFETY: as above.
    returned(unsafe { program!(function, (Address) -> i32)(own) })
}

unsafe extern "C-unwind" fn cancel(function: usize, own: Address, complete: i32) -> i32 {
    // SAFETY: as above.
    returned(unsafe { program!(function, (Address, i32) -> i32)(own, complete) })
}

unsafe extern "C-unwind" fn copy_attribute(
    function: usize,
    handle: usize,
    key: i32,
    own: Address,
    value: Address,
    copy: &mut Address,
    flag: &mut i32,
) -> i32 {
    // SAFETY: as above; a handle that is an integer goes in the register of a pointer.
    returned(unsafe {
        program!(function, (usize, i32, Address, Address, *mut Address, *mut i32) -> i32)(
            object(handle),
            keyval::to(key),
            own,
            value,
            copy,
            flag,
        )
    })
}

unsafe extern "C-unwind" fn delete(
    function: usize,
    handle: usize,
    key: i32,
    value: Address,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned(unsafe {
        program!(function, (usize, i32, Address, Address) -> i32)(object(handle), keyval::to(key), value, own)
    })
}

unsafe extern "C-unwind" fn extent(
    function: usize,
    datatype: Datatype,
    extent: &mut isize,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned(unsafe {
        program!(function, (Handle, *mut isize, Address) -> i32)(datatype::to(datatype.0), extent, own)
    })
}

unsafe extern "C-unwind" fn convert(
    function: usize,
    user: Address,
    datatype: Datatype,
    count: i32,
    file: Address,
    position: Offset,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned(unsafe {
        program!(function, (Address, Handle, i32, Address, Offset, Address) -> i32)(
            user,
            datatype::to(datatype.0),
            count,
            file,
            position,
            own,
        )
    })
}

unsafe extern "C-unwind" fn convert_large(
    function: usize,
    user: Address,
    datatype: Datatype,
    count: Count,
    file: Address,
    position: Offset,
    own: Address,
) -> i32 {
    // SAFETY: as above.
    returned(unsafe {
        program!(function, (Address, Handle, Count, Address, Offset, Address) -> i32)(
            user,
            datatype::to(datatype.0),
            count,
            file,
            position,
            own,
        )
    })
}

/// `MPI_COMM_DUP_FN` and its kin: the copy of an object gets the same attribute.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
unsafe extern "C" fn MPIR_Dup_fn(_: i32, _: i32, _: P, value: P, copy: *mut P, flag: *mut i32) -> i32 {
    // SAFETY: the program's places.
    unsafe { (*copy, *flag) = (value, 1) };
    0
}

/// The function that copies an attribute, which for this ABI may be [`MPIR_Dup_fn`], and NULL for none.
pub fn copy(function: P) -> P {
    if function == MPIR_Dup_fn as *const () as P { abi::COMM_DUP_FN as P } else { function }
}

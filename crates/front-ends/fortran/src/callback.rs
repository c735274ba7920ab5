//! Procedures of the program that C calls (MPI-5.0 section 19.1.3).
//!
//! A reduction and an error handler get all arguments by address in both languages, and the first half of a handle is its
//! integer, so the program's procedure is called by C itself. The others are called by a function here, whose state is the
//! program's procedures and its own state: no code is made at run time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::names::{address_of, aliases};
use crate::place::P;
use crate::{attribute, handle, logical};

const _: () = assert!(cfg!(target_endian = "little"), "the first half of a handle is its integer");

/// The procedures of the program and its state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    functions: [usize; 3],
    extra: i64,
}

/// The C state of procedures that may be called until the process ends; the same ones have the same.
pub fn kept(functions: [P; 3], extra: i64) -> P {
    static KNOWN: Mutex<Option<HashMap<State, usize>>> = Mutex::new(None);
    let state = State { functions: functions.map(|it| it as usize), extra };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = known.get_or_insert_default().entry(state);
    *place.or_insert_with(|| core::ptr::from_mut(Box::leak(Box::new(state))).expose_provenance()) as P
}

/// The C state of a generalized request, which [`FREE`] frees.
pub fn once(functions: [P; 3], extra: i64) -> P {
    Box::into_raw(Box::new(State { functions: functions.map(|it| it as usize), extra })) as P
}

unsafe fn state(address: P) -> State {
    // SAFETY: made above, and C hands on what it was given.
    unsafe { *address.cast::<State>() }
}

macro_rules! program {
    ($address:expr, ($($kind:ty),*)) => {
        core::mem::transmute::<usize, unsafe extern "C" fn($(*mut $kind),*)>($address)
    };
}

/// The integer that a program has for values of attributes: `INTEGER(KIND=MPI_ADDRESS_KIND)`, in the procedures of MPI-1
/// `INTEGER`.
trait Value: Copy + Into<i64> {
    /// As many bits of a number as it holds.
    fn of(number: i64) -> Self;
}

impl Value for i64 {
    fn of(number: i64) -> i64 {
        number
    }
}

impl Value for i32 {
    fn of(number: i64) -> i32 {
        number as i32
    }
}

unsafe extern "C" fn copy_of_program<V: Value>(
    object: usize,
    key: i32,
    own: P,
    value: P,
    copy: *mut P,
    flag: *mut i32,
) -> i32 {
    // SAFETY: C calls with what `kept` has made; all arguments are places here.
    unsafe {
        let State { functions, extra } = state(own);
        let (mut object, mut key, mut extra) = (handle::to(object), key, V::of(extra));
        let mut value = V::of(attribute::number(value));
        let (mut new, mut yes, mut code) = (value, 0, 0);
        program!(functions[0], (i32, i32, V, V, V, i32, i32))(
            &mut object,
            &mut key,
            &mut extra,
            &mut value,
            &mut new,
            &mut yes,
            &mut code,
        );
        *flag = logical::of(yes);
        if yes != 0 {
            *copy = attribute::keep(new.into());
        }
        code
    }
}

unsafe extern "C" fn delete_of_program<V: Value>(object: usize, key: i32, value: P, own: P) -> i32 {
    // SAFETY: as above.
    unsafe {
        let State { functions, extra } = state(own);
        let (mut object, mut key, mut extra) = (handle::to(object), key, V::of(extra));
        let (mut value, mut code) = (V::of(attribute::number(value)), 0);
        program!(functions[1], (i32, i32, V, V, i32))(
            &mut object,
            &mut key,
            &mut value,
            &mut extra,
            &mut code,
        );
        code
    }
}

unsafe extern "C" fn query_of_program(own: P, status: P) -> i32 {
    // SAFETY: as above; the status is C's.
    unsafe {
        let State { functions, mut extra } = state(own);
        let mut code = 0;
        program!(functions[0], (i64, core::ffi::c_void, i32))(&mut extra, status, &mut code);
        code
    }
}

unsafe extern "C" fn free_of_program(own: P) -> i32 {
    // SAFETY: as above; C calls this once, and nothing of the request afterwards.
    unsafe {
        let State { functions, mut extra } = *Box::from_raw(own.cast::<State>());
        let mut code = 0;
        program!(functions[1], (i64, i32))(&mut extra, &mut code);
        code
    }
}

unsafe extern "C" fn cancel_of_program(own: P, complete: i32) -> i32 {
    // SAFETY: as above.
    unsafe {
        let State { functions, mut extra } = state(own);
        let (mut complete, mut code) = (logical::to(complete), 0);
        program!(functions[2], (i64, i32, i32))(&mut extra, &mut complete, &mut code);
        code
    }
}

unsafe extern "C" fn extent_of_program(datatype: usize, extent: *mut isize, own: P) -> i32 {
    // SAFETY: as above.
    unsafe {
        let State { functions, mut extra } = state(own);
        let (mut datatype, mut code) = (handle::to(datatype), 0);
        program!(functions[2], (i32, isize, i64, i32))(&mut datatype, extent, &mut extra, &mut code);
        code
    }
}

macro_rules! conversions {
    ($($name:ident $which:literal $count:ty;)*) => { $(
        unsafe extern "C" fn $name(user: P, datatype: usize, count: $count, file: P, position: i64, own: P) -> i32 {
            type Program = unsafe extern "C" fn(P, *mut i32, *mut $count, P, *mut i64, *mut i64, *mut i32);
            // SAFETY: as above; buffers go as `TYPE(C_PTR), VALUE`.
            unsafe {
                let State { functions, mut extra } = state(own);
                let (mut datatype, mut count, mut position) = (handle::to(datatype), count, position);
                let mut code = 0;
                let program = core::mem::transmute::<usize, Program>(functions[$which]);
                program(user, &mut datatype, &mut count, file, &mut position, &mut extra, &mut code);
                code
            }
        }
    )* };
}

conversions! {
    read_of_program 0 i32;
    write_of_program 1 i32;
    read_of_program_large 0 i64;
    write_of_program_large 1 i64;
}

type Query = unsafe extern "C" fn(P, P) -> i32;
type Free = unsafe extern "C" fn(P) -> i32;
type Cancel = unsafe extern "C" fn(P, i32) -> i32;
type Extent = unsafe extern "C" fn(usize, *mut isize, P) -> i32;

/// The functions of a generalized request and of a data representation that call the program's.
pub const QUERY: Query = query_of_program;
/// See [`QUERY`].
pub const FREE: Free = free_of_program;
/// See [`QUERY`].
pub const CANCEL: Cancel = cancel_of_program;
/// See [`QUERY`].
pub const EXTENT: Extent = extent_of_program;

/// What C has for a procedure that copies an attribute.
pub fn copy(program: P) -> P {
    predefined(program).unwrap_or(copy_of_program::<i64> as *const () as P)
}

/// What C has for a procedure that deletes an attribute.
pub fn delete(program: P) -> P {
    predefined(program).unwrap_or(delete_of_program::<i64> as *const () as P)
}

/// The same for the procedures of MPI-1.
pub fn copy_short(program: P) -> P {
    predefined(program).unwrap_or(copy_of_program::<i32> as *const () as P)
}

/// The same for the procedures of MPI-1.
pub fn delete_short(program: P) -> P {
    predefined(program).unwrap_or(delete_of_program::<i32> as *const () as P)
}

/// What C has for a procedure that reads or writes a data representation.
pub fn conversion(argument: &str, program: P) -> P {
    let function = if argument.starts_with("read") { read_of_program } else { write_of_program };
    predefined(program).unwrap_or(function as *const () as P)
}

/// The same with a large count.
pub fn conversion_large(argument: &str, program: P) -> P {
    let function = if argument.starts_with("read") { read_of_program_large } else { write_of_program_large };
    predefined(program).unwrap_or(function as *const () as P)
}

unsafe extern "C" fn null_copy(_: P, _: P, _: P, _: P, _: P, flag: *mut i32, code: *mut i32) {
    // SAFETY: the program's arguments, here and below.
    unsafe { (*flag, *code) = (0, 0) };
}

unsafe extern "C" fn dup(_: P, _: P, _: P, value: *mut i64, copy: *mut i64, flag: *mut i32, code: *mut i32) {
    // SAFETY: as above.
    unsafe { (*copy, *flag, *code) = (*value, logical::to(1), 0) };
}

unsafe extern "C" fn dup_short(
    _: P,
    _: P,
    _: P,
    value: *mut i32,
    copy: *mut i32,
    flag: *mut i32,
    code: *mut i32,
) {
    // SAFETY: as above.
    unsafe { (*copy, *flag, *code) = (*value, logical::to(1), 0) };
}

unsafe extern "C" fn null_delete(_: P, _: P, _: P, _: P, code: *mut i32) {
    // SAFETY: as above.
    unsafe { *code = 0 };
}

unsafe extern "C" fn null_conversion(_: P, _: P, _: P, _: P, _: P, _: P, code: *mut i32) {
    // SAFETY: as above.
    unsafe { *code = abi::ERR_CONVERSION };
}

/// Procedures of the interfaces that are numbers in C: known by their addresses, which are the program's, and of use when a
/// program calls them.
macro_rules! predefined {
    ($( $value:ident $function:ident: [$($name:ident)*] )*) => {
        $( aliases! { $function: $($name)* } )*

        fn predefined(program: P) -> Option<P> {
            $( if [$( address_of!($name) ),*].contains(&program) {
                return Some(abi::$value as P);
            } )*
            None
        }
    };
}

predefined! {
    COMM_NULL_COPY_FN null_copy: [
        mpi_comm_null_copy_fn_ mpi_comm_null_copy_fn__ mpi_comm_null_copy_fn MPI_COMM_NULL_COPY_FN
        mpi_type_null_copy_fn_ mpi_type_null_copy_fn__ mpi_type_null_copy_fn MPI_TYPE_NULL_COPY_FN
        mpi_win_null_copy_fn_ mpi_win_null_copy_fn__ mpi_win_null_copy_fn MPI_WIN_NULL_COPY_FN
        mpi_null_copy_fn_ mpi_null_copy_fn__ mpi_null_copy_fn MPI_NULL_COPY_FN
    ]
    COMM_DUP_FN dup: [
        mpi_comm_dup_fn_ mpi_comm_dup_fn__ mpi_comm_dup_fn MPI_COMM_DUP_FN
        mpi_type_dup_fn_ mpi_type_dup_fn__ mpi_type_dup_fn MPI_TYPE_DUP_FN
        mpi_win_dup_fn_ mpi_win_dup_fn__ mpi_win_dup_fn MPI_WIN_DUP_FN
    ]
    DUP_FN dup_short: [
        mpi_dup_fn_ mpi_dup_fn__ mpi_dup_fn MPI_DUP_FN
    ]
    COMM_NULL_DELETE_FN null_delete: [
        mpi_comm_null_delete_fn_ mpi_comm_null_delete_fn__ mpi_comm_null_delete_fn MPI_COMM_NULL_DELETE_FN
        mpi_type_null_delete_fn_ mpi_type_null_delete_fn__ mpi_type_null_delete_fn MPI_TYPE_NULL_DELETE_FN
        mpi_win_null_delete_fn_ mpi_win_null_delete_fn__ mpi_win_null_delete_fn MPI_WIN_NULL_DELETE_FN
        mpi_null_delete_fn_ mpi_null_delete_fn__ mpi_null_delete_fn MPI_NULL_DELETE_FN
    ]
    CONVERSION_FN_NULL null_conversion: [
        mpi_conversion_fn_null_ mpi_conversion_fn_null__ mpi_conversion_fn_null MPI_CONVERSION_FN_NULL
        mpi_conversion_fn_null_c_ mpi_conversion_fn_null_c__ mpi_conversion_fn_null_c MPI_CONVERSION_FN_NULL_C
    ]
}

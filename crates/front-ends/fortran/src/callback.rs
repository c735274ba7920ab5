//! Procedures of the program that C calls (MPI-5.0 section 19.1.3).
//!
//! A reduction and an error handler get all arguments by address in both languages, and the first half of a handle is its
//! integer, so the program's procedure is called by C itself. The others are called by a function of [`direct`]: by Alhena's C
//! library, which keeps whose they are, or by a function here, whose state is the program's procedures and its own state,
//! over other C libraries. No code is made at run time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use abi::{Address, Datatype};
use ffi::Callers;

use crate::handle::{self, Kind};
use crate::names::{address_of, aliases};
use crate::place::P;
use crate::{attribute, library, logical, origin};

const _: () = assert!(cfg!(target_endian = "little"), "the first half of a handle is its integer");

/// The procedures of the program and its state.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    functions: [usize; 3],
    extra: i64,
}

/// The C state of procedures that may be called until the process ends; the same ones have the same.
pub fn kept(functions: [P; 3], extra: i64) -> P {
    if origin::is_kept() {
        return extra as P;
    }
    static KNOWN: Mutex<Option<HashMap<State, usize>>> = Mutex::new(None);
    let state = State { functions: functions.map(|it| it as usize), extra };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = known.get_or_insert_default().entry(state);
    *place.or_insert_with(|| core::ptr::from_mut(Box::leak(Box::new(state))).expose_provenance()) as P
}

/// The C state of a generalized request, which its free function frees.
pub fn once(functions: [P; 3], extra: i64) -> P {
    if origin::is_kept() {
        return extra as P;
    }
    Box::into_raw(Box::new(State { functions: functions.map(|it| it as usize), extra })) as P
}

unsafe fn state(address: P) -> State {
    // SAFETY: made above, and C hands on what it was given.
    unsafe { *address.cast::<State>() }
}

macro_rules! program {
    ($address:expr, ($($kind:ty),*)) => {
        core::mem::transmute::<usize, unsafe extern "C-unwind" fn($(*mut $kind),*)>($address)
    };
}

/// The integer that a program has for values of attributes: `INTEGER(KIND=MPI_ADDRESS_KIND)`, in the procedures of MPI-1
/// `INTEGER`.
pub trait Value: Copy + Into<i64> {
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

/// The program's procedures by their addresses, as the C library calls them that keeps whose they are.
pub mod direct {
    #![allow(clippy::missing_safety_doc)]
    // All of these are called with the address of a procedure of the program, as `MPI_Comm_create_keyval` and the others got
    // it; the arguments that go by address are places here.

    use abi::{Address, Datatype};

    use super::Value;
    use crate::place::P;
    use crate::status::Status;
    use crate::{library, logical, status};

    pub unsafe extern "C-unwind" fn copy<V: Value>(
        function: usize,
        object: usize,
        key: i32,
        extra: Address,
        value: Address,
        copy: &mut Address,
        flag: &mut i32,
    ) -> i32 {
        let (mut object, mut key, mut extra) = (library::object(object), key, V::of(extra.0 as i64));
        let mut value = V::of(value.0 as i64);
        let (mut new, mut yes, mut code) = (value, 0, 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe {
            program!(function, (i32, i32, V, V, V, i32, i32))(
                &mut object,
                &mut key,
                &mut extra,
                &mut value,
                &mut new,
                &mut yes,
                &mut code,
            );
        }
        *flag = logical::of(yes);
        *copy = Address(new.into() as usize);
        library::code(code)
    }

    pub unsafe extern "C-unwind" fn delete<V: Value>(
        function: usize,
        object: usize,
        key: i32,
        value: Address,
        extra: Address,
    ) -> i32 {
        let (mut object, mut key, mut extra) = (library::object(object), key, V::of(extra.0 as i64));
        let (mut value, mut code) = (V::of(value.0 as i64), 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe {
            program!(function, (i32, i32, V, V, i32))(
                &mut object,
                &mut key,
                &mut value,
                &mut extra,
                &mut code,
            );
        }
        library::code(code)
    }

    /// Calls an error handler of the program over a dialect; over the standard ABI C itself calls it.
    pub unsafe extern "C-unwind" fn error_handler(object: *mut usize, code: *mut i32) {
        // SAFETY: both places are C's, and the handler of the program is this thread's due one.
        unsafe {
            let (mut object, mut number) = (library::object(*object), library::code_to(*code));
            program!(crate::origin::due_handler(), (i32, i32))(&mut object, &mut number);
            *code = library::code(number);
        }
    }

    pub unsafe extern "C-unwind" fn reduce<N>(
        function: usize,
        input: Address,
        in_out: Address,
        length: &mut N,
        datatype: &mut Datatype,
    ) {
        type Program<N> = unsafe extern "C-unwind" fn(P, P, *mut N, *mut i32);
        let mut datatype = library::datatype(datatype.0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe {
            let program = core::mem::transmute::<usize, Program<N>>(function);
            program(input.0 as P, in_out.0 as P, length, &mut datatype);
        }
    }

    pub unsafe extern "C-unwind" fn query(function: usize, extra: Address, status: &mut abi::Status) -> i32 {
        let (mut extra, mut code) = (extra.0 as i64, 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        status::given(status, |place| unsafe {
            program!(function, (i64, Status, i32))(&mut extra, place, &mut code);
        });
        library::code(code)
    }

    pub unsafe extern "C-unwind" fn free(function: usize, extra: Address) -> i32 {
        let (mut extra, mut code) = (extra.0 as i64, 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe { program!(function, (i64, i32))(&mut extra, &mut code) };
        library::code(code)
    }

    pub unsafe extern "C-unwind" fn cancel(function: usize, extra: Address, complete: i32) -> i32 {
        let (mut extra, mut complete, mut code) = (extra.0 as i64, logical::to(complete), 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe { program!(function, (i64, i32, i32))(&mut extra, &mut complete, &mut code) };
        library::code(code)
    }

    pub unsafe extern "C-unwind" fn extent(
        function: usize,
        datatype: Datatype,
        extent: &mut isize,
        extra: Address,
    ) -> i32 {
        let (mut datatype, mut extra, mut code) = (library::datatype(datatype.0), extra.0 as i64, 0);
        // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
        unsafe { program!(function, (i32, isize, i64, i32))(&mut datatype, extent, &mut extra, &mut code) };
        library::code(code)
    }

    macro_rules! conversions {
        ($($name:ident $count:ty;)*) => { $(
            pub unsafe extern "C-unwind" fn $name(
                function: usize, user: Address, datatype: Datatype, count: $count, file: Address, position: i64,
                extra: Address,
            ) -> i32 {
                type Program = unsafe extern "C-unwind" fn(P, *mut i32, *mut $count, P, *mut i64, *mut i64, *mut i32);
                let (mut datatype, mut count, mut position) = (library::datatype(datatype.0), count, position);
                let (mut extra, mut code) = (extra.0 as i64, 0);
                // Buffers go as `TYPE(C_PTR), VALUE`.
                // SAFETY: a procedure of this type, and places for its arguments: see the head of the module.
                unsafe {
                    let program = core::mem::transmute::<usize, Program>(function);
                    let (user, file) = (user.0 as P, file.0 as P);
                    program(user, &mut datatype, &mut count, file, &mut position, &mut extra, &mut code);
                }
                library::code(code)
            }
        )* };
    }

    conversions! {
        convert i32;
        convert_large i64;
    }
}

unsafe extern "C-unwind" fn copy_of_program<V: Value, const KIND: u8>(
    object: usize,
    key: i32,
    own: P,
    value: P,
    copy: &mut Address,
    flag: &mut i32,
) -> i32 {
    // SAFETY: C calls with what `kept` has made, here and below.
    let (State { functions, extra }, number) = (unsafe { state(own) }, attribute::number(value));
    let (extra, value) = (Address(extra as usize), Address(number as usize));
    let object = integer(holder(KIND), object);
    // SAFETY: as above.
    let code = unsafe { direct::copy::<V>(functions[0], object, key, extra, value, copy, flag) };
    if *flag != 0 {
        *copy = Address(attribute::keep(copy.0 as i64).expose_provenance());
    }
    code
}

unsafe extern "C-unwind" fn delete_of_program<V: Value, const KIND: u8>(
    object: usize,
    key: i32,
    value: P,
    own: P,
) -> i32 {
    // SAFETY: as above.
    let (State { functions, extra }, number) = (unsafe { state(own) }, attribute::number(value));
    let (extra, value) = (Address(extra as usize), Address(number as usize));
    let object = integer(holder(KIND), object);
    // SAFETY: as above.
    unsafe { direct::delete::<V>(functions[1], object, key, value, extra) }
}

unsafe extern "C-unwind" fn query_of_program(own: P, status: &mut abi::Status) -> i32 {
    // SAFETY: as above; the status is C's.
    unsafe {
        let State { functions, extra } = state(own);
        direct::query(functions[0], Address(extra as usize), status)
    }
}

unsafe extern "C-unwind" fn free_of_program(own: P) -> i32 {
    // SAFETY: as above; C calls this once, and nothing of the request afterwards.
    unsafe {
        let State { functions, extra } = *Box::from_raw(own.cast::<State>());
        direct::free(functions[1], Address(extra as usize))
    }
}

unsafe extern "C-unwind" fn cancel_of_program(own: P, complete: i32) -> i32 {
    // SAFETY: as above.
    unsafe {
        let State { functions, extra } = state(own);
        direct::cancel(functions[2], Address(extra as usize), complete)
    }
}

unsafe extern "C-unwind" fn extent_of_program(datatype: Datatype, extent: &mut isize, own: P) -> i32 {
    // SAFETY: as above.
    unsafe {
        let State { functions, extra } = state(own);
        let datatype = Datatype(integer(Kind::Datatype, datatype.0));
        direct::extent(functions[2], datatype, &mut *extent, Address(extra as usize))
    }
}

macro_rules! conversions {
    ($($name:ident $direct:ident $which:literal $count:ty;)*) => { $(
        unsafe extern "C-unwind" fn $name(
            user: Address, datatype: Datatype, count: $count, file: Address, position: i64, own: P,
        ) -> i32 {
            // SAFETY: as above.
            unsafe {
                let State { functions, extra } = state(own);
                let datatype = Datatype(integer(Kind::Datatype, datatype.0));
                direct::$direct(functions[$which], user, datatype, count, file, position, Address(extra as usize))
            }
        }
    )* };
}

conversions! {
    read_of_program convert 0 i32;
    write_of_program convert 1 i32;
    read_of_program_large convert_large 0 i64;
    write_of_program_large convert_large 1 i64;
}

/// The procedures of the program, and attributes of `MPI_ADDRESS_KIND`.
pub static FORTRAN: Callers = Callers {
    attributes_are_integers: true,
    // Over the standard ABI the first half of a handle is its integer.
    error_handler: if library::IS_STANDARD { None } else { Some(direct::error_handler) },
    reduce: if library::IS_STANDARD { None } else { Some(direct::reduce) },
    reduce_large: if library::IS_STANDARD { None } else { Some(direct::reduce) },
    copy: Some(direct::copy::<i64>),
    delete: Some(direct::delete::<i64>),
    query: Some(direct::query),
    free: Some(direct::free),
    cancel: Some(direct::cancel),
    extent: Some(direct::extent),
    convert: Some(direct::convert),
    convert_large: Some(direct::convert_large),
    ..Callers::STANDARD
};

/// Those of MPI-1, whose attributes are default integers.
pub static SHORT: Callers =
    Callers { copy: Some(direct::copy::<i32>), delete: Some(direct::delete::<i32>), ..FORTRAN };

const COMM: u8 = 0;
const DATATYPE: u8 = 1;
const WIN: u8 = 2;

fn holder(kind: u8) -> Kind {
    match kind {
        DATATYPE => Kind::Datatype,
        WIN => Kind::Win,
        _ => Kind::Comm,
    }
}

/// The integer of another library's handle, as [`direct`] takes it.
fn integer(kind: Kind, handle: usize) -> usize {
    handle::to(kind, handle) as u32 as usize
}

/// What C has for a procedure: a number, the procedure where C keeps whose it is, or a function that calls it.
fn of(program: P, function: *const ()) -> P {
    predefined(program).unwrap_or(if origin::is_kept() { program } else { function as P })
}

/// What C has for a procedure that copies an attribute of such an object.
pub fn copy(kind: Kind, program: P) -> P {
    let function = match kind {
        Kind::Datatype => copy_of_program::<i64, DATATYPE> as *const (),
        Kind::Win => copy_of_program::<i64, WIN> as *const (),
        _ => copy_of_program::<i64, COMM> as *const (),
    };
    of(program, function)
}

/// What C has for a procedure that deletes an attribute of such an object.
pub fn delete(kind: Kind, program: P) -> P {
    let function = match kind {
        Kind::Datatype => delete_of_program::<i64, DATATYPE> as *const (),
        Kind::Win => delete_of_program::<i64, WIN> as *const (),
        _ => delete_of_program::<i64, COMM> as *const (),
    };
    of(program, function)
}

/// The same for the procedures of MPI-1.
pub fn copy_short(program: P) -> P {
    of(program, copy_of_program::<i32, COMM> as *const ())
}

/// The same for the procedures of MPI-1.
pub fn delete_short(program: P) -> P {
    of(program, delete_of_program::<i32, COMM> as *const ())
}

/// What C has for the procedures of a generalized request.
pub fn query(program: P) -> P {
    of(program, query_of_program as *const ())
}

/// See [`query`].
pub fn free(program: P) -> P {
    of(program, free_of_program as *const ())
}

/// See [`query`].
pub fn cancel(program: P) -> P {
    of(program, cancel_of_program as *const ())
}

/// What C has for a procedure that gives extents in a data representation.
pub fn extent(program: P) -> P {
    of(program, extent_of_program as *const ())
}

/// What C has for a procedure that reads a data representation.
pub fn read(program: P) -> P {
    of(program, read_of_program as *const ())
}

/// What C has for a procedure that writes one.
pub fn write(program: P) -> P {
    of(program, write_of_program as *const ())
}

/// The same with a large count.
pub fn read_large(program: P) -> P {
    of(program, read_of_program_large as *const ())
}

/// The same with a large count.
pub fn write_large(program: P) -> P {
    of(program, write_of_program_large as *const ())
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
    unsafe { *code = library::ERR_CONVERSION };
}

/// Procedures of the interfaces that are numbers in C: known by their addresses, which are the program's, and of use when a
/// program calls them.
macro_rules! predefined {
    ($( $value:ident $function:ident: [$($name:ident)*] )*) => {
        $( aliases! { $function: $($name)* } )*

        fn predefined(program: P) -> Option<P> {
            $( if [$( address_of!($name) ),*].contains(&program) {
                return Some(library::$value as usize as P);
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

// Further names of these in other libraries: P twins, and procedures of compiled modules.
#[cfg(dialect)]
mod module {
    #![allow(non_snake_case)]
    use super::{dup, dup_short, null_conversion, null_copy, null_delete};
    use crate::names::aliases;

    aliases! { null_copy:
        pmpi_comm_null_copy_fn_ pmpi_comm_null_copy_fn__ pmpi_comm_null_copy_fn PMPI_COMM_NULL_COPY_FN
        pmpi_type_null_copy_fn_ pmpi_type_null_copy_fn__ pmpi_type_null_copy_fn PMPI_TYPE_NULL_COPY_FN
        pmpi_win_null_copy_fn_ pmpi_win_null_copy_fn__ pmpi_win_null_copy_fn PMPI_WIN_NULL_COPY_FN
        pmpi_null_copy_fn_ pmpi_null_copy_fn__ pmpi_null_copy_fn PMPI_NULL_COPY_FN
    }
    aliases! { dup:
        pmpi_comm_dup_fn_ pmpi_comm_dup_fn__ pmpi_comm_dup_fn PMPI_COMM_DUP_FN
        pmpi_type_dup_fn_ pmpi_type_dup_fn__ pmpi_type_dup_fn PMPI_TYPE_DUP_FN
        pmpi_win_dup_fn_ pmpi_win_dup_fn__ pmpi_win_dup_fn PMPI_WIN_DUP_FN
    }
    aliases! { dup_short:
        pmpi_dup_fn_ pmpi_dup_fn__ pmpi_dup_fn PMPI_DUP_FN
    }
    aliases! { null_delete:
        pmpi_comm_null_delete_fn_ pmpi_comm_null_delete_fn__ pmpi_comm_null_delete_fn PMPI_COMM_NULL_DELETE_FN
        pmpi_type_null_delete_fn_ pmpi_type_null_delete_fn__ pmpi_type_null_delete_fn PMPI_TYPE_NULL_DELETE_FN
        pmpi_win_null_delete_fn_ pmpi_win_null_delete_fn__ pmpi_win_null_delete_fn PMPI_WIN_NULL_DELETE_FN
        pmpi_null_delete_fn_ pmpi_null_delete_fn__ pmpi_null_delete_fn PMPI_NULL_DELETE_FN
    }
    aliases! { null_conversion:
        pmpi_conversion_fn_null_ pmpi_conversion_fn_null__ pmpi_conversion_fn_null PMPI_CONVERSION_FN_NULL
    }
    aliases! { null_copy:
        __mpi_f08_callbacks_MOD_mpi_comm_null_copy_fn __mpi_f08_callbacks_MOD_mpi_type_null_copy_fn
        __mpi_f08_callbacks_MOD_mpi_win_null_copy_fn
    }
    aliases! { dup:
        __mpi_f08_callbacks_MOD_mpi_comm_dup_fn __mpi_f08_callbacks_MOD_mpi_type_dup_fn
        __mpi_f08_callbacks_MOD_mpi_win_dup_fn
    }
    aliases! { null_delete:
        __mpi_f08_callbacks_MOD_mpi_comm_null_delete_fn __mpi_f08_callbacks_MOD_mpi_type_null_delete_fn
        __mpi_f08_callbacks_MOD_mpi_win_null_delete_fn
    }
    aliases! { null_conversion: __mpi_f08_callbacks_MOD_mpi_conversion_fn_null }
}

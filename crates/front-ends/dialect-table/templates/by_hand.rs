// Entry points that the tables cannot say.

use core::ffi::c_char;

use crate::functions::{comm, darg, datatype, distrib, errcode, info, length, order, rank, version};

/// Reads our library's version, a line.
unsafe fn own_version() -> String {
    let mut text = vec![0_u8; abi::MAX_LIBRARY_VERSION_STRING as usize];
    let mut length = 0_i32;
    // SAFETY: both places have the size that the standard asks for.
    unsafe {
        call!(row::Get_library_version, (P, P) -> i32)(text.as_mut_ptr() as P, &raw mut length as P);
    }
    text.truncate(length.max(0) as usize);
    String::from_utf8_lossy(&text).into_owned()
}

// Programs parse the text to know which library they run on, and know the one whose ABI they have.
entry! { MPI_Get_library_version PMPI_Get_library_version (version: *mut u8, resultlen: *mut i32) -> i32 {
    if version.is_null() || resultlen.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    let text = format!("{VERSION}{}\n", own_version());
    let kept = text.len().min(length::MAX_LIBRARY_VERSION_STRING - 1);
    core::ptr::copy_nonoverlapping(text.as_ptr(), version, kept);
    *version.add(kept) = 0;
    *resultlen = kept as i32;
    0
} }

// A program takes the version for a promise that all constants of that standard are there: the ABI may have fewer.
entry! { MPI_Get_version PMPI_Get_version (version: *mut i32, subversion: *mut i32) -> i32 {
    if version.is_null() || subversion.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    *version = version::VERSION;
    *subversion = version::SUBVERSION;
    0
} }

// A program of this ABI asks whether it runs on the standard one, and it does not.
entry! { MPI_Abi_get_version PMPI_Abi_get_version (abi_major: *mut i32, abi_minor: *mut i32) -> i32 {
    if abi_major.is_null() || abi_minor.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    *abi_major = -1;
    *abi_minor = -1;
    0
} }

// The standard function takes more arguments and reads none.
entry! { MPI_Pcontrol PMPI_Pcontrol (level: i32) -> i32 {
    errcode::give(call!(row::Pcontrol, (i32) -> i32)(level))
} }

/// Buffered messages take this much beside their bytes in the standard ABI, and less here. A program that made room for its
/// messages must not run out of it: each takes a byte at least, and room for the difference is added to what it attaches.
const OVERHEAD: i64 = abi::BSEND_OVERHEAD as i64;

/// A size that holds as many messages by our count as the program's holds by its own.
fn enough(size: i64) -> i64 {
    size.saturating_mul(OVERHEAD) / length::BSEND_OVERHEAD as i64 + OVERHEAD
}

/// The buffer that the program attached, and its size: our own is longer and stands for it.
static ATTACHED: std::sync::Mutex<Option<(usize, i64, Vec<u8>)>> = std::sync::Mutex::new(None);

unsafe fn attach(buffer: P, size: i64) -> i32 {
    // SAFETY: the program's buffer, or the magic one, which has no size.
    let attach = |buffer: P, size: i64| unsafe { call!(row::Buffer_attach_c, (P, i64) -> i32)(buffer, size) };
    let special = address::buffer(buffer);
    if size < 0 || special != buffer || buffer.is_null() {
        return attach(special, size);
    }
    let mut own = vec![0; enough(size).max(1) as usize];
    let code = attach(own.as_mut_ptr() as P, own.len() as i64);
    if code == 0 {
        *ATTACHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            Some((buffer as usize, size, own));
    }
    code
}

/// Detaches; the program's buffer and its size.
unsafe fn detach() -> (i32, usize, i64) {
    let (mut buffer, mut size) = (0_usize, 0_i64);
    // SAFETY: both places are right.
    let code =
        unsafe { call!(row::Buffer_detach_c, (P, P) -> i32)(&raw mut buffer as P, &raw mut size as P) };
    if code != 0 {
        return (code, 0, 0);
    }
    let attached = ATTACHED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    match attached {
        Some((buffer, size, _)) => (0, buffer, size),
        None if buffer == abi::BUFFER_AUTOMATIC => (0, address::AUTOMATIC, size),
        None => (0, buffer, size),
    }
}

entry! { MPI_Buffer_attach PMPI_Buffer_attach (buffer: P, size: i32) -> i32 {
    errcode::give(attach(buffer, i64::from(size)))
} }

entry! { MPI_Buffer_attach_c PMPI_Buffer_attach_c (buffer: P, size: i64) -> i32 {
    errcode::give(attach(buffer, size))
} }

entry! { MPI_Buffer_detach PMPI_Buffer_detach (buffer: *mut usize, size: *mut i32) -> i32 {
    if buffer.is_null() || size.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    let (code, address, bytes) = detach();
    if code == 0 {
        *buffer = address;
        *size = bytes.min(i64::from(i32::MAX)) as i32;
    }
    errcode::give(code)
} }

entry! { MPI_Buffer_detach_c PMPI_Buffer_detach_c (buffer: *mut usize, size: *mut i64) -> i32 {
    if buffer.is_null() || size.is_null() {
        return errcode::give(abi::ERR_ARG);
    }
    let (code, address, bytes) = detach();
    if code == 0 {
        (*buffer, *size) = (address, bytes);
    }
    errcode::give(code)
} }

/// Has the integers of a datatype's contents be the dialect's: orders and distributions stand among them.
unsafe fn contents(datatype: usize, integers: *mut i32, room: i64, large: bool) {
    if integers.is_null() {
        return;
    }
    // SAFETY: the program's array, whose length it states; each place is checked against that.
    let change = |at: i64, to: fn(i32) -> i32| unsafe {
        if at < room {
            *integers.add(at as usize) = to(*integers.add(at as usize));
        }
    };
    // SAFETY: as above.
    let dimensions = |at: i64| if at < room { i64::from(unsafe { *integers.add(at as usize) }) } else { 0 };
    // With large counts, sizes of dimensions stand elsewhere (MPI-5.0 section 5.1.13).
    match combiner_of(datatype) {
        abi::COMBINER_SUBARRAY => {
            let order_at = if large { 1 } else { 1 + 3 * dimensions(0) };
            change(order_at, order::to);
        }
        abi::COMBINER_DARRAY => {
            let count = dimensions(2);
            let first = if large { 3 } else { 3 + count };
            for at in 0..count.min(room) {
                change(first + at, distrib::to);
                change(first + count + at, darg::to);
            }
            change(first + 3 * count, order::to);
        }
        _ => {}
    }
}

fn combiner_of(datatype: usize) -> i32 {
    let mut numbers = [0_i64; 4];
    let mut combiner = 0_i32;
    let [integers, addresses, counts, types] = numbers.each_mut().map(|it| core::ptr::from_mut(it) as P);
    // SAFETY: all places are right.
    unsafe {
        call!(row::Type_get_envelope_c, (usize, P, P, P, P, P) -> i32)(
            datatype,
            integers,
            addresses,
            counts,
            types,
            &raw mut combiner as P,
        );
    }
    combiner
}

// Where orders and distributions stand depends on how the datatype was made.
entry! { MPI_Type_get_contents PMPI_Type_get_contents (
    datatype: Handle, integers: i32, addresses: i32, datatypes: i32,
    array_of_integers: *mut i32, array_of_addresses: P, array_of_datatypes: *mut Handle
) -> i32 {
    let datatype = datatype::of(datatype);
    let mut types = handle::List::out(array_of_datatypes, i64::from(datatypes), datatype::of);
    let code = call!(row::Type_get_contents, (usize, i32, i32, i32, P, P, P) -> i32)(
        datatype, integers, addresses, datatypes, array_of_integers as P, array_of_addresses, types.place()
    );
    if code == 0 {
        types.give(array_of_datatypes, datatype::to);
        contents(datatype, array_of_integers, i64::from(integers), false);
    }
    errcode::give(code)
} }

entry! { MPI_Type_get_contents_c PMPI_Type_get_contents_c (
    datatype: Handle, integers: i64, addresses: i64, counts: i64, datatypes: i64,
    array_of_integers: *mut i32, array_of_addresses: P, array_of_counts: P, array_of_datatypes: *mut Handle
) -> i32 {
    let datatype = datatype::of(datatype);
    let mut types = handle::List::out(array_of_datatypes, datatypes, datatype::of);
    let code = call!(row::Type_get_contents_c, (usize, i64, i64, i64, i64, P, P, P, P) -> i32)(
        datatype, integers, addresses, counts, datatypes,
        array_of_integers as P, array_of_addresses, array_of_counts, types.place()
    );
    if code == 0 {
        types.give(array_of_datatypes, datatype::to);
        contents(datatype, array_of_integers, integers, true);
    }
    errcode::give(code)
} }

// How many error codes come back depends on other arguments.
entry! { MPI_Comm_spawn PMPI_Comm_spawn (
    command: *const c_char, argv: P, maxprocs: i32, info: Handle, root: i32, comm: Handle,
    intercomm: *mut Handle, array_of_errcodes: *mut i32
) -> i32 {
    let mut new = handle::out(intercomm, comm::of);
    let code = call!(row::Comm_spawn, (*const c_char, P, i32, usize, i32, usize, P, P) -> i32)(
        command, argv, maxprocs, info::of(info), rank::of(root), comm::of(comm), new.place(), array_of_errcodes as P
    );
    new.give(comm::to);
    if code == 0 {
        value::in_place(array_of_errcodes, i64::from(maxprocs), errcode::give);
    }
    errcode::give(code)
} }

entry! { MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple (
    count: i32, array_of_commands: P, array_of_argv: P, array_of_maxprocs: *mut i32, array_of_info: *mut Handle,
    root: i32, comm: Handle, intercomm: *mut Handle, array_of_errcodes: *mut i32
) -> i32 {
    let (root, comm) = (rank::of(root), comm::of(comm));
    let commands = extent::commands(count, root, comm);
    let mut infos = handle::List::new(array_of_info, commands, info::of);
    let mut new = handle::out(intercomm, comm::of);
    let code = call!(row::Comm_spawn_multiple, (i32, P, P, P, P, i32, usize, P, P) -> i32)(
        count, array_of_commands, array_of_argv, array_of_maxprocs as P, infos.place(), root, comm, new.place(),
        array_of_errcodes as P
    );
    new.give(comm::to);
    if code == 0 && !array_of_maxprocs.is_null() {
        let started = (0..commands).map(|at| i64::from(*array_of_maxprocs.add(at as usize))).sum();
        value::in_place(array_of_errcodes, started, errcode::give);
    }
    errcode::give(code)
} }

//! The functions of `alhena.h`: the light interface, and staged data of files. They return an error class; they call no
//! error handler.

use core::ffi::c_void;

use abi::{Address, File, Result, Win};
use ffi::{LightFunction, Origin};
use files::staged;
use objects::{Attempt, Token};
use windows::light::{self, Load};

fn address<T>(pointer: *const T) -> Address {
    Address(pointer.expose_provenance())
}

/// The code of a fast path that did everything, or of the ordinary way.
#[inline(always)]
fn code(attempt: Attempt, work: impl FnOnce(&mut Token) -> Result<()>) -> i32 {
    if attempt.code() == 0 { abi::SUCCESS } else { ordinary(work) }
}

#[cold]
fn ordinary(work: impl FnOnce(&mut Token) -> Result<()>) -> i32 {
    objects::enter().and_then(|mut t| work(&mut t)).map_or_else(|error| error.class, |()| abi::SUCCESS)
}

/// Writes bytes to the memory of a rank.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_put(
    origin: *const c_void,
    bytes: usize,
    rank: i32,
    offset: isize,
    win: Win,
) -> i32 {
    let origin = address(origin);
    code(light::put_at_once(origin, bytes, rank, offset, win), |t| {
        light::put(t, origin, bytes, rank, offset, win, None)
    })
}

/// Reads bytes from the memory of a rank.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_get(
    origin: *mut c_void,
    bytes: usize,
    rank: i32,
    offset: isize,
    win: Win,
) -> i32 {
    let origin = address(origin);
    code(light::get_at_once(origin, bytes, rank, offset, win), |t| {
        light::get(t, origin, bytes, rank, offset, win, None)
    })
}

/// As [`alhena_put`]; then a notice of the rank grows.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_rput(
    origin: *const c_void,
    bytes: usize,
    rank: i32,
    offset: isize,
    notice: i32,
    win: Win,
) -> i32 {
    ordinary(|t| light::put(t, address(origin), bytes, rank, offset, win, Some(notice)))
}

/// As [`alhena_get`]; then a notice of the rank grows.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_rget(
    origin: *mut c_void,
    bytes: usize,
    rank: i32,
    offset: isize,
    notice: i32,
    win: Win,
) -> i32 {
    ordinary(|t| light::get(t, address(origin), bytes, rank, offset, win, Some(notice)))
}

/// Waits until the operations on a rank, or on all, are done.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_flush(rank: i32, win: Win) -> i32 {
    code(light::flush_at_once(win), |t| light::flush(t, rank, win))
}

/// Waits for a notice of this process.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_notices(notice: i32, least: u64, count: *mut u64, win: Win) -> i32 {
    ordinary(|t| {
        let mut seen = 0;
        light::notices(t, notice, least, &mut seen, win)?;
        // SAFETY: the program gives NULL or a place for the count.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = seen;
        }
        Ok(())
    })
}

/// Adds to 8 bytes at a rank.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_add(operand: u64, rank: i32, offset: isize, win: Win) -> i32 {
    ordinary(|t| light::add(t, address(&raw const operand), rank, offset, win))
}

/// Adds to 8 bytes at a rank, and fetches what they were.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_fetch_add(
    operand: u64,
    before: *mut u64,
    rank: i32,
    offset: isize,
    win: Win,
) -> i32 {
    let operand = &raw const operand;
    ordinary(|t| light::fetch(t, abi::SUM, address(operand), address(before), rank, offset, win))
}

/// Replaces 8 bytes at a rank, and fetches what they were.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_swap(operand: u64, before: *mut u64, rank: i32, offset: isize, win: Win) -> i32 {
    let operand = &raw const operand;
    ordinary(|t| light::fetch(t, abi::REPLACE, address(operand), address(before), rank, offset, win))
}

/// Replaces 8 bytes at a rank if they are equal to `compare`, and fetches what they were.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_compare_swap(
    operand: u64,
    compare: u64,
    before: *mut u64,
    rank: i32,
    offset: isize,
    win: Win,
) -> i32 {
    let (operand, compare) = (&raw const operand, &raw const compare);
    ordinary(|t| {
        light::compare_swap(t, address(operand), address(compare), address(before), rank, offset, win)
    })
}

/// Sets the function of a handler.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_set_handler(handler: i32, function: usize, context: *mut c_void) -> i32 {
    // SAFETY: the program gives NULL or a function of this type.
    let function = unsafe { LightFunction::of(function, Origin::STANDARD) };
    ordinary(|t| light::set_handler(t, handler, function, address(context)))
}

/// The longest payload of a message.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_message_limit(rank: i32, bytes: *mut usize, win: Win) -> i32 {
    ordinary(|t| {
        let mut most = 0;
        light::limit(t, rank, &mut most, win)?;
        // SAFETY: the program gives NULL or a place for the number.
        if let Some(bytes) = unsafe { bytes.as_mut() } {
            *bytes = most;
        }
        Ok(())
    })
}

/// Has a rank call a handler with bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_send(
    handler: i32,
    payload: *const c_void,
    bytes: usize,
    rank: i32,
    win: Win,
) -> i32 {
    ordinary(|t| light::send(t, handler, Load::Bytes(address(payload), bytes), rank, win))
}

/// Has a rank call a handler with two words.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_send_words(handler: i32, first: u64, second: u64, rank: i32, win: Win) -> i32 {
    ordinary(|t| light::send(t, handler, Load::Words([first, second]), rank, win))
}

/// Advances everything and calls handlers that are due.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_progress() -> i32 {
    ordinary(|t| {
        light::progress(t);
        Ok(())
    })
}

/// How much a rank of a file has staged.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_staged(file: File, rank: i32, taken: *mut u64, written: *mut u64) -> i32 {
    ordinary(|t| {
        let counts = staged::counts(t, file, rank)?;
        // SAFETY: the program gives NULL or a place for each count.
        for (place, count) in [(unsafe { taken.as_mut() }, counts.0), (unsafe { written.as_mut() }, counts.1)]
        {
            if let Some(place) = place {
                *place = count;
            }
        }
        Ok(())
    })
}

/// Reads a file with what a rank has staged.
#[unsafe(no_mangle)]
unsafe extern "C" fn alhena_read_staged(
    file: File,
    rank: i32,
    offset: i64,
    into: *mut c_void,
    bytes: usize,
    read: *mut usize,
) -> i32 {
    ordinary(|t| {
        let there = staged::read(t, file, rank, offset, address(into), bytes)?;
        // SAFETY: the program gives NULL or a place for the number.
        if let Some(read) = unsafe { read.as_mut() } {
            *read = there;
        }
        Ok(())
    })
}

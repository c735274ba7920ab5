//! Accumulates in mapped memory: by atomic operations of the processor, element by element, or by loops over vectors.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::element::{Action, Change, Combiner, Element};

/// `target[i] = origin[i] op target[i]` for `count` elements back to back, each at one stroke. `result` gets what
/// they were before.
///
/// # Safety
/// [`Element::is_atomic_at`] holds for `target`, which is mapped for reading and writing. `origin` is readable
/// (unless the operation is `MPI_NO_OP`) and `result`, if given, writable for as many elements, at any address;
/// neither overlaps the target.
#[inline]
pub unsafe fn accumulate(
    combiner: &Combiner,
    target: usize,
    origin: *const u8,
    result: Option<*mut u8>,
    count: usize,
) {
    // SAFETY: the caller's promise, by the size of the elements.
    unsafe {
        match combiner.size() {
            1 => each_u8(combiner.action, target, origin, result, count),
            2 => each_u16(combiner.action, target, origin, result, count),
            4 => each_u32(combiner.action, target, origin, result, count),
            _ => each_u64(combiner.action, target, origin, result, count),
        }
    }
}

/// As [`accumulate`], by a loop that others must not disturb: the caller has an exclusive lock of the target, or that
/// of its elements.
///
/// # Safety
/// As [`accumulate`].
#[inline]
pub unsafe fn accumulate_by_loops(
    combiner: &Combiner,
    target: usize,
    origin: *const u8,
    result: Option<*mut u8>,
    count: usize,
) {
    let (target, bytes) = (std::ptr::with_exposed_provenance_mut::<u8>(target), count * combiner.size());
    // SAFETY: the caller's promise; the elements are back to back, and kernels take any address.
    unsafe {
        if let Some(result) = result {
            target.copy_to_nonoverlapping(result, bytes);
        }
        match combiner.op() {
            abi::NO_OP => {}
            abi::REPLACE => target.copy_from_nonoverlapping(origin, bytes),
            _ => (combiner.kernel)(origin, target, target, count),
        }
    }
}

/// Writes what the element at `target` is to `result`, and replaces it by `origin` if it is equal to `compare`.
///
/// # Safety
/// As [`accumulate`], for one element.
pub unsafe fn compare_and_swap(
    element: &Element,
    target: usize,
    origin: *const u8,
    compare: *const u8,
    result: *mut u8,
) {
    // SAFETY: the caller's promise, by the size of the element.
    unsafe {
        match element.size {
            1 => swap_u8(target, origin, compare, result),
            2 => swap_u16(target, origin, compare, result),
            4 => swap_u32(target, origin, compare, result),
            _ => swap_u64(target, origin, compare, result),
        }
    }
}

macro_rules! width {
    ($each:ident, $swap:ident, $atomic:ident, $word:ty, $add:expr) => {
        /// See [`accumulate`].
        unsafe fn $each(
            action: Action,
            target: usize,
            origin: *const u8,
            result: Option<*mut u8>,
            count: usize,
        ) {
            const SIZE: usize = size_of::<$word>();
            // Puts what `combine` makes of the word in its place; returns the word.
            #[inline(always)]
            fn exchange(place: &$atomic, combine: impl Fn($word) -> $word) -> $word {
                let mut seen = place.load(Ordering::Relaxed);
                loop {
                    let new = combine(seen);
                    match place.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                        Ok(old) => return old,
                        Err(now) => seen = now,
                    }
                }
            }
            for i in 0..count {
                let at = std::ptr::with_exposed_provenance_mut::<$word>(target + i * SIZE);
                // SAFETY: the element lies in mapped memory and is aligned; all processes use atomic operations here, and
                // what the program itself does with it meanwhile is a race of bytes of memory shared with other processes.
                let place = unsafe { $atomic::from_ptr(at) };
                // SAFETY: the caller's promise; not read for `MPI_NO_OP`.
                let operand = || unsafe { origin.add(i * SIZE).cast::<$word>().read_unaligned() };
                let old = match action {
                    Action::Change(Change::Load) => place.load(Ordering::Acquire),
                    Action::Change(Change::Swap) if result.is_none() => {
                        place.store(operand(), Ordering::Release);
                        continue;
                    }
                    Action::Change(Change::Swap) => place.swap(operand(), Ordering::AcqRel),
                    Action::Change(Change::Add) => place.fetch_add(operand(), Ordering::AcqRel),
                    Action::Change(Change::And) => place.fetch_and(operand(), Ordering::AcqRel),
                    Action::Change(Change::Or) => place.fetch_or(operand(), Ordering::AcqRel),
                    Action::Change(Change::Xor) => place.fetch_xor(operand(), Ordering::AcqRel),
                    Action::AddFloat => {
                        let incoming = operand();
                        exchange(place, |seen| $add(incoming, seen))
                    }
                    Action::Exchange(kernel) => {
                        let incoming = operand();
                        exchange(place, |seen| {
                            let mut new: $word = 0;
                            let (left, right) = ((&raw const incoming).cast(), (&raw const seen).cast());
                            // SAFETY: all three are local words, of the size of one element.
                            unsafe { kernel(left, right, (&raw mut new).cast(), 1) };
                            new
                        })
                    }
                };
                if let Some(result) = result {
                    // SAFETY: the caller's promise.
                    unsafe { result.add(i * SIZE).cast::<$word>().write_unaligned(old) };
                }
            }
        }

        /// See [`compare_and_swap`].
        unsafe fn $swap(target: usize, origin: *const u8, compare: *const u8, result: *mut u8) {
            // SAFETY: as in `accumulate`, for one element.
            unsafe {
                let place = $atomic::from_ptr(std::ptr::with_exposed_provenance_mut(target));
                let (expected, new) =
                    (compare.cast::<$word>().read_unaligned(), origin.cast::<$word>().read_unaligned());
                let old = place.compare_exchange(expected, new, Ordering::AcqRel, Ordering::Acquire);
                result.cast::<$word>().write_unaligned(old.unwrap_or_else(|old| old));
            }
        }
    };
}

/// No [`Action::AddFloat`] has elements of this size.
fn no_float<T>(_: T, _: T) -> T {
    unreachable!("floating-point numbers of one or two bytes are added by their kernel")
}

width!(each_u8, swap_u8, AtomicU8, u8, no_float);
width!(each_u16, swap_u16, AtomicU16, u16, no_float);
width!(each_u32, swap_u32, AtomicU32, u32, |a, b| (f32::from_bits(a) + f32::from_bits(b)).to_bits());
width!(each_u64, swap_u64, AtomicU64, u64, |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits());

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use datatype::Datatype;

    fn element(handle: abi::Datatype) -> Element {
        Element::of(Datatype::predefined(handle).unwrap()).unwrap()
    }

    #[test]
    fn every_operation_is_that_of_a_reduction() {
        let ops = [
            abi::SUM,
            abi::PROD,
            abi::MIN,
            abi::MAX,
            abi::BAND,
            abi::BOR,
            abi::BXOR,
            abi::LAND,
            abi::LOR,
            abi::LXOR,
            abi::REPLACE,
            abi::NO_OP,
            abi::MINLOC,
            abi::MAXLOC,
        ];
        let types = [
            abi::INT8_T,
            abi::UINT16_T,
            abi::INT,
            abi::UINT64_T,
            abi::FLOAT,
            abi::DOUBLE,
            abi::BYTE,
            abi::LOGICAL4,
            abi::C_FLOAT_COMPLEX,
            abi::TWOINT,
            abi::FLOAT_INT,
            abi::REAL2,
            abi::CHAR,
        ];
        let mut tried = 0;
        for ty in types {
            let element = element(ty);
            for op in ops.into_iter().filter(|&op| op::allowed_in_accumulate(op, ty)) {
                let origin: [u64; 4] = [0x3ff0_0000_4000_0102, 7, 0x4010_0000_3f80_0001, 1];
                let before: [u64; 4] = [0x4000_0000_3f80_0105, 9, 0x3ff8_0000_4080_0003, 0];
                let (mut target, mut expected, mut result) = (before, before, [0u64; 4]);
                let (count, combiner) = (32 / element.size, Combiner::new(&element, op).unwrap());
                assert!(combiner.is_of(&element, op) && combiner.count(32) == count);
                assert!(element.is_atomic_at(target.as_ptr() as usize));
                // SAFETY: all arrays have 32 bytes.
                unsafe {
                    let from = origin.as_ptr().cast();
                    op::reduce(op, ty, from, expected.as_mut_ptr().cast(), count).unwrap();
                    let into = Some(result.as_mut_ptr().cast());
                    let at = target.as_mut_ptr().expose_provenance();
                    accumulate(&combiner, at, from, into, count);
                    assert_eq!((target, result), (expected, before), "{op:?} {ty:?}");
                    target = before;
                    accumulate(&combiner, at, from, None, count);
                    assert_eq!(target, expected, "{op:?} {ty:?}");
                    (target, result) = (before, [0; 4]);
                    accumulate_by_loops(&combiner, at, from, into, count);
                    assert_eq!((target, result), (expected, before), "{op:?} {ty:?}");
                }
                tried += 1;
            }
        }
        assert!(tried > 60);
    }

    #[test]
    fn a_swap_needs_what_was_compared() {
        let element = element(abi::INT);
        let (mut target, mut result) = (5i32, 0i32);
        let at = (&raw mut target).expose_provenance();
        let word = |value: &i32| (&raw const *value).cast::<u8>();
        // SAFETY: all are words of the element's size.
        unsafe {
            compare_and_swap(&element, at, word(&9), word(&4), (&raw mut result).cast());
            assert_eq!((target, result), (5, 5));
            compare_and_swap(&element, at, word(&9), word(&5), (&raw mut result).cast());
            assert_eq!((target, result), (9, 5));
        }
    }
}

//! Pinned pages are those of registration time.

use super::Pins;
use core::ptr;
use mem::PeerBytes;
use std::io::Write;

const LEN: usize = 600 << 10;

/// Nothing held; `None` where io_uring is missing.
fn pins() -> Option<Pins> {
    let pins = Pins::new().ok();
    if pins.is_none() {
        // Past the test harness, which shows nothing of a test that passes; scripts/test counts the line.
        let _ = writeln!(std::io::stderr(), "skip: pinned pages: io_uring is missing");
    }
    pins
}

/// Anonymous memory at `address`, or anywhere for 0, replacing what was there.
fn map(address: usize) -> usize {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: replaces nothing but a mapping of this test.
    let base = unsafe { libc::mmap(address as *mut _, LEN, protection, flags, -1, 0) };
    assert_ne!(base, libc::MAP_FAILED);
    base as usize
}

fn fill(address: usize, byte: u8) {
    // SAFETY: `LEN` bytes mapped by `map`.
    unsafe { ptr::write_bytes(address as *mut u8, byte, LEN) };
}

fn held(pins: &mut Pins, address: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = pins.read(3, address as u64, LEN as u64, |piece| bytes.extend(piece.to_vec()));
    read.expect("reading what is held");
    bytes
}

#[test]
fn pages_are_those_of_registration_time() {
    let Some(mut pins) = pins() else { return };
    let address = map(0);
    fill(address, 7);
    pins.pin(3, address as u64, LEN as u64).expect("pinning");
    assert!(held(&mut pins, address).iter().all(|&byte| byte == 7));

    map(address);
    fill(address, 9);
    assert!(held(&mut pins, address).iter().all(|&byte| byte == 7), "the old pages");
    pins.write(3, address as u64, PeerBytes::of(&[1; LEN])).expect("writing to the old pages");
    assert!(held(&mut pins, address).iter().all(|&byte| byte == 1));
    // SAFETY: mapped above.
    assert_eq!(unsafe { *(address as *const u8) }, 9, "the new pages are untouched");

    pins.unpin(3);
    assert!(pins.read(3, address as u64, 1, |_| ()).is_err());
    pins.pin(3, address as u64, LEN as u64).expect("pinning again");
    assert!(held(&mut pins, address).iter().all(|&byte| byte == 9));
    // SAFETY: the mapping of this test.
    unsafe { libc::munmap(address as *mut _, LEN) };
}

#[test]
fn what_is_not_mapped_or_not_held_is_refused() {
    let Some(mut pins) = pins() else { return };
    pins.pin(1, 8, 8).expect("left in place");
    assert!(!pins.holds(1));
    let buffer = [0u8; 100];
    pins.pin(0, buffer.as_ptr() as u64, 50).expect("pinning");
    assert!(pins.read(0, buffer.as_ptr() as u64 + 49, 2, |_| ()).is_err());
    assert!(pins.write(0, buffer.as_ptr() as u64 - 1, PeerBytes::of(&[1])).is_err());
}

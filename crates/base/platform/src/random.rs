//! Random numbers that cannot be guessed.

use std::io;

/// A number of the system's generator.
///
/// # Errors
/// The system's: a kernel without the call.
pub fn number() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    // SAFETY: the buffer is writable for the 8 bytes asked for; requests this short are never cut short.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got == bytes.len() as isize { Ok(u64::from_ne_bytes(bytes)) } else { Err(io::Error::last_os_error()) }
}

/// A number for one exchange with another side. Should the system refuse one, what that side draws must do.
pub fn nonce() -> u128 {
    let half = || number().map(u128::from).unwrap_or_default();
    half() << 64 | half()
}

/// A secret of the system's generator.
///
/// # Errors
/// As [`number`].
pub fn secret() -> io::Result<u128> {
    Ok(u128::from(number()?) << 64 | u128::from(number()?))
}

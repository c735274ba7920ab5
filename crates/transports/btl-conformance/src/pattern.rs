//! Bytes that tell where they belong.

/// The byte at `index` of the message `seed`.
fn byte(seed: u64, index: usize) -> u8 {
    let mixed = (seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(index as u64 * 2 + 0xBF58_476D_1CE4_E5B9);
    (mixed >> 56) as u8
}

/// `len` bytes that belong to `seed`.
pub fn fill(seed: u64, len: usize) -> Vec<u8> {
    (0..len).map(|index| byte(seed, index)).collect()
}

/// Fails unless `bytes` are what [`fill`] makes, from `offset` on.
pub fn verify(seed: u64, offset: usize, bytes: &[u8]) {
    let wrong = bytes.iter().enumerate().find(|&(index, &found)| found != byte(seed, offset + index));
    if let Some((index, found)) = wrong {
        panic!("message {seed}: byte {} of {} is {found}", offset + index, bytes.len());
    }
}

//! Text in words.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Writes as much of `text` as the words hold, and zeros behind it.
pub fn write(words: &[AtomicU64], text: &[u8]) {
    for (index, word) in words.iter().enumerate() {
        let mut bytes = [0; 8];
        let part = text.get(index * 8..).unwrap_or_default();
        let length = part.len().min(8);
        bytes[..length].copy_from_slice(&part[..length]);
        word.store(u64::from_le_bytes(bytes), Relaxed);
    }
}

/// The bytes of the words.
pub fn bytes(words: &[AtomicU64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.load(Relaxed).to_le_bytes()).collect()
}

/// The text in the words, up to the first zero. What is no text becomes question marks.
pub fn read(words: &[AtomicU64]) -> String {
    let bytes = bytes(words);
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..end]);
    text.chars().map(|c| if c.is_control() || c == '\u{fffd}' { '?' } else { c }).collect()
}

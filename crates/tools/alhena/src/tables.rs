//! What the ranks of a job have left in memory that mpiexec holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// The words of each rank that has written `magic`, of `ranks`; each has as many bytes of the memory, in whole pages.
pub fn read(memory: &Path, ranks: u32, magic: u64, words: usize) -> io::Result<Vec<(u32, Vec<AtomicU64>)>> {
    let file = File::open(memory)?;
    let each = file.metadata()?.len() / u64::from(ranks.max(1)) / 4096 * 4096;
    if each < words as u64 * 8 {
        return Err(io::Error::other("it is too short"));
    }
    let mut found = Vec::new();
    let mut bytes = vec![0; words * 8];
    for rank in 0..ranks {
        let offset = u64::from(rank) * each;
        // Most of it was never written.
        file.read_exact_at(&mut bytes[..8], offset)?;
        if bytes[..8] != magic.to_ne_bytes() {
            continue;
        }
        file.read_exact_at(&mut bytes, offset)?;
        let (words, _) = bytes.as_chunks::<8>();
        found.push((rank, words.iter().map(|&word| AtomicU64::new(u64::from_ne_bytes(word))).collect()));
    }
    Ok(found)
}

//! What the ranks of a job have left in memory that mpiexec holds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use interpose::shared::bytes_of_rank;

/// The arguments by which mpiexec hands the memory on when a job is over.
#[derive(clap::Args)]
pub struct Left {
    /// The memory
    #[arg(long, hide = true)]
    pub memory: Option<PathBuf>,
    /// Ranks of the job
    #[arg(long, hide = true, default_value_t = 0)]
    pub ranks: u32,
    /// mpiexec's exit code
    #[arg(long, hide = true, default_value_t = 0)]
    pub exit_code: u8,
    /// What is to be written, without an extension
    #[arg(long, hide = true, requires = "memory")]
    pub output: Option<PathBuf>,
}

/// How many words of the memory a rank has.
pub fn words(memory: &Path, ranks: u32) -> io::Result<usize> {
    Ok(bytes_of_rank(std::fs::metadata(memory)?.len(), ranks) as usize / 8)
}

/// The words of each rank that has written `magic`, of `ranks`; each has as many bytes of the memory, in whole pages.
pub fn read(memory: &Path, ranks: u32, magic: u64, words: usize) -> io::Result<Vec<(u32, Vec<AtomicU64>)>> {
    let file = File::open(memory)?;
    let each = bytes_of_rank(file.metadata()?.len(), ranks);
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

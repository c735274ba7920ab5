//! Put and get by the kernel, for memory of another process of the node that this one does not map.

use abi::{Error, Result};
use btl::Access;
use mem::UserMem;
use node::{CopyDirection, CopyFailure, Node, Process, Runs};

use crate::side::Side;

/// Bytes that are packed between the two sides at a time, where both have holes.
const PIECE: usize = 256 << 10;

const UNREADABLE: Error =
    Error::new(abi::ERR_RMA_RANGE, "the system does not let this process reach the memory of the target");
const GONE: Error = Error::new(abi::ERR_PROC_ABORTED, "the target of the operation has ended");

/// The error of a copy that has failed. The system knows the end of a process by its memory first.
#[cold]
fn failed(failure: CopyFailure) -> Error {
    match failure {
        CopyFailure::Gone => GONE,
        CopyFailure::Refused | CopyFailure::Fault => UNREADABLE,
    }
}

/// Another process of the node, and the way to its memory.
#[derive(Clone, Copy, Debug)]
pub struct Direct<'a> {
    /// This process's node.
    pub node: &'a Node,
    /// The other one.
    pub process: Process,
}

impl Direct<'_> {
    /// Writes all of `origin`, which is ours, to `target`, whose addresses are the other process's.
    ///
    /// # Errors
    /// `MPI_ERR_PROC_ABORTED` if the process has ended, `MPI_ERR_RMA_RANGE` if the system refuses.
    pub fn put(&self, mut origin: Side, target: &Side) -> Result<()> {
        self.copy(Access::Write, &mut origin, target)
    }

    /// Reads all of `target` to `origin`.
    ///
    /// # Errors
    /// As [`Direct::put`].
    pub fn get(&self, mut origin: Side, target: &Side) -> Result<()> {
        self.copy(Access::Read, &mut origin, target)
    }

    /// Reads part of the target, from byte `position` on.
    ///
    /// # Errors
    /// As [`Direct::put`].
    pub fn read_part(&self, target: &Side, position: u64, bytes: &mut [u8]) -> Result<()> {
        self.copy_piece(Access::Read, bytes, target, position)
    }

    /// Writes part of the target, from byte `position` on. The bytes stay as they are.
    ///
    /// # Errors
    /// As [`Direct::put`].
    pub fn write_part(&self, target: &Side, position: u64, bytes: &mut [u8]) -> Result<()> {
        self.copy_piece(Access::Write, bytes, target, position)
    }

    /// Reads words from an address of the other process.
    ///
    /// # Errors
    /// As [`Direct::put`].
    pub fn read_words(&self, address: u64, words: &mut [[u64; 2]]) -> Result<()> {
        let memory = words.as_mut_ptr().expose_provenance();
        // SAFETY: the words are ours, and borrowed during the copy.
        let memory = unsafe { UserMem::new(memory, size_of_val(words)) };
        self.node.copy(self.process, address, memory, Access::Read).map_err(failed)
    }

    fn copy(&self, access: Access, origin: &mut Side, target: &Side) -> Result<()> {
        let len = origin.len().min(target.len());
        if let (Side::Run(ours), Side::Run(theirs)) = (&*origin, target) {
            let ours = ours.part(0, len as usize);
            return self.node.copy(self.process, theirs.address() as u64, ours, access).map_err(failed);
        }
        let mut piece = vec![0u8; PIECE.min(len as usize)];
        for position in (0..len).step_by(PIECE) {
            let size = (len - position).min(PIECE as u64) as usize;
            let piece = &mut piece[..size];
            if access == Access::Write {
                origin.read(position, piece);
            }
            self.copy_piece(access, piece, target, position)?;
            if access == Access::Read {
                origin.write(position, piece);
            }
        }
        Ok(())
    }

    /// Copies between bytes of ours and as many of the target from byte `position` on.
    fn copy_piece(&self, access: Access, piece: &mut [u8], target: &Side, position: u64) -> Result<()> {
        let mut theirs = Vec::new();
        target.runs_within(position, piece.len(), |run| theirs.push(run));
        let ours = Runs::one(piece.as_mut_ptr().expose_provenance() as u64, piece.len() as u64);
        let way = if access == Access::Read { CopyDirection::Pull } else { CopyDirection::Push };
        // SAFETY: the piece is ours and borrowed exclusively during the copy.
        unsafe {
            self.node.copy_runs(self.process, way, (&ours, 0), (&Runs::of(&theirs), 0), piece.len() as u64)
        }
        .map_err(failed)
    }
}

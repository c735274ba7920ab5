//! The data of one side of an operation: memory in one run, or what a datatype describes.

use abi::Result;
use datatype::{Convertor, Datatype, Run, transfer};
use mem::UserMem;

/// The memory at one side of an operation, at its beginning.
#[derive(Debug)]
pub enum Side {
    /// One run of bytes.
    Run(UserMem),
    /// What a datatype describes, in pack order.
    Typed(Convertor),
}

/// Runs that are looked up at a time.
const RUNS: usize = 64;

impl Side {
    /// `count` items of `datatype` at `base`, an address as a buffer argument has it.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when the data does not fit 63 bits.
    ///
    /// # Safety
    /// As [`Convertor::new`] and [`UserMem::new`]; but nothing is read or written before one of the functions is
    /// called that state that, so bounds may be asked for first.
    pub unsafe fn new(datatype: &Datatype, count: u64, base: usize) -> Result<Side> {
        if datatype.is_contiguous_for(count) {
            let len = datatype::total_size(datatype.size(), count)? as usize;
            // SAFETY: the caller's promise; the items are one run from the true lower bound on.
            return Ok(Side::Run(unsafe {
                UserMem::new(base.wrapping_add_signed(datatype.true_lb() as isize), len)
            }));
        }
        // SAFETY: the caller's promise.
        unsafe { Convertor::new(datatype, count, std::ptr::with_exposed_provenance_mut(base)) }
            .map(Side::Typed)
    }

    /// Bytes in pack order.
    pub fn len(&self) -> u64 {
        match self {
            Side::Run(run) => run.len() as u64,
            Side::Typed(convertor) => convertor.total(),
        }
    }

    /// Whether there is no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the lowest byte is, and how many there are to behind the highest one.
    pub fn span(&self) -> (usize, u64) {
        match self {
            Side::Run(run) => (run.address(), run.len() as u64),
            Side::Typed(convertor) => (convertor.bounds().start, convertor.span()),
        }
    }

    /// Reads all and writes it to `to`, as far as that goes. The two may overlap if each is one run.
    pub fn copy_to(self, to: Side) {
        match (self, to) {
            (Side::Run(from), Side::Run(to)) => {
                from.copy_to(to);
            }
            (Side::Run(from), Side::Typed(mut to)) => {
                // SAFETY: the constructors vouch for both; MPI forbids that they overlap.
                unsafe { to.unpack(from.address() as *const u8, from.len()) };
            }
            (Side::Typed(mut from), Side::Run(to)) => {
                // SAFETY: as above.
                unsafe { from.pack(to.address() as *mut u8, to.len()) };
            }
            (Side::Typed(mut from), Side::Typed(mut to)) => {
                // SAFETY: as above.
                unsafe { transfer(&mut from, &mut to) };
            }
        }
    }

    /// Reads `out.len()` bytes from byte `position` on, or as many as there are.
    pub fn read(&mut self, position: u64, out: &mut [u8]) {
        match self {
            Side::Run(run) => {
                run.part(position as usize, out.len()).as_bytes().copy_to(out);
            }
            Side::Typed(convertor) => {
                convertor.seek(position);
                // SAFETY: the constructor vouches for the buffer; `out` is ours.
                unsafe { convertor.pack(out.as_mut_ptr(), out.len()) };
            }
        }
    }

    /// Writes `bytes` from byte `position` on, or as many as there is room for.
    pub fn write(&mut self, position: u64, bytes: &[u8]) {
        match self {
            Side::Run(run) => {
                run.part(position as usize, bytes.len()).write(mem::PeerBytes::of(bytes));
            }
            Side::Typed(convertor) => {
                convertor.seek(position);
                // SAFETY: the constructor vouches for the buffer; `bytes` is ours.
                unsafe { convertor.unpack(bytes.as_ptr(), bytes.len()) };
            }
        }
    }

    /// Calls `f` with address and length in bytes of each run, in pack order, until one is refused; whether none was.
    pub fn runs(&self, mut f: impl FnMut(UserMem) -> bool) -> bool {
        match self {
            Side::Run(run) => f(*run),
            Side::Typed(convertor) => {
                let mut all = convertor.clone();
                all.seek(0);
                runs_of(&mut all, usize::MAX, f)
            }
        }
    }

    /// As [`Side::runs`], for `len` bytes from byte `position` on.
    pub fn runs_within(&self, position: u64, len: usize, mut f: impl FnMut(UserMem)) {
        match self {
            Side::Run(run) => f(run.part(position as usize, len)),
            Side::Typed(convertor) => {
                let mut part = convertor.clone();
                part.seek(position);
                runs_of(&mut part, len, |run| {
                    f(run);
                    true
                });
            }
        }
    }
}

/// Calls `f` with the runs of `len` bytes from the present position on, until one is refused; whether none was.
fn runs_of(convertor: &mut Convertor, len: usize, mut f: impl FnMut(UserMem) -> bool) -> bool {
    let mut some = [Run::EMPTY; RUNS];
    let mut left = len;
    loop {
        let before = convertor.position();
        let count = convertor.next_runs(&mut some, left);
        if count == 0 {
            return true;
        }
        left -= (convertor.position() - before) as usize;
        for run in &some[..count] {
            // SAFETY: the run lies in the buffer that the constructor vouches for.
            let run = unsafe { UserMem::new(run.addr.expose_provenance(), run.len) };
            if !f(run) {
                return false;
            }
        }
    }
}

//! Memory in several runs, copied from where it is to where it belongs.

use mem::UserMem;

/// Memory that may be fetched from.
#[derive(Debug)]
pub(crate) enum Exposed {
    One(UserMem),
    Many(Box<[UserMem]>),
}

impl Exposed {
    pub fn runs(&self) -> &[UserMem] {
        match self {
            Exposed::One(memory) => std::slice::from_ref(memory),
            Exposed::Many(runs) => runs,
        }
    }
}

/// Fills the runs of `to` with the bytes of `from`, in order, but for the first `skip`; how many. `None`, and nothing is
/// copied, if `from` has too few.
///
/// ```text
///   from   |aaaaaaaa|     |bb|   |cccccccc|
///   to     |aaa|  |aaaaabbc|    |ccccccc|         one copy for each stretch without an end on either side
/// ```
pub(crate) fn copy(from: &[UserMem], mut skip: u64, to: &[UserMem]) -> Option<u64> {
    let bytes = |runs: &[UserMem]| runs.iter().map(|run| run.len() as u64).sum::<u64>();
    let wanted = bytes(to);
    if bytes(from).checked_sub(skip)? < wanted {
        return None;
    }
    let mut sources = from.iter().copied();
    let mut source = UserMem::EMPTY;
    for &run in to {
        let mut target = run;
        while !target.is_empty() {
            if source.is_empty() {
                let next = sources.next()?;
                let skipped = skip.min(next.len() as u64);
                skip -= skipped;
                source = rest(next, skipped as usize);
            }
            let len = source.len().min(target.len());
            source.part(0, len).copy_to(target.part(0, len));
            (source, target) = (rest(source, len), rest(target, len));
        }
    }
    Some(wanted)
}

/// What follows the first `len` bytes.
fn rest(memory: UserMem, len: usize) -> UserMem {
    memory.part(len, memory.len() - len)
}

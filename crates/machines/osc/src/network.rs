//! Access to memory that the network reads and writes ([`btl::RemoteMemory`]).

use btl::Remote;

/// Cuts data of `len` bytes at addresses `here` and `there` into reads that the network takes, each with where it
/// begins and its length.
pub fn cut_read(remote: &Remote, here: usize, there: usize, len: usize, mut piece: impl FnMut(usize, usize)) {
    let (align, mut at) = (remote.align, 0);
    let alike = here % align == there % align;
    while at < len {
        let (left, beyond) = (len - at, (here + at) % align);
        let next = match left {
            _ if left <= remote.max_unaligned => left,
            _ if !alike => remote.max_unaligned,
            _ if beyond > 0 => align - beyond,
            _ => remote.max.min(left / align * align),
        };
        piece(at, next);
        at += next;
    }
}

/// Whether data of `len` bytes, at least 1, at addresses `here` and `there` is one read.
#[inline]
pub fn is_one_read(remote: &Remote, here: usize, there: usize, len: usize) -> bool {
    len <= remote.max_unaligned
        || len <= remote.max && [here, there, len].iter().all(|number| number.is_multiple_of(remote.align))
}

#[cfg(test)]
mod tests {
    use super::{cut_read, is_one_read};
    use btl::{Atomics, Remote};

    #[test]
    fn every_read_is_one_that_the_network_takes() {
        let remote = Remote {
            network: 1,
            max: 64,
            align: 4,
            max_unaligned: 12,
            atomics: Atomics::None,
            quick_atomics: false,
        };
        for ((here, there), len) in (0..9)
            .flat_map(|here| (0..9).map(move |there| (here, there)))
            .flat_map(|places| (1..300).map(move |len| (places, len)))
        {
            let (mut end, mut pieces) = (0, 0);
            cut_read(&remote, here, there, len, |at, piece| {
                assert_eq!(at, end);
                end += piece;
                pieces += 1;
                let is_straight = [here + at, there + at, piece].iter().all(|number| number % 4 == 0);
                assert!(piece > 0 && piece <= if is_straight { 64 } else { 12 }, "{piece} of {len} at {at}");
            });
            assert_eq!(end, len);
            assert_eq!(is_one_read(&remote, here, there, len), pieces == 1, "{len} from {there} to {here}");
        }
    }
}

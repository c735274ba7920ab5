//! The suite on the shared-memory transport, in the shapes it runs in.

mod common;

use btl_conformance::Endpoints;
use btl_vader::{Vader, VaderParams};
use node::{Node, NodeParams, SingleCopy};

mod a_pair {
    use super::*;
    fn world() -> Endpoints<Vader> {
        Endpoints { ends: common::attach_all(2, &VaderParams::default()) }
    }
    btl_conformance::suite!(world);
}

mod a_crowd {
    use super::*;
    fn world() -> Endpoints<Vader> {
        Endpoints { ends: common::attach_all(9, &VaderParams::default()) }
    }
    btl_conformance::suite!(world);
}

/// Only some senders have a fastbox; the others stay with the receive queue.
mod few_fastboxes {
    use super::*;
    fn world() -> Endpoints<Vader> {
        let params = VaderParams { max_fastboxes: 2, fastbox_size: 4096, ..VaderParams::default() };
        Endpoints { ends: common::attach_all(6, &params) }
    }
    btl_conformance::suite!(world);
}

/// Everything through the receive queue, nothing by single copy.
mod only_bounce_buffers {
    use super::*;
    fn world() -> Endpoints<Vader> {
        let params = VaderParams { max_fastboxes: 0, ..VaderParams::default() };
        let off = NodeParams { single_copy_mechanism: SingleCopy::Off, ..NodeParams::default() };
        let fd = common::memory_file(btl_vader::segment_bytes(3));
        let node = |index| Node::attach(common::place(&fd, &params, index, 3), &off).unwrap();
        Endpoints { ends: (0..3).map(|index| Vader::new(node(index), &params)).collect() }
    }
    btl_conformance::suite!(world);
}

/// Single copy through mapped memory, by a device for which all processes are this one.
mod mapped {
    use super::*;
    use btl::{Btl, Peer};
    use platform::xpmem::Device;
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts what is attached. Attached memory is where it was.
    #[derive(Clone, Debug, Default)]
    struct SameProcess {
        attached: Arc<AtomicUsize>,
        refuses: bool,
    }

    impl Device for SameProcess {
        fn make(&self) -> io::Result<i64> {
            Ok(42)
        }

        fn get(&self, segment: i64) -> io::Result<i64> {
            if self.refuses { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(segment + 1) }
        }

        fn attach(&self, access: i64, address: u64, len: usize) -> io::Result<usize> {
            assert_eq!(access, 43);
            assert!(address.is_multiple_of(4096) && len.is_multiple_of(4096) && len > 0);
            self.attached.fetch_add(1, Ordering::Relaxed);
            Ok(address as usize)
        }

        fn detach(&self, _here: usize) {
            self.attached.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn nodes(count: usize, device: &SameProcess) -> Vec<Arc<Node>> {
        let (params, fd) = (VaderParams::default(), common::memory_file(btl_vader::segment_bytes(count)));
        let attach = |index| {
            let place = common::place(&fd, &params, index, count);
            Node::attach_with(place, &NodeParams::default(), Some(Box::new(device.clone()))).unwrap()
        };
        (0..count).map(attach).collect()
    }

    fn ends(count: usize, device: &SameProcess) -> Vec<Vader> {
        let end = |node| Vader::new(node, &VaderParams::default());
        nodes(count, device).into_iter().map(end).collect()
    }

    fn world() -> Endpoints<Vader> {
        Endpoints { ends: ends(3, &SameProcess::default()) }
    }
    btl_conformance::suite!(world);

    #[test]
    fn windows_are_few_and_all_detached() {
        let device = SameProcess::default();
        let mut ends = ends(2, &device);
        for number in 0..100u8 {
            let (mut from, mut to) = (vec![number; 5 << 20], vec![0; 5 << 20]);
            // SAFETY: both vectors live until the copy is done.
            let (exposed, local) = unsafe { (mem::UserMem::of(&mut from), mem::UserMem::of(&mut to)) };
            let key = ends[0].expose(Peer(1), exposed, btl::Access::Read).expect("reached");
            ends[1].get(Peer(0), local, &key, 0, 1).expect("begun");
            while ends[1].next_event().is_none() {
                ends[0].next_event();
            }
            ends[0].conceal(Peer(1), key);
            assert!(from == to);
            // Sixteen for each direction: the owner of long messages pushes.
            assert!(device.attached.load(Ordering::Relaxed) <= 2 * 16);
        }
        assert!(device.attached.load(Ordering::Relaxed) > 0, "the device was used");
        drop(ends);
        assert_eq!(device.attached.load(Ordering::Relaxed), 0);
    }

    /// Where the device refuses, the kernel copies.
    #[test]
    fn a_refusal_falls_back() {
        let device = SameProcess { refuses: true, ..SameProcess::default() };
        let nodes = nodes(2, &device);
        assert!(nodes[0].can_read(Peer(1)));
        assert_eq!(device.attached.load(Ordering::Relaxed), 0);
    }
}

/// What this transport promises beyond the contract.
mod beyond {
    use super::*;
    use btl::{Btl, Peer};
    use mem::UserMem;

    /// Messages of all sizes stay in order: through the queue, across the change to a fastbox, by slot and by bounce buffer.
    #[test]
    fn order_is_kept_per_peer() {
        let mut ends = common::attach_all(2, &VaderParams::default());
        let (mut sent, mut received) = (0u64, 0u64);
        for turn in 0.. {
            if received == 5000 {
                break;
            }
            let mut bytes = vec![0; [0, 8, 120, 5000, 32_768][sent as usize % 5]];
            // SAFETY: the bytes outlive the call.
            let mut payload = unsafe { UserMem::of(&mut bytes) };
            sent += u64::from(ends[0].send(Peer(1), &[sent], &mut payload).is_ok());
            // Slower than the sender, so that there is always something on every path.
            if turn % 3 != 0
                && let Some(arrival) = ends[1].next_arrival()
            {
                assert_eq!(arrival.header.word(0), received);
                received += 1;
                ends[1].release(arrival);
            }
        }
    }
}

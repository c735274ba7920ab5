//! Bytes: where they go, in how many pieces, by which operation.

use crate::Rig;
use crate::pair::{INDEX, Pair, buffer, bytes_of, pattern, runs};
use portals::{
    Ack, Descriptor, Error, EventKind, Memory, NewEntry, Options, Portals, Position, Status, Target,
    Threshold, Unlink,
};

const SIZES: [usize; 16] =
    [0, 1, 7, 8, 12, 13, 64, 255, 4095, 4096, 4097, 32_768, 32_769, 100_000, 1 << 20, (1 << 20) + 3];

/// Puts of every size, in both kinds of memory.
pub fn sizes<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    for len in SIZES {
        let (data, into) = (pattern(len as u64, len), buffer(vec![0xee; len + 8]));
        let md = pair.b.receive(len as u64, into, Options::default());
        pair.put(len as u64, &data);
        assert_eq!(pair.landed(), Some((0, 0, len)));
        let arrived = bytes_of(into);
        assert!(arrived[..len] == data[..] && arrived[len..] == [0xee; 8], "{len} bytes");
        pair.b.nic.md_unlink(md).unwrap();
    }
}

/// Parts of a descriptor's memory; what lies beyond is refused.
pub fn regions<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let into = buffer(vec![0; 16]);
    pair.b.receive(5, into, Options::default());
    let (md, target) = (pair.a.bind(buffer((0..16).collect()), Threshold::Infinite), pair.target(5));
    for (offset, len) in [(0, 17), (16, 1), (17, 0), (usize::MAX, 2)] {
        assert_eq!(pair.a.nic.put_region(md, offset, len, Ack::None, &target, 0), Err(Error::MdIllegal));
        assert_eq!(pair.a.nic.get_region(md, offset, len, &target), Err(Error::MdIllegal));
    }
    pair.a.nic.put_region(md, 3, 5, Ack::None, &target, 0).unwrap();
    pair.a.nic.put_region(md, 16, 0, Ack::None, &target, 0).unwrap();
    pair.settle();
    assert_eq!(bytes_of(into)[..6], [3, 4, 5, 6, 7, 0]);
    // The second put may begin before the first one has ended.
    let offsets: std::collections::BTreeSet<_> = pair.a.events().iter().map(|event| event.offset).collect();
    assert_eq!(offsets, [3, 16].into());
}

/// Memory in runs on both sides, cut at different places.
pub fn scattered<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    for len in [10, 5000, 70_000] {
        let (from, from_memory) = runs(&[1, 0, len / 3, len - 1 - len / 3]);
        let (into, into_memory) = runs(&[len / 2, len, 9]);
        let data = pattern(3, len);
        let mut at = 0;
        for run in &from {
            run.write(mem::PeerBytes::of(&data[at..at + run.len()]));
            at += run.len();
        }
        let sink =
            Descriptor { memory: into_memory, ..pair.b.descriptor(buffer(Vec::new()), Options::OP_PUT) };
        let sink = pair.b.receive_with(5, &sink, Unlink::Retain);
        let source =
            Descriptor { memory: from_memory, ..pair.a.descriptor(buffer(Vec::new()), Options::default()) };
        let source = pair.a.nic.md_bind(&source, Unlink::Retain).unwrap();
        let target = pair.target(5);
        pair.a.nic.put(source, Ack::None, &target, 0).unwrap();
        pair.settle();
        assert_eq!(pair.landed(), Some((0, 0, len)));
        let arrived: Vec<u8> = into.iter().flat_map(|run| bytes_of(*run)).take(len).collect();
        assert!(arrived == data, "{len} bytes");
        pair.b.nic.md_unlink(sink).unwrap();
        pair.a.events();
    }
}

/// Gets of every size, whole and in part.
pub fn gets<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    for len in SIZES {
        let data = pattern(9, len);
        let md = pair.b.receive(len as u64, buffer(data.clone()), Options::MANAGE_REMOTE);
        let into = buffer(vec![0; len]);
        let (local, target) = (pair.a.bind(into, Threshold::Infinite), pair.target(len as u64));
        pair.a.nic.get(local, &target).unwrap();
        pair.settle();
        assert!(bytes_of(into) == data, "{len} bytes");
        if len > 8 {
            let target = Target { offset: 5, ..target };
            pair.a.nic.get_region(local, 1, 3, &target).unwrap();
            pair.settle();
            assert_eq!(bytes_of(into)[1..4], data[5..8]);
        }
        pair.b.nic.md_unlink(md).unwrap();
        pair.a.events();
        pair.b.events();
    }
}

/// A target that has less gives less, if it may.
pub fn short_reply<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(b"abc".to_vec()), Options::TRUNCATE);
    let into = buffer(vec![0; 8]);
    let (local, target) = (pair.a.bind(into, Threshold::Infinite), pair.target(5));
    pair.a.nic.get(local, &target).unwrap();
    pair.settle();
    let events = pair.a.events();
    assert_eq!((events[1].kind, events[1].mlength, events[1].rlength), (EventKind::ReplyEnd, 3, 8));
    assert_eq!(bytes_of(into), b"abc\0\0\0\0\0");
    pair.b.receive(6, buffer(b"abc".to_vec()), Options::default());
    let target = pair.target(6);
    pair.a.nic.get(local, &target).unwrap();
    pair.settle();
    assert!(pair.a.events().is_empty(), "refused without a word");
}

/// A get-put swaps.
pub fn swaps<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let there = buffer(b"old word".to_vec());
    pair.b.receive(5, there, Options::MANAGE_REMOTE);
    let into = buffer(vec![0; 8]);
    let (get, target) = (pair.a.bind(into, Threshold::Infinite), pair.target(5));
    let put = pair.a.bind(buffer(b"new word".to_vec()), Threshold::Infinite);
    pair.a.nic.get_put(get, put, &target, 77).unwrap();
    pair.settle();
    assert_eq!((bytes_of(there), bytes_of(into)), (b"new word".to_vec(), b"old word".to_vec()));
    let events = pair.b.events();
    let seen: Vec<_> = events.iter().map(|event| (event.kind, event.hdr_data, event.mlength)).collect();
    assert_eq!(seen, [(EventKind::GetPutStart, 77, 8), (EventKind::GetPutEnd, 77, 8)]);
    let mut kinds = pair.a.kinds();
    kinds.sort_by_key(|kind| *kind as u8);
    let expected = [EventKind::ReplyStart, EventKind::ReplyEnd, EventKind::SendStart, EventKind::SendEnd];
    assert_eq!(kinds, expected);
}

/// It needs both rights and has a longest length, equal on both sides.
pub fn swap_limits<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let most = pair.a.nic.limits().max_getput_md as usize;
    let target = pair.target(5);
    let bind = |pair: &mut Pair<R::Nic>, len| pair.a.bind(buffer(vec![1; len]), Threshold::Infinite);
    let (long, other) = (bind(&mut pair, most + 1), bind(&mut pair, most + 1));
    assert_eq!(pair.a.nic.get_put(long, other, &target, 0), Err(Error::MdIllegal));
    let (four, five) = (bind(&mut pair, 4), bind(&mut pair, 5));
    assert_eq!(pair.a.nic.get_put(four, five, &target, 0), Err(Error::MdIllegal));
    let puts_only = pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT);
    pair.b.receive_with(5, &puts_only, Unlink::Retain);
    let again = bind(&mut pair, 4);
    pair.a.nic.get_put(four, again, &target, 0).unwrap();
    pair.settle();
    assert!(pair.b.events().is_empty());
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(1));
}

/// A process puts to itself.
pub fn to_itself<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let into = buffer(vec![0; 5]);
    let me = pair
        .a
        .nic
        .me_attach(INDEX, NewEntry::new(pair.a.id().into(), 5, 0, Unlink::Retain), Position::After)
        .unwrap();
    let descriptor = pair.a.descriptor(into, Options::OP_PUT);
    pair.a.nic.md_attach(me, &descriptor, Unlink::Retain).unwrap();
    let md = pair.a.bind(buffer(b"hello".to_vec()), Threshold::Infinite);
    let target = Target { id: pair.a.id(), ..pair.target(5) };
    pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
    pair.settle();
    assert_eq!(bytes_of(into), b"hello");
    assert_eq!(pair.a.kinds().len(), 5);
}

/// Long messages in both directions at once.
pub fn both_ways<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    const LEN: usize = 300_000;
    let (to_b, to_a) = (buffer(vec![0; LEN]), buffer(vec![0; LEN]));
    pair.b.receive(5, to_b, Options::default());
    pair.a.receive(5, to_a, Options::default());
    let there = pair.target(5);
    let back = Target { id: pair.a.id(), ..there };
    let (from_a, from_b) = (
        pair.a.bind(buffer(pattern(1, LEN)), Threshold::Infinite),
        pair.b.bind(buffer(pattern(2, LEN)), Threshold::Infinite),
    );
    pair.a.nic.put(from_a, Ack::Wanted, &there, 0).unwrap();
    pair.b.nic.put(from_b, Ack::Wanted, &back, 0).unwrap();
    pair.settle();
    assert!(bytes_of(to_b) == pattern(1, LEN) && bytes_of(to_a) == pattern(2, LEN));
    assert_eq!((pair.a.events().len(), pair.b.events().len()), (5, 5));
}

/// The registers count what was sent, received and dropped.
pub fn counters<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    pair.put(5, b"12345");
    pair.put(6, b"123");
    let of = |nic: &R::Nic, register| nic.status(register).unwrap_or_default();
    assert_eq!((of(&pair.a.nic, Status::SendCount), of(&pair.a.nic, Status::SendBytes)), (2, 8));
    assert_eq!((of(&pair.b.nic, Status::ReceiveCount), of(&pair.b.nic, Status::ReceiveBytes)), (1, 5));
    assert_eq!((of(&pair.b.nic, Status::DropCount), of(&pair.b.nic, Status::DropBytes)), (1, 3));
    assert_eq!(of(&pair.b.nic, Status::EntriesWalked), 2);
    assert!(of(&pair.b.nic, Status::NicBytes) > 0);
    let nid = pair.b.id().nid;
    assert!(pair.a.nic.distance(nid).is_ok());
    assert_eq!(pair.a.nic.distance(portals::Nid(123_456)), Err(Error::ProcessInvalid));
    assert_eq!(Memory::EMPTY.len(), 0);
}

//! What counts against the threshold of which descriptor.

use crate::Rig;
use crate::pair::{Pair, buffer, pattern};
use portals::{Ack, Descriptor, Error, EventKind, Md, Options, Portals, Threshold, Unlink};

fn left<N: Portals>(nic: &N, md: Md) -> Threshold {
    nic.md_read(md).expect("it is there").threshold
}

/// A put counts once, when it is issued.
pub fn put<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    let (md, target) = (pair.a.bind(buffer(vec![1; 4]), Threshold::Count(2)), pair.target(5));
    for left_over in [1, 0] {
        pair.a.nic.put(md, Ack::None, &target, 0).unwrap();
        assert_eq!(left(&pair.a.nic, md), Threshold::Count(left_over));
    }
    assert_eq!(pair.a.nic.put(md, Ack::None, &target, 0), Err(Error::MdInvalid), "inactive");
    pair.settle();
    assert_eq!(pair.a.kinds().len(), 4);
}

/// Its acknowledgement counts again.
pub fn put_with_ack<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    let (md, target) = (pair.a.bind(buffer(vec![1; 4]), Threshold::Count(2)), pair.target(5));
    pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
    pair.settle();
    let mut kinds = pair.a.kinds();
    kinds.sort_by_key(|kind| *kind as u8);
    assert_eq!(kinds, [EventKind::SendStart, EventKind::SendEnd, EventKind::Ack]);
    assert_eq!(left(&pair.a.nic, md), Threshold::Count(0));
}

/// An acknowledgement to a descriptor that is inactive or gone is dropped without an event.
pub fn ack_to_inactive<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    let target = pair.target(5);
    let md = pair.a.bind(buffer(vec![1; 4]), Threshold::Count(1));
    pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
    pair.settle();
    assert_eq!(pair.a.kinds(), [EventKind::SendStart, EventKind::SendEnd]);
    let goes = Descriptor {
        threshold: Threshold::Count(1),
        ..pair.a.descriptor(buffer(vec![1; 4]), Options::default())
    };
    let md = pair.a.nic.md_bind(&goes, Unlink::Unlink).unwrap();
    pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
    pair.settle();
    assert_eq!(pair.a.kinds(), [EventKind::SendStart, EventKind::SendEnd, EventKind::Unlink]);
    assert!(pair.a.nic.md_read(md).is_err());
}

/// A get counts nothing when issued, its reply counts once.
pub fn get<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(pattern(1, 4)), Options::MANAGE_REMOTE);
    let (md, target) = (pair.a.bind(buffer(vec![0; 4]), Threshold::Count(2)), pair.target(5));
    pair.a.nic.get(md, &target).unwrap();
    assert_eq!(left(&pair.a.nic, md), Threshold::Count(2));
    pair.settle();
    assert_eq!(pair.a.kinds(), [EventKind::ReplyStart, EventKind::ReplyEnd]);
    assert_eq!(left(&pair.a.nic, md), Threshold::Count(1));
    assert_eq!(pair.b.kinds(), [EventKind::GetStart, EventKind::GetEnd]);
}

/// A reply to a descriptor that has become inactive or is gone is dropped.
pub fn reply_to_inactive<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(pattern(1, 4)), Options::MANAGE_REMOTE);
    let target = pair.target(5);
    let memory = buffer(vec![0; 4]);
    let md = pair.a.bind(memory, Threshold::Count(1));
    pair.a.nic.get(md, &target).unwrap();
    pair.a.nic.get(md, &target).unwrap();
    pair.settle();
    assert_eq!(pair.a.kinds(), [EventKind::ReplyStart, EventKind::ReplyEnd], "one reply of two");
    let md = pair.a.bind(memory, Threshold::Count(1));
    pair.a.nic.get(md, &target).unwrap();
    pair.a.nic.md_unlink(md).expect("a get that has left does not hold its descriptor");
    pair.settle();
    assert!(pair.a.events().is_empty());
}

/// Accepted operations count at the target, of each kind.
pub fn acceptance<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = buffer(vec![0; 64]);
    let options = Options::OP_PUT | Options::OP_GET | Options::MANAGE_REMOTE;
    let descriptor = Descriptor { threshold: Threshold::Count(4), ..pair.b.descriptor(memory, options) };
    let md = pair.b.receive_with(5, &descriptor, Unlink::Retain);
    let target = pair.target(5);
    pair.put(5, b"x");
    assert_eq!(left(&pair.b.nic, md), Threshold::Count(3));
    let into = pair.a.bind(buffer(vec![0; 8]), Threshold::Infinite);
    pair.a.nic.get(into, &target).unwrap();
    pair.settle();
    assert_eq!(left(&pair.b.nic, md), Threshold::Count(2));
    let from = pair.a.bind(buffer(vec![7; 8]), Threshold::Infinite);
    pair.a.nic.get_put(into, from, &target, 0).unwrap();
    pair.settle();
    assert_eq!(left(&pair.b.nic, md), Threshold::Count(1));
    pair.put(5, b"y");
    pair.b.events();
    pair.put(5, b"z");
    assert_eq!(pair.landed(), None, "inactive");
}

/// Without a bound a descriptor stays.
pub fn infinite<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let md = pair.b.receive(5, buffer(vec![0; 64]), Options::MANAGE_REMOTE);
    for _ in 0..50 {
        pair.put(5, b"x");
        assert!(pair.landed().is_some());
    }
    assert_eq!(left(&pair.b.nic, md), Threshold::Infinite);
}

/// With `ACK_DISABLE` the initiator gets no acknowledgement.
pub fn ack_disabled<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 64]), Options::ACK_DISABLE);
    let (md, target) = (pair.a.bind(buffer(vec![1; 4]), Threshold::Count(2)), pair.target(5));
    pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
    pair.settle();
    assert_eq!(pair.a.kinds(), [EventKind::SendStart, EventKind::SendEnd]);
    assert_eq!(left(&pair.a.nic, md), Threshold::Count(1));
}

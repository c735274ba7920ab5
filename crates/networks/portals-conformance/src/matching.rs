//! Which descriptor an operation finds, and how much of it that takes.

use crate::Rig;
use crate::pair::{INDEX, Pair, buffer, bytes_of, named};
use portals::{
    Descriptor, EventKind, NewEntry, Nid, Options, Pid, Portals, Position, ProcessMatch, Status, Threshold,
    Unlink,
};

/// The first entry that fits takes the message, though later ones would.
pub fn first_fit_wins<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    for user in 0..3 {
        let descriptor = pair.b.descriptor(buffer(vec![0; 4]), Options::OP_PUT);
        pair.b.receive_with(5, &named(descriptor, user), Unlink::Retain);
    }
    pair.put(5, b"ab");
    assert_eq!(pair.landed(), Some((0, 0, 2)));
    pair.put(5, b"cd");
    assert_eq!(pair.landed(), Some((0, 2, 2)));
    pair.put(5, b"e");
    assert_eq!(pair.landed(), Some((1, 0, 1)), "the first has no room any more");
}

/// Bits that an entry ignores do not count.
pub fn ignore_bits<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let high = 0xffff_0000_0000_0000;
    let descriptor = named(pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT), 1);
    let me = pair.b.entry(0x1234_0000_0000_0007, high);
    pair.b.nic.md_attach(me, &descriptor, Unlink::Retain).unwrap();
    for (bits, fits) in
        [(7, true), (high | 7, true), (6, false), (0x1234_0000_0000_0007, true), (1 << 47 | 7, false)]
    {
        pair.put(bits, b"x");
        assert_eq!(pair.landed().is_some(), fits, "{bits:#x}");
    }
}

/// Entries for one process, one node, every process.
pub fn sources<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let from = pair.a.id();
    let (nid, pid) = (Some(from.nid), Some(from.pid));
    let cases = [
        (ProcessMatch { nid: Some(Nid(from.nid.0 + 100)), pid }, false),
        (ProcessMatch { nid, pid: Some(Pid(from.pid.0 + 100)) }, false),
        (ProcessMatch { nid: None, pid: Some(Pid(from.pid.0 + 100)) }, false),
        (ProcessMatch::from(from), true),
        (ProcessMatch { nid, pid: None }, true),
        (ProcessMatch { nid: None, pid }, true),
        (ProcessMatch::ANY, true),
    ];
    for (source, fits) in cases {
        let me = pair
            .b
            .nic
            .me_attach(INDEX, NewEntry::new(source, 1, 0, Unlink::Retain), Position::Before)
            .unwrap();
        let descriptor = pair.b.descriptor(buffer(vec![0; 4]), Options::OP_PUT);
        pair.b.nic.md_attach(me, &descriptor, Unlink::Retain).unwrap();
        pair.put(1, b"x");
        assert_eq!(pair.landed().is_some(), fits, "{source:?}");
        pair.b.nic.me_unlink(me).unwrap();
    }
}

/// A descriptor that refuses hands the message on to the next entry.
pub fn refusal_goes_on<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let gets_only = named(pair.b.descriptor(buffer(vec![0; 64]), Options::OP_GET), 1);
    let short = named(pair.b.descriptor(buffer(vec![0; 3]), Options::OP_PUT), 2);
    let good = named(pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT), 3);
    for descriptor in [&gets_only, &short, &good] {
        pair.b.receive_with(5, descriptor, Unlink::Retain);
    }
    pair.put(5, b"four");
    assert_eq!(pair.landed(), Some((3, 0, 4)));
    pair.put(5, b"one");
    assert_eq!(pair.landed(), Some((2, 0, 3)), "what it has room for it takes");
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(0));
}

/// A descriptor with a threshold of 0 is there and takes nothing, until it is given another.
pub fn inactive_is_skipped<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let disarmed = Descriptor {
        threshold: Threshold::Count(0),
        ..named(pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT), 1)
    };
    let md = pair.b.receive_with(5, &disarmed, Unlink::Unlink);
    let next = named(pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT), 2);
    pair.b.receive_with(5, &next, Unlink::Retain);
    pair.put(5, b"x");
    assert_eq!(pair.landed(), Some((2, 0, 1)));
    let armed = Descriptor { threshold: Threshold::Count(1), ..disarmed };
    pair.b.nic.md_update(md, &armed, Some(pair.b.eq)).unwrap();
    pair.put(5, b"x");
    assert_eq!(pair.landed(), Some((1, 0, 1)));
}

/// An entry without a descriptor is passed over.
pub fn without_descriptor<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.entry(5, 0);
    pair.b.receive(5, buffer(vec![0; 4]), Options::default());
    pair.put(5, b"x");
    assert_eq!(pair.landed(), Some((0, 0, 1)));
}

/// What nothing accepts is dropped and counted, and the sender's own events are the only ones.
pub fn nothing_fits<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(vec![0; 4]), Options::default());
    pair.put(6, b"lost");
    pair.put(5, b"too long");
    assert!(pair.b.events().is_empty());
    assert_eq!(
        pair.a.kinds(),
        [EventKind::SendStart, EventKind::SendEnd, EventKind::SendStart, EventKind::SendEnd]
    );
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(2));
    assert_eq!(pair.b.nic.status(Status::DropBytes), Ok(12));
}

/// `TRUNCATE` takes what there is room for and reports both lengths.
pub fn truncation<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = buffer(vec![0; 4]);
    pair.b.receive(5, memory, Options::TRUNCATE);
    pair.put(5, b"truncated");
    let events = pair.b.events();
    let lengths: Vec<_> = events.iter().map(|event| (event.kind, event.rlength, event.mlength)).collect();
    assert_eq!(lengths, [(EventKind::PutStart, 9, 4), (EventKind::PutEnd, 9, 4)]);
    assert_eq!(bytes_of(memory), b"trun");
}

/// Also down to nothing.
pub fn truncation_to_nothing<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.b.receive(5, buffer(Vec::new()), Options::TRUNCATE);
    pair.put(5, b"gone");
    assert_eq!(pair.landed(), Some((0, 0, 0)));
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(0));
}

/// With `MANAGE_REMOTE` the initiator's offset counts; without, it is ignored.
pub fn remote_and_local_offsets<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (remote, local) = (buffer(vec![0; 8]), buffer(vec![0; 8]));
    pair.b.receive(1, remote, Options::MANAGE_REMOTE);
    pair.b.receive(2, local, Options::default());
    for (bits, offset, expected) in
        [(1, 6, Some((0, 6, 2))), (1, 7, None), (1, usize::MAX, None), (2, 6, Some((0, 0, 2)))]
    {
        let md = pair.a.bind(buffer(b"ab".to_vec()), Threshold::Count(1));
        let target = portals::Target { offset, ..pair.target(bits) };
        pair.a.nic.put(md, portals::Ack::None, &target, 0).unwrap();
        pair.settle();
        assert_eq!(pair.landed(), expected, "bits {bits}, offset {offset}");
    }
    assert_eq!((bytes_of(remote), bytes_of(local)), (b"\0\0\0\0\0\0ab".to_vec(), b"ab\0\0\0\0\0\0".to_vec()));
}

/// A descriptor with `MAX_SIZE` goes when less than that is left, and not when exactly that is.
pub fn max_size_boundary<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let descriptor = Descriptor {
        max_size: 4,
        ..named(pair.b.descriptor(buffer(vec![0; 10]), Options::OP_PUT | Options::MAX_SIZE), 1)
    };
    let md = pair.b.receive_with(5, &descriptor, Unlink::Unlink);
    pair.put(5, b"123456");
    assert_eq!(pair.b.kinds(), [EventKind::PutStart, EventKind::PutEnd], "4 of 10 bytes are left");
    pair.put(5, b"1");
    assert_eq!(pair.b.kinds(), [EventKind::PutStart, EventKind::PutEnd, EventKind::Unlink]);
    assert!(pair.b.nic.md_read(md).is_err());
    let kept = Descriptor { options: descriptor.options | Options::MANAGE_REMOTE, ..descriptor };
    let md = pair.b.receive_with(6, &kept, Unlink::Unlink);
    pair.put(6, b"1234567890");
    assert!(
        pair.b.nic.md_read(md).is_ok(),
        "the option does not count where the initiator manages the offset"
    );
}

/// The event of the unlinking follows the END, and a descriptor that goes with an operation under way waits for it.
pub fn unlinks_after_its_end<R: Rig>(rig: &mut R) {
    let late = crate::Wanted { faults_of_target: "seed=1,defer=0.7", ..crate::Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &late) else { return };
    for _ in 0..20 {
        let descriptor = Descriptor {
            threshold: Threshold::Count(3),
            ..pair.b.descriptor(buffer(vec![0; 3]), Options::OP_PUT)
        };
        pair.b.receive_with(5, &descriptor, Unlink::Unlink);
        for _ in 0..3 {
            let (md, target) = (pair.a.bind(buffer(vec![1]), Threshold::Count(1)), pair.target(5));
            pair.a.nic.put(md, portals::Ack::None, &target, 0).unwrap();
        }
        pair.settle();
        let kinds = pair.b.kinds();
        assert_eq!(kinds.len(), 7);
        assert_eq!(kinds.last(), Some(&EventKind::Unlink));
        let entries: Vec<_> = kinds.iter().filter(|&&kind| kind == EventKind::PutEnd).collect();
        assert_eq!(entries.len(), 3);
    }
}

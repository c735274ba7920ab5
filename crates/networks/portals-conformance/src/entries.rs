//! Match entries and descriptors as objects: order, limits, handles, use.

use crate::pair::{INDEX, Pair, buffer, named};
use crate::{Rig, Wanted};
use portals::{
    Ack, Descriptor, Error, Limits, NewEntry, Options, Portals, Position, ProcessMatch, Status, Threshold,
    Unlink,
};

/// Entries are tried in the order that head, tail, before and after make.
pub fn order_of_insertion<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let any = ProcessMatch::ANY;
    let nic = &mut pair.b.nic;
    let c = nic.me_attach(INDEX, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::After).unwrap();
    let a = nic.me_attach(INDEX, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::Before).unwrap();
    let b = nic.me_insert(c, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::Before).unwrap();
    let e = nic.me_insert(c, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::After).unwrap();
    let d = nic.me_insert(e, NewEntry::new(any, 0, u64::MAX, Unlink::Unlink), Position::Before).unwrap();
    for (me, user) in [(e, 5), (c, 3), (a, 1), (d, 4), (b, 2)] {
        let once = Descriptor {
            threshold: Threshold::Count(1),
            ..pair.b.descriptor(buffer(vec![0; 8]), Options::OP_PUT)
        };
        pair.b.nic.md_attach(me, &named(once, user), Unlink::Unlink).unwrap();
    }
    for user in 1..=5 {
        pair.put(77, b"x");
        assert_eq!(pair.landed(), Some((user, 0, 1)));
    }
    pair.put(77, b"x");
    assert_eq!(pair.landed(), None, "each took one and went, with its entry");
    assert_eq!(pair.b.nic.status(Status::MatchEntries), Ok(0));
    assert_eq!(pair.b.nic.status(Status::MemoryDescriptors), Ok(0));
}

/// `PtlMEAttachAny` takes an index without entries, until there is none.
pub fn any_index<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &small()) else { return };
    let nic = &mut pair.b.nic;
    let mut taken = vec![
        nic.me_attach(1, NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain), Position::After)
            .map(|me| (1, me))
            .unwrap(),
    ];
    for _ in 0..2 {
        taken.push(nic.me_attach_any(NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain)).unwrap());
    }
    let mut indices: Vec<u32> = taken.iter().map(|(index, _)| *index).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2]);
    assert_eq!(nic.me_attach_any(NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain)), Err(Error::PtFull));
    nic.me_unlink(taken[0].1).unwrap();
    assert_eq!(
        nic.me_attach_any(NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain)).map(|(index, _)| index),
        Ok(1)
    );
}

fn small() -> Wanted {
    let limits = Limits {
        max_mes: 6,
        max_mds: 4,
        max_eqs: 3,
        max_ac_index: 2,
        max_pt_index: 2,
        max_md_iovecs: 2,
        max_me_list: 4,
        max_getput_md: 16,
    };
    Wanted { limits: Some(limits), ..Wanted::default() }
}

/// The numbers of `PtlNIInit` are kept.
pub fn limits_hold<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &small()) else { return };
    let attach = |nic: &mut R::Nic, index| {
        nic.me_attach(index, NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain), Position::After)
    };
    let eq = pair.b.eq;
    let nic = &mut pair.b.nic;
    assert_eq!(nic.limits().max_mes, 6);
    assert_eq!(attach(nic, 3), Err(Error::PtIndexInvalid));
    let mut entries: Vec<_> = (0..4).map(|_| attach(nic, 0).unwrap()).collect();
    assert_eq!(attach(nic, 0), Err(Error::MeListTooLong));
    let inserted =
        nic.me_insert(entries[0], NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain), Position::After);
    assert_eq!(inserted, Err(Error::MeListTooLong));
    entries.extend((0..2).map(|_| attach(nic, 1).unwrap()));
    assert_eq!(attach(nic, 2), Err(Error::NoSpace));
    let descriptor = Descriptor { eq: Some(eq), ..Descriptor::of(buffer(vec![0; 4])) };
    let bound = nic.md_bind(&descriptor, Unlink::Retain).unwrap();
    for &me in &entries[..3] {
        nic.md_attach(me, &descriptor, Unlink::Retain).unwrap();
    }
    assert_eq!(nic.md_attach(entries[3], &descriptor, Unlink::Retain), Err(Error::NoSpace));
    nic.md_unlink(bound).unwrap();
    nic.md_attach(entries[3], &descriptor, Unlink::Retain).unwrap();
    let (_, three) = crate::pair::runs(&[1, 2, 3]);
    let illegal = Descriptor { memory: three, ..descriptor };
    assert_eq!(nic.md_bind(&illegal, Unlink::Retain), Err(Error::MdIllegal));
    nic.eq_alloc(1, None).unwrap();
    nic.eq_alloc(1, None).unwrap();
    assert_eq!(nic.eq_alloc(1, None), Err(Error::NoSpace));
    assert_eq!(nic.eq_alloc(0, None), Err(Error::NoSpace));
}

/// A handle of something that is gone is refused, also when its place has another use.
pub fn stale_handles<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = buffer(vec![0; 4]);
    let eq = pair.b.nic.eq_alloc(4, None).unwrap();
    pair.b.nic.eq_free(eq).unwrap();
    assert_eq!(pair.b.nic.eq_free(eq), Err(Error::EqInvalid));
    assert_eq!(pair.b.nic.eq_get(eq).map(|_| ()), Err(Error::EqInvalid));
    let of_gone = Descriptor { eq: Some(eq), ..Descriptor::of(memory) };
    assert_eq!(pair.b.nic.md_bind(&of_gone, Unlink::Retain), Err(Error::EqInvalid));
    let me = pair.b.entry(0, 0);
    let md = pair.b.nic.md_attach(me, &Descriptor::of(memory), Unlink::Retain).unwrap();
    assert_eq!(pair.b.nic.md_update(md, &Descriptor::of(memory), Some(eq)), Err(Error::EqInvalid));
    pair.b.nic.me_unlink(me).unwrap();
    let again = pair.b.entry(0, 0);
    pair.b.nic.md_attach(again, &Descriptor::of(memory), Unlink::Retain).unwrap();
    let nic = &mut pair.b.nic;
    assert_eq!(nic.me_unlink(me), Err(Error::MeInvalid));
    assert_eq!(nic.md_unlink(md), Err(Error::MdInvalid));
    assert_eq!(nic.md_read(md), Err(Error::MdInvalid));
    assert_eq!(nic.md_attach(me, &Descriptor::of(memory), Unlink::Retain), Err(Error::MeInvalid));
    let inserted = nic.me_insert(me, NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain), Position::After);
    assert_eq!(inserted, Err(Error::MeInvalid));
}

/// An entry has one descriptor at a time; one with operations under way stays, and its entry with it.
pub fn in_use<R: Rig>(rig: &mut R) {
    let late = Wanted { faults_of_target: "seed=3,defer=1", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &late) else { return };
    let me = pair.b.entry(9, 0);
    let descriptor = pair.b.descriptor(buffer(vec![0; 8]), Options::OP_PUT);
    let md = pair.b.nic.md_attach(me, &descriptor, Unlink::Retain).unwrap();
    assert_eq!(pair.b.nic.md_attach(me, &descriptor, Unlink::Retain), Err(Error::MeInUse));
    let (from, target) = (pair.a.bind(buffer(vec![1; 8]), Threshold::Infinite), pair.target(9));
    pair.a.nic.put(from, Ack::None, &target, 0).unwrap();
    while pair.b.event().is_none() {
        pair.a.nic.progress();
    }
    if pair.b.nic.me_unlink(me) == Err(Error::MeInUse) {
        assert_eq!(pair.b.nic.md_unlink(md), Err(Error::MdInUse));
        assert_eq!(pair.b.nic.md_update(md, &descriptor, None), Err(Error::MdNoUpdate));
    } else {
        panic!("the END is late, so the entry is in use");
    }
    pair.settle();
    pair.b.nic.md_unlink(md).unwrap();
    pair.b.nic.md_attach(me, &descriptor, Unlink::Retain).expect("the entry is free again");
}

/// `PtlMEUnlink` takes the descriptor along.
pub fn unlink_takes_the_descriptor<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let me = pair.b.entry(1, 0);
    let md = pair.b.nic.md_attach(me, &Descriptor::of(buffer(vec![0; 4])), Unlink::Retain).unwrap();
    pair.b.nic.me_unlink(me).unwrap();
    assert_eq!(pair.b.nic.md_unlink(md), Err(Error::MdInvalid));
    assert!(pair.b.events().is_empty(), "no event for what was asked for");
}

/// In accelerated mode the NIC's memory bounds entries, descriptors and events, and comes back.
pub fn accelerated_memory_runs_out<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &Wanted { accelerated: true, ..Wanted::default() }) else {
        return;
    };
    let nic = &mut pair.b.nic;
    let mut made = Vec::new();
    let refused = loop {
        match nic.me_attach(INDEX, NewEntry::new(ProcessMatch::ANY, 0, 0, Unlink::Retain), Position::After) {
            Ok(me) => made.push(me),
            Err(error) => break error,
        }
    };
    assert_eq!(refused, Error::NoSpace);
    assert!(made.len() > 1000);
    assert_eq!(nic.eq_alloc(64, None), Err(Error::NoSpace));
    made.drain(..).for_each(|me| nic.me_unlink(me).unwrap());
    nic.eq_alloc(64, None).expect("there is room again");
    let here = nic.id().nid;
    assert_eq!(nic.distance(here), Err(Error::Fail), "an accelerated NIC knows no distances");
}

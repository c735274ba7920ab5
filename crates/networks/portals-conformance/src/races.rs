//! The race that `PtlMDUpdate` and `PtlMEMDPost` close: a message that arrives between the search among those that have
//! arrived and the posting of a receive.

use crate::pair::{INDEX, Pair, buffer, bytes_of};
use crate::{Rig, Wanted};
use portals::{
    Ack, Descriptor, Eq, Error, EventKind, Me, NewEntry, Options, Portals, Position, ProcessMatch, Status,
    Threshold, Unlink,
};

/// An update is refused while the queue has an event, or will have one of an operation that has begun.
pub fn update_is_refused_when_something_came<R: Rig>(rig: &mut R) {
    let late = Wanted { faults_of_target: "seed=2,defer=1", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &late) else { return };
    let silent = Options::OP_PUT | Options::EVENT_START_DISABLE;
    let catch = pair.b.descriptor(buffer(vec![0; 64]), silent);
    pair.b.receive_with(5, &catch, Unlink::Retain);
    let other = pair.b.descriptor(buffer(vec![0; 8]), silent);
    let md = pair.b.receive_with(6, &other, Unlink::Retain);
    let eq = pair.b.eq;
    pair.b.nic.md_update(md, &other, Some(eq)).expect("silence");
    let (from, target) = (pair.a.bind(buffer(vec![1]), Threshold::Count(1)), pair.target(5));
    pair.a.nic.put(from, Ack::None, &target, 0).unwrap();
    let mut begun = false;
    for _ in 0..1000 {
        pair.a.nic.progress();
        pair.b.nic.progress();
        begun |= pair.b.nic.status(Status::ReceiveCount) == Ok(1);
        if begun {
            break;
        }
    }
    assert!(begun);
    assert_eq!(pair.b.nic.md_update(md, &other, Some(eq)), Err(Error::MdNoUpdate), "arriving, or arrived");
    pair.settle();
    assert_eq!(pair.b.nic.md_update(md, &other, Some(eq)), Err(Error::MdNoUpdate), "arrived");
    assert_eq!(pair.b.kinds(), [EventKind::PutEnd]);
    pair.b.nic.md_update(md, &other, Some(eq)).expect("silence again");
}

/// So is a post, which leaves nothing behind then.
pub fn post_is_refused_when_something_came<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let catch = pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT);
    let marker = pair.b.entry(0, u64::MAX);
    pair.b.nic.md_attach(marker, &catch, Unlink::Retain).unwrap();
    pair.put(5, b"x");
    let entries = pair.b.nic.status(Status::MatchEntries);
    let eq = pair.b.eq;
    assert_eq!(post(&mut pair.b.nic, marker, 5, buffer(vec![0; 4]), eq), Err(Error::MdNoUpdate));
    assert_eq!(pair.b.nic.status(Status::MatchEntries), entries);
    pair.b.events();
    post(&mut pair.b.nic, marker, 5, buffer(vec![0; 4]), eq).expect("silence");
    let illegal = pair.b.nic.eq_alloc(1, None).unwrap();
    pair.b.nic.eq_free(illegal).unwrap();
    assert_eq!(post(&mut pair.b.nic, marker, 5, buffer(vec![0; 4]), illegal), Err(Error::EqInvalid));
}

fn post<N: Portals>(nic: &mut N, before: Me, bits: u64, memory: mem::UserMem, eq: Eq) -> portals::Result<()> {
    let descriptor = Descriptor {
        threshold: Threshold::Count(1),
        options: Options::OP_PUT | Options::TRUNCATE,
        eq: Some(eq),
        user: 1,
        ..Descriptor::of(memory)
    };
    let any = ProcessMatch::ANY;
    nic.me_md_post(
        before,
        NewEntry::new(any, bits, 0, Unlink::Unlink),
        Position::Before,
        &descriptor,
        Unlink::Unlink,
        eq,
    )
    .map(|_| ())
}

/// The older dance: an entry with a disarmed descriptor, then an update that arms it.
pub fn arm_a_disarmed_one<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let eq = pair.b.eq;
    let memory = buffer(vec![0; 4]);
    let armed = Descriptor { threshold: Threshold::Count(1), ..pair.b.descriptor(memory, Options::OP_PUT) };
    let disarmed = Descriptor { threshold: Threshold::Count(0), ..armed.clone() };
    let md = pair.b.receive_with(5, &disarmed, Unlink::Unlink);
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    pair.put(5, b"1");
    assert_eq!(pair.b.nic.md_update(md, &armed, Some(eq)), Err(Error::MdNoUpdate));
    pair.b.events();
    pair.b.nic.md_update(md, &armed, Some(eq)).unwrap();
    pair.put(5, b"2");
    assert_eq!(pair.b.kinds(), [EventKind::PutStart, EventKind::PutEnd, EventKind::Unlink]);
    assert_eq!(bytes_of(memory)[0], b'2');
}

/// A message that arrives at any point of the posting of a receive is received once: by the receive, or as unexpected.
pub fn every_interleaving<R: Rig>(rig: &mut R) {
    for (steps_before_send, steps_before_turns, late) in
        (0..6).flat_map(|send| (0..6).flat_map(move |turn| [false, true].map(|late| (send, turn, late))))
    {
        let faults = if late { "seed=8,defer=0.8" } else { "" };
        let wanted = Wanted { faults_of_target: faults, ..Wanted::default() };
        let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
        let unexpected = pair.b.descriptor(buffer(vec![0; 64]), Options::OP_PUT | Options::ACK_DISABLE);
        let marker = pair
            .b
            .nic
            .me_attach(INDEX, NewEntry::new(ProcessMatch::ANY, 0, u64::MAX, Unlink::Retain), Position::After)
            .unwrap();
        pair.b.nic.md_attach(marker, &unexpected, Unlink::Retain).unwrap();
        let posted = buffer(vec![0; 4]);
        let eq = pair.b.eq;
        let (mut found, mut is_posted) = (0, false);
        for step in 0..12 {
            if step == steps_before_send {
                let (md, target) = (pair.a.bind(buffer(vec![9]), Threshold::Count(1)), pair.target(5));
                pair.a.nic.put(md, Ack::None, &target, 0).unwrap();
            }
            if step >= steps_before_turns {
                pair.a.nic.progress();
                pair.b.nic.progress();
            }
            if found > 0 || is_posted {
                continue;
            }
            // A receiver: takes what has come, then posts if nothing more did.
            if step % 2 == 0 {
                while let Some(event) = pair.b.event() {
                    found += u32::from(event.kind == EventKind::PutEnd && event.descriptor.user == 0);
                }
            } else {
                is_posted = post(&mut pair.b.nic, marker, 5, posted, eq).is_ok();
            }
        }
        pair.settle();
        for event in pair.b.events() {
            found += u32::from(event.kind == EventKind::PutEnd);
        }
        assert_eq!(found, 1, "sent at {steps_before_send}, turns from {steps_before_turns}, late {late}");
    }
}

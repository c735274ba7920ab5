//! Events: their order, their fields, and what becomes of those that are not taken.

use crate::pair::{Pair, buffer};
use crate::{Rig, Wanted};
use core::time::Duration;
use portals::{
    Ack, Descriptor, Error, EventKind, Memory, Options, Portals, Status, Target, Threshold, Unlink, wait,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

/// START events come in the order of sending; a START and its END share a link, also where others are in between.
pub fn order_and_links<R: Rig>(rig: &mut R) {
    let late = Wanted { faults_of_target: "seed=5,defer=0.6", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &late) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    let target = pair.target(5);
    for number in 0..40 {
        let md = pair.a.bind(buffer(vec![number]), Threshold::Count(1));
        pair.a.nic.put(md, Ack::None, &target, number.into()).unwrap();
    }
    pair.settle();
    let events = pair.b.events();
    let starts: Vec<_> = events.iter().filter(|event| event.kind == EventKind::PutStart).collect();
    assert!(starts.iter().zip(0..).all(|(event, number)| event.hdr_data == number));
    assert_eq!(starts.len(), 40);
    let mut crossed = false;
    for (at, start) in events.iter().enumerate().filter(|(_, event)| event.kind == EventKind::PutStart) {
        let mine = |event: &&portals::Event| event.link == start.link && event.kind == EventKind::PutEnd;
        let ends: Vec<_> = events.iter().filter(mine).collect();
        assert_eq!(ends.len(), 1, "one END to each START");
        assert_eq!(ends[0].hdr_data, start.hdr_data);
        crossed |= events[at + 1].link != start.link;
    }
    assert!(crossed, "some END came later than another START");
    assert!(events.iter().zip(0..).all(|(event, number)| event.sequence == number));
}

/// A ring that is full loses its oldest events, and the next that is taken reports that.
pub fn overrun<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let small = pair.b.nic.eq_alloc(4, None).unwrap();
    let descriptor = Descriptor {
        eq: Some(small),
        options: Options::OP_PUT | Options::EVENT_START_DISABLE,
        ..Descriptor::of(buffer(vec![0; 64]))
    };
    pair.b.receive_with(5, &descriptor, Unlink::Retain);
    let target = pair.target(5);
    let send = |pair: &mut Pair<R::Nic>, number: u64| {
        let md = pair.a.bind(buffer(vec![0]), Threshold::Count(1));
        pair.a.nic.put(md, Ack::None, &target, number).unwrap();
        pair.settle();
    };
    (0..4).for_each(|number| send(&mut pair, number));
    let first = pair.b.nic.eq_get(small).unwrap();
    assert_eq!((first.event.hdr_data, first.dropped), (0, false), "a full ring has lost nothing");
    (4..9).for_each(|number| send(&mut pair, number));
    let numbers: Vec<_> = core::iter::from_fn(|| pair.b.nic.eq_get(small).ok())
        .map(|taken| (taken.event.hdr_data, taken.dropped))
        .collect();
    assert_eq!(numbers, [(5, true), (6, false), (7, false), (8, false)]);
}

/// A descriptor chooses its events.
pub fn silent_descriptors<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (no_start, no_end) = (Options::EVENT_START_DISABLE, Options::EVENT_END_DISABLE);
    let into = pair.b.receive(5, buffer(vec![0; 64]), no_start);
    let target = pair.target(5);
    let cases: [(Options, &[EventKind]); 3] = [
        (no_start, &[EventKind::SendEnd, EventKind::Ack]),
        (no_end, &[EventKind::SendStart, EventKind::Ack]),
        (no_start | no_end, &[]),
    ];
    for (options, expected) in cases {
        let descriptor = pair.a.descriptor(buffer(vec![1]), options);
        let md = pair.a.nic.md_bind(&descriptor, Unlink::Retain).unwrap();
        pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
        pair.settle();
        assert_eq!(pair.a.kinds(), expected);
        assert_eq!(pair.b.kinds(), [EventKind::PutEnd]);
    }
    let without = Descriptor { options: Options::OP_PUT, ..Descriptor::of(buffer(vec![0; 4])) };
    pair.b.nic.md_update(into, &without, None).unwrap();
    pair.put(5, b"x");
    assert!(pair.b.events().is_empty(), "no queue, no events");
}

/// A handler sees every event of its queue, which has it all the same.
pub fn handlers<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (seen, kinds) = (Arc::new(AtomicUsize::new(0)), Arc::new(std::sync::Mutex::new(Vec::new())));
    let (count, list) = (Arc::clone(&seen), Arc::clone(&kinds));
    let handler = move |event: &portals::Event| {
        count.fetch_add(1, Ordering::Relaxed);
        list.lock().unwrap_or_else(PoisonError::into_inner).push(event.kind);
    };
    let eq = pair.b.nic.eq_alloc(8, Some(Box::new(handler))).unwrap();
    let descriptor =
        Descriptor { eq: Some(eq), options: Options::OP_PUT, ..Descriptor::of(buffer(vec![0; 8])) };
    pair.b.receive_with(5, &descriptor, Unlink::Retain);
    pair.put(5, b"x");
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    let kinds = kinds.lock().unwrap_or_else(PoisonError::into_inner).clone();
    assert_eq!(kinds, [EventKind::PutStart, EventKind::PutEnd]);
    assert_eq!(pair.b.nic.eq_get(eq).map(|taken| taken.event.kind), Ok(EventKind::PutStart));
}

/// A queue that a descriptor names stays.
pub fn use_counts<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let eq = pair.b.nic.eq_alloc(8, None).unwrap();
    let before = pair.b.nic.status(Status::EventQueues).unwrap();
    let descriptor = Descriptor { eq: Some(eq), ..Descriptor::of(buffer(vec![0; 8])) };
    let md = pair.b.nic.md_bind(&descriptor, Unlink::Retain).unwrap();
    assert_eq!(pair.b.nic.eq_free(eq), Err(Error::EqInUse));
    pair.b.nic.md_update(md, &Descriptor { eq: None, ..descriptor }, None).unwrap();
    pair.b.nic.eq_free(eq).unwrap();
    assert_eq!(pair.b.nic.status(Status::EventQueues), Ok(before - 1));
}

/// What the fields of each kind of event say.
pub fn fields_of_events<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (a, b) = (pair.a.id(), pair.b.id());
    let md = pair.b.receive(5, buffer(vec![0; 6]), Options::TRUNCATE);
    let from = pair.a.bind(buffer(vec![1; 9]), Threshold::Infinite);
    let target = Target { offset: 3, ..pair.target(5) };
    pair.a.nic.put_region(from, 1, 8, Ack::Wanted, &target, 4711).unwrap();
    pair.settle();
    let end = pair.b.events().pop().expect("an END");
    assert_eq!((end.initiator, end.index, end.match_bits, end.hdr_data), (a, crate::pair::INDEX, 5, 4711));
    assert_eq!((end.rlength, end.mlength, end.offset, end.md), (8, 6, 0, md));
    assert_eq!(end.descriptor.memory.len(), 6);
    assert_eq!((end.uid, end.jid, end.failure), (pair.a.nic.uid(), pair.a.nic.jid(), None));
    let ack = pair.a.events().into_iter().find(|event| event.kind == EventKind::Ack).expect("an ACK");
    assert_eq!((ack.initiator, ack.rlength, ack.mlength, ack.hdr_data, ack.md), (b, 8, 6, 0, from));
    assert_eq!(ack.descriptor.memory, Memory::One(pair.a.nic.md_read(from).unwrap().memory.runs()[0]));
}

/// The blocking calls.
pub fn polling<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let other = pair.b.nic.eq_alloc(8, None).unwrap();
    let mut now = Duration::ZERO;
    let mut clock = || {
        now += Duration::from_millis(1);
        now
    };
    let limit = Some(Duration::from_millis(5));
    let queues = [other, pair.b.eq];
    assert_eq!(wait::eq_poll(&mut pair.b.nic, &queues, limit, &mut clock).map(|_| ()), Err(Error::EqEmpty));
    pair.b.receive(5, buffer(vec![0; 8]), Options::default());
    pair.put(5, b"x");
    let (which, taken) = wait::eq_poll(&mut pair.b.nic, &queues, limit, clock).unwrap();
    assert_eq!((which, taken.event.kind), (1, EventKind::PutStart));
    let eq = pair.b.eq;
    let taken = wait::eq_wait(&mut pair.b.nic, eq, || {}).unwrap();
    assert_eq!(taken.event.kind, EventKind::PutEnd);
}

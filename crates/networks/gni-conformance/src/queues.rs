//! Completion queues.

use crate::pair::{Pair, between};
use crate::{Rig, Wanted};
use gni::{Cq, CqFault, CqMode, Error, Gni, MemFlags, PostKind};

/// An empty queue, and a queue that does not exist.
pub fn empty_and_unknown<R: Rig>(rig: &mut R) {
    let pair = Pair::new(rig);
    let mut nic = pair.a.nic;
    assert_eq!(nic.cq_create(0), Err(Error::InvalidParam));
    let cq = nic.cq_create(8).expect("a queue");
    assert_eq!(nic.cq_get_event(cq), Err(CqFault::NotDone));
    assert_eq!(nic.cq_test_event(cq), Err(Error::NotDone));
    nic.cq_destroy(cq).expect("unused");
    assert_eq!(nic.cq_get_event(cq), Err(CqFault::InvalidParam));
    assert_eq!(nic.cq_destroy(cq), Err(Error::InvalidParam));
    assert_eq!(nic.cq_test_event(Cq(0xdead_beef)), Err(Error::InvalidParam));
}

/// A queue serves local entries or arrivals, never both.
pub fn roles_exclude_each_other<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = pair.rig.memory(&mut pair.a.nic, 4096);
    let local = pair.a.local;
    assert_eq!(pair.a.nic.mem_register(memory, Some(local), MemFlags::READWRITE), Err(Error::InvalidParam));
    pair.a.register(memory);
    let arrivals = pair.a.arrivals;
    assert_eq!(pair.a.nic.ep_create(Some(arrivals)), Err(Error::InvalidParam));
}

/// A queue cannot be destroyed while an endpoint or a registration uses it.
pub fn used_queues_stay<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = pair.rig.memory(&mut pair.a.nic, 4096);
    let handle = pair.a.register(memory);
    let side = &mut pair.a;
    assert_eq!(side.nic.cq_destroy(side.arrivals), Err(Error::Resource));
    assert_eq!(side.nic.cq_destroy(side.local), Err(Error::Resource));
    side.nic.mem_deregister(handle).expect("registered");
    side.nic.cq_destroy(side.arrivals).expect("unused now");
    side.nic.ep_destroy(side.ep).expect("idle");
    side.nic.cq_destroy(side.local).expect("unused now");
}

/// A local queue that is too small for the endpoints that share it loses entries, reports that once, and keeps the
/// rest.
pub fn local_overrun<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let cq = pair.a.nic.cq_create(2).expect("a queue");
    let (at_a, at_b) = pair.buffers(4096);
    let (pe, inst) = (pair.b.nic.local_pe(), pair.b.nic.local_inst());
    let put = between(PostKind::FmaPut, cq, at_a, at_b);
    let mut turns = 100;
    // Posts take their time, and an entry that is taken early makes room for the next: then there are more posts.
    loop {
        for _ in 0..2 {
            let ep = pair.a.nic.ep_create(Some(cq)).expect("an endpoint");
            pair.a.nic.ep_bind(ep, pe, inst).expect("binding");
            pair.a.nic.post_fma(ep, &put).expect("a slot");
            pair.a.nic.post_fma(ep, &put).expect("a slot");
        }
        (0..turns).for_each(|_| pair.turn());
        match pair.until("an entry", |pair| {
            Some(pair.a.nic.cq_get_event(cq)).filter(|e| *e != Err(CqFault::NotDone))
        }) {
            Err(CqFault::Overrun) => break,
            early => assert!(early.is_ok_and(|entry| pair.a.nic.get_completed(cq, entry).is_ok())),
        }
        turns *= 2;
    }
    assert!(pair.a.nic.cq_get_event(cq).is_ok_and(|entry| pair.a.nic.get_completed(cq, entry).is_ok()));
}

/// An arrival queue that is full loses entries and reports that.
pub fn arrival_overrun<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &Wanted::default()) else { return };
    let cq = pair.b.nic.cq_create(4).expect("a queue");
    let memory = pair.rig.memory(&mut pair.b.nic, 4096);
    let handle = pair.b.nic.mem_register(memory, Some(cq), MemFlags::READWRITE).expect("a registration");
    for value in 0..9 {
        let mut write = between(
            PostKind::CqWrite { value },
            pair.a.local,
            (mem::UserMem::EMPTY, handle),
            (memory, handle),
        );
        write.events = CqMode::LOCAL;
        pair.complete(&write);
    }
    let mut values = Vec::new();
    let mut overruns = 0;
    pair.until("the end of the queue", |pair| match pair.b.nic.cq_get_event(cq) {
        Ok(entry) => {
            values.push(entry.data());
            None
        }
        Err(CqFault::Overrun) => {
            overruns += 1;
            None
        }
        Err(CqFault::NotDone) => Some(()),
        Err(fault) => panic!("{fault:?}"),
    });
    assert_eq!(overruns, 1);
    assert_eq!(values, [0, 1, 2, 3]);
}

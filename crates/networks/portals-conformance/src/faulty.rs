//! Faults on demand.

use crate::pair::{Pair, buffer};
use crate::{Rig, Wanted};
use portals::{Ack, Error, EventKind, Failure, Options, Portals, Status, Threshold};

/// A target that drops counts that in its register alone.
pub fn dropped<R: Rig>(rig: &mut R) {
    let wanted = Wanted { faults_of_target: "seed=1,drop=0.5", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::MANAGE_REMOTE);
    let landed = (0..100).filter(|_| {
        pair.put(5, b"x");
        pair.landed().is_some()
    });
    let landed = landed.count() as u64;
    assert!(landed > 20 && landed < 80, "{landed} of 100");
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(100 - landed));
}

/// A put that fails ends, saying so, and arrives nowhere.
pub fn failed<R: Rig>(rig: &mut R) {
    let wanted = Wanted { faults_of_initiator: "seed=1,fail=1", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    pair.put(5, b"x");
    let events = pair.a.events();
    assert_eq!(events[1].kind, EventKind::SendEnd);
    assert_eq!(events[1].failure, Some(Failure::Injected));
    assert!(pair.b.events().is_empty());
}

/// ENDs that come late come all the same.
pub fn late_ends<R: Rig>(rig: &mut R) {
    let wanted = Wanted {
        faults_of_target: "seed=1,defer=1",
        faults_of_initiator: "seed=2,defer=1",
        ..Wanted::default()
    };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::MANAGE_REMOTE);
    let target = pair.target(5);
    let md = pair.a.bind(buffer(vec![1; 8]), Threshold::Infinite);
    for _ in 0..20 {
        pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
        pair.a.nic.get(md, &target).unwrap();
    }
    pair.settle();
    assert_eq!(pair.a.kinds().len(), 20 * 5);
    assert_eq!(pair.b.kinds().len(), 20 * 4);
}

/// A queue that loses events reports that with the next one.
pub fn lost_events<R: Rig>(rig: &mut R) {
    let wanted = Wanted { faults_of_target: "seed=1,overrun=0.3", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::MANAGE_REMOTE);
    for _ in 0..50 {
        pair.put(5, b"x");
    }
    let eq = pair.b.eq;
    let taken: Vec<_> = core::iter::from_fn(|| pair.b.nic.eq_get(eq).ok()).collect();
    assert!(taken.len() < 100 && taken.iter().any(|taken| taken.dropped), "{} events", taken.len());
}

/// An operation that is refused was not begun.
pub fn no_space<R: Rig>(rig: &mut R) {
    let wanted = Wanted { faults_of_initiator: "seed=1,no_space=0.5", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::MANAGE_REMOTE);
    let target = pair.target(5);
    let md = pair.a.bind(buffer(vec![1]), Threshold::Count(10));
    let mut refused = 0;
    for _ in 0..10 {
        while let Err(error) = pair.a.nic.put(md, Ack::None, &target, 0) {
            assert_eq!(error, Error::NoSpace);
            refused += 1;
        }
    }
    pair.settle();
    assert!(refused > 0);
    assert_eq!(pair.b.kinds().len(), 20);
}

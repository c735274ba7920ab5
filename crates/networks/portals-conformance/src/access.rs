//! Who may reach what.

use crate::pair::{INDEX, Pair, buffer};
use crate::{Rig, Wanted};
use portals::{
    AccessEntry, Ack, Error, Jid, Nid, Options, Pid, Portals, ProcessId, ProcessMatch, Status, Target,
    Threshold, Uid,
};

/// An entry of the access table admits by process, user, job and index.
pub fn entries_admit<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &Wanted { uid: Uid(7), ..Wanted::default() }) else { return };
    pair.b.receive(5, buffer(vec![0; 64]), Options::default());
    let (id, jid) = (ProcessMatch::from(pair.a.id()), pair.a.nic.jid());
    let any = AccessEntry::ANY;
    let cases = [
        (None, false),
        (Some(any), true),
        (Some(AccessEntry { id, uid: Some(Uid(7)), jid: Some(jid), index: Some(INDEX) }), true),
        (Some(AccessEntry { id: ProcessMatch { pid: Some(Pid(999)), nid: None }, ..any }), false),
        (Some(AccessEntry { uid: Some(Uid(8)), ..any }), false),
        (Some(AccessEntry { jid: Some(Jid(jid.0 + 1)), ..any }), false),
        (Some(AccessEntry { index: Some(INDEX + 1), ..any }), false),
    ];
    for (entry, admitted) in cases {
        if let Some(entry) = entry {
            pair.b.nic.ac_entry(1, entry).unwrap();
        }
        let md = pair.a.bind(buffer(vec![1]), Threshold::Count(1));
        let target = Target { access: 1, ..pair.target(5) };
        pair.a.nic.put(md, Ack::None, &target, 0).unwrap();
        pair.settle();
        assert_eq!(pair.landed().is_some(), admitted, "{entry:?}");
    }
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(5));
    let most = *pair.b.nic.limits();
    assert_eq!(pair.b.nic.ac_entry(most.max_ac_index + 1, any), Err(Error::AcIndexInvalid));
    let beyond = AccessEntry { index: Some(most.max_pt_index + 1), ..any };
    assert_eq!(pair.b.nic.ac_entry(0, beyond), Err(Error::PtIndexInvalid));
}

/// What names an index or access entry that does not exist is dropped.
pub fn unknown_index<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let limits = *pair.b.nic.limits();
    let target = pair.target(5);
    let beyond = [
        Target { index: limits.max_pt_index + 1, ..target },
        Target { index: u32::MAX, ..target },
        Target { access: limits.max_ac_index + 1, ..target },
        Target { access: u32::MAX, ..target },
    ];
    for target in beyond {
        let md = pair.a.bind(buffer(vec![1]), Threshold::Count(2));
        pair.a.nic.put(md, Ack::Wanted, &target, 0).unwrap();
        pair.a.nic.get(md, &target).unwrap();
        pair.settle();
        pair.a.events();
    }
    assert!(pair.b.events().is_empty());
    assert_eq!(pair.b.nic.status(Status::DropCount), Ok(8));
}

/// A process that is not there: refused, or lost without a word.
pub fn unknown_process<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let md = pair.a.bind(buffer(vec![1]), Threshold::Count(2));
    let absent = Target { id: ProcessId { nid: Nid(4444), pid: Pid(4444) }, ..pair.target(5) };
    match pair.a.nic.put(md, Ack::Wanted, &absent, 0) {
        Ok(()) => {
            pair.settle();
            assert_eq!(pair.a.events().len(), 2, "it has left");
        }
        Err(error) => assert_eq!(error, Error::ProcessInvalid),
    }
    assert!(pair.b.events().is_empty());
}

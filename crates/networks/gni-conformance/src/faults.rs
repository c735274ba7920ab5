//! Behaviour under faults, for implementations that can make them on demand.

use crate::pair::{Pair, SmallMailbox, between, bytes_of, paint, pattern};
use crate::{Rig, Wanted};
use gni::{CqFault, Error, Gni, HwStatus, PostKind, SmsgType};
use mem::UserMem;

fn faulty<'r, R: Rig>(rig: &'r mut R, faults: &'static str) -> Option<Pair<'r, R>> {
    Pair::wanted(rig, &Wanted { faults, ..Wanted::default() })
}

/// Sends `count` numbered messages from `a` and asserts that all arrive once, in order, with one good entry each.
fn exactly_once<R: Rig>(pair: &mut Pair<'_, R>, count: u32) {
    pair.connect(&SmallMailbox::default());
    let (mut sent, mut got, mut completed) = (0u32, 0u32, vec![0; count as usize]);
    pair.until("all messages", |pair| {
        while sent < count && pair.send(&pattern(40, sent), sent, 3).is_ok() {
            sent += 1;
        }
        for entry in pair.drain_local() {
            completed[entry.expect("a good entry").msg_id() as usize] += 1;
        }
        while let Some((tag, bytes)) = pair.receive() {
            assert_eq!((tag, bytes), (3, pattern(40, got)));
            got += 1;
        }
        (got == count && completed.iter().all(|&n| n == 1)).then_some(())
    });
    assert_eq!(pair.receive(), None);
}

/// Lost messages are sent again and arrive once.
pub fn lost_messages_arrive_once<R: Rig>(rig: &mut R) {
    if let Some(mut pair) = faulty(rig, "seed=1,drop=0.3") {
        exactly_once(&mut pair, 300);
    }
}

/// Messages whose answers are lost are sent again and still arrive once.
pub fn lost_answers<R: Rig>(rig: &mut R) {
    if let Some(mut pair) = faulty(rig, "seed=2,drop=0.1,lost_ack=0.3") {
        exactly_once(&mut pair, 300);
    }
}

/// Past the retry limit the sender gets an error.
pub fn retries_end<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=3,drop=1") else { return };
    pair.connect(&SmallMailbox::default());
    pair.a.nic.smsg_set_max_retrans(3);
    pair.send(b"lost", 12, 0).expect("a credit");
    let Err(CqFault::Failed(entry)) = pair.local_event() else { panic!("the message cannot have left") };
    assert_eq!(entry.msg_id(), 12);
    assert_eq!(pair.receive(), None);
}

/// A plain mailbox does not send again.
pub fn plain_mailbox_reports<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=4,drop=1") else { return };
    pair.connect(&SmallMailbox { kind: SmsgType::Mbox, ..SmallMailbox::default() });
    pair.send(b"lost", 5, 0).expect("a credit");
    let failed = pair.a.nic.cq_get_event(pair.a.local);
    assert!(matches!(failed, Err(CqFault::Failed(entry)) if entry.msg_id() == 5), "at the first loss");
}

/// A post that failed recoverably can be posted again until it gets through.
pub fn post_fails_and_is_repeated<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=5,drop=0.4,lost_ack=0.2") else { return };
    let (at_a, at_b) = pair.buffers(4096);
    let mut failures = 0;
    for n in 0..20 {
        let expected = paint(at_a.0, n);
        let kind = if n % 2 == 0 { PostKind::FmaPut } else { PostKind::RdmaPut };
        let mut put = between(kind, pair.a.local, at_a, at_b);
        loop {
            put = pair.complete(&put);
            if put.status == HwStatus::Ok {
                break;
            }
            assert!(put.status.is_recoverable());
            failures += 1;
            assert!(failures < 500, "never gets through");
        }
        assert_eq!(bytes_of(at_b.0), expected);
    }
    assert!(failures > 0);
}

/// A fatal failure is not recoverable, and nothing was moved.
pub fn fatal_is_final<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=6,fatal=1") else { return };
    let (at_a, at_b) = pair.buffers(4096);
    paint(at_a.0, 1);
    for kind in [PostKind::FmaPut, PostKind::RdmaPut] {
        pair.refused(&between(kind, pair.a.local, at_a, at_b));
    }
    assert_eq!(bytes_of(at_b.0), [0; 4096]);
}

/// A queue that lost entries reports that; the messages are there all the same.
pub fn overrun_is_marked<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=7,overrun=1") else { return };
    pair.connect(&SmallMailbox::default());
    pair.send(b"silent", 1, 0).expect("a credit");
    pair.until("the mark", |pair| {
        (pair.b.nic.cq_get_event(pair.b.arrivals) == Err(CqFault::Overrun)).then_some(())
    });
    assert_eq!(pair.until("the message", |pair| pair.receive()).1, b"silent");
}

/// An entry may be seen before its message; asking again finds it.
pub fn early_entries<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=8,early_event=1") else { return };
    pair.connect(&SmallMailbox::default());
    pair.send(b"soon", 1, 0).expect("a credit");
    // The sender counts the delay in turns of its own, so it gets none until the entry has been seen.
    let entry = pair.until_at_b("the entry", |b| b.nic.cq_get_event(b.arrivals).ok());
    assert_eq!(entry.inst_id(), pair.a.nic.local_inst().0);
    assert_eq!(pair.receive(), None, "the entry came first");
    assert_eq!(pair.until("the message", |pair| pair.receive()).1, b"soon");
    exactly_once_more(&mut pair);
}

/// More messages over a connection that exists.
fn exactly_once_more<R: Rig>(pair: &mut Pair<'_, R>) {
    for n in 0..50u8 {
        pair.until("a credit", |pair| pair.send(&[n; 5], 1, 0).ok());
        assert_eq!(pair.until("the message", |pair| pair.receive()).1, [n; 5]);
        pair.drain_local();
        while pair.b.nic.cq_get_event(pair.b.arrivals).is_ok() {}
    }
}

/// Datagrams get through a network that loses a third of them, in either role.
pub fn lost_datagrams<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=9,datagram=0.33") else { return };
    for n in 0..20u8 {
        pair.a.nic.ep_post_data(pair.a.ep, &[n; 3]).expect("a post");
        pair.b.nic.ep_post_data(pair.b.ep, &[n; 4]).expect("a post");
        let (mut at_a, mut at_b) = (None, None);
        pair.until("the exchange", |pair| {
            let step = pair.rig.pause(gni::Time::from_millis(5));
            pair.a.nic.progress(step);
            pair.b.nic.progress(step);
            let (ep_a, ep_b) = (pair.a.ep, pair.b.ep);
            at_a = at_a.or(pair.a.nic.ep_post_data_test(ep_a).ok().filter(|d| d.state.is_terminal()));
            at_b = at_b.or(pair.b.nic.ep_post_data_test(ep_b).ok().filter(|d| d.state.is_terminal()));
            at_a.zip(at_b)
        });
        assert_eq!(at_a.map(|d| d.data().to_vec()), Some(vec![n; 4]));
        assert_eq!(at_b.map(|d| d.data().to_vec()), Some(vec![n; 3]));
    }
}

/// Completions of block transfers that are seen late and out of order: each once, the data right.
pub fn late_completions<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=10,delay=0.7,reorder=0.5") else { return };
    let (at_a, at_b) = pair.buffers(16 << 10);
    let expected = paint(at_b.0, 20);
    for n in 0..16 {
        let local = (at_a.0.part(n << 10, 1 << 10), at_a.1);
        let mut get = between(PostKind::RdmaGet, pair.a.local, local, at_b);
        get.remote_addr += (n << 10) as u64;
        get.post_id = n as u64;
        pair.a.post(&get).expect("a slot");
    }
    let mut order = Vec::new();
    for _ in 0..16 {
        let entry = pair.local_event().expect("an entry");
        order.push(pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor").post_id);
    }
    assert!(!order.is_sorted(), "nothing was reordered");
    order.sort_unstable();
    assert_eq!(order, (0..16).collect::<Vec<u64>>());
    assert_eq!(bytes_of(at_a.0), expected);
}

/// Posts in PERFORMANCE delivery may overtake each other.
pub fn overtaking<R: Rig>(rig: &mut R) {
    let Some(mut pair) = faulty(rig, "seed=11,reorder=0.5") else { return };
    let (at_a, at_b) = pair.buffers(64);
    for value in 0..30 {
        let kind = PostKind::CqWrite { value };
        let write = between(kind, pair.a.local, (UserMem::EMPTY, at_a.1), at_b);
        assert_ne!(pair.a.post(&write), Err(Error::Resource));
    }
    let mut order: Vec<u64> = (0..30).map(|_| pair.arrival().data()).collect();
    assert!(!order.is_sorted(), "nothing was reordered");
    order.sort_unstable();
    assert_eq!(order, (0..30).collect::<Vec<u64>>());
}

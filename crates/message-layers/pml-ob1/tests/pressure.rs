//! Under pressure: floods of unexpected messages, full rings, cancellation, lost peers.

mod support;

use btl::Peer;
use btl_mock::Options;
use pml::{Mode, ReqId};
use pml_ob1::Config;
use support::*;

/// A legal program never deadlocks for want of buffers: the receiver wants the last message first.
fn flood(messages: usize, options: Options) {
    const CAP: u64 = 64 << 10;
    let mut world = World::new(options, Config { unexpected_cap: CAP, ..Config::new(2) });
    let mut payload = content(1, 100);
    let mut sends: Vec<ReqId> = Vec::new();
    let [sender, receiver] = &mut world.ranks[..] else { panic!("two ranks") };
    for n in 0..messages {
        sends.extend(sender.isend(&to(1, 0, 1), contiguous(&mut payload), Mode::Standard));
        if n % 16 == 0 {
            receiver.progress();
        }
    }
    let mut last = content(2, 100);
    sends.extend(sender.isend(&to(1, 0, 2), contiguous(&mut last), Mode::Standard));
    let mut sink = vec![0; 100];
    let first = receiver.irecv(&from(0, 2), contiguous(&mut sink));
    let mut quiet = 0;
    while receiver.ob1.take(first).is_none() {
        quiet = if sender.progress() + receiver.progress() == 0 { quiet + 1 } else { 0 };
        assert!(quiet < 50, "stuck");
    }
    assert!(sink == content(2, 100));
    let counters = receiver.ob1.counters();
    assert!(counters.unexpected_bytes_peak <= CAP, "{} bytes kept", counters.unexpected_bytes_peak);
    assert_eq!(counters.unexpected_length, messages as u64);
    assert!(sender.ob1.counters().offers > 0, "congestion was not seen");

    for _ in 0..messages {
        let id = receiver.irecv(&from(-1, 1), contiguous(&mut sink));
        while receiver.ob1.take(id).is_none() {
            sender.progress();
            receiver.progress();
        }
        assert!(sink == content(1, 100));
    }
    world.settle();
    for id in sends {
        assert!(world.ranks[0].ob1.take(id).is_some());
    }
    world.assert_clean();
    let before = world.ranks[0].ob1.counters();
    for _ in 0..10 {
        world.ranks[0].isend(&to(1, 0, 1), contiguous(&mut payload), Mode::Standard);
    }
    world.settle();
    let after = world.ranks[0].ob1.counters();
    assert_eq!(after.offers, before.offers, "eager again once the queue is short");
}

#[test]
fn a_flood_stays_under_the_cap() {
    flood(1_000_000, Options { slots: 64, ..Options::new(2) });
}

#[test]
fn a_flood_stays_under_the_cap_without_a_congestion_word() {
    flood(50_000, Options { slots: 64, congestion_word: false, ..Options::new(2) });
    flood(50_000, Options { slots: 16, congestion_word: false, paths: 3, busy: 30, ..Options::new(2) });
}

#[test]
fn sends_to_a_full_ring_wait_in_order() {
    const MESSAGES: usize = 10_000;
    let mut world = World::plain(Options { slots: 1, busy: 50, ..Options::new(2) });
    let mut values: Vec<Vec<u8>> = (0..MESSAGES).map(|n| n.to_ne_bytes().to_vec()).collect();
    let mut open: Vec<ReqId> = values
        .iter_mut()
        .filter_map(|value| world.ranks[0].isend(&to(1, 0, 7), contiguous(value), Mode::Standard))
        .collect();
    assert!(open.len() > MESSAGES / 2);
    let mut sink = [0; 8];
    for n in 0..MESSAGES {
        loop {
            world.ranks[0].progress();
            if world.ranks[1].recv_now(&from(0, 7), view(&mut sink)).is_some() {
                break;
            }
        }
        assert_eq!(usize::from_ne_bytes(sink), n);
    }
    world.settle();
    open.retain(|&id| world.ranks[0].ob1.take(id).is_none());
    assert!(open.is_empty());
    world.assert_clean();
}

/// What waits for a peer that takes nothing holds up nothing for others, where the transport reports that the want of room is
/// that peer's.
#[test]
fn a_peer_without_room_holds_up_no_other() {
    const MESSAGES: usize = 100;
    let mut world = World::plain(Options { slots: 1, ..Options::new(3) });
    let [sender, slow, other] = &mut world.ranks[..] else { panic!("three ranks") };
    let mut payload = content(1, 100);
    // The first of those that wait is the slow one.
    let mut open: Vec<ReqId> = Vec::new();
    for _ in 0..MESSAGES {
        for peer in [1, 2] {
            open.extend(sender.isend(&to(peer, 0, 7), contiguous(&mut payload), Mode::Standard));
        }
    }
    let mut sink = vec![0; 100];
    for _ in 0..MESSAGES {
        let id = other.irecv(&from(0, 7), contiguous(&mut sink));
        let came = (0..100).any(|_| {
            sender.progress();
            other.progress();
            other.ob1.take(id).is_some()
        });
        assert!(came && sink == payload);
    }
    for _ in 0..MESSAGES {
        let id = slow.irecv(&from(0, 7), contiguous(&mut sink));
        while slow.ob1.take(id).is_none() {
            sender.progress();
            slow.progress();
        }
    }
    world.settle();
    open.retain(|&id| world.ranks[0].ob1.take(id).is_none());
    assert!(open.is_empty());
    world.assert_clean();
}

#[test]
fn a_receive_without_a_message_is_cancelled_at_once() {
    let mut world = World::plain(Options::new(2));
    let mut sink = [0; 8];
    let id = world.ranks[1].irecv(&from(0, 7), contiguous(&mut sink));
    world.ranks[1].cancel(id);
    let done = world.ranks[1].ob1.take(id).unwrap();
    assert!(done.status.cancelled() && done.error == abi::SUCCESS);
    world.assert_clean();
}

#[test]
fn an_offered_send_is_cancelled_until_it_is_matched() {
    for (len, mode) in [(8, Mode::Synchronous), (50_000, Mode::Standard)] {
        for matched in [false, true] {
            let mut world = World::plain(Options { late: 30, paths: 3, ..Options::new(2) });
            let mut source = content(1, len);
            let mut sink = vec![0; len];
            let sent = world.ranks[0].isend(&to(1, 0, 7), contiguous(&mut source), mode).unwrap();
            if matched {
                world.ranks[1].irecv(&from(0, 7), contiguous(&mut sink));
            }
            world.ranks[0].cancel(sent);
            world.ranks[0].cancel(sent);
            world.settle();
            let done = world.ranks[0].ob1.take(sent).expect("complete either way");
            assert_eq!(done.status.cancelled(), !matched);
            assert_eq!(sink == content(1, len), matched);
            world.assert_clean();
        }
    }
}

#[test]
fn a_send_that_was_not_sent_is_cancelled_at_once() {
    let mut world = World::plain(Options { slots: 1, ..Options::new(2) });
    let (mut first, mut second, mut third) = ([1; 8], [2; 8], [3; 8]);
    let send = |world: &mut World, bytes: &mut [u8]| {
        world.ranks[0].isend(&to(1, 0, 7), contiguous(bytes), Mode::Standard)
    };
    assert!(send(&mut world, &mut first).is_none());
    let waiting = send(&mut world, &mut second).unwrap();
    let behind = send(&mut world, &mut third).unwrap();
    world.ranks[0].cancel(waiting);
    assert!(world.ranks[0].ob1.take(waiting).unwrap().status.cancelled());
    world.settle();
    assert!(world.ranks[0].ob1.take(behind).is_some());
    let mut sink = [0; 8];
    for expected in [first, third] {
        assert!(world.ranks[1].recv_now(&from(0, 7), view(&mut sink)).is_some());
        assert_eq!(sink, expected);
    }
    world.assert_clean();
}

#[test]
fn what_depends_on_a_lost_peer_ends_with_an_error() {
    for len in [8, 50_000] {
        let mut world = World::plain(Options { late: 50, ..Options::new(3) });
        let (mut source, mut sink, mut other) = (content(1, len), vec![0; len], vec![0; len]);
        let sent = world.ranks[0].isend(&to(1, 0, 7), contiguous(&mut source), Mode::Synchronous).unwrap();
        let posted = world.ranks[0].irecv(&from(1, 7), contiguous(&mut sink));
        let any = world.ranks[0].irecv(&from(-1, 8), contiguous(&mut other));
        world.net.kill(1);
        world.ranks.remove(1);
        world.settle();
        let rank = &mut world.ranks[0];
        assert_eq!(rank.ob1.next_lost(), Some(Peer(1)));
        assert_eq!(rank.ob1.next_lost(), None);
        for id in [sent, posted] {
            assert_eq!(rank.ob1.take(id).unwrap().error, abi::ERR_PROC_ABORTED);
        }
        let late = rank.isend(&to(1, 0, 7), contiguous(&mut source), Mode::Standard).unwrap();
        assert_eq!(rank.ob1.take(late).unwrap().error, abi::ERR_PROC_ABORTED);
        let late = rank.irecv(&from(1, 7), contiguous(&mut sink));
        assert_eq!(rank.ob1.take(late).unwrap().error, abi::ERR_PROC_ABORTED);
        assert_eq!(rank.ob1.is_complete(any), Some(false));
        world.ranks[1].isend(&to(0, 2, 8), contiguous(&mut source), Mode::Standard);
        world.settle();
        assert!(world.ranks[0].ob1.take(any).is_some());
        assert!(other == source);
        world.assert_clean();
    }
}

#[test]
fn what_a_lost_peer_had_sent_whole_can_be_received() {
    let mut world = World::plain(Options::new(2));
    let (mut short, mut long, mut sink) = (content(1, 8), content(2, 50_000), vec![0; 50_000]);
    world.ranks[0].isend(&to(1, 0, 1), contiguous(&mut short), Mode::Standard);
    world.ranks[0].isend(&to(1, 0, 2), contiguous(&mut long), Mode::Standard).unwrap();
    world.ranks[1].progress();
    world.net.kill(0);
    world.ranks[1].progress();
    let whole = world.ranks[1].irecv(&from(0, 1), contiguous(&mut sink));
    assert_eq!(world.ranks[1].ob1.take(whole).unwrap().status.bytes(), 8);
    let offer = world.ranks[1].irecv(&from(0, 2), contiguous(&mut sink));
    assert_eq!(world.ranks[1].ob1.take(offer).unwrap().error, abi::ERR_PROC_ABORTED);
}

/// A turn that moves fragments counts. An owner sleeps after a turn in which nothing happened, and no room ends the
/// sleep of one that was not refused.
#[test]
fn a_turn_that_moves_fragments_counts() {
    let plain = Options::new(2);
    let limits = btl::Limits { get: false, put: false, max_send: 4096, ..plain.limits };
    let mut world = World::plain(Options { limits, ..plain });
    let mut source = content(5, 400_000);
    let mut sink = vec![0; source.len()];
    let [sender, receiver] = &mut world.ranks[..] else { panic!("two ranks") };
    let received = receiver.irecv(&from(0, 1), contiguous(&mut sink));
    let sent = sender.isend(&to(1, 0, 1), contiguous(&mut source), Mode::Standard).expect("by rendezvous");
    receiver.progress();
    while sender.ob1.poll(sent).is_none() {
        assert!(sender.progress() > 0, "there is room for every fragment");
    }
    world.settle();
    for (rank, id) in [(0, sent), (1, received)] {
        assert!(world.ranks[rank].ob1.take(id).is_some());
    }
    assert!(sink == source);
    world.assert_clean();
}

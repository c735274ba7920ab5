//! Each protocol once, seen from outside: results, contents, what the peer sees when.

mod support;

use btl_mock::Options;
use pml::{Counters, Mode};
use support::*;

const LENGTHS: [usize; 10] = [0, 1, 8, 63, 4096, 4097, 32768, 32771, 100_003, 300_000];

/// Sends one message of each length from rank 0 to rank 1, receive first or send first.
fn exchange(options: Options, typed_send: bool, typed_receive: bool, post_first: bool) -> World {
    let mut world = World::plain(options);
    for (n, &len) in LENGTHS.iter().enumerate() {
        let bytes = content(n, len);
        let mut source = if typed_send { Strided::laid_out(&bytes, 24) } else { bytes.clone() };
        let mut sink = vec![0; if typed_receive { Strided::extent(len, 40) } else { len }];
        let outgoing =
            if typed_send { Strided::data(view(&mut source), 24, len) } else { contiguous(&mut source) };
        let incoming =
            if typed_receive { Strided::data(view(&mut sink), 40, len) } else { contiguous(&mut sink) };
        let (sent, received);
        if post_first {
            received = world.ranks[1].irecv(&from(0, 7), incoming);
            sent = world.ranks[0].isend(&to(1, 0, 7), outgoing, Mode::Standard);
        } else {
            sent = world.ranks[0].isend(&to(1, 0, 7), outgoing, Mode::Standard);
            world.settle();
            received = world.ranks[1].irecv(&from(0, 7), incoming);
        }
        world.settle();
        if let Some(id) = sent {
            assert_eq!(world.ranks[0].ob1.take(id).unwrap().error, abi::SUCCESS);
        }
        let done = world.ranks[1].ob1.take(received).expect("complete");
        assert_eq!((done.error, done.status.bytes()), (abi::SUCCESS, len as u64));
        assert_eq!((done.status.source, done.status.tag), (0, 7));
        let got = if typed_receive { Strided::packed(&sink, 40, len) } else { sink };
        assert!(got == bytes, "length {len}");
    }
    world.assert_clean();
    world
}

fn all_orders(options: Options, typed_send: bool, typed_receive: bool) -> [Counters; 2] {
    let world = exchange(options, typed_send, typed_receive, true);
    exchange(options, typed_send, typed_receive, false);
    [world.ranks[0].ob1.counters(), world.ranks[1].ob1.counters()]
}

#[test]
fn long_messages_are_fetched_by_get() {
    let [sender, receiver] = all_orders(Options::new(2), false, false);
    assert_eq!((sender.eager_sends, sender.offers, sender.copies), (5, 5, 0));
    assert_eq!(receiver.gets, 5);
}

#[test]
fn a_get_of_words_leaves_the_last_bytes_to_the_offer() {
    let mut options = Options::new(2);
    options.limits.get_align = 4;
    options.limits.put = false;
    options.limits.max_get = 1021;
    let [sender, receiver] = all_orders(options, false, false);
    assert_eq!((sender.copies, receiver.gets), (0, 5));
}

#[test]
fn without_get_long_messages_are_put() {
    let mut options = Options::new(2);
    options.limits.get = false;
    options.limits.max_put = 5000;
    let [sender, receiver] = all_orders(options, false, false);
    assert_eq!((sender.puts, sender.copies, receiver.gets), (5, 0, 0));
}

#[test]
fn without_either_long_messages_go_as_fragments() {
    let mut options = Options::new(2);
    options.limits.get = false;
    options.limits.put = false;
    let [sender, _] = all_orders(options, false, false);
    assert_eq!(sender.copies, 5);
}

#[test]
fn typed_data_goes_as_fragments() {
    for (send, receive) in [(true, false), (false, true), (true, true)] {
        let [sender, receiver] = all_orders(Options::new(2), send, receive);
        // What is packed anyway goes in one frame as long as there is nothing to be gained by several.
        let copies = if send { 4 } else { 5 };
        assert_eq!((sender.copies, sender.puts, receiver.gets), (copies, 0, 0));
    }
}

#[test]
fn the_beginning_of_typed_data_goes_with_its_offer() {
    const LEN: usize = 40_000;
    // Receives of less than the beginning, of more, and of all.
    for room in [0, 100, 4096, 20_000, LEN] {
        let mut world = World::plain(Options::new(2));
        let bytes = content(5, LEN);
        let mut source = Strided::laid_out(&bytes, 24);
        let mut sink = vec![0xAA; room + 8];
        let sent =
            world.ranks[0].isend(&to(1, 0, 7), Strided::data(view(&mut source), 24, LEN), Mode::Standard);
        let sent = sent.expect("a rendezvous");
        world.settle();
        let kept = world.ranks[1].ob1.counters().unexpected_bytes;
        assert!((4096..LEN as u64).contains(&kept), "{kept} bytes came with the offer");
        let received = world.ranks[1].irecv(&from(0, 7), contiguous(&mut sink[..room]));
        world.settle();
        assert!(world.ranks[0].ob1.take(sent).is_some());
        let done = world.ranks[1].ob1.take(received).unwrap();
        let error = if room < LEN { abi::ERR_TRUNCATE } else { abi::SUCCESS };
        assert_eq!((done.error, done.status.bytes()), (error, room as u64));
        assert!(sink[..room] == bytes[..room]);
        assert_eq!(sink[room..], [0xAA; 8]);
        world.assert_clean();
    }
}

#[test]
fn failed_gets_and_puts_start_again_as_fragments() {
    for get in [true, false] {
        let mut options = Options { failing: 50, late: 30, ..Options::new(2) };
        options.limits.get = get;
        options.limits.max_get = 1000;
        options.limits.max_put = 1000;
        let [sender, receiver] = all_orders(options, false, false);
        assert!(sender.fallbacks + receiver.fallbacks > 0);
    }
}

#[test]
fn refused_gets_and_puts_become_fragments() {
    let options = Options { unfit: 100, ..Options::new(2) };
    let [sender, _] = all_orders(options, false, false);
    assert_eq!(sender.copies, 5);
}

#[test]
fn small_busy_rings_only_delay() {
    let options = Options { slots: 1, busy: 60, late: 40, paths: 3, ..Options::new(2) };
    all_orders(options, false, false);
    all_orders(options, true, true);
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    for len in [0, 8, 10_000] {
        let mut world = World::plain(Options::new(2));
        let mut source = content(1, len);
        let mut sink = vec![0; len];
        let id = world.ranks[0].isend(&to(1, 0, 7), contiguous(&mut source), Mode::Synchronous).unwrap();
        world.settle();
        assert_eq!(world.ranks[0].ob1.is_complete(id), Some(false));
        assert!(!world.ranks[0].ob1.idle());
        world.ranks[1].irecv(&from(0, 7), contiguous(&mut sink));
        world.settle();
        assert!(world.ranks[0].ob1.take(id).is_some());
        assert!(sink == content(1, len));
        world.assert_clean();
    }
}

#[test]
fn too_long_a_message_is_cut_and_said_to_be() {
    for options in [Options::new(2), Options { unfit: 100, ..Options::new(2) }] {
        for (len, room) in [(100, 10), (100, 0), (50_000, 10), (50_000, 0), (50_000, 4_999), (70_000, 69_999)]
        {
            let mut options = options;
            options.limits.get_align = 4;
            let mut world = World::plain(options);
            let mut source = content(3, len);
            let mut sink = vec![0xAA; room + 8];
            let received = world.ranks[1].irecv(&from(-1, -2), contiguous(&mut sink[..room]));
            let sent = world.ranks[0].isend(&to(1, 0, 7), contiguous(&mut source), Mode::Standard);
            world.settle();
            if let Some(id) = sent {
                assert_eq!(world.ranks[0].ob1.take(id).unwrap().error, abi::SUCCESS);
            }
            let done = world.ranks[1].ob1.take(received).unwrap();
            assert_eq!((done.error, done.status.bytes()), (abi::ERR_TRUNCATE, room as u64));
            assert!(sink[..room] == content(3, len)[..room]);
            assert_eq!(sink[room..], [0xAA; 8]);
            world.assert_clean();
        }
    }
}

#[test]
fn the_straight_path_sends_and_receives() {
    let mut world = World::plain(Options::new(2));
    let mut bytes = *b"eight by";
    let mut sink = [0; 8];
    assert!(world.ranks[1].recv_now(&from(0, 7), view(&mut sink)).is_none());
    let Rank { ob1, port, .. } = &mut world.ranks[0];
    assert!(!ob1.send_now(port, &to(1, 0, 7), view(&mut bytes)), "the peer is not known yet");
    assert!(ob1.isend(port, &to(1, 0, 7), contiguous(&mut bytes), Mode::Standard).unwrap().is_none());
    assert!(ob1.send_now(port, &to(1, 0, 7), view(&mut bytes)));
    assert!(ob1.send_now(port, &to(1, 0, 7), view(&mut bytes)));
    for pattern in [from(-1, -2), from(0, 7), from(0, 7)] {
        sink = [0; 8];
        let done = world.ranks[1].recv_now(&pattern, view(&mut sink)).expect("arrived");
        assert_eq!((done.status.source, done.status.tag, done.status.bytes()), (0, 7, 8));
        assert_eq!(&sink, b"eight by");
    }
    assert_eq!(world.ranks[1].ob1.counters().unexpected_arrivals, 1, "exact receives take what arrives");
    world.assert_clean();
}

#[test]
fn a_message_to_oneself_arrives() {
    let mut world = World::plain(Options::new(1));
    for len in [8, 50_000] {
        let mut source = content(2, len);
        let mut sink = vec![0; len];
        let sent = world.ranks[0].isend(&to(0, 0, 1), contiguous(&mut source), Mode::Standard);
        let received = world.ranks[0].irecv(&from(0, 1), contiguous(&mut sink));
        world.settle();
        assert!(sent.is_none_or(|id| world.ranks[0].ob1.take(id).is_some()));
        assert!(world.ranks[0].ob1.take(received).is_some());
        assert!(sink == content(2, len));
    }
    world.assert_clean();
}

#[test]
fn a_request_given_up_still_does_its_work() {
    let mut world = World::plain(Options::new(2));
    let mut source = content(4, 60_000);
    let mut sink = vec![0; 60_000];
    let sent = world.ranks[0].isend(&to(1, 0, 7), contiguous(&mut source), Mode::Standard).unwrap();
    world.ranks[0].ob1.detach(sent);
    let received = world.ranks[1].irecv(&from(0, 7), contiguous(&mut sink));
    world.ranks[1].ob1.detach(received);
    world.settle();
    assert_eq!(world.ranks[0].ob1.is_complete(sent), None);
    assert_eq!(world.ranks[1].ob1.is_complete(received), None);
    assert!(sink == content(4, 60_000));
    world.assert_clean();
}

#[test]
fn a_probe_shows_what_a_receive_would_get() {
    let mut world = World::plain(Options::new(3));
    let mut long = content(1, 20_000);
    let mut short = content(2, 5);
    world.ranks[0].isend(&to(2, 0, 3), contiguous(&mut long), Mode::Standard).unwrap();
    world.settle();
    world.ranks[1].isend(&to(2, 1, 4), contiguous(&mut short), Mode::Standard);
    world.settle();
    let receiver = &mut world.ranks[2];
    let first = receiver.iprobe(&from(-1, -2)).unwrap();
    assert_eq!((first.source, first.tag, first.bytes()), (0, 3, 20_000));
    let (message, status) = receiver.improbe(&from(-1, -2)).unwrap().unwrap();
    assert_eq!(status, first);
    let next = receiver.iprobe(&from(-1, -2)).unwrap();
    assert_eq!((next.source, next.tag, next.bytes()), (1, 4, 5));
    let mut sinks = [vec![0; 20_000], vec![0; 5]];
    let [first, second] = &mut sinks;
    let matched = receiver.ob1.imrecv(&mut receiver.port, message, 9, contiguous(first)).unwrap();
    let again = receiver.ob1.imrecv(&mut receiver.port, message, 9, contiguous(first));
    assert_eq!(again.unwrap_err().class, abi::ERR_REQUEST);
    let done = receiver.recv_now(&from(1, -2), view(second)).unwrap();
    assert_eq!(done.status.bytes(), 5);
    world.settle();
    let done = world.ranks[2].ob1.take(matched).unwrap();
    assert_eq!((done.owner, done.status.bytes()), (9, 20_000));
    assert!(sinks[0] == content(1, 20_000) && sinks[1] == content(2, 5));
}

//! Datagram exchanges.

use crate::Rig;
use crate::pair::Pair;
use gni::{Datagram, Ep, Error, Gni, InstId, PeAddr, PostState, Time};

/// Waits until the exchange of `ep` on one side is terminal.
fn finished<R: Rig>(pair: &mut Pair<'_, R>, at_a: bool, ep: Ep, id: Option<u64>) -> Datagram {
    pair.until("a datagram", |pair| {
        let nic = if at_a { &mut pair.a.nic } else { &mut pair.b.nic };
        let found = match id {
            Some(id) => nic.ep_post_data_test_by_id(ep, id),
            None => nic.ep_post_data_test(ep),
        };
        found.ok().filter(|datagram| datagram.state.is_terminal())
    })
}

/// Two directed datagrams that cross complete each other.
pub fn crossing<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.a.nic.ep_post_data(pair.a.ep, b"from a").expect("a post");
    pair.b.nic.ep_post_data(pair.b.ep, &[7; 128]).expect("a post");
    let (ep_a, ep_b) = (pair.a.ep, pair.b.ep);
    let at_a = finished(&mut pair, true, ep_a, None);
    let at_b = finished(&mut pair, false, ep_b, None);
    assert_eq!((at_a.state, at_a.data()), (PostState::Completed, &[7; 128][..]));
    assert_eq!((at_b.state, at_b.data()), (PostState::Completed, &b"from a"[..]));
    assert_eq!((at_b.pe, at_b.inst), (pair.a.nic.local_pe(), pair.a.nic.local_inst()));
    assert_eq!(pair.a.nic.ep_post_data_test(ep_a), Err(Error::NoMatch), "collected");
    pair.a.nic.ep_post_data(ep_a, b"again").expect("the endpoint is free again");
}

/// A datagram for which nothing is posted yet is kept.
pub fn held<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.a.nic.ep_post_data(pair.a.ep, b"early").expect("a post");
    for _ in 0..100 {
        pair.turn();
    }
    let (ep_a, ep_b) = (pair.a.ep, pair.b.ep);
    assert_eq!(pair.a.nic.ep_post_data_test(ep_a).expect("posted").state, PostState::Pending);
    pair.b.nic.ep_post_data(ep_b, b"late").expect("a post");
    assert_eq!(finished(&mut pair, false, ep_b, None).data(), b"early");
    assert_eq!(finished(&mut pair, true, ep_a, None).data(), b"late");
}

/// A wildcard matches any caller, before or after it is posted, and names it.
pub fn wildcard<R: Rig>(rig: &mut R) {
    for wildcard_first in [true, false] {
        let mut pair = Pair::new(rig);
        let any = pair.b.nic.ep_create(None).expect("an endpoint");
        if wildcard_first {
            pair.b.nic.ep_post_data_w_id(any, b"welcome", 5).expect("a post");
        }
        let id = 1 << 63 | 3;
        pair.a.nic.ep_post_data_w_id(pair.a.ep, b"hello", id).expect("a post");
        for _ in 0..50 {
            pair.turn();
        }
        if !wildcard_first {
            pair.b.nic.ep_post_data_w_id(any, b"welcome", 5).expect("a post");
        }
        let at_b = finished(&mut pair, false, any, Some(5));
        assert_eq!((at_b.state, at_b.data()), (PostState::Completed, &b"hello"[..]));
        assert_eq!((at_b.pe, at_b.inst), (pair.a.nic.local_pe(), pair.a.nic.local_inst()));
        let ep = pair.a.ep;
        assert_eq!(finished(&mut pair, true, ep, Some(id)).data(), b"welcome");
    }
}

/// A wildcard is used up by one match; a directed post goes before it.
pub fn wildcard_once<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let any = pair.b.nic.ep_create(None).expect("an endpoint");
    pair.b.nic.ep_post_data_w_id(any, b"wild", 0).expect("a post");
    pair.b.nic.ep_post_data(pair.b.ep, b"directed").expect("a post");
    let ep = pair.a.ep;
    pair.a.nic.ep_post_data(ep, b"1").expect("a post");
    assert_eq!(finished(&mut pair, true, ep, None).data(), b"directed");
    let ep_b = pair.b.ep;
    finished(&mut pair, false, ep_b, None);
    pair.a.nic.ep_post_data(ep, b"2").expect("a post");
    assert_eq!(finished(&mut pair, true, ep, None).data(), b"wild");
    assert_eq!(finished(&mut pair, false, any, Some(0)).data(), b"2");
    pair.a.nic.ep_post_data(ep, b"3").expect("a post");
    for _ in 0..100 {
        pair.turn();
    }
    assert_eq!(pair.a.nic.ep_post_data_test(ep).expect("posted").state, PostState::Pending);
    pair.b.nic.ep_post_data_w_id(any, b"wild again", 0).expect("a post");
    assert_eq!(finished(&mut pair, true, ep, None).data(), b"wild again");
}

/// What cannot be posted.
pub fn refusals<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (nic, ep) = (&mut pair.a.nic, pair.a.ep);
    let unbound = nic.ep_create(None).expect("an endpoint");
    assert_eq!(nic.ep_post_data(ep, &[0; 129]), Err(Error::Size));
    assert_eq!(nic.ep_post_data(unbound, b"x"), Err(Error::InvalidState));
    assert_eq!(nic.ep_post_data_w_id(ep, b"x", u64::MAX), Err(Error::InvalidParam));
    nic.ep_post_data(ep, b"x").expect("a post");
    assert_eq!(nic.ep_post_data(ep, b"y"), Err(Error::Resource), "one at a time");
    assert_eq!(nic.ep_post_data_test(unbound), Err(Error::NoMatch));
    assert_eq!(nic.ep_post_data_test_by_id(ep, 1), Err(Error::NoMatch));
    assert_eq!(nic.ep_post_data_cancel_by_id(ep, 1), Err(Error::NoMatch));
    assert_eq!(nic.ep_destroy(unbound), Ok(()));
}

/// A cancelled datagram is terminal; a cancelled wildcard is gone. The peer does not see either.
pub fn cancelled<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (ep_a, ep_b) = (pair.a.ep, pair.b.ep);
    pair.a.nic.ep_post_data(ep_a, b"never").expect("a post");
    for _ in 0..50 {
        pair.turn();
    }
    pair.a.nic.ep_post_data_cancel(ep_a).expect("posted");
    assert_eq!(finished(&mut pair, true, ep_a, None).state, PostState::Terminated);
    for _ in 0..50 {
        pair.turn();
    }
    pair.b.nic.ep_post_data(ep_b, b"hello?").expect("a post");
    for _ in 0..50 {
        pair.turn();
    }
    assert_eq!(pair.b.nic.ep_post_data_test(ep_b).expect("posted").state, PostState::Pending);
    let any = pair.a.nic.ep_create(None).expect("an endpoint");
    pair.b.nic.ep_post_data_cancel(ep_b).expect("posted");
    for _ in 0..50 {
        pair.turn();
    }
    pair.a.nic.ep_post_data_w_id(any, b"wild", 9).expect("a post");
    pair.a.nic.ep_post_data_cancel_by_id(any, 9).expect("posted");
    assert_eq!(pair.a.nic.ep_post_data_test_by_id(any, 9), Err(Error::NoMatch));
}

/// Probing finds what is terminal, by the peer or by the id.
pub fn probes<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    assert_eq!(pair.a.nic.post_data_probe(), Err(Error::NoMatch));
    assert_eq!(pair.a.nic.post_data_probe_by_id(), Err(Error::NoMatch));
    pair.a.nic.ep_post_data_w_id(pair.a.ep, b"a", 42).expect("a post");
    pair.b.nic.ep_post_data(pair.b.ep, b"b").expect("a post");
    assert_eq!(pair.until("an id", |pair| pair.a.nic.post_data_probe_by_id().ok()), 42);
    let who = pair.until("a peer", |pair| pair.b.nic.post_data_probe().ok());
    assert_eq!(who, (pair.a.nic.local_pe(), pair.a.nic.local_inst()));
    assert_eq!(pair.a.nic.post_data_probe(), Err(Error::NoMatch), "this one has an id");
    pair.a.nic.ep_post_data_test_by_id(pair.a.ep, 42).expect("terminal");
    assert_eq!(pair.a.nic.post_data_probe_by_id(), Err(Error::NoMatch), "collected");
}

/// A peer that does not exist: the exchange ends by itself.
pub fn absent_peer<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let ep = pair.a.nic.ep_create(None).expect("an endpoint");
    pair.a.nic.ep_bind(ep, PeAddr(0x3_fffe), InstId(0x7fff_ff01)).expect("no process is asked");
    pair.a.nic.ep_post_data(ep, b"anyone?").expect("a post");
    let gone = pair.until("the end", |pair| {
        let now = pair.rig.pause(Time::from_millis(500));
        pair.a.nic.progress(now);
        pair.a.nic.ep_post_data_test(ep).ok().filter(|datagram| datagram.state.is_terminal())
    });
    assert_eq!(gone.state, PostState::Timeout);
}

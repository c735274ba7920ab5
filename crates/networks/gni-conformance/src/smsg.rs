//! Short messages.

use crate::Rig;
use crate::pair::{Pair, SmallMailbox, pattern, receive, send};
use gni::{ANY_TAG, CqFault, Error, EventType, Gni, SmsgAttr, SmsgType};

/// A mailbox's size grows with its credits and its largest message; attributes that make no sense are refused.
pub fn sizes<R: Rig>(rig: &mut R) {
    let pair = Pair::new(rig);
    let nic = &pair.a.nic;
    let attr =
        SmsgAttr { kind: SmsgType::MboxAutoRetransmit, credits: 8, max_size: 1024, ..SmsgAttr::default() };
    let size = nic.smsg_buffer_size_needed(&attr).expect("a size");
    assert!(size >= 8 * 1024);
    assert!(nic.smsg_buffer_size_needed(&SmsgAttr { credits: 9, ..attr }).expect("a size") > size);
    assert!(nic.smsg_buffer_size_needed(&SmsgAttr { max_size: 2048, ..attr }).expect("a size") > size);
    for bad in [
        SmsgAttr { kind: SmsgType::Invalid, ..attr },
        SmsgAttr { credits: 0, ..attr },
        SmsgAttr { max_size: 0, ..attr },
        SmsgAttr { max_size: 65_536, ..attr },
    ] {
        assert_eq!(nic.smsg_buffer_size_needed(&bad), Err(Error::InvalidParam), "{bad:?}");
    }
}

/// What an endpoint must be before it can connect and send.
pub fn states<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.mailboxes(&SmallMailbox::default());
    let unbound = pair.a.nic.ep_create(None).expect("an endpoint");
    let nic = &mut pair.a.nic;
    assert_eq!(nic.smsg_init(unbound, &at_a, &at_b), Err(Error::InvalidState));
    assert_eq!(nic.smsg_get_next_wtag(pair.a.ep, ANY_TAG).err(), Some(Error::InvalidState));
    assert_eq!(nic.smsg_release(pair.a.ep), Err(Error::InvalidState));
    assert_eq!(send(&mut pair.a, b"x", 0, 0), Err(Error::InvalidState));
    pair.a.nic.smsg_init(pair.a.ep, &at_a, &at_b).expect("connecting");
    assert_eq!(pair.a.nic.smsg_init(pair.a.ep, &at_a, &at_b), Err(Error::InvalidState));
    assert_eq!(pair.a.nic.ep_bind(pair.a.ep, gni::PeAddr(0), gni::InstId(0)), Err(Error::InvalidState));
}

/// Both sides must describe mailboxes of the same kind, in memory that is registered and large enough.
pub fn attributes_must_agree<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.mailboxes(&SmallMailbox::default());
    let mut stale = at_a;
    stale.handle.0[0] ^= 1 << 40;
    for (local, remote) in [
        (at_a, SmsgAttr { credits: at_b.credits + 1, ..at_b }),
        (at_a, SmsgAttr { max_size: at_b.max_size + 1, ..at_b }),
        (at_a, SmsgAttr { kind: SmsgType::Mbox, ..at_b }),
        (SmsgAttr { size: at_a.size - 1, ..at_a }, at_b),
        (SmsgAttr { buffer: at_a.buffer + (1 << 20), ..at_a }, at_b),
        (stale, at_b),
    ] {
        assert_eq!(pair.a.nic.smsg_init(pair.a.ep, &local, &remote), Err(Error::InvalidParam));
    }
    pair.a.nic.smsg_init(pair.a.ep, &at_a, &at_b).expect("connecting");
}

/// Messages arrive whole, once, in order, with their tags; one entry each way at least.
pub fn messages_in_order<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    for (n, len) in [0usize, 1, 2, 100, 256].into_iter().enumerate() {
        let bytes = pattern(len, n as u32);
        pair.until("a credit", |pair| pair.send(&bytes, n as u32, n as u8).ok());
        let entry = pair.local_event().expect("a local entry");
        assert_eq!((entry.kind(), entry.msg_id()), (EventType::Smsg, n as u32));
        assert_eq!(entry.inst_id(), pair.b.nic.local_inst().0);
        assert_eq!(pair.arrival().inst_id(), pair.a.nic.local_inst().0);
        assert_eq!(pair.until("the message", |pair| pair.receive()), (n as u8, bytes));
        while pair.b.nic.cq_get_event(pair.b.arrivals).is_ok() {}
    }
    assert_eq!(pair.receive(), None);
}

/// The next message can be asked for by tag; it does not go away by asking.
pub fn tags<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    pair.send(b"seven", 1, 7).expect("a credit");
    pair.arrival();
    let side = &mut pair.b;
    assert_eq!(side.nic.smsg_get_next_wtag(side.ep, 8).err(), Some(Error::NoMatch));
    for tag in [7, ANY_TAG, 7] {
        let message = side.nic.smsg_get_next_wtag(side.ep, tag).expect("the message");
        assert_eq!((message.tag, message.bytes.to_vec().as_slice()), (7, &b"seven"[..]));
    }
    side.nic.smsg_release(side.ep).expect("a current message");
    assert_eq!(side.nic.smsg_get_next_wtag(side.ep, ANY_TAG).err(), Some(Error::NotDone));
}

/// A message is released once, after it was looked at.
pub fn releases<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    assert_eq!(pair.b.nic.smsg_release(pair.b.ep), Err(Error::NotDone));
    pair.send(b"once", 1, 0).expect("a credit");
    pair.arrival();
    assert_eq!(pair.b.nic.smsg_release(pair.b.ep), Err(Error::NotDone), "not looked at yet");
    assert!(pair.receive().is_some());
    assert_eq!(pair.b.nic.smsg_release(pair.b.ep), Err(Error::NotDone));
}

/// Without a credit nothing is sent; each release brings exactly one back.
pub fn credits<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    for n in 0..4 {
        pair.send(&[n; 9], n.into(), 0).expect("a credit");
    }
    assert_eq!(pair.send(b"no", 9, 0), Err(Error::NotDone));
    for n in 0..4 {
        assert_eq!(pair.until("a message", |pair| pair.receive()).1, [n; 9]);
        pair.drain_local();
        pair.until("the credit", |pair| pair.send(&[n + 4; 9], 9, 0).ok());
        for _ in 0..20 {
            pair.turn();
        }
        assert_eq!(pair.send(b"no", 9, 0), Err(Error::NotDone), "one release, one credit");
    }
}

/// Returning credits makes an entry in the sender's own arrival queue, with no message behind it.
pub fn credit_entries<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox { credits: 2, ..SmallMailbox::default() });
    pair.send(b"one", 1, 0).expect("a credit");
    pair.send(b"two", 2, 0).expect("a credit");
    for _ in 0..2 {
        pair.until("a message", |pair| pair.receive());
    }
    pair.until("the entry", |pair| pair.a.nic.cq_get_event(pair.a.arrivals).ok());
    assert_eq!(pair.a.nic.smsg_get_next_wtag(pair.a.ep, ANY_TAG).err(), Some(Error::NotDone));
}

/// Traffic both ways carries the credits of the other direction.
pub fn both_directions<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    for n in 0..200u32 {
        let bytes = pattern(20, n);
        pair.until("a credit", |pair| pair.send(&bytes, n, 0).ok());
        assert_eq!(pair.until("ping", |pair| pair.receive()).1, bytes);
        pair.until("a credit", |pair| send(&mut pair.b, &bytes, n, 0).ok());
        assert_eq!(pair.until("pong", |pair| receive(&mut pair.a)).1, bytes);
        for side in [&mut pair.a, &mut pair.b] {
            for cq in [side.arrivals, side.local] {
                while side.nic.cq_get_event(cq).is_ok() {}
            }
        }
    }
}

/// Thousands of messages through a mailbox of three slots.
pub fn many_rounds<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox { credits: 3, ..SmallMailbox::default() });
    let (mut sent, mut got) = (0u32, 0u32);
    pair.until("2,000 messages", |pair| {
        while sent < 2_000 && pair.send(&sent.to_ne_bytes(), sent, 1).is_ok() {
            sent += 1;
        }
        pair.drain_local();
        while let Some((_, bytes)) = pair.receive() {
            assert_eq!(bytes, got.to_ne_bytes());
            got += 1;
        }
        (got == 2_000).then_some(())
    });
}

/// Local entries that are not taken hold request slots; without one nothing is sent.
pub fn request_slots_stall<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.mailboxes(&SmallMailbox { credits: 16, ..SmallMailbox::default() });
    let (pe, inst) = (pair.b.nic.local_pe(), pair.b.nic.local_inst());
    let cq = pair.a.nic.cq_create(2).expect("a queue");
    pair.a.ep = pair.a.nic.ep_create(Some(cq)).expect("an endpoint");
    pair.a.nic.ep_bind(pair.a.ep, pe, inst).expect("binding");
    pair.a.nic.smsg_init(pair.a.ep, &at_a, &at_b).expect("connecting");
    let mut sent = 0;
    while sent < 16 && pair.send(b"slot", sent, 0).is_ok() {
        sent += 1;
    }
    assert!((2..16).contains(&sent), "{sent} slots");
    assert_eq!(pair.send(b"slot", sent, 0), Err(Error::NotDone));
    let entry = pair.until("an entry", |pair| pair.a.nic.cq_get_event(cq).ok());
    assert_eq!(entry.msg_id(), 0);
    pair.send(b"slot", sent, 0).expect("a slot came back");
}

/// An endpoint with entries not taken cannot be unbound; afterwards it can be used anew.
pub fn unbind_waits<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.mailboxes(&SmallMailbox::default());
    pair.a.nic.smsg_init(pair.a.ep, &at_a, &at_b).expect("connecting");
    pair.send(b"last", 1, 0).expect("a credit");
    assert_eq!(pair.a.nic.ep_unbind(pair.a.ep), Err(Error::NotDone));
    assert_eq!(pair.a.nic.ep_destroy(pair.a.ep), Err(Error::NotDone));
    assert_eq!(pair.a.nic.mem_deregister(at_a.handle), Err(Error::NotDone), "the mailbox is in use");
    pair.local_event().expect("an entry");
    pair.a.nic.ep_unbind(pair.a.ep).expect("idle");
    assert_eq!(pair.a.nic.ep_unbind(pair.a.ep), Err(Error::InvalidState));
    assert_eq!(pair.send(b"x", 0, 0), Err(Error::InvalidState));
    pair.a.nic.mem_deregister(at_a.handle).expect("unused");
    pair.a.nic.ep_destroy(pair.a.ep).expect("unbound");
    assert_eq!(pair.a.nic.ep_unbind(pair.a.ep), Err(Error::InvalidParam));
}

/// A message larger than the mailbox's is refused, and nothing of it sent.
pub fn oversize<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    pair.connect(&SmallMailbox::default());
    assert_eq!(pair.send(&[0; 257], 1, 0), Err(Error::Resource));
    for _ in 0..20 {
        pair.turn();
    }
    assert_eq!(pair.receive(), None);
    assert_eq!(pair.a.nic.cq_get_event(pair.a.local), Err(CqFault::NotDone));
}

//! The shared message queue.

use crate::pair::{Pair, Payload, pattern};
use crate::{Rig, Wanted};
use gni::{Cq, Error, EventType, Gni, MsgqAttr};

const ATTR: MsgqAttr = MsgqAttr { max_message: 64, credits: 4, pool: 64, instances: 4 };

/// Joins both sides and connects their nodes; `None` where the implementation has no queue.
fn joined<R: Rig>(rig: &mut R) -> Option<(Pair<'_, R>, Cq)> {
    let mut pair = Pair::wanted(rig, &Wanted::default())?;
    let cq = pair.a.nic.cq_create(64).expect("a queue");
    let cq_b = pair.b.nic.cq_create(64).expect("a queue");
    match pair.a.nic.msgq_init(&ATTR, cq) {
        Err(Error::IllegalOp) => return None,
        joined => joined.expect("joining"),
    }
    let (pe_a, pe_b) = (pair.a.nic.local_pe(), pair.b.nic.local_pe());
    if pe_a != pe_b {
        assert_eq!(pair.a.nic.msgq_connect(pe_b), Err(Error::NotDone), "the other node has no queue yet");
    }
    pair.b.nic.msgq_init(&ATTR, cq_b).expect("joining");
    pair.until("a connection", |pair| pair.a.nic.msgq_connect(pe_b).ok());
    pair.until("a connection", |pair| pair.b.nic.msgq_connect(pe_a).ok());
    Some((pair, cq))
}

/// Attributes that make no sense, and calls before joining.
pub fn states<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let cq = pair.a.nic.cq_create(8).expect("a queue");
    let (nic, ep) = (&mut pair.a.nic, pair.a.ep);
    for bad in [
        MsgqAttr { max_message: 0, ..ATTR },
        MsgqAttr { max_message: 129, ..ATTR },
        MsgqAttr { credits: 3, ..ATTR },
        MsgqAttr { credits: 0, ..ATTR },
        MsgqAttr { instances: 49, ..ATTR },
    ] {
        assert_eq!(nic.msgq_size(&bad), Err(Error::InvalidParam), "{bad:?}");
    }
    assert!(nic.msgq_size(&ATTR).expect("a size") >= u64::from(ATTR.pool * ATTR.max_message));
    assert_eq!(nic.msgq_next().err(), Some(Error::InvalidState));
    assert_eq!(nic.msgq_send(ep, b"", &mut Payload(b""), 0, 0), Err(Error::InvalidState));
    assert_eq!(nic.msgq_connect(gni::PeAddr(0)), Err(Error::InvalidState));
    if nic.msgq_init(&ATTR, cq) != Err(Error::IllegalOp) {
        assert_eq!(nic.msgq_init(&ATTR, cq), Err(Error::InvalidState));
    }
}

/// Messages arrive once, whole, with tag and sender; the sender gets an entry.
pub fn messages<R: Rig>(rig: &mut R) {
    let Some((mut pair, cq)) = joined(rig) else { return };
    for n in 0..50u32 {
        let bytes = pattern(n as usize, n);
        let (header, data) = bytes.split_at(bytes.len() / 3);
        pair.until("a credit", |pair| {
            pair.a.nic.msgq_send(pair.a.ep, header, &mut Payload(data), n, n as u8).ok()
        });
        let message = pair.until("the message", |pair| pair.b.nic.msgq_next().ok());
        assert_eq!((message.tag, message.data()), (n as u8, bytes.as_slice()));
        assert_eq!((message.pe, message.inst), (pair.a.nic.local_pe(), pair.a.nic.local_inst()));
        let entry = pair.until("the entry", |pair| pair.a.nic.cq_get_event(cq).ok());
        assert_eq!((entry.kind(), entry.msg_id()), (EventType::Msgq, n));
    }
    assert_eq!(pair.a.nic.msgq_next().err(), Some(Error::NotDone), "nothing for the sender");
}

/// A node has only so many messages under way to another.
pub fn credits<R: Rig>(rig: &mut R) {
    let Some((mut pair, _)) = joined(rig) else { return };
    let mut sent = 0;
    while sent < 100 && pair.a.nic.msgq_send(pair.a.ep, b"h", &mut Payload(b"data"), sent, 0).is_ok() {
        sent += 1;
    }
    assert_eq!(sent, ATTR.credits);
    assert_eq!(pair.a.nic.msgq_send(pair.a.ep, b"h", &mut Payload(b"data"), 0, 0), Err(Error::NotDone));
    pair.until("a message", |pair| pair.b.nic.msgq_next().ok());
    pair.until("the credit", |pair| pair.a.nic.msgq_send(pair.a.ep, b"h", &mut Payload(b"data"), 0, 0).ok());
}

/// A message larger than the queue's is refused; so is one to a node that is not connected.
pub fn sizes<R: Rig>(rig: &mut R) {
    let Some((mut pair, _)) = joined(rig) else { return };
    let (nic, ep) = (&mut pair.a.nic, pair.a.ep);
    assert_eq!(nic.msgq_send(ep, &[0; 32], &mut Payload(&[0; 33]), 0, 0), Err(Error::Size));
    nic.msgq_send(ep, &[0; 32], &mut Payload(&[0; 32]), 0, 0).expect("exactly the largest");
    let far = nic.ep_create(None).expect("an endpoint");
    assert_eq!(nic.msgq_send(far, b"", &mut Payload(b""), 0, 0), Err(Error::InvalidState), "unbound");
    nic.ep_bind(far, gni::PeAddr(0x3_fffe), gni::InstId(1)).expect("no process is asked");
    assert_eq!(nic.msgq_send(far, b"", &mut Payload(b""), 0, 0), Err(Error::InvalidState), "not connected");
}

//! FMA, atomic and block-transfer posts.

use crate::pair::{Pair, between, bytes_of, paint, set_word, word_of};
use crate::{Rig, Wanted};
use gni::{
    Amo, CqFault, CqMode, Delivery, Error, Gni, HwStatus, MemHandle, Modes, PostDescriptor, PostKind,
    limits::RDMA_MAX_LENGTH,
};
use mem::UserMem;

/// A PUT has no alignment rule.
pub fn put_any_alignment<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    for (kind, seed) in [(PostKind::FmaPut, 1), (PostKind::RdmaPut, 2)] {
        let expected = paint(at_a.0, seed);
        for (local, remote, len) in [(1, 0, 64), (0, 3, 61), (5, 7, 1), (2, 1, 1023)] {
            let mut put = between(kind, pair.a.local, (at_a.0.part(local, len), at_a.1), at_b);
            put.remote_addr += remote as u64;
            assert_eq!(pair.complete(&put).status, HwStatus::Ok);
            assert_eq!(bytes_of(at_b.0.part(remote, len)), expected[local..local + len]);
        }
    }
}

/// The source of an FMA PUT needs no registration, and may change when the call has returned.
pub fn put_from_unregistered<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (_, at_b) = pair.buffers(4096);
    let memory = pair.rig.memory(&mut pair.a.nic, 100);
    let expected = paint(memory, 4);
    let put = between(PostKind::FmaPut, pair.a.local, (memory, MemHandle::default()), at_b);
    pair.a.post(&put).expect("a post");
    paint(memory, 5);
    let entry = pair.local_event().expect("an entry");
    pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor");
    assert_eq!(bytes_of(at_b.0.part(0, 100)), expected);
    let put = PostDescriptor { kind: PostKind::RdmaPut, ..put };
    assert_eq!(pair.a.post(&put), Err(Error::InvalidParam));
}

/// An FMA PUT of no bytes is legal.
pub fn empty_put<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let put = between(PostKind::FmaPut, pair.a.local, (UserMem::EMPTY, at_a.1), at_b);
    assert_eq!(pair.complete(&put).status, HwStatus::Ok);
}

/// A GET needs both addresses and the length to be multiples of 4; each is checked.
pub fn get_alignment<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let expected = paint(at_b.0, 6);
    for kind in [PostKind::FmaGet, PostKind::RdmaGet] {
        for (local, remote, len) in [(1, 0, 64), (0, 2, 64), (0, 0, 63), (2, 2, 62)] {
            let mut get = between(kind, pair.a.local, (at_a.0.part(local, len), at_a.1), at_b);
            get.remote_addr += remote as u64;
            assert_eq!(pair.a.post(&get), Err(Error::Alignment), "{local} {remote} {len}");
        }
        let mut get = between(kind, pair.a.local, (at_a.0.part(4, 2000), at_a.1), at_b);
        get.remote_addr += 8;
        assert_eq!(pair.complete(&get).status, HwStatus::Ok);
        assert_eq!(bytes_of(at_a.0.part(4, 2000)), expected[8..2008]);
    }
}

/// Other reasons to refuse a GET at once.
pub fn get_refusals<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let empty = between(PostKind::FmaGet, pair.a.local, (at_a.0.part(0, 0), at_a.1), at_b);
    assert_eq!(pair.a.post(&empty), Err(Error::InvalidParam));
    let elsewhere = pair.rig.memory(&mut pair.a.nic, 4096);
    let unregistered = between(PostKind::FmaGet, pair.a.local, (elsewhere, at_a.1), at_b);
    assert_eq!(pair.a.post(&unregistered), Err(Error::InvalidParam));
    let get = between(PostKind::FmaGet, pair.a.local, at_a, at_b);
    let ep = pair.a.nic.ep_create(Some(pair.a.local)).expect("an endpoint");
    assert_eq!(pair.a.nic.post_fma(ep, &get), Err(Error::InvalidState), "unbound");
    assert_eq!(pair.a.nic.post_rdma(pair.a.ep, &get), Err(Error::InvalidParam), "the wrong engine");
    let collective = PostDescriptor { kind: PostKind::Collective, ..get };
    assert_eq!(pair.a.post(&collective), Err(Error::IllegalOp));
}

/// Entries carry the endpoint's words; a descriptor comes back once, with the caller's id.
pub fn events_and_words<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let default_words = (pair.b.nic.local_inst().0, pair.a.nic.local_inst().0);
    for words in [default_words, (0x1234_5678, 0x9abc_def0)] {
        if words != default_words {
            pair.a.nic.ep_set_event_data(pair.a.ep, words.0, words.1).expect("an endpoint");
        }
        let mut put = between(PostKind::FmaPut, pair.a.local, at_a, at_b);
        put.events = CqMode::GLOBAL | CqMode::REMOTE;
        put.post_id = 77;
        pair.a.post(&put).expect("a post");
        let entry = pair.local_event().expect("an entry");
        assert_eq!((entry.kind(), entry.inst_id()), (gni::EventType::Post, words.0));
        let cq = pair.a.local;
        assert_eq!(pair.a.nic.get_completed(pair.a.arrivals, entry), Err(Error::InvalidParam));
        let back = pair.a.nic.get_completed(cq, entry).expect("the descriptor");
        assert_eq!((back.post_id, back.status, back.completed), (77, HwStatus::Ok, CqMode::GLOBAL));
        assert_eq!(pair.a.nic.get_completed(cq, entry), Err(Error::InvalidParam));
        assert_eq!(pair.arrival().inst_id(), words.1);
    }
}

/// LOCAL and GLOBAL together need a mode of the domain, and make two entries.
pub fn dual_events<R: Rig>(rig: &mut R) {
    let both = CqMode::LOCAL | CqMode::GLOBAL;
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let put = PostDescriptor { events: both, ..between(PostKind::FmaPut, pair.a.local, at_a, at_b) };
    assert_eq!(pair.a.post(&put), Err(Error::InvalidParam));
    drop(pair);
    let wanted = Wanted { modes: Modes::DUAL_EVENTS, ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    let (at_a, at_b) = pair.buffers(64);
    let put = PostDescriptor { events: both, ..between(PostKind::FmaPut, pair.a.local, at_a, at_b) };
    assert_eq!(pair.complete(&put).completed, CqMode::LOCAL);
    let entry = pair.local_event().expect("a second entry");
    let back = pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor again");
    assert_eq!(back.completed, CqMode::GLOBAL);
}

/// A silent post makes no entry and gives its slot back.
pub fn silent<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let expected = paint(at_a.0, 7);
    let put =
        PostDescriptor { events: CqMode::SILENT, ..between(PostKind::FmaPut, pair.a.local, at_a, at_b) };
    for _ in 0..200 {
        pair.until("a request slot", |pair| pair.a.post(&put).ok());
    }
    pair.until("the data", |_| (bytes_of(at_b.0) == expected).then_some(()));
    assert!(pair.drain_local().is_empty());
}

/// Every atomic that Gemini has, with its result and the old value.
pub fn atomics<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let (first, second) = (0x0ff0_1234_5678_9abc, 0x5555_aaaa_3333_cccc);
    let cases = [
        (Amo::Add, false),
        (Amo::And, false),
        (Amo::Or, false),
        (Amo::Xor, false),
        (Amo::AndXor, false),
        (Amo::FetchAdd, true),
        (Amo::FetchAnd, true),
        (Amo::FetchOr, true),
        (Amo::FetchXor, true),
        (Amo::FetchAndXor, true),
        (Amo::CompareSwap, true),
    ];
    for (command, fetches) in cases {
        for old in [0xffff_0000_ffff_0000, first] {
            set_word(at_b.0, old);
            set_word(at_a.0, 0);
            let local = if fetches { at_a.0.part(0, 8) } else { UserMem::EMPTY };
            let amo = between(PostKind::Amo { command, first, second }, pair.a.local, (local, at_a.1), at_b);
            assert_eq!(pair.complete(&amo).status, HwStatus::Ok, "{command:?}");
            let expected = match command {
                Amo::Add | Amo::FetchAdd => old.wrapping_add(first),
                Amo::And | Amo::FetchAnd => old & first,
                Amo::Or | Amo::FetchOr => old | first,
                Amo::Xor | Amo::FetchXor => old ^ first,
                Amo::AndXor | Amo::FetchAndXor => (old & first) ^ second,
                _ if old == first => second,
                _ => old,
            };
            assert_eq!(word_of(at_b.0), expected, "{command:?}");
            assert_eq!(word_of(at_a.0), if fetches { old } else { 0 }, "{command:?}");
        }
    }
}

/// What Gemini does not have, and operands that are not aligned.
pub fn atomics_refused<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let local = (at_a.0.part(0, 8), at_a.1);
    for command in [Amo::Swap, Amo::Min, Amo::Max, Amo::Add32, Amo::FloatAdd] {
        let amo = between(PostKind::Amo { command, first: 0, second: 0 }, pair.a.local, local, at_b);
        assert_eq!(pair.a.post(&amo), Err(Error::IllegalOp), "{command:?}");
    }
    for (command, offset) in [(Amo::FetchAdd, 4), (Amo::FetchAndXor, 8), (Amo::Add, 1)] {
        let mut amo = between(PostKind::Amo { command, first: 0, second: 0 }, pair.a.local, local, at_b);
        amo.remote_addr += offset;
        assert_eq!(pair.a.post(&amo), Err(Error::Alignment), "{command:?}");
    }
    let kind = PostKind::Amo { command: Amo::FetchAdd, first: 1, second: 0 };
    let short = between(kind, pair.a.local, (at_a.0.part(0, 4), at_a.1), at_b);
    assert_eq!(pair.a.post(&short), Err(Error::InvalidParam));
}

/// A CQ write brings six bytes and no data.
pub fn cq_write<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let kind = PostKind::CqWrite { value: 0xfedc_ba98_7654_3210 };
    let mut write = between(kind, pair.a.local, (UserMem::EMPTY, at_a.1), at_b);
    write.delivery = Delivery::IN_ORDER;
    assert_eq!(pair.complete(&write).status, HwStatus::Ok);
    assert_eq!(pair.arrival().data(), 0xba98_7654_3210);
    assert_eq!(bytes_of(at_b.0), [0; 64]);
}

/// The flag of a PUT with flag is stored after its data.
pub fn sync_flag<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let expected = paint(at_a.0.part(0, 1000), 8);
    let flag_addr = (at_b.0.address() + 2048) as u64;
    let kind = PostKind::FmaPutFlag { flag_addr, flag: 0xabcd };
    let put = between(kind, pair.a.local, (at_a.0.part(0, 1000), at_a.1), at_b);
    pair.a.post(&put).expect("a post");
    pair.until("the flag", |_| (word_of(at_b.0.part(2048, 8)) == 0xabcd).then_some(()));
    assert_eq!(bytes_of(at_b.0.part(0, 1000)), expected);
    let entry = pair.local_event().expect("an entry");
    pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor");
    let skewed = PostKind::FmaPutFlag { flag_addr: flag_addr + 4, flag: 1 };
    assert_eq!(pair.a.post(&PostDescriptor { kind: skewed, ..put }), Err(Error::Alignment));
}

/// An endpoint has as many request slots as its source queue has entries; they come back with the descriptors.
pub fn request_slots<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64);
    let (pe, inst) = (pair.b.nic.local_pe(), pair.b.nic.local_inst());
    let cq = pair.a.nic.cq_create(3).expect("a queue");
    let ep = pair.a.nic.ep_create(Some(cq)).expect("an endpoint");
    pair.a.nic.ep_bind(ep, pe, inst).expect("binding");
    let put = between(PostKind::FmaPut, cq, at_a, at_b);
    let mut posted = 0;
    while posted < 100 && pair.a.nic.post_fma(ep, &put).is_ok() {
        posted += 1;
    }
    assert!((3..100).contains(&posted), "{posted} slots");
    assert_eq!(pair.a.nic.post_fma(ep, &put), Err(Error::Resource));
    let entry = pair.until("an entry", |pair| pair.a.nic.cq_get_event(cq).ok());
    assert_eq!(pair.a.nic.post_fma(ep, &put), Err(Error::Resource), "taking the entry is not enough");
    pair.a.nic.get_completed(cq, entry).expect("the descriptor");
    pair.a.nic.post_fma(ep, &put).expect("a slot came back");
}

/// Block transfers in both directions, across pieces.
pub fn rdma_put_and_get<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let size = (3 << 20) + 8;
    let (at_a, at_b) = pair.buffers(size);
    let expected = paint(at_a.0, 9);
    let put = between(PostKind::RdmaPut, pair.a.local, (at_a.0.part(1, size - 1), at_a.1), at_b);
    assert_eq!(pair.complete(&put).status, HwStatus::Ok);
    assert_eq!(bytes_of(at_b.0.part(0, size - 1)), expected[1..]);
    let expected = paint(at_b.0, 10);
    let get = between(PostKind::RdmaGet, pair.a.local, at_a, at_b);
    assert_eq!(pair.complete(&get).status, HwStatus::Ok);
    assert_eq!(bytes_of(at_a.0), expected);
}

/// A block transfer's memory is in use until its end; the call itself returns at once.
pub fn rdma_is_asynchronous<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(1 << 20);
    let get = between(PostKind::RdmaGet, pair.a.local, at_a, at_b);
    pair.a.post(&get).expect("a post");
    assert_eq!(pair.a.nic.mem_deregister(at_a.1), Err(Error::NotDone));
    let entry = pair.local_event().expect("an entry");
    pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor");
    pair.a.nic.mem_deregister(at_a.1).expect("idle now");
}

/// The longest block transfer is accepted, one byte more is not.
pub fn rdma_lengths<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let size = RDMA_MAX_LENGTH as usize + 1;
    let Some(at_a) = pair.rig.untouched(&mut pair.a.nic, size) else { return };
    let Some(at_b) = pair.rig.untouched(&mut pair.b.nic, size) else { return };
    let (handle_a, handle_b) = (pair.a.register(at_a), pair.b.register(at_b));
    let put = |len| between(PostKind::RdmaPut, pair.a.local, (at_a.part(0, len), handle_a), (at_b, handle_b));
    let (longest, longer) = (put(size - 1), put(size));
    assert_eq!(pair.a.post(&longer), Err(Error::InvalidParam));
    assert_eq!(pair.a.post(&longest), Ok(()));
}

/// Block transfers need registered memory, a queue for their event, and bytes.
pub fn rdma_refusals<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let put = between(PostKind::RdmaPut, pair.a.local, at_a, at_b);
    assert_eq!(pair.a.post(&PostDescriptor { src_cq: None, ..put }), Err(Error::InvalidParam));
    assert_eq!(pair.a.post(&PostDescriptor { local: UserMem::EMPTY, ..put }), Err(Error::InvalidParam));
    assert_eq!(pair.a.nic.post_fma(pair.a.ep, &put), Err(Error::InvalidParam));
    let elsewhere = pair.rig.memory(&mut pair.a.nic, 4096);
    assert_eq!(pair.a.post(&PostDescriptor { local: elsewhere, ..put }), Err(Error::InvalidParam));
}

/// Many transfers at once: each comes back exactly once.
pub fn many_transfers<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(64 << 10);
    let expected = paint(at_b.0, 11);
    let piece = 1 << 10;
    for n in 0..64 {
        let local = (at_a.0.part(n * piece, piece), at_a.1);
        let kind = if n % 2 == 0 { PostKind::RdmaGet } else { PostKind::FmaGet };
        let mut get = between(kind, pair.a.local, local, at_b);
        get.remote_addr += (n * piece) as u64;
        get.post_id = n as u64;
        pair.a.post(&get).expect("a slot");
    }
    let mut seen = [0; 64];
    for _ in 0..64 {
        let entry = pair.local_event().expect("an entry");
        let back = pair.a.nic.get_completed(pair.a.local, entry).expect("the descriptor");
        seen[back.post_id as usize] += 1;
    }
    assert_eq!(seen, [1; 64]);
    assert_eq!(bytes_of(at_a.0), expected);
    assert_eq!(pair.a.nic.cq_get_event(pair.a.local), Err(CqFault::NotDone));
}

/// Posts in IN_ORDER delivery land in the order of posting.
pub fn in_order<R: Rig>(rig: &mut R) {
    let wanted = Wanted { faults: "seed=3,reorder=1", ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    let (at_a, at_b) = pair.buffers(64);
    for value in 0..30 {
        let kind = PostKind::CqWrite { value };
        let mut write = between(kind, pair.a.local, (UserMem::EMPTY, at_a.1), at_b);
        write.delivery = Delivery::IN_ORDER;
        pair.a.post(&write).expect("a slot");
    }
    let order: Vec<u64> = (0..30).map(|_| pair.arrival().data()).collect();
    assert_eq!(order, (0..30).collect::<Vec<u64>>());
}

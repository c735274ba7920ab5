//! Memory registration.

use crate::pair::{Pair, between, bytes_of, paint};
use crate::{Rig, Wanted};
use gni::{Error, Gni, HwStatus, JobResource, MemFlags, MemHandle, PostDescriptor, PostKind};
use mem::UserMem;

/// What cannot be registered or deregistered.
pub fn refusals<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let memory = pair.rig.memory(&mut pair.a.nic, 4096);
    let nic = &mut pair.a.nic;
    let both = MemFlags::STRICT_PI_ORDERING | MemFlags::RELAXED_PI_ORDERING;
    assert_eq!(nic.mem_register(memory.part(0, 0), None, MemFlags::READWRITE), Err(Error::InvalidParam));
    assert_eq!(nic.mem_register(memory, None, both), Err(Error::InvalidParam));
    let handle = nic.mem_register(memory, None, MemFlags::READWRITE).expect("a registration");
    nic.mem_deregister(handle).expect("registered");
    assert_eq!(nic.mem_deregister(handle), Err(Error::InvalidParam));
    assert_eq!(nic.mem_deregister(MemHandle::default()), Err(Error::InvalidParam));
}

/// The first and the last byte of a registration can be reached, their neighbours cannot.
pub fn bounds_are_exact<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let at_a = pair.rig.memory(&mut pair.a.nic, 8192);
    let at_b = pair.rig.memory(&mut pair.b.nic, 8192);
    let handle_a = pair.a.register(at_a);
    let inner = at_b.part(64, 1000);
    let handle_b = pair.b.register(inner);
    let expected = paint(at_a, 1);
    let cq = pair.a.local;
    let put = |local: UserMem, at: usize| PostDescriptor {
        remote_addr: (at_b.address() + at) as u64,
        ..between(PostKind::FmaPut, cq, (local, handle_a), (inner, handle_b))
    };
    assert_eq!(pair.complete(&put(at_a.part(0, 1), 64)).status, HwStatus::Ok);
    assert_eq!(pair.complete(&put(at_a.part(1, 1), 1063)).status, HwStatus::Ok);
    assert_eq!(bytes_of(at_b.part(64, 1)), expected[0..1]);
    assert_eq!(bytes_of(at_b.part(1063, 1)), expected[1..2]);
    pair.refused(&put(at_a.part(2, 1), 63));
    pair.refused(&put(at_a.part(2, 1), 1064));
    pair.refused(&put(at_a.part(2, 1001), 64));
    assert_eq!(bytes_of(at_b.part(63, 1)), [0]);
    assert_eq!(bytes_of(at_b.part(1064, 1)), [0]);
}

/// A handle that was damaged names nothing.
pub fn broken_handles<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let whole = between(PostKind::FmaPut, pair.a.local, at_a, at_b);
    for bit in [0, 20, 63, 64, 100, 127] {
        let mut descriptor = whole;
        descriptor.remote_handle.0[bit / 64] ^= 1 << (bit % 64);
        pair.refused(&descriptor);
    }
}

/// A handle is good until it is deregistered, and stays bad when the descriptor is used again.
pub fn stale_handles<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let put = between(PostKind::FmaPut, pair.a.local, at_a, at_b);
    assert_eq!(pair.complete(&put).status, HwStatus::Ok);
    pair.b.nic.mem_deregister(at_b.1).expect("registered");
    pair.refused(&put);
    let again = pair.b.register(at_b.0);
    assert_ne!(again, at_b.1);
    pair.refused(&put);
    let put = between(PostKind::FmaPut, pair.a.local, at_a, (at_b.0, again));
    assert_eq!(pair.complete(&put).status, HwStatus::Ok);
}

/// Read-only memory can be fetched, and not written by PUT or GET.
pub fn read_only<R: Rig>(rig: &mut R) {
    let mut pair = Pair::new(rig);
    let (at_a, at_b) = pair.buffers(4096);
    let fixed = pair.rig.memory(&mut pair.b.nic, 4096);
    let expected = paint(fixed, 2);
    let handle = pair.b.nic.mem_register(fixed, None, MemFlags::READ_ONLY).expect("a registration");
    let get = between(PostKind::FmaGet, pair.a.local, at_a, (fixed, handle));
    assert_eq!(pair.complete(&get).status, HwStatus::Ok);
    assert_eq!(bytes_of(at_a.0), expected);
    pair.refused(&between(PostKind::FmaPut, pair.a.local, at_a, (fixed, handle)));
    assert_eq!(bytes_of(fixed), expected);
    let own = pair.rig.memory(&mut pair.a.nic, 4096);
    let handle = pair.a.nic.mem_register(own, None, MemFlags::READ_ONLY).expect("a registration");
    let get = between(PostKind::FmaGet, pair.a.local, (own, handle), at_b);
    assert_eq!(pair.a.post(&get), Err(Error::Permission));
}

/// Memory of another job cannot be reached.
pub fn foreign_job<R: Rig>(rig: &mut R) {
    let wanted = Wanted { stranger: true, ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    let (at_a, at_b) = pair.buffers(4096);
    paint(at_a.0, 3);
    let put = between(PostKind::FmaPut, pair.a.local, at_a, at_b);
    let done = pair.complete(&put);
    assert_ne!(done.status, HwStatus::Ok);
    assert_eq!(bytes_of(at_b.0), vec![0; 4096]);
}

/// Memory descriptors run out, and come back.
pub fn descriptors_run_out<R: Rig>(rig: &mut R) {
    let Some(pair) = Pair::wanted(rig, &Wanted { mdds: 3, ..Wanted::default() }) else { return };
    let mut nic = pair.a.nic;
    let memory = pair.rig.memory(&mut nic, 4096 * 4);
    let take =
        |nic: &mut R::Nic, n: usize| nic.mem_register(memory.part(n * 4096, 4096), None, MemFlags::READWRITE);
    let handles: Vec<MemHandle> = (0..3).map(|n| take(&mut nic, n).expect("a descriptor")).collect();
    assert_eq!(take(&mut nic, 3), Err(Error::Resource));
    let used = nic.get_job_res_info(JobResource::Mdd);
    assert_eq!((used.used, used.limit), (3, 3));
    nic.mem_deregister(handles[1]).expect("registered");
    take(&mut nic, 3).expect("a descriptor came back");
}

/// Relocation table entries run out, by pages touched.
pub fn pages_run_out<R: Rig>(rig: &mut R) {
    let Some(mut pair) = Pair::wanted(rig, &Wanted { mrt_entries: 4, ..Wanted::default() }) else { return };
    let page = 1usize << 21;
    let Some(space) = pair.rig.untouched(&mut pair.a.nic, 8 * page) else { return };
    let nic = &mut pair.a.nic;
    let start = space.address().next_multiple_of(page) - space.address();
    let across =
        nic.mem_register(space.part(start + page - 1, 2), None, MemFlags::READWRITE).expect("two pages");
    assert_eq!(nic.get_job_res_info(JobResource::Mrt).used, 2);
    assert_eq!(
        nic.mem_register(space.part(start, 3 * page), None, MemFlags::READWRITE),
        Err(Error::Resource)
    );
    nic.mem_deregister(across).expect("registered");
    nic.mem_register(space.part(start, 4 * page), None, MemFlags::READWRITE).expect("four pages");
}

/// The NICs' programs of one node share its descriptors.
pub fn node_shares_descriptors<R: Rig>(rig: &mut R) {
    let wanted = Wanted { mdds: 2, same_node: true, ..Wanted::default() };
    let Some(mut pair) = Pair::wanted(rig, &wanted) else { return };
    let (at_a, _) = pair.buffers(4096);
    let more = pair.rig.memory(&mut pair.b.nic, 4096);
    assert_eq!(pair.b.nic.mem_register(more, None, MemFlags::READWRITE), Err(Error::Resource));
    pair.a.nic.mem_deregister(at_a.1).expect("registered");
    pair.b.nic.mem_register(more, None, MemFlags::READWRITE).expect("the other side's came back");
}

//! Flow control: what no receive takes takes a bounded part of the receiver, and of the NIC a fixed one.

use mtl::{Event, Mtl, Peer, Want};
use mtl_shmem::{MtlShmemParams, ShmemMtl};
use portals::{Jid, Nid, Pid, Portals, ProcessId, Status, Uid, lasting};
use portals_soft::inproc::{InProc, Inboxes};
use portals_soft::{NicConfig, SoftNic};

type Net = ShmemMtl<SoftNic<InProc>>;

fn pair(params: &MtlShmemParams) -> [Net; 2] {
    let world = Inboxes::new();
    let ids: Vec<ProcessId> = (0..2).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    [0, 1].map(|rank: usize| {
        let nic = world.attach(ids[rank], Uid(0), Jid(0), NicConfig::default()).expect("attaching");
        ShmemMtl::new(nic, ids.clone(), params).expect("a network")
    })
}

fn of_the_nic(net: &Net) -> [u64; 4] {
    let registers = [Status::MatchEntries, Status::MemoryDescriptors, Status::EventQueues, Status::NicBytes];
    registers.map(|register| net.nic().status(register).expect("a register"))
}

/// A thousand messages that come before their receives: those that have no credit are offers. All can be received, in
/// any order.
#[test]
fn early_messages_exhaust_nothing() {
    for len in [0, 100, 5000] {
        let [mut sender, mut receiver] = pair(&MtlShmemParams::default());
        let before = [of_the_nic(&sender), of_the_nic(&receiver)];
        let (memory, into) = (lasting(len), lasting(len));
        let (mut sent, mut begun) = (0, 0);
        while begun < 1000 {
            begun += u64::from(sender.send(Peer(1), begun, 0, memory, begun).is_ok());
            sent += std::iter::from_fn(|| sender.next_event()).count();
            assert_eq!(receiver.next_event(), None);
            assert_eq!([of_the_nic(&sender), of_the_nic(&receiver)], before);
        }
        // Those without payload take nothing, the first short ones what they have credits for.
        let expected = match len {
            0 => 1000,
            100 => MtlShmemParams::default().early as usize,
            _ => 0,
        };
        assert_eq!(sent, expected, "{len} bytes");
        for bits in (0..1000).rev() {
            receiver.recv(&Want { from: None, bits, ignore: 0 }, into, bits).expect("room");
            let received = loop {
                sent += std::iter::from_fn(|| sender.next_event()).count();
                if let Some(event) = receiver.next_event() {
                    break event;
                }
            };
            let Event::Received { cookie, stored, .. } = received else { panic!("{received:?}") };
            assert_eq!((cookie, stored), (bits, len as u64));
        }
        for _ in 0..10 {
            sent += std::iter::from_fn(|| sender.next_event()).count();
            receiver.next_event();
        }
        assert_eq!(sent, 1000);
    }
}

/// Long messages to each other at once, more of them than there are windows.
#[test]
fn windows_are_shared() {
    const LEN: usize = 100_000;
    let mut nets = pair(&MtlShmemParams::default());
    let mut over = [0, 0];
    for bits in 0..10 {
        for (me, net) in nets.iter_mut().enumerate() {
            let other = Peer(1 - me as u32);
            while net.send(other, bits, 0, lasting(LEN), 0).is_err() {
                over[me] += usize::from(net.next_event().is_some());
            }
            net.recv(&Want { from: None, bits, ignore: 0 }, lasting(LEN), 0).expect("room");
        }
        for (me, net) in nets.iter_mut().enumerate() {
            over[me] += std::iter::from_fn(|| net.next_event()).count();
        }
    }
    for _ in 0..1000 {
        for (me, net) in nets.iter_mut().enumerate() {
            over[me] += std::iter::from_fn(|| net.next_event()).count();
        }
    }
    assert_eq!(over, [20, 20]);
}

#[test]
fn a_send_to_a_process_that_is_gone_fails() {
    let [mut sender, receiver] = pair(&MtlShmemParams::default());
    drop(receiver);
    sender.give_up(Peer(1));
    sender.send(Peer(1), 0, 0, lasting(10), 4).expect("it fails later");
    assert_eq!(sender.next_event(), Some(Event::Failed(4)));
}

//! What happens when memory or events for early messages run out: messages are lost, so all peers are given up, and the
//! parameter that has more is named.

use mtl::{Event, Mtl, Peer};
use mtl_portals::{Device, Exhausted, Kept, PortalsMtl};
use portals::{Jid, Nid, Pid, Portals, ProcessId, Status, Uid, lasting};
use portals_soft::inproc::{InProc, Inboxes};
use portals_soft::{NicConfig, SoftNic};

type Net = PortalsMtl<SoftNic<InProc>>;

fn pair(device: &Device) -> [Net; 2] {
    let world = Inboxes::new();
    let ids: Vec<ProcessId> = (0..2).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    [0, 1].map(|rank: usize| {
        let nic = world.attach(ids[rank], Uid(0), Jid(0), NicConfig::default()).expect("attaching");
        PortalsMtl::new(nic, ids.clone(), device).expect("a network")
    })
}

/// Sends `messages` of `bytes` that the receiver does not take; what the receiver reports.
fn flood(device: &Device, messages: usize, bytes: usize) -> (Option<Exhausted>, bool, Vec<Event>) {
    let [mut sender, mut receiver] = pair(device);
    let memory = lasting(bytes);
    let mut events = Vec::new();
    for number in 0..messages as u64 {
        let sent = match bytes <= sender.limits().inject {
            true => sender.inject(Peer(1), number, 0, memory),
            false => sender.send(Peer(1), number, 0, memory, number),
        };
        sent.expect("room");
        while sender.next_event().is_some() {}
        events.extend(receiver.next_event());
    }
    while let Some(event) = receiver.next_event() {
        events.push(event);
    }
    (receiver.exhausted(), receiver.must_end(), events)
}

fn small(device: Device) -> Device {
    let kept = match device.kept {
        Kept::Blocks { count, .. } => Kept::Blocks { count, bytes: 4096 },
        Kept::Buffers { .. } => Kept::Buffers { count: 8 },
    };
    Device { eager_limit: 1024, copy_block_len: device.copy_block_len.min(512), kept, ..device }
}

const DEVICES: [(Device, &str); 3] = [
    (Device::MPICH_1_2_6, "mpich_unexpected_buffers"),
    (Device::MPICH2_0_97, "mpich_unexpected_buffers"),
    (Device::CRAY_1_5, "mpich_unexpected_size"),
];

#[test]
fn memory_runs_out_and_the_parameter_is_named() {
    for (device, parameter) in DEVICES {
        let (exhausted, must_end, events) = flood(&small(device), 32, 900);
        let expected = Exhausted { of: "memory for messages without a receive", parameter };
        assert_eq!(exhausted, Some(expected), "{}", device.name);
        assert!(!must_end, "the program's own handler may go on");
        assert!(events.contains(&Event::PeerLost(Peer(0))));
    }
}

#[test]
fn strict_devices_end_as_the_originals_did() {
    for (device, _) in DEVICES {
        assert!(flood(&Device { strict: true, ..small(device) }, 32, 900).1, "{}", device.name);
    }
}

#[test]
fn what_there_is_room_for_exhausts_nothing() {
    for (device, _) in DEVICES {
        let (exhausted, _, events) = flood(&small(device), 8, 900);
        assert_eq!((exhausted, events.len()), (None, 0), "{}", device.name);
    }
}

/// Long messages take no memory at the receiver, only events.
#[test]
fn long_messages_take_events_alone() {
    for (device, _) in DEVICES {
        let (exhausted, ..) = flood(&small(device), 200, 5000);
        assert_eq!(exhausted, None, "{}", device.name);
    }
}

/// Queues of operations go with them.
#[test]
fn nothing_is_left_behind_in_the_nic() {
    let [mut sender, mut receiver] = pair(&Device::MPICH_1_2_6);
    let registers = [Status::MatchEntries, Status::MemoryDescriptors, Status::EventQueues, Status::NicBytes];
    let count = |net: &Net| registers.map(|register| net.nic().status(register).expect("a register"));
    let before = [count(&sender), count(&receiver)];
    let memory = lasting(200_000);
    for len in [0, 100, 10_000, 200_000] {
        for posted in [true, false] {
            let want = mtl::Want { from: None, bits: 7, ignore: 0 };
            if posted {
                receiver.recv(&want, lasting(len), 1).expect("room");
            }
            sender.send(Peer(1), 7, 3, memory.part(0, len), 2).expect("room");
            receiver.next_event();
            if !posted {
                receiver.recv(&want, lasting(len), 1).expect("room");
            }
            for _ in 0..8 {
                while sender.next_event().is_some() {}
                while receiver.next_event().is_some() {}
            }
        }
    }
    assert_eq!([count(&sender), count(&receiver)], before);
}

//! Two processes of one world: their memory, and what a room takes of a NIC.

use mem::{PeerBytes, UserMem};
use mtl_shmem::shmem::{Address, Compare, DESCRIPTORS, Destination, End, Pe, QUEUES, Room, Shape, statics};
use portals::{Error, Jid, Nid, Pid, Portals, ProcessId, Status, Uid, lasting};
use portals_soft::inproc::{InProc, Inboxes};
use portals_soft::{FaultPlan, NicConfig, SoftNic};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

type Soft = Room<SoftNic<InProc>>;

const HEAP: usize = 1 << 16;

fn pair(faults: &str) -> [Soft; 2] {
    let world = Inboxes::new();
    let ids: Vec<ProcessId> = (0..2).map(|nid| ProcessId { nid: Nid(nid), pid: Pid(0) }).collect();
    [0, 1].map(|rank: usize| {
        let faults = FaultPlan { seed: rank as u64, ..FaultPlan::parse(faults).expect("a plan") };
        let config = NicConfig { faults, ..NicConfig::default() };
        let nic = world.attach(ids[rank], Uid(0), Jid(0), config).expect("attaching");
        let shape = Shape { heap: lasting(HEAP), statics: statics(), operations: 64 };
        Room::new(nic, ids.clone(), shape).expect("a room")
    })
}

fn filled(bytes: &[u8]) -> UserMem {
    let memory = lasting(bytes.len());
    memory.write(PeerBytes::of(bytes));
    memory
}

fn settle(rooms: &mut [Soft; 2]) {
    for _ in 0..20 {
        rooms.iter_mut().for_each(|room| while room.progress() > 0 {});
    }
}

/// Tries until there is room.
fn begin(room: &mut Soft, mut call: impl FnMut(&mut Soft) -> portals::Result<()>) {
    while let Err(error) = call(room) {
        assert_eq!(error, Error::NoSpace);
        room.progress();
    }
}

#[test]
fn what_is_put_can_be_got() {
    for faults in ["", "defer=0.3,no_space=0.3"] {
        let mut rooms = pair(faults);
        let text: Vec<u8> = (0..5000).map(|at| at as u8).collect();
        let (from, into, at) = (filled(&text), lasting(5000), Destination::Symmetric(Address::heap(128)));
        begin(&mut rooms[0], |room| room.put(Pe(1), at, from, 7));
        settle(&mut rooms);
        assert_eq!(rooms[0].next_end(), Some(End { cookie: 7, fine: true }));
        assert!(rooms[0].is_quiet());
        assert!(rooms[1].own(Address::heap(128), 5000).as_bytes().to_vec() == text);
        begin(&mut rooms[0], |room| room.get(Pe(1), at, into, 8));
        assert!(!rooms[0].is_quiet());
        settle(&mut rooms);
        assert_eq!(rooms[0].next_end(), Some(End { cookie: 8, fine: true }));
        assert!(into.as_bytes().to_vec() == text);
    }
}

#[test]
fn a_word_behind_data_is_seen_after_it() {
    let mut rooms = pair("");
    let (data, flag) = (Address::heap(0), Address::heap(4096));
    for round in 1..50 {
        let text = filled(&[round as u8; 4000]);
        let word = filled(&u64::to_ne_bytes(round));
        rooms[0].put(Pe(1), Destination::Symmetric(data), text, 0).expect("room");
        rooms[0].put(Pe(1), Destination::Symmetric(flag), word, 0).expect("room");
        let [sender, receiver] = &mut rooms;
        let mut turns = 0;
        let seen = receiver.wait_until(flag, Compare::AtLeast, round, || {
            turns += 1;
            sender.progress();
            assert!(turns < 1000, "it is never seen");
        });
        assert_eq!(seen, round);
        assert!(receiver.own(data, 4000).as_bytes().to_vec().iter().all(|&byte| byte == round as u8));
        settle(&mut rooms);
    }
}

#[test]
fn swaps_and_windows() {
    let mut rooms = pair("");
    rooms[1].own(Address::heap(64), 8).write(PeerBytes::of(&5u64.to_ne_bytes()));
    rooms[0].swap(Pe(1), Address::heap(64), 9).expect("room");
    assert_eq!(rooms[0].swap(Pe(1), Address::heap(64), 10), Err(Error::MdInUse));
    settle(&mut rooms);
    assert_eq!((rooms[0].take_swapped(), rooms[1].word(Address::heap(64))), (Some(5), 9));
    assert_eq!(rooms[0].take_swapped(), None);

    let shown = lasting(100);
    rooms[1].open_window(1, shown).expect("nothing is under way");
    rooms[0].put(Pe(1), Destination::Window(1, 10), filled(b"window"), 0).expect("room");
    // It shows nothing, and cuts later messages.
    rooms[0].put(Pe(1), Destination::Window(0, 0), filled(b"nowhere"), 0).expect("room");
    settle(&mut rooms);
    assert!(rooms[0].is_quiet());
    assert_eq!(shown.part(10, 6).as_bytes().to_vec(), b"window");
    rooms[1].close_window(1).expect("nothing is under way");
    rooms[0].put(Pe(1), Destination::Window(1, 10), filled(b"closed"), 0).expect("room");
    settle(&mut rooms);
    assert_eq!(shown.part(10, 6).as_bytes().to_vec(), b"window");
}

/// Eight descriptors and one queue, whatever is under way.
#[test]
fn what_it_takes_of_the_nic_is_fixed() {
    let mut rooms = pair("");
    let text = filled(&[3; 512]);
    let mut begun = 0;
    for number in 0..200 {
        let nic = rooms[0].nic();
        let count = |register| nic.status(register).expect("a register");
        assert_eq!(count(Status::MemoryDescriptors), DESCRIPTORS);
        assert_eq!(count(Status::EventQueues), QUEUES);
        begun +=
            u32::from(rooms[0].put(Pe(1), Destination::Symmetric(Address::heap(0)), text, number).is_ok());
    }
    assert_eq!(begun, 64, "then there is no room");
    settle(&mut rooms);
    assert_eq!(std::iter::from_fn(|| rooms[0].next_end()).count(), 64);
}

#[test]
fn what_does_not_exist_is_refused() {
    let mut rooms = pair("");
    let memory = lasting(8);
    let at = Destination::Symmetric(Address::heap(0));
    assert_eq!(rooms[0].put(Pe(2), at, memory, 0), Err(Error::ProcessInvalid));
    rooms[0].get(Pe(1), at, memory, 0).expect("room");
    assert_eq!(rooms[0].get(Pe(1), at, memory, 0), Err(Error::MdIllegal), "it is being filled");
    assert_eq!(rooms[0].address_of(memory), None);
    // Beyond the heap: cut, and over.
    rooms[0].put(Pe(1), Destination::Symmetric(Address::heap(HEAP as u64 - 4)), memory, 0).expect("room");
    rooms[0].put(Pe(1), Destination::Symmetric(Address::heap(u64::MAX - 100)), memory, 0).expect("room");
    settle(&mut rooms);
    assert!(rooms[0].is_quiet());
}

static INITIALISED: AtomicU64 = AtomicU64::new(77);
static ZERO: AtomicU64 = AtomicU64::new(0);

#[test]
fn statics_have_addresses() {
    let mut rooms = pair("");
    // Both processes of this world are one, so a put goes to the very word.
    let word = |word: &AtomicU64| {
        let found = statics().runs().iter().find_map(|run| {
            let offset = (word as *const AtomicU64 as usize).checked_sub(run.address())?;
            (offset < run.len()).then(|| run.part(offset, 8))
        });
        found.expect("a static")
    };
    let at = rooms[0].address_of(word(&ZERO)).expect("it is symmetric");
    rooms[0].put(Pe(1), Destination::Symmetric(at), filled(&1234u64.to_ne_bytes()), 0).expect("room");
    settle(&mut rooms);
    assert_eq!(ZERO.load(Ordering::Relaxed), 1234);
    assert_eq!(rooms[1].word(rooms[0].address_of(word(&INITIALISED)).expect("it is symmetric")), 77);
}

/// Offsets of statics are equal in processes of one program, wherever each lies.
#[test]
fn statics_are_symmetric() {
    const ASKED: &str = "SHMEM_TEST_ASKED";
    if std::env::var_os(ASKED).is_some() {
        let offset = |word: &AtomicU64| {
            let mut before = 0;
            for run in statics().runs() {
                let address = word as *const AtomicU64 as usize;
                if (run.address()..run.address() + run.len()).contains(&address) {
                    return before + address - run.address();
                }
                before += run.len();
            }
            panic!("a static");
        };
        println!("offsets {} {}", offset(&INITIALISED), offset(&ZERO));
        return;
    }
    let ask = || {
        let this = std::env::current_exe().expect("a file");
        let output = Command::new(this)
            .args(["--exact", "statics_are_symmetric", "--nocapture"])
            .env(ASKED, "1")
            .output()
            .expect("it starts");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().find(|line| line.contains("offsets")).expect("an answer").to_owned()
    };
    let first = ask();
    assert!((0..5).all(|_| ask() == first));
}

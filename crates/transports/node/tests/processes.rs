//! Memory and descriptors between real processes, two and three of them: handed over after initialisation, by processes
//! that know nothing of each other but the node's segment and the words of a ticket.
//!
//! Without a test harness: its threads would not be in the forked processes.

use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use btl::Peer;
use mem::UserMem;
use node::{AreaName, Attach, Node, NodeParams, SegmentTicket, SharedSegment, TakeError};
use platform::memory_file::MemoryFile;
use shm::area::{Owner, SLOTS};
use shm::{Layout, Shape, SharedMemory};

fn main() {
    let cases: [(&str, usize, Case); 13] = [
        ("three processes share memory that one of them makes", 3, memory_is_shared),
        ("memory outlives its maker", 3, memory_outlives_its_maker),
        ("a maker that was killed is noticed", 2, a_killed_maker_is_noticed),
        ("a number that means something else by now is refused", 2, a_reused_number_is_refused),
        ("a process id that is another's is refused", 3, another_process_is_refused),
        ("users that may open nothing of each other share memory", 3, strangers_share_memory),
        ("the last user gives memory back, and no other", 3, the_last_user_gives_memory_back),
        ("places that no rank gave are refused", 2, places_that_no_rank_gave_are_refused),
        ("places that were given are not given again", 2, places_are_given_once),
        ("an end is seen whatever the process id is by now", 3, an_end_is_seen),
        ("areas that a dead process has held are free once the others have left them", 3, areas_of_the_dead),
        ("areas that a process has not taken are free once the others have left them", 2, areas_not_taken),
        ("memory is not copied from who has another number", 2, copies_need_the_number),
    ];
    let results: Vec<bool> = cases.into_iter().map(|(name, count, case)| run(name, count, case)).collect();
    assert!(results.into_iter().all(|good| good), "see above");
}

/// What each process does.
type Case = fn(&Process);

/// One process of a case.
struct Process {
    rank: usize,
    count: usize,
    node: Arc<Node>,
    /// Shared with the others: stages in the first words, then words for tickets and data.
    board: &'static [AtomicU64],
    pids: Vec<i32>,
    /// The node's file.
    file: i32,
}

/// Words of the board before those that cases use.
const WORDS: usize = 32;
const LONGEST: Duration = Duration::from_secs(20);

impl Process {
    /// Comes to a stage and waits until `others` further processes are there.
    fn meet(&self, stage: usize, others: usize) {
        self.board[stage].fetch_add(1, Ordering::SeqCst);
        wait_until(|| self.board[stage].load(Ordering::SeqCst) > others as u64);
    }

    /// Waits until all processes come to a stage.
    fn meet_all(&self, stage: usize) {
        self.meet(stage, self.count - 1);
    }

    fn write<const N: usize>(&self, words: [u64; N]) {
        words.iter().zip(&self.board[WORDS..]).for_each(|(&word, place)| place.store(word, Ordering::SeqCst));
    }

    fn read<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|word| self.board[WORDS + word].load(Ordering::SeqCst))
    }

    /// A descriptor of the node's file.
    fn duplicate(&self) -> std::os::fd::OwnedFd {
        // SAFETY: open as long as the process lives.
        unsafe { std::os::fd::BorrowedFd::borrow_raw(self.file) }.try_clone_to_owned().expect("a descriptor")
    }

    fn map(&self, maker: u32) -> Result<SharedSegment, TakeError> {
        let ticket = SegmentTicket::from_words(self.read()).expect("a ticket");
        self.node.map_segment(Peer(maker), &ticket)
    }
}

fn wait_until(happens: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < LONGEST, "the others do not come");
        platform::waiter::give_way();
    }
}

fn words(segment: &SharedSegment) -> &[AtomicU64] {
    // SAFETY: the segment is mapped, page-aligned and of that length; atomics of any value are valid.
    unsafe { std::slice::from_raw_parts(segment.address() as *const AtomicU64, segment.len() / 8) }
}

/// Rank 0 makes memory; all write to it, all read what the others wrote.
fn memory_is_shared(p: &Process) {
    let made = (p.rank == 0).then(|| SharedSegment::create(10_000).expect("memory"));
    if let Some(made) = &made {
        p.write(made.ticket().expect("a maker's").words());
    }
    p.meet_all(1);
    let segment = made.unwrap_or_else(|| p.map(0).expect("mapped"));
    assert_eq!(segment.len(), 12_288);
    words(&segment)[p.rank].store(100 + p.rank as u64, Ordering::SeqCst);
    p.meet_all(2);
    for rank in 0..p.count {
        assert_eq!(words(&segment)[rank].load(Ordering::SeqCst), 100 + rank as u64);
    }
}

/// One takes the memory before its maker is killed and keeps it; another one comes too late.
fn memory_outlives_its_maker(p: &Process) {
    if p.rank == 0 {
        let made = SharedSegment::create(4096).expect("memory");
        words(&made)[7].store(77, Ordering::SeqCst);
        p.write(made.ticket().expect("a maker's").words());
        p.meet(1, 2);
        wait_until(|| false);
    }
    p.meet(1, 2);
    let kept = (p.rank == 1).then(|| p.map(0).expect("mapped in time"));
    p.meet(2, 1);
    if p.rank == 1 {
        kill(p.pids[0]);
    }
    p.meet(3, 1);
    match kept {
        Some(kept) => assert_eq!(words(&kept)[7].load(Ordering::SeqCst), 77),
        None => assert!(matches!(p.map(0), Err(TakeError::Gone))),
    }
}

fn a_killed_maker_is_noticed(p: &Process) {
    if p.rank == 0 {
        let made = SharedSegment::create(4096).expect("memory");
        p.write(made.ticket().expect("a maker's").words());
        p.meet_all(1);
        wait_until(|| false);
    }
    p.meet_all(1);
    kill(p.pids[0]);
    assert!(matches!(p.map(0), Err(TakeError::Gone)));
}

/// The maker withdraws its memory, and something else takes its number: other memory, then a pipe.
fn a_reused_number_is_refused(p: &Process) {
    if p.rank == 0 {
        let mut made = SharedSegment::create(4096).expect("memory");
        let ticket = made.ticket().expect("a maker's");
        p.write(ticket.words());
        made.withdraw();
        let other = SharedSegment::create(4096).expect("memory");
        let number = other.ticket().expect("a maker's").words()[0];
        assert_eq!(number, ticket.words()[0], "the lowest free number is given again");
        p.meet_all(1);
        p.meet_all(2);
        drop(other);
        let (reader, _writer) = std::io::pipe().expect("a pipe");
        assert_eq!(reader.as_raw_fd() as u64, number);
        p.meet_all(3);
        p.meet_all(4);
        return;
    }
    for stages in [[1, 2], [3, 4]] {
        p.meet_all(stages[0]);
        assert!(matches!(p.map(0), Err(TakeError::NotOffered(_))));
        p.meet_all(stages[1]);
    }
}

/// What the launcher reported of rank 0 is the process id of rank 1, which has other memory open under the same number.
fn another_process_is_refused(p: &Process) {
    if p.rank < 2 {
        let made = SharedSegment::create(4096).expect("memory");
        if p.rank == 0 {
            p.write(made.ticket().expect("a maker's").words());
        }
        p.meet_all(1);
        p.meet_all(2);
        return;
    }
    p.meet_all(1);
    assert!(p.map(0).is_ok());
    let pids = vec![p.pids[1], p.pids[0], p.pids[2]];
    let confused = attach(&MemoryFile::create(0).expect("a file"), p.rank, pids, true);
    let ticket = SegmentTicket::from_words(p.read()).expect("a ticket");
    assert!(matches!(confused.map_segment(Peer(0), &ticket), Err(TakeError::NotOffered(_))));
    assert!(!confused.can_read(Peer(0)), "no process has proven anything");
    p.meet_all(2);
}

/// Each process becomes a user of its own, if it may, and one that others may not look into.
fn strangers_share_memory(p: &Process) {
    // SAFETY: numbers alone; this process has one thread.
    unsafe {
        let user = 65_500 + p.rank as libc::uid_t;
        libc::setresuid(user, user, user);
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    p.meet_all(1);
    let made = (p.rank == 0).then(|| p.node.create_segment(3 << 20, 0).expect("memory"));
    if let Some(made) = &made {
        p.write(made.ticket().expect("a maker's").words());
    }
    p.meet_all(2);
    let segment = made.unwrap_or_else(|| p.map(0).expect("mapped"));
    assert_eq!(segment.len(), 3 << 20);
    let last = words(&segment).len() - 1;
    assert!([0, p.rank, last].iter().all(|&at| words(&segment)[at].load(Ordering::SeqCst) == 0));
    p.meet_all(3);
    words(&segment)[last - p.rank].store(100 + p.rank as u64, Ordering::SeqCst);
    p.meet_all(4);
    for rank in 0..p.count {
        assert_eq!(words(&segment)[last - rank].load(Ordering::SeqCst), 100 + rank as u64);
    }
}

/// Bytes of the node's file that have memory.
fn allocated(p: &Process) -> u64 {
    // SAFETY: plain data that the call fills, of the descriptor that `run` has opened.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        assert_eq!(libc::fstat(p.file, &raw mut stat), 0);
        stat.st_blocks as u64 * 512
    }
}

/// The maker lets its memory go first, then all but one; when the last one does, the memory goes back.
fn the_last_user_gives_memory_back(p: &Process) {
    let before = allocated(p);
    p.meet_all(1);
    let mut made = (p.rank == 0).then(|| p.node.create_segment(8 << 20, 0).expect("memory"));
    if let Some(made) = &made {
        words(made)[9].store(99, Ordering::SeqCst);
        p.write(made.ticket().expect("a maker's").words());
    }
    p.meet_all(2);
    let mut taken = (p.rank > 0).then(|| p.map(0).expect("mapped"));
    assert!(allocated(p) >= before + (8 << 20));
    p.meet_all(3);
    if let Some(made) = &mut made {
        made.withdraw();
        assert!(made.ticket().is_none());
    }
    drop(made);
    drop(taken.take_if(|_| p.rank == 1));
    p.meet_all(4);
    if let Some(taken) = &taken {
        assert_eq!(words(taken)[9].load(Ordering::SeqCst), 99);
    }
    assert!(allocated(p) >= before + (8 << 20));
    p.meet_all(5);
    drop(taken);
    p.meet_all(6);
    assert_eq!(allocated(p), before);
    assert!(matches!(p.map(0), Err(TakeError::NotOffered(_))));
    assert_eq!(allocated(p), before, "a look at what is gone brings nothing back");
}

fn places_that_no_rank_gave_are_refused(p: &Process) {
    const IN_NODE: u64 = 1 << 63;
    if p.rank == 0 {
        let made = p.node.create_segment(4096, 0).expect("memory");
        p.write(made.ticket().expect("a maker's").words());
        p.meet_all(1);
        return p.meet_all(2);
    }
    p.meet_all(1);
    let [place, bytes, first, second] = p.read();
    assert!(p.map(0).is_ok());
    let refused = [
        // The node's segment itself, the end of the file, beyond it, and what was never allocated.
        [IN_NODE, bytes, first, second],
        [IN_NODE | (1 << 50), bytes, first, second],
        [IN_NODE | ((1 << 51) - 1), bytes, first, second],
        [place + 512, bytes, first, second],
        // Longer than the file, another number, and a page that begins no segment.
        [place, 1 << 62, first, second],
        [place, bytes, first ^ 1, second],
        [place + 1, bytes, first, second],
    ];
    for words in refused {
        let mapped = SegmentTicket::from_words(words).map(|ticket| p.node.map_segment(Peer(0), &ticket));
        assert!(!matches!(mapped, Some(Ok(_))), "{words:x?}");
    }
    let ticket = SegmentTicket::from_words(p.read()).expect("a ticket");
    assert!(matches!(p.node.map_segment(Peer(7), &ticket), Err(TakeError::Unknown)));
    p.meet_all(2);
}

/// A process sets the count of what was taken back, or to its end: the other one's memory stays its own.
fn places_are_given_once(p: &Process) {
    let taken = p.node.segment().taken();
    if p.rank == 0 {
        let made = p.node.create_segment(1 << 20, 0).expect("memory");
        words(&made).iter().for_each(|word| word.store(7, Ordering::SeqCst));
        taken.store(0, Ordering::SeqCst);
        p.meet_all(1);
        p.meet_all(2);
        assert!(words(&made).iter().all(|word| word.load(Ordering::SeqCst) == 7));
        return;
    }
    p.meet_all(1);
    for count in [0, 1, u64::MAX, u64::MAX - 4095, 1 << 62] {
        taken.store(count, Ordering::SeqCst);
        let made = p.node.create_segment(1 << 20, 0).expect("memory");
        assert!(words(&made).iter().all(|word| word.load(Ordering::SeqCst) == 0), "of {count:x}");
        words(&made).iter().for_each(|word| word.store(8, Ordering::SeqCst));
        std::mem::forget(made);
    }
    p.meet_all(2);
}

/// Rank 0 is killed. Its number, as rank 2 knows it, is that of a process that lives, as where the system has given it anew; as
/// it knows that of rank 1, no process has it, as in another pid namespace.
fn an_end_is_seen(p: &Process) {
    if p.rank < 2 {
        p.meet_all(1);
        return wait_until(|| p.rank == 1 && p.board[WORDS].load(Ordering::SeqCst) == 1);
    }
    let pids = vec![p.pids[1], 1 << 30, p.pids[2]];
    let file = MemoryFile { fd: p.duplicate(), bytes: 0 };
    let node = attach(&file, p.rank, pids, false);
    p.meet_all(1);
    assert!(!node.has_ended(Peer(0)) && !node.has_ended(Peer(1)) && !node.has_ended(Peer(2)));
    kill(p.pids[0]);
    assert!(node.has_ended(Peer(0)) && !node.has_ended(Peer(1)));
    p.board[WORDS].store(1, Ordering::SeqCst);
}

/// Each area is claimed for both; the second process takes one of them, and has left the making of the others.
fn areas_not_taken(p: &Process) {
    let both = [Peer(0), Peer(1)];
    let names: Vec<AreaName> = match p.rank {
        0 => std::iter::from_fn(|| p.node.claim_area(&both)).collect(),
        _ => Vec::new(),
    };
    if p.rank == 0 {
        p.write([names[0].base]);
    }
    p.meet_all(1);
    let taken: Vec<AreaName> = match p.rank {
        0 => names.clone(),
        _ => vec![AreaName { number: 1, base: p.read::<1>()[0] }],
    };
    let held: Vec<_> =
        taken.iter().map(|&name| p.node.area(name, &both, Peer(p.rank as u32)).unwrap()).collect();
    p.node.release_areas_not_taken();
    p.meet_all(2);
    if p.rank == 0 {
        drop(held);
        let again: Vec<AreaName> = std::iter::from_fn(|| p.node.claim_area(&both)).collect();
        assert!(again.len() == names.len() - 1 && again.iter().all(|name| name.number != names[0].number));
    }
    p.meet_all(3);
}

/// Each area is claimed for all; the last process dies in them.
fn areas_of_the_dead(p: &Process) {
    let all = [Peer(0), Peer(1), Peer(2)];
    let claim = || p.node.claim_area(&all);
    let free = p.node.segment().area_directory().len() - 1;
    if p.rank == 2 {
        p.meet_all(1);
        let name = AreaName { number: 1, base: p.read::<1>()[0] };
        let mut area = p.node.area(name, &all, Peer(2)).unwrap();
        // As far ahead of the others as it can be.
        let last = area.take_epochs(SLOTS as u64) + SLOTS as u64 - 1;
        area.slots().publish(Owner::Member(2), last, &[1]);
        std::mem::forget(area);
        p.meet_all(2);
        return wait_until(|| false);
    }
    if p.rank == 0 {
        let names: Vec<AreaName> = std::iter::from_fn(claim).collect();
        assert!(names.len() == free && free > 0);
        p.write([names[0].base]);
        p.meet_all(1);
        let held: Vec<_> = names.iter().map(|&name| p.node.area(name, &all, Peer(0)).unwrap()).collect();
        p.meet_all(2);
        p.meet(3, 1);
        p.node.release_areas_of_the_dead();
        assert_eq!(claim(), None, "one that lives holds them all");
        drop(held);
        let again: Vec<AreaName> = std::iter::from_fn(claim).collect();
        assert_eq!(again.len(), free);
        let mut area = p.node.area(again[0], &all, Peer(0)).unwrap();
        let first = area.take_epoch();
        assert!((0..SLOTS as u64).all(|later| !area.slots().carries(Owner::Member(2), first + later)));
    } else {
        p.meet_all(1);
        let bases = p.read::<1>();
        let names = (1..=free).map(|number| AreaName { number, base: bases[0] });
        let held: Vec<_> = names.map(|name| p.node.area(name, &all, Peer(1)).unwrap()).collect();
        p.meet_all(2);
        kill(p.pids[2]);
        drop(held);
        p.meet(3, 1);
    }
}

/// The number by which a process is known is another one: its memory is read no more, as when its id is another process's.
fn copies_need_the_number(p: &Process) {
    let mut number = 5u64;
    if p.rank == 0 {
        p.write([&raw const number as u64]);
        p.meet_all(1);
        return p.meet_all(2);
    }
    p.meet_all(1);
    let [address] = p.read();
    // SAFETY: a variable of ours that lives until the copy is over.
    let into = unsafe { UserMem::new(&raw mut number as usize, 8) };
    if p.node.can_read(Peer(0)) {
        assert!(p.node.read(Peer(0), address, into).is_ok());
        p.node.segment().identity(0).nonce.fetch_xor(1, Ordering::SeqCst);
        // Once in a tick of the system is looked.
        wait_until(|| p.node.read(Peer(0), address, into).is_err());
        assert!(!p.node.can_read(Peer(0)));
    }
    p.meet_all(2);
}

fn kill(pid: i32) {
    // Before the kill: the test's first process may reap it at once.
    let handle = platform::pidfd::Pidfd::open(pid).expect("it lives");
    // SAFETY: a process that this test started and has not reaped.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    wait_until(|| handle.has_ended());
}

/// A process's view of the node in `file`, or of one of its own.
fn attach(file: &MemoryFile, rank: usize, pids: Vec<i32>, apart: bool) -> Arc<Node> {
    let count = pids.len();
    let layout = Layout::new(Shape::without_messages(count));
    let fd = match apart {
        false => file.fd.try_clone().expect("a descriptor"),
        true => {
            let own = MemoryFile::create(layout.bytes() as u64).expect("memory");
            own.allocate().expect("memory");
            own.fd
        }
    };
    let place = Attach {
        fd,
        layout,
        local_index: rank,
        local_peers: (0..count as u32).map(Peer).collect(),
        pids,
        oversubscribed: false,
        // As a proxy would be, the ancestor of all; elsewhere than under Yama it does not matter.
        proxy_pid: Some(std::os::unix::process::parent_id() as i32),
    };
    Node::attach(place, &NodeParams::default()).expect("attached")
}

/// Runs a case in processes of their own; whether all went well that were not killed by others.
fn run(name: &str, count: usize, case: Case) -> bool {
    let board_file = MemoryFile::create(4096).expect("memory");
    board_file.allocate().expect("memory");
    let layout = Layout::new(Shape::without_messages(count));
    let file = MemoryFile::create(layout.bytes() as u64).expect("memory");
    file.allocate_with_room().expect("memory");
    let board = || -> &'static [AtomicU64] {
        Box::leak(Box::new(SharedMemory::map(&board_file).expect("mapped"))).words(512)
    };
    let ours = board();
    let children: Vec<i32> = (0..count)
        .map(|rank| {
            // SAFETY: this process has one thread, so the child may go on freely.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork");
            if pid == 0 {
                // A forked child does not have mappings of its parent.
                let board = board();
                let places = || board[480..].iter().take(count);
                wait_until(|| places().all(|pid| pid.load(Ordering::SeqCst) != 0));
                let pids: Vec<i32> = places().map(|pid| pid.load(Ordering::SeqCst) as i32).collect();
                let process = Process {
                    rank,
                    count,
                    node: attach(&file, rank, pids.clone(), false),
                    board,
                    pids,
                    file: file.fd.as_raw_fd(),
                };
                process.meet_all(31);
                case(&process);
                std::process::exit(0);
            }
            pid
        })
        .collect();
    for (place, &pid) in ours[480..].iter().zip(&children) {
        place.store(pid as u64, Ordering::SeqCst);
    }
    let well = children.into_iter().map(|pid| {
        let mut status = 0;
        // SAFETY: a child that only this call waits for, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
        killed || (libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
    });
    let good = well.fold(true, |all, one| all & one);
    println!("{} {name}", if good { "ok" } else { "FAILED" });
    good
}

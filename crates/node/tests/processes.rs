//! Memory and descriptors between real processes, two and three of them: handed over after initialisation, by processes
//! that know nothing of each other but the node's segment and the words of a ticket.
//!
//! Without a test harness: its threads would not be in the forked processes.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use btl::Peer;
use node::{Attach, DescriptorTicket, Node, NodeParams, Offer, SegmentTicket, SharedSegment, TakeError};
use platform::memory_file::MemoryFile;
use shm::{Layout, Shape, SharedMemory};

fn main() {
    let cases: [(&str, usize, Case); 6] = [
        ("three processes share memory that one of them makes", 3, memory_is_shared),
        ("memory outlives its maker", 3, memory_outlives_its_maker),
        ("a maker that was killed is noticed", 2, a_killed_maker_is_noticed),
        ("a number that means something else by now is refused", 2, a_reused_number_is_refused),
        ("a descriptor is taken, and a withdrawn one is not", 3, descriptors_are_taken),
        ("a process id that is another's is refused", 3, another_process_is_refused),
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

    fn map(&self, maker: u32) -> Result<SharedSegment, TakeError> {
        let ticket = SegmentTicket::from_words(self.read()).expect("a ticket");
        self.node.map_segment(Peer(maker), &ticket)
    }
}

fn wait_until(happens: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happens() {
        assert!(begun.elapsed() < LONGEST, "the others do not come");
        std::thread::yield_now();
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

fn descriptors_are_taken(p: &Process) {
    if p.rank == 0 {
        let (mut reader, writer) = std::io::pipe().expect("a pipe");
        let offer = Offer::new(OwnedFd::from(writer)).expect("an offer");
        p.write(offer.ticket().words());
        p.meet_all(1);
        let mut bytes = [0; 2];
        // All others take and write, or the system refuses.
        p.meet_all(2);
        if p.board[WORDS + 8].load(Ordering::SeqCst) == 0 {
            reader.read_exact(&mut bytes).expect("a byte of each");
            bytes.sort();
            assert_eq!(bytes, [1, 2]);
        }
        let number = offer.fd().as_raw_fd();
        drop(offer);
        let other = File::open("/proc/self/exe").expect("a file");
        assert_eq!(other.as_raw_fd(), number, "the lowest free number is given again");
        p.meet_all(3);
        p.meet_all(4);
        return;
    }
    p.meet_all(1);
    let ticket = DescriptorTicket::from_words(p.read()).expect("a ticket");
    let refused = match p.node.take(Peer(0), &ticket) {
        Ok(fd) => {
            File::from(fd).write_all(&[p.rank as u8]).expect("a pipe with room");
            false
        }
        Err(TakeError::Refused(_)) => true,
        Err(error) => panic!("{error}"),
    };
    p.board[WORDS + 8].fetch_or(u64::from(refused), Ordering::SeqCst);
    p.meet_all(2);
    p.meet_all(3);
    let again = p.node.take(Peer(0), &ticket);
    assert!(refused || matches!(again, Err(TakeError::NotOffered(_))), "{again:?}");
    p.meet_all(4);
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
    assert!(!confused.can_read(Peer(0)), "nobody has proven anything");
    p.meet_all(2);
}

fn kill(pid: i32) {
    // SAFETY: a process that this test started, and that nobody has reaped.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    let handle = platform::pidfd::Pidfd::open(pid).expect("not reaped yet");
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
        // As a guard would be, the ancestor of all; elsewhere than under Yama it does not matter.
        guard_pid: Some(std::os::unix::process::parent_id() as i32),
    };
    Node::attach(place, &NodeParams::default()).expect("attached")
}

/// Runs a case in processes of their own; whether all went well that were not killed by others.
fn run(name: &str, count: usize, case: Case) -> bool {
    let board_file = MemoryFile::create(4096).expect("memory");
    board_file.allocate().expect("memory");
    let layout = Layout::new(Shape::without_messages(count));
    let file = MemoryFile::create(layout.bytes() as u64).expect("memory");
    file.allocate().expect("memory");
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
                let process =
                    Process { rank, count, node: attach(&file, rank, pids.clone(), false), board, pids };
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
        // SAFETY: a child that nobody else waits for, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
        killed || (libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
    });
    let good = well.fold(true, |all, one| all & one);
    println!("{} {name}", if good { "ok" } else { "FAILED" });
    good
}

//! Two processes, one per core, over the bare transport: latency, message rate and bandwidth.
//!
//! `cargo run --release -p alhena-btl-vader --example pair [floor|latency|rate|eager|single|SIZE]...`
//!
//! The numbers behind the transport's defaults come from here. Parameters are taken from the environment
//! (`ALHENA_MCA_btl_vader_*`). Each figure is the best of several rounds.

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use btl::{Access, Btl, Event, Peer, RemoteKey};
use btl_vader::{Vader, VaderParams, segment_bytes};
use mem::UserMem;
use node::{Attach, Node, NodeParams};

const ROUNDS: usize = 9;
const WINDOW: usize = 64;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_size = |word: &&String| word.parse::<usize>().is_ok();
    let sizes: Vec<usize> = wanted.iter().filter_map(|word| word.parse().ok()).collect();
    let any = wanted.iter().all(|word| is_size(&word));
    let wants = |name: &str| any || wanted.iter().any(|word| word == name);
    let wants_size = |size: usize| sizes.is_empty() || sizes.contains(&size);
    let pair = start();
    let mut bench = Bench { vader: pair.vader, first: pair.first, other: Peer(u32::from(pair.first)) };
    bench.meet_all();
    if wants("floor") {
        bench.say("cache line, one way", floor(pair.lines, pair.first), "");
    }
    if wants("latency") {
        for size in [0, 8, 40, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768] {
            if wants_size(size) {
                let time = bench.best(|bench| bench.ping_pong(size));
                bench.say("one way", time, &format!("{size} B"));
            }
        }
    }
    if wants("rate") {
        let time = bench.best(|bench| bench.stream_eager(8, 500 * WINDOW));
        bench.say("each of a stream", time, "8 B");
    }
    for (name, single) in [("eager", false), ("single", true)] {
        if wants(name) {
            for shift in 9..=23 {
                let (size, count) = (1usize << shift, ((32 << 20) >> shift).clamp(WINDOW, 4096));
                if !wants_size(size) {
                    continue;
                }
                let time = if single {
                    bench.best(|bench| bench.stream_single(size, count))
                } else {
                    bench.best(|bench| bench.stream_eager(size, count))
                };
                let rate = size as f64 / time.as_nanos() as f64;
                bench.say(name, time, &format!("{size} B, {rate:.2} GB/s"));
            }
        }
    }
}

struct Bench {
    vader: Vader,
    first: bool,
    other: Peer,
}

impl Bench {
    fn say(&self, what: &str, time: Duration, more: &str) {
        if self.first {
            println!("{what:>20} {:>10.1} ns   {more}", time.as_secs_f64() * 1e9);
        }
    }

    /// The best round of `measure`, which gives the time of one message. Both sides start each together.
    fn best(&mut self, mut measure: impl FnMut(&mut Bench) -> Duration) -> Duration {
        (0..ROUNDS).map(|_| measure(self)).min().unwrap_or_default()
    }

    fn send(&mut self, header: &[u64], payload: &[u8]) {
        // SAFETY: the slice outlives the loop, and is only read.
        let memory = unsafe { UserMem::new(payload.as_ptr() as usize, payload.len()) };
        while self.vader.send(self.other, header, &mut memory.clone()).is_err() {
            std::hint::spin_loop();
        }
    }

    fn receive(&mut self, into: &mut [u8]) -> [u64; 4] {
        // SAFETY: the slice outlives the call.
        let memory = unsafe { UserMem::of(into) };
        loop {
            if let Some(arrival) = self.vader.next_arrival_from(self.other) {
                let header = [0, 1, 2, 3].map(|index| arrival.header.word(index));
                memory.write(arrival.payload);
                self.vader.release(arrival);
                return header;
            }
            // Without a pause the arrival of the line costs a flush of the loads in flight: 5 to 50 ns.
            std::hint::spin_loop();
        }
    }

    fn ping_pong(&mut self, size: usize) -> Duration {
        const COUNT: u32 = 300;
        let (mut into, from) = (vec![0; size], vec![1; size]);
        self.meet();
        let start = Instant::now();
        for number in 0..COUNT {
            if self.first {
                self.send(&[u64::from(number), 7], &from);
                self.receive(&mut into);
            } else {
                self.receive(&mut into);
                self.send(&[u64::from(number), 7], &from);
            }
        }
        start.elapsed() / (2 * COUNT)
    }

    /// One way, in fragments of `max_send`; an answer after each window.
    fn stream_eager(&mut self, size: usize, count: usize) -> Duration {
        let most = self.vader.limits(self.other).max_send;
        let mut buffer = vec![1; size];
        self.meet();
        let start = Instant::now();
        for number in 0..count {
            for part in buffer.chunks_mut(most) {
                if self.first {
                    self.send(&[number as u64, 7], part);
                } else {
                    self.receive(part);
                }
            }
            if number % WINDOW == WINDOW - 1 {
                self.answer();
            }
        }
        self.answer();
        start.elapsed() / count as u32
    }

    /// The receiver says that it got everything.
    fn answer(&mut self) {
        if self.first {
            self.receive(&mut []);
        } else {
            self.send(&[0], &[]);
        }
    }

    /// One way by expose and get: request, get, and an answer for each; a window of requests under way.
    fn stream_single(&mut self, size: usize, count: usize) -> Duration {
        let mut buffer = vec![1u8; size];
        // SAFETY: the buffer outlives the copies, which are awaited below.
        let memory = unsafe { UserMem::of(&mut buffer) };
        self.meet();
        let start = Instant::now();
        if self.first {
            self.offer(memory, count)
        } else {
            self.fetch(memory, count)
        }
        start.elapsed() / count as u32
    }

    fn offer(&mut self, memory: UserMem, count: usize) {
        let (mut offered, mut finished) = (0, 0);
        while finished < count {
            if offered < count && offered < finished + WINDOW {
                let key =
                    self.vader.expose(self.other, memory, Access::Read).expect("single copy works here");
                self.send(&[7, key.0[0], key.0[1], key.0[2]], &[]);
                offered += 1;
                continue;
            }
            self.vader.next_event();
            if let Some(arrival) = self.vader.next_arrival_from(self.other) {
                let key = RemoteKey([1, 2, 3].map(|index| arrival.header.word(index)));
                self.vader.release(arrival);
                self.vader.conceal(self.other, key);
                finished += 1;
            }
        }
    }

    fn fetch(&mut self, memory: UserMem, count: usize) {
        let mut keys = std::collections::VecDeque::new();
        let mut finished = 0;
        while finished < count {
            if let Some(arrival) = self.vader.next_arrival_from(self.other) {
                let key = RemoteKey([1, 2, 3].map(|index| arrival.header.word(index)));
                self.vader.release(arrival);
                self.vader.get(self.other, memory, &key, 0, 1).expect("single copy works here");
                keys.push_back(key);
            }
            match self.vader.next_event() {
                Some(Event::Done(_)) => {
                    let key: RemoteKey = keys.pop_front().expect("one per get");
                    self.send(&[7, key.0[0], key.0[1], key.0[2]], &[]);
                    finished += 1;
                }
                Some(other) => panic!("{other:?}"),
                None => {}
            }
        }
    }

    /// Lets both sides use their fastbox, so that short cuts find it.
    fn meet_all(&mut self) {
        for _ in 0..8 {
            if self.first {
                self.send(&[0], &[]);
            }
            while self.vader.next_arrival().map(|arrival| self.vader.release(arrival)).is_none() {}
            if !self.first {
                self.send(&[0], &[]);
            }
        }
    }

    fn meet(&mut self) {
        if self.first {
            self.send(&[0], &[]);
            self.receive(&mut []);
        } else {
            self.receive(&mut []);
            self.send(&[0], &[]);
        }
    }
}

/// Half a round trip of one cache line per direction and nothing else: what the machine allows.
fn floor(lines: &'static [AtomicU64], first: bool) -> Duration {
    const COUNT: u32 = 300;
    let (mine, theirs) = if first { (&lines[0], &lines[16]) } else { (&lines[16], &lines[0]) };
    let mut best = Duration::MAX;
    let mut number = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..COUNT {
            number += 1;
            if first {
                mine.store(number, Ordering::Release);
            }
            while theirs.load(Ordering::Acquire) != number {
                std::hint::spin_loop();
            }
            if !first {
                mine.store(number, Ordering::Release);
            }
        }
        best = best.min(start.elapsed() / (2 * COUNT));
    }
    best
}

struct Pair {
    vader: Vader,
    first: bool,
    lines: &'static [AtomicU64],
}

/// Becomes two processes that share a segment, each on a core of its own.
fn start() -> Pair {
    let bytes = segment_bytes(2);
    let (fd, lines) = (memory_file(bytes), shared_lines());
    let parent = std::process::id() as i32;
    let (mut to_child, mut to_parent) = ([0; 2], [0; 2]);
    // SAFETY: two places for descriptors each; and the process has one thread, so the child may go on freely.
    let child = unsafe {
        libc::pipe(to_child.as_mut_ptr());
        libc::pipe(to_parent.as_mut_ptr());
        libc::fork()
    };
    let first = child != 0;
    let pids = if first { vec![parent, child] } else { vec![parent, std::process::id() as i32] };
    pin(usize::from(!first));
    platform::ptracer::allow(if first { child } else { parent });
    let values = mca::Values::from_variables(std::env::vars());
    let params = VaderParams::read(&values).expect("parameters");
    let place = Attach {
        fd,
        layout: params.layout(2, bytes),
        local_index: usize::from(!first),
        local_peers: vec![Peer(0), Peer(1)],
        pids,
        oversubscribed: false,
        proxy_pid: None,
    };
    let node = Node::attach(place, &NodeParams::read(&values).expect("parameters")).expect("attached");
    let vader = Vader::new(node, &params);
    let (mine, theirs) = if first { (to_child[1], to_parent[0]) } else { (to_parent[1], to_child[0]) };
    // SAFETY: one byte each way: both have attached.
    unsafe {
        libc::write(mine, [0u8].as_ptr().cast(), 1);
        libc::read(theirs, [0u8].as_mut_ptr().cast(), 1);
    }
    Pair { vader, first, lines }
}

fn memory_file(bytes: u64) -> OwnedFd {
    // SAFETY: a constant name; the descriptor is ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"segment".as_ptr(), libc::MFD_CLOEXEC)) };
    std::fs::File::from(fd.try_clone().expect("a descriptor")).set_len(bytes).expect("memory");
    fd
}

fn shared_lines() -> &'static [AtomicU64] {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping of a page, never unmapped, shared with the child; atomics of any value are valid.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        std::slice::from_raw_parts(at.cast(), 32)
    }
}

fn pin(core: usize) {
    // SAFETY: a zeroed set is an empty one; the call reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

//! Active messages between real processes that sleep: through vader, over TCP, both, and of a process with itself.
//!
//! Without a test harness: its threads would not be in the forked processes.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bml::{AtNode, Bml, Transports};
use btl::{Btl, Class, Peer, Sleep};
use btl_tcp::{JobProof, Listening, Tcp, TcpParams};
use btl_vader::{Vader, VaderParams, segment_bytes};
use engine::{
    Classes, Domain, Handler, Head, How, Interest, Layer, Linked, Message, News, Owner, P2p, Peers, Progress,
    Refused, Threads, Token,
};
use mem::{PeerBytes, UserMem};
use node::{Attach, Node, NodeParams};
use platform::memory_file::MemoryFile;
use platform::waiter::Policy;
use pml::{Data, Mode, Pattern, ReqId, SendTo};
use pml_ob1::{Config, Ob1};

fn main() {
    let cases = [
        ("alone", 1, false, false),
        ("three processes through vader", 3, true, false),
        ("three processes over TCP", 3, false, true),
        ("two through vader, the third over TCP", 3, true, true),
    ];
    let good = cases.map(|(name, count, vader, tcp)| run(name, count, vader, tcp));
    assert!(good.into_iter().all(|good| good), "see above");
}

/// The state of a process: the way to the others, and what its class has seen.
struct State {
    p2p: P2p,
    classes: Classes<State>,
    threads: Threads<Interest>,
    seen_changes: u32,
    /// Requests to each process that are not sent yet, the next of which is numbered so.
    next: Vec<u64>,
    handled: Vec<u64>,
    answers: u64,
}

/// Requests from each process to each.
const REQUESTS: u64 = 500;
const REQUEST: u8 = 1;
const ANSWER: u8 = 2;
/// A length at which frames overtake each other where a transport has several paths.
const LENGTHS: [usize; 4] = [0, 20, 300, 3000];

/// The class of these messages: each request is answered with its number.
struct Numbers;

impl Handler<State> for Numbers {
    const CLASS: Class = Class::Test;

    fn on_message(state: &mut State, message: &Message<'_>) {
        let (from, words) = (message.from.0 as usize, message.words());
        let payload = message.payload.to_vec();
        if message.is_answer {
            assert_eq!((message.kind, words.len()), (ANSWER, 1));
            state.answers += 1;
            return;
        }
        let number = state.handled[from];
        assert_eq!(words, [number, !number], "in order, each once");
        assert!(payload == content(number));
        state.handled[from] += 1;
        // Polling inside a handler does nothing.
        assert_eq!(engine::poll(state), 0);
        let head = Head { class: Class::Test, kind: ANSWER, words: &[number] };
        state.p2p.answer(message.from, head, &mut PeerBytes::of(&payload));
    }

    fn on_room(state: &mut State) {
        send_requests(state);
    }
}

fn content(number: u64) -> Vec<u8> {
    (0..LENGTHS[number as usize % 4]).map(|at| (number as usize + at * 7) as u8).collect()
}

/// Sends requests until each is sent or refused; after a refusal the caller calls again.
fn send_requests(state: &mut State) {
    for to in 0..state.next.len() {
        while state.next[to] < REQUESTS {
            let number = state.next[to];
            let head = Head { class: Class::Test, kind: REQUEST, words: &[number, !number] };
            match state.p2p.request(Peer(to as u32), head, &mut PeerBytes::of(&content(number))) {
                Ok(()) => state.next[to] += 1,
                Err(Refused::Busy) => break,
                Err(Refused::Lost) => panic!("rank {to} is lost"),
            }
        }
    }
}

static DOMAIN: Domain<State> = Domain::new();

impl Owner for State {
    fn domain() -> &'static Domain<State> {
        &DOMAIN
    }

    fn create() -> State {
        State {
            p2p: P2p::new(Bml::solo(), Layer::ob1(Ob1::new(Config::new(1))), Peers::of_job(0, 1)),
            classes: Classes::new().with::<Numbers>(),
            threads: Threads::default(),
            seen_changes: 0,
            next: Vec::new(),
            handled: Vec::new(),
            answers: 0,
        }
    }

    fn news(&mut self) -> Option<News> {
        let changes = self.p2p.changes();
        if std::mem::replace(&mut self.seen_changes, changes) != changes {
            self.threads.changed();
        }
        let bell = self.p2p.bml.bell();
        self.threads.news(|_| true).map(|wakes| News { wakes, bell })
    }
}

impl Progress for State {
    fn threads(&mut self) -> &mut Threads<Interest> {
        &mut self.threads
    }

    fn policy(&self) -> Policy {
        // Sleeps at once, so that every wake-up is needed.
        Policy { spin: Duration::ZERO, yields: 0 }
    }

    fn progress(&mut self) -> bool {
        let happened = engine::poll(self) > 0;
        if happened {
            self.threads.changed();
        }
        happened
    }

    fn call_is_due(&self) -> bool {
        false
    }

    fn call(_: &mut Token<State>) {}

    fn wants_turn(&self) -> bool {
        self.p2p.needs_turn()
    }

    fn arm(&mut self) -> Option<Sleep> {
        self.p2p.bml.arm()
    }

    fn must_arm_again(&self) -> bool {
        self.p2p.bml.must_arm_again()
    }

    fn disarm(&mut self) {
        self.p2p.bml.disarm();
    }

    fn must_look_for_losses(&self) -> bool {
        self.p2p.must_look_for_losses()
    }

    fn look_for_losses(&mut self) -> bool {
        self.p2p.look_for_losses(|_| false)
    }

    fn is_settled(&self) -> bool {
        false
    }

    fn show(&self, _: &observe::Section) {}

    fn request(&self, _: pml::ReqId) -> engine::Reason {
        engine::Reason::outside()
    }
    fn begun(&self) -> Vec<observe::Part> {
        Vec::new()
    }
}

impl Linked for State {
    fn p2p(&mut self) -> &mut P2p {
        &mut self.p2p
    }

    fn links(&self) -> &P2p {
        &self.p2p
    }

    fn classes(&self) -> &Classes<State> {
        &self.classes
    }

    fn poll(&mut self) -> usize {
        engine::poll(self)
    }
}

/// What a process does: requests to all, while messages of the message layer go to and fro.
fn program(bml: Bml, rank: usize, count: usize) {
    let mut t = engine::enter_any::<State>();
    {
        let mut state = t.lock();
        state.p2p =
            P2p::new(bml, Layer::ob1(Ob1::new(Config::new(count as u32))), Peers::of_job(0, count as u32));
        (state.next, state.handled) = (vec![0; count], vec![0; count]);
    }
    DOMAIN.set_mode(engine::Mode::Running, true);
    send_requests(&mut t.lock());
    // A ring of messages with the wildcard, so that a receive without a request meets frames of the other class.
    let (next, mut byte) = ((rank + 1) % count, [0u8; 64]);
    for round in 0..100u8 {
        let mut sent = [round; 64];
        let to = SendTo { peer: Peer(next as u32), context: 0, source: rank as u32, tag: 5, owner: 0 };
        // SAFETY: both buffers live until their operations are over, below.
        let (from, into) = unsafe { (UserMem::of(&mut sent), UserMem::of(&mut byte)) };
        let send = engine::isend(&mut *t.lock(), &to, Data::Contiguous(from), Mode::Standard).expect("names");
        let pattern = Pattern { context: 0, source: -1, tag: 5, peer: None, owner: 0 };
        let here = engine::recv_now(&mut *t.lock(), &pattern, into).is_some();
        if !here {
            let id = t.lock().p2p.irecv(&pattern, Data::Contiguous(into)).expect("names");
            finish(&mut t, id);
        }
        if let Some(id) = send {
            finish(&mut t, id);
        }
        assert_eq!(byte, [round; 64]);
    }
    let all = REQUESTS * count as u64;
    engine::wait(
        &mut t,
        How::Parked(Interest::Change),
        |_: &mut State| engine::Reason::outside(),
        |state: &mut State| {
            (state.answers == all && state.handled.iter().all(|&handled| handled == REQUESTS)).then_some(())
        },
    );
    // No process leaves before all have what they wait for.
    for step in 1..count {
        let partner = [(rank + step) % count, (rank + count - step) % count];
        let (mut out, mut back) = ([1u8], [0u8]);
        let to = SendTo { peer: Peer(partner[0] as u32), context: 1, source: rank as u32, tag: 0, owner: 0 };
        let peer = Some(Peer(partner[1] as u32));
        let pattern = Pattern { context: 1, source: partner[1] as i32, tag: 0, peer, owner: 0 };
        // SAFETY: as above.
        let (from, into) = unsafe { (UserMem::of(&mut out), UserMem::of(&mut back)) };
        let send = engine::isend(&mut *t.lock(), &to, Data::Contiguous(from), Mode::Standard).expect("names");
        let receive = t.lock().p2p.irecv(&pattern, Data::Contiguous(into)).expect("names");
        finish(&mut t, receive);
        if let Some(id) = send {
            finish(&mut t, id);
        }
    }
    engine::wait(
        &mut t,
        How::Active,
        |_: &mut State| engine::Reason::outside(),
        |state: &mut State| (state.p2p.idle() && state.p2p.is_flushed()).then_some(()),
    );
    let state = t.lock();
    assert_eq!((state.p2p.strays(), state.p2p.active().bad_frames()), (0, 0));
}

fn finish(t: &mut Token<State>, id: ReqId) {
    let done = engine::wait(
        t,
        How::Parked(Interest::Request(id)),
        |_: &mut State| engine::Reason::outside(),
        |state: &mut State| state.p2p.take(id),
    );
    assert_eq!(done.error, abi::SUCCESS);
}

/// Runs the program in processes of their own; whether all ended well.
fn run(name: &str, count: usize, vader: bool, tcp: bool) -> bool {
    // With both, the last process is on a node of its own.
    let local = if vader && tcp { count - 1 } else { count };
    let file = MemoryFile::create(segment_bytes(local) as u64).expect("memory");
    file.allocate().expect("memory");
    let params = TcpParams { if_include: "lo".into(), ..TcpParams::default() };
    let ports: Vec<Listening> = (0..count).map(|_| Listening::new(&params).expect("a port")).collect();
    let cards: Box<[_]> = ports.iter().map(Listening::card).collect();
    let parent = std::process::id() as i32;
    let mut ports = ports.into_iter();
    let children: Vec<i32> = (0..count)
        .map(|rank| {
            let port = ports.next();
            // SAFETY: this process has one thread, so the child may go on freely.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0, "fork");
            if pid == 0 {
                let fd = file.fd.try_clone().expect("a descriptor");
                let node = (vader && rank < local).then(|| attach(fd, rank, local, parent));
                let at_node = node.as_ref().map(|node| AtNode { doorbell: node.doorbell(), shared: true });
                let vader = node.map(|node| Vader::new(node, &VaderParams::default()));
                let open = |port: Listening| -> Tcp {
                    port.open(Peer(rank as u32), JobProof { id: 1, key: 2 }, cards.clone(), &params, None)
                };
                let tcp = port.filter(|_| tcp).map(open);
                let bml = match count {
                    1 => Bml::solo(),
                    _ => {
                        let transports = Transports { vader, tcp, ..Transports::default() };
                        Bml::new(Peer(rank as u32), count, at_node, transports).expect("all are reached")
                    }
                };
                program(bml, rank, count);
                std::process::exit(0);
            }
            pid
        })
        .collect();
    let well = children.into_iter().map(|pid| {
        let mut status = 0;
        // SAFETY: a child that no other call waits for, and a place for its status.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    });
    let good = well.fold(true, |all, one| all & one);
    println!("{} {name}", if good { "ok" } else { "FAILED" });
    good
}

fn attach(fd: OwnedFd, rank: usize, count: usize, parent: i32) -> Arc<Node> {
    let params = VaderParams::default();
    let place = Attach {
        fd,
        layout: params.layout(count, segment_bytes(count)),
        local_index: rank,
        local_peers: (0..count as u32).map(Peer).collect(),
        // Whose memory cannot be read is sent to in copies.
        pids: vec![std::process::id() as i32; count],
        oversubscribed: true,
        proxy_pid: Some(parent),
    };
    Node::attach(place, &NodeParams::default()).expect("attached")
}

//! Matching against a naive model: two lists, searched from the front (MPI-5.0 section 3.5).

mod support;

use btl::Peer;
use btl_mock::Options;
use pml::{Done, MessageId, Mode, Pattern, ReqId, SendTo};
use proptest::prelude::*;
use support::*;

/// The messages' senders are ranks 0 and 1; rank 2 receives.
const RECEIVER: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Message {
    number: usize,
    context: u32,
    source: i32,
    tag: i32,
    synchronous: bool,
}

#[derive(Clone, Copy, Debug)]
struct Wanted {
    context: u32,
    source: i32,
    tag: i32,
}

impl Wanted {
    fn matches(&self, message: &Message) -> bool {
        self.context == message.context
            && (self.source == abi::ANY_SOURCE || self.source == message.source)
            && (self.tag == abi::ANY_TAG || self.tag == message.tag)
    }

    fn pattern(&self) -> Pattern {
        let peer = u32::try_from(self.source).ok().map(Peer);
        Pattern { context: self.context, source: self.source, tag: self.tag, peer, owner: 5 }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(Message),
    Post(Wanted),
    /// The message is still at the transport when the receive looks.
    ReceiveNow(Option<Message>, Wanted),
    Cancel(usize),
    Probe(Wanted),
    MatchedProbe(Wanted),
    ReceiveMatched(usize),
}

fn message() -> impl Strategy<Value = Message> {
    (0..3u32, 0..2i32, 0..3i32, prop::bool::weighted(0.2)).prop_map(|(context, source, tag, synchronous)| {
        Message { number: 0, context, source, tag, synchronous }
    })
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let source = prop_oneof![2 => 0..2i32, 1 => Just(abi::ANY_SOURCE)];
    let tag = prop_oneof![2 => 0..3i32, 1 => Just(abi::ANY_TAG)];
    (0..3u32, source, tag).prop_map(|(context, source, tag)| Wanted { context, source, tag })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => message().prop_map(Step::Arrive),
        5 => wanted().prop_map(Step::Post),
        3 => (prop::option::of(message()), wanted()).prop_map(|(m, w)| Step::ReceiveNow(m, w)),
        1 => any::<usize>().prop_map(Step::Cancel),
        1 => wanted().prop_map(Step::Probe),
        1 => wanted().prop_map(Step::MatchedProbe),
        1 => any::<usize>().prop_map(Step::ReceiveMatched),
    ]
}

/// The model, and what it predicts for each receive.
#[derive(Default)]
struct Model {
    posted: Vec<(usize, Wanted)>,
    unexpected: Vec<Message>,
    /// By number of the receive; `None`: cancelled.
    results: Vec<(usize, Option<Message>)>,
}

impl Model {
    fn arrive(&mut self, message: Message) {
        match self.posted.iter().position(|(_, wanted)| wanted.matches(&message)) {
            Some(place) => {
                let (receive, _) = self.posted.remove(place);
                self.results.push((receive, Some(message)));
            }
            None => self.unexpected.push(message),
        }
    }

    fn find(&self, wanted: &Wanted) -> Option<usize> {
        self.unexpected.iter().position(|message| wanted.matches(message))
    }

    fn post(&mut self, receive: usize, wanted: Wanted) {
        match self.find(&wanted) {
            Some(place) => {
                let message = self.unexpected.remove(place);
                self.results.push((receive, Some(message)));
            }
            None => self.posted.push((receive, wanted)),
        }
    }

    /// What a receive that must not wait gets, with `arriving` at the transport.
    fn receive_now(&mut self, arriving: Option<Message>, wanted: &Wanted) -> Option<Message> {
        let found = self.find(wanted);
        if found.is_none()
            && let Some(message) = arriving
        {
            self.arrive(message);
            return self.find(wanted).map(|place| self.unexpected.remove(place));
        }
        let message = found.map(|place| self.unexpected.remove(place));
        arriving.into_iter().for_each(|message| self.arrive(message));
        message
    }
}

/// The machine under test, and everything that must stay where it is.
struct Machine {
    world: World,
    buffers: Vec<Box<[u8]>>,
    messages: usize,
    receives: Vec<(ReqId, usize)>,
    claimed: Vec<(MessageId, Message)>,
}

impl Machine {
    fn buffer(&mut self, value: u64) -> usize {
        self.buffers.push(Box::from(value.to_ne_bytes()));
        self.buffers.len() - 1
    }

    fn send(&mut self, message: &mut Message) {
        message.number = self.messages;
        self.messages += 1;
        let buffer = self.buffer(message.number as u64);
        let to = SendTo {
            peer: Peer(RECEIVER as u32),
            context: message.context,
            source: message.source as u32,
            tag: message.tag,
            owner: 0,
        };
        let mode = if message.synchronous { Mode::Synchronous } else { Mode::Standard };
        let data = contiguous(&mut self.buffers[buffer][..]);
        self.world.ranks[message.source as usize].isend(&to, data, mode);
    }

    fn check(&self, done: &Done, buffer: usize, message: &Message) {
        assert_eq!((done.status.source, done.status.tag), (message.source, message.tag));
        assert_eq!((done.status.bytes(), done.error, done.owner), (8, abi::SUCCESS, 5));
        assert_eq!(u64::from_ne_bytes(self.buffers[buffer][..].try_into().unwrap()), message.number as u64);
    }

    fn step(&mut self, model: &mut Model, step: Step) {
        match step {
            Step::Arrive(mut message) => {
                self.send(&mut message);
                self.world.settle();
                model.arrive(message);
            }
            Step::Post(wanted) => {
                let buffer = self.buffer(0);
                let data = contiguous(&mut self.buffers[buffer][..]);
                let id = self.world.ranks[RECEIVER].irecv(&wanted.pattern(), data);
                model.post(self.receives.len(), wanted);
                self.receives.push((id, buffer));
                self.world.settle();
            }
            Step::ReceiveNow(arriving, wanted) => self.receive_now(model, arriving, &wanted),
            Step::Cancel(which) => {
                if !model.posted.is_empty() {
                    let (receive, _) = model.posted.remove(which % model.posted.len());
                    self.world.ranks[RECEIVER].cancel(self.receives[receive].0);
                    model.results.push((receive, None));
                }
            }
            Step::Probe(wanted) => {
                let status = self.world.ranks[RECEIVER].iprobe(&wanted.pattern());
                let found = model.find(&wanted).map(|place| model.unexpected[place]);
                assert_eq!(
                    status.map(|status| (status.source, status.tag, status.bytes())),
                    found.map(|message| (message.source, message.tag, 8))
                );
            }
            Step::MatchedProbe(wanted) => {
                let claimed = self.world.ranks[RECEIVER].improbe(&wanted.pattern()).unwrap();
                let found = model.find(&wanted).map(|place| model.unexpected.remove(place));
                assert_eq!(claimed.is_some(), found.is_some());
                self.claimed.extend(claimed.map(|(id, _)| id).zip(found));
            }
            Step::ReceiveMatched(which) => {
                if !self.claimed.is_empty() {
                    let (id, message) = self.claimed.swap_remove(which % self.claimed.len());
                    let buffer = self.buffer(0);
                    let data = contiguous(&mut self.buffers[buffer][..]);
                    let rank = &mut self.world.ranks[RECEIVER];
                    let request = rank.ob1.imrecv(&mut rank.port, id, 5, data).unwrap();
                    let done = rank.ob1.take(request).unwrap();
                    self.check(&done, buffer, &message);
                    self.world.settle();
                }
            }
        }
    }

    fn receive_now(&mut self, model: &mut Model, mut arriving: Option<Message>, wanted: &Wanted) {
        // A receive that knows its source looks for arrivals of that peer only.
        let seen = |message: &Message| wanted.source < 0 || wanted.source == message.source;
        if let Some(message) = &mut arriving {
            self.send(message);
        }
        let buffer = self.buffer(0);
        let into = view(&mut self.buffers[buffer][..]);
        let done = self.world.ranks[RECEIVER].recv_now(&wanted.pattern(), into);
        let found = model.receive_now(arriving.filter(seen), wanted);
        assert_eq!(done.is_some(), found.is_some());
        if let (Some(done), Some(message)) = (done, found) {
            self.check(&done, buffer, &message);
        }
        self.world.settle();
        if let Some(message) = arriving.filter(|message| !seen(message)) {
            model.arrive(message);
        }
    }
}

fn run(steps: Vec<Step>) {
    let mut machine = Machine {
        world: World::plain(Options::new(3)),
        buffers: Vec::new(),
        messages: 0,
        receives: Vec::new(),
        claimed: Vec::new(),
    };
    let mut model = Model::default();
    for step in steps {
        machine.step(&mut model, step);
        let counters = machine.world.ranks[RECEIVER].ob1.counters();
        assert_eq!(counters.posted_length, model.posted.len() as u64);
        assert_eq!(counters.unexpected_length, model.unexpected.len() as u64);
        for (receive, result) in model.results.drain(..) {
            let (id, buffer) = machine.receives[receive];
            let done = machine.world.ranks[RECEIVER].ob1.take(id).expect("complete as in the model");
            match result {
                Some(message) => machine.check(&done, buffer, &message),
                None => assert!(done.status.cancelled()),
            }
        }
        for (receive, _) in &model.posted {
            let id = machine.receives[*receive].0;
            assert_eq!(machine.world.ranks[RECEIVER].ob1.is_complete(id), Some(false));
        }
    }
    assert_eq!(machine.world.bad_frames(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn matches_as_the_naive_model(steps in prop::collection::vec(step(), 1..120)) {
        run(steps);
    }
}

/// Many queued receives or messages cost no more than few: this ends at once or never.
#[test]
fn long_queues_do_not_collapse() {
    const POSTED: i32 = 10_000;
    const UNEXPECTED: i32 = 200_000;
    let mut world = World::plain(Options { slots: 1 << 20, ..Options::new(2) });
    let mut byte = [1u8; 1];
    let mut sink = [0u8; 1];
    let ids: Vec<ReqId> =
        (0..POSTED).map(|tag| world.ranks[1].irecv(&from(0, tag), contiguous(&mut sink))).collect();
    for tag in (0..POSTED).rev() {
        world.ranks[0].isend(&to(1, 0, tag), contiguous(&mut byte), Mode::Standard);
    }
    world.settle();
    assert!(ids.into_iter().all(|id| world.ranks[1].ob1.take(id).is_some()));

    for n in 0..UNEXPECTED {
        world.ranks[0].isend(&to(1, 0, n % 1000), contiguous(&mut byte), Mode::Standard);
    }
    world.settle();
    for n in (0..UNEXPECTED).rev() {
        let source = if n % 3 == 0 { abi::ANY_SOURCE } else { 0 };
        let tag = if n % 7 == 0 { abi::ANY_TAG } else { n % 1000 };
        let id = world.ranks[1].irecv(&from(source, tag), contiguous(&mut sink));
        if world.ranks[1].ob1.take(id).is_none() {
            world.ranks[1].cancel(id);
            assert!(world.ranks[1].ob1.take(id).unwrap().status.cancelled());
        }
    }
    while world.ranks[1].recv_now(&from(-1, -2), view(&mut sink)).is_some() {}
    world.settle();
    assert_eq!(world.ranks[1].ob1.counters().unexpected_length, 0);
    assert_eq!(world.bad_frames(), 0);
}

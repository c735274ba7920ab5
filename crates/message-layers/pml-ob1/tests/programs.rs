//! Rng programs on a few ranks over a hostile network: every message arrives once, whole and in order.

mod support;

use btl::{Limits, Peer};
use btl_mock::Options;
use chance::Rng;
use pml::{Data, Done, Mode, Pattern, ReqId, SendTo};
use pml_ob1::Config;
use proptest::prelude::*;
use support::*;

const CONTEXTS: u64 = 2;
const TAGS: u64 = 3;
const BLOCK: usize = 24;

struct Message {
    to: SendTo,
    from: usize,
    len: usize,
    mode: Mode,
    typed: bool,
    buffer: Vec<u8>,
    /// In the order in which sends began, over all ranks.
    began: Option<usize>,
    request: Option<ReqId>,
    result: Option<Done>,
    cancel: bool,
    received: usize,
}

struct Receive {
    rank: usize,
    pattern: Pattern,
    room: usize,
    typed: bool,
    buffer: Vec<u8>,
    request: Option<ReqId>,
    result: Option<Done>,
    cancel: bool,
}

/// One run: the world, the program and how far it got.
struct Run {
    world: World,
    random: Rng,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    /// Per rank: what it still starts, last first.
    programs: Vec<Vec<Action>>,
    /// Receives in the order in which they were posted, over all ranks.
    posted: Vec<usize>,
    sends_begun: usize,
}

#[derive(Clone, Copy)]
enum Action {
    Send(usize),
    Receive(usize),
}

fn options(random: &mut Rng) -> (Options, Config) {
    let ranks = 2 + random.below(4) as u32;
    let eager = [0, 8, 64, 500][random.below(4) as usize];
    let min_rdma = [0, 100, 1000][random.below(3) as usize];
    let limits = Limits {
        eager,
        max_send: eager.max([1, 50, 500][random.below(3) as usize]),
        get: random.below(3) != 0,
        put: random.below(3) != 0,
        min_rdma,
        min_rdma_answer: min_rdma + [0, 500][random.below(2) as usize],
        max_get: [8, 300, usize::MAX][random.below(3) as usize],
        max_put: [1, 300, usize::MAX][random.below(3) as usize],
        get_align: [1, 4, 8][random.below(3) as usize],
    };
    let options = Options {
        ranks,
        seed: random.next(),
        limits,
        paths: 1 + random.below(3) as usize,
        slots: [1, 3, 1000][random.below(3) as usize],
        busy: [0, 10, 60][random.below(3) as usize],
        unfit: [0, 10, 50][random.below(3) as usize],
        failing: [0, 10, 50][random.below(3) as usize],
        ghosts: [0, 50][random.below(2) as usize],
        astray: 0,
        late: [0, 10, 60][random.below(3) as usize],
        congestion_word: random.below(2) == 0,
    };
    let config = Config {
        unexpected_cap: [0, 500, 1 << 20][random.below(3) as usize],
        fragments_per_turn: 1 + random.below(4) as u32,
        pieces_in_flight: 1 + random.below(4) as u32,
        ..Config::new(if random.below(2) == 0 { ranks } else { 0 })
    };
    (options, config)
}

fn length(random: &mut Rng) -> usize {
    let bound = [1, 20, 200, 3000][random.below(4) as usize];
    random.below(bound) as usize
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Rng::new(seed);
        let (options, config) = options(&mut random);
        let ranks = options.ranks as usize;
        let mut world = World::new(options, config);
        for rank in &mut world.ranks {
            rank.bounds.arrivals = 1 + random.below(8) as u32;
        }
        let mut run = Run {
            world,
            random,
            messages: Vec::new(),
            receives: Vec::new(),
            programs: vec![Vec::new(); ranks],
            posted: Vec::new(),
            sends_begun: 0,
        };
        for _ in 0..20 + run.random.below(60) {
            run.add_message(ranks as u64);
        }
        for program in &mut run.programs {
            for place in (1..program.len()).rev() {
                program.swap(place, run.random.below(place as u64 + 1) as usize);
            }
        }
        run
    }

    /// A message and a receive at its destination that could take it.
    fn add_message(&mut self, ranks: u64) {
        let random = &mut self.random;
        let (from, at) = (random.below(ranks) as usize, random.below(ranks) as usize);
        let (context, tag) = (random.below(CONTEXTS) as u32, random.below(TAGS) as i32);
        let len = length(random);
        let typed = random.below(3) == 0;
        let number = self.messages.len();
        let bytes = content(number, len);
        let mode = [Mode::Standard, Mode::Blocking, Mode::Synchronous, Mode::Ready][random.below(4) as usize];
        self.messages.push(Message {
            to: SendTo { peer: Peer(at as u32), context, source: from as u32, tag, owner: number as u32 },
            from,
            len,
            mode,
            typed,
            buffer: if typed { Strided::laid_out(&bytes, BLOCK) } else { bytes },
            began: None,
            request: None,
            result: None,
            cancel: random.below(10) == 0,
            received: 0,
        });
        self.programs[from].push(Action::Send(number));
        let any_source = random.below(3) == 0;
        let pattern = Pattern {
            context,
            source: if any_source { abi::ANY_SOURCE } else { from as i32 },
            tag: if random.below(3) == 0 { abi::ANY_TAG } else { tag },
            peer: (!any_source).then_some(Peer(from as u32)),
            owner: self.receives.len() as u32,
        };
        let room = if random.below(3) == 0 { length(random) } else { 3000 };
        let (typed, cancel) = (random.below(3) == 0, random.below(10) == 0);
        self.programs[at].push(Action::Receive(self.receives.len()));
        self.add_receive(at, pattern, room, typed, cancel);
    }

    fn add_receive(&mut self, rank: usize, pattern: Pattern, room: usize, typed: bool, cancel: bool) {
        let memory = if typed { Strided::extent(room, BLOCK) } else { room };
        let (buffer, request, result) = (vec![0xEE; memory], None, None);
        self.receives.push(Receive { rank, pattern, room, typed, buffer, request, result, cancel });
    }

    fn start(&mut self, action: Action) {
        match action {
            Action::Send(number) => {
                let message = &mut self.messages[number];
                let data = if message.typed {
                    Strided::data(view(&mut message.buffer), BLOCK, message.len)
                } else {
                    contiguous(&mut message.buffer)
                };
                message.began = Some(self.sends_begun);
                self.sends_begun += 1;
                let rank = &mut self.world.ranks[message.from];
                if let (Data::Contiguous(from), Mode::Standard | Mode::Blocking) = (&data, message.mode)
                    && match self.random.below(3) {
                        0 => rank.ob1.send_now(&mut rank.port, &message.to, *from),
                        1 => rank.ob1.send_copied_now(&mut rank.port, &message.to, *from),
                        _ => false,
                    }
                {
                    return;
                }
                message.request = self.world.ranks[message.from].isend(&message.to, data, message.mode);
            }
            Action::Receive(number) => {
                let receive = &mut self.receives[number];
                let data = if receive.typed {
                    Strided::data(view(&mut receive.buffer), BLOCK, receive.room)
                } else {
                    contiguous(&mut receive.buffer)
                };
                self.posted.push(number);
                let rank = &mut self.world.ranks[receive.rank];
                if let Data::Contiguous(into) = data {
                    let way = self.random.below(3);
                    if way == 0
                        && let Some(done) = rank.recv_now(&receive.pattern, into)
                    {
                        receive.result = Some(done);
                        return;
                    }
                    if way == 1 && receive.pattern.source >= 0 && receive.pattern.tag >= 0 {
                        receive.request = rank.irecv_now(&receive.pattern, into);
                    }
                }
                if receive.request.is_none() {
                    receive.request = Some(rank.irecv(&receive.pattern, data));
                }
            }
        }
    }

    fn cancel_something(&mut self) {
        let number = self.random.below(self.messages.len() as u64) as usize;
        let message = &self.messages[number];
        if let (true, Some(id)) = (message.cancel, message.request) {
            self.world.ranks[message.from].cancel(id);
        }
        let receive = &self.receives[number];
        if let (true, Some(id)) = (receive.cancel, receive.request) {
            self.world.ranks[receive.rank].cancel(id);
        }
    }

    fn collect(&mut self) {
        for message in &mut self.messages {
            if let Some(id) = message.request
                && let Some(done) = self.world.ranks[message.from].ob1.take(id)
            {
                message.request = None;
                message.result = Some(done);
            }
        }
        for receive in &mut self.receives {
            if let Some(id) = receive.request
                && let Some(done) = self.world.ranks[receive.rank].take_awaited(id)
            {
                receive.request = None;
                receive.result = Some(done);
            }
        }
    }

    /// Starts everything, in an order by chance, then receives what no receive of the program got.
    fn execute(&mut self) {
        while self.programs.iter().any(|program| !program.is_empty()) {
            let rank = self.random.below(self.programs.len() as u64) as usize;
            match self.random.below(4) {
                0 | 1 => {
                    self.world.ranks[rank].progress();
                }
                2 => self.cancel_something(),
                _ => {
                    if let Some(action) = self.programs[rank].pop() {
                        self.start(action);
                    }
                }
            }
            self.collect();
        }
        self.drain();
    }

    fn drain(&mut self) {
        for _ in 0..100_000 {
            self.world.settle();
            self.collect();
            let mut found = false;
            for rank in 0..self.programs.len() {
                for context in 0..CONTEXTS as u32 {
                    let owner = self.receives.len() as u32;
                    let (source, tag) = (abi::ANY_SOURCE, abi::ANY_TAG);
                    let pattern = Pattern { context, source, tag, peer: None, owner };
                    if self.world.ranks[rank].iprobe(&pattern).is_some() {
                        self.add_receive(rank, pattern, 3000, false, false);
                        self.start(Action::Receive(self.receives.len() - 1));
                        found = true;
                    }
                }
            }
            let sending = self.messages.iter().any(|message| message.request.is_some());
            if !found && !sending && self.world.ranks.iter().all(|rank| rank.ob1.idle()) {
                return self.cancel_receives();
            }
        }
        panic!("stuck: {:?}", self.world.ranks.iter().map(|rank| rank.ob1.counters()).collect::<Vec<_>>());
    }

    fn cancel_receives(&mut self) {
        for receive in &self.receives {
            if let Some(id) = receive.request {
                self.world.ranks[receive.rank].cancel(id);
            }
        }
        self.collect();
    }

    /// The message that a receive got, known by content; checks what the receive reports of it.
    fn identify(&self, receive: &Receive) -> Option<usize> {
        let done = receive.result.expect("complete");
        assert_eq!(done.owner, receive.pattern.owner);
        if done.status.cancelled() {
            return None;
        }
        let got = done.status.bytes() as usize;
        let bytes = if receive.typed {
            Strided::packed(&receive.buffer, BLOCK, got)
        } else {
            receive.buffer[..got].to_vec()
        };
        let candidates = self.messages.iter().enumerate().filter(|(_, message)| {
            message.received == 0
                && message.to.peer.0 as usize == receive.rank
                && message.to.context == receive.pattern.context
                && message.from as i32 == done.status.source
                && message.to.tag == done.status.tag
                && !message.result.is_some_and(|result| result.status.cancelled())
        });
        // In order means: the first of its kind that was not received yet.
        let (number, message) = candidates.min_by_key(|(_, message)| message.began)?;
        assert_eq!(got, message.len.min(receive.room), "message {number}");
        assert!(bytes == content(number, message.len)[..got], "content of message {number}");
        let error = if message.len > receive.room { abi::ERR_TRUNCATE } else { abi::SUCCESS };
        assert_eq!(done.error, error);
        assert!(
            receive.buffer[if receive.typed { receive.buffer.len() } else { got }..]
                .iter()
                .all(|&b| b == 0xEE)
        );
        Some(number)
    }

    fn check(&mut self) {
        let mut got: Vec<(usize, usize)> = Vec::new();
        for receive in self.posted.clone() {
            if let Some(message) = self.identify(&self.receives[receive]) {
                self.messages[message].received += 1;
                got.push((receive, message));
            } else {
                assert!(self.receives[receive].result.is_some_and(|done| done.status.cancelled()));
            }
        }
        for (number, message) in self.messages.iter().enumerate() {
            let cancelled = message.result.is_some_and(|done| done.status.cancelled());
            assert_eq!(message.received, !cancelled as usize, "message {number}");
            assert!(message.result.is_none_or(|done| done.error == abi::SUCCESS));
        }
        self.check_order(&got);
        self.world.assert_clean();
    }

    /// MPI-5.0 section 3.5: of two messages that match the same receive, the one sent first is received first; of
    /// two receives that match the same message, the one posted first gets it.
    fn check_order(&self, got: &[(usize, usize)]) {
        for (place, &(first, a)) in got.iter().enumerate() {
            for &(second, b) in &got[place + 1..] {
                let (first, second) = (&self.receives[first], &self.receives[second]);
                let (a, b) = (&self.messages[a], &self.messages[b]);
                let matches = |pattern: &Pattern, message: &Message| {
                    pattern.context == message.to.context
                        && (pattern.source < 0 || pattern.source == message.from as i32)
                        && (pattern.tag < 0 || pattern.tag == message.to.tag)
                };
                let overtaken = first.rank == second.rank
                    && a.from == b.from
                    && b.began < a.began
                    && matches(&first.pattern, b);
                assert!(!overtaken, "a later receive got an earlier message");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_message_arrives_once_and_in_order(seed: u64) {
        let mut run = Run::new(seed);
        run.execute();
        run.check();
    }
}

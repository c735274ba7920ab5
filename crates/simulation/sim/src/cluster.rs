//! All ranks of a job, and the order in which they run.

use crate::charged::Charged;
use crate::endpoint::{Core, Endpoint};
use crate::error::Error;
use crate::layer::Layer;
use crate::node::Nodes;
use crate::setup::Setup;
use crate::speaks::Speaks;
use crate::timeline::Recorder;
use btl::Peer;
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams};
use gni::{InstId, Modes, PeAddr, Time};
use gni_soft::NicConfig;
use gni_soft::inproc::Wake;
use gni_timed::TimedWorld;
use mem::UserMem;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// What a virtual rank does. A program never blocks: it is asked again when something has happened.
pub trait Program {
    /// Bytes of memory it needs.
    fn memory(&self) -> usize;

    /// Whether all ranks of the job have that memory together.
    fn shares_memory(&self) -> bool {
        false
    }

    /// Whether it finds out by polling its memory what others have written there.
    fn polls_memory(&self) -> bool {
        false
    }

    /// By which ways the rank sends to others: what it needs for the other ways is not made.
    fn speaks(&self) -> Speaks {
        Speaks { within: true, between: true, meets: true }
    }

    /// Share of it that is done, for users who wait.
    fn share(&self) -> f64 {
        0.0
    }

    /// Goes on as far as possible.
    ///
    /// # Errors
    /// Whatever the message layer reports.
    fn step(&mut self, end: &mut Endpoint) -> abi::Result<Step>;
}

/// Answer of [`Program::step`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It waits for a message.
    Waiting,
    /// It has computed and goes on when its clock is the earliest.
    Computing,
    /// It is over; the rank goes on answering others.
    Done,
}

/// What a run has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// The latest of all clocks.
    pub finished: Time,
    /// How often a rank was woken.
    pub turns: u64,
}

struct Slot<P> {
    end: Endpoint,
    program: P,
    done: bool,
    /// Moment of the last poll of the network: what was there then has been seen.
    polled: Option<u64>,
    /// Moment of the last wake-up that was put into the queue: another at the same moment finds nothing more.
    woken: Option<u64>,
    /// Pause until the next poll of its own accord, while something needs polling.
    pause: u64,
    /// Such a poll is scheduled.
    polling: bool,
    /// The program has been given more to do.
    restarted: bool,
    /// The program has computed and goes on at another moment.
    computing: bool,
}

/// Why a rank is to run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Why {
    /// It begins, or something new is at its NIC.
    Wake,
    /// The same, a datagram.
    Packet,
    /// Its own accord.
    Poll,
    /// It has computed until now.
    Computed,
}

/// Virtual ranks on one machine.
pub struct Cluster<P> {
    world: TimedWorld,
    setup: Setup,
    params: Arc<UgniParams>,
    peers: Arc<[PeerAddress]>,
    nodes: Option<Nodes>,
    slots: Vec<Option<Box<Slot<P>>>>,
    present: usize,
    unfinished: usize,
    queue: BinaryHeap<Reverse<(u64, u32, Why)>>,
    wakes: Vec<Wake>,
    node_wakes: Vec<(u32, Time)>,
    /// By node and number: processors that ranks share.
    cores: HashMap<(PeAddr, u32), Rc<RefCell<Core>>>,
    /// What all ranks have together.
    common: Option<UserMem>,
    memory: Memory,
    /// What a rank's clock shows when its NIC is set up.
    set_up: Time,
    turns: u64,
    latest: Time,
}

/// First and longest pause between polls of a rank's own accord, in nanoseconds. The longest is that between two tries
/// of a datagram: a root to which all ranks connect at once keeps many waiting that long.
const PAUSES: (u64, u64) = (2_000, 1_000_000_000);
/// Turns of the message layer after which the transport has polled for datagrams.
const DATAGRAM_TURNS: u32 = 8;

impl<P: Program> Cluster<P> {
    /// A job of `ranks` of which none is there yet.
    ///
    /// # Errors
    /// [`Error::TooSmall`].
    pub fn empty(setup: &Setup, ranks: u32) -> Result<Cluster<P>, Error> {
        if let Some(watch) = &setup.watch {
            watch.begin(ranks);
        }
        Ok(Cluster {
            world: TimedWorld::new(setup.world(ranks)?),
            setup: setup.clone(),
            params: Arc::new(setup.params.clone()),
            peers: setup.peers(ranks),
            nodes: Nodes::of(setup, ranks)?,
            slots: (0..ranks).map(|_| None).collect(),
            present: 0,
            unfinished: 0,
            queue: BinaryHeap::new(),
            wakes: Vec::new(),
            node_wakes: Vec::new(),
            cores: HashMap::new(),
            common: None,
            memory: Memory::default(),
            set_up: Time::START,
            turns: 0,
            latest: Time::START,
        })
    }

    /// A job of `ranks`, each with the program that `make` gives it.
    ///
    /// # Errors
    /// [`Error::TooSmall`], and what setting a rank up reports.
    pub fn new(setup: &Setup, ranks: u32, mut make: impl FnMut(u32) -> P) -> Result<Cluster<P>, Error> {
        let mut cluster = Cluster::empty(setup, ranks)?;
        for rank in 0..ranks {
            cluster.insert(rank, make(rank))?;
        }
        Ok(cluster)
    }

    /// Adds a rank, at time 0 of its own clock.
    ///
    /// # Errors
    /// What setting it up reports.
    pub fn insert(&mut self, rank: u32, program: P) -> Result<(), Error> {
        let ranks = self.slots.len() as u32;
        let nic = |step: &'static str| move |error| Error::Nic(step, error);
        let speaks = program.speaks();
        let memory = match (program.memory(), self.common) {
            (0, _) => UserMem::EMPTY,
            (_, Some(common)) if program.shares_memory() => common,
            (bytes, _) => self.memory.take(&self.world, bytes).map_err(nic("memory of the program"))?,
        };
        if program.shares_memory() {
            self.common = Some(memory);
        }
        let clock = self.world.clock(InstId(rank));
        let local_ranks = self.setup.local_ranks(rank, ranks);
        let node = self.nodes.as_ref().map(|nodes| nodes.join(rank, local_ranks, speaks)).transpose()?;
        // Without shared memory all messages go through the NIC.
        let ugni = if speaks.between || node.is_none() {
            let pe = self.setup.node_of(rank);
            let attached = self.world.attach(pe, InstId(rank), Modes::default(), NicConfig::default());
            let job = Job { me: Peer(rank), peers: Arc::clone(&self.peers), local_ranks };
            let attached = attached.map_err(nic("attaching"))?;
            let ugni = Ugni::new(attached, clock.clone(), job, Arc::clone(&self.params));
            let ugni = ugni.map_err(Error::Transport)?;
            self.set_up = clock.read();
            if program.polls_memory() {
                self.world.polls_memory(pe, InstId(rank));
            }
            Some(Box::new(ugni))
        } else {
            // It has set its NIC up like the others, and does not use it.
            clock.idle_until(self.set_up);
            None
        };
        let btl = Charged::new(ugni, node, clock.clone(), self.setup.software);
        let layer = Layer::new(&self.setup, &btl, ranks);
        let core = self.core_of(rank);
        let recorder = self.setup.timeline.as_ref().map(|_| Recorder::new(ranks));
        let end = Endpoint { layer, btl, windows: None, clock, rank, memory, core, recorder };
        let slot = Slot {
            end,
            program,
            done: false,
            polled: None,
            woken: None,
            pause: PAUSES.0,
            polling: false,
            restarted: false,
            computing: false,
        };
        self.slots[rank as usize] = Some(Box::new(slot));
        self.present += 1;
        self.unfinished += 1;
        if let Some(watch) = &self.setup.watch {
            watch.made(self.present as u32);
        }
        self.queue.push(Reverse((0, rank, Why::Wake)));
        Ok(())
    }

    /// The processor to which a rank is bound: those of a node get its ranks in turn, as by `mpiexec`.
    fn core_of(&mut self, rank: u32) -> Option<Rc<RefCell<Core>>> {
        let number = rank % self.setup.ranks_per_node.max(1) % self.setup.cores?;
        let core = self.cores.entry((self.setup.node_of(rank), number)).or_default();
        Some(Rc::clone(core))
    }

    /// Takes a rank away, its NIC and memory with it.
    pub fn remove(&mut self, rank: u32) {
        if let Some(slot) = self.slots[rank as usize].take() {
            self.present -= 1;
            self.unfinished -= usize::from(!slot.done);
        }
    }

    /// A rank that is there.
    pub fn end(&self, rank: u32) -> Option<&Endpoint> {
        self.slots[rank as usize].as_ref().map(|slot| &slot.end)
    }

    /// The most bytes that a rank has registered.
    pub fn registered(&self) -> u64 {
        let here = self.setup.local_ranks(0, self.slots.len() as u32);
        self.slots.iter().flatten().map(|slot| slot.end.btl.registered(here)).max().unwrap_or_default()
    }

    /// The program of a rank that is there, for its results.
    pub fn program(&self, rank: u32) -> Option<&P> {
        self.slots[rank as usize].as_ref().map(|slot| &slot.program)
    }

    /// The program of a rank that is there, to give it more to do; it counts as unfinished from then on.
    pub fn resume(&mut self, rank: u32) -> Option<&mut P> {
        let slot = self.slots[rank as usize].as_mut()?;
        self.unfinished += usize::from(slot.done);
        slot.done = false;
        slot.restarted = true;
        self.queue.push(Reverse((slot.end.now().0, rank, Why::Wake)));
        Some(&mut slot.program)
    }

    /// Runs until every rank's program is over.
    ///
    /// # Errors
    /// [`Error::Mpi`], [`Error::Stuck`].
    pub fn run(&mut self) -> Result<Report, Error> {
        while self.unfinished > 0 {
            if !self.run_next()? {
                return Err(self.stuck());
            }
        }
        self.hand_in_timeline();
        Ok(self.report())
    }

    /// As [`Cluster::run`], and goes on until nothing is under way any more.
    ///
    /// # Errors
    /// Those of [`Cluster::run`].
    pub fn run_to_rest(&mut self) -> Result<Report, Error> {
        self.run()?;
        while self.run_next()? {}
        Ok(self.report())
    }

    /// What the ranks did until now is that of a job that has ended.
    fn hand_in_timeline(&mut self) {
        let Cluster { slots, setup, .. } = self;
        let Some(timeline) = &setup.timeline else { return };
        let of = |slot: &mut Box<Slot<P>>| Some((setup.node_of(slot.end.rank).0, slot.end.recorder.take()?));
        timeline.add(slots.iter_mut().flatten().filter_map(of));
    }

    fn report(&self) -> Report {
        Report { finished: self.latest, turns: self.turns }
    }

    fn stuck(&self) -> Error {
        let first = self.slots.iter().flatten().find(|slot| !slot.done).map_or(0, |slot| slot.end.rank);
        Error::Stuck { unfinished: self.unfinished, first, at: self.report().finished.0 }
    }

    /// Runs the rank whose moment comes first; `false`: there is none.
    fn run_next(&mut self) -> Result<bool, Error> {
        let Some(Reverse((at, rank, why))) = self.queue.pop() else { return Ok(false) };
        let Some(slot) = self.slots[rank as usize].as_mut() else { return Ok(true) };
        let seen = why == Why::Wake && slot.polled.is_some_and(|polled| at <= polled);
        if seen && !slot.restarted {
            return Ok(true);
        }
        let busy_until = slot.end.now().max(slot.end.processor_free_at()).0;
        if busy_until > at {
            // It polls when it has time, and others whose moment comes before that go first.
            if why != Why::Wake || slot.is_news(busy_until) || slot.restarted {
                self.queue.push(Reverse((busy_until, rank, why)));
            }
            return Ok(true);
        }
        slot.restarted = false;
        slot.polling &= why != Why::Poll;
        slot.end.sleep_until(Time(at));
        slot.end.take_processor();
        self.turns += 1;
        let finished = slot.turn(why).map_err(|error| Error::Mpi { rank, error })?;
        slot.end.give_processor();
        if slot.computing {
            self.queue.push(Reverse((slot.end.now().0, rank, Why::Computed)));
        }
        self.unfinished -= usize::from(finished);
        self.latest = self.latest.max(slot.end.now());
        if let (0, Some(watch)) = (rank, &self.setup.watch) {
            watch.ran(self.turns, slot.program.share());
        }
        if slot.end.needs_polling() && !slot.polling {
            slot.polling = true;
            self.queue.push(Reverse((slot.end.now().0 + slot.pause, rank, Why::Poll)));
            slot.pause = (slot.pause * 2).min(PAUSES.1);
        }
        self.schedule_wakes();
        Ok(true)
    }

    fn schedule_wakes(&mut self) {
        self.world.take_wakes(&mut self.wakes);
        for wake in self.wakes.drain(..) {
            let rank = wake.inst.0;
            let Some(slot) = self.slots[rank as usize].as_mut() else { continue };
            let at = slot.next_poll(wake.at);
            let why = if wake.packet { Why::Packet } else { Why::Wake };
            if wake.packet || slot.is_news(at) {
                self.queue.push(Reverse((at, rank, why)));
            }
        }
        let Some(nodes) = &self.nodes else { return };
        nodes.take_wakes(&mut self.node_wakes);
        for (rank, at) in self.node_wakes.drain(..) {
            // The last node may have places that no rank of the job has.
            let Some(slot) = self.slots.get_mut(rank as usize).and_then(Option::as_mut) else { continue };
            let at = slot.next_poll(at);
            if slot.is_news(at) {
                self.queue.push(Reverse((at, rank, Why::Wake)));
            }
        }
    }
}

/// Memory of programs: small pieces lie in blocks together, so that a rank which needs a few words takes no page.
#[derive(Default)]
struct Memory {
    block: Option<UserMem>,
    used: usize,
}

impl Memory {
    const BLOCK: usize = 1 << 20;
    const LINE: usize = 64;
    const PAGE: usize = 4096;

    fn take(&mut self, world: &TimedWorld, bytes: usize) -> gni::Result<UserMem> {
        let align = if bytes < Memory::PAGE { Memory::LINE } else { Memory::PAGE };
        let start = self.used.next_multiple_of(align);
        if let Some(block) = self.block.filter(|block| start + bytes <= block.len()) {
            self.used = start + bytes;
            return Ok(block.part(start, bytes));
        }
        let block = world.mem_alloc(bytes.max(Memory::BLOCK))?;
        (self.block, self.used) = (Some(block), bytes);
        Ok(block.part(0, bytes))
    }
}

impl<P> Slot<P> {
    /// When the rank polls for news of `moment`, if it has time: it may have passed that, and then sees it at the
    /// next poll.
    fn next_poll(&self, moment: Time) -> u64 {
        moment.0.max(self.polled.map_or(0, |polled| polled + 1))
    }

    /// Whether a wake-up at a moment is another than the last one that was put into the queue; it is the last one now.
    fn is_news(&mut self, at: u64) -> bool {
        self.woken.replace(at) != Some(at)
    }
}

impl<P: Program> Slot<P> {
    /// Makes progress and goes on with the program until nothing happens; `true`: it has just ended.
    fn turn(&mut self, why: Why) -> abi::Result<bool> {
        let mut finished = false;
        if why == Why::Packet {
            for _ in 0..DATAGRAM_TURNS {
                self.end.progress();
            }
        }
        loop {
            self.polled = Some(self.end.now().0);
            let happened = self.end.progress();
            if !self.done {
                let step = self.program.step(&mut self.end)?;
                self.done = step == Step::Done;
                match step {
                    Step::Waiting => self.end.note(Recorder::wait),
                    Step::Computing | Step::Done => self.end.note(Recorder::act),
                }
                self.computing = step == Step::Computing;
                finished |= self.done;
            }
            if happened == 0 || self.computing {
                return Ok(finished);
            }
            self.pause = PAUSES.0;
        }
    }
}

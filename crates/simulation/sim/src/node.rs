//! The shared memory of a node on virtual time.
//!
//! ```text
//!   vader, slots and areas     the library's code over a mapped segment, as in processes
//!   NodeTimes                  when what was written there, and which ranks are to be woken for it
//! ```
//!
//! What a rank writes is in the segment at once; a rank that finds it waits until the moment at which it was written, and
//! pays for the cache lines. Ranks run in the order of their clocks, so that moment is at most a turn away.

use crate::error::Error;
use crate::setup::Setup;
use crate::software::SoftwareCosts;
use crate::speaks::Speaks;
use btl::{Arrival, Btl, Busy, Peer};
use btl_vader::{Vader, VaderParams};
use coll::Locality;
use gni::Time;
use gni_timed::RankClock;
use node::{AreaName, Node, NodeArea};
use shm::area::Owner;
use shm::{Layout, Row, Shape};
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Ranks to be woken, and when.
pub(crate) type Wakes = Rc<RefCell<Vec<(u32, Time)>>>;

/// Processes that have a bit in a word of those that wait.
const BITS: usize = u64::BITS as usize;
/// Epochs of an area whose moments are kept: more than its lines hold.
const KEPT: usize = 64;

/// The segments of all nodes of a job, and what happens in them.
pub(crate) struct Nodes {
    row: Row,
    times: Vec<Rc<RefCell<NodeTimes>>>,
    params: VaderParams,
    ranks_per_node: u32,
    wakes: Wakes,
    /// Any rank's view, whose tables the others share.
    any: OnceCell<Arc<Node>>,
}

/// Ranks of one node that share memory, at most: so many have an area.
const MOST_SHARING: u32 = shm::area::MOST_RANKS as u32;

impl Nodes {
    /// The shared memory of a machine's nodes for a job of `ranks`; `None`: the ranks of a node share none.
    pub(crate) fn of(setup: &Setup, ranks: u32) -> Result<Option<Nodes>, Error> {
        let per_node = setup.ranks_per_node;
        match &setup.vader {
            Some(_) if per_node > MOST_SHARING => {
                Err(Error::Unsupported("at most 512 ranks share a node's memory; see --through-nic"))
            }
            Some(params) if setup.shares_memory() => {
                Nodes::new(params, setup.compact, per_node, setup.caches, ranks).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Nodes of `ranks_per_node` ranks each for a job of `ranks`; compact ones have little room for messages.
    fn new(
        params: &VaderParams,
        compact: bool,
        ranks_per_node: u32,
        caches: Option<(u32, u32)>,
        ranks: u32,
    ) -> Result<Nodes, Error> {
        // A helper of a long copy would have to be woken for each piece, and no virtual rank polls meanwhile.
        let params = VaderParams { cooperative: false, chunk: WHOLE, ..params.clone() };
        let count = ranks.div_ceil(ranks_per_node);
        let usual = params.layout(ranks_per_node as usize, u64::MAX);
        let layout =
            if compact { Layout::new(Shape { ranks: ranks_per_node as usize, ..COMPACT }) } else { usual };
        let row = Row::map(layout, count as usize).map_err(|_| NO_MEMORY)?;
        let wakes = Wakes::default();
        let times = (0..count)
            .map(|node| {
                let times = NodeTimes::new(node * ranks_per_node, ranks_per_node, caches, wakes.clone());
                Rc::new(RefCell::new(times))
            })
            .collect();
        Ok(Nodes { row, times, params, ranks_per_node, wakes, any: OnceCell::new() })
    }

    /// A rank's end of its node's shared memory, for what it does there; there are `here` ranks on the node.
    pub(crate) fn join(&self, rank: u32, here: usize, does: Speaks) -> Result<OnNode, Error> {
        let (index, place) = (rank / self.ranks_per_node, rank % self.ranks_per_node);
        let segment = self.row.segment(index as usize).ok_or(NO_MEMORY)?;
        let node = Node::virtual_process(segment, place, self.any.get().map(Arc::as_ref));
        self.any.get_or_init(|| Arc::clone(&node));
        let members: Vec<Peer> = (0..here as u32).map(Peer).collect();
        let area = || node.area(AreaName { number: 0, base: 0 }, &members, Peer(place)).map(Box::new);
        let area = does.meets.then(area).flatten();
        let times = Rc::clone(&self.times[index as usize]);
        let vader = does.within.then(|| Box::new(Vader::new(node, &self.params)));
        Ok(OnNode { vader, area, times, place, settled: true })
    }

    /// The ranks to be woken since the last call, and when.
    pub(crate) fn take_wakes(&self, into: &mut Vec<(u32, Time)>) {
        into.append(&mut self.wakes.borrow_mut());
    }
}

/// A node's segment for jobs of so many ranks that each page counts: what a rank writes lies in a few of them. A rank
/// has room for eight messages of up to 256 bytes and two longer ones under way; more wait.
const COMPACT: Shape = Shape {
    ranks: 0,
    fastboxes: 0,
    slots: 64,
    blocks: 128,
    queue: 64,
    bounce_buffers: [4, 2],
    bounce_bytes: [128, 32 << 10],
    joints: 1,
};
/// Long copies are made in one piece.
const WHOLE: usize = 64 << 20;
const NO_MEMORY: Error = Error::Unsupported("the nodes' shared memory cannot be mapped");

/// When what was written into a node's segment.
pub(crate) struct NodeTimes {
    /// The rank at place 0.
    first: u32,
    /// By receiver: sender and moment of each message that it has not taken.
    inbound: Vec<VecDeque<(u32, Time)>>,
    /// By process some words: those that were refused for want of what it gives back, a bit each.
    wanting: Vec<u64>,
    caches: Option<(u32, u32)>,
    /// By owner (the release flag last) and epoch: moment of what was published there, and how many have read it.
    lines: Vec<(u64, Time, u32)>,
    /// By epoch: when the latest of those that have arrived did.
    arrived: Vec<(u64, Time)>,
    wakes: Wakes,
}

impl NodeTimes {
    fn new(first: u32, ranks: u32, caches: Option<(u32, u32)>, wakes: Wakes) -> NodeTimes {
        let ranks = ranks as usize;
        let (inbound, wanting) = (vec![VecDeque::new(); ranks], vec![0; ranks * ranks.div_ceil(BITS)]);
        NodeTimes { first, inbound, wanting, caches, lines: Vec::new(), arrived: Vec::new(), wakes }
    }

    /// `place` wants what `of` gives back.
    fn wants(&mut self, place: u32, of: usize) {
        let words = self.inbound.len().div_ceil(BITS);
        self.wanting[of * words + place as usize / BITS] |= 1 << (place as usize % BITS);
    }

    fn wake(&self, place: u32, at: Time) {
        self.wakes.borrow_mut().push((self.first + place, at));
    }

    fn sent(&mut self, from: u32, to: u32, at: Time) {
        self.inbound[to as usize].push_back((from, at));
        self.wake(to, at);
    }

    /// When the message that `place` takes from `from` was sent.
    fn taken(&mut self, place: u32, from: u32) -> Option<Time> {
        let inbound = &mut self.inbound[place as usize];
        let at = inbound.iter().position(|&(sender, _)| sender == from)?;
        inbound.remove(at).map(|(_, sent)| sent)
    }

    /// `place` gives something back: those that were refused try again.
    fn gives_room(&mut self, place: u32, at: Time) {
        let words = self.inbound.len().div_ceil(BITS);
        for word in 0..words {
            let mut wanting = std::mem::take(&mut self.wanting[place as usize * words + word]);
            while wanting != 0 {
                self.wake((word * BITS) as u32 + wanting.trailing_zeros(), at);
                wanting &= wanting - 1;
            }
        }
    }

    fn line(&mut self, owner: Owner, epoch: u64) -> &mut (u64, Time, u32) {
        let ranks = self.inbound.len();
        self.lines.resize((ranks + 1) * KEPT, (0, Time::START, 0));
        let owner = match owner {
            Owner::Member(member) => member,
            Owner::Flag => ranks,
        };
        &mut self.lines[owner * KEPT + epoch as usize % KEPT]
    }
}

/// One rank's end of its node's shared memory.
pub(crate) struct OnNode {
    /// `None`: the rank's program sends nothing to ranks of its node.
    pub(crate) vader: Option<Box<Vader>>,
    /// Of all ranks of the node; `None`: its program does not meet them.
    pub(crate) area: Option<Box<NodeArea>>,
    times: Rc<RefCell<NodeTimes>>,
    place: u32,
    /// The transport has done what it does when it finds nothing.
    settled: bool,
}

impl OnNode {
    /// The place of a rank on this node.
    pub(crate) fn place_of(&self, rank: u32) -> Option<Peer> {
        let times = self.times.borrow();
        let place = rank.wrapping_sub(times.first);
        ((place as usize) < times.inbound.len()).then_some(Peer(place))
    }

    /// The rank at a place.
    pub(crate) fn rank_at(&self, place: Peer) -> Peer {
        Peer(self.times.borrow().first + place.0)
    }

    /// A message has left for `to`, or was refused: then this rank tries again when that one gives something back.
    pub(crate) fn note_send(&self, to: Peer, sent: Result<(), Busy>, clock: &RankClock) {
        let mut times = self.times.borrow_mut();
        match sent {
            Ok(()) => times.sent(self.place, to.0, clock.read()),
            Err(Busy) => times.wants(self.place, to.0 as usize),
        }
    }

    /// The next message that was sent by now. A rank that finds one which was sent later waits for it.
    pub(crate) fn next_arrival(&mut self, clock: &RankClock) -> Option<Arrival> {
        let now = clock.read();
        let (due, none) = {
            let times = self.times.borrow();
            let inbound = &times.inbound[self.place as usize];
            (inbound.iter().any(|&(_, sent)| sent <= now), inbound.is_empty())
        };
        if !due && (!none || self.settled) {
            return None;
        }
        let Some(mut arrival) = self.vader.as_mut()?.next_arrival() else {
            self.settled = true;
            self.times.borrow_mut().gives_room(self.place, now);
            return None;
        };
        let sent = self.times.borrow_mut().taken(self.place, arrival.peer.0);
        clock.idle_until(sent.unwrap_or(now));
        arrival.peer = self.rank_at(arrival.peer);
        Some(arrival)
    }

    /// Gives an arrival's memory back.
    pub(crate) fn release(&mut self, arrival: Arrival, clock: &RankClock) {
        if let Some(vader) = &mut self.vader {
            vader.release(arrival);
        }
        self.settled = false;
        self.times.borrow_mut().gives_room(self.place, clock.read());
    }

    /// This rank has published a line of the node's area.
    pub(crate) fn published(&self, owner: Owner, epoch: u64, concerns: coll::schedule::Wake, now: Time) {
        use coll::schedule::Wake;
        let mut times = self.times.borrow_mut();
        *times.line(owner, epoch) = (epoch, now, 0);
        match concerns {
            Wake::One(place) => times.wake(place, now),
            Wake::All => {
                let others = (0..times.inbound.len() as u32).filter(|&place| place != self.place);
                others.for_each(|place| times.wake(place, now));
            }
            Wake::None => {}
        }
    }

    /// When this rank may read the line that it has just found: some time after those that have read it before.
    pub(crate) fn readable_at(&self, owner: Owner, epoch: u64, costs: &SoftwareCosts) -> Time {
        let mut times = self.times.borrow_mut();
        let turn = times.caches.map_or(0.0, |_| costs.line_turn);
        let (found, at, readers) = times.line(owner, epoch);
        *readers += 1;
        let before = f64::from(*readers - 1);
        if *found == epoch { Time(at.0 + (before * turn) as u64) } else { Time::START }
    }

    /// What a line costs that `owner` has written; any rank may have written the release flag.
    pub(crate) fn line_from(&self, owner: Owner, costs: &SoftwareCosts) -> f64 {
        let Some((ranks, caches)) = self.times.borrow().caches else { return costs.line };
        let Owner::Member(member) = owner else { return costs.far_line };
        let [here, there] = [self.place, member as u32].map(|place| Locality::at(place, ranks, caches));
        match () {
            () if here == there => costs.line,
            () if here.memory == there.memory => costs.far_line,
            () => costs.remote_line,
        }
    }

    /// This rank arrives in an epoch; when the latest of those that have arrived did. Where caches are given, the counter
    /// goes from one to the next.
    pub(crate) fn arrived(&self, epoch: u64, now: Time, costs: &SoftwareCosts) -> Time {
        let mut times = self.times.borrow_mut();
        times.arrived.resize(KEPT, (0, Time::START));
        let each = times.caches.map_or(0.0, |_| costs.far_line);
        let latest = &mut times.arrived[epoch as usize % KEPT];
        let after = Time(latest.1.0 + each as u64);
        *latest = if latest.0 == epoch { (epoch, after.max(now)) } else { (epoch, now) };
        latest.1
    }

    /// The area had no room: this rank tries again when any other has finished with an epoch.
    pub(crate) fn wants_line(&self) {
        let mut times = self.times.borrow_mut();
        (0..times.inbound.len()).for_each(|of| times.wants(self.place, of));
    }

    /// This rank has finished with an epoch of the area.
    pub(crate) fn retired(&self, now: Time) {
        self.times.borrow_mut().gives_room(self.place, now);
    }
}

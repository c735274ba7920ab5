//! Two-phase access: some processes access the file for all, with data that travel by messages.
//!
//! ```text
//!   write   every rank ──its bytes of the window──► aggregator: puts them where they belong ──► one write a window
//!   read    one read a window ──► aggregator: takes out what each rank wants ──────────────► every rank
//! ```
//!
//! An aggregator fetches the bytes of ranks on its node from their memory, or puts them there, where that is one run;
//! those ranks have nothing to do until all agree that it is over. The others send messages.
//!
//! Each rank sends each aggregator the layout of its view, once for a view. From then on both sides know from what all
//! ranks gather for each call which bytes go into which window: messages hold data and nothing else.
//!
//! Reads and writes of an aggregator are jobs, which run with the state unlocked: in a blocking call by its own thread, or
//! by one of the library where data comes by messages, while the next window comes:
//!
//! ```text
//!   aggregator   receives 1 | places 1, receives 2 | receives 3 …
//!   thread                  | writes 1             | writes 2 …
//! ```
//!
//! A rank sends an aggregator at most two windows that this has not received: sends are over when their receives have
//! begun, also those of few bytes, so that the memory of a network that matches is bounded by that.
//!
//! Every message of an exchange is sent and received, whatever happens: an error only changes what is in it. A process
//! without memory for the data of a window sends nothing in its place, or receives it into nothing. An aggregator that
//! cannot place the data of others, for want of memory or of their descriptions, reports that before they send any.
//!
//! Holes in a window of a write are not written: any process may write there meanwhile, through another opening of the
//! file or through this one. Ranks whose bytes overlap are put in their order everywhere, so what is written is as if
//! they had written one after the other. In atomic mode each rank accesses its own bytes, under a lock.

mod aggregator;
mod flow;
mod job;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use abi::{Error, Result};
use btl::Peer;
use io::{AccessPlan, Course, Direction, Posix, Stage, View};
use node::Node;
use pml::{Data, Mode, ReqId};

use self::aggregator::Aggregator;
use self::flow::Flow;
pub use self::job::Job;
use self::job::Results;
use super::access::Transfer;
use super::elsewhere;
use super::{FILES, file_of};
use messages::p2p::{start_recv, start_send};
use objects::state::State;

/// What a rank has announced of its part.
#[derive(Clone, Debug)]
pub struct Said {
    /// Positions of its view.
    pub positions: Range<u64>,
    /// Words by which it describes its view.
    pub description: usize,
    /// Where its bytes are, if they are one run.
    pub memory: Option<u64>,
    /// It reads and writes the memory of all others on its node.
    pub reaches: bool,
}

/// The views of all ranks, as an aggregator knows them.
pub type Views = Arc<Vec<Arc<View>>>;

/// One two-phase access on its way.
pub struct Exchange {
    file: abi::File,
    comm: abi::Comm,
    me: usize,
    /// The processes, and which of them are on this node.
    peers: Arc<[u32]>,
    near: Box<[bool]>,
    node: Option<Arc<Node>>,
    tag: i32,
    plan: AccessPlan,
    said: Vec<Said>,
    direction: Direction,
    storage: Arc<Posix>,
    view: Arc<View>,
    positions: Range<u64>,
    /// Words by which this process describes its view; they stay until they were sent.
    description: Vec<u64>,
    described: bool,
    describing: Vec<ReqId>,
    /// What aggregators answer to the descriptions.
    answers: Vec<Answer>,
    /// What goes between this rank and aggregators by messages.
    flows: Vec<Flow>,
    aggregator: Option<Aggregator>,
    /// The stage of the file, which takes what aggregators write.
    stage: Option<Arc<Stage>>,
    /// This process has written to the file since it was synchronised.
    written: Arc<AtomicBool>,
    /// What blocks and is due, and what has come of it.
    due: Option<Job>,
    at_work: bool,
    results: Results,
    /// Bytes that have come by messages.
    read: u64,
    /// Bytes in the file, once they matter: aggregators put what is there into this rank's memory.
    size: Option<u64>,
    error: Result<()>,
    over: bool,
}

/// Whether an aggregator knows the views of all.
struct Answer {
    index: u64,
    id: ReqId,
    /// An error class, or 0.
    word: Box<[u64; 1]>,
}

/// Most words that describe a view. A view that takes more goes without aggregators.
pub(crate) const MOST_WORDS: usize = 1 << 20;
/// Tags of the descriptions of views and of the answers to them, beside that of data.
const DESCRIPTION: i32 = 1;
const ANSWER: i32 = 2;

impl Exchange {
    /// The part of this rank in an access that all have agreed on. `views`: what it knows from an access before with
    /// the same views, if it is an aggregator; `described`: all aggregators know them.
    pub fn new(
        state: &State,
        transfer: &Transfer,
        (file, comm, me): (abi::File, abi::Comm, usize),
        number: u32,
        plan: AccessPlan,
        said: Vec<Said>,
        (described, views): (bool, Option<Views>),
        description: Vec<u64>,
    ) -> Option<Exchange> {
        let peers = state.comm(comm).ok()?.group.peers();
        let place_of = |peer: u32| state.node.as_ref().and_then(|node| node.place_of(Peer(peer)));
        let near = peers.iter().map(|&peer| place_of(peer).is_some()).collect();
        let view = transfer.access.view().clone();
        let aggregator = plan.index_of(me as u64).map(|index| Aggregator::new(index, views));
        let mut exchange = Exchange {
            file,
            comm,
            me,
            peers,
            near,
            node: state.node.clone(),
            // Tags of its own for each kind: an aggregator is a rank, too, and describes its view to others.
            tag: ((number & 0x1fff_ffff) << 2) as i32,
            plan,
            said,
            direction: transfer.direction,
            storage: transfer.storage.clone(),
            positions: transfer.access.positions(),
            description,
            described,
            view,
            describing: Vec::new(),
            answers: Vec::new(),
            flows: Vec::new(),
            aggregator,
            stage: transfer.stage().cloned(),
            written: transfer.written().clone(),
            due: None,
            at_work: false,
            results: Results::default(),
            read: 0,
            size: None,
            error: Ok(()),
            over: false,
        };
        exchange.flows = (0..exchange.plan.domains())
            .filter(|&domain| !exchange.is_reached_by(domain))
            .map(|domain| Flow::new(domain, &exchange, described))
            .collect();
        Some(exchange)
    }

    /// Whether data of this process as an aggregator comes by messages, so that a window may come while one is written.
    pub(crate) fn is_far(&self) -> bool {
        !(0..self.said.len()).all(|rank| self.reaches_into(self.me, rank))
    }

    /// Whether the aggregator of a domain reaches into this rank's memory: no messages go between the two.
    fn is_reached_by(&self, domain: u64) -> bool {
        self.reaches_into(self.plan.process(domain) as usize, self.me)
    }

    /// Whether an aggregator reaches into a rank's memory; one of the two is this process.
    fn reaches_into(&self, aggregator: usize, rank: usize) -> bool {
        let other = if aggregator == self.me { rank } else { aggregator };
        let reached = aggregator == rank || (self.near[other] && self.said[aggregator].reaches);
        reached && self.said[rank].memory.is_some()
    }

    /// The address of a position of a rank whose memory is one run.
    fn address(&self, rank: usize, position: u64) -> u64 {
        let said = &self.said[rank];
        said.memory.unwrap_or(0).wrapping_add(position - said.positions.start)
    }

    /// Goes on; whether anything happened. Over when [`Exchange::is_over`]; then the transfer is settled. What blocks
    /// is left to the caller: [`Exchange::take_job`].
    pub fn advance(&mut self, state: &mut State, transfer: &mut Transfer) -> bool {
        let mut happened = false;
        while !self.has_nothing_to_do() {
            if !self.advance_once(state, transfer) {
                return happened;
            }
            happened = true;
        }
        if !std::mem::replace(&mut self.over, true) {
            self.settle(transfer);
        }
        happened
    }

    /// What blocks and is due. Its result goes to [`Job::finish`].
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        self.due.take()
    }

    /// Whether all is done and the transfer settled.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn has_nothing_to_do(&self) -> bool {
        let aggregated = self.aggregator.as_ref().is_none_or(Aggregator::is_over);
        let said = self.described && self.describing.is_empty() && self.answers.is_empty();
        aggregated && said && self.flows.is_empty() && !self.at_work && !self.needs_size()
    }

    /// Whether aggregators put bytes into this rank's memory, and it is not known how many the file has.
    fn needs_size(&self) -> bool {
        let put = || (0..self.plan.domains()).any(|domain| self.is_reached_by(domain));
        self.direction == Direction::Read && self.size.is_none() && !self.positions.is_empty() && put()
    }

    /// Remembers the first error. The messages go on: others wait for them.
    fn fail(&mut self, error: Error) {
        self.error = self.error.and(Err(error));
    }

    fn settle(&mut self, transfer: &mut Transfer) {
        let done = match (self.direction, self.error) {
            (Direction::Read, _) => self.read + self.put_bytes(),
            (Direction::Write, Ok(())) => self.positions.end - self.positions.start,
            (Direction::Write, Err(_)) => 0,
        };
        transfer.access.settle(done);
        transfer.end_with(self.error);
    }

    /// Bytes that aggregators put into this rank's memory: up to the end of the file.
    fn put_bytes(&self) -> u64 {
        let Some(size) = self.size else { return 0 };
        let end = self.view.position_at(size).clamp(self.positions.start, self.positions.end);
        let there = self.positions.start..end;
        if (0..self.plan.domains()).all(|domain| self.is_reached_by(domain)) {
            return there.end - there.start;
        }
        let of_domain = |domain: u64| {
            let mut course = Course::new(domain, &there);
            let parts = std::iter::from_fn(move || course.next(&self.plan, &self.view));
            parts.map(|(_, part)| part.end - part.start).sum::<u64>()
        };
        (0..self.plan.domains()).filter(|&domain| self.is_reached_by(domain)).map(of_domain).sum()
    }

    fn advance_once(&mut self, state: &mut State, transfer: &mut Transfer) -> bool {
        let mut moved = self.describe(state);
        moved |= self.hear_answers(state);
        moved |= self.take_results();
        moved |= self.advance_flows(state, transfer);
        if let Some(mut aggregator) = self.aggregator.take() {
            moved |= aggregator.advance(self, state, transfer);
            self.aggregator = Some(aggregator);
        }
        let others = self.aggregator.as_ref().is_none_or(Aggregator::is_over) && self.flows.is_empty();
        if others && !self.at_work && self.needs_size() {
            self.start(Job::size(self));
            moved = true;
        }
        moved
    }

    /// Has a job run.
    fn start(&mut self, job: Job) {
        (self.due, self.at_work) = (Some(job), true);
    }

    /// Takes what has come of a job.
    fn take_results(&mut self) -> bool {
        let Some(result) = self.results.take() else { return false };
        self.at_work = false;
        if let Err(error) = result.done {
            self.fail(error);
        }
        self.size = self.size.or(result.size);
        if let (Some(window), Some(aggregator)) = (result.window, &mut self.aggregator) {
            aggregator.take_back(window);
        }
        true
    }

    /// Sends the aggregators the layout of the view, once, and asks whether they can place what comes.
    fn describe(&mut self, state: &mut State) -> bool {
        let before = self.describing.len();
        self.describing.retain(|&id| state.p2p.take(id).is_none());
        let moved = self.describing.len() < before;
        if std::mem::replace(&mut self.described, true) {
            return moved;
        }
        for index in 0..self.plan.aggregators() {
            if self.plan.process(index) as usize != self.me
                && let Err(error) = self.describe_to(state, index)
            {
                self.fail(error);
                self.answered(index, false);
            }
        }
        true
    }

    fn describe_to(&mut self, state: &mut State, index: u64) -> Result<()> {
        let to = self.plan.process(index) as i32;
        let mut word = Box::new([0]);
        let room = Data::Contiguous(objects::memory::of_words(&mut word[..]));
        if let Some(id) = start_recv(state, room, to, self.tag | ANSWER, self.comm)? {
            self.answers.push(Answer { index, id, word });
        }
        let data = Data::Contiguous(objects::memory::of_words(&mut self.description));
        let sent = start_send(state, Mode::Standard, data, to, self.tag | DESCRIPTION, self.comm)?;
        self.describing.extend(sent);
        Ok(())
    }

    /// Begins with those aggregators that know the views.
    fn hear_answers(&mut self, state: &mut State) -> bool {
        let before = self.answers.len();
        for answer in std::mem::take(&mut self.answers) {
            match state.p2p.take(answer.id) {
                None => self.answers.push(answer),
                Some(done) if done.error != abi::SUCCESS => {
                    self.fail(messages::p2p::failure(&done));
                    self.answered(answer.index, false);
                }
                Some(_) => {
                    if answer.word[0] != 0 {
                        self.fail(elsewhere(answer.word[0]));
                    }
                    self.answered(answer.index, answer.word[0] == 0);
                }
            }
        }
        self.answers.len() < before
    }

    /// An aggregator, maybe this process, knows the views or never will.
    fn answered(&mut self, index: u64, knows: bool) {
        match knows {
            true => self.flows.iter_mut().filter(|flow| flow.domain() == index).for_each(Flow::open),
            false => self.flows.retain(|flow| flow.domain() != index),
        }
    }

    fn advance_flows(&mut self, state: &mut State, transfer: &mut Transfer) -> bool {
        let mut moved = false;
        let mut flows = std::mem::take(&mut self.flows);
        flows.retain_mut(|flow| {
            moved |= flow.advance(self, state, transfer);
            !flow.is_over()
        });
        self.flows = flows;
        moved
    }
}

/// A collective access has failed on all processes: the next one describes the views anew, since an aggregator may not
/// have received them.
pub(super) fn forget_views(state: &mut State, fh: abi::File) {
    if let Ok(file) = FILES.get_mut(&mut state.tables).get_mut(fh) {
        (file.described, file.views) = (false, None);
    }
}

/// Whether this process reads and writes the memory of all others on its node that have a file open; tried out once.
pub(super) fn reaches_near(state: &mut State, fh: abi::File) -> Result<bool> {
    let file = file_of(state, fh)?;
    if let Some(reaches) = file.reaches {
        return Ok(reaches);
    }
    let (me, peers) = (state.me(), state.comm(file.comm)?.group.peers());
    let reaches = state.node.as_ref().is_some_and(|node| {
        let near = |peer: &&u32| **peer != me && node.place_of(Peer(**peer)).is_some();
        node.has_single_copy() && peers.iter().filter(near).all(|&peer| node.can_read(Peer(peer)))
    });
    FILES.get_mut(&mut state.tables).get_mut(fh)?.reaches = Some(reaches);
    Ok(reaches)
}

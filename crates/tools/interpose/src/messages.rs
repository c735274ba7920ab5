//! Messages and requests of this process: which message of its channel each is, and when it began.
//!
//! A message is named by communicator, sender, receiver, tag, and its number among those: MPI keeps their order
//! (MPI-5.0 section 3.5), so both ends count alike, and nothing is added to a message.
//!
//! Where several messages may be received by either of two receives, of which one is a wildcard, the numbers are what the order of
//! their completion makes likely. [`Follow::doubt`] is called then.

use std::collections::HashMap;
use std::sync::Arc;

use crate::groups::Group;
use crate::{Call, Direction, Kind, Shape, ask, groups, thread};

/// A channel: communicator ([`groups::Group::identity`]), the other process as a rank of the job, tag, and whether messages
/// come by it.
pub type Channel = (u64, u32, i32, bool);

/// What a tool does with messages and requests.
pub trait Follow {
    /// What it keeps of each.
    type Kept: Clone;
    /// A call makes a request, or sends or receives: `way` is one of its messages, if it has any.
    fn begin(&mut self, call: &Call<'_>, way: Option<&Way>) -> Self::Kept;
    /// A call starts a persistent request.
    fn restart(&mut self, _call: &Call<'_>, _kept: &mut Self::Kept) {}
    /// It is known now which message of its channel it is.
    fn numbered(&mut self, _channel: Channel, _number: u64, _kept: &Self::Kept) {}
    /// It has ended.
    fn ended(&mut self, _way: Option<&Way>, _kept: &Self::Kept, _time: (u64, u64)) {}
    /// From now on, numbers of messages that this process receives may be wrong in the communicator; `None`: in all, also of those
    /// that it sends.
    fn doubt(&mut self, _comm: Option<u64>) {}
}

/// What a call was given.
pub struct Given {
    requests: Vec<usize>,
    /// The message that it receives, if `MPI_Mprobe` has taken that out.
    matched: Option<Way>,
}

/// What is known of this process.
pub struct Messages<T> {
    /// Messages that each channel had.
    numbers: HashMap<Channel, u64>,
    /// Collectives that each communicator had.
    rounds: HashMap<u64, u64>,
    /// Requests by handle. The library gives sends that have ended at once one handle.
    open: HashMap<usize, Vec<Open<T>>>,
    /// Receives among them: all, and those by a wildcard.
    receives: (usize, usize),
    /// What `MPI_Mprobe` has taken out, by handle.
    matched: HashMap<usize, Way>,
    /// The thread that has sent or received; 0: none has.
    thread: u64,
}

/// A message, as far as it is known.
#[derive(Clone)]
pub struct Way {
    /// It is received.
    pub is_receive: bool,
    comm: Arc<Group>,
    peer: i64,
    tag: i64,
    /// The datatype and how many of it; `None`: the call has none.
    pub data: Option<(usize, i64)>,
    /// Its number; `None`: it is not known yet which message it will be.
    number: Option<u64>,
}

/// A request that is open.
#[derive(Clone)]
struct Open<T> {
    /// Its messages, at most two.
    ways: Vec<(Way, T)>,
    /// What is kept where it has none.
    kept: Option<T>,
    /// When it was started; `None`: it is not active.
    started: Option<u64>,
    is_persistent: bool,
}

impl<T> Default for Messages<T> {
    fn default() -> Self {
        let (numbers, rounds, open, matched) = Default::default();
        Messages { numbers, rounds, open, receives: (0, 0), matched, thread: 0 }
    }
}

impl<T: Clone> Messages<T> {
    /// A call begins: what it is given, of which the library takes handles away.
    pub fn before(&mut self, call: &Call<'_>) -> Given {
        let message = call.function.place("message");
        let message = message.filter(|_| matches!(call.function.base(), "Mrecv" | "Imrecv"));
        let matched = message.and_then(|place| self.matched.remove(&call.handle(place)));
        Given { requests: call.requests_in(), matched }
    }

    /// A call was successful; `given`: what its arguments were.
    pub fn changed(&mut self, call: &Call<'_>, given: Given, tool: &mut impl Follow<Kept = T>) {
        let Given { requests: before, matched } = given;
        let base = call.function.base();
        match base {
            "Start" | "Startall" => before.iter().for_each(|&request| self.start(call, request, tool)),
            "Request_free" => self.give_up(before[0], tool),
            "Cancel" => tool.doubt(None),
            _ if !before.is_empty() => {
                for (place, index) in call.completed(&before) {
                    self.complete(call, before[place], index, tool);
                }
            }
            _ => {}
        }
        if matches!(base, "Mprobe" | "Improbe") {
            self.probed(call, tool);
        }
        let made = call.arguments().find(|(_, it)| {
            it.kind == Kind::Request && it.direction == Direction::Out && it.shape == Shape::One
        });
        let ways = ways(call, matched);
        if !ways.is_empty() {
            self.look_at_threads(tool);
        }
        let with_kept = |way: Way| {
            let kept = tool.begin(call, Some(&way));
            (way, kept)
        };
        let ways: Vec<(Way, T)> = ways.into_iter().map(with_kept).collect();
        match made {
            Some((place, _)) => {
                let is_persistent = base.ends_with("_init");
                let kept = ways.is_empty().then(|| tool.begin(call, None));
                let mut open = Open { ways, kept, started: None, is_persistent };
                // The number of a message is that of its start.
                if !is_persistent {
                    self.activate(&mut open, call.started(), tool);
                }
                self.open.entry(call.handle(place)).or_default().push(open);
            }
            None => {
                for (way, kept) in ways {
                    self.look_at_others(&way, tool);
                    let way = self.numbered(way, &kept, tool);
                    let way = self.received(way, &kept, call, 0, tool);
                    tool.ended(Some(&way), &kept, (call.started(), call.ended()));
                }
            }
        }
    }

    /// A call has failed: whether it has sent or received something is not known.
    pub fn failed(&mut self, call: &Call<'_>, given: &Given, tool: &mut impl Follow<Kept = T>) {
        let has_messages = directions(call.function.base()) != (false, false);
        if has_messages || !given.requests.is_empty() || given.matched.is_some() {
            tool.doubt(None);
        }
    }

    /// Of a collective that ends with its call: the communicator, and which one it is there.
    pub fn round(&mut self, call: &Call<'_>) -> Option<(u64, u64)> {
        let base = call.function.base();
        if call.function.chapter != 6 || base.starts_with('I') || base.ends_with("_init") {
            return None;
        }
        let comm = groups::of(call.comm()?, Kind::Comm).identity;
        let next = self.rounds.entry(comm).or_insert(0);
        *next += 1;
        Some((comm, *next))
    }

    fn probed(&mut self, call: &Call<'_>, tool: &mut impl Follow<Kept = T>) {
        let flag = call.function.place("flag").map_or(1, |place| call.element(place, 0));
        let (Some(message), Some(comm)) = (call.function.place("message"), call.comm()) else { return };
        if flag == 0 {
            return;
        }
        let number = |name| call.function.place(name).map_or(-1, |place| call.number_at(place));
        let (peer, tag) = (number("source"), number("tag"));
        let comm = groups::of(comm, Kind::Comm);
        let way = Way { is_receive: true, comm, peer, tag, data: None, number: None };
        self.look_at_others(&way, tool);
        let kept = tool.begin(call, Some(&way));
        let way = self.numbered(way, &kept, tool);
        let way = self.received(way, &kept, call, 0, tool);
        self.matched.insert(call.handle(message), way);
    }

    /// Gives the message its number, where the channel is known.
    fn numbered(&mut self, mut way: Way, kept: &T, tool: &mut impl Follow<Kept = T>) -> Way {
        if way.number.is_none()
            && !way.is_wild()
            && let Some(channel) = way.channel()
        {
            let next = self.numbers.entry(channel).or_insert(0);
            way.number = Some(*next);
            tool.numbered(channel, *next, kept);
            *next += 1;
        }
        way
    }

    /// A message has come: its status names sender and tag, unless the program ignores that.
    fn received(
        &mut self,
        mut way: Way,
        kept: &T,
        call: &Call<'_>,
        index: usize,
        tool: &mut impl Follow<Kept = T>,
    ) -> Way {
        if !way.is_receive || way.number.is_some() {
            return way;
        }
        let status = call.arguments().find(|(_, it)| it.kind == Kind::Status);
        let status = status.and_then(|(place, _)| call.status(place, index));
        if let Some((source, tag)) = status {
            (way.peer, way.tag) = (source.into(), tag.into());
            return self.numbered(way, kept, tool);
        }
        tool.doubt(Some(way.comm.identity));
        way
    }

    /// An operation becomes active.
    fn activate(&mut self, open: &mut Open<T>, now: u64, tool: &mut impl Follow<Kept = T>) {
        open.started = Some(now);
        for (way, kept) in &mut open.ways {
            way.number = None;
            if way.is_receive {
                self.look_at_others(way, tool);
                self.receives.0 += 1;
                self.receives.1 += usize::from(way.is_wild());
            }
            *way = self.numbered(way.clone(), kept, tool);
        }
    }

    /// It is not active any more.
    fn settle(&mut self, open: &Open<T>) {
        for (way, _) in open.ways.iter().filter(|(way, _)| way.is_receive) {
            self.receives.0 = self.receives.0.saturating_sub(1);
            self.receives.1 = self.receives.1.saturating_sub(way.is_wild().into());
        }
    }

    fn start(&mut self, call: &Call<'_>, request: usize, tool: &mut impl Follow<Kept = T>) {
        let Some(mut open) = self.take(request) else { return };
        open.ways
            .iter_mut()
            .map(|(_, kept)| kept)
            .chain(&mut open.kept)
            .for_each(|kept| tool.restart(call, kept));
        self.activate(&mut open, call.started(), tool);
        self.open.entry(request).or_default().push(open);
    }

    /// A request is freed while its operation may go on.
    fn give_up(&mut self, request: usize, tool: &mut impl Follow<Kept = T>) {
        let Some(open) = self.take(request).filter(|open| open.started.is_some()) else { return };
        self.settle(&open);
        // Which message a wildcard gets, no call will tell.
        open.ways
            .iter()
            .filter(|(way, _)| way.is_wild())
            .for_each(|(way, _)| tool.doubt(Some(way.comm.identity)));
    }

    fn complete(&mut self, call: &Call<'_>, request: usize, status: usize, tool: &mut impl Follow<Kept = T>) {
        let Some(mut open) = self.take(request) else { return };
        if let Some(started) = open.started {
            self.settle(&open);
            open.started = None;
            let time = (started, call.ended());
            for (way, kept) in &open.ways {
                let way = self.received(way.clone(), kept, call, status, tool);
                tool.ended(Some(&way), kept, time);
            }
            if let Some(kept) = &open.kept {
                tool.ended(None, kept, time);
            }
        }
        if open.is_persistent {
            self.open.entry(request).or_default().push(open);
        }
    }

    /// The oldest of the requests that have this handle.
    fn take(&mut self, request: usize) -> Option<Open<T>> {
        let same = self.open.get_mut(&request)?;
        let taken = same.remove(0);
        if same.is_empty() {
            self.open.remove(&request);
        }
        Some(taken)
    }

    /// A receive is posted, or a message taken out: another receive that waits may get the message of this one.
    fn look_at_others(&self, way: &Way, tool: &mut impl Follow<Kept = T>) {
        let (all, wild) = self.receives;
        if !way.is_receive || all == 0 || (wild == 0 && !way.is_wild()) {
            return;
        }
        let active = self.open.values().flatten().filter(|open| open.started.is_some());
        let may_take = |other: &Way| {
            let same = |own: i64, others: i64, any: i32| {
                own == others || own == i64::from(any) || others == i64::from(any)
            };
            other.is_receive
                && Arc::ptr_eq(&other.comm, &way.comm)
                && (other.is_wild() || way.is_wild())
                && same(way.peer, other.peer, abi::ANY_SOURCE)
                && same(way.tag, other.tag, abi::ANY_TAG)
        };
        if active.flat_map(|open| &open.ways).any(|(other, _)| may_take(other)) {
            tool.doubt(Some(way.comm.identity));
        }
    }

    /// Two threads may send or receive in another order than their calls end.
    fn look_at_threads(&mut self, tool: &mut impl Follow<Kept = T>) {
        let me = thread();
        if self.thread != 0 && self.thread != me && ask::thread_level() == abi::THREAD_MULTIPLE {
            tool.doubt(None);
        }
        self.thread = me;
    }
}

impl Way {
    /// Whether it receives what any process sends, or with any tag.
    fn is_wild(&self) -> bool {
        self.is_receive && (self.peer < 0 || self.tag == i64::from(abi::ANY_TAG))
    }

    /// Its channel and number, where they are known.
    pub fn name(&self) -> Option<(Channel, u64)> {
        self.channel().zip(self.number)
    }

    /// Bytes that are sent.
    pub fn bytes(&self) -> u64 {
        match self.data {
            Some((datatype, count)) if !self.is_receive => (count * ask::type_size(datatype)).max(0) as u64,
            _ => 0,
        }
    }

    fn channel(&self) -> Option<Channel> {
        let tag = i32::try_from(self.tag).ok()?;
        Some((self.comm.identity, self.comm.in_job(self.peer)?, tag, self.is_receive))
    }
}

/// The messages of a call, by its arguments, and the one that was taken out for it.
fn ways(call: &Call<'_>, matched: Option<Way>) -> Vec<Way> {
    let (function, base) = (call.function, call.function.base());
    let (is_send, is_receive) = directions(base);
    let place = |names: &[&str]| names.iter().find_map(|name| function.place(name));
    let number = |names: &[&str]| place(names).map(|place| call.number_at(place));
    let data =
        |count: &[&str], datatype: &[&str]| place(datatype).map(|place| call.word(place)).zip(number(count));
    let comm =
        (is_send || is_receive).then(|| call.comm()).flatten().map(|comm| groups::of(comm, Kind::Comm));
    let mut ways = Vec::new();
    if is_send && let Some(comm) = &comm {
        ways.push(Way {
            is_receive: false,
            comm: comm.clone(),
            peer: number(&["dest"]).unwrap_or(-1),
            tag: number(&["sendtag", "tag"]).unwrap_or(0),
            data: data(&["sendcount", "count"], &["sendtype", "datatype"]),
            number: None,
        });
    }
    if is_receive && let Some(comm) = comm {
        ways.push(Way {
            is_receive: true,
            comm,
            peer: number(&["source"]).unwrap_or(-1),
            tag: number(&["recvtag", "tag"]).unwrap_or(0),
            data: data(&["recvcount", "count"], &["recvtype", "datatype"]),
            number: None,
        });
    }
    ways.extend(matched);
    // A process that is none sends and receives nothing.
    ways.retain(|way| way.peer != i64::from(abi::PROC_NULL));
    ways
}

/// Whether a function sends a message to one process, and whether it receives one.
fn directions(base: &str) -> (bool, bool) {
    match base {
        "Send" | "Bsend" | "Ssend" | "Rsend" | "Isend" | "Ibsend" | "Issend" | "Irsend" | "Send_init"
        | "Bsend_init" | "Ssend_init" | "Rsend_init" => (true, false),
        "Recv" | "Irecv" | "Recv_init" => (false, true),
        "Sendrecv" | "Sendrecv_replace" | "Isendrecv" | "Isendrecv_replace" => (true, true),
        _ => (false, false),
    }
}

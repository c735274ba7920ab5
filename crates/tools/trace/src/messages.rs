//! Messages and requests of this process: which message of its channel each is, and when it began.

use std::collections::HashMap;

use interpose::{Call, Direction, Kind, Shape, ask, groups};

use crate::events::{self, Event, NONE};

/// A channel: communicator, the other process as a rank of the job, tag, and whether messages come by it.
type Channel = (u64, u32, i32, bool);

/// What a call was given.
pub struct Given {
    requests: Vec<usize>,
    /// The message that it receives, if `MPI_Mprobe` has taken that out.
    matched: Option<Way>,
}

/// What is known of this process.
#[derive(Default)]
pub struct Messages {
    /// Messages that each channel had.
    numbers: HashMap<Channel, u64>,
    /// Collectives that each communicator had.
    rounds: HashMap<u64, u64>,
    /// Requests by handle. The library gives sends that have ended at once one handle.
    open: HashMap<usize, Vec<Open>>,
    /// What `MPI_Mprobe` has taken out, by handle.
    matched: HashMap<usize, Way>,
}

/// A message, as far as it is known.
#[derive(Clone, Copy)]
struct Way {
    kind: events::Kind,
    handle: usize,
    peer: i64,
    tag: i64,
    bytes: u64,
    /// Its number; `None`: it is not known yet which message it will be.
    number: Option<u64>,
}

/// A request that is open.
#[derive(Clone, Copy)]
struct Open {
    site: u32,
    way: Option<Way>,
    /// When it was started; `None`: it is not active.
    started: Option<u64>,
    is_persistent: bool,
}

impl Messages {
    /// A call begins: what it is given, of which the library takes handles away.
    pub fn before(&mut self, call: &Call<'_>) -> Given {
        let message = call.function.place("message");
        let message = message.filter(|_| matches!(call.function.base(), "Mrecv" | "Imrecv"));
        let matched = message.and_then(|place| self.matched.remove(&call.handle(place)));
        Given { requests: call.requests_in(), matched }
    }

    /// A call was successful; `given`: what its arguments were.
    pub fn changed(&mut self, call: &Call<'_>, site: u32, given: Given, mut each: impl FnMut(Event)) {
        let Given { requests: before, matched } = given;
        let base = call.function.base();
        let time = (call.started(), call.ended());
        match base {
            "Start" | "Startall" => before.iter().for_each(|&request| self.start(request, site, time.0)),
            "Request_free" => drop(self.take(before[0])),
            _ if !before.is_empty() => {
                for (place, index) in call.completed(&before) {
                    self.complete(call, before[place], index, &mut each);
                }
            }
            _ => {}
        }
        if matches!(base, "Mprobe" | "Improbe") {
            self.probed(call);
        }
        let is_persistent = base.ends_with("_init");
        let made = call.arguments().find(|(_, it)| {
            it.kind == Kind::Request && it.direction == Direction::Out && it.shape == Shape::One
        });
        match made {
            Some((place, _)) => {
                let way = ways(call, matched).into_iter().next();
                // The number of a message is that of its start.
                let way = if is_persistent { way } else { way.map(|way| self.numbered(way)) };
                let started = (!is_persistent).then_some(time.0);
                let open = Open { site, way, started, is_persistent };
                self.open.entry(call.handle(place)).or_default().push(open);
            }
            None => {
                for way in ways(call, matched) {
                    let way = self.numbered(way);
                    let way = self.received(way, call, 0);
                    each(way.event(site, time));
                }
            }
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

    fn probed(&mut self, call: &Call<'_>) {
        let flag = call.function.place("flag").map_or(1, |place| call.element(place, 0));
        let (Some(message), Some(comm)) = (call.function.place("message"), call.comm()) else { return };
        if flag == 0 {
            return;
        }
        let number = |name| call.function.place(name).map_or(-1, |place| call.number_at(place));
        let way = Way {
            kind: events::Kind::Receive,
            handle: comm,
            peer: number("source"),
            tag: number("tag"),
            bytes: 0,
            number: None,
        };
        let way = self.numbered(way);
        let way = self.received(way, call, 0);
        self.matched.insert(call.handle(message), way);
    }

    /// Gives the message its number, where the channel is known.
    fn numbered(&mut self, mut way: Way) -> Way {
        if way.number.is_none()
            && way.peer >= 0
            && way.tag != i64::from(abi::ANY_TAG)
            && let Some(channel) = way.channel()
        {
            let next = self.numbers.entry(channel).or_insert(0);
            way.number = Some(*next);
            *next += 1;
        }
        way
    }

    /// A message has come: its status names sender and tag, unless the program ignores that.
    fn received(&mut self, mut way: Way, call: &Call<'_>, index: usize) -> Way {
        if way.kind != events::Kind::Receive || way.number.is_some() {
            return way;
        }
        let status = call.arguments().find(|(_, it)| it.kind == Kind::Status);
        let status = status.and_then(|(place, _)| call.status(place, index));
        if let Some((source, tag)) = status {
            (way.peer, way.tag) = (source.into(), tag.into());
            return self.numbered(way);
        }
        way
    }

    fn start(&mut self, request: usize, site: u32, now: u64) {
        let Some(mut open) = self.take(request) else { return };
        open.way = open.way.map(|way| self.numbered(Way { number: None, ..way }));
        (open.started, open.site) = (Some(now), site);
        self.open.entry(request).or_default().push(open);
    }

    fn complete(&mut self, call: &Call<'_>, request: usize, status: usize, each: &mut impl FnMut(Event)) {
        let Some(mut open) = self.take(request) else { return };
        if let Some(started) = open.started.take() {
            let time = (started, call.ended());
            each(match open.way {
                Some(way) => self.received(way, call, status).event(open.site, time),
                None => Event { kind: events::Kind::Request, ..Event::call(open.site, time, 0) },
            });
        }
        if open.is_persistent {
            self.open.entry(request).or_default().push(open);
        }
    }

    /// The oldest of the requests that have this handle.
    fn take(&mut self, request: usize) -> Option<Open> {
        let same = self.open.get_mut(&request)?;
        let taken = same.remove(0);
        if same.is_empty() {
            self.open.remove(&request);
        }
        Some(taken)
    }
}

impl Way {
    fn channel(&self) -> Option<Channel> {
        let group = groups::of(self.handle, Kind::Comm);
        let tag = i32::try_from(self.tag).ok()?;
        Some((group.identity, group.in_job(self.peer)?, tag, self.kind == events::Kind::Receive))
    }

    fn event(&self, site: u32, time: (u64, u64)) -> Event {
        let known = self.channel().zip(self.number);
        let ((comm, peer, tag, _), number) = known.unwrap_or(((0, NONE, 0, false), 0));
        let bytes = self.bytes;
        Event { kind: self.kind, peer, tag, bytes, comm, number, ..Event::call(site, time, 0) }
    }
}

/// The messages of a call, by its arguments, and the one that was taken out for it.
fn ways(call: &Call<'_>, matched: Option<Way>) -> Vec<Way> {
    let (function, base) = (call.function, call.function.base());
    let (is_send, is_receive) = directions(base);
    let number = |names: &[&str]| {
        names.iter().find_map(|name| function.place(name)).map(|place| call.number_at(place))
    };
    let mut ways = Vec::new();
    if is_send && let Some(handle) = call.comm() {
        let count = number(&["sendcount", "count"]).unwrap_or(0);
        let datatype = ["sendtype", "datatype"].iter().find_map(|name| function.place(name));
        let size = datatype.map_or(0, |place| ask::type_size(call.word(place)));
        ways.push(Way {
            kind: events::Kind::Send,
            handle,
            peer: number(&["dest"]).unwrap_or(-1),
            tag: number(&["sendtag", "tag"]).unwrap_or(0),
            bytes: (count * size).max(0) as u64,
            number: None,
        });
    }
    if is_receive && let Some(handle) = call.comm() {
        ways.push(Way {
            kind: events::Kind::Receive,
            handle,
            peer: number(&["source"]).unwrap_or(-1),
            tag: number(&["recvtag", "tag"]).unwrap_or(0),
            bytes: 0,
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
        "Sendrecv" | "Sendrecv_replace" => (true, true),
        _ => (false, false),
    }
}

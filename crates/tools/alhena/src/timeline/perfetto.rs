//! Perfetto's protobuf: a file is packets, one after the other.
//!
//! A rank is a process track. Its threads are tracks below it, and so are lanes for its requests, as slices of one track must
//! nest. A message is a flow from the call that sends it to a point in the call that has it. Names and places are interned: an
//! event has their numbers.

use std::collections::HashMap;

use super::{Rank, Timeline};

/// A message of protobuf, as its bytes.
#[derive(Default)]
struct Proto(Vec<u8>);

impl Proto {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number.
    fn number(mut self, field: u32, value: u64) -> Proto {
        self.varint(u64::from(field << 3));
        self.varint(value);
        self
    }

    /// A number of eight bytes.
    fn fixed(mut self, field: u32, value: u64) -> Proto {
        self.varint(u64::from(field << 3 | 1));
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u32, value: &[u8]) -> Proto {
        self.varint(u64::from(field << 3 | 2));
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn text(self, field: u32, value: &str) -> Proto {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u32, value: Proto) -> Proto {
        self.bytes(field, &value.0)
    }
}

/// Fields of `TracePacket`.
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED: u32 = 12;
    pub const FLAGS: u32 = 13;
    pub const DROPPED: u32 = 42;
    pub const TRACK: u32 = 60;
}

/// Fields of `TrackEvent`, and its kinds.
mod event {
    pub const CATEGORY: u32 = 3;
    pub const ANNOTATION: u32 = 4;
    pub const KIND: u32 = 9;
    pub const NAME: u32 = 10;
    pub const TRACK: u32 = 11;
    pub const FLOW: u32 = 47;
    pub const FLOW_ENDS: u32 = 48;
    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
}

/// Fields of `InternedData`.
mod interned {
    pub const CATEGORY: u32 = 1;
    pub const NAME: u32 = 2;
    pub const ANNOTATION: u32 = 3;
    pub const STRING: u32 = 29;
}

/// The file.
pub fn write(timeline: &Timeline) -> Vec<u8> {
    let mut file = File { out: Proto::default(), known: HashMap::new(), begun: false };
    let mut flows: HashMap<(usize, usize), Vec<u64>> = HashMap::new();
    let mut ends: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (number, message) in timeline.messages.iter().enumerate() {
        flows.entry(message.from).or_default().push(number as u64 + 1);
        ends.entry(message.to).or_default().push(number);
    }
    for (place, rank) in timeline.ranks.iter().enumerate() {
        file.describe(rank);
        for thread in rank.threads() {
            file.thread(timeline, (place, thread), &flows, &ends);
        }
        file.requests(rank);
    }
    file.out.0
}

struct File {
    out: Proto,
    /// Numbers of texts, by what they are.
    known: HashMap<(u32, String), u64>,
    begun: bool,
}

/// The process track of a rank, a thread's, and a lane's for requests.
fn track(rank: &Rank, part: u64) -> u64 {
    (u64::from(rank.rank) + 1) << 32 | part
}

const LANES: u64 = 1 << 20;

impl File {
    fn packet(&mut self, packet: Proto) {
        let mut packet = packet.number(packet::SEQUENCE, 1);
        // The first packet begins the numbers of texts, and the others need them.
        packet = packet.number(packet::FLAGS, if self.begun { 2 } else { 3 });
        self.begun = true;
        let mut out = std::mem::take(&mut self.out);
        out = out.message(1, packet);
        self.out = out;
    }

    /// The number of a text; entered in the packet where it is new.
    fn intern(&mut self, new: &mut Proto, kind: u32, text: &str) -> u64 {
        if let Some(&known) = self.known.get(&(kind, text.to_owned())) {
            return known;
        }
        let number = self.known.len() as u64 + 1;
        self.known.insert((kind, text.to_owned()), number);
        let entry = Proto::default().number(1, number).text(2, text);
        *new = std::mem::take(new).message(kind, entry);
        number
    }

    fn describe(&mut self, rank: &Rank) {
        let process = Proto::default()
            .number(1, u64::from(rank.rank) + 1)
            .number(3, rank.rank.into())
            .text(6, &format!("rank {}", rank.rank));
        let process = rank.labels().split(", ").fold(process, |process, label| process.text(8, label));
        let own = Proto::default().number(1, track(rank, 0)).message(3, process);
        let mut first = Proto::default().message(packet::TRACK, own);
        if rank.dropped > 0 {
            first = first.number(packet::DROPPED, 1);
        }
        self.packet(first);
        for thread in rank.threads() {
            self.describe_part(rank, 1 + u64::from(thread), &format!("thread {thread}"));
        }
    }

    /// A track below that of its rank.
    fn describe_part(&mut self, rank: &Rank, part: u64, name: &str) {
        let named = Proto::default().number(1, track(rank, part)).number(5, track(rank, 0)).text(2, name);
        self.packet(Proto::default().message(packet::TRACK, named));
    }

    /// An event with a name, and numbers or texts beside it.
    fn named(
        &mut self,
        time: u64,
        track: u64,
        kind: u64,
        category: &str,
        name: &str,
        facts: &[(&str, Fact<'_>)],
    ) -> (Proto, Proto) {
        let mut new = Proto::default();
        let category = self.intern(&mut new, interned::CATEGORY, category);
        let name = self.intern(&mut new, interned::NAME, name);
        let mut event = Proto::default()
            .number(event::KIND, kind)
            .number(event::TRACK, track)
            .number(event::CATEGORY, category)
            .number(event::NAME, name);
        for (name, fact) in facts {
            let name = self.intern(&mut new, interned::ANNOTATION, name);
            let annotation = Proto::default().number(1, name);
            let annotation = match fact {
                Fact::Number(value) => annotation.number(4, *value as u64),
                Fact::Text(value) => annotation.number(17, self.intern(&mut new, interned::STRING, value)),
            };
            event = event.message(event::ANNOTATION, annotation);
        }
        let mut packet = Proto::default().number(packet::TIMESTAMP, time);
        if !new.0.is_empty() {
            packet = packet.message(packet::INTERNED, new);
        }
        (packet, event)
    }

    fn put(&mut self, (packet, event): (Proto, Proto)) {
        self.packet(packet.message(packet::TRACK_EVENT, event));
    }

    fn end(&mut self, time: u64, track: u64) {
        let event = Proto::default().number(event::KIND, event::END).number(event::TRACK, track);
        self.put((Proto::default().number(packet::TIMESTAMP, time), event));
    }

    /// The calls of a thread: each ends before the one around it does.
    fn thread(
        &mut self,
        timeline: &Timeline,
        (place, thread): (usize, u16),
        flows: &HashMap<(usize, usize), Vec<u64>>,
        ends: &HashMap<(usize, usize), Vec<usize>>,
    ) {
        let rank = &timeline.ranks[place];
        let own = track(rank, 1 + u64::from(thread));
        let mut open: Vec<usize> = Vec::new();
        let calls = rank.calls.iter().enumerate().filter(|(_, call)| call.thread == thread);
        for (at, call) in calls {
            while let Some(&last) = open.last().filter(|&&last| rank.calls[last].time.1 <= call.time.0) {
                self.close(timeline, (place, last), own, ends);
                open.pop();
            }
            let mut facts = known(&call.place);
            facts.extend(call.facts().into_iter().map(|(name, value)| (name, Fact::Number(value as i64))));
            let (packet, mut event) = self.named(call.time.0, own, event::BEGIN, "mpi", &call.name, &facts);
            for &flow in flows.get(&(place, at)).into_iter().flatten() {
                event = event.fixed(event::FLOW, flow);
            }
            self.put((packet, event));
            open.push(at);
        }
        while let Some(last) = open.pop() {
            self.close(timeline, (place, last), own, ends);
        }
    }

    /// The end of a call, behind the messages that it has received.
    fn close(
        &mut self,
        timeline: &Timeline,
        call: (usize, usize),
        track: u64,
        ends: &HashMap<(usize, usize), Vec<usize>>,
    ) {
        let time = timeline.call(call).time.1;
        for &number in ends.get(&call).into_iter().flatten() {
            let message = &timeline.messages[number];
            let facts = [
                ("from", Fact::Number(timeline.ranks[message.from.0].rank.into())),
                ("tag", Fact::Number(message.tag.into())),
                ("bytes", Fact::Number(message.bytes as i64)),
            ];
            let (packet, event) = self.named(time, track, event::INSTANT, "message", "message", &facts);
            self.put((packet, event.fixed(event::FLOW_ENDS, number as u64 + 1)));
        }
        self.end(time, track);
    }

    /// Requests that overlap have lanes of their own.
    fn requests(&mut self, rank: &Rank) {
        let mut requests: Vec<_> = rank.requests.iter().collect();
        requests.sort_by_key(|request| request.time);
        let mut lanes: Vec<u64> = Vec::new();
        for request in requests {
            let free = lanes.iter().position(|&until| until <= request.time.0);
            let lane = free.unwrap_or_else(|| {
                lanes.push(0);
                self.describe_part(rank, LANES + lanes.len() as u64 - 1, "requests");
                lanes.len() - 1
            });
            lanes[lane] = request.time.1;
            let own = track(rank, LANES + lane as u64);
            let facts = known(&request.place);
            let begin = self.named(request.time.0, own, event::BEGIN, "request", &request.name, &facts);
            self.put(begin);
            self.end(request.time.1, own);
        }
    }
}

/// Where a call was, if that is known: a simulated one is nowhere.
fn known(text: &str) -> Vec<(&'static str, Fact<'_>)> {
    if text.is_empty() { Vec::new() } else { vec![("place", Fact::Text(text))] }
}

/// What stands beside an event.
enum Fact<'a> {
    Number(i64),
    Text(&'a str),
}

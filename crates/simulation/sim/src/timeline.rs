//! What the ranks of a job did when, on virtual time, for `alhena sim … --trace`.
//!
//! ```text
//!   Endpoint ── calls, messages, waiting ──► Recorder of each rank ── Cluster::run ──► Timeline, joined by order
//! ```
//!
//! Programs that name their calls of MPI have these; of others, each start of an operation is a call, and so is the time for
//! which the rank then waits. Messages of one pair, context and tag do not overtake (MPI-5.0 section 3.5): the n-th that was
//! sent is the n-th that was received.

use gni::Time;
use pml::ReqId;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;

/// The last job that ended, and how many there were.
#[derive(Debug, Default)]
pub struct Timeline(Mutex<Jobs>);

/// What [`Timeline::take`] gives.
#[derive(Debug, Default)]
pub struct Jobs {
    /// Jobs that have ended.
    pub count: u32,
    /// Ranks of the last one.
    pub ranks: Vec<TracedRank>,
    /// Its messages.
    pub messages: Vec<TracedMessage>,
}

/// A rank.
#[derive(Debug)]
pub struct TracedRank {
    /// Its node.
    pub node: u32,
    /// Its calls, in their order: none is within another.
    pub calls: Vec<TracedCall>,
    /// Operations that went on between calls.
    pub requests: Vec<TracedRequest>,
    /// Calls that found no room.
    pub dropped: u64,
}

/// A call.
#[derive(Debug)]
pub struct TracedCall {
    /// The function.
    pub name: Cow<'static, str>,
    /// From its beginning to its end.
    pub time: (Time, Time),
    /// Nanoseconds for which the rank had nothing to do in it.
    pub waited: u64,
}

/// An operation from its start to its completion.
#[derive(Debug)]
pub struct TracedRequest {
    /// The call that began it, by its place in the rank's calls.
    pub call: usize,
    /// From its start to its completion.
    pub time: (Time, Time),
}

/// A message: calls by the rank's number and their place there.
#[derive(Debug)]
pub struct TracedMessage {
    /// The call that sent it.
    pub from: (u32, usize),
    /// The call in which its receive ended.
    pub to: (u32, usize),
    /// The sender's call in which its send ended.
    pub sent_in: (u32, usize),
    /// When the receive began.
    pub posted: Time,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
}

/// Calls of all ranks together that are kept: the first ones.
const ROOM: usize = 1 << 21;

/// Peer, context and tag, which messages do not overtake within.
type Channel = (u32, u32, i32);

/// One end of a message.
#[derive(Clone, Copy, Debug)]
struct End {
    channel: Channel,
    /// Which message of its channel it is.
    number: u64,
    call: usize,
    begun: Time,
    ended_in: usize,
    bytes: u64,
}

/// What a rank does.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    calls: Vec<TracedCall>,
    requests: Vec<TracedRequest>,
    sent: Vec<End>,
    received: Vec<End>,
    numbers: [HashMap<Channel, u64>; 2],
    pending: HashMap<u32, Pending>,
    /// How the last call goes on.
    open: Open,
    /// Calls that this rank may still record.
    room: usize,
    dropped: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Open {
    #[default]
    No,
    /// The program has named it and will end it.
    Named,
    /// The rank waits; what it does next ends that.
    Waiting,
}

/// An operation that has begun.
#[derive(Clone, Copy, Debug)]
struct Pending {
    is_send: bool,
    context: u32,
    tag: i32,
    /// The peer and which message of its channel this is; unknown of a receive from any source until it ends.
    place: Option<(u32, u64)>,
    call: usize,
    begun: Time,
    bytes: u64,
}

/// A start of a message, as its caller describes it.
pub(crate) struct Started {
    pub is_send: bool,
    pub peer: Option<u32>,
    pub context: u32,
    pub tag: i32,
    pub bytes: usize,
}

impl Recorder {
    /// A recorder of one of `ranks`.
    pub fn new(ranks: u32) -> Box<Recorder> {
        Box::new(Recorder { room: ROOM / ranks.max(1) as usize, ..Recorder::default() })
    }

    /// The program's call of this name begins.
    pub fn enter(&mut self, name: impl Into<Cow<'static, str>>, now: Time) {
        self.act(now);
        self.open = Open::Named;
        self.push(name, now);
    }

    /// The program's call is over.
    pub fn leave(&mut self, now: Time) {
        if std::mem::take(&mut self.open) != Open::No {
            self.close(now);
        }
    }

    /// The rank has nothing to do in its program.
    pub fn wait(&mut self, now: Time) {
        if self.open == Open::No {
            let name = if self.pending.is_empty() { "waiting" } else { "MPI_Wait" };
            self.push(name, now);
            self.open = Open::Waiting;
        }
    }

    /// The program goes on.
    pub fn act(&mut self, now: Time) {
        if self.open == Open::Waiting {
            self.leave(now);
        }
    }

    /// The rank had nothing to do for so long.
    pub fn idled(&mut self, nanoseconds: u64) {
        if self.open != Open::No
            && let Some(call) = self.calls.last_mut()
        {
            call.waited += nanoseconds;
        }
    }

    /// A call that is not an operation's start.
    pub fn call(&mut self, name: &'static str, begun: Time, now: Time) {
        if self.open != Open::Named {
            self.act(begun);
            self.push(name, begun);
            self.close(now);
        }
    }

    /// A message was begun, by `id` if it is not over.
    pub fn start(&mut self, id: Option<ReqId>, started: &Started, begun: Time, now: Time) {
        self.call(if started.is_send { "MPI_Isend" } else { "MPI_Irecv" }, begun, now);
        let &Started { is_send, peer, context, tag, bytes } = started;
        let call = self.calls.len().saturating_sub(1);
        let place = peer.map(|peer| (peer, self.number(is_send, (peer, context, tag))));
        let pending = Pending { is_send, context, tag, place, call, begun, bytes: bytes as u64 };
        match id {
            Some(id) => {
                self.pending.insert(id.0, pending);
            }
            None => self.ended(pending, call),
        }
    }

    /// An operation is over; `source`: of a receive, whose message it was.
    pub fn end(&mut self, id: ReqId, source: u32, now: Time) {
        let Some(mut pending) = self.pending.remove(&id.0) else { return };
        if self.open == Open::No {
            self.push("MPI_Wait", now);
        }
        let within = self.calls.len().saturating_sub(1);
        if self.dropped == 0 {
            self.requests.push(TracedRequest { call: pending.call, time: (pending.begun, now) });
        }
        let Pending { is_send, context, tag, .. } = pending;
        pending.place.get_or_insert_with(|| (source, self.number(is_send, (source, context, tag))));
        self.ended(pending, within);
    }

    /// Which message of a channel the next one is.
    fn number(&mut self, is_send: bool, channel: Channel) -> u64 {
        let next = self.numbers[usize::from(is_send)].entry(channel).or_default();
        *next += 1;
        *next
    }

    fn ended(&mut self, pending: Pending, ended_in: usize) {
        let Pending { is_send, context, tag, place, call, begun, bytes } = pending;
        let Some((peer, number)) = place else { return };
        let end = End { channel: (peer, context, tag), number, call, begun, ended_in, bytes };
        if self.dropped == 0 {
            (if is_send { &mut self.sent } else { &mut self.received }).push(end);
        }
    }

    fn push(&mut self, name: impl Into<Cow<'static, str>>, now: Time) {
        if self.calls.len() < self.room {
            self.calls.push(TracedCall { name: name.into(), time: (now, now), waited: 0 });
        } else {
            self.dropped += 1;
        }
    }

    fn close(&mut self, now: Time) {
        if self.dropped == 0
            && let Some(call) = self.calls.last_mut()
        {
            call.time.1 = now;
        }
    }
}

impl Timeline {
    /// A job has ended: its ranks' nodes, and what they did.
    pub(crate) fn add(&self, ranks: impl Iterator<Item = (u32, Box<Recorder>)>) {
        let (nodes, recorders): (Vec<u32>, Vec<Box<Recorder>>) = ranks.unzip();
        let messages = join(&recorders);
        let ranks = nodes.into_iter().zip(recorders).map(|(node, recorder)| {
            let Recorder { calls, requests, dropped, .. } = *recorder;
            TracedRank { node, calls, requests, dropped }
        });
        let mut jobs = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *jobs = Jobs { count: jobs.count + 1, ranks: ranks.collect(), messages };
    }

    /// What was recorded.
    pub fn take(&self) -> Jobs {
        std::mem::take(&mut self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// The messages of which both ends were recorded, in the order of their senders.
fn join(ranks: &[Box<Recorder>]) -> Vec<TracedMessage> {
    let mut received: HashMap<(u32, Channel, u64), &End> = HashMap::new();
    for (rank, recorder) in (0..).zip(ranks) {
        received.extend(recorder.received.iter().map(|end| ((rank, end.channel, end.number), end)));
    }
    let mut messages = Vec::new();
    for (rank, recorder) in (0..).zip(ranks) {
        for end in &recorder.sent {
            let (to, context, tag) = end.channel;
            let Some(receive) = received.get(&(to, (rank, context, tag), end.number)) else { continue };
            messages.push(TracedMessage {
                from: (rank, end.call),
                to: (to, receive.ended_in),
                sent_in: (rank, end.ended_in),
                posted: receive.begun,
                tag,
                bytes: end.bytes,
            });
        }
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(is_send: bool, peer: Option<u32>, tag: i32) -> Started {
        Started { is_send, peer, context: 0, tag, bytes: 8 }
    }

    #[test]
    fn the_second_message_of_a_channel_is_its_second_receive() {
        let (mut sender, mut receiver) = (Recorder::new(2), Recorder::new(2));
        for at in [10, 20] {
            sender.start(None, &message(true, Some(1), 5), Time(at), Time(at + 1));
        }
        receiver.start(Some(ReqId(0)), &message(false, Some(0), 5), Time(5), Time(6));
        receiver.start(Some(ReqId(1)), &message(false, None, 5), Time(6), Time(7));
        receiver.wait(Time(7));
        receiver.idled(4);
        receiver.end(ReqId(0), 0, Time(11));
        receiver.end(ReqId(1), 0, Time(21));
        receiver.act(Time(22));
        let timeline = Timeline::default();
        timeline.add([(0, sender), (1, receiver)].into_iter());
        let jobs = timeline.take();
        let joined: Vec<_> = jobs.messages.iter().map(|m| (m.from, m.to, m.posted.0)).collect();
        assert_eq!(joined, [((0, 0), (1, 2), 5), ((0, 1), (1, 2), 6)]);
        let wait = &jobs.ranks[1].calls[2];
        assert_eq!((wait.name.as_ref(), wait.time, wait.waited), ("MPI_Wait", (Time(7), Time(22)), 4));
        assert_eq!(jobs.ranks[1].requests.len(), 2);
    }

    #[test]
    fn calls_that_a_program_names_have_its_messages() {
        let mut recorder = Recorder::new(1);
        recorder.enter("MPI_Send", Time(1));
        recorder.start(Some(ReqId(3)), &message(true, Some(1), 0), Time(2), Time(3));
        recorder.wait(Time(3));
        recorder.end(ReqId(3), 0, Time(9));
        recorder.leave(Time(10));
        let names: Vec<_> = recorder.calls.iter().map(|call| (call.name.as_ref(), call.time.1.0)).collect();
        assert_eq!(names, [("MPI_Send", 10)]);
        assert_eq!((recorder.sent[0].call, recorder.sent[0].ended_in), (0, 0));
    }
}

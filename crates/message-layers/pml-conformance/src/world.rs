//! Processes to try, and buffers that outlive what is done with them.

use abi::Status;
use btl::{Alone, Bounds, Btl, Peer};
use mem::UserMem;
use pml::{Data, Done, FastMessages, Mode, Pattern, ReqId, SendTo};

/// Connected processes: `Peer(i)` names the `i`-th on all of them, and `i` is its rank in every context.
pub struct Processes<L, B> {
    ends: Vec<(L, B)>,
    memory: Vec<Box<[u8]>>,
}

/// A buffer of a world; it lives as long as that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer(usize);

/// A message to be sent. Its content follows from its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub number: usize,
    pub from: usize,
    pub to: usize,
    pub context: u32,
    /// The highest bits of the source, by which the library distinguishes messages of its own.
    pub class: u32,
    pub tag: i32,
    pub len: usize,
    pub mode: Mode,
}

impl Message {
    /// From the first process to the second, in the first context.
    pub fn new(number: usize, tag: i32, len: usize) -> Message {
        Message { number, from: 0, to: 1, context: 0, class: 0, tag, len, mode: Mode::Standard }
    }

    pub fn target(&self) -> SendTo {
        let Message { to, context, tag, number, .. } = *self;
        SendTo { peer: Peer(to as u32), context, source: self.source(), tag, owner: number as u32 }
    }

    pub fn source(&self) -> u32 {
        self.from as u32 | self.class
    }
}

/// A receive under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receive {
    pub at: usize,
    pub id: ReqId,
    pub buffer: Buffer,
}

/// What every receive here is given as its owner.
pub(crate) const OWNER: u32 = 77;

/// Rounds of progress after which nothing is expected to happen any more, and after which a check gives up.
const QUIET: usize = 30;
pub(crate) const MOST_POLLS: usize = 10_000;

/// Fills what no message may touch.
const UNTOUCHED: u8 = 0xEE;

/// From `source`, which may be the wildcard, in the first context.
pub(crate) fn from(source: i32, tag: i32) -> Pattern {
    let peer = u32::try_from(source).ok().map(Peer);
    Pattern { context: 0, source, tag, peer, owner: OWNER }
}

/// The bytes of message number `number`.
pub(crate) fn content(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (number * 37 + i * 11 + i / 253) as u8).collect()
}

impl<L: FastMessages<B>, B: Btl> Processes<L, B> {
    /// A world of these layers, each with its transport.
    pub fn new(ends: Vec<(L, B)>) -> Processes<L, B> {
        Processes { ends, memory: Vec::new() }
    }

    pub(crate) fn buffer(&mut self, len: usize) -> Buffer {
        self.memory.push(vec![UNTOUCHED; len].into());
        Buffer(self.memory.len() - 1)
    }

    pub(crate) fn filled(&mut self, bytes: Vec<u8>) -> Buffer {
        self.memory.push(bytes.into());
        Buffer(self.memory.len() - 1)
    }

    pub(crate) fn bytes(&self, buffer: Buffer) -> &[u8] {
        &self.memory[buffer.0]
    }

    /// A view of a buffer, which lives as long as the world.
    #[allow(unsafe_code)]
    pub(crate) fn view(&mut self, buffer: Buffer) -> UserMem {
        // SAFETY: buffers are dropped after the layers, and all run by turns in one thread.
        unsafe { UserMem::of(&mut self.memory[buffer.0]) }
    }

    /// A process's layer and transport.
    pub(crate) fn end(&mut self, at: usize) -> (&mut L, &mut B) {
        let (layer, btl) = &mut self.ends[at];
        (layer, btl)
    }

    pub(crate) fn layer(&mut self, at: usize) -> &mut L {
        &mut self.ends[at].0
    }

    pub(crate) fn isend(&mut self, from: usize, to: &SendTo, data: Data, mode: Mode) -> Option<ReqId> {
        if self.layer(from).needs_poll(to.peer, &data, false) {
            self.progress(from);
        }
        let (layer, btl) = self.end(from);
        layer.isend(btl, to, data, mode).expect("names of requests are left")
    }

    /// Starts to send a message.
    pub(crate) fn start(&mut self, message: &Message) -> Option<ReqId> {
        let buffer = self.filled(content(message.number, message.len));
        let data = Data::Contiguous(self.view(buffer));
        self.isend(message.from, &message.target(), data, message.mode)
    }

    pub(crate) fn irecv(&mut self, at: usize, pattern: &Pattern, data: Data) -> ReqId {
        let (layer, btl) = self.end(at);
        layer.irecv(btl, pattern, data).expect("names of requests are left")
    }

    /// Posts a receive of up to `room` bytes.
    pub(crate) fn post(&mut self, at: usize, pattern: &Pattern, room: usize) -> Receive {
        let buffer = self.buffer(room);
        let data = Data::Contiguous(self.view(buffer));
        Receive { at, id: self.irecv(at, pattern, data), buffer }
    }

    /// Receives without a request, polling the transport once, as a blocking receive does.
    pub(crate) fn recv_now(&mut self, at: usize, pattern: &Pattern, into: UserMem) -> Option<Done> {
        let (layer, btl) = self.end(at);
        if let Some(done) = layer.recv_now(btl, pattern, into) {
            return Some(done);
        }
        let arrival = match pattern.peer {
            Some(peer) => btl.next_arrival_from(peer)?,
            None => btl.next_arrival()?,
        };
        let done = layer.accept_for(btl, &arrival, pattern, into);
        btl.release(arrival);
        done
    }

    pub(crate) fn iprobe(&mut self, at: usize, pattern: &Pattern) -> Option<Status> {
        let (layer, btl) = self.end(at);
        layer.iprobe(btl, pattern)
    }

    pub(crate) fn cancel(&mut self, at: usize, id: ReqId) {
        let (layer, btl) = self.end(at);
        layer.cancel(btl, id);
    }

    /// Lets a process make progress once; how many things happened.
    pub(crate) fn progress(&mut self, at: usize) -> usize {
        let (layer, btl) = self.end(at);
        btl::poll(&mut Alone(btl, layer), Bounds::USUAL)
    }

    /// Lets every process make progress once; whether anything happened.
    pub(crate) fn step(&mut self) -> bool {
        (0..self.ends.len()).map(|at| self.progress(at)).sum::<usize>() != 0
    }

    /// Lets all make progress until nothing happens any more.
    pub(crate) fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET {
            quiet = if self.step() { 0 } else { quiet + 1 };
        }
    }

    /// Lets all make progress until `ready` gives something.
    pub(crate) fn until<R>(&mut self, mut ready: impl FnMut(&mut Self) -> Option<R>) -> R {
        for _ in 0..MOST_POLLS {
            if let Some(result) = ready(self) {
                return result;
            }
            self.step();
        }
        panic!("what must happen does not happen");
    }

    /// The result of an operation.
    pub(crate) fn over(&mut self, at: usize, id: ReqId) -> Done {
        self.until(|world| {
            let complete = world.layer(at).is_complete(id);
            let polled = world.layer(at).poll(id).copied();
            assert_eq!(complete, Some(polled.is_some()), "is_complete and poll agree");
            let taken = world.layer(at).take(id);
            assert_eq!(taken, polled, "poll and take agree");
            taken
        })
    }

    /// Waits for a send, which is to succeed.
    pub(crate) fn sent(&mut self, message: &Message, id: Option<ReqId>) {
        if let Some(id) = id {
            let done = self.over(message.from, id);
            assert_eq!(done.error, abi::SUCCESS, "{message:?}");
            assert!(!done.status.cancelled(), "{message:?}");
            assert_eq!(done.owner, message.number as u32);
        }
    }

    /// Waits for a receive and checks that it got this message, whole.
    pub(crate) fn got(&mut self, receive: Receive, message: &Message) {
        let done = self.over(receive.at, receive.id);
        self.check(&done, receive.buffer, message);
    }

    /// Checks that a receive that ended so got this message, whole.
    pub(crate) fn check(&self, done: &Done, buffer: Buffer, message: &Message) {
        let Done { status, error, owner } = *done;
        assert_eq!((error, owner), (abi::SUCCESS, OWNER), "{message:?}");
        assert_eq!((status.source, status.tag), (message.source() as i32, message.tag), "{message:?}");
        assert_eq!(status.bytes(), message.len as u64, "{message:?}");
        assert!(!status.cancelled(), "{message:?}");
        let (stored, rest) = self.bytes(buffer).split_at(message.len);
        assert!(stored == content(message.number, message.len), "{message:?}: wrong bytes");
        self.untouched(rest);
    }

    /// Checks that nothing was written here.
    pub(crate) fn untouched(&self, bytes: &[u8]) {
        assert!(bytes.iter().all(|&byte| byte == UNTOUCHED), "bytes behind the message were written");
    }

    /// Checks that nothing is left anywhere.
    pub(crate) fn finish(mut self) {
        self.settle();
        for (rank, (layer, _)) in self.ends.iter().enumerate() {
            let counters = layer.counters();
            assert!(layer.idle() && layer.is_quiet(), "process {rank} is not idle: {counters:?}");
            assert!(
                !layer.waits_for_room() && !layer.needs_turn(),
                "process {rank} wants to be called again"
            );
            assert_eq!(counters.posted_length, 0, "process {rank}");
            assert_eq!(counters.unexpected_length, 0, "process {rank}");
            assert_eq!(counters.unexpected_bytes, 0, "process {rank}");
            assert_eq!(counters.bad_frames, 0, "process {rank}");
        }
    }
}

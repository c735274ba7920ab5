//! Eager GET: the sender's request and buffer, the receiver's fetch, and the message that ends both.
//!
//! ```text
//!   sender                                             receiver
//!   begin: copy payload into a registered buffer
//!   GET_INIT: header, where the payload is  ─────────▶ request; next_fetch: a registered buffer (none: wait)
//!                                                      the transport's GET; fetched: deliver
//!   left ┐ both: buffer free
//!   done ┴────────────────── RDMA_COMPLETE ◀────────── the transport sends it
//! ```

use crate::buffers::{Blocks, Buffer, BufferPool};
use crate::wire::{self, GetInit, Head};
use btl::{Busy, MAX_HEADER_WORDS, Peer};
use mem::{PeerBytes, Slab, Source};
use std::collections::VecDeque;

/// A control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// The request of this Eager GET.
    GetInit(u32),
    /// The peer's Eager GET of this name is over.
    Complete(u32),
}

/// An Eager GET on the sender's side: a buffer that is free once the request has left *and* the receiver has
/// answered that it is done, in either order.
#[derive(Debug)]
struct Frag {
    connection: u32,
    buffer: u32,
    request: GetInit,
    left: bool,
    fetched: bool,
}

/// A request on the receiver's side that could not be begun yet.
#[derive(Clone, Copy, Debug)]
struct Wants {
    connection: u32,
    request: GetInit,
}

/// A fetch that the receiver should begin, into a buffer that was reserved for it.
#[derive(Clone, Copy, Debug)]
pub struct Fetch<H> {
    /// The sender's connection, in the transport's numbers.
    pub connection: u32,
    /// What the sender asked for.
    pub request: GetInit,
    /// Where it goes.
    pub buffer: Buffer<H>,
}

/// A message in a receive buffer.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// The sender.
    pub peer: Peer,
    /// The buffer that holds it.
    pub buffer: u32,
    /// Words of its header.
    pub words: u8,
    /// Bytes of its payload.
    pub len: usize,
}

/// Both sides of a transport's Eager GETs. Connections are the transport's numbers of its peers.
#[derive(Debug)]
pub struct EagerGets<H> {
    send_buffers: BufferPool<H>,
    receive_buffers: BufferPool<H>,
    frags: Slab<Frag, 20, 12>,
    /// Oldest first.
    wanting: VecDeque<Wants>,
    /// Messages that can be delivered, oldest first.
    fetched: VecDeque<Fetched>,
    /// Bytes of the longest payload.
    most: usize,
}

impl<H: Copy> EagerGets<H> {
    /// Eager GETs of up to `payload` bytes (a multiple of 64), with so many buffers for each direction: at first,
    /// made at a time, at most.
    pub fn new(payload: usize, counts: [i64; 3]) -> EagerGets<H> {
        EagerGets {
            send_buffers: BufferPool::new(payload, counts),
            receive_buffers: BufferPool::new(payload, counts),
            frags: Slab::new(),
            wanting: VecDeque::new(),
            fetched: VecDeque::new(),
            most: payload,
        }
    }

    /// Bytes of the first block of buffers for one direction.
    pub fn first_block(&self) -> usize {
        self.send_buffers.first_block()
    }

    /// Whether nothing is under way on either side.
    pub fn is_idle(&self) -> bool {
        self.frags.is_empty() && self.is_quiet()
    }

    /// Whether nothing needs a turn of this process.
    pub fn is_quiet(&self) -> bool {
        self.wanting.is_empty() && self.fetched.is_empty()
    }

    /// The connections whose peers have yet to fetch something.
    pub fn depended_on(&self) -> impl Iterator<Item = u32> {
        self.frags.iter().map(|(_, frag)| frag.connection)
    }

    /// Takes a message to be fetched by the peer, and names it; [`Control::GetInit`] of that name is to be sent. `place`
    /// returns where the network finds a buffer's payload, as address and key.
    ///
    /// # Errors
    /// [`Busy`]: there is no buffer, or the payload is too long; nothing was taken.
    pub fn begin<S: Source>(
        &mut self,
        connection: u32,
        words: &[u64],
        payload: &mut S,
        blocks: &mut impl Blocks<Handle = H>,
        place: impl FnOnce(&Buffer<H>) -> (u64, [u64; 2]),
    ) -> Result<u32, Busy> {
        let len = payload.remaining();
        if len > self.most {
            return Err(Busy);
        }
        let buffer = self.send_buffers.take(blocks).ok_or(Busy)?;
        let mut header = [0; MAX_HEADER_WORDS];
        header[..words.len()].copy_from_slice(words);
        let (addr, key) = place(&buffer);
        let request = GetInit { words: words.len() as u8, header, len, context: 0, addr, key };
        let frag = Frag { connection, buffer: buffer.number, request, left: false, fetched: false };
        let Ok(name) = self.frags.insert(frag) else {
            self.send_buffers.give(buffer.number);
            return Err(Busy);
        };
        if let Some(frag) = self.frags.get_mut(name) {
            frag.request.context = name;
        }
        buffer.fill(payload);
        Ok(name)
    }

    /// A control message's bytes and kind; `from` where the network does not show the sender.
    pub fn message(&self, from: Option<u32>, control: Control) -> (Head, u8) {
        match control {
            Control::GetInit(name) => match self.frags.get(name) {
                Some(frag) => (Head::get_init(from, &frag.request), wire::GET_INIT),
                // Lists of waiting messages are cleared before their frags are dropped.
                None => (Head::complete(from, name), wire::RDMA_COMPLETE),
            },
            Control::Complete(context) => (Head::complete(from, context), wire::RDMA_COMPLETE),
        }
    }

    /// The request of this name has left.
    pub fn left(&mut self, name: u32) {
        if let Some(frag) = self.frags.get_mut(name) {
            frag.left = true;
            self.free_if_done(name);
        }
    }

    /// The receiver has fetched what it was named; `connection` is the one that reports it.
    pub fn done(&mut self, connection: u32, name: u32) {
        if let Some(frag) = self.frags.get_mut(name).filter(|frag| frag.connection == connection) {
            frag.fetched = true;
            self.free_if_done(name);
        }
    }

    fn free_if_done(&mut self, name: u32) {
        if self.frags.get(name).is_some_and(|frag| frag.left && frag.fetched) {
            self.free(name);
        }
    }

    fn free(&mut self, name: u32) {
        if let Some(frag) = self.frags.remove(name) {
            self.send_buffers.give(frag.buffer);
        }
    }

    /// Drops what a lost peer has not fetched, and what it asked to be fetched.
    pub fn drop_of(&mut self, connection: u32) {
        let theirs =
            self.frags.iter().filter(|(_, frag)| frag.connection == connection).map(|(name, _)| name);
        for name in theirs.collect::<Vec<u32>>() {
            self.free(name);
        }
        self.wanting.retain(|wants| wants.connection != connection);
    }

    /// A request has arrived; one that does not hold together is dropped.
    pub fn request(&mut self, connection: u32, bytes: PeerBytes<'_>) {
        if let Some(request) = GetInit::parse(bytes)
            && request.len <= self.most
        {
            self.wanting.push_back(Wants { connection, request });
        }
    }

    /// The oldest request, with a buffer for it; `None`: there is no request, or no buffer now.
    pub fn next_fetch(&mut self, blocks: &mut impl Blocks<Handle = H>) -> Option<Fetch<H>> {
        self.wanting.front()?;
        let buffer = self.receive_buffers.take(blocks)?;
        let Wants { connection, request } = self.wanting.pop_front()?;
        buffer.keep_header(&request.header[..usize::from(request.words)]);
        Some(Fetch { connection, request, buffer })
    }

    /// A fetch cannot begin now: it is the next again.
    pub fn not_now(&mut self, fetch: &Fetch<H>) {
        self.receive_buffers.give(fetch.buffer.number);
        self.wanting.push_front(Wants { connection: fetch.connection, request: fetch.request });
    }

    /// A fetch is given up.
    pub fn give_up(&mut self, buffer: u32) {
        self.receive_buffers.give(buffer);
    }

    /// A fetch is complete: its message can be delivered, and [`Control::Complete`] be sent to its sender.
    pub fn fetched(&mut self, message: Fetched) {
        self.fetched.push_back(message);
    }

    /// The next message that can be delivered, with header and payload, which stay until [`EagerGets::release`].
    #[inline]
    pub fn next_fetched(&mut self) -> Option<(Fetched, PeerBytes<'static>, PeerBytes<'static>)> {
        let fetched = self.fetched.pop_front()?;
        let (header, payload) = self.receive_buffers.buffer(fetched.buffer).views(fetched.words, fetched.len);
        Some((fetched, header, payload))
    }

    /// Gives back the buffer of a message that was delivered.
    pub fn release(&mut self, buffer: u32) {
        self.receive_buffers.give(buffer);
    }
}

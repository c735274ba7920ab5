//! Eager GET: the sender's request and buffer, the receiver's fetch, and the message that ends both.

use crate::buffers::Buffer;
use crate::memory::Room;
use crate::rdma::{Purpose, Transfer};
use crate::transport::Ugni;
use crate::wire::{self, GetInit, Head};
use btl::{Busy, MAX_HEADER_WORDS, Peer};
use gni::{Clock, Gni, PostDescriptor, PostKind};
use mem::{PeerBytes, Source};

/// A control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    /// The request of this Eager GET.
    GetInit(u32),
    /// The peer's Eager GET of this name is over.
    Complete(u32),
}

/// An Eager GET on the sender's side: a buffer that is free once the request has left *and* the receiver has
/// said that it is done, in either order.
#[derive(Debug)]
pub(crate) struct Frag {
    connection: u32,
    buffer: Buffer,
    request: GetInit,
    left: bool,
    fetched: bool,
}

impl Frag {
    /// Whose connection it is of.
    pub(crate) fn connection(&self) -> u32 {
        self.connection
    }
}

/// A request on the receiver's side that could not be begun yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantsBuffer {
    pub(crate) connection: u32,
    request: GetInit,
}

/// A message in a receive buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetched {
    pub(crate) peer: Peer,
    pub(crate) buffer: u32,
    pub(crate) words: u8,
    pub(crate) len: usize,
}

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// Sends a message by Eager GET.
    pub(crate) fn send_by_get<S: Source>(
        &mut self,
        connection: u32,
        words: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let len = payload.remaining();
        if len > self.plan.max_send {
            return Err(Busy);
        }
        let mut room =
            Room::new(&mut self.nic, &mut self.cache, &mut self.quota, &mut self.stats.buffer_bytes);
        let buffer = self.send_buffers.take(&mut room).ok_or(Busy)?;
        let mut header = [0; MAX_HEADER_WORDS];
        header[..words.len()].copy_from_slice(words);
        let request = GetInit {
            words: words.len() as u8,
            header,
            len,
            context: 0,
            addr: buffer.payload(len).address() as u64,
            handle: buffer.handle,
        };
        let frag = Frag { connection, buffer, request, left: false, fetched: false };
        let Ok(key) = self.frags.insert(frag) else {
            self.send_buffers.give(buffer.number);
            return Err(Busy);
        };
        if let Some(frag) = self.frags.get_mut(key) {
            frag.request.context = key;
        }
        buffer.fill(payload);
        self.stats.eager_gets += 1;
        self.stats.copies += 1;
        self.stats.copied_bytes += len as u64;
        self.control(connection, Control::GetInit(key));
        Ok(())
    }

    /// A control message's bytes, id and tag.
    pub(crate) fn control_message(&self, control: Control) -> (Head, u32, u8) {
        let from = self.own_number();
        match control {
            Control::GetInit(key) => match self.frags.get(key) {
                Some(frag) => (Head::get_init(from, &frag.request), key, wire::GET_INIT),
                // Lists of waiting messages are cleared before their frags are dropped.
                None => (Head::complete(from, key), crate::sending::NOBODY, wire::RDMA_COMPLETE),
            },
            Control::Complete(context) => {
                (Head::complete(from, context), crate::sending::NOBODY, wire::RDMA_COMPLETE)
            }
        }
    }

    /// The request of a frag has left.
    pub(crate) fn request_left(&mut self, key: u32) {
        if let Some(frag) = self.frags.get_mut(key) {
            frag.left = true;
            self.free_if_done(key);
        }
    }

    /// The receiver has fetched a frag; `connection` is who says so.
    pub(crate) fn frag_fetched(&mut self, connection: u32, key: u32) {
        if let Some(frag) = self.frags.get_mut(key).filter(|frag| frag.connection == connection) {
            frag.fetched = true;
            self.free_if_done(key);
        }
    }

    fn free_if_done(&mut self, key: u32) {
        if self.frags.get(key).is_some_and(|frag| frag.left && frag.fetched) {
            self.free_frag(key);
        }
    }

    fn free_frag(&mut self, key: u32) {
        if let Some(frag) = self.frags.remove(key) {
            self.send_buffers.give(frag.buffer.number);
        }
    }

    /// Drops the frags of a lost peer.
    pub(crate) fn drop_frags_of(&mut self, connection: u32) {
        let theirs = self.frags.iter().filter(|(_, frag)| frag.connection == connection).map(|(key, _)| key);
        for key in theirs.collect::<Vec<u32>>() {
            self.free_frag(key);
        }
    }

    /// A request has arrived.
    pub(crate) fn take_get_init(&mut self, connection: u32, bytes: PeerBytes<'_>) {
        let Some(request) = GetInit::parse(bytes) else { return };
        if request.len > self.plan.buffer {
            return;
        }
        let wants = WantsBuffer { connection, request };
        // Requests that came before go first.
        if !self.wanting.is_empty() || !self.begin_fetch(&wants) {
            self.wanting.push_back(wants);
        }
    }

    /// Begins the fetches for which there is room now.
    pub(crate) fn fetch_wanting(&mut self) {
        while let Some(&wants) = self.wanting.front() {
            if !self.begin_fetch(&wants) {
                return;
            }
            self.wanting.pop_front();
        }
    }

    /// Reserves a receive buffer and posts the GET; `false`: no buffer or no slot at the moment.
    fn begin_fetch(&mut self, wants: &WantsBuffer) -> bool {
        let WantsBuffer { connection, request } = wants;
        if !self.has_transfer_slot() {
            return false;
        }
        let mut room =
            Room::new(&mut self.nic, &mut self.cache, &mut self.quota, &mut self.stats.buffer_bytes);
        let Some(buffer) = self.receive_buffers.take(&mut room) else { return false };
        buffer.keep_header(&request.header[..usize::from(request.words)]);
        let fetch = request.len.next_multiple_of(gni::limits::GET_ALIGN as usize);
        let fma = fetch <= self.params.fma_get_limit;
        let descriptor = PostDescriptor {
            local: buffer.payload(fetch),
            local_handle: buffer.handle,
            remote_addr: request.addr,
            remote_handle: request.handle,
            src_cq: Some(self.queues.transfers),
            ..PostDescriptor::new(if fma { PostKind::FmaGet } else { PostKind::RdmaGet })
        };
        let purpose = Purpose::EagerGet {
            context: request.context,
            buffer: buffer.number,
            words: request.words,
            len: request.len,
        };
        match self.begin_transfer(Transfer { connection: *connection, descriptor, tries: 0, purpose }) {
            Ok(()) => true,
            Err(error) => {
                self.receive_buffers.give(buffer.number);
                if !crate::rdma::is_temporary(error) {
                    // The request was wrong; so is the peer.
                    self.lose(*connection);
                }
                !crate::rdma::is_temporary(error)
            }
        }
    }

    /// A fetch is complete: the message can be delivered, and the sender told.
    pub(crate) fn fetched(&mut self, connection: u32, context: u32, buffer: u32, words: u8, len: usize) {
        let peer = self.connections.get(connection).peer;
        self.fetched.push_back(Fetched { peer, buffer, words, len });
        self.control(connection, Control::Complete(context));
    }
}

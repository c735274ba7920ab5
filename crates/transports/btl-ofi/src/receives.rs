//! Receive buffers: posted, holding a message, or neither.

use std::collections::VecDeque;

use btl::Peer;
use mem::PeerBytes;
use ofi::{Endpoint, Refused};
use rdma::BufferPool;

use crate::cookie::RECEIVE;
use crate::memory::{Block, Pools};

/// A message in a receive buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) peer: Peer,
    pub(crate) buffer: u32,
    pub(crate) len: usize,
}

/// All receive buffers, each as long as a frame.
pub(crate) struct Receives {
    buffers: BufferPool<Block>,
    /// Bytes of a frame.
    frame: usize,
    /// Those that are not posted and hold nothing.
    unposted: Vec<u32>,
    /// Messages that have arrived, oldest first.
    pub(crate) arrived: VecDeque<Arrived>,
}

impl Receives {
    /// `count` buffers for frames of `frame` bytes, to be made by [`Receives::make`].
    pub(crate) fn new(frame: usize, count: usize) -> Receives {
        let all = count as i64;
        Receives {
            buffers: BufferPool::new(frame.next_multiple_of(64), [all, all, all]),
            frame,
            unposted: Vec::new(),
            arrived: VecDeque::new(),
        }
    }

    /// Makes a buffer; `false`: there is no memory for it.
    pub(crate) fn make(&mut self, pools: &mut Pools<'_>) -> bool {
        let made = self.buffers.take(pools);
        self.unposted.extend(made.map(|buffer| buffer.number));
        made.is_some()
    }

    /// Whether there is memory for the first of them.
    pub(crate) fn is_made(&self) -> bool {
        self.buffers.is_made()
    }

    /// Bytes of the block that is asked for first.
    pub(crate) fn first_block(&self) -> usize {
        self.buffers.first_block()
    }

    /// Whether the provider has all buffers that hold nothing.
    pub(crate) fn all_posted(&self) -> bool {
        self.unposted.is_empty()
    }

    /// Posts buffers, as far as the provider has room.
    pub(crate) fn post(&mut self, endpoint: &mut Endpoint) {
        while let Some(&number) = self.unposted.last() {
            let buffer = self.buffers.buffer(number);
            let memory = buffer.payload(self.frame);
            match endpoint.recv(memory, buffer.handle.local, RECEIVE | u64::from(number)) {
                Ok(()) => {}
                Err(Refused::Again) => return,
                // The provider holds fewer than it reports; the buffer stays out of use.
                Err(Refused::Failed(_)) => {}
            }
            self.unposted.pop();
        }
    }

    /// A buffer holds nothing any more: posts it.
    pub(crate) fn repost(&mut self, buffer: u32, endpoint: &mut Endpoint) {
        self.unposted.push(buffer);
        self.post(endpoint);
    }

    /// The first `len` bytes of a buffer, at most a frame.
    pub(crate) fn view(&self, buffer: u32, len: usize) -> PeerBytes<'static> {
        self.buffers.buffer(buffer).view(len.min(self.frame))
    }
}

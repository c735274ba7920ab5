//! Eager GET over Gemini: the request by a short message, the fetch by FMA or BTE.

use crate::registration::{Room, is_temporary};
use crate::transfer::{Purpose, Transfer};
use crate::transport::Ugni;
use btl::Busy;
use gni::{Clock, Error, Gni, MemHandle, PostDescriptor, PostKind};
use mem::Source;
use rdma::{Control, Fetch, Fetched};

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
        let name = self.eager.begin(connection, words, payload, &mut room, |buffer| {
            (buffer.payload(len).address() as u64, buffer.handle.0)
        })?;
        self.stats.eager_gets += 1;
        self.stats.copies += 1;
        self.stats.copied_bytes += len as u64;
        self.control(connection, Control::GetInit(name));
        Ok(())
    }

    /// Begins the fetches for which there is room now.
    pub(crate) fn fetch_wanting(&mut self) {
        while self.has_transfer_slot() {
            let mut room =
                Room::new(&mut self.nic, &mut self.cache, &mut self.quota, &mut self.stats.buffer_bytes);
            let Some(fetch) = self.eager.next_fetch(&mut room) else { return };
            match self.begin_fetch(&fetch) {
                Ok(()) => {}
                Err(error) if is_temporary(error) => return self.eager.not_now(&fetch),
                Err(_) => {
                    // The request was wrong; so is the peer.
                    self.eager.give_up(fetch.buffer.number);
                    self.lose(fetch.connection);
                }
            }
        }
    }

    fn begin_fetch(&mut self, fetch: &Fetch<MemHandle>) -> Result<(), Error> {
        let Fetch { connection, request, buffer } = fetch;
        let len = request.len.next_multiple_of(gni::limits::GET_ALIGN as usize);
        let fma = len <= self.params.fma_get_limit;
        let descriptor = PostDescriptor {
            local: buffer.payload(len),
            local_handle: buffer.handle,
            remote_addr: request.addr,
            remote_handle: MemHandle(request.key),
            src_cq: Some(self.queues.transfers),
            ..PostDescriptor::new(if fma { PostKind::FmaGet } else { PostKind::RdmaGet })
        };
        let purpose = Purpose::EagerGet {
            context: request.context,
            buffer: buffer.number,
            words: request.words,
            len: request.len,
        };
        self.begin_transfer(Transfer { connection: *connection, descriptor, tries: 0, purpose })
    }

    /// A fetch is complete: the message can be delivered, and that be reported to the sender.
    pub(crate) fn fetched(&mut self, connection: u32, context: u32, buffer: u32, words: u8, len: usize) {
        let peer = self.connections.get(connection).peer;
        self.eager.fetched(Fetched { peer, buffer, words, len });
        self.control(connection, Control::Complete(context));
    }
}

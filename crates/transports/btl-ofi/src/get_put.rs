//! GET and PUT, and the fetches of Eager GET.

use btl::{Busy, Event, Peer, Refusal, RemoteKey};
use mem::{Source, UserMem};
use ofi::{Local, Refused, Remote};
use rdma::{Control, Fetch, Fetched, Use};

use crate::memory::{Block, exposed_part};
use crate::state::Ofi;
use crate::transfers::{Places, Purpose, Transfer};

impl Ofi {
    pub(crate) fn begin_above(
        &mut self,
        peer: Peer,
        memory: UserMem,
        (key, offset): (&RemoteKey, u64),
        cookie: Option<u64>,
        stores: bool,
    ) -> Result<(), Refusal> {
        let most = if stores { self.plan.limits.max_put } else { self.plan.limits.max_get };
        let remote = exposed_part(key, offset, memory.len() as u64).filter(|_| memory.len() <= most);
        let remote = remote.ok_or(Refusal::Unfit)?;
        if memory.is_empty() {
            self.events.extend(cookie.map(Event::Done));
            return Ok(());
        }
        let connection = self.connection_to(peer).ok_or(Refusal::Busy)?;
        let region = match self.endpoint.wants_local() {
            true => Some(self.memory.register(&mut self.endpoint, memory, Use::Local)?),
            false => None,
        };
        let local = region.map_or(Local::NONE, |region| self.memory.local(region));
        let purpose = Purpose::Above { cookie, region };
        let places = Places { memory, local, remote };
        self.begin(connection, purpose, places, stores).inspect_err(|_| self.unregister_local(region))
    }

    fn unregister_local(&mut self, region: Option<u32>) {
        if let Some(region) = region {
            self.memory.unregister(&mut self.endpoint, region, Use::Local);
        }
    }

    fn begin(
        &mut self,
        connection: u32,
        purpose: Purpose,
        places: Places,
        stores: bool,
    ) -> Result<(), Refusal> {
        let address = self.peers.get(connection).address;
        let transfer = Transfer { connection, address, purpose, places, stores };
        self.transfers.begin(transfer, &mut self.endpoint).map_err(|refused| match refused {
            Refused::Again => Refusal::Busy,
            Refused::Failed(_) => Refusal::Unfit,
        })
    }

    /// Begins what waits, as far as the provider has room.
    pub(crate) fn post_again(&mut self) {
        while let Some((name, error)) = self.transfers.post_again(&mut self.endpoint) {
            self.on_transfer(name, error);
        }
    }

    /// Sends a message by Eager GET.
    pub(crate) fn send_by_get<S: Source>(
        &mut self,
        connection: u32,
        words: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let len = payload.remaining();
        let mut pools = self.memory.pools(&mut self.endpoint);
        let name = self.eager.begin(connection, words, payload, &mut pools, |buffer| {
            buffer.handle.place(buffer.payload(len))
        })?;
        self.stats.eager_gets += 1;
        self.stats.sent_bytes += len as u64;
        self.control(connection, Control::GetInit(name));
        Ok(())
    }

    /// Begins the fetches for which there is room now.
    pub(crate) fn fetch_wanting(&mut self) {
        loop {
            let mut pools = self.memory.pools(&mut self.endpoint);
            let Some(fetch) = self.eager.next_fetch(&mut pools) else { return };
            let Fetch { connection, request, buffer } = fetch;
            let purpose =
                Purpose::EagerGet { context: request.context, buffer: buffer.number, words: request.words };
            let places = Places {
                memory: buffer.payload(request.len),
                local: buffer.handle.local,
                remote: Remote { address: request.addr, key: request.key[0] },
            };
            match self.begin(connection, purpose, places, false) {
                Ok(()) => {}
                Err(Refusal::Busy) => return self.eager.not_now(&fetch),
                Err(Refusal::Unfit) => self.fail_fetch(connection, &buffer),
            }
        }
    }

    /// The message was promised; without it the peer's word is worth nothing.
    fn fail_fetch(&mut self, connection: u32, buffer: &rdma::Buffer<Block>) {
        self.eager.give_up(buffer.number);
        self.lose(connection, String::from("a message could not be fetched from its memory"));
    }

    /// A read or write is over.
    pub(crate) fn on_transfer(&mut self, name: u32, error: i32) {
        let Some(Transfer { connection, purpose, places, .. }) = self.transfers.take(name) else { return };
        let len = places.memory.len();
        match purpose {
            Purpose::Above { cookie, region } => {
                self.unregister_local(region);
                self.stats.moved_bytes += if error == 0 { len as u64 } else { 0 };
                match cookie {
                    Some(cookie) if error == 0 => self.events.push_back(Event::Done(cookie)),
                    Some(cookie) => self.events.push_back(Event::Failed(cookie)),
                    None => self.written(connection, error == 0),
                }
            }
            Purpose::EagerGet { context, buffer, words } if error == 0 => {
                let peer = self.peers.get(connection).peer;
                self.eager.fetched(Fetched { peer, buffer, words, len });
                self.control(connection, Control::Complete(context));
            }
            Purpose::EagerGet { buffer, .. } => self.eager.give_up(buffer),
        }
        let is_eager = matches!(purpose, Purpose::EagerGet { .. });
        if error != 0 && (is_eager || is_broken(error)) {
            let words = self.endpoint.words(error);
            self.lose(connection, words);
        }
    }
}

/// Whether an error means that the connection is gone, and not that one operation was refused.
fn is_broken(error: i32) -> bool {
    /// Linux numbers: EIO, EPIPE, ENETUNREACH, ENETRESET, ECONNABORTED, ECONNRESET, ENOTCONN, ESHUTDOWN, ETIMEDOUT,
    /// ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH.
    const BROKEN: [i32; 12] = [5, 32, 101, 102, 103, 104, 107, 108, 110, 111, 112, 113];
    BROKEN.contains(&error)
}

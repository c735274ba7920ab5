//! Memory registered for all peers: windows.
//!
//! ```text
//!   read    aligned to 4 bytes               GET into the reader's memory, as for messages
//!           else                             GET of the words around it into a registered buffer, copied when it is there
//!   write                                    PUT that reports when its data is visible at the target
//!   fetch   add, and, or, xor, compare-swap  one FMA atomic into a registered buffer, copied when it is there
//!           swap of a word at 16 bytes       AND with 0, then XOR
//!           swap of another word             compare-swap with what the last one has found, until it was still there
//!   update                                   the same without a buffer, where the NIC has such an atomic
//! ```

use crate::connections::State;
use crate::registration::{Interface, Room, is_temporary, key_of, within};
use crate::transfer::{Access, BUFFER, Purpose, Transfer};
use crate::transport::Ugni;
use btl::{Atomic, Atomics, Event, Flushed, Peer, Refusal, Remote, RemoteKey, RemoteMemory};
use gni::{Amo, Clock, CqMode, Gni, MemHandle, PostDescriptor, PostKind, limits};
use mem::UserMem;
use rdma::{Blocks, Registrar, Use, Windows};

/// The number of this network.
const NETWORK: u8 = 1;

/// With limits for transfers below this, in bytes, there is no such access.
const LEAST: usize = 64;

/// Buffers' blocks, which have the share of windows, the first one, too.
struct OfWindows<'a, N>(Room<'a, N>);

// SAFETY: as `Room`.
#[allow(unsafe_code, reason = "a promise about the NIC's memory")]
unsafe impl<N: Gni> Blocks for OfWindows<'_, N> {
    type Handle = MemHandle;

    fn block(&mut self, bytes: usize, _extra: bool) -> Option<(UserMem, MemHandle)> {
        if !self.0.quota.take(Use::Window) {
            return None;
        }
        let made = self.0.block(bytes, None, gni::MemFlags::RELAXED_PI_ORDERING);
        if made.is_err() {
            self.0.quota.give(Use::Window);
        }
        made.ok()
    }
}

/// The NIC's operation that changes a word at `addr`, if it has one.
fn command(change: Atomic, addr: u64, fetches: bool) -> Option<PostKind> {
    let pick = |fetching: Amo, other: Amo| if fetches { fetching } else { other };
    let (command, first, second) = match change {
        Atomic::Add(operand) => (pick(Amo::FetchAdd, Amo::Add), operand, 0),
        Atomic::And(operand) => (pick(Amo::FetchAnd, Amo::And), operand, 0),
        Atomic::Or(operand) => (pick(Amo::FetchOr, Amo::Or), operand, 0),
        Atomic::Xor(operand) => (pick(Amo::FetchXor, Amo::Xor), operand, 0),
        Atomic::Swap(operand) if addr.is_multiple_of(limits::AMO_PAIR_ALIGN) => {
            (pick(Amo::FetchAndXor, Amo::AndXor), 0, operand)
        }
        Atomic::CompareSwap { expected, new } if fetches => (Amo::CompareSwap, expected, new),
        Atomic::Swap(_) | Atomic::CompareSwap { .. } => return None,
    };
    Some(PostKind::Amo { command, first, second })
}

impl<N: Gni, C: Clock> RemoteMemory for Ugni<N, C> {
    fn remote(&self, peer: Peer) -> Option<Remote> {
        let align = limits::GET_ALIGN as usize;
        let max = self.params.get_limit.min(self.params.rdma_pipeline_frag_size) / align * align;
        let with_processor = self.nic.atomics_include_processor();
        let address = self.directory.get(peer);
        (max >= LEAST).then(|| Remote {
            network: NETWORK,
            max,
            align,
            // The words around it are up to one longer at each end.
            max_unaligned: max.min(BUFFER) - 2 * align,
            atomics: if with_processor { Atomics::Processor } else { Atomics::Network },
            quick_atomics: address.is_some_and(|at| self.nic.atomics_are_quick(at.pe, at.inst)),
        })
    }

    fn register(&mut self, _peer: Peer, memory: UserMem) -> Result<RemoteKey, Refusal> {
        // A process without buffers could not use the windows of others as these use its own.
        let (buffer, ..) = self.window_buffer(0)?;
        self.window_buffers.give(buffer);
        let (windows, with) = self.windows();
        let registered = windows.register(with, memory, |_, handle| key_of(handle, memory, true));
        self.stats.registrations = self.cache.stats().misses;
        registered
    }

    fn deregister(&mut self, _peer: Peer, key: RemoteKey) {
        let (windows, with) = self.windows();
        windows.deregister(with, &key);
    }

    fn read(
        &mut self,
        peer: Peer,
        into: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let place = within(key, offset, into.len() as u64).ok_or(Refusal::Unfit)?;
        if into.is_empty() {
            self.events.push_back(Event::Done(cookie));
            return Ok(());
        }
        let (start, len, align) = (into.address() as u64, into.len() as u64, limits::GET_ALIGN);
        let begun = if (start | place.1 | len).is_multiple_of(align) && into.len() <= self.params.get_limit {
            self.read_straight(peer, into, place, cookie)
        } else {
            self.read_around(peer, into, place, cookie)
        };
        self.noted(begun)
    }

    fn write(&mut self, peer: Peer, from: UserMem, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        let place = within(key, offset, from.len() as u64)
            .filter(|_| from.len() <= self.params.rdma_pipeline_frag_size)
            .ok_or(Refusal::Unfit)?;
        if from.is_empty() {
            return Ok(());
        }
        let fma = from.len() <= self.params.fma_put_limit;
        let kind = if fma { PostKind::FmaPut } else { PostKind::RdmaPut };
        let begun = self.may_begin(peer).and_then(|connection| {
            let registered = if fma { None } else { Some(self.register(from, Use::Local)?) };
            let descriptor = PostDescriptor {
                local: from,
                local_handle: registered.unwrap_or_default(),
                events: CqMode::GLOBAL,
                ..PostDescriptor::new(kind)
            };
            self.begin_access(connection, descriptor, place, Access { registered, ..Access::PLAIN })
        });
        self.noted(begun)
    }

    fn fetch(
        &mut self,
        peer: Peer,
        change: Atomic,
        before: UserMem,
        key: &RemoteKey,
        offset: u64,
        cookie: u64,
    ) -> Result<(), Refusal> {
        let begun = self.change(peer, change, key, offset, Some((before, cookie)));
        self.noted(begun)
    }

    fn update(&mut self, peer: Peer, change: Atomic, key: &RemoteKey, offset: u64) -> Result<(), Refusal> {
        let begun = self.change(peer, change, key, offset, None);
        self.noted(begun)
    }

    fn flush(&mut self, peer: Peer) -> Flushed {
        let Some(connection) = self.connections.of(peer) else { return Flushed::Done };
        self.connections.get_mut(connection).remote.silent.flush()
    }
}

impl<N: Gni, C: Clock> Ugni<N, C> {
    /// The windows, and with what they are registered.
    fn windows(&mut self) -> (&mut Windows<MemHandle>, Registrar<'_, Interface<'_, N>>) {
        let interface = Interface(&mut self.nic);
        let with = Registrar { interface, cache: &mut self.cache, quota: &mut self.quota };
        (&mut self.windows, with)
    }

    /// The connection to a peer that is there, if a transfer can be posted now.
    fn may_begin(&mut self, peer: Peer) -> Result<u32, Refusal> {
        let connection = self.connection_to(peer).ok_or(Refusal::Busy)?;
        if self.connections.get(connection).state == State::Lost {
            return Err(Refusal::Unfit);
        }
        if self.has_transfer_slot() { Ok(connection) } else { Err(Refusal::Busy) }
    }

    fn read_straight(
        &mut self,
        peer: Peer,
        into: UserMem,
        place: (MemHandle, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        let connection = self.may_begin(peer)?;
        let registered = self.register(into, Use::Local)?;
        let descriptor = PostDescriptor {
            local: into,
            local_handle: registered,
            ..PostDescriptor::new(self.get_kind(into.len()))
        };
        let access = Access { cookie: Some(cookie), registered: Some(registered), ..Access::PLAIN };
        self.begin_access(connection, descriptor, place, access)
    }

    /// Fetches the words that hold what is wanted.
    fn read_around(
        &mut self,
        peer: Peer,
        into: UserMem,
        (handle, addr): (MemHandle, u64),
        cookie: u64,
    ) -> Result<(), Refusal> {
        // The memory is registered by whole pages, so the words are, too.
        let align = limits::GET_ALIGN;
        let skip = addr % align;
        let len = (skip + into.len() as u64).next_multiple_of(align) as usize;
        if len > BUFFER.min(self.params.get_limit) {
            return Err(Refusal::Unfit);
        }
        let connection = self.may_begin(peer)?;
        let (buffer, local, local_handle) = self.window_buffer(len)?;
        let descriptor = PostDescriptor { local, local_handle, ..PostDescriptor::new(self.get_kind(len)) };
        let access = Access {
            cookie: Some(cookie),
            buffer: Some(buffer),
            skip: skip as u8,
            into: Some(into),
            ..Access::PLAIN
        };
        self.begin_access(connection, descriptor, (handle, addr - skip), access)
    }

    fn get_kind(&self, len: usize) -> PostKind {
        if len <= self.params.fma_get_limit { PostKind::FmaGet } else { PostKind::RdmaGet }
    }

    /// A buffer, its first `len` bytes and their registration.
    fn window_buffer(&mut self, len: usize) -> Result<(u32, UserMem, MemHandle), Refusal> {
        let room = Room::new(&mut self.nic, &mut self.cache, &mut self.quota, &mut self.stats.buffer_bytes);
        match self.window_buffers.take(&mut OfWindows(room)) {
            Some(buffer) => Ok((buffer.number, buffer.payload(len), buffer.handle)),
            None if self.window_buffers.is_made() => Err(Refusal::Busy),
            None => Err(Refusal::Unfit),
        }
    }

    /// Changes a word; `before`: where to put what it was, and the cookie of the event that reports it.
    fn change(
        &mut self,
        peer: Peer,
        change: Atomic,
        key: &RemoteKey,
        offset: u64,
        before: Option<(UserMem, u64)>,
    ) -> Result<(), Refusal> {
        let place = within(key, offset, 8).filter(|(_, addr)| addr.is_multiple_of(limits::AMO_ALIGN));
        let place = place.ok_or(Refusal::Unfit)?;
        let connection = self.may_begin(peer)?;
        let straight = command(change, place.1, before.is_some());
        let swaps = straight.is_none() && matches!(change, Atomic::Swap(_));
        let kind = match (straight, change) {
            (Some(kind), _) => Some(kind),
            // What is there is not known; the first try finds it out.
            (None, Atomic::Swap(new)) => command(Atomic::CompareSwap { expected: 0, new }, place.1, true),
            (None, _) => command(change, place.1, true),
        };
        let kind = kind.ok_or(Refusal::Unfit)?;
        let fetches = matches!(kind, PostKind::Amo { command, .. } if command.fetches());
        if !self.connections.get_mut(connection).remote.atomics.begin(place.1, change, before.is_some()) {
            return Err(Refusal::Busy);
        }
        let begun = self.post_change(connection, kind, fetches, place, (before, swaps));
        if begun.is_err() {
            self.connections.get_mut(connection).remote.atomics.end(place.1);
        }
        begun
    }

    fn post_change(
        &mut self,
        connection: u32,
        kind: PostKind,
        fetches: bool,
        place: (MemHandle, u64),
        (before, swaps): (Option<(UserMem, u64)>, bool),
    ) -> Result<(), Refusal> {
        let mut descriptor = PostDescriptor { events: CqMode::GLOBAL, ..PostDescriptor::new(kind) };
        let mut access = Access {
            cookie: before.map(|(_, cookie)| cookie),
            into: before.map(|(into, _)| into),
            swaps,
            ..Access::PLAIN
        };
        if fetches {
            let (buffer, local, local_handle) = self.window_buffer(8)?;
            (descriptor.local, descriptor.local_handle) = (local, local_handle);
            descriptor.events = CqMode::LOCAL;
            access.buffer = Some(buffer);
        }
        self.begin_access(connection, descriptor, place, access)
    }

    /// Posts an access, and gives back what it holds where that fails.
    fn begin_access(
        &mut self,
        connection: u32,
        descriptor: PostDescriptor,
        (remote_handle, remote_addr): (MemHandle, u64),
        access: Access,
    ) -> Result<(), Refusal> {
        let descriptor =
            PostDescriptor { remote_handle, remote_addr, src_cq: Some(self.queues.transfers), ..descriptor };
        let transfer = Transfer { connection, descriptor, tries: 0, purpose: Purpose::Window(access) };
        if let Err(error) = self.begin_transfer(transfer) {
            self.give_back(&access);
            return Err(if is_temporary(error) { Refusal::Busy } else { Refusal::Unfit });
        }
        let remote = &mut self.connections.get_mut(connection).remote;
        remote.all += 1;
        if access.cookie.is_none() {
            remote.silent.begin();
        }
        Ok(())
    }

    fn give_back(&mut self, access: &Access) {
        self.unregister_local(access.registered);
        if let Some(buffer) = access.buffer {
            self.window_buffers.give(buffer);
        }
    }

    /// An access is over. A swap that found another word than it expected is not: what to post again.
    pub(crate) fn accessed(
        &mut self,
        transfer: &Transfer,
        access: &Access,
        succeeded: bool,
    ) -> Option<Transfer> {
        if let (true, Some(buffer)) = (succeeded, access.buffer) {
            let held = self.window_buffers.buffer(buffer);
            if let Some(again) = access.swaps.then(|| swapped(transfer, held.payload(8))).flatten() {
                return Some(again);
            }
            if let Some(into) = access.into {
                let skip = usize::from(access.skip);
                into.write(held.payload(skip + into.len()).part(skip, into.len()).as_bytes());
            }
        }
        self.give_back(access);
        if succeeded && access.buffer.is_none() {
            self.stats.direct_bytes += transfer.descriptor.length();
        }
        let is_atomic = matches!(transfer.descriptor.kind, PostKind::Amo { .. });
        let remote = &mut self.connections.get_mut(transfer.connection).remote;
        remote.all -= 1;
        if is_atomic {
            remote.atomics.end(transfer.descriptor.remote_addr);
        }
        match access.cookie {
            Some(cookie) if succeeded => self.events.push_back(Event::Done(cookie)),
            Some(cookie) => self.events.push_back(Event::Failed(cookie)),
            None => {
                if remote.silent.end(succeeded) {
                    let peer = self.connections.get(transfer.connection).peer;
                    self.events.push_back(Event::Flushed(peer));
                }
            }
        }
        None
    }
}

/// The next try of a swap if the one that is over found another word, `seen`, than it expected.
fn swapped(transfer: &Transfer, seen: UserMem) -> Option<Transfer> {
    let PostKind::Amo { command, first, second } = transfer.descriptor.kind else { return None };
    let mut word = [0; 8];
    seen.as_bytes().copy_to(&mut word);
    let seen = u64::from_ne_bytes(word);
    let descriptor =
        PostDescriptor { kind: PostKind::Amo { command, first: seen, second }, ..transfer.descriptor };
    (seen != first).then_some(Transfer { descriptor, tries: 0, ..*transfer })
}

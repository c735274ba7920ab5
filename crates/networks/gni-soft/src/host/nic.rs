//! The fabric of one NIC of a host.

use super::arrival_queue::{ArrivalQueue, STALL};
use super::core_segment::QUEUES;
use super::link::Link;
use super::locator::Locator;
use super::own::{About, Own, ring_bytes, ring_in};
use super::peer::{Mapped, Peer};
use super::service::{Service, Watched};
use super::sockets::{Stream, uninterrupted};
use super::wire::{Ask, Purpose, Request, packet_of, packet_words};
use super::{HostConfig, Reach};
use crate::fabric::{
    Arrived, Fabric, Landed, Packet, PeerIndex, Registration, Submit, Tx, Undeliverable, Window,
};
use crate::ring::Reader;
use connect::exchange::Calling;
use connect::{Ends, Protection, Secret};
use core::sync::atomic::Ordering;
use gni::{
    Error, InstId, JobKey, JobResource, MemHandle, MsgqAttr, MsgqMessage, PeAddr, ResourceUse, Result, Time,
};
use mem::UserMem;
use shm::doorbell::Doorbell;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Bytes of a block transfer that go over a socket at a time, so that both sides are at work.
const PIECE: u64 = 256 << 10;
/// Bytes of a block transfer that the kernel copies per turn, about 80 µs: each call costs as much as some kilobytes,
/// and so do the looks at the registration before and after it.
const PIECE_AT_ONCE: u64 = 1 << 20;
/// Deadlines of requests are looked at this often.
const LOOK: Time = Time::from_millis(100);

pub(super) type Who = (PeAddr, InstId);

/// The fabric of one NIC of a host; see the module.
pub struct HostNic {
    pub(super) own: Arc<Own>,
    config: HostConfig,
    pub(super) service: Service,
    locator: Vec<u8>,
    own_host: u64,
    own_addresses: Vec<Ipv4Addr>,
    pub(super) known: HashMap<Who, Locator>,
    pub(super) index: HashMap<Who, u32>,
    pub(super) peers: Vec<Peer>,
    queues: Vec<Option<ArrivalQueue>>,
    inbox: Reader,
    inbox_stall: Option<Time>,
    /// Blocks lent out, by address: length and block number.
    lent: HashMap<usize, (usize, u32)>,
    pub(super) shared: Option<ArrivalQueue>,
    pub(super) attr: Option<MsgqAttr>,
    /// Senders of shared-queue messages that have not got their credit back: no NIC of their node is known yet.
    pub(super) owed: Vec<Who>,
    pub(super) now: Time,
    next_look: Time,
    dedicated_fma: bool,
    /// A number in private memory by which peers tell that a process id is ours.
    _nonce: Box<u64>,
}

impl HostNic {
    pub(super) fn new(
        own: Arc<Own>,
        config: HostConfig,
        service: Service,
        locator: Locator,
        (nonce, dedicated_fma): (Box<u64>, bool),
    ) -> HostNic {
        HostNic {
            own,
            config,
            service,
            locator: locator.to_bytes(),
            own_host: locator.host,
            own_addresses: locator.addresses,
            known: HashMap::new(),
            index: HashMap::new(),
            peers: Vec::new(),
            queues: Vec::new(),
            inbox: Reader::default(),
            inbox_stall: None,
            lent: HashMap::new(),
            shared: None,
            attr: None,
            owed: Vec::new(),
            now: Time::START,
            next_look: Time::START,
            dedicated_fma,
            _nonce: nonce,
        }
    }

    /// What the owner sleeps on, for its other transports. What peers map of this NIC stays mapped, here too, until
    /// the process ends.
    pub fn lasting_doorbell(&self) -> &'static Doorbell {
        let own: &'static Arc<Own> = Box::leak(Box::new(Arc::clone(&self.own)));
        own.doorbell()
    }

    pub(super) fn make_queue(&self, entries: usize) -> Result<ArrivalQueue> {
        let entries = entries.next_power_of_two();
        let (block, map) = self.own.make_block(ring_bytes(entries)).map_err(|_| Error::NoMemory)?;
        ring_in::<1>(&map, entries).ok_or(Error::NoMemory)?.prepare();
        Ok(ArrivalQueue::new(map, block, entries))
    }

    /// Whether a peer could be on this host.
    fn may_be_here(&self, who: Who) -> bool {
        self.config.reach != Reach::Tcp
            && self.known.get(&who).is_none_or(|locator| locator.host == self.own_host)
    }

    fn find(&mut self, who: Who) -> Option<Peer> {
        if self.may_be_here(who) {
            let mut mapped = Mapped::meet(&self.own, who).ok()?;
            self.watch(&mapped);
            if self.config.reach == Reach::Socket {
                mapped.forbid_single_copy();
            }
            return Some(Peer { who, mapped: Some(mapped), link: None });
        }
        let link = self.open_link(who)?;
        Some(Peer { who, mapped: None, link: Some(link) })
    }

    /// Has the service notice the end of a peer's process.
    fn watch(&self, mapped: &Mapped) {
        match platform::pidfd::Pidfd::open(mapped.pid()) {
            Ok(process) => self.service.watch(Watched { process, gone: Arc::clone(&mapped.gone) }),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                mapped.gone.store(true, Ordering::Release);
            }
            // A process of another pid namespace has no number here.
            Err(_) => {}
        }
    }

    fn open_link(&self, who: Who) -> Option<Arc<Link>> {
        let link = match self.connect(who).ok()? {
            stream @ Stream::Unix(_) => Link::begin(stream, &self.own.hello(Purpose::Data).to_bytes()),
            Stream::Tcp(stream) => {
                let ends = Ends::of_caller(&stream);
                let secret = Secret::new(self.known.get(&who)?.secret);
                let says = self.own.says(who.1);
                let nonce = platform::random::nonce();
                let calling = Calling::new(secret, says, &ends, Protection::None, nonce);
                Link::call(Stream::Tcp(stream), calling)
            }
        };
        let link = Arc::new(link.ok()?);
        self.service.add_link(Arc::clone(&link));
        Some(link)
    }

    fn connect(&self, who: Who) -> io::Result<Stream> {
        if self.may_be_here(who) {
            let name = self.own.name_of(who)?;
            let stream = uninterrupted(|| UnixStream::connect_addr(&name))?;
            (&stream).flush()?;
            return Ok(Stream::Unix(stream));
        }
        let locator = self.known.get(&who).ok_or(io::ErrorKind::NotFound)?;
        let address = locator.address(&self.own_addresses).ok_or(io::ErrorKind::NotFound)?;
        platform::tcp::connect(address).map(Stream::Tcp)
    }

    /// The link to a peer, opened when first needed.
    pub(super) fn link(&mut self, index: u32) -> Option<Arc<Link>> {
        if let Some(link) = &self.peers[index as usize].link {
            return Some(Arc::clone(link));
        }
        let link = self.open_link(self.peers[index as usize].who)?;
        self.peers[index as usize].link = Some(Arc::clone(&link));
        Some(link)
    }
}

impl Drop for HostNic {
    fn drop(&mut self) {
        self.own.core.head().closed.store(1, Ordering::Release);
        if self.attr.is_some() {
            self.own.node.leave();
        }
        if self.dedicated_fma {
            self.own.node.give_fma();
        }
    }
}

impl Fabric for HostNic {
    fn pe(&self) -> PeAddr {
        self.own.pe
    }

    fn inst(&self) -> InstId {
        self.own.inst
    }

    fn key(&self) -> JobKey {
        self.own.key
    }

    fn locator(&self) -> &[u8] {
        &self.locator
    }

    fn learn(&mut self, pe: PeAddr, inst: InstId, locator: &[u8]) -> Result<()> {
        let locator = Locator::from_bytes(locator).ok_or(Error::InvalidParam)?;
        self.known.insert((pe, inst), locator);
        self.pay_owed(pe);
        Ok(())
    }

    fn doorbell(&self) -> Option<&Doorbell> {
        Some(self.own.doorbell())
    }

    /// Within a host they are not: messages go by mapped memory. Words that are mapped nowhere else are changed by a
    /// thread of the owner, which is asked over a socket.
    fn atomics_are_quick(&self, pe: PeAddr, inst: InstId) -> bool {
        !self.may_be_here((pe, inst))
    }

    fn resource(&self, resource: JobResource) -> ResourceUse {
        let [mdds, pages, fma] = self.own.node.in_use();
        let limits = &self.config.limits;
        match resource {
            JobResource::Mdd => ResourceUse { used: mdds, limit: limits.mdds },
            JobResource::Mrt => ResourceUse { used: pages, limit: limits.mrt_entries },
            JobResource::Fma => ResourceUse { used: fma, limit: limits.fma_descriptors },
        }
    }

    fn mrt_page_shift(&self) -> u32 {
        self.config.limits.mrt_page_shift
    }

    fn reserve(&mut self, pages: u32) -> Result<()> {
        self.own.node.reserve(pages, (self.config.limits.mdds, self.config.limits.mrt_entries))
    }

    fn unreserve(&mut self, pages: u32) {
        self.own.node.unreserve(pages);
    }

    fn publish(&mut self, registration: &Registration) -> Result<()> {
        let block = self.own.block_of(registration.addr, registration.len);
        // Memory that peers map stays mapped here too: its pages are held, and counted, but need not be asked for.
        let pinned = self.own.pin(registration)? && block.is_none();
        self.own.core.publish(registration, block, pinned);
        Ok(())
    }

    fn withdraw(&mut self, mdd: u16) {
        if !self.own.core.withdraw(mdd) {
            // A copy of one piece takes microseconds, unless its process is stopped or was killed in the middle.
            let began = std::time::Instant::now();
            while !self.own.core.is_left(mdd) && began.elapsed().as_millis() < 1000 {
                platform::waiter::give_way();
            }
        }
        self.own.unpin(mdd);
    }

    fn open_queue(&mut self, entries: u32) -> Result<u32> {
        let free = self.queues.iter().position(Option::is_none);
        let index = free.unwrap_or(self.queues.len());
        if index >= QUEUES - 1 {
            return Err(Error::Resource);
        }
        let queue = self.make_queue(entries as usize)?;
        self.own.core.set_queue(index as u32, Some(queue.block), queue.entries as u64);
        if free.is_none() {
            self.queues.push(None);
        }
        self.queues[index] = Some(queue);
        Ok(index as u32)
    }

    fn close_queue(&mut self, queue: u32) {
        self.own.core.set_queue(queue, None, 0);
        if let Some(closed) = self.queues.get_mut(queue as usize).and_then(Option::take) {
            self.own.drop_block(closed.block);
        }
    }

    #[inline]
    fn next_entry(&mut self, queue: u32) -> Arrived {
        let now = self.now;
        match self.queues.get_mut(queue as usize) {
            Some(Some(queue)) => queue.take(now),
            _ => Arrived::Empty,
        }
    }

    fn has_entry(&mut self, queue: u32) -> bool {
        matches!(self.queues.get(queue as usize), Some(Some(queue)) if queue.has_entry())
    }

    fn alloc(&mut self, bytes: usize) -> Result<UserMem> {
        let size = bytes.checked_next_multiple_of(4096).ok_or(Error::NoMemory)?;
        let (block, map) = self.own.make_block(size).map_err(|_| Error::NoMemory)?;
        self.lent.insert(map.address(), (bytes, block));
        // SAFETY: the block stays mapped until it is dropped, by `free` or with the NIC.
        Ok(unsafe { UserMem::new(map.address(), bytes) })
    }

    fn free(&mut self, memory: UserMem) -> Result<()> {
        let known = self.lent.get(&memory.address()).is_some_and(|&(bytes, _)| bytes == memory.len());
        let Some((_, block)) = known.then(|| self.lent.remove(&memory.address())).flatten() else {
            return Err(Error::InvalidParam);
        };
        self.own.drop_block(block);
        Ok(())
    }

    fn resolve(&mut self, pe: PeAddr, inst: InstId) -> Option<PeerIndex> {
        if let Some(&index) = self.index.get(&(pe, inst)) {
            return Some(PeerIndex(index));
        }
        let peer = self.find((pe, inst))?;
        let index = self.peers.len() as u32;
        self.peers.push(peer);
        self.index.insert((pe, inst), index);
        Some(PeerIndex(index))
    }

    fn submit(&mut self, now: Time, tx: &Tx<'_>) -> Submit {
        self.carry_out(now, tx)
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Landed> {
        self.now = now;
        if now >= self.next_look {
            self.next_look = now + LOOK;
            for link in self.peers.iter().filter_map(|peer| peer.link.as_ref()) {
                link.expire(&self.own, now);
            }
        }
        loop {
            let ended = self.own.next_ended()?;
            match ended.about {
                About::Ticket(ticket) => return Some(Landed { ticket, status: ended.status }),
                About::Connect(pe) => self.connected(pe, ended.status),
            }
        }
    }

    #[inline]
    fn window(&mut self, peer: PeerIndex, handle: MemHandle, addr: u64, len: usize) -> Option<Window<'_>> {
        let peer = &mut self.peers[peer.0 as usize];
        let (space, queue) = peer.mapped.as_mut()?.window(&self.own, peer.who, handle, addr, len)?;
        Some(Window { space, queue })
    }

    #[inline]
    fn push_event(&mut self, peer: PeerIndex, queue: u32, entry: u64) {
        let peer = &mut self.peers[peer.0 as usize];
        if let Some(mapped) = &mut peer.mapped {
            mapped.push_event(&self.own, peer.who, queue, entry);
        }
    }

    fn rdma_piece(&self, peer: PeerIndex) -> u64 {
        let mapped = self.peers[peer.0 as usize].mapped.as_ref();
        if mapped.is_some_and(Mapped::copies_at_once) { PIECE_AT_ONCE } else { PIECE }
    }

    fn send_packet(
        &mut self,
        now: Time,
        to: Who,
        packet: &Packet,
    ) -> core::result::Result<(), Undeliverable> {
        self.now = now;
        let PeerIndex(index) = self.resolve(to.0, to.1).ok_or(Undeliverable::Absent)?;
        let words = packet_words(packet);
        if let Some(mapped) = &self.peers[index as usize].mapped {
            return match mapped.is_gone() {
                true => Err(Undeliverable::Gone),
                false if mapped.push_packet(&words) => Ok(()),
                false => Err(Undeliverable::Full),
            };
        }
        let data = words.map(u64::to_ne_bytes).concat();
        let request = Request {
            ask: Ask::Packet,
            id: 0,
            data: data.len() as u32,
            handle: MemHandle::default(),
            addr: 0,
            event: None,
        };
        self.send_request(to, request, &data, None).ok_or(Undeliverable::Absent)
    }

    #[inline]
    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        let inbox = self.own.core.inbox();
        if let Some(words) = inbox.take(&mut self.inbox) {
            self.inbox_stall = None;
            return packet_of(&words);
        }
        if !inbox.is_stalled(&self.inbox) {
            self.inbox_stall = None;
        } else if *self.inbox_stall.get_or_insert(now) + STALL < now {
            self.inbox_stall = None;
            inbox.skip(&mut self.inbox);
        }
        None
    }

    fn shared_join(&mut self, attr: &MsgqAttr) -> Result<()> {
        self.join_shared_queue(attr)
    }

    fn shared_connect(&mut self, pe: PeAddr) -> Result<()> {
        self.connect_shared_queue(pe)
    }

    fn shared_take_credit(&mut self, pe: PeAddr) -> Result<()> {
        self.own.node.take_credit(pe)
    }

    fn shared_return_credit(&mut self, pe: PeAddr) {
        self.own.node.give_credit(pe);
    }

    fn shared_next(&mut self) -> Option<MsgqMessage> {
        self.next_shared_message()
    }
}

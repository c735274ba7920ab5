//! What the rank's calls and the NIC's service thread share, and what the service does for initiators that
//! cannot do it themselves.

use super::core_segment::CoreSegment;
use super::node_segment::{NodeSegment, SLOTS};
use super::sockets::{fetch_file, nic_name};
use super::wire::{Ask, Hello, Purpose, Request, packet_of};
use crate::access::{self, Want};
use crate::fabric::{LOST_EVENT, Registration, Ticket};
use crate::mailbox;
use crate::mapping::{Mapping, memory_file};
use crate::pinned::Pins;
use crate::ring::{Ends, Ring, Slot};
use connect::{Role, Who};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use gni::{Error, HwStatus, InstId, JobKey, MemHandle, MsgqAttr, PeAddr};
use mem::{PeerBytes, PeerSpace, UserMem};
use shm::doorbell::{Doorbell, SharedDoorbell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::SocketAddr as UnixAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The queue number under which a NIC keeps its part of the node's shared queue.
pub(super) const SHARED_QUEUE: u32 = super::core_segment::QUEUES as u32 - 1;

pub(super) struct Own {
    /// Names the job in socket names.
    job: u32,
    pub(super) pe: PeAddr,
    pub(super) inst: InstId,
    pub(super) key: JobKey,
    pub(super) core: CoreSegment,
    pub(super) core_file: OwnedFd,
    pub(super) node: NodeSegment,
    pub(super) node_file: OwnedFd,
    /// What the owner sleeps on, if not on the NIC's own doorbell.
    elsewhere: Option<SharedDoorbell>,
    /// The pages that registrations hold, in the pinned mode.
    pins: Option<Mutex<Pins>>,
    blocks: Mutex<Blocks>,
    /// Requests of this NIC that have ended.
    ended: Mutex<VecDeque<Ended>>,
    /// How many there are, so that the rank does not take the lock for nothing.
    ended_count: AtomicUsize,
}

/// Where fetched bytes go: registered memory of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Landing {
    pub(super) memory: UserMem,
    pub(super) handle: MemHandle,
}

/// What a request was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum About {
    /// A transaction of the engine.
    Ticket(Ticket),
    /// Connecting this node's shared queue with another node's.
    Connect(PeAddr),
}

/// A request that has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    pub(super) about: About,
    pub(super) status: HwStatus,
}

#[derive(Default)]
struct Blocks {
    next: u32,
    files: HashMap<u32, (Arc<OwnedFd>, Arc<Mapping>)>,
}

/// A queue's place in its block: the ends, then the slots.
#[inline]
pub(super) fn ring_in<const WORDS: usize>(map: &Mapping, entries: usize) -> Option<Ring<'_, WORDS>> {
    let needed = entries.checked_mul(size_of::<Slot<WORDS>>())?.checked_add(size_of::<Ends>())?;
    if !entries.is_power_of_two() || needed > map.len() {
        return None;
    }
    Some(Ring::new(map.many(size_of::<Ends>(), entries), map.one(0)))
}

/// Bytes of a block that holds such a queue.
pub(super) fn ring_bytes(entries: usize) -> usize {
    size_of::<Ends>() + entries * size_of::<Slot<1>>()
}

impl Own {
    pub(super) fn new(
        (job, pe, inst, key): (u32, PeAddr, InstId, JobKey),
        (node_file, node): (OwnedFd, NodeSegment),
        elsewhere: Option<SharedDoorbell>,
        pins: Option<Pins>,
    ) -> io::Result<Own> {
        let (core_file, core) = CoreSegment::create()?;
        if let Some(shared) = &elsewhere {
            core.set_doorbell(shared.offset);
        }
        Ok(Own {
            job,
            pe,
            inst,
            key,
            core,
            core_file,
            node,
            node_file,
            elsewhere,
            pins: pins.map(Mutex::new),
            blocks: Mutex::default(),
            ended: Mutex::default(),
            ended_count: AtomicUsize::new(0),
        })
    }

    // ---- meeting peers ----

    /// The name of a NIC of this host.
    pub(super) fn name_of(&self, who: (PeAddr, InstId)) -> io::Result<UnixAddr> {
        nic_name(self.job, who.0, who.1)
    }

    /// What this NIC sends first to a NIC of its host that is to do something.
    pub(super) fn hello(&self, purpose: Purpose) -> Hello {
        Hello { purpose, key: self.key, pe: self.pe, inst: self.inst }
    }

    /// What this NIC states of itself when it calls the instance `to` of another host.
    pub(super) fn says(&self, to: InstId) -> Who {
        Who { role: Role::Nic, job: self.job.into(), from: self.inst.0, to: to.0 }
    }

    /// Whether a caller over TCP that claims to be `who` may be a peer; why not, where that is to be reported.
    pub(super) fn expects(&self, who: &Who) -> Result<(), Option<&'static str>> {
        match who {
            _ if who.role != Role::Nic || who.job != u64::from(self.job) => Err(Some("it is of another job")),
            // It tries the address of another NIC, which leads here.
            _ if who.to != self.inst.0 => Err(None),
            _ => Ok(()),
        }
    }

    /// Asks a NIC of this host for a memory file. Returns it with the process id of that NIC's owner.
    pub(super) fn ask_for_file(&self, who: (PeAddr, InstId), purpose: Purpose) -> io::Result<(OwnedFd, i32)> {
        fetch_file(&self.name_of(who)?, &self.hello(purpose))
    }

    // ---- waking ----

    /// The doorbell that wakes this NIC's owner.
    pub(super) fn doorbell(&self) -> &Doorbell {
        match &self.elsewhere {
            Some(shared) => shared.doorbell,
            None => self.core.doorbell(),
        }
    }

    /// The file of the doorbell, if that is not the NIC's own.
    pub(super) fn doorbell_file(&self) -> Option<BorrowedFd<'_>> {
        self.elsewhere.as_ref().map(|shared| shared.file.as_fd())
    }

    pub(super) fn ring(&self) {
        ring(self.doorbell());
    }

    // ---- requests that have ended ----

    pub(super) fn end(&self, ended: Ended) {
        lock(&self.ended).push_back(ended);
        self.ended_count.fetch_add(1, Ordering::Release);
        self.ring();
    }

    pub(super) fn next_ended(&self) -> Option<Ended> {
        if self.ended_count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let ended = lock(&self.ended).pop_front()?;
        self.ended_count.fetch_sub(1, Ordering::Relaxed);
        Some(ended)
    }

    // ---- blocks ----

    /// Makes a block of memory that peers can map.
    pub(super) fn make_block(&self, bytes: usize) -> io::Result<(u32, Arc<Mapping>)> {
        let file = memory_file(bytes)?;
        let map = Arc::new(Mapping::of(&file, bytes)?);
        let mut blocks = lock(&self.blocks);
        let number = blocks.next;
        blocks.next += 1;
        blocks.files.insert(number, (Arc::new(file), Arc::clone(&map)));
        Ok((number, map))
    }

    pub(super) fn drop_block(&self, number: u32) {
        lock(&self.blocks).files.remove(&number);
    }

    pub(super) fn block(&self, number: u32) -> Option<(Arc<OwnedFd>, Arc<Mapping>)> {
        lock(&self.blocks).files.get(&number).cloned()
    }

    /// The block that holds all of a range, and the range's offset in it.
    pub(super) fn block_of(&self, addr: u64, len: u64) -> Option<(u32, u64)> {
        let blocks = lock(&self.blocks);
        blocks.files.iter().find_map(|(&number, (_, map))| {
            let offset = addr.checked_sub(map.address() as u64)?;
            (offset + len <= map.len() as u64).then_some((number, offset))
        })
    }

    // ---- pinned memory ----

    /// Holds the pages of a registration, in the pinned mode; whether they are held.
    ///
    /// # Errors
    /// `ERROR_NOMEM`: the process may not lock so much memory.
    pub(super) fn pin(&self, registration: &Registration) -> Result<bool, Error> {
        let Some(pins) = &self.pins else { return Ok(false) };
        let mut pins = lock(pins);
        pins.pin(registration.mdd, registration.addr, registration.len).map_err(|_| Error::NoMemory)?;
        Ok(pins.holds(registration.mdd))
    }

    pub(super) fn unpin(&self, mdd: u16) {
        if let Some(pins) = &self.pins {
            lock(pins).unpin(mdd);
        }
    }

    /// The pages behind a descriptor, where they are held.
    fn held(&self, mdd: u16) -> Option<MutexGuard<'_, Pins>> {
        self.pins.as_ref().map(lock).filter(|pins| pins.holds(mdd))
    }

    /// Registered bytes of this process as the NIC sees them, where that is not what is mapped now.
    pub(super) fn held_bytes(&self, handle: MemHandle, memory: UserMem) -> Option<Vec<u8>> {
        let mdd = access::mdd_of(handle).ok()?;
        let mut pins = self.held(mdd)?;
        let mut bytes = Vec::with_capacity(memory.len());
        let read = pins
            .read(mdd, memory.address() as u64, memory.len() as u64, |piece| bytes.extend(piece.to_vec()));
        read.ok().map(|()| bytes)
    }

    /// Whether the NIC holds the pages of this process's registration.
    pub(super) fn holds(&self, handle: MemHandle) -> bool {
        access::mdd_of(handle).is_ok_and(|mdd| self.held(mdd).is_some())
    }

    /// Puts fetched bytes where they belong.
    pub(super) fn land(&self, landing: &Landing, bytes: PeerBytes<'_>) -> HwStatus {
        let Landing { memory, handle } = *landing;
        if memory.len() != bytes.len() {
            return HwStatus::Uncorrectable;
        }
        let held = access::mdd_of(handle).ok().and_then(|mdd| Some((mdd, self.held(mdd)?)));
        match held {
            None => {
                memory.write(bytes);
            }
            Some((mdd, mut pins)) => {
                if pins.write(mdd, memory.address() as u64, bytes).is_err() {
                    return HwStatus::Translation;
                }
            }
        }
        HwStatus::Ok
    }

    // ---- requests of initiators ----

    /// Does what `request` asks, with its data; `answer` gets the bytes to be sent back.
    pub(super) fn serve(&self, request: &Request, data: &[u8], answer: &mut Vec<u8>) -> HwStatus {
        let done = match request.ask {
            Ask::Packet => self.take_packet(data),
            Ask::Shared { tag } => self.take_shared(request, tag, data),
            Ask::Connect { attr } => self.promise(&attr),
            Ask::Credit => {
                self.node.give_credit(PeAddr(request.addr as u32));
                Ok(())
            }
            _ => self.serve_memory(request, data, answer),
        };
        self.ring();
        done.err().unwrap_or(HwStatus::Ok)
    }

    /// Sets room aside for another node's messages.
    fn promise(&self, attr: &MsgqAttr) -> Result<(), HwStatus> {
        let promised = self.node.has_queue(attr).and_then(|()| self.node.promise(attr.credits, attr.pool));
        promised.map_err(|error| match error {
            Error::NotDone => HwStatus::RequestTimeout,
            Error::InvalidParam => HwStatus::InvalidCommand,
            _ => HwStatus::MemoryBounds,
        })
    }

    fn take_packet(&self, data: &[u8]) -> Result<(), HwStatus> {
        let mut words = [0; super::core_segment::PACKET_WORDS];
        let (chunks, []) = data.as_chunks::<8>() else { return Err(HwStatus::InvalidCommand) };
        if chunks.len() != words.len() {
            return Err(HwStatus::InvalidCommand);
        }
        for (word, chunk) in words.iter_mut().zip(chunks) {
            *word = u64::from_ne_bytes(*chunk);
        }
        // A full inbox drops the packet; its sender sends it again.
        if packet_of(&words).is_some() {
            self.core.inbox().push(&words);
        }
        Ok(())
    }

    fn take_shared(&self, request: &Request, tag: u8, data: &[u8]) -> Result<(), HwStatus> {
        if data.len() > gni::limits::MSGQ_MAX as usize {
            return Err(HwStatus::InvalidCommand);
        }
        let (pe, inst) = (PeAddr((request.addr >> 32) as u32), InstId(request.addr as u32));
        let (number, entries) = self.core.queue_block(SHARED_QUEUE).ok_or(HwStatus::MddInvalid)?;
        let (_, map) = self.block(number).ok_or(HwStatus::MddInvalid)?;
        let ring = ring_in::<1>(&map, entries).ok_or(HwStatus::MddInvalid)?;
        let slot = self.node.put(pe, inst, tag, data).ok_or(HwStatus::RequestTimeout)?;
        ring.push(&[u64::from(slot % SLOTS)]);
        Ok(())
    }

    fn serve_memory(&self, request: &Request, data: &[u8], answer: &mut Vec<u8>) -> Result<(), HwStatus> {
        let mdd = access::mdd_of(request.handle)?;
        self.core.enter(mdd);
        let done = self.touch_memory(request, mdd, data, answer);
        self.core.leave(mdd);
        let queue = done?;
        if let (Some(event), Some(queue)) = (request.event, queue) {
            self.push_event(queue, event);
        }
        Ok(())
    }

    /// Reads or writes registered memory of this process; returns the queue of the registration.
    fn touch_memory(
        &self,
        request: &Request,
        mdd: u16,
        data: &[u8],
        answer: &mut Vec<u8>,
    ) -> Result<Option<u32>, HwStatus> {
        let seen = self.core.registration(mdd).ok_or(HwStatus::MddInvalid)?;
        let addr = request.addr;
        let allow = |addr, len, want| self.allow(&seen.registration, request.handle, addr, len, want);
        match request.ask {
            Ask::Write { flag } => {
                allow(addr, data.len() as u64, Want::Write)?;
                if let Some((flag_addr, _)) = flag {
                    allow(flag_addr, 8, Want::Write)?;
                }
                self.store(mdd, addr, data)?;
                if let Some((flag_addr, value)) = flag {
                    word_at(flag_addr)?.store(value, Ordering::Release);
                }
            }
            Ask::Message => {
                allow(addr, data.len() as u64, Want::Write)?;
                let (first, rest) = data.split_first_chunk::<4>().ok_or(HwStatus::InvalidCommand)?;
                self.store(mdd, addr + 4, rest)?;
                store32(addr, u32::from_ne_bytes(*first))?;
            }
            Ask::Store { value } => {
                allow(addr, 4, Want::Write)?;
                store32(addr, value)?;
            }
            Ask::Read { len } => {
                allow(addr, len.into(), Want::Read)?;
                self.fetch(mdd, addr, len, answer)?;
            }
            Ask::Atomic { command, first, second } => {
                allow(addr, 8, Want::Write)?;
                let step = |old| Some(command.apply(old, first, second));
                let old = word_at(addr)?.fetch_update(Ordering::AcqRel, Ordering::Acquire, step);
                answer.extend(old.unwrap_or_default().to_ne_bytes());
            }
            _ => allow(seen.registration.addr, 0, Want::Read)?,
        }
        Ok(seen.registration.queue)
    }

    /// Stores to registered memory; the caller has checked the range.
    fn store(&self, mdd: u16, addr: u64, data: &[u8]) -> Result<(), HwStatus> {
        if let Some(mut pins) = self.held(mdd) {
            return pins.write(mdd, addr, PeerBytes::of(data)).map_err(|_| HwStatus::Translation);
        }
        // SAFETY: registered memory of this process, which waits for `leave` before it lets go of it.
        unsafe { PeerSpace::new(addr as *mut u8, data.len()) }.write(PeerBytes::of(data));
        Ok(())
    }

    /// Appends bytes of registered memory; the caller has checked the range.
    fn fetch(&self, mdd: u16, addr: u64, len: u32, answer: &mut Vec<u8>) -> Result<(), HwStatus> {
        if let Some(mut pins) = self.held(mdd) {
            let read = pins.read(mdd, addr, len.into(), |piece| answer.extend(piece.to_vec()));
            return read.map_err(|_| HwStatus::Translation);
        }
        // SAFETY: as in `store`.
        answer.extend(unsafe { PeerBytes::new(addr as *const u8, len as usize) }.to_vec());
        Ok(())
    }

    fn allow(
        &self,
        registration: &crate::fabric::Registration,
        handle: MemHandle,
        addr: u64,
        len: u64,
        want: Want,
    ) -> Result<(), HwStatus> {
        access::check(Some(registration), handle, (self.key, self.key), addr, len, want)
    }

    fn push_event(&self, queue: u32, event: u64) {
        let Some((number, entries)) = self.core.queue_block(queue) else { return };
        let Some((_, map)) = self.block(number) else { return };
        if let Some(ring) = ring_in::<1>(&map, entries) {
            push_or_lose(&ring, event);
        }
    }
}

/// Adds an entry to a queue, or leaves the mark of a lost one.
#[inline]
pub(super) fn push_or_lose(ring: &Ring<'_, 1>, event: u64) {
    if event == LOST_EVENT || !ring.push(&[event]) {
        ring.mark_overrun();
    }
}

/// Wakes the owner of a doorbell if it sleeps.
pub(super) fn ring(doorbell: &Doorbell) {
    doorbell.ring(|word| platform::futex::wake(word, i32::MAX));
}

/// The 64-bit word at an address that was checked to lie in registered memory.
fn word_at<'a>(addr: u64) -> Result<&'a AtomicU64, HwStatus> {
    if !addr.is_multiple_of(8) {
        return Err(HwStatus::InvalidCommand);
    }
    // SAFETY: checked by the callers to lie in registered memory, and aligned; used within the call.
    Ok(unsafe { AtomicU64::from_ptr(addr as *mut u64) })
}

fn store32(addr: u64, value: u32) -> Result<(), HwStatus> {
    if !addr.is_multiple_of(4) {
        return Err(HwStatus::InvalidCommand);
    }
    // SAFETY: checked by the callers to lie in registered memory, and aligned.
    unsafe { mailbox::store(addr, value) };
    Ok(())
}

/// Locks; what is behind these locks is never left half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

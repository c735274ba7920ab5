//! A peer NIC as this process reaches it.

use super::core_segment::{CoreSegment, Seen};
use super::lane::Lane;
use super::link::Link;
use super::own::{Own, push_or_lose, ring, ring_in};
use super::wire::Purpose;
use crate::access::{self, Want};
use crate::mailbox;
use crate::mapping::{Mapping, PAGE};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use gni::{Amo, HandleFields, HwStatus, InstId, MemHandle, PeAddr};
use mem::{PeerBytes, PeerSpace, UserMem};
use platform::cma::{self, Failure};
use shm::doorbell::Doorbell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// A NIC this one has found.
pub(super) struct Peer {
    pub(super) who: (PeAddr, InstId),
    /// The way through shared memory, for a NIC of this host.
    pub(super) mapped: Option<Mapped>,
    /// The way through a socket, made when first needed.
    pub(super) link: Option<Arc<Link>>,
}

/// A NIC of this host: what it shows is mapped here.
pub(super) struct Mapped {
    core: CoreSegment,
    /// What the owner sleeps on, where that is not the NIC's own doorbell: the page that holds it, and the place there.
    elsewhere: Option<(Mapping, usize)>,
    pid: i32,
    /// Whether the kernel copies between the two processes.
    single_copy: bool,
    pub(super) gone: Arc<AtomicBool>,
    blocks: BTreeMap<u32, Option<Arc<Mapping>>>,
    /// The way to the peer's mailbox, as last found.
    lane: Option<Lane>,
    /// The handle last used and its fields, so that its CRC is verified once.
    last_handle: (MemHandle, HandleFields),
}

/// Why the initiator could not do a transaction by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direct {
    /// Done, with this verdict.
    Done(HwStatus),
    /// Only the owner can do it.
    NeedsOwner,
}

impl From<HwStatus> for Direct {
    fn from(status: HwStatus) -> Direct {
        Direct::Done(status)
    }
}

/// Memory of the peer that a transaction may touch.
struct ReachableMemory {
    mdd: u16,
    queue: Option<u32>,
    /// Where it is mapped here.
    here: Option<*mut u8>,
    /// Only its owner can reach it.
    pinned: bool,
}

impl Mapped {
    /// Meets the NIC `who` of this host.
    pub(super) fn meet(own: &Own, who: (PeAddr, InstId)) -> io::Result<Mapped> {
        let (file, pid) = own.ask_for_file(who, Purpose::Core)?;
        let core = CoreSegment::map(&file)?;
        let elsewhere = core.doorbell_elsewhere().map(|at| doorbell_page(own, who, at)).transpose()?;
        let single_copy = reads_nonce(&core, pid);
        let mapped = Mapped {
            core,
            elsewhere,
            pid,
            single_copy,
            gone: Arc::default(),
            blocks: BTreeMap::new(),
            lane: None,
            last_handle: (MemHandle::default(), HandleFields::default()),
        };
        if !platform::membarrier::register() {
            mapped.doorbell().ask_for_fences();
        }
        Ok(mapped)
    }

    #[inline]
    fn doorbell(&self) -> &Doorbell {
        match &self.elsewhere {
            Some((page, at)) => page.one(*at),
            None => self.core.doorbell(),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether the kernel copies between the two processes, as far as is known.
    pub(super) fn copies_at_once(&self) -> bool {
        self.single_copy
    }

    pub(super) fn forbid_single_copy(&mut self) {
        self.single_copy = false;
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire) || self.core.head().closed.load(Ordering::Acquire) != 0
    }

    pub(super) fn ring(&self) {
        ring(self.doorbell());
    }

    /// Puts a packet into the inbox; `false`: it is full.
    pub(super) fn push_packet(&self, words: &[u64; super::core_segment::PACKET_WORDS]) -> bool {
        let pushed = self.core.inbox().push(words);
        self.ring();
        pushed
    }

    /// A block of the peer, mapped when first needed.
    fn block(&mut self, own: &Own, who: (PeAddr, InstId), number: u32) -> Option<&Arc<Mapping>> {
        let entry = self.blocks.entry(number).or_insert_with(|| {
            let (file, _) = own.ask_for_file(who, Purpose::Block(number)).ok()?;
            Mapping::of(&file, 1).ok().map(Arc::new)
        });
        entry.as_ref()
    }

    #[inline]
    fn fields(&mut self, handle: MemHandle) -> Result<HandleFields, HwStatus> {
        if self.last_handle.0 != handle {
            self.last_handle = (handle, handle.unpack().ok_or(HwStatus::MddInvalid)?);
        }
        Ok(self.last_handle.1)
    }

    /// Checks an access as the target's NIC would.
    #[inline]
    fn target(
        &mut self,
        own: &Own,
        who: (PeAddr, InstId),
        handle: MemHandle,
        addr: u64,
        len: u64,
        want: Want,
    ) -> Result<ReachableMemory, HwStatus> {
        let fields = self.fields(handle)?;
        let Seen { registration, block, pinned, .. } =
            self.core.registration(fields.mdd).ok_or(HwStatus::MddInvalid)?;
        access::check_fields(Some(&registration), &fields, (own.key, own.key), addr, len, want)?;
        let here = match block {
            Some((number, offset)) => {
                let start = offset.checked_add(addr - registration.addr).ok_or(HwStatus::Translation)?;
                let map = self.block(own, who, number);
                map.and_then(|map| {
                    let fits = start.checked_add(len).is_some_and(|end| end <= map.len() as u64);
                    fits.then(|| (map.address() + start as usize) as *mut u8)
                })
            }
            None => None,
        };
        Ok(ReachableMemory { mdd: fields.mdd, queue: registration.queue, here, pinned })
    }

    /// A view of mapped memory of the peer and the queue of its registration.
    #[inline]
    pub(super) fn window(
        &mut self,
        own: &Own,
        who: (PeAddr, InstId),
        handle: MemHandle,
        addr: u64,
        len: usize,
    ) -> Option<(PeerSpace<'_>, Option<u32>)> {
        if self.is_gone() {
            return None;
        }
        let place = |lane: &Lane, core: &CoreSegment| lane.place(core, handle, addr, len);
        let here = match self.lane.as_ref().and_then(|lane| place(lane, &self.core)) {
            Some(here) => here,
            None => {
                self.lane = self.find_lane(own, who, handle);
                place(self.lane.as_ref()?, &self.core)?
            }
        };
        let queue = self.lane.as_ref()?.queue;
        // SAFETY: the range lies within a mapping of ours that lives as long as `self`; nothing else in this
        // process uses this slot of the peer's memory.
        Some((unsafe { PeerSpace::new(here, len) }, queue))
    }

    /// The short way to the memory of a handle, if it is mapped here and may be written.
    #[cold]
    fn find_lane(&mut self, own: &Own, who: (PeAddr, InstId), handle: MemHandle) -> Option<Lane> {
        let fields = self.fields(handle).ok()?;
        let seen = self.core.registration(fields.mdd)?;
        let first = seen.registration.addr;
        let keys = (own.key, own.key);
        access::check_fields(Some(&seen.registration), &fields, keys, first, 0, Want::Write).ok()?;
        let (number, offset) = seen.block?;
        Lane::new(handle, &seen, offset, self.block(own, who, number)?)
    }

    /// Makes an entry in one of the peer's queues.
    #[inline]
    pub(super) fn push_event(&mut self, own: &Own, who: (PeAddr, InstId), queue: u32, event: u64) {
        if let Some((number, entries)) = self.core.queue_block(queue) {
            match self.lane.as_ref().and_then(|lane| lane.arrivals(queue, number, entries)) {
                Some(ring) => push_or_lose(&ring, event),
                None => self.push_newly(own, who, (queue, number, entries), event),
            }
        }
        self.ring();
    }

    /// As [`Mapped::push_event`], to a queue that the lane does not know.
    #[cold]
    fn push_newly(
        &mut self,
        own: &Own,
        who: (PeAddr, InstId),
        (queue, number, entries): (u32, u32, usize),
        event: u64,
    ) {
        let Some(map) = self.block(own, who, number).cloned() else { return };
        if let Some(ring) = ring_in::<1>(&map, entries) {
            push_or_lose(&ring, event);
        }
        if let Some(lane) = &mut self.lane {
            lane.note_arrivals(queue, number, entries, map);
        }
    }

    /// Makes the event of a transaction that is done.
    fn finish(&mut self, own: &Own, who: (PeAddr, InstId), queue: Option<u32>, event: Option<u64>) -> Direct {
        match (queue, event) {
            (Some(queue), Some(event)) => self.push_event(own, who, queue, event),
            _ => self.ring(),
        }
        Direct::Done(HwStatus::Ok)
    }

    /// Runs `copy` while the peer's registration is known to hold.
    fn guarded(
        &mut self,
        own: &Own,
        place: &Destination,
        len: u64,
        want: Want,
        copy: impl FnOnce(&mut Self, &ReachableMemory) -> Result<(), Direct>,
    ) -> Direct {
        let mdd = match self.fields(place.handle) {
            Ok(fields) => fields.mdd,
            Err(status) => return status.into(),
        };
        self.core.enter(mdd);
        let done = self
            .target(own, place.who, place.handle, place.addr, len, want)
            .map_err(Direct::from)
            .and_then(|target| {
                copy(self, &target)?;
                Ok(target)
            });
        self.core.leave(mdd);
        match done {
            Ok(target) => {
                debug_assert_eq!(target.mdd, mdd);
                self.finish(own, place.who, target.queue, place.event)
            }
            Err(direct) => direct,
        }
    }

    /// Stores bytes, then possibly a word.
    pub(super) fn write(
        &mut self,
        own: &Own,
        place: &Destination,
        from: PeerBytes<'_>,
        flag: Option<(u64, u64)>,
    ) -> Direct {
        if let Some((flag_addr, _)) = flag
            && let Err(status) = self.target(own, place.who, place.handle, flag_addr, 8, Want::Write)
        {
            return status.into();
        }
        self.guarded(own, place, from.len() as u64, Want::Write, |peer, target| {
            peer.copy_to(target, place.addr, from)?;
            if let Some((flag_addr, value)) = flag {
                let at =
                    target.here.map(|here| here.wrapping_offset(flag_addr as isize - place.addr as isize));
                peer.store_flag(at, flag_addr, value)?;
            }
            Ok(())
        })
    }

    /// Stores a mailbox slot, its sequence last.
    pub(super) fn message(&mut self, own: &Own, place: &Destination, image: &[u8]) -> Direct {
        let Some((first, rest)) = image.split_first_chunk::<4>() else {
            return HwStatus::InvalidCommand.into();
        };
        let (first, rest) = (u32::from_ne_bytes(*first), PeerBytes::of(rest));
        self.guarded(own, place, image.len() as u64, Want::Write, |peer, target| {
            let after = ReachableMemory { here: target.here.map(|here| here.wrapping_add(4)), ..*target };
            peer.copy_to(&after, place.addr + 4, rest)?;
            match target.here {
                Some(here) => store_word(here, first),
                None => peer.copy_to(target, place.addr, PeerBytes::of(&first.to_ne_bytes())),
            }
        })
    }

    /// Stores a control word, where it is mapped.
    pub(super) fn store(&mut self, own: &Own, place: &Destination, value: u32) -> Direct {
        self.guarded(own, place, 4, Want::Write, |_, target| {
            store_word(target.here.ok_or(Direct::NeedsOwner)?, value)
        })
    }

    /// Fetches bytes.
    pub(super) fn read(&mut self, own: &Own, place: &Destination, into: UserMem) -> Direct {
        self.guarded(own, place, into.len() as u64, Want::Read, |peer, target| {
            if let Some(here) = target.here {
                // SAFETY: the range lies within a mapping of ours.
                into.write(unsafe { PeerBytes::new(here, into.len()) });
                return Ok(());
            }
            peer.can_copy(target)?;
            // SAFETY: the view's constructor vouches that the local range is writable.
            let done = unsafe { cma::read(peer.pid, place.addr, into.address() as *mut u8, into.len()) };
            done.map_err(|failure| peer.failed(failure))
        })
    }

    /// Changes a word, where it is mapped, and puts the old one `into` place.
    pub(super) fn atomic(
        &mut self,
        own: &Own,
        place: &Destination,
        (command, first, second): (Amo, u64, u64),
        into: Option<UserMem>,
    ) -> Direct {
        self.guarded(own, place, 8, Want::Write, |_, target| {
            let word = aligned_word(target.here.ok_or(Direct::NeedsOwner)?)?;
            let step = |old| Some(command.apply(old, first, second));
            let old = word.fetch_update(Ordering::AcqRel, Ordering::Acquire, step).unwrap_or_default();
            if let Some(into) = into {
                into.write(PeerBytes::of(&old.to_ne_bytes()));
            }
            Ok(())
        })
    }

    /// Only the event.
    pub(super) fn event(&mut self, own: &Own, place: &Destination) -> Direct {
        let seen = self.fields(place.handle).and_then(|fields| {
            let seen = self.core.registration(fields.mdd).ok_or(HwStatus::MddInvalid)?;
            let start = seen.registration.addr;
            access::check_fields(
                Some(&seen.registration),
                &fields,
                (own.key, own.key),
                start,
                0,
                Want::Read,
            )?;
            Ok(seen.registration.queue)
        });
        match seen {
            Ok(queue) => self.finish(own, place.who, queue, place.event),
            Err(status) => status.into(),
        }
    }

    /// Names to an instance of this node the slot of the node's shared queue that has a message for it.
    pub(super) fn push_shared(&mut self, own: &Own, who: (PeAddr, InstId), slot: u32) -> bool {
        let Some((number, entries)) = self.core.queue_block(super::own::SHARED_QUEUE) else { return false };
        let ring = self.block(own, who, number).and_then(|map| ring_in::<1>(map, entries));
        let pushed = ring.is_some_and(|ring| ring.push(&[slot.into()]));
        self.ring();
        pushed
    }

    fn can_copy(&self, target: &ReachableMemory) -> Result<(), Direct> {
        if self.single_copy && !target.pinned { Ok(()) } else { Err(Direct::NeedsOwner) }
    }

    fn copy_to(&mut self, target: &ReachableMemory, addr: u64, from: PeerBytes<'_>) -> Result<(), Direct> {
        if let Some(here) = target.here {
            // SAFETY: the range lies within a mapping of ours.
            unsafe { PeerSpace::new(here, from.len()) }.write(from);
            return Ok(());
        }
        self.can_copy(target)?;
        // SAFETY: the view's constructor vouches that the local range is readable.
        let done = unsafe { cma::write(self.pid, addr, from.as_ptr(), from.len()) };
        done.map_err(|failure| self.failed(failure))
    }

    fn store_flag(&mut self, here: Option<*mut u8>, addr: u64, value: u64) -> Result<(), Direct> {
        match here {
            Some(here) => {
                aligned_word(here)?.store(value, Ordering::Release);
                Ok(())
            }
            None => {
                let bytes = value.to_ne_bytes();
                // SAFETY: `bytes` is a local array of the 8 bytes that are read; the other process checks its own address.
                let done = unsafe { cma::write(self.pid, addr, bytes.as_ptr(), 8) };
                done.map_err(|failure| self.failed(failure))
            }
        }
    }

    /// What a failed copy means; a refusal is remembered.
    fn failed(&mut self, failure: Failure) -> Direct {
        match failure {
            Failure::Refused => {
                self.single_copy = false;
                Direct::NeedsOwner
            }
            Failure::Gone => {
                self.gone.store(true, Ordering::Release);
                Direct::Done(HwStatus::RequestTimeout)
            }
            Failure::Fault => Direct::Done(HwStatus::Translation),
        }
    }
}

/// Where a transaction goes and what it leaves behind.
pub(super) struct Destination {
    pub(super) who: (PeAddr, InstId),
    pub(super) handle: MemHandle,
    pub(super) addr: u64,
    pub(super) event: Option<u64>,
}

/// The page that holds what the owner of a NIC sleeps on, and the place in it.
fn doorbell_page(own: &Own, who: (PeAddr, InstId), offset: u64) -> io::Result<(Mapping, usize)> {
    let at = offset as usize % PAGE;
    if !at.is_multiple_of(align_of::<Doorbell>()) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (file, _) = own.ask_for_file(who, Purpose::Doorbell)?;
    Ok((Mapping::page(&file, offset - at as u64)?, at))
}

/// Whether the kernel lets us read the number that the peer has put into its private memory.
fn reads_nonce(core: &CoreSegment, pid: i32) -> bool {
    let head = core.head();
    let (address, nonce) = (head.nonce_address.load(Ordering::Acquire), head.nonce.load(Ordering::Relaxed));
    pid > 0 && cma::read_number(pid, address) == Ok(nonce)
}

fn store_word(here: *mut u8, value: u32) -> Result<(), Direct> {
    if !(here as usize).is_multiple_of(4) {
        return Err(HwStatus::InvalidCommand.into());
    }
    // SAFETY: within a mapping of ours, aligned.
    unsafe { mailbox::store(here as u64, value) };
    Ok(())
}

fn aligned_word<'a>(here: *mut u8) -> Result<&'a AtomicU64, Direct> {
    if !(here as usize).is_multiple_of(8) {
        return Err(HwStatus::InvalidCommand.into());
    }
    // SAFETY: within a mapping of ours, aligned; used within the call.
    Ok(unsafe { AtomicU64::from_ptr(here.cast()) })
}

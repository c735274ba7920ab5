//! Carrying out a transaction at its target, after the target's checks.

use super::network::{Deed, Flight, Network};
use crate::access::{self, Want};
use crate::mailbox;
use core::sync::atomic::{AtomicU64, Ordering};
use gni::{Amo, HwStatus, MemHandle};
use mem::{PeerBytes, PeerSpace, UserMem, copy_bytes};

type Verdict = Result<(), HwStatus>;

/// Registered memory: whose NIC, which registration, which address.
type RegisteredAddress = (u32, MemHandle, u64);

impl Network {
    /// Carries out `flight` and makes its event; the verdict is the initiator's.
    pub(super) fn apply(&mut self, from: u32, flight: &mut Flight) -> HwStatus {
        if !self.nics[flight.to as usize].alive {
            return HwStatus::RequestTimeout;
        }
        match self.carry_out(from, flight).and_then(|()| self.make_event(from, flight)) {
            Ok(()) => HwStatus::Ok,
            Err(status) => status,
        }
    }

    fn carry_out(&mut self, from: u32, flight: &mut Flight) -> Verdict {
        let (to, handle, place) = (flight.to, flight.handle, flight.place());
        match &mut flight.deed {
            Deed::Write { bytes, addr, flag } => self.write(from, to, handle, bytes, *addr, *flag),
            Deed::WriteFrom { from: memory, local, addr } => {
                self.write_from(from, to, handle, (*memory, *local), *addr)
            }
            Deed::Message { image, addr } => {
                self.check_message(from, to, handle, image, *addr)?;
                match self.coming(to, place) {
                    Some(coming) => coming.message = Some((from, handle, *addr, core::mem::take(image))),
                    None => self.message(from, to, handle, image, *addr)?,
                }
                Ok(())
            }
            Deed::Store { addr, value } => {
                self.check_target(from, to, handle, *addr, 4, Want::Write)?;
                if !addr.is_multiple_of(4) {
                    return Err(HwStatus::InvalidCommand);
                }
                // SAFETY: the word lies in memory registered at the target, aligned.
                unsafe { mailbox::store(*addr, *value) };
                Ok(())
            }
            Deed::Read { into, local, addr } => self.read(from, to, handle, (*into, *local), *addr),
            Deed::Atomic { command, first, second, addr, into } => {
                let old = self.atomic(from, to, handle, (*command, *first, *second), *addr)?;
                let Some((into, local)) = *into else { return Ok(()) };
                self.check_local(from, local, into, Want::Write)?;
                into.write(PeerBytes::of(&old.to_ne_bytes()));
                Ok(())
            }
            Deed::Event => Ok(()),
            Deed::Shared { tag, bytes } => self.put_shared(from, to, *tag, bytes),
        }
    }

    fn write(
        &mut self,
        from: u32,
        to: u32,
        handle: MemHandle,
        bytes: &[u8],
        addr: u64,
        flag: Option<(u64, u64)>,
    ) -> Verdict {
        self.check_target(from, to, handle, addr, bytes.len() as u64, Want::Write)?;
        if let Some((flag_addr, _)) = flag {
            self.check_target(from, to, handle, flag_addr, 8, Want::Write)?;
        }
        self.store(to, handle, addr, PeerBytes::of(bytes))?;
        if let Some((flag_addr, value)) = flag {
            // SAFETY: registered, and the engine has checked the alignment; release order puts it after the data.
            unsafe { AtomicU64::from_ptr(flag_addr as *mut u64) }.store(value, Ordering::Release);
        }
        Ok(())
    }

    fn write_from(
        &mut self,
        from: u32,
        to: u32,
        handle: MemHandle,
        local: (UserMem, MemHandle),
        addr: u64,
    ) -> Verdict {
        let (memory, local_handle) = local;
        self.check_local(from, local_handle, memory, Want::Read)?;
        self.check_target(from, to, handle, addr, memory.len() as u64, Want::Write)?;
        self.copy((from, local_handle, memory.address() as u64), (to, handle, addr), memory.len())
    }

    fn read(
        &mut self,
        from: u32,
        to: u32,
        handle: MemHandle,
        local: (UserMem, MemHandle),
        addr: u64,
    ) -> Verdict {
        let (into, local_handle) = local;
        self.check_local(from, local_handle, into, Want::Write)?;
        self.check_target(from, to, handle, addr, into.len() as u64, Want::Read)?;
        self.copy((to, handle, addr), (from, local_handle, into.address() as u64), into.len())
    }

    /// Copies `len` bytes that were checked before from one place to another: whose NIC, which registration,
    /// which address.
    fn copy(&mut self, from: RegisteredAddress, to: RegisteredAddress, len: usize) -> Verdict {
        let (nic, handle, addr) = from;
        let mdd = access::mdd_of(handle)?;
        match self.nics[nic as usize].pins.take_if(|pins| pins.holds(mdd)) {
            None => {
                // SAFETY: both ranges were checked to lie in registered memory.
                let source = unsafe { UserMem::new(addr as usize, len) };
                self.store_from(to, source)
            }
            Some(mut pins) => {
                let mut bytes = Vec::with_capacity(len);
                let read = pins.read(mdd, addr, len as u64, |piece| bytes.extend(piece.to_vec()));
                self.nics[nic as usize].pins = Some(pins);
                read.map_err(|_| HwStatus::Translation)?;
                self.store(to.0, to.1, to.2, PeerBytes::of(&bytes))
            }
        }
    }

    /// Copies a buffer in place, which may overlap the memory it goes to.
    fn store_from(&mut self, (nic, handle, addr): RegisteredAddress, source: UserMem) -> Verdict {
        let mdd = access::mdd_of(handle)?;
        match &mut self.nics[nic as usize].pins {
            // Virtual ranks whose data is never read have one buffer together.
            None if source.address() as u64 == addr => Ok(()),
            Some(pins) if pins.holds(mdd) => {
                pins.write(mdd, addr, source.as_bytes()).map_err(|_| HwStatus::Translation)
            }
            _ => {
                // SAFETY: the range was checked to lie in registered memory.
                source.copy_to(unsafe { UserMem::new(addr as usize, source.len()) });
                Ok(())
            }
        }
    }

    /// Stores bytes of ours to registered memory.
    fn store(&mut self, nic: u32, handle: MemHandle, addr: u64, bytes: PeerBytes<'_>) -> Verdict {
        let mdd = access::mdd_of(handle)?;
        match &mut self.nics[nic as usize].pins {
            Some(pins) if pins.holds(mdd) => pins.write(mdd, addr, bytes).map_err(|_| HwStatus::Translation),
            _ => {
                // SAFETY: the range was checked to lie in registered memory; nothing of ours overlaps it.
                unsafe { copy_bytes(bytes.as_ptr(), addr as *mut u8, bytes.len()) };
                Ok(())
            }
        }
    }

    /// Stores a message in its mailbox.
    pub(super) fn message(&self, from: u32, to: u32, handle: MemHandle, image: &[u8], addr: u64) -> Verdict {
        let first = self.check_message(from, to, handle, image, addr)?;
        // SAFETY: the slot lies in memory registered at the target, aligned; its first word is stored last,
        // which pairs with the acquire load at the receiver.
        unsafe {
            PeerSpace::new((addr + 4) as *mut u8, image.len() - 4).write(PeerBytes::of(&image[4..]));
            mailbox::store(addr, first);
        }
        Ok(())
    }

    /// The first word of a message that its mailbox takes.
    fn check_message(
        &self,
        from: u32,
        to: u32,
        handle: MemHandle,
        image: &[u8],
        addr: u64,
    ) -> Result<u32, HwStatus> {
        self.check_target(from, to, handle, addr, image.len() as u64, Want::Write)?;
        let first = image.first_chunk::<4>().filter(|_| addr.is_multiple_of(4));
        first.map(|first| u32::from_ne_bytes(*first)).ok_or(HwStatus::InvalidCommand)
    }

    fn atomic(
        &self,
        from: u32,
        to: u32,
        handle: MemHandle,
        (command, first, second): (Amo, u64, u64),
        addr: u64,
    ) -> Result<u64, HwStatus> {
        self.check_target(from, to, handle, addr, 8, Want::Write)?;
        // SAFETY: registered at the target, and the engine has checked the alignment.
        let word = unsafe { AtomicU64::from_ptr(addr as *mut u64) };
        let step = |old| Some(command.apply(old, first, second));
        word.fetch_update(Ordering::AcqRel, Ordering::Acquire, step).map_err(|_| HwStatus::InvalidCommand)
    }

    fn check_target(
        &self,
        from: u32,
        to: u32,
        handle: MemHandle,
        addr: u64,
        len: u64,
        want: Want,
    ) -> Verdict {
        let target = &self.nics[to as usize];
        let found = target.registrations.get(usize::from(access::mdd_of(handle)?)).and_then(Option::as_ref);
        access::check(found, handle, (self.nics[from as usize].key, target.key), addr, len, want)
    }

    /// Whether the initiator's own memory is still registered.
    fn check_local(&self, from: u32, handle: MemHandle, memory: UserMem, want: Want) -> Verdict {
        self.check_target(from, from, handle, memory.address() as u64, memory.len() as u64, want)
    }

    /// Makes the event in the queue of the target memory's registration, if it names one.
    fn make_event(&mut self, from: u32, flight: &Flight) -> Verdict {
        let Some(entry) = flight.event else { return Ok(()) };
        let target = &self.nics[flight.to as usize];
        let mdd = usize::from(access::mdd_of(flight.handle)?);
        let found = target.registrations.get(mdd).and_then(Option::as_ref);
        let start = found.map_or(0, |registration| registration.addr);
        let keys = (self.nics[from as usize].key, target.key);
        access::check(found, flight.handle, keys, start, 0, Want::Read)?;
        if let Some(queue) = found.and_then(|registration| registration.queue) {
            match self.coming(flight.to, flight.place()) {
                Some(coming) => coming.event = Some((queue, entry)),
                None => self.push_event(flight.to, queue, entry),
            }
        }
        Ok(())
    }
}

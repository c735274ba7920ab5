//! One NIC's end of a world.

use super::blocks::Blocks;
use super::network::NicState;
use super::shared_network::SharedNetwork;
use crate::config::NicConfig;
use crate::engine::SoftNic;
use crate::fabric::{
    Arrived, Fabric, Landed, Packet, PeerIndex, Registration, Submit, Tx, Undeliverable, Window,
};
use gni::{
    Error, InstId, JobKey, JobResource, MemHandle, Modes, MsgqAttr, MsgqMessage, PeAddr, ResourceUse, Result,
    Time, limits,
};
use mem::UserMem;
use shm::doorbell::Doorbell;

/// The fabric of one NIC in a [`SharedNetwork`].
pub struct InProc {
    world: SharedNetwork,
    index: u32,
    who: (PeAddr, InstId),
    key: JobKey,
    /// Freed when the NIC has left the world.
    blocks: Blocks,
}

impl SharedNetwork {
    /// `GNI_CdmCreate` and `GNI_CdmAttach`: a NIC of the node `pe`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for contradictory modes or an address beyond 18 bits; `PERMISSION_ERROR` for a key that
    /// is not configured; `INVALID_STATE` when the instance is attached there already; `ERROR_RESOURCE` when a
    /// dedicated FMA descriptor is wanted and none is left; `ILLEGAL_OP` for a pinned world where io_uring is
    /// missing or forbidden.
    pub fn attach(
        &self,
        pe: PeAddr,
        inst: InstId,
        key: JobKey,
        modes: Modes,
        config: NicConfig,
    ) -> Result<SoftNic<InProc>> {
        if modes.is_contradictory() || pe.0 >> limits::PE_BITS != 0 {
            return Err(Error::InvalidParam);
        }
        let index = self.lock().attach(pe, inst, key, modes)?;
        let fabric = InProc::new(self.clone(), index, (pe, inst), key);
        Ok(SoftNic::new(fabric, modes, config))
    }
}

impl InProc {
    fn new(world: SharedNetwork, index: u32, who: (PeAddr, InstId), key: JobKey) -> InProc {
        InProc { world, index, who, key, blocks: Blocks::default() }
    }

    /// The world it belongs to.
    pub fn world(&self) -> &SharedNetwork {
        &self.world
    }
}

impl Drop for InProc {
    fn drop(&mut self) {
        self.world.lock().detach(self.index);
    }
}

impl Fabric for InProc {
    fn pe(&self) -> PeAddr {
        self.who.0
    }

    fn inst(&self) -> InstId {
        self.who.1
    }

    fn key(&self) -> JobKey {
        self.key
    }

    fn locator(&self) -> &[u8] {
        &[]
    }

    fn learn(&mut self, _pe: PeAddr, _inst: InstId, locator: &[u8]) -> Result<()> {
        if locator.is_empty() { Ok(()) } else { Err(Error::InvalidParam) }
    }

    fn doorbell(&self) -> Option<&Doorbell> {
        None
    }

    fn atomics_are_quick(&self, _pe: PeAddr, _inst: InstId) -> bool {
        true
    }

    fn resource(&self, resource: JobResource) -> ResourceUse {
        self.world.lock().resource(self.who.0, resource)
    }

    fn mrt_page_shift(&self) -> u32 {
        self.world.lock().config.limits.mrt_page_shift
    }

    fn reserve(&mut self, pages: u32) -> Result<()> {
        self.world.lock().reserve(self.who.0, pages)
    }

    fn unreserve(&mut self, pages: u32) {
        self.world.lock().unreserve(self.who.0, pages);
    }

    fn publish(&mut self, registration: &Registration) -> Result<()> {
        let mut network = self.world.lock();
        let NicState { registrations, pins, .. } = &mut network.nics[self.index as usize];
        if let Some(pins) = pins.as_mut().filter(|_| !self.blocks.contain(registration.addr)) {
            pins.pin(registration.mdd, registration.addr, registration.len).map_err(|_| Error::NoMemory)?;
        }
        let slot = usize::from(registration.mdd);
        if registrations.len() <= slot {
            registrations.resize(slot + 1, None);
        }
        registrations[slot] = Some(*registration);
        Ok(())
    }

    fn withdraw(&mut self, mdd: u16) {
        let mut network = self.world.lock();
        let NicState { registrations, pins, .. } = &mut network.nics[self.index as usize];
        if let Some(slot) = registrations.get_mut(usize::from(mdd)) {
            *slot = None;
        }
        if let Some(pins) = pins {
            pins.unpin(mdd);
        }
    }

    fn open_queue(&mut self, entries: u32) -> Result<u32> {
        Ok(self.world.lock().open_queue(self.index, entries))
    }

    fn close_queue(&mut self, queue: u32) {
        self.world.lock().close_queue(self.index, queue);
    }

    fn next_entry(&mut self, queue: u32) -> Arrived {
        self.world.lock().next_entry(self.index, queue)
    }

    fn has_entry(&mut self, queue: u32) -> bool {
        self.world.lock().has_entry(self.index, queue)
    }

    fn alloc(&mut self, bytes: usize) -> Result<UserMem> {
        self.blocks.alloc(bytes)
    }

    fn free(&mut self, memory: UserMem) -> Result<()> {
        self.blocks.free(memory)
    }

    fn resolve(&mut self, pe: PeAddr, inst: InstId) -> Option<PeerIndex> {
        self.world.lock().resolve(pe, inst).map(PeerIndex)
    }

    fn submit(&mut self, now: Time, tx: &Tx<'_>) -> Submit {
        self.world.lock().submit(now, self.index, tx)
    }

    fn poll(&mut self, now: Time) -> Option<Landed> {
        self.world.lock().poll(now, self.index)
    }

    fn window(
        &mut self,
        _peer: PeerIndex,
        _handle: MemHandle,
        _addr: u64,
        _len: usize,
    ) -> Option<Window<'_>> {
        // The target may leave the world at any time, in another thread; only the lock keeps its memory.
        None
    }

    fn push_event(&mut self, peer: PeerIndex, queue: u32, entry: u64) {
        self.world.lock().push_event(peer.0, queue, entry);
    }

    fn rdma_piece(&self, _peer: PeerIndex) -> u64 {
        self.world.lock().config.rdma_piece
    }

    fn send_packet(
        &mut self,
        now: Time,
        to: (PeAddr, InstId),
        packet: &Packet,
    ) -> core::result::Result<(), Undeliverable> {
        self.world.lock().send_packet(now, self.who, to, packet)
    }

    fn next_packet(&mut self, now: Time) -> Option<Packet> {
        self.world.lock().next_packet(now, self.index)
    }

    fn shared_join(&mut self, attr: &MsgqAttr) -> Result<()> {
        self.world.lock().join_shared(self.who.0, attr)
    }

    fn shared_connect(&mut self, pe: PeAddr) -> Result<()> {
        self.world.lock().connect_shared(self.who.0, pe)
    }

    fn shared_take_credit(&mut self, pe: PeAddr) -> Result<()> {
        self.world.lock().take_shared_credit(self.who.0, pe)
    }

    fn shared_return_credit(&mut self, pe: PeAddr) {
        self.world.lock().return_shared_credit(self.who.0, pe);
    }

    fn shared_next(&mut self) -> Option<MsgqMessage> {
        self.world.lock().next_shared(self.who.0, self.who.1)
    }
}

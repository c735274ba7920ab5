//! The calls of [`Gni`], each handed to the file it belongs to.

use super::SoftNic;
use crate::fabric::Fabric;
use crate::mailbox;
use gni::{
    Armed, Cq, CqEntry, CqFault, Datagram, Ep, Error, Gni, InstId, JobResource, MemFlags, MemHandle,
    MsgqAttr, MsgqMessage, PeAddr, PostDescriptor, ResourceUse, Result, SmsgAttr, SmsgMessage, Time,
};
use mem::{Source, UserMem};

impl<F: Fabric> Gni for SoftNic<F> {
    fn local_pe(&self) -> PeAddr {
        self.fabric.pe()
    }

    fn local_inst(&self) -> InstId {
        self.fabric.inst()
    }

    fn get_job_res_info(&self, resource: JobResource) -> ResourceUse {
        self.fabric.resource(resource)
    }

    #[inline]
    fn progress(&mut self, now: Time) {
        self.turn_at(now);
    }

    fn locator(&self) -> &[u8] {
        self.fabric.locator()
    }

    fn learn_peer(&mut self, pe: PeAddr, inst: InstId, locator: &[u8]) -> Result<()> {
        self.fabric.learn(pe, inst, locator)
    }

    /// The processor does them, by its own atomic operations.
    fn atomics_include_processor(&self) -> bool {
        true
    }

    fn atomics_are_quick(&self, pe: PeAddr, inst: InstId) -> bool {
        self.fabric.atomics_are_quick(pe, inst)
    }

    fn arm(&mut self) -> Option<Armed> {
        self.arm_doorbell()
    }

    fn must_arm_again(&self) -> bool {
        self.needs_turns()
    }

    fn disarm(&mut self) {
        if let Some(doorbell) = self.fabric.doorbell() {
            doorbell.disarm();
        }
    }

    fn cq_create(&mut self, entries: u32) -> Result<Cq> {
        self.create_cq(entries)
    }

    fn cq_destroy(&mut self, cq: Cq) -> Result<()> {
        self.destroy_cq(cq)
    }

    #[inline]
    fn cq_get_event(&mut self, cq: Cq) -> core::result::Result<CqEntry, CqFault> {
        self.get_event(cq)
    }

    fn cq_test_event(&mut self, cq: Cq) -> Result<()> {
        self.test_event(cq)
    }

    fn get_completed(&mut self, cq: Cq, entry: CqEntry) -> Result<PostDescriptor> {
        self.completed(cq, entry)
    }

    fn mem_register(&mut self, memory: UserMem, cq: Option<Cq>, flags: MemFlags) -> Result<MemHandle> {
        self.register(memory, cq, flags)
    }

    fn mem_deregister(&mut self, handle: MemHandle) -> Result<()> {
        self.deregister(handle)
    }

    fn mem_alloc(&mut self, bytes: usize) -> Result<UserMem> {
        if bytes == 0 { Err(Error::InvalidParam) } else { self.fabric.alloc(bytes) }
    }

    fn mem_free(&mut self, memory: UserMem) -> Result<()> {
        self.free_memory(memory)
    }

    fn ep_create(&mut self, source: Option<Cq>) -> Result<Ep> {
        self.create_ep(source)
    }

    fn ep_destroy(&mut self, ep: Ep) -> Result<()> {
        self.destroy_ep(ep)
    }

    fn ep_bind(&mut self, ep: Ep, pe: PeAddr, inst: InstId) -> Result<()> {
        self.bind_ep(ep, pe, inst)
    }

    fn ep_unbind(&mut self, ep: Ep) -> Result<()> {
        self.unbind_ep(ep)
    }

    fn ep_set_event_data(&mut self, ep: Ep, local: u32, remote: u32) -> Result<()> {
        self.set_event_data(ep, local, remote)
    }

    fn ep_post_data(&mut self, ep: Ep, data: &[u8]) -> Result<()> {
        self.post_datagram(ep, data, None)
    }

    fn ep_post_data_w_id(&mut self, ep: Ep, data: &[u8], id: u64) -> Result<()> {
        self.post_datagram(ep, data, Some(id))
    }

    fn ep_post_data_test(&mut self, ep: Ep) -> Result<Datagram> {
        self.test_datagram(ep, None)
    }

    fn ep_post_data_test_by_id(&mut self, ep: Ep, id: u64) -> Result<Datagram> {
        self.test_datagram(ep, Some(id))
    }

    fn ep_post_data_cancel(&mut self, ep: Ep) -> Result<()> {
        self.cancel_datagram(ep, None)
    }

    fn ep_post_data_cancel_by_id(&mut self, ep: Ep, id: u64) -> Result<()> {
        self.cancel_datagram(ep, Some(id))
    }

    fn post_data_probe(&mut self) -> Result<(PeAddr, InstId)> {
        self.probe_datagram(false).map(|(peer, _)| peer)
    }

    fn post_data_probe_by_id(&mut self) -> Result<u64> {
        self.probe_datagram(true).and_then(|(_, id)| id.ok_or(Error::NoMatch))
    }

    fn smsg_buffer_size_needed(&self, attr: &SmsgAttr) -> Result<u32> {
        mailbox::size(attr)
    }

    fn smsg_init(&mut self, ep: Ep, local: &SmsgAttr, remote: &SmsgAttr) -> Result<()> {
        self.init_smsg(ep, local, remote)
    }

    fn smsg_set_max_retrans(&mut self, retries: u16) {
        self.max_retransmissions = retries;
    }

    #[inline]
    fn smsg_send_wtag<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        self.send_message(ep, header, data, msg_id, tag)
    }

    #[inline]
    fn smsg_get_next_wtag(&mut self, ep: Ep, tag: u8) -> Result<SmsgMessage> {
        self.next_message(ep, tag)
    }

    #[inline]
    fn smsg_release(&mut self, ep: Ep) -> Result<()> {
        self.release_message(ep)
    }

    fn msgq_size(&self, attr: &MsgqAttr) -> Result<u64> {
        Self::shared_size(attr)
    }

    fn msgq_init(&mut self, attr: &MsgqAttr, source: Cq) -> Result<()> {
        self.join_shared(attr, source)
    }

    fn msgq_connect(&mut self, pe: PeAddr) -> Result<()> {
        self.connect_shared(pe)
    }

    fn msgq_send<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        self.send_shared(ep, header, data, msg_id, tag)
    }

    fn msgq_next(&mut self) -> Result<MsgqMessage> {
        self.next_shared()
    }

    fn post_fma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()> {
        self.post(ep, descriptor, false)
    }

    fn post_rdma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()> {
        self.post(ep, descriptor, true)
    }
}

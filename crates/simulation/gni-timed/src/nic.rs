//! A NIC whose calls take the calling rank's time.

use crate::clock::RankClock;
use crate::costs::Costs;
use gni::{
    Armed, Cq, CqEntry, CqFault, Datagram, Ep, Gni, InstId, JobResource, MemFlags, MemHandle, MsgqAttr,
    MsgqMessage, PeAddr, PostDescriptor, PostKind, ResourceUse, Result, SmsgAttr, SmsgMessage, Time,
};
use gni_soft::inproc::InProc;
use gni_soft::{SoftNic, Stats};
use mem::{Source, UserMem};
use std::sync::Arc;

/// A NIC of a [`crate::TimedWorld`]: the software NIC, with each call's processor time on the rank's clock.
///
/// Calls that find or begin nothing cost nothing: on virtual time a rank does not poll, it is woken.
pub struct TimedNic {
    nic: SoftNic<InProc>,
    clock: RankClock,
    costs: Arc<Costs>,
    /// The mailbox message that has been paid for: looking again at the same one costs nothing.
    seen: Option<(Ep, usize)>,
}

impl TimedNic {
    pub(crate) fn new(nic: SoftNic<InProc>, clock: RankClock, costs: Arc<Costs>) -> TimedNic {
        TimedNic { nic, clock, costs, seen: None }
    }

    /// The clock of the NIC's rank.
    pub fn clock(&self) -> &RankClock {
        &self.clock
    }

    /// What the NIC has done so far.
    pub fn stats(&self) -> &Stats {
        self.nic.stats()
    }

    fn spend(&self, nanoseconds: f64) {
        self.clock.spend(Time(nanoseconds.round() as u64));
    }

    /// Makes a call that takes time before its effect begins; one that fails has taken none.
    fn begin<T>(
        &mut self,
        nanoseconds: f64,
        call: impl FnOnce(&mut SoftNic<InProc>) -> Result<T>,
    ) -> Result<T> {
        let before = self.clock.read();
        self.spend(nanoseconds);
        let result = call(&mut self.nic);
        if result.is_err() {
            self.clock.rewind(before);
        }
        result
    }

    /// The call's own time and that of `bytes` stored into a window.
    fn storing(&self, bytes: usize) -> f64 {
        self.costs.post + bytes as f64 / self.costs.window_rate
    }
}

impl Gni for TimedNic {
    fn local_pe(&self) -> PeAddr {
        self.nic.local_pe()
    }

    fn local_inst(&self) -> InstId {
        self.nic.local_inst()
    }

    fn get_job_res_info(&self, resource: JobResource) -> ResourceUse {
        self.nic.get_job_res_info(resource)
    }

    fn progress(&mut self, now: Time) {
        self.clock.idle_until(now);
        self.nic.progress(self.clock.read());
    }

    fn locator(&self) -> &[u8] {
        self.nic.locator()
    }

    fn learn_peer(&mut self, pe: PeAddr, inst: InstId, locator: &[u8]) -> Result<()> {
        self.nic.learn_peer(pe, inst, locator)
    }

    fn arm(&mut self) -> Option<Armed> {
        self.nic.arm()
    }

    fn must_arm_again(&self) -> bool {
        self.nic.must_arm_again()
    }

    fn disarm(&mut self) {
        self.nic.disarm();
    }

    fn cq_create(&mut self, entries: u32) -> Result<Cq> {
        self.nic.cq_create(entries)
    }

    fn cq_destroy(&mut self, cq: Cq) -> Result<()> {
        self.nic.cq_destroy(cq)
    }

    fn cq_get_event(&mut self, cq: Cq) -> core::result::Result<CqEntry, CqFault> {
        let entry = self.nic.cq_get_event(cq);
        if matches!(entry, Ok(_) | Err(CqFault::Failed(_))) {
            self.spend(self.costs.cq_event);
        }
        entry
    }

    fn cq_test_event(&mut self, cq: Cq) -> Result<()> {
        self.nic.cq_test_event(cq)
    }

    fn get_completed(&mut self, cq: Cq, entry: CqEntry) -> Result<PostDescriptor> {
        self.nic.get_completed(cq, entry)
    }

    fn mem_register(&mut self, memory: UserMem, cq: Option<Cq>, flags: MemFlags) -> Result<MemHandle> {
        self.begin(self.costs.register, |nic| nic.mem_register(memory, cq, flags))
    }

    fn mem_deregister(&mut self, handle: MemHandle) -> Result<()> {
        self.nic.mem_deregister(handle)
    }

    fn mem_alloc(&mut self, bytes: usize) -> Result<UserMem> {
        self.nic.mem_alloc(bytes)
    }

    fn mem_free(&mut self, memory: UserMem) -> Result<()> {
        self.nic.mem_free(memory)
    }

    fn ep_create(&mut self, source: Option<Cq>) -> Result<Ep> {
        self.nic.ep_create(source)
    }

    fn ep_destroy(&mut self, ep: Ep) -> Result<()> {
        self.nic.ep_destroy(ep)
    }

    fn ep_bind(&mut self, ep: Ep, pe: PeAddr, inst: InstId) -> Result<()> {
        self.nic.ep_bind(ep, pe, inst)
    }

    fn ep_unbind(&mut self, ep: Ep) -> Result<()> {
        self.nic.ep_unbind(ep)
    }

    fn ep_set_event_data(&mut self, ep: Ep, local: u32, remote: u32) -> Result<()> {
        self.nic.ep_set_event_data(ep, local, remote)
    }

    fn ep_post_data(&mut self, ep: Ep, data: &[u8]) -> Result<()> {
        self.nic.ep_post_data(ep, data)
    }

    fn ep_post_data_w_id(&mut self, ep: Ep, data: &[u8], id: u64) -> Result<()> {
        self.nic.ep_post_data_w_id(ep, data, id)
    }

    fn ep_post_data_test(&mut self, ep: Ep) -> Result<Datagram> {
        self.nic.ep_post_data_test(ep)
    }

    fn ep_post_data_test_by_id(&mut self, ep: Ep, id: u64) -> Result<Datagram> {
        self.nic.ep_post_data_test_by_id(ep, id)
    }

    fn ep_post_data_cancel(&mut self, ep: Ep) -> Result<()> {
        self.nic.ep_post_data_cancel(ep)
    }

    fn ep_post_data_cancel_by_id(&mut self, ep: Ep, id: u64) -> Result<()> {
        self.nic.ep_post_data_cancel_by_id(ep, id)
    }

    fn post_data_probe(&mut self) -> Result<(PeAddr, InstId)> {
        self.nic.post_data_probe()
    }

    fn post_data_probe_by_id(&mut self) -> Result<u64> {
        self.nic.post_data_probe_by_id()
    }

    fn smsg_buffer_size_needed(&self, attr: &SmsgAttr) -> Result<u32> {
        self.nic.smsg_buffer_size_needed(attr)
    }

    fn smsg_init(&mut self, ep: Ep, local: &SmsgAttr, remote: &SmsgAttr) -> Result<()> {
        self.nic.smsg_init(ep, local, remote)
    }

    fn smsg_set_max_retrans(&mut self, retries: u16) {
        self.nic.smsg_set_max_retrans(retries);
    }

    fn smsg_send_wtag<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        let time = self.storing(header.len() + data.remaining());
        self.begin(time, |nic| nic.smsg_send_wtag(ep, header, data, msg_id, tag))
    }

    fn smsg_get_next_wtag(&mut self, ep: Ep, tag: u8) -> Result<SmsgMessage> {
        let message = self.nic.smsg_get_next_wtag(ep, tag)?;
        let place = Some((ep, message.bytes.as_ptr() as usize));
        if self.seen != place {
            self.seen = place;
            self.spend(self.costs.smsg_get);
        }
        Ok(message)
    }

    fn smsg_release(&mut self, ep: Ep) -> Result<()> {
        self.seen = None;
        self.nic.smsg_release(ep)
    }

    fn msgq_size(&self, attr: &MsgqAttr) -> Result<u64> {
        self.nic.msgq_size(attr)
    }

    fn msgq_init(&mut self, attr: &MsgqAttr, source: Cq) -> Result<()> {
        self.nic.msgq_init(attr, source)
    }

    fn msgq_connect(&mut self, pe: PeAddr) -> Result<()> {
        self.nic.msgq_connect(pe)
    }

    fn msgq_send<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()> {
        // The credits of the node.
        let time = self.storing(header.len() + data.remaining()) + self.costs.shared_line;
        self.begin(time, |nic| nic.msgq_send(ep, header, data, msg_id, tag))
    }

    fn msgq_next(&mut self) -> Result<MsgqMessage> {
        let message = self.nic.msgq_next()?;
        // The queue's lock.
        self.spend(self.costs.smsg_get + self.costs.shared_line);
        Ok(message)
    }

    fn post_fma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()> {
        let stored = match descriptor.kind {
            PostKind::FmaPut | PostKind::FmaPutFlag { .. } => descriptor.local.len(),
            _ => 0,
        };
        self.begin(self.storing(stored), |nic| nic.post_fma(ep, descriptor))
    }

    fn post_rdma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()> {
        let posted = self.begin(self.costs.post, |nic| nic.post_rdma(ep, descriptor));
        // The software engine begins a transfer in its next turn; the hardware does so now.
        self.nic.progress(self.clock.read());
        posted
    }
}

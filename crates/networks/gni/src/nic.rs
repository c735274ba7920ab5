//! The calls of one attached NIC, in the order of a program's life.

use crate::{
    Cq, CqEntry, CqFault, CqMode, Datagram, HwStatus, InstId, MemFlags, MemHandle, MsgqAttr, MsgqMessage,
    PeAddr, PostDescriptor, Result, SmsgAttr, SmsgMessage, Time,
};
use mem::{Source, UserMem};

/// An endpoint of one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ep(pub u32);

/// A resource that the ranks of a node share (`gni_job_res_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobResource {
    /// Memory descriptors.
    Mdd,
    /// Relocation table entries.
    Mrt,
    /// FMA descriptors.
    Fma,
}

/// Answer of [`Gni::get_job_res_info`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceUse {
    /// In use by all ranks of the node.
    pub used: u32,
    /// The node's limit.
    pub limit: u32,
}

/// What to sleep on; see [`Gni::arm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Armed {
    /// Address of a futex word that stays mapped as long as the NIC.
    pub word: usize,
    /// Its value before a ring.
    pub expected: u32,
}

/// A NIC after `GNI_CdmAttach`. Each method is one uGNI call; the errors listed are all it returns.
///
/// Attaching is the implementation's own constructor, since what a device is differs. Dropping the value
/// detaches: endpoints are torn down, registrations end, peers see a NIC that no longer answers.
pub trait Gni {
    // ---- the NIC itself ------------------------------------------------------------------------------------

    /// `GNI_CdmGetNicAddress`: this NIC's node address.
    fn local_pe(&self) -> PeAddr;

    /// The instance id this NIC was attached with.
    fn local_inst(&self) -> InstId;

    /// `GNI_GetJobResInfo`: how much of a node-wide resource is in use, and its limit.
    fn get_job_res_info(&self, resource: JobResource) -> ResourceUse;

    /// Gives the NIC a turn at the moment `now`, which never goes back between calls.
    ///
    /// Not a uGNI call: hardware works by itself. A software NIC advances its block transfers, datagrams and
    /// retransmissions here, and measures its timeouts with `now` alone.
    fn progress(&mut self, now: Time);

    /// Bytes that a peer hands to [`Gni::learn_peer`] beside this NIC's address.
    ///
    /// Not a uGNI call: on hardware the node address is enough to be reached, and this is empty. At most 64
    /// bytes, constant for the NIC's life.
    fn locator(&self) -> &[u8];

    /// Gives the NIC the way to `(pe, inst)`: that peer's [`Gni::locator`].
    ///
    /// # Errors
    /// `INVALID_PARAM` for bytes that are no locator of this implementation.
    fn learn_peer(&mut self, pe: PeAddr, inst: InstId, locator: &[u8]) -> Result<()>;

    /// Whether atomics ([`PostKind::Amo`]) are atomic to those of the target's processor, too. On the hardware they are
    /// not: the NIC has a cache of its own for their operands.
    ///
    /// Not a uGNI call.
    fn atomics_include_processor(&self) -> bool {
        false
    }

    /// Whether an atomic in memory of this peer is over sooner than a message to it and its answer.
    ///
    /// Not a uGNI call: on the hardware it is.
    fn atomics_are_quick(&self, _pe: PeAddr, _inst: InstId) -> bool {
        true
    }

    /// Announces that the program is going to sleep until something happens at this NIC: an entry, a packet, the
    /// end of a transaction. `None`: there is nothing to sleep on, or work that needs turns.
    ///
    /// Not a uGNI call: on hardware a program blocks in `CqWaitEvent`. After `arm` the program looks once more
    /// at all that could have happened, then sleeps on the word, then calls [`Gni::disarm`].
    fn arm(&mut self) -> Option<Armed>;

    /// Asked after that poll, if nothing was there: whether the NIC has begun work meanwhile that needs turns.
    fn must_arm_again(&self) -> bool {
        false
    }

    /// Ends what [`Gni::arm`] began.
    fn disarm(&mut self);

    // ---- completion queues ---------------------------------------------------------------------------------

    /// `GNI_CqCreate`: a queue of at least `entries` entries.
    ///
    /// A queue serves either local events (as an endpoint's source queue or in a descriptor) or arrivals (in a
    /// memory registration); its first use decides.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no entries, `ERROR_RESOURCE` when the NIC has no queue left.
    fn cq_create(&mut self, entries: u32) -> Result<Cq>;

    /// `GNI_CqDestroy`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no such queue, `ERROR_RESOURCE` while endpoints or registrations use it.
    fn cq_destroy(&mut self, cq: Cq) -> Result<()>;

    /// `GNI_CqGetEvent`: takes the oldest entry.
    ///
    /// For a post this does not retire the descriptor: [`Gni::get_completed`] does, and must be called. For a
    /// message it frees the request slot.
    ///
    /// # Errors
    /// `NOT_DONE` when empty; `ERROR_RESOURCE` once after entries were lost; `TRANSACTION_ERROR` with the entry
    /// of a failed transaction; `INVALID_PARAM` for no such queue.
    fn cq_get_event(&mut self, cq: Cq) -> core::result::Result<CqEntry, CqFault>;

    /// `GNI_CqTestEvent`: whether [`Gni::cq_get_event`] would find something.
    ///
    /// # Errors
    /// `NOT_DONE`, `INVALID_PARAM`.
    fn cq_test_event(&mut self, cq: Cq) -> Result<()>;

    /// `GNI_GetCompleted`: returns the descriptor that a local queue's entry stands for, with `status` and
    /// `completed` set, and frees its request slot (with the second entry when two events were asked for).
    ///
    /// # Errors
    /// `INVALID_PARAM` for an entry that is not a post's, of another queue, or collected before.
    fn get_completed(&mut self, cq: Cq, entry: CqEntry) -> Result<PostDescriptor>;

    /// `GNI_CqErrorStr`: a sentence about a failed entry.
    fn cq_error_str(&self, entry: CqEntry) -> &'static str {
        entry.status().text()
    }

    /// `GNI_CqErrorRecoverable`: whether the same descriptor may be posted again.
    fn cq_error_recoverable(&self, entry: CqEntry) -> bool {
        entry.status().is_recoverable()
    }

    // ---- memory --------------------------------------------------------------------------------------------

    /// `GNI_MemRegister`: lets peers reach `memory`, as far as `flags` allow.
    ///
    /// The view's promise is taken for the registration's whole life: the memory must stay valid until
    /// [`Gni::mem_deregister`] has succeeded. `cq` gets the entries of what arrives in it. One memory
    /// descriptor is used, and as many relocation table entries as pages of the table's size are touched.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no bytes, a range that wraps, unknown or contradictory flags, or a queue of local
    /// events; `ERROR_RESOURCE` when the node's descriptors or entries (or the lockable memory) are used up.
    fn mem_register(&mut self, memory: UserMem, cq: Option<Cq>, flags: MemFlags) -> Result<MemHandle>;

    /// `GNI_MemDeregister`.
    ///
    /// # Errors
    /// `INVALID_PARAM` for a handle that is not this NIC's or no longer valid; `NOT_DONE` while a post of this
    /// NIC still uses it.
    fn mem_deregister(&mut self, handle: MemHandle) -> Result<()>;

    /// Zeroed, page-aligned memory that suits mailboxes and bounce buffers, not registered yet; the NIC owns
    /// it, and keeps it valid until [`Gni::mem_free`] or its own end.
    ///
    /// Not a uGNI call: programs map huge pages themselves. A software NIC returns memory that its peers can
    /// map, so that short messages need no system call.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no bytes, `ERROR_NOMEM`.
    fn mem_alloc(&mut self, bytes: usize) -> Result<UserMem>;

    /// Gives back memory of [`Gni::mem_alloc`]; `memory` must be exactly what that call returned.
    ///
    /// # Errors
    /// `INVALID_PARAM` otherwise, or while part of it is registered.
    fn mem_free(&mut self, memory: UserMem) -> Result<()>;

    // ---- endpoints -----------------------------------------------------------------------------------------

    /// `GNI_EpCreate`: an unbound endpoint, good for datagrams. `source` gets the local events of its FMA
    /// posts and messages.
    ///
    /// # Errors
    /// `INVALID_PARAM` for no such queue or one of arrivals; `ERROR_RESOURCE`.
    fn ep_create(&mut self, source: Option<Cq>) -> Result<Ep>;

    /// `GNI_EpDestroy`.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `NOT_DONE` while work is outstanding, events not yet taken included.
    fn ep_destroy(&mut self, ep: Ep) -> Result<()>;

    /// `GNI_EpBind`: names the endpoint's peer. Nothing is exchanged; the peer need not exist yet.
    ///
    /// The endpoint gets as many request slots as its source queue has entries, half with `DUAL_EVENTS`.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `INVALID_STATE` when already bound.
    fn ep_bind(&mut self, ep: Ep, pe: PeAddr, inst: InstId) -> Result<()>;

    /// `GNI_EpUnbind`: forgets the peer and the mailboxes.
    ///
    /// # Errors
    /// `INVALID_PARAM`, `INVALID_STATE` when not bound, `NOT_DONE` while work is outstanding.
    fn ep_unbind(&mut self, ep: Ep) -> Result<()>;

    /// `GNI_EpSetEventData`: the word that LOCAL and GLOBAL events carry (default: the peer's instance id) and
    /// the word that events at the peer carry (default: this NIC's instance id).
    ///
    /// # Errors
    /// `INVALID_PARAM`.
    fn ep_set_event_data(&mut self, ep: Ep, local: u32, remote: u32) -> Result<()>;

    // ---- datagrams -----------------------------------------------------------------------------------------

    /// `GNI_EpPostData`: offers `data` to the bound peer and waits for the peer's.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `INVALID_STATE` on an unbound endpoint; `SIZE_ERROR` above 128 bytes; `ERROR_RESOURCE`
    /// when one is already outstanding with this peer.
    fn ep_post_data(&mut self, ep: Ep, data: &[u8]) -> Result<()>;

    /// `GNI_EpPostDataWId`: the same under an id of the caller's. On an unbound endpoint it is a wildcard: any
    /// peer's datagram matches, once.
    ///
    /// # Errors
    /// As [`Gni::ep_post_data`], and `INVALID_PARAM` for the id `u64::MAX`. Unbound endpoints are legal here.
    fn ep_post_data_w_id(&mut self, ep: Ep, data: &[u8], id: u64) -> Result<()>;

    /// `GNI_EpPostDataTest`: where the endpoint's exchange without id stands; a terminal one is collected.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `NO_MATCH` when there is none.
    fn ep_post_data_test(&mut self, ep: Ep) -> Result<Datagram>;

    /// `GNI_EpPostDataTestById`: the same for one with an id.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `NO_MATCH` when there is none.
    fn ep_post_data_test_by_id(&mut self, ep: Ep, id: u64) -> Result<Datagram>;

    /// `GNI_EpPostDataCancel`: ends the endpoint's exchange without id. One that has not matched yet is gone at
    /// once if it is a wildcard, and `Terminated` otherwise.
    ///
    /// # Errors
    /// `INVALID_PARAM`; `NO_MATCH` when there is none.
    fn ep_post_data_cancel(&mut self, ep: Ep) -> Result<()>;

    /// `GNI_EpPostDataCancelById`.
    ///
    /// # Errors
    /// As [`Gni::ep_post_data_cancel`].
    fn ep_post_data_cancel_by_id(&mut self, ep: Ep, id: u64) -> Result<()>;

    /// `GNI_PostDataProbe`: the peer of an exchange without id that is in a terminal state.
    ///
    /// # Errors
    /// `NO_MATCH`.
    fn post_data_probe(&mut self) -> Result<(PeAddr, InstId)>;

    /// `GNI_PostDataProbeById`: the id of an exchange that is in a terminal state.
    ///
    /// # Errors
    /// `NO_MATCH`.
    fn post_data_probe_by_id(&mut self) -> Result<u64>;

    // ---- short messages ------------------------------------------------------------------------------------

    /// `GNI_SmsgBufferSizeNeeded`: bytes of one mailbox, from kind, credits and largest message.
    ///
    /// # Errors
    /// `INVALID_PARAM` for attributes that no mailbox can have.
    fn smsg_buffer_size_needed(&self, attr: &SmsgAttr) -> Result<u32>;

    /// `GNI_SmsgInit`: connects the mailboxes of both sides. The local one must be zeroed before *either* side
    /// calls this.
    ///
    /// # Errors
    /// `INVALID_STATE` on an endpoint that is not bound or already connected; `INVALID_PARAM` when the sides
    /// disagree, or the mailbox does not lie in its buffer or is not this NIC's registered memory.
    fn smsg_init(&mut self, ep: Ep, local: &SmsgAttr, remote: &SmsgAttr) -> Result<()>;

    /// `GNI_SmsgSetMaxRetrans`: how often a lost message is sent again before its sender gets an error.
    fn smsg_set_max_retrans(&mut self, retries: u16);

    /// `GNI_SmsgSendWTag`: sends `header` and all that remains in `data` as one message, copying both.
    ///
    /// Its local event (with `msg_id`) means that the message has left safely; for a retransmitting mailbox,
    /// that it has arrived.
    ///
    /// # Errors
    /// `NOT_DONE` without a credit or request slot: nothing was taken, send later. `ERROR_RESOURCE` when larger
    /// than the mailbox's messages; `INVALID_STATE` before [`Gni::smsg_init`]; `INVALID_PARAM`.
    fn smsg_send_wtag<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()>;

    /// `GNI_SmsgGetNextWTag`: the next message in its mailbox, if its tag is `tag` ([`crate::ANY_TAG`]: any).
    /// Asking again returns the same message until it is released.
    ///
    /// An arrival entry may stand for several messages, for credits only, or be seen before its message: after
    /// each entry, ask until `NOT_DONE`.
    ///
    /// # Errors
    /// `NOT_DONE` for none; `NO_MATCH` when the next one has another tag; `INVALID_STATE` before
    /// [`Gni::smsg_init`]; `INVALID_PARAM`.
    fn smsg_get_next_wtag(&mut self, ep: Ep, tag: u8) -> Result<SmsgMessage>;

    /// `GNI_SmsgRelease`: gives the current message's room, and with it one credit, back to the sender.
    ///
    /// # Errors
    /// `NOT_DONE` without a current message; `INVALID_STATE`; `INVALID_PARAM`.
    fn smsg_release(&mut self, ep: Ep) -> Result<()>;

    // ---- shared message queue ------------------------------------------------------------------------------

    /// `GNI_MsgqSize`: bytes that a node's queue with these attributes takes, all connections included.
    ///
    /// # Errors
    /// `INVALID_PARAM`.
    fn msgq_size(&self, attr: &MsgqAttr) -> Result<u64>;

    /// `GNI_MsgqInit`: joins the node's queue. All ranks of the node give equal attributes.
    ///
    /// # Errors
    /// `INVALID_PARAM` for attributes that are invalid or not the other ranks'; `INVALID_STATE` the second time;
    /// `ILLEGAL_OP` where there is none.
    fn msgq_init(&mut self, attr: &MsgqAttr, source: Cq) -> Result<()>;

    /// `GNI_MsgqConnect`: lets this node's ranks send to the node `pe`. The first rank that calls it connects
    /// the two nodes; for the others it does nothing.
    ///
    /// # Errors
    /// `INVALID_STATE` before [`Gni::msgq_init`]; `NOT_DONE` while the other node has not joined a queue;
    /// `INVALID_PARAM` when its attributes differ; `ERROR_RESOURCE` when the node's pool cannot back another
    /// connection's credits.
    fn msgq_connect(&mut self, pe: PeAddr) -> Result<()>;

    /// `GNI_MsgqSend`: sends `header` and all that remains in `data` to the endpoint's peer by the queue of its
    /// node, copying both. Messages may overtake each other.
    ///
    /// # Errors
    /// `NOT_DONE` without a credit between the two nodes: nothing was taken, send later; `SIZE_ERROR` when too
    /// large; `INVALID_STATE` when the nodes are not connected; `INVALID_PARAM`.
    fn msgq_send<S: Source>(
        &mut self,
        ep: Ep,
        header: &[u8],
        data: &mut S,
        msg_id: u32,
        tag: u8,
    ) -> Result<()>;

    /// `GNI_MsgqProgress` for one message: takes the next that is for this rank and returns its credit.
    ///
    /// The C call hands messages to a callback until that returns false; pulling one at a time is the same
    /// without calling out.
    ///
    /// # Errors
    /// `NOT_DONE` for none; `INVALID_STATE` before [`Gni::msgq_init`].
    fn msgq_next(&mut self) -> Result<MsgqMessage>;

    // ---- posts ---------------------------------------------------------------------------------------------

    /// `GNI_PostFma`: an FMA PUT or GET, an atomic or a CQ write.
    ///
    /// # Errors
    /// `INVALID_PARAM` for a bad handle, a length that is zero (PUT may) or an illegal mix of events;
    /// `ALIGNMENT_ERROR` when a GET's addresses or length are not multiples of 4 or an atomic's address not of
    /// 8; `PERMISSION_ERROR` for a write through a read-only handle; `ILLEGAL_OP` for what Gemini does not have;
    /// `INVALID_STATE` when the endpoint is not bound; `ERROR_RESOURCE` when request slots or windows are used
    /// up: post later.
    fn post_fma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()>;

    /// `GNI_PostRdma`: a PUT or GET by the block transfer engine, up to 2^32 - 1 bytes.
    ///
    /// # Errors
    /// As [`Gni::post_fma`]; also `INVALID_PARAM` when local memory is not registered or the descriptor names
    /// no queue for a local event.
    fn post_rdma(&mut self, ep: Ep, descriptor: &PostDescriptor) -> Result<()>;
}

impl PostDescriptor {
    /// Bytes of the operation.
    pub const fn length(&self) -> u64 {
        self.local.len() as u64
    }

    /// The descriptor as [`Gni::get_completed`] returns it.
    pub const fn returned(mut self, status: HwStatus, completed: CqMode) -> PostDescriptor {
        self.status = status;
        self.completed = completed;
        self
    }
}

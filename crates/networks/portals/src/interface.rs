//! The calls.

use crate::{
    AccessEntry, Descriptor, Handler, Jid, Limits, Nid, ProcessId, ProcessMatch, Result, Status, Taken, Uid,
};

/// A match entry of one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Me(pub u32);

/// A memory descriptor of one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Md(pub u32);

/// An event queue of one NIC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Eq(pub u32);

/// The bits by which an operation finds its entry.
pub type MatchBits = u64;

/// What becomes of an entry or descriptor that has become inactive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unlink {
    /// The entry goes (`PTL_UNLINK`).
    Unlink,
    /// The entry stays (`PTL_RETAIN`).
    Retain,
}

/// The properties of a new entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewEntry {
    /// Whose operations it is for.
    pub source: ProcessMatch,
    /// The bits that it wants.
    pub match_bits: MatchBits,
    /// The bits that it ignores.
    pub ignore_bits: MatchBits,
    /// What becomes of it when its descriptor has gone.
    pub unlink: Unlink,
}

impl NewEntry {
    /// An entry for operations of `source` whose bits agree with `match_bits` in all that `ignore_bits` does not name.
    pub const fn new(
        source: ProcessMatch,
        match_bits: MatchBits,
        ignore_bits: MatchBits,
        unlink: Unlink,
    ) -> NewEntry {
        NewEntry { source, match_bits, ignore_bits, unlink }
    }
}

/// Where a new entry goes (`PTL_INS_BEFORE`, `PTL_INS_AFTER`): before or after another one, or before or after all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Position {
    /// Before it, or at the head of the list.
    Before,
    /// After it, or at the tail of the list.
    After,
}

/// Whether a put wants to be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ack {
    /// `PTL_ACK_REQ`
    Wanted,
    /// `PTL_NOACK_REQ`
    None,
}

/// Where an operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The process.
    pub id: ProcessId,
    /// Index of its portal table.
    pub index: u32,
    /// Entry of its access table that is to admit the operation.
    pub access: u32,
    /// The bits.
    pub match_bits: MatchBits,
    /// Where in the descriptor's memory, if the target lets the initiator say so.
    pub offset: usize,
}

/// What the NIC's owner sleeps on, as in `futex(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Armed {
    /// A word, by its address, and its value before a ring.
    Word(usize, u32),
    /// A descriptor that becomes readable.
    Descriptor(i32),
}

/// A Portals network interface. See the crate's documentation.
pub trait Portals {
    // ---- the interface itself ----

    /// `PtlGetId`.
    fn id(&self) -> ProcessId;
    /// `PtlGetUid`.
    fn uid(&self) -> Uid;
    /// `PtlGetJid`.
    fn jid(&self) -> Jid;
    /// The limits that `PtlNIInit` returned.
    fn limits(&self) -> &Limits;
    /// `PtlNIStatus`.
    ///
    /// # Errors
    /// `SR_INDEX_INVALID`.
    fn status(&self, register: Status) -> Result<u64>;
    /// `PtlNIDist`: a measure of how far a node is, here the links between the two.
    ///
    /// # Errors
    /// `PROCESS_INVALID` for a node that does not exist, `FAIL` where the NIC does not know (accelerated mode).
    fn distance(&self, nid: Nid) -> Result<u32>;

    // ---- match entries ----

    /// `PtlMEAttach`: a new entry at the head or tail of a list.
    ///
    /// # Errors
    /// `PT_INDEX_INVALID`, `ME_LIST_TOO_LONG`, `NO_SPACE`.
    fn me_attach(&mut self, index: u32, entry: NewEntry, position: Position) -> Result<Me>;
    /// `PtlMEAttachAny`: a new entry on an index that has none.
    ///
    /// # Errors
    /// `PT_FULL`, `NO_SPACE`.
    fn me_attach_any(&mut self, entry: NewEntry) -> Result<(u32, Me)>;
    /// `PtlMEInsert`: a new entry beside another one.
    ///
    /// # Errors
    /// `ME_INVALID`, `ME_LIST_TOO_LONG`, `NO_SPACE`.
    fn me_insert(&mut self, base: Me, entry: NewEntry, position: Position) -> Result<Me>;
    /// `PtlMEUnlink`: removes an entry, and with it its descriptor.
    ///
    /// # Errors
    /// `ME_INVALID`; `ME_IN_USE` while operations on its descriptor are under way.
    fn me_unlink(&mut self, me: Me) -> Result<()>;

    // ---- memory descriptors ----

    /// `PtlMDAttach`: gives an entry its descriptor.
    ///
    /// # Errors
    /// `ME_INVALID`, `ME_IN_USE`, `MD_ILLEGAL`, `EQ_INVALID`, `NO_SPACE`.
    fn md_attach(&mut self, me: Me, descriptor: &Descriptor, unlink: Unlink) -> Result<Md>;
    /// `PtlMDBind`: a descriptor for operations that this process begins.
    ///
    /// # Errors
    /// `MD_ILLEGAL`, `EQ_INVALID`, `NO_SPACE`.
    fn md_bind(&mut self, descriptor: &Descriptor, unlink: Unlink) -> Result<Md>;
    /// `PtlMDUnlink`: removes a descriptor; an entry that it is attached to stays. No event.
    ///
    /// # Errors
    /// `MD_INVALID`; `MD_IN_USE` while operations are under way.
    fn md_unlink(&mut self, md: Md) -> Result<()>;
    /// The first half of `PtlMDUpdate`: the descriptor as it is now.
    ///
    /// # Errors
    /// `MD_INVALID`.
    fn md_read(&self, md: Md) -> Result<Descriptor>;
    /// The second half: replaces it, unless `test` has an event, or one will follow a START that has been queued, or an
    /// operation on the descriptor is under way.
    ///
    /// # Errors
    /// `MD_NO_UPDATE`, `MD_INVALID`, `MD_ILLEGAL`, `EQ_INVALID`.
    fn md_update(&mut self, md: Md, new: &Descriptor, test: Option<Eq>) -> Result<()>;
    /// `PtlMEMDPost`: inserts an entry beside `base` with its descriptor in one step, under the same test.
    ///
    /// # Errors
    /// `MD_NO_UPDATE` and those of [`Portals::me_insert`] and [`Portals::md_attach`]; nothing is changed then.
    fn me_md_post(
        &mut self,
        base: Me,
        entry: NewEntry,
        position: Position,
        descriptor: &Descriptor,
        md_unlink: Unlink,
        test: Eq,
    ) -> Result<(Me, Md)>;

    // ---- event queues ----

    /// `PtlEQAlloc`: a ring of `count` events.
    ///
    /// # Errors
    /// `NO_SPACE`.
    fn eq_alloc(&mut self, count: u32, handler: Option<Handler>) -> Result<Eq>;
    /// `PtlEQFree`.
    ///
    /// # Errors
    /// `EQ_INVALID`; `EQ_IN_USE` while a descriptor names it.
    fn eq_free(&mut self, eq: Eq) -> Result<()>;
    /// `PtlEQGet`: takes the oldest event.
    ///
    /// # Errors
    /// `EQ_EMPTY`, `EQ_INVALID`.
    fn eq_get(&mut self, eq: Eq) -> Result<Taken>;

    // ---- data movement ----

    /// `PtlPut`: all of a descriptor's memory to the target.
    ///
    /// # Errors
    /// As [`Portals::put_region`].
    fn put(&mut self, md: Md, ack: Ack, target: &Target, hdr_data: u64) -> Result<()> {
        let len = self.md_read(md)?.memory.len();
        self.put_region(md, 0, len, ack, target, hdr_data)
    }
    /// `PtlPutRegion`: a part of it.
    ///
    /// # Errors
    /// `MD_INVALID` (also for an inactive one), `MD_ILLEGAL` for a region beyond it, `PROCESS_INVALID`, `NO_SPACE`.
    fn put_region(
        &mut self,
        md: Md,
        offset: usize,
        len: usize,
        ack: Ack,
        target: &Target,
        hdr_data: u64,
    ) -> Result<()>;
    /// `PtlGet`: as much as a descriptor's memory holds, from the target.
    ///
    /// # Errors
    /// As [`Portals::get_region`].
    fn get(&mut self, md: Md, target: &Target) -> Result<()> {
        let len = self.md_read(md)?.memory.len();
        self.get_region(md, 0, len, target)
    }
    /// `PtlGetRegion`: into a part of it.
    ///
    /// # Errors
    /// As [`Portals::put_region`].
    fn get_region(&mut self, md: Md, offset: usize, len: usize, target: &Target) -> Result<()>;
    /// `PtlGetPut`: swaps, at once for all other operations, what the target has with what `put` has; the target's goes
    /// to `get`, which has the same length.
    ///
    /// # Errors
    /// As [`Portals::put_region`]; `MD_ILLEGAL` for different lengths or more than [`Limits::max_getput_md`].
    fn get_put(&mut self, get: Md, put: Md, target: &Target, hdr_data: u64) -> Result<()>;

    // ---- access ----

    /// `PtlACEntry`: sets an entry of the access table. Entry 0 admits every process at first, the others none.
    ///
    /// # Errors
    /// `AC_INDEX_INVALID`, `PT_INDEX_INVALID`.
    fn ac_entry(&mut self, access: u32, entry: AccessEntry) -> Result<()>;

    // ---- what hardware does by itself ----

    /// Gives the NIC a turn; how many things happened.
    fn progress(&mut self) -> usize {
        0
    }
    /// A process that was reached before and is gone.
    fn lost(&mut self) -> Option<ProcessId> {
        None
    }
    /// Whether processes may end without any word of it, so that they must be looked for.
    fn must_look_for_losses(&self) -> bool {
        false
    }
    /// Looks for such, as `Btl::look_for_losses` of the crate `btl` does; [`Portals::lost`] reports them. Whether there is
    /// something for the calls that follow.
    fn look_for_losses(&mut self, _awaited: &[ProcessId]) -> bool {
        false
    }
    /// Whether the NIC of a process may report the end of this one as lost.
    fn would_miss(&self, _id: ProcessId) -> bool {
        false
    }
    /// Whether nothing that was begun still depends on turns of this NIC.
    fn is_quiet(&self) -> bool {
        true
    }
    /// Announces that the owner is about to sleep, as `Btl::arm` of the crate `btl` does; what to sleep on. `None`:
    /// there is nothing, or work to do.
    fn arm(&mut self) -> Option<Armed> {
        None
    }
    /// Asked after the poll that follows [`Portals::arm`], as `Btl::must_arm_again` of the crate `btl` is.
    fn must_arm_again(&self) -> bool {
        false
    }
    /// Ends what [`Portals::arm`] began.
    fn disarm(&mut self) {}
}

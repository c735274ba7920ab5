//! One virtual rank's message layer and memory.

use crate::charged::Charged;
use crate::layer::Layer;
use abi::Result;
use btl::{Alone, Bounds};
use gni::Time;
use gni_timed::RankClock;
use mem::UserMem;
use pml::{Counters, Data, Pattern, ReqId, SendTo};
use std::cell::RefCell;
use std::rc::Rc;

/// The context of all messages of programs with one communicator.
pub(crate) const CONTEXT: u32 = 0;

/// What a program works with: messages by rank and tag, and memory that lasts as long as the rank.
pub struct Endpoint {
    pub(crate) layer: Layer,
    pub(crate) btl: Charged,
    pub(crate) clock: RankClock,
    pub(crate) rank: u32,
    pub(crate) memory: UserMem,
    /// The processor that it shares with others.
    pub(crate) core: Option<Rc<RefCell<Core>>>,
}

/// A processor for which ranks wait.
#[derive(Default)]
pub(crate) struct Core {
    free_at: Time,
    /// The rank that computed last.
    last: u32,
}

impl Endpoint {
    /// The rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The rank's clock now.
    pub fn now(&self) -> Time {
        self.clock.read()
    }

    /// The rank's memory, as long as its program asked for.
    pub fn memory(&self) -> UserMem {
        self.memory
    }

    /// What the message layer counts.
    pub fn counters(&self) -> Counters {
        self.layer.counters()
    }

    /// The transport, for what it counts.
    pub fn transport(&self) -> &Charged {
        &self.btl
    }

    /// Starts to send. `None`: already complete.
    ///
    /// # Errors
    /// As [`pml::Sends::isend`].
    pub fn isend(&mut self, to: u32, tag: i32, from: UserMem) -> Result<Option<ReqId>> {
        self.isend_in(CONTEXT, to, tag, from)
    }

    /// As [`Endpoint::isend`], in a context.
    pub(crate) fn isend_in(
        &mut self,
        context: u32,
        to: u32,
        tag: i32,
        from: UserMem,
    ) -> Result<Option<ReqId>> {
        let to = SendTo { peer: self.btl.names.of(to), context, source: self.rank, tag, owner: 0 };
        let data = Data::Contiguous(from);
        if self.layer.needs_poll(to.peer, &data) {
            self.progress();
        }
        self.layer.isend(&mut self.btl, &to, data)
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// As [`pml::Receives::irecv`].
    pub fn irecv(&mut self, from: u32, tag: i32, into: UserMem) -> Result<ReqId> {
        self.irecv_in(CONTEXT, Some(from), tag, into)
    }

    /// As [`Endpoint::irecv`], in a context; `None`: from anyone.
    pub(crate) fn irecv_in(
        &mut self,
        context: u32,
        from: Option<u32>,
        tag: i32,
        into: UserMem,
    ) -> Result<ReqId> {
        let pattern = self.pattern(context, from, tag);
        self.layer.irecv(&mut self.btl, &pattern, Data::Contiguous(into))
    }

    /// Whether a message is here that such a receive would take.
    pub(crate) fn is_here(&mut self, context: u32, from: Option<u32>, tag: i32) -> bool {
        let pattern = self.pattern(context, from, tag);
        self.layer.iprobe(&mut self.btl, &pattern)
    }

    fn pattern(&mut self, context: u32, from: Option<u32>, tag: i32) -> Pattern {
        let peer = from.map(|from| self.btl.names.of(from));
        Pattern { context, source: from.map_or(abi::ANY_SOURCE, |from| from as i32), tag, peer, owner: 0 }
    }

    /// Whether a request is complete; its name is free then.
    pub fn take(&mut self, id: ReqId) -> bool {
        self.layer.take(id)
    }

    /// The rank computes for so long; its program answers [`crate::Step::Computing`] next.
    pub fn compute(&mut self, time: Time) {
        self.clock.spend(time);
    }

    /// When the rank's processor is free for it.
    pub(crate) fn processor_free_at(&self) -> Time {
        self.core.as_ref().map_or(Time::START, |core| core.borrow().free_at)
    }

    /// The rank runs from now on; its processor may come from another.
    pub(crate) fn take_processor(&self) {
        let Some(core) = &self.core else { return };
        if core.replace(Core { free_at: self.now(), last: self.rank }).last != self.rank {
            self.btl.spend(self.btl.costs().switch);
        }
    }

    /// The rank has run until now.
    pub(crate) fn give_processor(&self) {
        if let Some(core) = &self.core {
            core.borrow_mut().free_at = self.now();
        }
    }

    /// The next `count` epochs of the node's area; the first of them.
    pub(crate) fn take_epochs(&mut self, count: u16) -> u64 {
        let area = self.btl.node.as_mut().and_then(|node| node.area.as_mut());
        area.map_or(0, |area| area.take_epochs(u64::from(count)))
    }

    /// The rank has had nothing to do until `moment`. It has polled, and slept if that was long.
    pub(crate) fn sleep_until(&self, moment: Time) {
        let costs = self.btl.costs();
        let slept = moment.0.saturating_sub(self.now().0) as f64 > costs.spin;
        self.clock.idle_until(moment);
        if slept {
            self.btl.spend(costs.wake_up);
        }
    }

    /// One turn of the message layer; how many things happened.
    pub(crate) fn progress(&mut self) -> usize {
        btl::poll(&mut Alone(&mut self.btl, &mut self.layer), Bounds::USUAL)
    }

    /// Whether something is under way that no event of the NIC may announce the end of.
    pub(crate) fn needs_polling(&self) -> bool {
        self.layer.needs_polling() || self.btl.ugni().is_some_and(|ugni| !ugni.is_idle())
    }
}

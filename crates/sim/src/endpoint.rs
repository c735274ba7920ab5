//! One virtual rank's message layer and memory.

use crate::charged::Charged;
use crate::layer::Layer;
use abi::Result;
use btl::{Alone, Bounds};
use gni::Time;
use gni_timed::RankClock;
use mem::UserMem;
use pml::{Counters, Data, Pattern, ReqId, SendTo};

/// The context of all messages here: one communicator.
const CONTEXT: u32 = 0;

/// What a program works with: messages by rank and tag, and memory that lasts as long as the rank.
pub struct Endpoint {
    pub(crate) layer: Layer,
    pub(crate) btl: Charged,
    pub(crate) clock: RankClock,
    pub(crate) rank: u32,
    pub(crate) memory: UserMem,
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
        let to = SendTo { peer: self.btl.names.of(to), context: CONTEXT, source: self.rank, tag, owner: 0 };
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
        let peer = Some(self.btl.names.of(from));
        let pattern = Pattern { context: CONTEXT, source: from as i32, tag, peer, owner: 0 };
        self.layer.irecv(&mut self.btl, &pattern, Data::Contiguous(into))
    }

    /// Whether a request is complete; its name is free then.
    pub fn take(&mut self, id: ReqId) -> bool {
        self.layer.take(id)
    }

    /// The rank computes for so long; its program answers [`crate::Step::Computing`] next.
    pub fn compute(&mut self, time: Time) {
        self.clock.spend(time);
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
        self.layer.needs_polling() || !self.btl.ugni().is_idle()
    }
}

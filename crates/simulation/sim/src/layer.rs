//! The message layer of a virtual rank: the library's, or that of the other MPI.

use crate::charged::Charged;
use crate::setup::{Library, Setup};
use abi::Result;
use btl::{Arrival, Event, Peer, Receiver};
use pml::{Counters, Data, Done, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use pml_ch3::Ch3;
use pml_ob1::{Config, Ob1};

/// Calls the layer that the rank has.
macro_rules! by_layer {
    ($layer:expr, $it:ident => $call:expr) => {
        match $layer {
            Layer::Ob1($it) => $call,
            Layer::Ch3($it) => $call,
        }
    };
}

/// A rank's layer.
pub(crate) enum Layer {
    Ob1(Box<Ob1>),
    Ch3(Box<Ch3>),
}

impl Layer {
    /// The layer of a machine's library over this transport, in a job of `ranks`.
    pub fn new(setup: &Setup, btl: &Charged, ranks: u32) -> Layer {
        match setup.library {
            Library::Alhena => {
                let takes_tail = setup.takes_tail;
                Layer::Ob1(Box::new(Ob1::new(Config { places: 0, takes_tail, ..Config::new(ranks) })))
            }
            Library::Mpich2 => {
                let default = pml_ch3::Config::default();
                let mailbox = btl.ugni().map_or(usize::MAX, |ugni| ugni.plan().smsg_limit);
                let vshort = default.vshort.min(mailbox.saturating_sub(pml_ch3::Config::PACKET_HEAD));
                Layer::Ch3(Box::new(Ch3::new(pml_ch3::Config { vshort, ..default })))
            }
        }
    }

    /// What it counts.
    pub fn counters(&self) -> Counters {
        by_layer!(self, layer => layer.counters())
    }

    /// Starts to send.
    pub fn isend(&mut self, btl: &mut Charged, to: &SendTo, data: Data) -> Result<Option<ReqId>> {
        if let Layer::Ch3(layer) = self {
            layer.set_on_node(to.peer, btl.is_near(to.peer));
        }
        by_layer!(self, layer => layer.isend(btl, to, data, Mode::Standard))
    }

    /// Whether it wants to be polled before that.
    pub fn needs_poll(&mut self, to: Peer, data: &Data) -> bool {
        by_layer!(self, layer => layer.needs_poll(to, data, false))
    }

    pub fn irecv(&mut self, btl: &mut Charged, pattern: &Pattern, into: Data) -> Result<ReqId> {
        by_layer!(self, layer => layer.irecv(btl, pattern, into))
    }

    /// Whether a message is kept that such a receive would take.
    pub fn iprobe(&mut self, btl: &mut Charged, pattern: &Pattern) -> bool {
        by_layer!(self, layer => layer.iprobe(btl, pattern)).is_some()
    }

    /// The result of a request that is complete; its name is free then.
    pub fn take(&mut self, id: ReqId) -> Option<Done> {
        by_layer!(self, layer => layer.take(id))
    }

    /// Whether something waits that no event of the transport may announce the end of.
    pub fn needs_polling(&self) -> bool {
        by_layer!(self, layer => layer.waits_for_room() || layer.needs_turn())
    }
}

impl Receiver<Charged> for Layer {
    fn accept(&mut self, btl: &mut Charged, arrival: &Arrival) {
        by_layer!(self, layer => layer.accept(btl, arrival));
    }

    fn on_event(&mut self, btl: &mut Charged, event: Event) {
        by_layer!(self, layer => layer.on_event(btl, event));
    }

    fn awaits(&self) -> bool {
        by_layer!(self, layer => Receiver::<Charged>::awaits(&**layer))
    }

    fn advance(&mut self, btl: &mut Charged) -> usize {
        by_layer!(self, layer => layer.advance(btl))
    }
}

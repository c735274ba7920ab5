//! What a process with several transports sleeps on.

use std::io;
use std::os::fd::BorrowedFd;

use btl::{Btl, Join};
use node::wakeup::Bell;
use shm::doorbell::Doorbell;

use crate::Transports;

/// What the processes of a node ring when they have something for this process.
#[derive(Clone, Copy, Debug)]
pub struct AtNode {
    /// This process's doorbell in the node's segment.
    pub doorbell: &'static Doorbell,
    /// Whether there are other processes on the node.
    pub shared: bool,
}

macro_rules! first_doorbell {
    (($transports:ident) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        None$(.or_else(|| $transports.$field.as_ref().and_then(<$join as Join>::doorbell)))*
    };
}

macro_rules! all_descriptors {
    (($transports:ident) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        [$($transports.$field.as_ref().and_then(Btl::descriptor)),*]
    };
}

/// What a process with these transports sleeps on.
pub(crate) fn bell(node: Option<AtNode>, transports: &Transports<'_>) -> io::Result<Bell> {
    let vader = transports.vader.as_ref().map(|vader| AtNode { doorbell: vader.doorbell(), shared: true });
    // A network's own thread rings, too.
    let rung: Option<&'static Doorbell> = networks!(first_doorbell(transports));
    let AtNode { doorbell, shared } = match (node.or(vader), rung) {
        (Some(node), rung) => AtNode { shared: node.shared || rung.is_some(), ..node },
        (None, Some(doorbell)) => AtNode { doorbell, shared: true },
        (None, None) => AtNode { doorbell: own_doorbell(), shared: false },
    };
    let of_networks = networks!(all_descriptors(transports));
    let descriptors: Vec<BorrowedFd<'_>> =
        of_networks.into_iter().flatten().chain(transports.network).collect();
    Bell::new(doorbell, shared, &descriptors)
}

/// What a process sleeps on that no other process rings.
pub(crate) fn own_doorbell() -> &'static Doorbell {
    let doorbell: &'static Doorbell = Box::leak(Box::default());
    if !platform::membarrier::register() {
        doorbell.ask_for_fences();
    }
    doorbell
}

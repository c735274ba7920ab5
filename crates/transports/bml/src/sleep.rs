//! What a process with several transports sleeps on.

use std::io;
use std::os::fd::BorrowedFd;

use btl::Btl;
use btl_ofi::Ofi;
use btl_tcp::Tcp;
use btl_vader::Vader;
use node::wakeup::Bell;
use shm::doorbell::Doorbell;

use crate::Gemini;

/// What the processes of a node ring when they have something for this process.
#[derive(Clone, Copy, Debug)]
pub struct AtNode {
    /// This process's doorbell in the node's segment.
    pub doorbell: &'static Doorbell,
    /// Whether there are other processes on the node.
    pub shared: bool,
}

/// What a process with these transports sleeps on.
pub(crate) fn bell(
    node: Option<AtNode>,
    vader: &Option<Vader>,
    gemini: &Option<Gemini>,
    (ofi, tcp): (&Option<Ofi>, &Option<Tcp>),
    network: Option<BorrowedFd<'_>>,
) -> io::Result<Bell> {
    let (doorbell, shared) = match (&node, vader, gemini) {
        // Gemini's own thread rings, too.
        (Some(node), _, gemini) => (node.doorbell, node.shared || gemini.is_some()),
        (None, Some(vader), _) => (vader.doorbell(), true),
        (None, None, Some(gemini)) => (gemini.nic().fabric().lasting_doorbell(), true),
        (None, None, None) => (own_doorbell(), false),
    };
    let transports = ofi.iter().filter_map(Btl::descriptor).chain(tcp.iter().filter_map(Btl::descriptor));
    let descriptors: Vec<BorrowedFd<'_>> = transports.chain(network).collect();
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

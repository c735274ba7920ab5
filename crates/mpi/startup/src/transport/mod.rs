//! Opens the transports of a job.
//!
//! ```text
//!   map the node's shared memory ──────────┐                       ┌─ Gemini, TCP: learn all addresses
//!   Gemini: attach a NIC, put its address ─┼─ fence of the job ────┴─ the route table
//!   TCP: listen, put the addresses ────────┘
//! ```
//!
//! The node is there whatever the parameter `btl` says of vader: collectives use it without messages.

mod gemini;
mod libfabric;
mod ofi;
mod portals;
mod reach;
mod registered;
mod tcp;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use bml::{AtNode, Bml, BtlParams, Selection, Transports};
use btl::Peer;
use btl_vader::{Vader, VaderParams};
use engine::{Classes, Layer, MessageLayer, Network, P2p, Peers, PmlParams};
use gni_soft::host::SharedDoorbell;
use node::{Attach, Node, NodeParams};
use pml_ob1::{Config, Ob1};
use shm::{Layout, Shape};

use objects::params::Params;
use objects::state::State;

pub use reach::reach;

/// Attempts of an eager send to find room, about a microsecond in all, where the receiver has its own core.
const EAGER_RETRIES: u32 = 32;

/// What leads from this process to the others.
pub struct Opened {
    /// What it shares with those of its node, if they have a segment.
    pub node: Option<Arc<Node>>,
    /// The way to every process of the job.
    pub p2p: P2p,
}

/// Who takes frames beside the message layer: one line each.
pub fn classes() -> Classes<State> {
    Classes::new().with::<windows::Serve>().with::<files::Serve>()
}

/// Opens all that leads to the other processes of the job. Takes the job's shared segment.
///
/// # Errors
/// The three lines to print.
pub fn open(job: &mut pmi::Job, params: &Params) -> Result<Opened, String> {
    let PmlParams { pml, mtl } = PmlParams::read(&params.values).map_err(|error| error.to_string())?;
    let network = (pml == MessageLayer::Cm).then_some(mtl);
    let ob1 = Config {
        unexpected_cap: params.ob1.unexpected_cap as u64,
        eager_retries: if job.oversubscribed { 0 } else { EAGER_RETRIES },
        ..Config::new(job.size)
    };
    let peers = Peers::of_job(job.job_id, job.size);
    if job.size == 1 && job.segment.is_none() {
        let p2p = P2p::new(Bml::solo(), Layer::ob1(Ob1::new(ob1)), peers);
        return Ok(Opened { node: None, p2p });
    }
    let Selection { vader, ugni, portals, ofi, tcp } =
        BtlParams::read(&params.values).map_err(|error| error.to_string())?.btl;
    // A NIC that matches has to see all messages; what is not a message takes the transport over it.
    let matching = network.filter(|&network| network != Network::Ofi);
    let (vader, portals) = (vader && matching.is_none(), portals || matching.is_some());
    // Nobody who has said nothing wants to be told that several hosts need a network. One host opens none.
    let several = job.node_of.iter().any(|node| *node != job.node_of[0]);
    // Where vader reaches everybody, Portals has nothing to do. Else what messages do not use is its wire.
    let portals = portals && (several || !vader || job.segment.is_none());
    let wired_by_vader = portals && !vader && job.segment.is_some();
    let wired_by_tcp = portals && (several || job.segment.is_none());
    let tcp = tcp || wired_by_tcp || several && !ugni && nothing_was_said(params);
    // Where vader reaches everybody, libfabric is not loaded.
    let ofi = ofi && (several || !vader || job.segment.is_none());
    let vader = (vader || wired_by_vader) && job.segment.is_some();
    if portals && (ugni || ofi) {
        return Err(two_networks(if ugni { "ugni" } else { "ofi" }));
    }
    if !vader && !ugni && !ofi && !tcp && job.size > 1 {
        return Err(unreachable(job));
    }
    let params_of_vader = VaderParams::read(&params.values).map_err(|error| error.to_string())?;
    // Gemini gives the file out, so that also peers beyond the node ring the doorbell in it.
    let file = job.segment.as_ref().filter(|_| ugni).map(|segment| segment.fd.try_clone()).transpose();
    let file = file.map_err(|error| error.to_string())?;
    let node = attach_node(job, params, vader.then_some(&params_of_vader))?;
    let doorbell = node.as_ref().zip(file).map(|(node, file)| shared_doorbell(node, file));
    let nic = if ugni { Some(gemini::attach(job, params, doorbell)?) } else { None };
    let vader = node.as_ref().filter(|_| vader).map(|node| Vader::new(Arc::clone(node), &params_of_vader));
    let listening = if tcp { Some(tcp::listen(job, params)?) } else { None };
    let fabric = if ofi { Some(libfabric::begin(job, params)?) } else { None };
    let opening = if network == Some(Network::Ofi) { Some(ofi::begin(job, params)?) } else { None };
    job.fence().map_err(|error| error.to_string())?;
    let gemini = nic.map(|nic| gemini::open(nic, job, params)).transpose()?;
    if gemini.as_ref().is_some_and(|gemini| gemini.plan().msgq) {
        // Nobody may send to a shared queue that its owner has not joined.
        job.fence().map_err(|error| error.to_string())?;
    }
    let tcp = listening.map(|listening| tcp::open(listening, job, params)).transpose()?;
    let fabric = fabric.map(|fabric| libfabric::open(fabric, job, params)).transpose()?;
    let at_node =
        node.as_ref().map(|node| AtNode { doorbell: node.doorbell(), shared: node.members().len() > 1 });
    let layer = match opening {
        Some(opening) => Layer::ofi(ofi::open(opening, job)?),
        None => Layer::ob1(Ob1::new(ob1)),
    };
    let slept_on = layer.descriptor();
    let table = |transports: Transports<'_>| {
        let bml = Bml::new(Peer(job.rank), job.size as usize, at_node, transports);
        bml.map_err(|error| format!("alhena: {error}"))
    };
    let mut matched = None;
    let bml = if portals {
        let (wire_vader, vader) = if wired_by_vader { (vader, None) } else { (None, vader) };
        let wire = table(Transports { vader: wire_vader, tcp, network: slept_on, ..Transports::default() })?;
        let nic = portals::Attached::new(wire, job, params)?;
        matched = matching.map(|network| nic.matching(network, params)).transpose()?;
        let portals = Some(nic.transport(params)?);
        table(Transports { vader, portals, ..Transports::default() })?
    } else {
        table(Transports { vader, gemini, ofi: fabric, tcp, network: slept_on, ..Transports::default() })?
    };
    Ok(Opened { node, p2p: P2p::new(bml, matched.unwrap_or(layer), peers) })
}

/// Whether the user left the choice of transports to us.
fn nothing_was_said(params: &Params) -> bool {
    BtlParams::PARAMS.iter().all(|param| params.values.setting(param).source == mca::Source::Default)
}

/// A number that nobody can guess.
fn random() -> Result<u128, pmi::Error> {
    Ok(u128::from(pmi::random()?) << 64 | u128::from(pmi::random()?))
}

/// Prints what a transport reports about strangers at its ports.
fn report(text: &str) {
    eprintln!("alhena: {}", text.replace('\n', "\nalhena: "));
}

/// An error's lines, as they are printed.
fn lines(error: &dyn std::error::Error) -> String {
    format!("alhena: {}", error.to_string().replace('\n', "\nalhena: "))
}

/// What the processes of this node share, if they have a segment: laid out for messages, too, where vader has
/// parameters.
fn attach_node(
    job: &mut pmi::Job,
    params: &Params,
    vader: Option<&VaderParams>,
) -> Result<Option<Arc<Node>>, String> {
    let Some(segment) = job.segment.take() else { return Ok(None) };
    let ranks = job.local_ranks.len();
    let attach = Attach {
        fd: segment.fd,
        layout: match vader {
            Some(vader) => vader.layout(ranks, segment.bytes),
            None => Layout::new(Shape::without_messages(ranks)),
        },
        local_index: job.local_index(),
        local_peers: job.local_ranks.iter().map(|&rank| Peer(rank)).collect(),
        pids: job.local_pids.clone(),
        oversubscribed: job.oversubscribed,
        proxy_pid: job.proxy_pid,
    };
    let params = NodeParams::read(&params.values).map_err(|error| error.to_string())?;
    Node::attach(attach, &params).map(Some).map_err(|error| error.to_string())
}

/// What this process sleeps on, in the node's segment, whose file is `file`.
fn shared_doorbell(node: &Node, file: OwnedFd) -> SharedDoorbell {
    SharedDoorbell { doorbell: node.doorbell(), file: Arc::new(file), offset: node.doorbell_offset() }
}

/// One network is enough, and each wants to be asked when a process sleeps.
fn two_networks(other: &str) -> String {
    format!(
        "alhena: choosing transports failed\n\
         alhena: seen: the parameter btl names both {other} and portals\n\
         alhena: choose one: --mca btl self,portals, or --mca btl self,{other}"
    )
}

/// Nothing leads to the others: there is no shared memory, or it may not be used.
fn unreachable(job: &pmi::Job) -> String {
    let seen = match job.segment {
        Some(_) => "the parameter btl allows no transport between processes",
        None => "the launcher gave this node no shared memory, and the parameter btl allows nothing else",
    };
    format!(
        "alhena: rank {} cannot reach the other {} ranks of its job\n\
         alhena: seen: {seen}\n\
         alhena: start all ranks on one node with Alhena's own mpiexec, or allow a network: --mca btl self,vader,tcp",
        job.rank,
        job.size - 1,
    )
}

//! Opens the transports of a job.
//!
//! ```text
//!   map the node's shared memory ──────────────┐                       ┌─ each network: get all cards
//!   each network: open what is its own,        ├─ fence of the job ────┴─ the route table
//!   put its card                          ─────┘
//! ```
//! The node is there whatever the parameter `btl` holds: collectives use it without messages.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use btl::{Cards, Join, Lines, Peer, Start};
use btl_vader::{Vader, VaderParams};
use node::{Attach, Node, NodeParams};
use shm::{Layout, Shape};

use crate::selection::{Choice, Wants};
use crate::{AtNode, Bml, Transports};

/// The memory that processes of this node share, as the launcher gives it.
#[derive(Debug)]
pub struct NodeMemory {
    /// Its file, allocated and zeroed.
    pub fd: OwnedFd,
    /// Its length in bytes.
    pub bytes: u64,
    /// The processes of the node, ascending.
    pub members: Vec<Peer>,
    /// Their process ids, as the kernel reported them.
    pub pids: Vec<i32>,
}

/// A process whose transports have announced how they are reached.
pub struct Joining {
    networks: Networks,
    vader: Option<Vader>,
    node: Option<Arc<Node>>,
    vader_is_wire: bool,
}

macro_rules! declare {
    (() $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        struct Networks {
            $($field: Option<$join>),*
        }
    };
}
networks!(declare());

macro_rules! begin_each {
    (($taken:expr, $start:ident) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        Networks {
            $($field: if $taken.$field { Some(<$join as Join>::begin(&mut $start)?) } else { None }),*
        }
    };
}

macro_rules! open_each {
    (($networks:expr, $table:ident, $job:ident) $($variant:ident $field:ident $name:literal $join:ty,)*) => {
        $(if let Some(joining) = $networks.$field {
            let below = Below::take(&mut $table)?;
            let opened = <$join as Join>::open(joining, $job, below)?;
            $table.awaits_all |= <$join as Join>::awaits_all(&opened);
            $table.transports.$field = Some(opened);
        })*
    };
}

impl Joining {
    /// Maps what the node shares and begins the transports that the job takes, which put their cards. What the message
    /// layer `wants` is there whatever the parameters allow.
    ///
    /// # Errors
    /// The lines to print.
    pub fn begin(
        job: &mut dyn Cards,
        values: &mca::Values,
        memory: Option<NodeMemory>,
        wants: Wants,
    ) -> Result<Joining, Lines> {
        let Choice { taken, vader_is_wire } = Choice::new(job, values, memory.is_some(), wants)?;
        let params = VaderParams::read(values)?;
        let of_vader = taken.vader.then_some(&params);
        let node = memory.map(|memory| attach(job, values, memory, of_vader)).transpose()?;
        let doorbell = || node.as_ref().map_or(Ok(None), |node| node.shared_doorbell());
        let mut start = Start { job, values, is_repaired: taken.dr, doorbell: &doorbell };
        let networks = networks!(begin_each(taken, start));
        let vader = node.as_ref().zip(of_vader).map(|(node, params)| Vader::new(Arc::clone(node), params));
        Ok(Joining { networks, vader, node, vader_is_wire })
    }

    /// The table of all transports, after a fence; and what the node shares. The process sleeps on the message layer's
    /// `network`, too.
    ///
    /// # Errors
    /// The lines to print.
    pub fn open(
        self,
        job: &mut dyn Cards,
        network: Option<BorrowedFd<'_>>,
    ) -> Result<(Option<Arc<Node>>, Bml), Lines> {
        let at_node =
            |node: &Arc<Node>| AtNode { doorbell: node.doorbell(), shared: node.members().len() > 1 };
        let mut table = Unfinished {
            me: job.me(),
            size: job.size() as usize,
            at_node: self.node.as_ref().map(at_node),
            transports: Transports { vader: self.vader, network, ..Transports::default() },
            vader_is_wire: self.vader_is_wire,
            awaits_all: false,
        };
        networks!(open_each(self.networks, table, job));
        if table.awaits_all {
            job.fence()?;
        }
        let bml = table.finish()?;
        Ok((self.node, bml))
    }
}

/// A table while its transports open.
struct Unfinished<'n> {
    me: Peer,
    size: usize,
    at_node: Option<AtNode>,
    transports: Transports<'n>,
    vader_is_wire: bool,
    /// The job meets once more before the first message.
    awaits_all: bool,
}

impl Unfinished<'_> {
    /// The table of the transports that are open.
    fn finish(&mut self) -> Result<Bml, Lines> {
        let transports = std::mem::take(&mut self.transports);
        Bml::new(self.me, self.size, self.at_node, transports).map_err(|error| Lines::of(&error))
    }
}

/// What a transport stands on.
trait Below: Sized {
    /// Takes it out of the transports that are open.
    fn take(table: &mut Unfinished<'_>) -> Result<Self, Lines>;
}

impl Below for () {
    fn take(_table: &mut Unfinished<'_>) -> Result<(), Lines> {
        Ok(())
    }
}

/// All networks above it in the list, and vader where messages do not use that.
impl Below for Bml {
    fn take(table: &mut Unfinished<'_>) -> Result<Bml, Lines> {
        let vader = if table.vader_is_wire { None } else { table.transports.vader.take() };
        let wire = table.finish();
        table.transports.vader = vader;
        wire
    }
}

/// What the processes of this node share: laid out for messages, too, where vader has parameters.
fn attach(
    job: &dyn Cards,
    values: &mca::Values,
    memory: NodeMemory,
    vader: Option<&VaderParams>,
) -> Result<Arc<Node>, Lines> {
    let NodeMemory { fd, bytes, members, pids } = memory;
    let attach = Attach {
        fd,
        layout: match vader {
            Some(vader) => vader.layout(members.len(), bytes),
            None => Layout::new(Shape::without_messages(members.len())),
        },
        local_index: members.iter().position(|&peer| peer == job.me()).unwrap_or(0),
        local_peers: members,
        pids,
        oversubscribed: job.oversubscribed(),
        proxy_pid: job.proxy_pid(),
    };
    // Its lines have their beginnings.
    Node::attach(attach, &NodeParams::read(values)?).map_err(|error| Lines(error.to_string()))
}

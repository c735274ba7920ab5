//! The transport's place on its node.

use std::sync::Arc;

use btl::Limits;
use node::Node;
use shm::bounce::Pool;
use shm::{Segment, fastbox, queue};

use crate::arrivals::Found;
use crate::joint_copy::Offers;
use crate::link::{End, Link};
use crate::params::VaderParams;
use crate::single_copy;
use crate::transport::Vader;

impl Vader {
    /// The transport between the processes of a node whose segment has the layout of these parameters
    /// ([`VaderParams::layout`]).
    ///
    /// All of them have attached to the node before the first of them sends; a fence of the job lies in between.
    pub fn new(node: Arc<Node>, params: &VaderParams) -> Vader {
        let segment = *node.segment();
        let shape = *segment.layout().shape();
        let (me, single_copy) = (node.place() as usize, node.has_single_copy());
        // The helping owner needs a core of its own.
        let cooperative = params.cooperative && single_copy && !node.is_oversubscribed();
        let heads = segment.bounce_heads(me);
        let small = shape.bounce_buffers[0];
        Vader {
            me: me as u32,
            local_of: Arc::clone(node.places()),
            links: (0..shape.ranks).map(|local| link(&node, params, local)).collect(),
            active: Vec::with_capacity(shape.fastboxes),
            admitted: vec![false; shape.fastboxes].into(),
            cursor: 0,
            burst: 0,
            found: Found::NOTHING,
            inbox: queue::Receiver::new(segment.queue(me)),
            doorbell: segment.doorbell(me),
            room_was_missing: false,
            armed_for_room: false,
            queue_was_full: false,
            bounce_was_missing: [false; 2],
            bounce_buffers: [Pool::new(&heads[..small]), Pool::new(&heads[small..])],
            copies: Default::default(),
            chunk: params.chunk,
            cooperative,
            offers: Offers::new(segment.joints(me), if cooperative { single_copy::LEAST_JOINT } else { 0 }),
            copied: 0,
            tables: Vec::new(),
            events: Default::default(),
            busy: false,
            limits: limits(&segment, params, single_copy, cooperative),
            segment,
            node,
        }
    }
}

fn link(node: &Node, params: &VaderParams, local: usize) -> Link {
    let segment = node.segment();
    Link {
        outbound: fastbox::Sender::closed(),
        doorbell: segment.doorbell(local),
        queue: segment.queue(local),
        inbound: fastbox::Receiver::closed(),
        borrowable: Default::default(),
        until_fastbox: params.fastbox_threshold as u32,
        claimed: None,
        peer: node.members()[local],
        alone: 0,
        end: End::No,
        sent: 0,
    }
}

/// Answers shorter than this go in fragments, where each process has a core of its own: bounce buffers go to and fro
/// between the processors' caches. Measured in a ping-pong: 64 KiB at 15 instead of 6.6 GB/s, 256 KiB at 25 instead
/// of 9. A stream in one direction goes faster copied once.
const ANSWER: usize = 1 << 20;

fn limits(segment: &Segment, params: &VaderParams, single_copy: bool, own_cores: bool) -> Limits {
    let max_send = segment.layout().shape().bounce_bytes[1];
    let eager = params.eager_limit.min(max_send);
    Limits {
        eager,
        max_send,
        get: single_copy,
        put: single_copy,
        min_rdma: eager + 1,
        min_rdma_answer: if own_cores { ANSWER.max(eager + 1) } else { eager + 1 },
        max_get: usize::MAX,
        max_put: usize::MAX,
        get_align: 1,
    }
}

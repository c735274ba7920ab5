//! Shapes of the two papers' figures, over raw Portals, cm and ob1.

use btl::{Alone, Bounds, Btl, Peer};
use btl_portals::{BtlPortalsParams, Portals as OverPortals};
use mem::UserMem;
use mtl_portals::{Device, MtlPortalsParams, PortalsMtl};
use pml::{Data, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use pml_cm::Cm;
use pml_ob1::{Config, Ob1};
use portals::{
    Ack, Descriptor, EventKind, NewEntry, Options, Portals, Position, ProcessMatch, Target, Unlink, lasting,
};
use portals_soft::NicConfig;
use portals_timed::{Costs, Kernel, Mesh, TimedNic, World};

/// A process of an experiment: `true` when its last turn did something.
trait Party {
    fn turn(&mut self) -> bool;
    fn is_done(&self) -> bool;
}

/// Gives turns until both are done; the time of the first one, in nanoseconds.
fn run(world: &World, nodes: [u32; 2], parties: &mut [&mut dyn Party; 2]) -> f64 {
    for _ in 0..10_000_000u64 {
        if parties.iter().all(|party| party.is_done()) {
            return world.now(World::id(nodes[0])) as f64 / 1000.0;
        }
        let order =
            if world.now(World::id(nodes[0])) <= world.now(World::id(nodes[1])) { [0, 1] } else { [1, 0] };
        if order.into_iter().any(|which| parties[which].turn()) {
            continue;
        }
        let wake = |which: usize| {
            let id = World::id(nodes[which]);
            world.next_wake(id).map(|at| (at.max(world.now(id)), which))
        };
        let (at, which) =
            [wake(0), wake(1)].into_iter().flatten().min().expect("somebody has something to do");
        world.idle_until(World::id(nodes[which]), at);
    }
    panic!("it does not end");
}

/// Bounces `bytes` to and fro by puts into a posted descriptor.
struct Raw {
    nic: TimedNic,
    eq: portals::Eq,
    from: portals::Md,
    target: Target,
    to_send: u32,
    to_receive: u32,
    may_send: bool,
}

impl Raw {
    fn new(world: &World, me: u32, other: u32, bytes: usize, rounds: u32, begins: bool) -> Raw {
        let mut nic = TimedNic::new(world.attach(me), NicConfig::default());
        let eq = nic.eq_alloc(64, None).unwrap();
        let me = nic
            .me_attach(4, NewEntry::new(ProcessMatch::ANY, 1, 0, Unlink::Retain), Position::After)
            .unwrap();
        let options = Options::OP_PUT | Options::MANAGE_REMOTE | Options::EVENT_START_DISABLE;
        let into = Descriptor { options, eq: Some(eq), ..Descriptor::of(lasting(bytes)) };
        nic.md_attach(me, &into, Unlink::Retain).unwrap();
        let from = nic.md_bind(&Descriptor::of(lasting(bytes)), Unlink::Retain).unwrap();
        let target = Target { id: World::id(other), index: 4, access: 0, match_bits: 1, offset: 0 };
        Raw { nic, eq, from, target, to_send: rounds, to_receive: rounds, may_send: begins }
    }
}

impl Party for Raw {
    fn turn(&mut self) -> bool {
        if self.may_send && self.to_send > 0 {
            self.nic.put(self.from, Ack::None, &self.target, 0).unwrap();
            (self.to_send, self.may_send) = (self.to_send - 1, false);
            return true;
        }
        match self.nic.eq_get(self.eq) {
            Ok(taken) if taken.event.kind == EventKind::PutEnd => {
                (self.to_receive, self.may_send) = (self.to_receive - 1, true);
                true
            }
            Ok(_) => true,
            Err(_) => self.nic.progress() > 0,
        }
    }

    fn is_done(&self) -> bool {
        self.to_send == 0 && self.to_receive == 0
    }
}

/// The same by a message layer.
struct Layered<L, B> {
    layer: L,
    btl: B,
    clock: (World, u32),
    other: Peer,
    me: u32,
    memory: [UserMem; 2],
    to_send: u32,
    to_receive: u32,
    may_send: bool,
    sending: Option<ReqId>,
    receiving: Option<ReqId>,
    /// Whether receives are posted before their message can come.
    posted: bool,
    /// Processor time of the layer for a send and for a receive, in nanoseconds, copies included.
    costs: [f64; 2],
}

impl<B: Btl, L: Sends<B> + Receives<B> + LayerState + btl::Receiver<B>> Layered<L, B> {
    fn post(&mut self) {
        if self.receiving.is_none() && self.to_receive > 0 {
            let peer = Some(self.other);
            let source = self.other.0 as i32;
            let pattern = Pattern { context: 0, source, tag: 1, peer, owner: 0 };
            let posted = self.layer.irecv(&mut self.btl, &pattern, Data::Contiguous(self.memory[1]));
            self.receiving = Some(posted.expect("a receive"));
        }
    }

    fn spend(&self, which: usize) {
        self.clock.0.spend(World::id(self.clock.1), self.costs[which]);
    }
}

impl<B: Btl, L: Sends<B> + Receives<B> + LayerState + btl::Receiver<B>> Party for Layered<L, B> {
    fn turn(&mut self) -> bool {
        if self.posted {
            self.post();
        }
        if self.may_send && self.to_send > 0 && self.sending.is_none() {
            self.spend(0);
            let to = SendTo { peer: self.other, context: 0, source: self.me, tag: 1, owner: 0 };
            let data = Data::Contiguous(self.memory[0]);
            self.sending = self.layer.isend(&mut self.btl, &to, data, Mode::Standard).expect("a send");
            (self.to_send, self.may_send) = (self.to_send - 1, false);
            return true;
        }
        let happened = btl::poll(&mut Alone(&mut self.btl, &mut self.layer), Bounds::USUAL);
        if self.sending.is_some_and(|id| self.layer.take(id).is_some()) {
            self.sending = None;
            return true;
        }
        if self.receiving.is_some_and(|id| self.layer.take(id).is_some()) {
            self.spend(1);
            self.receiving = None;
            (self.to_receive, self.may_send) = (self.to_receive - 1, true);
            return true;
        }
        // A late receiver finds the message first.
        if happened == 0 && !self.posted && self.receiving.is_none() && self.to_receive > 0 {
            let pattern =
                Pattern { context: 0, source: self.other.0 as i32, tag: 1, peer: Some(self.other), owner: 0 };
            if self.layer.iprobe(&mut self.btl, &pattern).is_some() {
                self.post();
                return true;
            }
        }
        happened > 0
    }

    fn is_done(&self) -> bool {
        self.to_send == 0 && self.to_receive == 0 && self.sending.is_none()
    }
}

const ROUNDS: u32 = 6;

/// What a layer's own code costs: a send, a receive. Counted for ob1 (`alhena sim calibrate`), assumed to be half for cm,
/// which matches nothing.
const OB1: [f64; 2] = [35.0, 110.0];
const CM: [f64; 2] = [20.0, 50.0];

/// Bytes per nanosecond of a copy: assumed, one core of a 2 GHz Opteron.
const COPY_RATE: f64 = 2.0;

struct Machine {
    mesh: Mesh,
    costs: Costs,
    nodes: [u32; 2],
}

impl Machine {
    fn near(mesh: Mesh, costs: Costs) -> Machine {
        Machine { mesh, costs, nodes: [0, 1] }
    }

    fn world(&self) -> World {
        World::new(self.mesh, self.costs, Kernel::Catamount)
    }

    /// Half of a round trip, in nanoseconds.
    fn raw(&self, bytes: usize) -> f64 {
        let world = self.world();
        let [a, b] = self.nodes;
        let mut one = Raw::new(&world, a, b, bytes, ROUNDS, true);
        let mut other = Raw::new(&world, b, a, bytes, ROUNDS, false);
        let begun = world.now(World::id(a)) as f64 / 1000.0;
        (run(&world, self.nodes, &mut [&mut one, &mut other]) - begun) / f64::from(2 * ROUNDS)
    }

    fn layered<L, B>(
        &self,
        bytes: usize,
        posted: bool,
        costs: [f64; 2],
        make: impl Fn(TimedNic, u32) -> (L, B),
    ) -> f64
    where
        B: Btl,
        L: Sends<B> + Receives<B> + LayerState + btl::Receiver<B>,
    {
        let world = self.world();
        let nics = self.nodes.map(|node| TimedNic::new(world.attach(node), NicConfig::default()));
        let mut parties: Vec<_> = (0..)
            .zip(nics)
            .map(|(me, nic)| {
                let (layer, btl) = make(nic, me);
                Layered {
                    layer,
                    btl,
                    clock: (world.clone(), self.nodes[me as usize]),
                    other: Peer(1 - me),
                    me,
                    memory: [lasting(bytes), lasting(bytes)],
                    to_send: ROUNDS,
                    to_receive: ROUNDS,
                    may_send: me == 0,
                    sending: None,
                    receiving: None,
                    posted,
                    costs,
                }
            })
            .collect();
        let mut second = parties.pop().expect("two");
        let mut first = parties.pop().expect("two");
        let begun = world.now(World::id(self.nodes[0])) as f64 / 1000.0;
        (run(&world, self.nodes, &mut [&mut first, &mut second]) - begun) / f64::from(2 * ROUNDS)
    }

    fn cm(&self, bytes: usize, posted: bool) -> f64 {
        let net = btl_sim::Net::new(btl_sim::Options::new(2));
        let params = MtlPortalsParams {
            eager_limit: 32 << 10,
            short_recv_mds_size: 4 << 20,
            ..MtlPortalsParams::default()
        };
        // A short message is copied into a buffer.
        let copied = if bytes <= 8 << 10 { bytes as f64 / COPY_RATE } else { 0.0 };
        self.layered(bytes, posted, [CM[0] + copied, CM[1]], |nic, me| {
            let ids = self.nodes.map(World::id).to_vec();
            let network = PortalsMtl::new(nic, ids, &Device::open_mpi(&params)).expect("a network");
            (Cm::new(network).expect("bits enough"), net.port(me))
        })
    }

    fn ob1(&self, bytes: usize, posted: bool) -> f64 {
        // An eager message is copied into a buffer, and out of a block.
        let copied = if bytes <= 32 << 10 { bytes as f64 / COPY_RATE } else { 0.0 };
        self.layered(bytes, posted, OB1.map(|cost| cost + copied), |nic, _| {
            let ids = self.nodes.map(World::id).to_vec();
            let params = BtlPortalsParams { recv_mds_size: 4 << 20, ..BtlPortalsParams::default() };
            (Ob1::new(Config::new(2)), OverPortals::new(nic, ids, &params).expect("a transport"))
        })
    }
}

/// Costs whose wire latency makes `measure` give `goal` nanoseconds.
fn fitted(mesh: Mesh, goal: f64, measure: impl Fn(&Machine) -> f64) -> Costs {
    let off = goal - measure(&Machine::near(mesh, Costs::SOURCED));
    Costs { wire: Costs::SOURCED.wire + off, ..Costs::SOURCED }
}

#[test]
fn portals_is_fitted_and_its_farthest_nodes_are_farther() {
    let costs = fitted(Mesh::RED_STORM, 5230.0, |machine| machine.raw(0));
    let near = Machine::near(Mesh::RED_STORM, costs);
    assert!((near.raw(0) - 5230.0).abs() < 1.0, "{}", near.raw(0));
    let (a, b) = Mesh::RED_STORM.farthest();
    let far = Machine { nodes: [a, b], ..near };
    println!("Red Storm, raw: nearest {:.0} ns, farthest {:.0} ns", near_raw(costs), far.raw(0));
    assert!((far.raw(0) - 5230.0 - 52.0 * costs.hop).abs() < 1.0);
}

fn near_raw(costs: Costs) -> f64 {
    Machine::near(Mesh::RED_STORM, costs).raw(0)
}

/// S9: up to 12 bytes ride with the header; one more costs an interrupt more, and nothing where nobody is interrupted.
#[test]
fn a_step_at_12_bytes_where_the_host_is_interrupted() {
    let step = |costs| {
        let machine = Machine::near(Mesh::RED_STORM, costs);
        machine.raw(13) - machine.raw(12)
    };
    let interrupted = step(Costs::SOURCED);
    let offloaded = step(Costs::SOURCED.offloaded());
    println!("step from 12 to 13 bytes: {interrupted:.0} ns interrupted, {offloaded:.0} ns offloaded");
    assert!(interrupted > Costs::SOURCED.interrupt * 0.9);
    assert!(offloaded < 100.0);
}

/// S7: cm takes less time than ob1 at every size.
#[test]
fn cm_is_faster_than_ob1() {
    let costs = fitted(Mesh::XT4, 4910.0, |machine| machine.cm(0, true));
    let machine = Machine::near(Mesh::XT4, costs);
    let (cm, ob1) = (machine.cm(0, true), machine.ob1(0, true));
    println!("XT4, 0 bytes: cm {cm:.0} ns (fitted to 4,910), ob1 {ob1:.0} ns (the paper: 6,160)");
    assert!(cm < ob1);
    for bytes in [1, 64, 1024, 4096, 16_384, 65_536, 1 << 20] {
        let (cm, ob1) = (machine.cm(bytes, true), machine.ob1(bytes, true));
        println!("{bytes:8} B: cm {cm:10.0} ns  ob1 {ob1:10.0} ns");
        assert!(cm < ob1, "{bytes} bytes");
    }
}

/// S8 and S12: a long message without a receive crosses the wire twice over cm and once over ob1.
#[test]
fn an_unexpected_long_message_costs_cm_twice() {
    let machine = Machine::near(Mesh::RED_STORM, Costs::SOURCED);
    let bytes = 1 << 20;
    let rate = |time: f64| bytes as f64 / time * 1000.0;
    let rates = [
        machine.cm(bytes, true),
        machine.cm(bytes, false),
        machine.ob1(bytes, true),
        machine.ob1(bytes, false),
    ];
    let [cm_posted, cm_late, ob1_posted, ob1_late] = rates.map(rate);
    println!(
        "MB/s at 1 MiB: cm {cm_posted:.0} posted, {cm_late:.0} late; ob1 {ob1_posted:.0} posted, {ob1_late:.0} late"
    );
    assert!(cm_posted > 0.95 * 1100.0);
    assert!(cm_late < 0.7 * cm_posted, "twice over the wire");
    assert!(ob1_late > 0.95 * ob1_posted && ob1_late > cm_late);
}

//! Portals itself: puts into a posted descriptor, as the papers' own modules did.

use crate::error::Error;
use crate::machine::Machine;
use portals::{
    Ack, Descriptor, Eq, EventKind, Md, NewEntry, Options, Portals, Position, ProcessMatch, Target, Unlink,
    lasting,
};
use portals_soft::NicConfig;
use portals_timed::{Kernel, Picos, TimedNic, World};

/// Index and bits of the test's descriptor.
const INDEX: u32 = 4;
const BITS: u64 = 1;
/// Messages before time is taken.
const WARM_UP: u32 = 2;

/// How two processes exchange messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// To and fro.
    PingPong,
    /// From the first to the second; each put is waited for until it is acknowledged.
    Stream,
    /// Both ways at once, likewise.
    Both,
}

struct Party {
    nic: TimedNic,
    eq: Eq,
    from: Md,
    target: Target,
    pattern: Pattern,
    sends: bool,
    receives: bool,
    messages: u32,
    sent: u32,
    received: u32,
    /// It waits for an acknowledgement.
    waits: bool,
    begun: Picos,
}

impl Party {
    fn new(
        world: &World,
        nodes: [u32; 2],
        me: usize,
        bytes: usize,
        pattern: Pattern,
        messages: u32,
    ) -> Party {
        let mut nic = TimedNic::new(world.attach(nodes[me]), NicConfig::default());
        let made = (|| {
            let eq = nic.eq_alloc(4096, None)?;
            let entry = NewEntry::new(ProcessMatch::ANY, BITS, 0, Unlink::Retain);
            let me = nic.me_attach(INDEX, entry, Position::After)?;
            let options = Options::OP_PUT | Options::MANAGE_REMOTE | Options::EVENT_START_DISABLE;
            nic.md_attach(
                me,
                &Descriptor { options, eq: Some(eq), ..Descriptor::of(lasting(bytes)) },
                Unlink::Retain,
            )?;
            let own = Descriptor {
                options: Options::EVENT_START_DISABLE,
                eq: Some(eq),
                ..Descriptor::of(lasting(bytes))
            };
            Ok::<_, portals::Error>((eq, nic.md_bind(&own, Unlink::Retain)?))
        })();
        let (eq, from) = made.expect("a NIC that nobody uses has room for three objects");
        let target =
            Target { id: World::id(nodes[1 - me]), index: INDEX, access: 0, match_bits: BITS, offset: 0 };
        let both = pattern != Pattern::Stream;
        Party {
            nic,
            eq,
            from,
            target,
            pattern,
            sends: both || me == 0,
            receives: both || me == 1,
            messages: messages + WARM_UP,
            sent: 0,
            received: 0,
            waits: false,
            begun: 0,
        }
    }

    /// Whether it may send now; `me` begins.
    fn may_send(&self, me: usize) -> bool {
        let turn = match self.pattern {
            Pattern::PingPong => self.sent < self.received + u32::from(me == 0),
            Pattern::Stream | Pattern::Both => !self.waits,
        };
        self.sends && turn && self.sent < self.messages
    }

    /// Goes on; whether anything happened.
    fn turn(&mut self, me: usize, now: impl Fn() -> Picos) -> bool {
        if self.may_send(me) {
            let ack = if self.pattern == Pattern::PingPong { Ack::None } else { Ack::Wanted };
            if self.nic.put(self.from, ack, &self.target, 0).is_ok() {
                self.sent += 1;
                self.waits = ack == Ack::Wanted;
            }
            return true;
        }
        match self.nic.eq_get(self.eq) {
            Ok(taken) => {
                match taken.event.kind {
                    EventKind::PutEnd => {
                        self.received += 1;
                        if self.received == WARM_UP {
                            self.begun = now();
                        }
                    }
                    EventKind::Ack => self.waits = false,
                    _ => {}
                }
                true
            }
            Err(_) => self.nic.progress() > 0,
        }
    }

    fn is_done(&self) -> bool {
        let sent = !self.sends || self.sent == self.messages;
        sent && (!self.receives || self.received == self.messages)
    }
}

/// Nanoseconds from the first timed message's end to the last one's, at a process that receives, for each message.
pub(crate) fn run(
    machine: &Machine,
    nodes: [u32; 2],
    bytes: usize,
    pattern: Pattern,
    messages: u32,
) -> Result<f64, Error> {
    let world = World::new(machine.mesh, machine.costs, Kernel::Catamount);
    let mut parties = [0, 1].map(|me| Party::new(&world, nodes, me, bytes, pattern, messages));
    let ids = nodes.map(World::id);
    let now = |which: usize| world.now(ids[which]);
    while !parties.iter().all(Party::is_done) {
        let order = if now(0) <= now(1) { [0, 1] } else { [1, 0] };
        if order.into_iter().any(|which| parties[which].turn(which, || now(which))) {
            continue;
        }
        let wake = |which: usize| world.next_wake(ids[which]).map(|at| (at.max(now(which)), which));
        let next = [wake(0), wake(1)].into_iter().flatten().min();
        let Some((at, which)) = next else { return Err(Error::Stuck { unfinished: 2, first: 0 }) };
        world.idle_until(ids[which], at);
    }
    let each = |which: usize| (now(which) - parties[which].begun) as f64 / 1000.0 / f64::from(messages);
    Ok(each(1))
}

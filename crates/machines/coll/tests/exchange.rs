//! Exchanges over the slots that processes use (`shm::area`): members in one thread, polled in random order, some of
//! them calls ahead of others. A member that found nothing is polled again only after it was rung, so a lost wake-up
//! stops the test.

mod common;

use coll::Coll;
use coll::algorithms::node::parts::alltoall_rounds;
use coll::exchange::{Exchange, ExchangePlan, Meeting, Operands, Participant, Slots, Tell};
use coll::schedule::Slot;
use coll::shared::{PAYLOAD, SLOT_PAYLOAD, part_limit};
use common::{ELEMENT, Rng, bytes, elements, op_of, reduced};
use mem::UserMem;
use shm::area::{self, Area, Memory, Owner};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::RefCell;
use std::rc::Rc;

/// Zeroed memory for an area of some members.
struct Segment {
    start: *mut u8,
    layout: Layout,
    members: usize,
}

impl Segment {
    fn new(members: usize) -> Segment {
        let layout =
            Layout::from_size_align(Segment::bounce_buffers(members) + Segment::bounce_bytes(members), 4096)
                .unwrap();
        // SAFETY: the layout has a size.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Segment { start, layout, members }
    }

    fn slots(members: usize) -> usize {
        area::slots(members) * area::SLOT_BYTES
    }

    fn payloads(members: usize) -> usize {
        Segment::slots(members) + area::words(members) * size_of::<area::Word>()
    }

    fn bounce_buffers(members: usize) -> usize {
        (Segment::payloads(members) + area::payload_bytes(members)).next_multiple_of(4096)
    }

    fn bounce_bytes(members: usize) -> usize {
        members * area::bounce_buffers(members) * area::BOUNCE_BYTES
    }

    /// The parts of the segment, which must outlive their use.
    fn memory(&self) -> Memory {
        let n = self.members;
        // SAFETY: zeroed and aligned room for so many slots; all-zero is a valid slot. Areas are dropped before the segment.
        let slots = unsafe { core::slice::from_raw_parts(self.start.cast(), area::slots(n)) };
        // SAFETY: as above.
        let words =
            unsafe { core::slice::from_raw_parts(self.start.add(Segment::slots(n)).cast(), area::words(n)) };
        let at = |offset: usize| self.start.expose_provenance() + offset;
        let (payloads, bounce_buffers) = (at(Segment::payloads(n)), at(Segment::bounce_buffers(n)));
        Memory { slots, words, payloads, bounce_buffers, bounce_count: n * area::bounce_buffers(n) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Members that were rung since they were polled last.
type News = Rc<RefCell<Vec<bool>>>;

/// A member's end of the area.
struct End {
    area: Area,
    me: usize,
    members: usize,
    news: News,
}

impl End {
    fn owner(slot: Slot) -> Owner {
        match slot {
            Slot::Of(member) => Owner::Member(member as usize),
            Slot::Flag => Owner::Flag,
        }
    }

    fn is_free(&mut self, epoch: u64, bytes: usize) -> bool {
        match bytes > SLOT_PAYLOAD {
            true => self.area.take_bounce(epoch) && self.area.is_free(epoch, 0),
            false => self.area.is_free(epoch, bytes),
        }
    }
}

impl Slots for End {
    /// Whether the operation commutes.
    type Kernel = bool;

    fn members(&self) -> usize {
        self.members
    }

    fn me(&self) -> usize {
        self.me
    }

    fn has_room(&mut self, epoch: u64, bytes: usize) -> bool {
        self.is_free(epoch, bytes) || {
            self.area.want_room();
            self.is_free(epoch, bytes)
        }
    }

    fn payload(&mut self, slot: Slot, epoch: u64, bytes: usize) -> UserMem {
        let address = match slot {
            Slot::Of(member) if bytes > SLOT_PAYLOAD => self.area.bounce(member as usize, epoch),
            slot => self.area.payload(End::owner(slot), epoch, bytes),
        };
        // SAFETY: within the segment; the test has one thread.
        unsafe { UserMem::new(address, bytes) }
    }

    fn publish(&mut self, slot: Slot, epoch: u64, words: &[u64]) {
        self.area.publish(End::owner(slot), epoch, words);
    }

    fn publish_more(&mut self, epoch: u64) {
        self.area.publish_more(epoch);
    }

    fn carries(&mut self, slot: Slot, epoch: u64) -> bool {
        self.area.carries(End::owner(slot), epoch)
    }

    fn carries_more(&mut self, member: usize, epoch: u64) -> bool {
        self.area.carries_more(member, epoch)
    }

    fn observe(&mut self, member: usize, epoch: u64, words: &mut [u64]) -> bool {
        self.area.observe(Owner::Member(member), epoch, words)
    }

    fn arrive(&mut self, epoch: u64) -> bool {
        self.area.arrive(epoch)
    }

    fn retire(&mut self, epoch: u64) {
        self.area.retire_soon(epoch, |member| self.news.borrow_mut()[member] = true);
    }

    fn ring(&mut self, tell: Tell) {
        let rung = match tell {
            Tell::None => 0..0,
            Tell::One(member) => member..member + 1,
            Tell::After => self.me + 1..self.members,
            Tell::All => 0..self.members,
        };
        self.news.borrow_mut()[rung].fill(true);
    }

    fn combine(&mut self, commutative: bool, into: UserMem, left: UserMem, right: UserMem, count: u64) {
        let op = op_of(commutative);
        for i in 0..count as usize {
            let element = |memory: UserMem| memory.part(i * ELEMENT, ELEMENT);
            let mut result = element(right).as_bytes().to_vec();
            op(&element(left).as_bytes().to_vec(), &mut result);
            write(element(into), &result);
        }
    }
}

fn write(into: UserMem, data: &[u8]) {
    let mut data = data.to_vec();
    // SAFETY: the vector outlives the view, from which is only read.
    into.write(unsafe { UserMem::of(&mut data) }.as_bytes());
}

/// Blocks of different sizes, one behind the other.
type Table = Box<[UserMem]>;

/// One collective, as all members see it.
#[derive(Clone, Copy, Debug)]
struct Call {
    coll: Coll,
    number: usize,
    members: usize,
    root: usize,
    /// Bytes of a block, or of a vector.
    len: usize,
    in_place: bool,
    commutative: bool,
    meeting: Meeting,
}

const COLLS: [Coll; 15] = [
    Coll::Barrier,
    Coll::Bcast,
    Coll::Gather,
    Coll::Scatter,
    Coll::Allgather,
    Coll::Alltoall,
    Coll::Reduce,
    Coll::Allreduce,
    Coll::ReduceScatterBlock,
    Coll::Scan,
    Coll::Exscan,
    Coll::Gatherv,
    Coll::Allgatherv,
    Coll::Scatterv,
    Coll::Alltoallv,
];

impl Call {
    fn random(random: &mut Rng, number: usize, members: usize) -> Call {
        let coll = random.pick(&COLLS);
        let meeting = random.pick(&[Meeting::Slots, Meeting::Flag]);
        let most = match coll {
            Coll::Scatter | Coll::Alltoall | Coll::ReduceScatterBlock => PAYLOAD / members,
            Coll::Allreduce if meeting == Meeting::Flag => SLOT_PAYLOAD,
            Coll::Scatterv | Coll::Alltoallv => part_limit(members as u32) as usize,
            _ => PAYLOAD,
        };
        let len = random
            .pick(&[0, 8, 56, 64, 112, 120, 128, 248, 256, 288, 296, 576, 584, 4000, 4160, 4168, 32768]);
        let root = random.below(members as u64) as usize;
        let (in_place, commutative) = (random.coin(), random.coin());
        Call { coll, number, members, root, len: len.min(most) / 8 * 8, in_place, commutative, meeting }
    }

    /// The block of `from` for `to`, in the v variants.
    fn length(&self, from: usize, to: usize) -> usize {
        let (number, from, to) = (self.number as u64, from as u64, to as u64);
        match self.coll {
            Coll::Gatherv | Coll::Allgatherv => [self.len, 0, self.len / 2][(number + from) as usize % 3],
            Coll::Scatterv | Coll::Alltoallv if self.in_place && self.coll == Coll::Alltoallv => {
                // What is swapped in place has one length.
                [self.len, 0, 8.min(self.len)][(number + from + to) as usize % 3]
            }
            _ => [self.len, self.len / 3, 0, 5.min(self.len)][(number + from * 3 + to) as usize % 4],
        }
    }

    /// What `from` has for `to`.
    fn block(&self, from: usize, to: usize) -> Vec<u8> {
        bytes(from, self.number * 64 + to, self.length(from, to))
    }

    fn blocks(&self, from: usize) -> Vec<u8> {
        (0..self.members).flat_map(|to| bytes(from, self.number * 64 + to, self.len)).collect()
    }

    /// What a member sends.
    fn sent(&self, me: usize) -> Vec<u8> {
        let (n, count) = (self.members, self.len / ELEMENT);
        match self.coll {
            Coll::Barrier => vec![],
            Coll::Reduce | Coll::Allreduce | Coll::Scan | Coll::Exscan => elements(me, 0, count),
            Coll::ReduceScatterBlock => elements(me, 0, n * count),
            Coll::Scatter | Coll::Alltoall => self.blocks(me),
            Coll::Gatherv | Coll::Allgatherv => self.block(me, me),
            Coll::Scatterv | Coll::Alltoallv => (0..n).flat_map(|to| self.block(me, to)).collect(),
            _ => bytes(me, self.number * 64, self.len),
        }
    }

    /// What a member has in the end; `None`: its buffer is undefined.
    fn wanted(&self, me: usize) -> Option<Vec<u8>> {
        let (n, count, root) = (self.members, self.len / ELEMENT, self.root);
        let all = |ranks: core::ops::Range<usize>| reduced(ranks, 0, count, self.commutative);
        let from = |ranks: core::ops::Range<usize>| {
            ranks.flat_map(|from| bytes(from, self.number * 64, self.len)).collect()
        };
        match self.coll {
            Coll::Barrier => None,
            Coll::Bcast => Some(from(root..root + 1)),
            Coll::Gather | Coll::Gatherv | Coll::Reduce if me != root => None,
            Coll::Gather | Coll::Allgather => Some(from(0..n)),
            Coll::Gatherv | Coll::Allgatherv => {
                Some((0..n).flat_map(|from| self.block(from, from)).collect())
            }
            Coll::Scatter | Coll::Scatterv if me == root && self.in_place => None,
            Coll::Scatter => Some(bytes(root, self.number * 64 + me, self.len)),
            Coll::Scatterv => Some(self.block(root, me)),
            Coll::Alltoall => {
                Some((0..n).flat_map(|from| bytes(from, self.number * 64 + me, self.len)).collect())
            }
            Coll::Alltoallv => Some((0..n).flat_map(|from| self.block(from, me)).collect()),
            Coll::ReduceScatterBlock => Some(reduced(0..n, me * count, count, self.commutative)),
            Coll::Scan => Some(all(0..me + 1)),
            Coll::Exscan if me == 0 => None,
            Coll::Exscan => Some(all(0..me)),
            _ => Some(all(0..n)),
        }
    }
}

/// A member's buffers in a call.
struct Buffers {
    send: Vec<u8>,
    recv: Vec<u8>,
}

fn table(memory: UserMem, lengths: impl Iterator<Item = usize>) -> Table {
    let mut start = 0;
    let block = |len| {
        start += len;
        memory.part(start - len, len)
    };
    lengths.map(block).collect()
}

impl Buffers {
    /// Buffers with what is sent, in place if the call is in place.
    fn new(call: &Call, me: usize) -> Buffers {
        let send = call.sent(me);
        let n = call.members;
        let room = match call.coll {
            Coll::Gather | Coll::Allgather | Coll::Alltoall => n * call.len,
            Coll::Gatherv | Coll::Allgatherv => (0..n).map(|from| call.length(from, from)).sum(),
            Coll::Scatterv => call.length(call.root, me),
            Coll::Alltoallv => (0..n).map(|from| call.length(from, me)).sum(),
            Coll::ReduceScatterBlock if call.in_place => n * call.len,
            _ => call.len,
        };
        let mut recv = vec![0xEE; room];
        let place = match call.coll {
            Coll::Gatherv | Coll::Allgatherv => (0..me).map(|from| call.length(from, from)).sum(),
            Coll::Gather | Coll::Allgather => me * call.len,
            _ => 0,
        };
        let is_root_only =
            matches!(call.coll, Coll::Gather | Coll::Gatherv | Coll::Reduce) && me != call.root;
        let scatters = matches!(call.coll, Coll::Scatter | Coll::Scatterv);
        if call.coll == Coll::Bcast && me == call.root
            || call.in_place && !is_root_only && !scatters && call.coll != Coll::Bcast
        {
            recv[place..][..send.len()].copy_from_slice(&send);
        }
        Buffers { send, recv }
    }

    /// The plan; the buffers must outlive it.
    fn plan(&mut self, call: &Call, me: usize) -> ExchangePlan<bool, Table> {
        let (n, root, len) = (call.members, call.root, call.len);
        let place = Participant { me, members: n, meeting: call.meeting };
        // SAFETY: the buffers stay where they are until the call is over.
        let (send, recv) = unsafe { (UserMem::of(&mut self.send), UserMem::of(&mut self.recv)) };
        let in_place = call.in_place;
        let mine = |offset: usize, len: usize| if in_place { recv.part(offset, len) } else { send };
        let operands = |own| Operands {
            kernel: call.commutative,
            count: (len / ELEMENT) as u64,
            own,
            into: recv.part(0, len),
            in_place,
        };
        let given = || {
            let from = if in_place && call.coll == Coll::Alltoallv { recv } else { send };
            table(from, (0..n).map(|to| call.length(me, to)))
        };
        let wanted = || {
            let to = if call.coll == Coll::Alltoallv { Some(me) } else { None };
            table(recv, (0..n).map(|from| call.length(from, to.unwrap_or(from))))
        };
        let own_of = |wanted: &Table| if in_place { wanted[me] } else { send };
        match call.coll {
            Coll::Barrier => place.barrier(),
            Coll::Bcast => place.bcast(root, recv),
            Coll::Gatherv if me != root && send.is_empty() => place.idle(1),
            Coll::Gather | Coll::Gatherv | Coll::Reduce if me != root => place.give_to(root, send),
            Coll::Gather => place.gather(mine(me * len, len), recv, in_place),
            Coll::Scatter if me != root => place.scatter(root, recv),
            Coll::Scatter => place.scatter_all(send, len, (!in_place).then_some(recv)),
            Coll::Allgather => place.allgather(mine(me * len, len), recv, in_place),
            Coll::Alltoall => place.alltoall(mine(0, n * len), len, recv, in_place),
            Coll::Reduce => place.reduce(operands(mine(0, len))),
            Coll::Allreduce => place.allreduce(operands(mine(0, len))),
            Coll::ReduceScatterBlock => place.reduce_scatter(operands(mine(0, n * len)), me * len),
            Coll::Scan => place.prefix(operands(mine(0, len)), true),
            Coll::Exscan => place.prefix(operands(mine(0, len)), false),
            Coll::Gatherv => place.gather_each(own_of(&wanted()), wanted(), in_place),
            Coll::Allgatherv => place.allgather_each(own_of(&wanted()), wanted(), in_place),
            Coll::Scatterv if me != root && recv.is_empty() => place.idle(1),
            Coll::Scatterv if me != root => place.take_part(root, recv),
            Coll::Scatterv => place.scatter_parts(given()[me], given(), (!in_place).then_some(recv)),
            _ => {
                let epochs = alltoall_rounds(n as u32, in_place).into();
                if place.meeting == Meeting::Slots
                    && given().iter().chain(&wanted()).all(|block| block.is_empty())
                {
                    return place.idle(epochs);
                }
                place.alltoall_parts(given()[me], (given(), wanted()), epochs, in_place)
            }
        }
    }
}

/// A member on its way through the calls.
struct Member {
    end: Option<End>,
    /// Calls that are over.
    done: usize,
    next_epoch: u64,
    current: Option<(Exchange<End, Table>, Buffers)>,
}

impl Member {
    /// Polls the current call, after it has begun the next one if there is none; whether one came to its end.
    fn poll(&mut self, me: usize, calls: &[Call]) -> bool {
        let call = &calls[self.done];
        if let Some(mut end) = self.end.take() {
            let mut buffers = Buffers::new(call, me);
            let plan = buffers.plan(call, me);
            let epoch = self.next_epoch;
            if plan.epochs > 1 {
                let End { area, news, .. } = &mut end;
                area.catch_up(epoch - 1, |member| news.borrow_mut()[member] = true);
            }
            self.next_epoch += plan.epochs;
            self.current = Some((Exchange::new(end, epoch, plan), buffers));
        }
        let (exchange, _) = self.current.as_mut().expect("a call is under way");
        if !exchange.poll() {
            return false;
        }
        let (exchange, buffers) = self.current.take().expect("a call is under way");
        assert_eq!(exchange.result(), Ok(()), "{call:?}");
        if let Some(wanted) = call.wanted(me) {
            let seen = &buffers.recv[..wanted.len()];
            let differs = seen.iter().zip(&wanted).position(|(seen, wanted)| seen != wanted);
            assert_eq!(differs, None, "member {me}, {call:?}");
        }
        self.end = Some(exchange.into_slots());
        self.done += 1;
        true
    }
}

fn members(segment: &Segment) -> (Vec<Member>, News) {
    let n = segment.members;
    let news: News = Rc::new(RefCell::new(vec![true; n]));
    let member = |me| {
        let end = End { area: Area::new(segment.memory(), n, me), me, members: n, news: Rc::clone(&news) };
        Member { end: Some(end), done: 0, next_epoch: 1, current: None }
    };
    ((0..n).map(member).collect(), news)
}

/// Runs calls to their end.
fn run(random: &mut Rng, segment: &Segment, calls: &[Call]) {
    let n = segment.members;
    let (mut members, news) = members(segment);
    let mut begun = vec![0; calls.len()];
    let mut has_begun = vec![0; n];
    while members.iter().any(|member| member.done < calls.len()) {
        let able: Vec<usize> =
            (0..n).filter(|&me| members[me].done < calls.len() && news.borrow()[me]).collect();
        assert!(
            !able.is_empty(),
            "no process was woken: {:?}",
            members.iter().map(|member| member.done).collect::<Vec<_>>()
        );
        let me = random.pick(&able);
        // Some go on for several calls, others rest.
        for _ in 0..random.pick(&[1, 1, 4, 40]) {
            let at = members[me].done;
            if at == calls.len() {
                break;
            }
            if has_begun[me] == at {
                begun[at] += 1;
                has_begun[me] += 1;
            }
            news.borrow_mut()[me] = false;
            if !members[me].poll(me, calls) {
                break;
            }
            news.borrow_mut()[me] = true;
            if calls[at].coll == Coll::Barrier {
                assert_eq!(begun[at], n, "all have come to a barrier that is over");
            }
        }
    }
}

#[test]
fn every_collective_by_random_members() {
    for n in [2, 3, 4, 7] {
        let segment = Segment::new(n);
        for seed in 0..10 {
            // SAFETY: the areas of the last round are gone.
            unsafe { segment.start.write_bytes(0, segment.layout.size()) };
            let mut random = Rng::new(seed * 977 + n as u64 + 1);
            let calls: Vec<Call> = (0..300).map(|number| Call::random(&mut random, number, n)).collect();
            run(&mut random, &segment, &calls);
        }
    }
}

/// The same call over and over, so that slots are used again by members that are as far ahead as they can be.
#[test]
fn one_collective_far_ahead() {
    let segment = Segment::new(3);
    for (index, coll) in COLLS.into_iter().enumerate() {
        for len in [8, 512, 8192] {
            // SAFETY: the areas of the last round are gone.
            unsafe { segment.start.write_bytes(0, segment.layout.size()) };
            let mut random = Rng::new(index as u64 + 7);
            let one = loop {
                let call = Call::random(&mut random, 0, 3);
                if call.coll == coll && call.len >= len.min(SLOT_PAYLOAD / 8 * 8) {
                    break Call { len: call.len.min(len), ..call };
                }
            };
            let calls: Vec<Call> = (0..600).map(|number| Call { number, ..one }).collect();
            run(&mut random, &segment, &calls);
        }
    }
}

#[test]
fn a_block_that_is_too_long_is_an_error() {
    let segment = Segment::new(2);
    let (mut members, _) = members(&segment);
    let call = Call {
        coll: Coll::Scatterv,
        number: 0,
        members: 2,
        root: 0,
        len: 64,
        in_place: true,
        commutative: true,
        meeting: Meeting::Slots,
    };
    let mut buffers = Buffers::new(&call, 1);
    buffers.recv.truncate(call.length(0, 1) - 1);
    let plan = buffers.plan(&call, 1);
    let mut taking = Exchange::new(members[1].end.take().unwrap(), 1, plan);
    assert!(!taking.poll());
    assert!(members[0].poll(0, &[call]));
    assert!(taking.poll());
    assert_eq!(taking.result(), Err(coll::exchange::TOO_LONG));
}

#[test]
fn a_block_of_no_bytes_is_not_waited_for() {
    let segment = Segment::new(2);
    let (mut members, _) = members(&segment);
    for (epoch, coll) in [Coll::Scatterv, Coll::Gatherv, Coll::Alltoallv].into_iter().enumerate() {
        let call = Call {
            coll,
            number: 0,
            members: 2,
            root: if coll == Coll::Gatherv { 1 } else { 0 },
            len: 0,
            in_place: false,
            commutative: true,
            meeting: Meeting::Slots,
        };
        let mut buffers = Buffers::new(&call, 1);
        let plan = buffers.plan(&call, 1);
        let mut alone = Exchange::new(members[1].end.take().unwrap(), 20 * (epoch as u64 + 1), plan);
        assert!(alone.poll(), "{coll:?}");
        members[1].end = Some(alone.into_slots());
    }
}

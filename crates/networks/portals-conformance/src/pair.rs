//! Two NICs and what most cases do with them.

use crate::{Rig, Wanted};
use mem::UserMem;
use portals::{
    Ack, Descriptor, Eq, Error, Event, EventKind, MatchBits, Md, Me, Memory, NewEntry, Options, Portals,
    Position, ProcessId, ProcessMatch, Taken, Target, Threshold, Unlink,
};

/// The index of the portal table that most cases use.
pub const INDEX: u32 = 4;

/// Turns in which nothing happens, after which nothing is expected to happen any more.
const QUIET: u32 = 30;

/// One side of a pair.
pub struct Side<N> {
    /// The NIC.
    pub nic: N,
    /// A queue of 256 events.
    pub eq: Eq,
}

/// Two NICs: `a` begins operations, `b` is their target.
pub struct Pair<N> {
    /// The initiator.
    pub a: Side<N>,
    /// The target.
    pub b: Side<N>,
}

/// Memory for a case, which lasts as long as the test.
#[allow(unsafe_code)]
pub fn buffer(bytes: Vec<u8>) -> UserMem {
    let bytes: &'static mut [u8] = bytes.leak();
    // SAFETY: leaked, so it stays; there is no other reference to it.
    unsafe { UserMem::of(bytes) }
}

/// What memory holds.
pub fn bytes_of(memory: UserMem) -> Vec<u8> {
    memory.as_bytes().to_vec()
}

/// `len` bytes that differ from each other and from those of another seed.
pub(crate) fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8) ^ seed.wrapping_mul(97)) as u8).collect()
}

impl<N: Portals> Side<N> {
    fn new(mut nic: N) -> Side<N> {
        let eq = nic.eq_alloc(256, None).expect("a queue");
        Side { nic, eq }
    }

    /// The process.
    pub fn id(&self) -> ProcessId {
        self.nic.id()
    }

    /// A descriptor of `memory` that reports here.
    pub fn descriptor(&self, memory: UserMem, options: Options) -> Descriptor {
        Descriptor { options, eq: Some(self.eq), ..Descriptor::of(memory) }
    }

    /// A new entry at the end of [`INDEX`], for every process, that stays.
    pub fn entry(&mut self, bits: MatchBits, ignore: MatchBits) -> Me {
        self.nic
            .me_attach(INDEX, NewEntry::new(ProcessMatch::ANY, bits, ignore, Unlink::Retain), Position::After)
            .expect("an entry")
    }

    /// The same with a descriptor that takes puts and gets.
    pub fn receive(&mut self, bits: MatchBits, memory: UserMem, options: Options) -> Md {
        let descriptor = self.descriptor(memory, Options::OP_PUT | Options::OP_GET | options);
        self.receive_with(bits, &descriptor, Unlink::Retain)
    }

    /// The same with this descriptor.
    pub fn receive_with(&mut self, bits: MatchBits, descriptor: &Descriptor, unlink: Unlink) -> Md {
        let me = self.entry(bits, 0);
        self.nic.md_attach(me, descriptor, unlink).expect("a descriptor")
    }

    /// A free descriptor with this threshold.
    pub fn bind(&mut self, memory: UserMem, threshold: Threshold) -> Md {
        let descriptor = Descriptor { threshold, ..self.descriptor(memory, Options::default()) };
        self.nic.md_bind(&descriptor, Unlink::Retain).expect("a descriptor")
    }

    /// The next event, if there is one.
    pub fn event(&mut self) -> Option<Event> {
        match self.nic.eq_get(self.eq) {
            Ok(Taken { event, dropped }) => {
                assert!(!dropped, "no event is lost");
                Some(event)
            }
            Err(Error::EqEmpty) => None,
            Err(error) => panic!("a queue that exists: {error}"),
        }
    }

    /// All events that there are.
    pub fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.event()).collect()
    }

    /// Their kinds.
    pub fn kinds(&mut self) -> Vec<EventKind> {
        self.events().iter().map(|event| event.kind).collect()
    }
}

impl<N: Portals> Pair<N> {
    /// A pair with these wishes, if the rig can meet them.
    pub fn wanted<R: Rig<Nic = N>>(rig: &mut R, wanted: &Wanted) -> Option<Pair<N>> {
        let (a, b) = rig.attach(wanted)?;
        Some(Pair { a: Side::new(a), b: Side::new(b) })
    }

    /// A pair without special wishes.
    pub fn new<R: Rig<Nic = N>>(rig: &mut R) -> Pair<N> {
        Pair::wanted(rig, &Wanted::default()).expect("two NICs")
    }

    /// Gives both NICs turns until nothing happens any more.
    pub fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..1_000_000 {
            let happened = self.a.nic.progress() + self.b.nic.progress();
            quiet = if happened == 0 { quiet + 1 } else { 0 };
            if quiet > QUIET && self.a.nic.is_quiet() && self.b.nic.is_quiet() {
                return;
            }
        }
        panic!("two NICs do not come to rest");
    }

    /// Where an operation of `a` goes.
    pub fn target(&self, bits: MatchBits) -> Target {
        Target { id: self.b.id(), index: INDEX, access: 0, match_bits: bits, offset: 0 }
    }

    /// Puts bytes from `a` to `b`, without acknowledgement, and lets everything happen.
    pub fn put(&mut self, bits: MatchBits, bytes: &[u8]) {
        let md = self.a.bind(buffer(bytes.to_vec()), Threshold::Count(1));
        let target = self.target(bits);
        self.a.nic.put(md, Ack::None, &target, 0).expect("a put");
        self.settle();
    }

    /// What a put has done at `b`: where (the user's word of the descriptor), offset and length; `None`: nothing.
    pub fn landed(&mut self) -> Option<(u64, usize, usize)> {
        let events = self.b.events();
        let end = events.iter().find(|event| event.kind == EventKind::PutEnd)?;
        Some((end.descriptor.user, end.offset, end.mlength))
    }
}

/// A descriptor with `user` as its name.
pub(crate) fn named(descriptor: Descriptor, user: u64) -> Descriptor {
    Descriptor { user, ..descriptor }
}

/// Memory in several runs of these lengths, filled with zeros.
pub(crate) fn runs(lengths: &[usize]) -> (Vec<UserMem>, Memory) {
    let runs: Vec<UserMem> = lengths.iter().map(|&len| buffer(vec![0; len])).collect();
    (runs.clone(), Memory::Runs(runs.into()))
}

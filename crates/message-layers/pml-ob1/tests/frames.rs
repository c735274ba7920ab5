//! Frames: what is written is read back, and nothing that a peer can write does harm.

mod support;

use btl::{Btl, Peer, RemoteKey};
use btl_mock::{Options, Port};
use mem::{PeerBytes, UserMem};
use pml::Envelope;
use pml::{Mode, ReqId};
use pml_ob1::frame::{Body, Control, Exposed, Frame, Header, Rendezvous, SEQUENCES, Sequenced};
use proptest::prelude::*;
use support::*;

fn key() -> impl Strategy<Value = RemoteKey> {
    prop_oneof![(1..40u64).prop_map(|key| [key, 0, 0]), any::<[u64; 3]>()].prop_map(RemoteKey)
}

/// A number that often names something.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..8u32, 1 => any::<u32>()]
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..300u64, 1 => 0..=i64::MAX as u64]
}

fn rendezvous() -> impl Strategy<Value = Rendezvous> {
    let exposed = (key(), any::<[u8; 8]>()).prop_map(|(key, tail)| Exposed { key, tail });
    (length(), number(), any::<bool>(), prop::option::of(exposed))
        .prop_map(|(total, sender, can_put, exposed)| Rendezvous { total, sender, can_put, exposed })
}

fn sequenced() -> impl Strategy<Value = Sequenced> {
    let body = prop_oneof![
        Just(Body::Eager),
        number().prop_map(|sender| Body::Sync { sender }),
        rendezvous().prop_map(Body::Rendezvous),
        number().prop_map(|sender| Body::Cancel { sender }),
    ];
    let envelope =
        (0..2u32, 0..3i32, 0..3i32).prop_map(|(context, source, tag)| Envelope { context, source, tag });
    (0..SEQUENCES, envelope, body).prop_map(|(sequence, envelope, body)| Sequenced {
        sequence,
        envelope,
        body,
    })
}

fn control() -> impl Strategy<Value = Control> {
    prop_oneof![
        number().prop_map(|sender| Control::Ack { sender }),
        number().prop_map(|receiver| Control::Fin { receiver }),
        (number(), any::<bool>()).prop_map(|(sender, cancelled)| Control::CancelAck { sender, cancelled }),
        (any::<bool>(), number()).prop_map(|(on, epoch)| Control::Congestion { on, epoch }),
        (number(), number(), any::<u64>()).prop_map(|(sender, receiver, accepted)| Control::Cts {
            sender,
            receiver,
            accepted
        }),
        (number(), number(), length(), key()).prop_map(|(sender, receiver, accepted, key)| Control::Rtr {
            sender,
            receiver,
            accepted,
            key
        }),
        (number(), prop_oneof![length(), any::<u64>()])
            .prop_map(|(receiver, offset)| Control::Frag { receiver, offset }),
    ]
}

fn parse(words: &[u64], payload: usize) -> Option<Frame> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Frame::parse(PeerBytes::of(&bytes), payload)
}

fn header_of(frame: &Frame) -> Header {
    match frame {
        Frame::Sequenced(sequenced) => sequenced.header(),
        Frame::Control(control) => control.header(),
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(s in sequenced(), c in control()) {
        prop_assert_eq!(parse(s.header().words(), 0), Some(Frame::Sequenced(s)));
        prop_assert_eq!(parse(c.header().words(), 0), Some(Frame::Control(c)));
    }

    /// Reading loses nothing: there is one way to write each frame.
    #[test]
    fn what_is_read_was_written_so(words in prop::collection::vec(any::<u64>(), 0..10), kind in 0..14u8) {
        let mut words = words;
        if let Some(first) = words.first_mut() {
            *first = *first & !0xff | kind as u64;
        }
        if let Some(frame) = parse(&words, 0) {
            let header = header_of(&frame);
            prop_assert_eq!(header.words(), &words[..]);
        }
    }

    #[test]
    fn an_offer_carries_no_more_than_its_message(s in sequenced(), payload in 1..400usize) {
        let whole = match s.body {
            Body::Rendezvous(offer) => payload as u64 <= offer.total,
            Body::Cancel { .. } => false,
            Body::Eager | Body::Sync { .. } => true,
        };
        prop_assert_eq!(parse(s.header().words(), payload).is_some(), whole);
    }

    #[test]
    fn a_header_of_odd_length_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if !bytes.len().is_multiple_of(8) {
            prop_assert_eq!(Frame::parse(PeerBytes::of(&bytes), 0), None);
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    /// The rogue writes this, as next in its order if the flag is set.
    Frame(Frame, bool, usize),
    Words(Vec<u64>, usize),
    /// The victim starts something with the rogue.
    Send(usize, bool),
    Receive(usize, i32),
    Cancel(usize),
    Progress,
}

fn act() -> impl Strategy<Value = Act> {
    let frame = prop_oneof![sequenced().prop_map(Frame::Sequenced), control().prop_map(Frame::Control)];
    prop_oneof![
        8 => (frame, prop::bool::weighted(0.9), 0..200usize).prop_map(|(f, next, len)| Act::Frame(f, next, len)),
        1 => (prop::collection::vec(any::<u64>(), 0..9), 0..200usize).prop_map(|(w, len)| Act::Words(w, len)),
        3 => (0..300usize, any::<bool>()).prop_map(|(len, synchronous)| Act::Send(len, synchronous)),
        3 => (0..300usize, -1..3i32).prop_map(|(len, source)| Act::Receive(len, source)),
        1 => any::<usize>().prop_map(Act::Cancel),
        4 => Just(Act::Progress),
    ]
}

const ROGUE: u32 = 0;
const VICTIM: u32 = 1;
const GUARD: usize = 16;

struct Attack {
    world: World,
    rogue: Port,
    sequence: u32,
    buffers: Vec<Vec<u8>>,
    requests: Vec<ReqId>,
}

impl Attack {
    fn write(&mut self, words: &[u64], len: usize) {
        let mut payload = vec![0x55; len];
        self.rogue.send(Peer(VICTIM), words, &mut view(&mut payload)).unwrap();
    }

    /// A buffer of the victim, with bytes behind it that no transfer may touch.
    fn buffer(&mut self, len: usize) -> UserMem {
        self.buffers.push(vec![0xEE; len + GUARD]);
        view(&mut self.buffers.last_mut().unwrap()[..len])
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Frame(Frame::Sequenced(mut frame), next, len) => {
                if next {
                    frame.sequence = self.sequence % SEQUENCES;
                    self.sequence += 1;
                }
                // The payload of an offer is now and then longer than the message.
                let carries = !matches!(frame.body, Body::Cancel { .. });
                self.write(frame.header().words(), if carries { len } else { 0 });
            }
            Act::Frame(Frame::Control(control), _, len) => {
                let carries = matches!(control, Control::Frag { .. });
                self.write(control.header().words(), if carries { len } else { 0 });
            }
            Act::Words(words, len) => self.write(&words, len),
            Act::Send(len, synchronous) => {
                let mode = if synchronous { Mode::Synchronous } else { Mode::Standard };
                let data = pml::Data::Contiguous(self.buffer(len));
                let id = self.world.ranks[VICTIM as usize].isend(&to(ROGUE, 1, 1), data, mode);
                self.requests.extend(id);
            }
            Act::Receive(len, source) => {
                let data = pml::Data::Contiguous(self.buffer(len));
                let mut pattern = from(source, abi::ANY_TAG);
                pattern.peer = (source >= 0).then_some(Peer(ROGUE));
                self.requests.push(self.world.ranks[VICTIM as usize].irecv(&pattern, data));
            }
            Act::Cancel(which) => {
                if !self.requests.is_empty() {
                    let id = self.requests[which % self.requests.len()];
                    self.world.ranks[VICTIM as usize].cancel(id);
                }
            }
            Act::Progress => {
                self.world.ranks[VICTIM as usize].progress();
            }
        }
    }

    /// Messages between honest ranks arrive as ever.
    fn honest_exchange(&mut self) {
        for len in [8, 250] {
            let mut source = content(7, len);
            let mut sink = vec![0; len];
            let mut pattern = from(2, 99);
            pattern.context = 77;
            let mut destination = to(VICTIM, 2, 99);
            destination.context = 77;
            let received = self.world.ranks[1].irecv(&pattern, contiguous(&mut sink));
            let sent = self.world.ranks[2].isend(&destination, contiguous(&mut source), Mode::Standard);
            self.world.settle();
            assert!(sent.is_none_or(|id| self.world.ranks[2].ob1.take(id).is_some()));
            assert_eq!(self.world.ranks[1].ob1.take(received).unwrap().status.bytes(), len as u64);
            assert!(sink == source);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_rogue_peer_does_no_harm(
        acts in prop::collection::vec(act(), 1..150),
        get in any::<bool>(),
        put in any::<bool>(),
        get_align in prop::sample::select(vec![1, 4, 8]),
    ) {
        let mut options = Options { slots: 1 << 16, ..Options::new(3) };
        options.limits.eager = 20;
        options.limits.max_send = 200;
        options.limits.min_rdma = 40;
        options.limits.get = get;
        options.limits.put = put;
        options.limits.get_align = get_align;
        let world = World::plain(options);
        let rogue = world.net.port(ROGUE);
        let mut attack =
            Attack { world, rogue, sequence: 0, buffers: Vec::new(), requests: Vec::new() };
        // The rogue's own machine stays still; its port is written to directly.
        for act in acts {
            attack.act(act);
        }
        for _ in 0..20 {
            attack.world.ranks[VICTIM as usize].progress();
        }
        attack.world.net.kill(ROGUE);
        attack.honest_exchange();
        let victim = &mut attack.world.ranks[VICTIM as usize];
        let open: Vec<ReqId> = attack.requests.drain(..).collect();
        for id in open {
            // What is left waits for any source.
            victim.cancel(id);
            prop_assert!(victim.ob1.take(id).is_some());
        }
        prop_assert!(victim.ob1.idle());
        prop_assert_eq!(attack.world.net.exposures(), 0);
        for buffer in &attack.buffers {
            prop_assert!(buffer[buffer.len() - GUARD..].iter().all(|&byte| byte == 0xEE));
        }
    }
}

//! Random traffic between several virtual NICs that lose, delay, reorder and fail on purpose: every message and
//! every transfer arrives once, whole and unchanged; what was taken is given back.

use btl::{Access, Btl, Event, Peer, Refusal, RemoteKey};
use btl_ugni::{Job, PeerAddress, Ugni, UgniParams, UseMsgq};
use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{FaultPlan, NicConfig, NodeLimits, SoftNic};
use mem::UserMem;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

type Clock = Box<dyn FnMut() -> Time>;
type End = Ugni<SoftNic<InProc>, Clock>;

/// Turns without anything happening after which a run is given up.
const MOST_POLLS: u32 = 50_000;

/// What a run is made of.
#[derive(Clone, Debug)]
struct Setting {
    ranks: u32,
    params: UgniParams,
    faults: FaultPlan,
    mdds: u32,
    /// (from, to, header words, payload bytes)
    messages: Vec<(u32, u32, usize, usize)>,
    /// (owner, user, get, bytes)
    transfers: Vec<(u32, u32, bool, usize)>,
}

fn params() -> impl Strategy<Value = UgniParams> {
    let smsg = prop_oneof![Just(128usize), Just(256), Just(1024), Just(8192)];
    let msgq = prop_oneof![4 => Just(UseMsgq::Never), 1 => Just(UseMsgq::Always), 2 => Just(UseMsgq::ByUse)];
    (smsg, 1..6i64, 1..4i64, 2..40i64, 2..20i64, msgq).prop_map(
        |(smsg_limit, smsg_max_credits, eager_max, local_cq_size, local_rdma_cq_size, use_msgq)| UgniParams {
            smsg_limit,
            smsg_max_credits,
            eager_num: 1,
            eager_inc: 1,
            eager_max,
            local_cq_size,
            local_rdma_cq_size,
            use_msgq,
            msgq_credits: 4,
            msgq_uses: 3,
            smsg_page_size: 4096,
            ..UgniParams::default()
        },
    )
}

fn faults() -> impl Strategy<Value = FaultPlan> {
    let small = || prop_oneof![2 => Just(0.0), 3 => 0.0..0.1f64];
    (any::<u32>(), [small(), small(), small(), small(), small(), small(), small()], 0..2u32).prop_map(
        |(seed, [drop, lost_ack, reorder, delay, early_event, overrun, datagram], few)| FaultPlan {
            seed: seed.into(),
            drop,
            lost_ack,
            reorder,
            delay,
            early_event,
            overrun,
            datagram,
            cq_entries: 16 * few,
            ..FaultPlan::default()
        },
    )
}

fn setting() -> impl Strategy<Value = Setting> {
    (2..6u32).prop_flat_map(|ranks| {
        let size = prop_oneof![3 => 0..200usize, 2 => 200..8192usize, 1 => Just(8192usize)];
        let message = (0..ranks, 1..ranks, 0..=8usize, size)
            .prop_map(move |(from, skip, words, len)| (from, (from + skip) % ranks, words, len));
        let transfer = (0..ranks, 1..ranks, any::<bool>(), prop_oneof![1..5_000usize, 5_000..400_000usize])
            .prop_map(move |(owner, skip, get, len)| (owner, (owner + skip) % ranks, get, len));
        let messages = prop::collection::vec(message, 0..120);
        let transfers = prop::collection::vec(transfer, 0..12);
        (params(), faults(), 0..2u32, messages, transfers).prop_map(
            move |(params, faults, scarce, messages, transfers)| Setting {
                ranks,
                params,
                faults,
                // Eight descriptors for each rank, or plenty.
                mdds: if scarce == 1 { 8 } else { 4096 },
                messages,
                transfers,
            },
        )
    })
}

/// All ends of a run and the time they share.
struct Run {
    ends: Vec<End>,
}

impl Run {
    fn new(setting: &Setting) -> Run {
        let limits = NodeLimits { mdds: setting.mdds, ..NodeLimits::default() };
        let world = SharedNetwork::new(NetworkConfig { limits, ..NetworkConfig::default() });
        let nics: Vec<_> = (0..setting.ranks)
            .map(|rank| {
                let faults =
                    FaultPlan { seed: setting.faults.seed + u64::from(rank), ..setting.faults.clone() };
                // Few tries, so that a dead peer is noticed soon.
                let config = NicConfig { faults, datagram_tries: 20, ..NicConfig::default() };
                world
                    .attach(PeAddr(rank), InstId(rank), JobKey::for_job(0), Modes::default(), config)
                    .expect("attaching")
            })
            .collect();
        let peers: Arc<[PeerAddress]> = nics.iter().map(PeerAddress::of).collect();
        let time = Rc::new(Cell::new(0));
        let make = |(rank, nic)| {
            let time = Rc::clone(&time);
            let clock: Clock = Box::new(move || {
                time.set(time.get() + 20_000);
                Time(time.get())
            });
            let job = Job { me: Peer(rank), peers: Arc::clone(&peers), local_ranks: 1 };
            Ugni::new(nic, clock, job, setting.params.clone()).expect("a transport")
        };
        Run { ends: (0..).zip(nics).map(make).collect() }
    }
}

/// The payload of message `number`.
fn bytes(number: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(31) ^ number.wrapping_mul(0x9e37)) as u8).collect()
}

fn header(number: usize, words: usize) -> Vec<u64> {
    (0..words).map(|word| (number * 100 + word) as u64).collect()
}

fn view(bytes: &mut [u8]) -> UserMem {
    // SAFETY: the runs keep their buffers until all operations on them have ended.
    unsafe { UserMem::of(bytes) }
}

/// Sends all messages as fast as they are taken and receives them; returns how often each arrived.
fn exchange(run: &mut Run, setting: &Setting) -> Vec<u32> {
    let mut seen = vec![0; setting.messages.len()];
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); setting.ranks as usize];
    for (number, &(from, ..)) in setting.messages.iter().enumerate().rev() {
        next[from as usize].push(number);
    }
    let mut idle = 0;
    while idle < MOST_POLLS {
        idle += 1;
        for (rank, queue) in next.iter_mut().enumerate() {
            let Some(&number) = queue.last() else { continue };
            let (_, to, words, len) = setting.messages[number];
            // The number travels in the first payload bytes, or, where there are none, in the header.
            let mut payload = bytes(number, len);
            if run.ends[rank].send(Peer(to), &header(number, words), &mut view(&mut payload)).is_ok() {
                queue.pop();
                idle = 0;
            }
        }
        for rank in 0..run.ends.len() {
            if let Some(number) = receive(&mut run.ends[rank], rank, setting, &seen) {
                seen[number] += 1;
                idle = 0;
            }
            assert_eq!(run.ends[rank].next_event(), None);
        }
        if next.iter().all(Vec::is_empty) && seen.iter().all(|&times| times > 0) && idle > 200 {
            break;
        }
    }
    seen
}

/// Takes one arrival and finds out which message it is.
fn receive(end: &mut End, rank: usize, setting: &Setting, seen: &[u32]) -> Option<usize> {
    let arrival = end.next_arrival()?;
    let words: Vec<u64> = (0..arrival.header.len() / 8).map(|word| arrival.header.word(word)).collect();
    let payload = arrival.payload.to_vec();
    // Prefer one that has not been seen, to tell equal messages apart.
    let fits = |&number: &usize| {
        let (from, to, count, len) = setting.messages[number];
        (from, to as usize) == (arrival.peer.0, rank)
            && header(number, count) == words
            && bytes(number, len) == payload
    };
    let candidates: Vec<usize> = (0..setting.messages.len()).filter(fits).collect();
    let number = candidates.iter().find(|&&number| seen[number] == 0).or(candidates.first());
    let number = *number.expect("an arrival that no process sent, or damaged");
    end.release(arrival);
    Some(number)
}

/// A transfer of a run.
struct Copying {
    owner: usize,
    user: usize,
    get: bool,
    exposed: Vec<u8>,
    local: Vec<u8>,
    key: Option<RemoteKey>,
    begun: usize,
    done: usize,
}

/// Carries out all transfers in pieces and checks the bytes.
fn copy_all(run: &mut Run, setting: &Setting) {
    let mut all: Vec<Copying> = setting
        .transfers
        .iter()
        .enumerate()
        .map(|(number, &(owner, user, get, len))| {
            let len = if get { len.next_multiple_of(4) } else { len };
            let (exposed, local) =
                if get { (bytes(number, len), vec![0; len]) } else { (vec![0; len], bytes(number, len)) };
            Copying {
                owner: owner as usize,
                user: user as usize,
                get,
                exposed,
                local,
                key: None,
                begun: 0,
                done: 0,
            }
        })
        .collect();
    let mut idle = 0;
    while all.iter().any(|copy| copy.done < copy.exposed.len()) {
        idle += 1;
        assert!(idle < MOST_POLLS, "transfers do not end");
        for (number, copy) in all.iter_mut().enumerate() {
            if begin_piece(run, number, copy) {
                idle = 0;
            }
        }
        for rank in 0..run.ends.len() {
            while let Some(event) = run.ends[rank].next_event() {
                let Event::Done(cookie) = event else { panic!("{event:?}") };
                let copy = &mut all[(cookie >> 32) as usize];
                copy.done += cookie as u32 as usize;
                idle = 0;
                if copy.done == copy.exposed.len() {
                    let key = copy.key.take().expect("exposed");
                    run.ends[copy.owner].conceal(Peer(copy.user as u32), key);
                }
            }
        }
    }
    for (number, copy) in all.iter().enumerate() {
        let expected = bytes(number, copy.exposed.len());
        assert!(copy.exposed == expected && copy.local == expected, "transfer {number} brought other bytes");
    }
}

/// Exposes a transfer's memory and begins its next piece, where there is room.
fn begin_piece(run: &mut Run, number: usize, copy: &mut Copying) -> bool {
    const PIECE: usize = 50_000;
    if copy.begun == copy.exposed.len() {
        return false;
    }
    let key = match copy.key {
        Some(key) => key,
        None => {
            let access = if copy.get { Access::Read } else { Access::Write };
            let exposed = view(&mut copy.exposed);
            match run.ends[copy.owner].expose(Peer(copy.user as u32), exposed, access) {
                Ok(key) => *copy.key.insert(key),
                Err(refusal) => {
                    assert_eq!(refusal, Refusal::Busy);
                    return false;
                }
            }
        }
    };
    let len = PIECE.min(copy.exposed.len() - copy.begun);
    let local = view(&mut copy.local).part(copy.begun, len);
    let cookie = (number as u64) << 32 | len as u64;
    let (peer, offset) = (Peer(copy.owner as u32), copy.begun as u64);
    let end = &mut run.ends[copy.user];
    let begun = if copy.get {
        end.get(peer, local, &key, offset, cookie)
    } else {
        end.put(peer, local, &key, offset, cookie)
    };
    match begun {
        Ok(()) => copy.begun += len,
        Err(refusal) => assert_eq!(refusal, Refusal::Busy),
    }
    begun.is_ok()
}

/// Waits until all ends are idle, so that leaks show.
fn settle(run: &mut Run) {
    for _ in 0..MOST_POLLS {
        if run.ends.iter().all(End::is_idle) {
            return;
        }
        for end in &mut run.ends {
            assert_eq!(end.next_event(), None);
            assert!(end.next_arrival().is_none(), "more arrived than was sent");
        }
    }
    panic!("something is never given back");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_or_doubled(setting in setting()) {
        let mut run = Run::new(&setting);
        let seen = exchange(&mut run, &setting);
        prop_assert!(seen.iter().all(|&times| times == 1), "{seen:?}");
        copy_all(&mut run, &setting);
        settle(&mut run);
    }
}

/// Peers that use the shared queue offer each other mailboxes, and there is one: the others go on without, and come to rest.
#[test]
fn mailboxes_by_use_run_out() {
    let setting = Setting {
        ranks: 4,
        params: UgniParams {
            use_msgq: UseMsgq::ByUse,
            msgq_credits: 4,
            msgq_uses: 1,
            mbox_increment: 1,
            max_mem_reg: 6,
            ..UgniParams::default()
        },
        faults: FaultPlan::default(),
        mdds: 4096,
        messages: (0..48).map(|number| (number % 4, (number % 4 + 1 + number / 4 % 3) % 4, 1, 10)).collect(),
        transfers: Vec::new(),
    };
    let mut run = Run::new(&setting);
    assert!(exchange(&mut run, &setting).iter().all(|&times| times == 1));
    settle(&mut run);
}

/// One pair, one mailbox: what travels inline keeps its order.
#[test]
fn inline_messages_keep_their_order() {
    let faults =
        FaultPlan::parse("seed=4,drop=0.1,lost_ack=0.1,early_event=0.1,overrun=0.2").expect("a plan");
    let setting = Setting {
        ranks: 2,
        params: UgniParams { smsg_limit: 256, smsg_max_credits: 3, ..UgniParams::default() },
        faults,
        mdds: 4096,
        messages: Vec::new(),
        transfers: Vec::new(),
    };
    let mut run = Run::new(&setting);
    let (mut sent, mut got) = (0u64, 0u64);
    while got < 500 {
        if sent < 500 && run.ends[0].send(Peer(1), &[sent], &mut view(&mut [7; 9])).is_ok() {
            sent += 1;
        }
        assert_eq!(run.ends[0].next_event(), None);
        if let Some(arrival) = run.ends[1].next_arrival() {
            assert_eq!(arrival.header.word(0), got);
            got += 1;
            run.ends[1].release(arrival);
        }
    }
}

/// Each protocol is used where the paper has it, and counted.
#[test]
fn bands_are_as_documented() {
    let setting = Setting {
        ranks: 2,
        params: UgniParams { smsg_limit: 1024, ..UgniParams::default() },
        faults: FaultPlan::default(),
        mdds: 4096,
        messages: [0, 1000, 1012, 1013, 2048, 2049, 8192].map(|len| (0, 1, 1, len)).to_vec(),
        transfers: [(0, 1, true, 2048), (0, 1, true, 2052), (0, 1, false, 4096), (0, 1, false, 4097)]
            .to_vec(),
    };
    let mut run = Run::new(&setting);
    assert_eq!(exchange(&mut run, &setting), [1; 7]);
    let (sender, receiver) = (*run.ends[0].stats(), *run.ends[1].stats());
    // 4 bytes of the transport's header and 8 of the message layer's.
    assert_eq!((sender.smsg_sends, sender.eager_gets), (3, 4));
    assert_eq!((receiver.fma_gets, receiver.bte_gets), (2, 2));
    assert_eq!((sender.control_messages, receiver.control_messages), (4, 4));
    copy_all(&mut run, &setting);
    let after = run.ends[1].stats();
    assert_eq!((after.fma_gets - 2, after.bte_gets - 2, after.fma_puts, after.bte_puts), (1, 1, 1, 1));
}

/// A GET that is not aligned is refused, so that the layer above falls back to PUT.
#[test]
fn an_unaligned_get_is_unfit() {
    let setting = Setting {
        ranks: 2,
        params: UgniParams::default(),
        faults: FaultPlan::default(),
        mdds: 4096,
        messages: Vec::new(),
        transfers: Vec::new(),
    };
    let mut run = Run::new(&setting);
    let mut exposed = vec![1u64; 100];
    let mut local = vec![0u64; 100];
    // SAFETY: both vectors live until the end of the test.
    let (exposed, local) = unsafe {
        (UserMem::new(exposed.as_mut_ptr() as usize, 800), UserMem::new(local.as_mut_ptr() as usize, 800))
    };
    let key = run.ends[0].expose(Peer(1), exposed, Access::Read).expect("a registration");
    for (at, len, offset) in [(1, 100, 0), (0, 99, 0), (0, 100, 2)] {
        let refused = run.ends[1].get(Peer(0), local.part(at, len), &key, offset, 1);
        assert_eq!(refused, Err(Refusal::Unfit));
    }
    assert_eq!(run.ends[1].stats().unfit_gets, 3);
}

/// What a process was doing when its peer stopped answering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Connecting,
    OutOfCredits,
    Offering,
    Fetching,
    Completing,
    Getting,
    Putting,
    Exposing,
    ExposingForStores,
}

impl Doing {
    const ALL: [Doing; 9] = [
        Doing::Connecting,
        Doing::OutOfCredits,
        Doing::Offering,
        Doing::Fetching,
        Doing::Completing,
        Doing::Getting,
        Doing::Putting,
        Doing::Exposing,
        Doing::ExposingForStores,
    ];
}

/// Three ends, of which 0 is connected with 2 and, unless it is to be connecting, with 1.
fn three(doing: Doing, use_msgq: UseMsgq) -> Run {
    let mut messages = vec![(0, 2, 1, 10)];
    if doing != Doing::Connecting {
        messages.extend([(0, 1, 1, 10), (1, 0, 1, 10)]);
    }
    let setting = Setting {
        ranks: 3,
        params: UgniParams {
            smsg_limit: 256,
            smsg_max_credits: 2,
            eager_max: 4,
            use_msgq,
            msgq_credits: 4,
            ..UgniParams::default()
        },
        faults: FaultPlan::default(),
        mdds: 4096,
        messages,
        transfers: Vec::new(),
    };
    let mut run = Run::new(&setting);
    assert!(exchange(&mut run, &setting).iter().all(|&times| times == 1));
    run
}

/// A peer that stops answering in any state of a protocol is reported once; what was under way for it ends, nothing
/// is kept, and the others go on.
#[test]
fn a_dead_peer_is_lost() {
    for (doing, use_msgq) in Doing::ALL
        .into_iter()
        .flat_map(|doing| [UseMsgq::Never, UseMsgq::Always].map(|use_msgq| (doing, use_msgq)))
    {
        let mut run = three(doing, use_msgq);
        let mut memory = vec![0u64; 2000];
        // SAFETY: the vector lives until the end of this turn, and the run before it.
        let memory = unsafe { UserMem::new(memory.as_mut_ptr() as usize, 16_000) };
        let (theirs, ours) = (memory.part(0, 8000), memory.part(8000, 8000));
        let key = run.ends[1].expose(Peer(0), theirs, Access::Write).expect("a registration");
        let mut exposed = None;
        match doing {
            // Queues of nodes that are there are connected at once.
            Doing::Connecting if use_msgq == UseMsgq::Always => {}
            Doing::Connecting => {
                assert!(run.ends[0].send(Peer(1), &[], &mut view(&mut [])).is_err())
            }
            Doing::OutOfCredits => while run.ends[0].send(Peer(1), &[1], &mut view(&mut [])).is_ok() {},
            Doing::Offering => run.ends[0].send(Peer(1), &[1], &mut view(&mut [0; 4000])).expect("room"),
            // The request is in the mailbox of 0, which has not looked.
            Doing::Fetching => run.ends[1].send(Peer(0), &[1], &mut view(&mut [0; 4000])).expect("room"),
            // 0 has fetched, and has no credit to say so.
            Doing::Completing => {
                while run.ends[0].send(Peer(1), &[1], &mut view(&mut [])).is_ok() {}
                run.ends[1].send(Peer(0), &[1], &mut view(&mut [0; 4000])).expect("room");
                let arrival = (0..1000).find_map(|_| run.ends[0].next_arrival()).expect("the message");
                run.ends[0].release(arrival);
            }
            Doing::Getting | Doing::Putting => {}
            Doing::Exposing => exposed = run.ends[0].expose(Peer(1), ours, Access::Read).ok(),
            Doing::ExposingForStores => exposed = run.ends[0].expose(Peer(1), ours, Access::Write).ok(),
        }
        run.ends[0].nic().fabric().world().kill(PeAddr(1), InstId(1));
        match doing {
            Doing::Getting => run.ends[0].get(Peer(1), ours, &key, 0, 77).expect("a slot"),
            Doing::Putting => run.ends[0].put(Peer(1), ours, &key, 0, 77).expect("a slot"),
            Doing::Connecting if use_msgq == UseMsgq::Always => {
                let _ = run.ends[0].send(Peer(1), &[], &mut view(&mut []));
            }
            _ => {}
        }
        let mut events: HashMap<String, u32> = HashMap::new();
        for _ in 0..400_000 {
            if let Some(event) = run.ends[0].next_event() {
                *events.entry(format!("{event:?}")).or_default() += 1;
            }
            if run.ends[0].is_idle() && events.contains_key("PeerLost(Peer(1))") {
                break;
            }
        }
        let transfer = matches!(doing, Doing::Getting | Doing::Putting);
        let failed = transfer.then(|| ("Failed(77)".to_string(), 1));
        let expected = failed.into_iter().chain([("PeerLost(Peer(1))".to_string(), 1)]).collect();
        assert_eq!(events, expected, "{doing:?} {use_msgq:?}");
        assert!(run.ends[0].is_idle(), "{doing:?} {use_msgq:?}: something of the lost peer is kept");
        if let Some(key) = exposed {
            run.ends[0].conceal(Peer(1), key);
        }
        run.ends[0].send(Peer(2), &[3], &mut view(&mut [0; 9])).expect("room at the other");
    }
}

/// One credit each way, one buffer, arrival entries before their messages, lost datagrams.
#[test]
fn the_scarcest_setting_goes_on() {
    let faults = FaultPlan {
        seed: 2_077_425_586,
        early_event: 0.032917375512413485,
        datagram: 0.08188334633409107,
        ..FaultPlan::default()
    };
    let setting = Setting {
        ranks: 4,
        params: UgniParams {
            smsg_limit: 1024,
            smsg_max_credits: 1,
            eager_num: 1,
            eager_inc: 1,
            eager_max: 1,
            local_cq_size: 2,
            local_rdma_cq_size: 2,
            msgq_credits: 4,
            smsg_page_size: 4096,
            ..UgniParams::default()
        },
        faults,
        mdds: 4096,
        messages: vec![
            (0, 3, 0, 0),
            (1, 0, 0, 0),
            (1, 2, 0, 0),
            (2, 3, 0, 49),
            (2, 3, 8, 2332),
            (2, 3, 5, 3632),
            (2, 0, 8, 8192),
            (3, 2, 8, 197),
            (0, 2, 4, 8192),
        ],
        transfers: Vec::new(),
    };
    let mut run = Run::new(&setting);
    assert_eq!(exchange(&mut run, &setting), [1; 9]);
    settle(&mut run);
}

//! Frames of windows that no honest rank sends: what the receiver of each does.

use std::sync::Arc;

use btl::Peer;
use mem::PeerBytes;
use node::SharedSegment;
use osc::{Control, Epochs, Exposure, NO_TOKEN, Parts, Regions, Shape, Side, Wish};

use super::far::{
    CHECK, COMBINE, COMPLETE, DATA, DONE, FAILED, Far, GET, GONE, GRANTED, HANDLED, LEFT, LOCK, LOST, NOTICE,
    POST, PUT, REFUSED, SWAP, UNLOCK,
};
use super::light::{MOST, Outcome, on_message};
use super::locks::{HOLDER_ENDED, await_lock};
use super::network::Network;
use super::serve::{About, Frame, Reply};
use super::{Facts, RankMemory, WINDOWS, Window, Windows, far};
use objects::attr::Attributes;
use objects::domain::enter_any;
use objects::errhandler::Handler;
use objects::group::Group;
use objects::handle::{self, Kind};
use objects::memory::of_vec_mut;

const NUMBER: u64 = 5;
const RANKS: u32 = 4;
/// Most bytes of a payload.
const LIMIT: usize = 4096;

/// Rank 0 of a window whose other ranks, of peers 10 to 12, are reached by messages.
struct Process {
    windows: Windows,
    memory: Vec<u8>,
}

impl Process {
    fn new() -> Process {
        let mut memory = vec![7; 1 << 16];
        let shape = Shape::all(1);
        let segment = SharedSegment::create(Control::bytes(shape)).unwrap();
        let own = RankMemory {
            base: of_vec_mut(&mut memory).address(),
            size: memory.len() as u64,
            unit: 1,
            local: 0,
            mapped: true,
        };
        let other = RankMemory { base: 0, local: super::ELSEWHERE, mapped: false, ..own };
        let facts = Facts {
            base: own.base,
            size: 1 << 16,
            disp_unit: 1,
            flavor: abi::WIN_FLAVOR_CREATE,
            model: 0,
            alignment: None,
        };
        let window = Window {
            comm: abi::COMM_NULL,
            group: Arc::new(Group::new([9, 10, 11, 12].into(), 9)),
            rank: 0,
            local: 0,
            facts: Box::new(facts),
            node: None,
            control: Arc::new(Control::new(segment, shape).unwrap()),
            doorbells: [None].into(),
            targets: [own, other, other, other].into(),
            lent: Box::default(),
            epochs: Epochs::default(),
            exposure: Exposure::new(RANKS as usize),
            spare_ranks: Vec::new(),
            exposed_to: Vec::new(),
            fruitless: 0,
            reported_ends: 0,
            flushes: 0,
            stored: false,
            changed: false,
            cost: osc::Cost::default(),
            combiner: None,
            traffic: Vec::new(),
            announced: osc::Announced::default(),
            far: Some(Far::new(RANKS as usize, Network::default())),
            regions: Box::<[Regions]>::default(),
            errhandler: Handler::Return,
            attributes: Attributes::default(),
            name: String::new(),
            info: objects::info::Info::default(),
        };
        let mut windows = Windows::new();
        windows.add(NUMBER as u32, window);
        Process { windows, memory }
    }

    fn window(&mut self) -> &mut Window {
        self.windows.numbered(NUMBER).unwrap()
    }

    fn far(&mut self) -> &mut Far {
        self.window().far.as_mut().unwrap()
    }

    /// What a request of a rank is answered with, its runs and data behind them.
    fn request(&mut self, rank: u32, kind: u8, words: &[u64], payload: &[u8]) -> Option<Reply> {
        let frame = Frame { from: Peer(9 + rank), kind, words, payload: PeerBytes::of(payload) };
        self.windows.serve(About { number: NUMBER, rank: 0 }, &frame, LIMIT)
    }

    /// As above, and decides on locks as the handler does.
    fn lock(&mut self, rank: u32, words: &[u64]) -> (Option<Reply>, Vec<u64>) {
        let reply = self.request(rank, LOCK, words, &[]);
        (reply, self.decide(false))
    }

    /// The tokens of the locks that were granted.
    fn decide(&mut self, checks: bool) -> Vec<u64> {
        let decided = self.windows.decide(NUMBER, checks);
        decided.iter().filter(|one| one.granted).map(|one| one.token).collect()
    }

    fn unlock(&mut self, rank: u32, said: u64) -> bool {
        self.request(rank, UNLOCK, &[said], &[]) == Some(Reply::Done)
    }

    fn answer(&mut self, rank: u32, said: u32, kind: u8, words: &[u64], payload: &[u8]) {
        let frame = Frame { from: Peer(9 + rank), kind, words, payload: PeerBytes::of(payload) };
        self.windows.take_answer(About { number: NUMBER, rank: said.into() }, &frame);
    }

    /// Runs from this place of the memory on, as a payload has them.
    fn runs(&mut self, of: &[(usize, u64)]) -> Vec<u8> {
        let base = of_vec_mut(&mut self.memory).address();
        of.iter()
            .flat_map(|&(at, len)| [base.wrapping_add(at) as u64, len])
            .flat_map(u64::to_ne_bytes)
            .collect()
    }
}

#[test]
fn no_request_has_more_read_or_sent_than_an_answer_takes() {
    let mut process = Process::new();
    let whole = (0, 1 << 16);
    // Thousands of runs, each of the whole window: a product of both lengths.
    for runs in [1, 2, 200] {
        let payload = process.runs(&vec![whole; runs]);
        let (count, sum, int) = (runs as u64, abi::NO_OP.0 as u64, abi::INT32_T.0 as u64);
        assert_eq!(process.request(1, GET, &[3, 0, count], &payload), None);
        assert_eq!(process.request(1, COMBINE, &[3, 0, sum, int, count], &payload), None);
        assert_eq!(process.request(1, COMBINE, &[0, 0, sum, int, count], &payload), None);
        assert_eq!(process.request(1, PUT, &[count], &payload), None);
    }
    let payload = process.runs(&[(0, LIMIT as u64 / 2), (0, LIMIT as u64 / 2)]);
    let reply = process.request(1, GET, &[3, 0, 2], &payload);
    assert_eq!(reply, Some(Reply::Data { token: 3, position: 0, bytes: vec![7; LIMIT] }), "an honest one");
    let payload = process.runs(&[(0, LIMIT as u64 / 2), (0, LIMIT as u64 / 2), (0, 1)]);
    assert_eq!(process.request(1, GET, &[3, 0, 3], &payload), None);
}

#[test]
fn runs_lie_in_the_window_and_in_the_payload() {
    let mut process = Process::new();
    for run in [(1 << 16, 1), ((1 << 16) - 1, 2), (0, u64::MAX), (1, u64::MAX), (usize::MAX, 1)] {
        let payload = process.runs(&[run]);
        assert_eq!(process.request(1, GET, &[3, 0, 1], &payload), None, "{run:?}");
    }
    let payload = process.runs(&[(0, 8)]);
    for runs in [2, 1 << 32, u64::MAX] {
        assert_eq!(process.request(1, GET, &[3, 0, runs], &payload), None, "{runs}");
    }
    for data in [0, 7, 9] {
        let put = [payload.clone(), vec![1; data]].concat();
        assert_eq!(process.request(1, PUT, &[1], &put), None, "{data} bytes for 8");
    }
    assert_eq!(process.memory, vec![7; 1 << 16]);
    let put = [payload, vec![1; 8]].concat();
    assert_eq!(process.request(1, PUT, &[1], &put), Some(Reply::Done));
    assert_eq!(process.memory[..9], [1, 1, 1, 1, 1, 1, 1, 1, 7]);
    let long = vec![0; LIMIT + 16];
    assert_eq!(process.request(1, SWAP, &[3, 0, abi::INT32_T.0 as u64], &long), None);
}

#[test]
fn a_lock_is_given_back_by_the_rank_that_holds_it() {
    let mut process = Process::new();
    assert!(!process.unlock(1, 1), "it never had one");
    assert_eq!(process.lock(1, &[31, 1, 0, 1]), (Some(Reply::Later), vec![31]));
    assert!(
        !process.unlock(2, 2) && !process.unlock(2, 1),
        "neither for itself nor in the name of the other"
    );
    assert_eq!(process.lock(3, &[33, 1, 0, 3]), (Some(Reply::Later), vec![]), "the lock is still held");
    assert!(!process.unlock(3, 3), "it only wants it");
    assert!(process.decide(true).is_empty());
    assert!(process.unlock(1, 1) && !process.unlock(1, 1));
    assert_eq!(process.decide(false), [33]);
    assert!(process.unlock(3, 3));
    assert!(process.window().control.view().is_unlocked());
}

#[test]
fn a_rank_wants_one_lock_at_a_time() {
    let mut process = Process::new();
    assert_eq!(process.lock(1, &[1, 1, 0, 1]).1, [1]);
    for token in 2..1000 {
        assert_eq!(process.lock(1, &[token, token % 2, 0, 1]), (None, vec![]));
    }
    assert_eq!(process.lock(2, &[2, 0, 0, 2]), (Some(Reply::Later), vec![]));
    assert_eq!(process.lock(2, &[3, 0, 0, 2]), (None, vec![]));
    assert_eq!(process.lock(2, &[3, 0, 0, 1]), (None, vec![]), "in the name of another one");
    assert_eq!(process.far().queue.len(), 1);
}

/// A process that gives up on a lock, since its holder has ended, is not rung any more when the lock is released.
#[test]
fn a_lock_whose_holder_has_ended_is_given_up() {
    let mut process = Process::new();
    assert_eq!(process.lock(1, &[1, 1, 0, 1]).1, [1]);
    process.far().operations.lose(1, HOLDER_ENDED);
    let Process { windows, memory } = process;
    let mut t = enter_any();
    *WINDOWS.get_mut(&mut t.lock().tables) = windows;
    let (win, own) = (abi::Win(handle::make(Kind::Win, NUMBER as u32)), Wish::Exclusive(0));
    assert_eq!(await_lock(&mut t, win, own), Err(HOLDER_ENDED));
    let windows = std::mem::replace(WINDOWS.get_mut(&mut t.lock().tables), Windows::new());
    let mut rung = Vec::new();
    osc::release(windows.get(win).unwrap().control.view(), own, |rank| rung.push(rank));
    assert_eq!(rung, []);
    drop(memory);
}

/// Locks that go past those that wait leave their places in the turnstile until it is their turn: not one each time.
#[test]
fn places_that_wait_are_not_more_than_two_of_a_rank() {
    let mut process = Process::new();
    // A reader that is there all the time, and a writer that waits for it.
    assert_eq!(process.lock(1, &[1, 0, 0, 1]).1, [1]);
    assert!(process.lock(2, &[2, 1, 0, 2]).1.is_empty());
    for token in 3..200 {
        assert_eq!(process.lock(3, &[token, 0, 0, 3]), (Some(Reply::Later), vec![]), "a writer waits");
        assert_eq!(process.decide(true), [token], "whatever waits long goes past");
        assert!(process.unlock(3, 3));
        assert!(process.far().queue.len() <= 3);
    }
    assert!(process.unlock(1, 1));
    assert_eq!(process.decide(false), [2]);
    assert!(process.unlock(2, 2));
    assert!(process.decide(false).is_empty() && process.far().queue.is_empty());
    assert!(process.window().control.view().is_unlocked());
}

#[test]
fn an_access_is_completed_by_those_that_this_process_has_posted_for() {
    let mut process = Process::new();
    assert_eq!(process.request(1, COMPLETE, &[1], &[]), None);
    process.window().epochs.post().unwrap();
    process.window().exposed_to = vec![1];
    process.far().exposed[1] = 1;
    assert_eq!(process.request(2, COMPLETE, &[2], &[]), None);
    assert_eq!(process.request(2, COMPLETE, &[1], &[]), None, "in the name of another one");
    assert!(!process.window().end_exposure());
    assert_eq!(process.request(1, COMPLETE, &[1], &[]), Some(Reply::Done));
    assert!(process.window().end_exposure());
    assert_eq!(process.request(1, COMPLETE, &[1], &[]), None);
    assert_eq!(process.request(1, POST, &[2], &[]), None);
}

#[test]
fn requests_without_sense_are_answered_with_a_failure() {
    let mut process = Process::new();
    for kind in 0..32 {
        for words in [&[][..], &[u64::MAX; 7], &[0; 7]] {
            assert!(
                process
                    .request(1, kind, words, &[])
                    .is_none_or(|reply| kind == CHECK && reply == Reply::Done)
            );
        }
    }
    assert_eq!(process.request(1, NOTICE, &[osc::NOTICES.into()], &[]), None);
    let elsewhere = Frame { from: Peer(10), kind: GET, words: &[3, 0, 0], payload: PeerBytes::of(&[]) };
    assert_eq!(process.windows.serve(About { number: 6, rank: 0 }, &elsewhere, LIMIT), Some(Reply::Gone));
}

#[test]
fn answers_count_for_what_their_sender_was_asked() {
    let mut process = Process::new();
    let mut data = vec![0; 8];
    let side = Side::Run(of_vec_mut(&mut data));
    let operations = &mut process.far().operations;
    let token = operations.begin(1, Some(side), Parts::answers(1), true).unwrap();
    let lock = operations.begin_lock(1).unwrap();
    operations.asked(1);
    for number in 0..100 {
        for kind in [DATA, GRANTED, REFUSED, FAILED, GONE, DONE, HANDLED] {
            // Another rank, in its own name and in that of the one that was asked; and a stranger.
            for (rank, said) in [(2, 2), (2, 1), (1, 2), (20, 1)] {
                process.answer(rank, said, kind, &[number], &[9; 8]);
                process.answer(rank, said, kind, &[number, 0], &[9; 8]);
            }
        }
    }
    let operations = &mut process.far().operations;
    assert_eq!((operations.take(token), operations.take(lock)), (None, None));
    assert!(operations.are_due(Some(1)));
    assert_eq!(operations.take_failure(None), Ok(()));
    process.answer(1, 1, DATA, &[token, 0], &[5; 8]);
    process.answer(1, 1, DATA, &[token, 0], &[6; 8]);
    process.answer(1, 1, GRANTED, &[lock], &[]);
    process.answer(1, 1, REFUSED, &[lock], &[]);
    let operations = &mut process.far().operations;
    assert_eq!((operations.take(token), operations.take(lock)), (Some(Ok(())), Some(Ok(()))));
    assert_eq!(data, [5; 8]);
}

/// A lock that its target knows nothing of ends the wait for it.
#[test]
fn a_lock_that_fails_at_its_target_is_over() {
    let mut process = Process::new();
    let lock = process.far().operations.begin_lock(1).unwrap();
    process.answer(1, 1, FAILED, &[lock], &[]);
    let operations = &mut process.far().operations;
    assert_eq!(
        operations.take(lock).map(|result| result.map_err(|error| error.class)),
        Some(Err(abi::ERR_RMA_SYNC))
    );
    assert_eq!(operations.take_failure(None), Ok(()), "it was no access");
    let lock = operations.begin_lock(2).unwrap();
    operations.lose(2, LOST);
    assert_eq!(operations.take(lock), Some(Err(LOST)));
    assert_eq!(operations.take(NO_TOKEN), Some(Ok(())));
}

/// Whatever a process asks of one that has left the window ends with the error of a failure, and nothing waits for it.
#[test]
fn a_process_that_has_left_the_window_fails_what_it_is_asked() {
    let mut process = Process::new();
    let mut data = vec![0; 8];
    let side = Side::Run(of_vec_mut(&mut data));
    let operations = &mut process.far().operations;
    let get = operations.begin(1, Some(side), Parts::answers(1), true).unwrap();
    let lock = operations.begin_lock(1).unwrap();
    (0..2).for_each(|_| operations.asked(1));
    for token in [get, lock, NO_TOKEN] {
        process.answer(1, 1, GONE, &[token], &[]);
    }
    let operations = &mut process.far().operations;
    assert!(!operations.are_due(None));
    assert_eq!((operations.take(get), operations.take(lock)), (Some(Err(LEFT)), Some(Err(LEFT))));
    assert_eq!(operations.take_failure(Some(1)), Err(LEFT));
}

/// Ranks that hold or want the lock of a process that leaves the window are not left waiting for it.
#[test]
fn a_process_that_leaves_the_window_gives_its_lock_up() {
    let mut process = Process::new();
    assert_eq!(process.lock(1, &[31, 1, 0, 1]).1, [31]);
    assert!(process.lock(2, &[32, 0, 0, 2]).1.is_empty() && process.lock(3, &[33, 1, 0, 3]).1.is_empty());
    let mut window = process.windows.remove(far::window_of(NUMBER)).unwrap();
    assert_eq!(process.windows.leave(&mut window), [(2, 32), (3, 33)]);
    assert_eq!(process.windows.waiting, 0);
    assert!(osc::Acquire::new(Wish::Exclusive(0), 0, true).attempt(window.control.view(), |_| {}));
    assert_eq!(process.request(3, LOCK, &[34, 1, 0, 3], &[]), Some(Reply::Gone));
}

#[test]
fn a_rank_has_no_more_messages_kept_than_it_may_send() {
    let mut process = Process::new();
    let about = About { number: NUMBER, rank: 0 };
    let mut send = |rank: u32, said: u64| {
        on_message(&mut process.windows, (Peer(9 + rank), PeerBytes::of(&[1; 64])), (about, 3), said)
    };
    assert!((0..MOST).all(|_| send(1, 1).is_ok()));
    let refused = Err(Outcome::Unhandled);
    assert_eq!(
        (send(1, 1), send(1, 2)),
        (refused, refused),
        "neither for itself nor in the name of another one"
    );
    assert_eq!(send(2, 2), Ok(()), "others may send");
    assert_eq!(send(20, 3), refused);
}

/// The lock's words agree with what its holders do.
#[test]
fn a_shared_lock_is_given_back_as_such() {
    let mut process = Process::new();
    assert_eq!(process.lock(1, &[1, 0, 0, 1]).1, [1]);
    assert_eq!(process.lock(2, &[2, 0, 0, 2]).1, [2]);
    assert!(process.unlock(1, 1));
    let control = process.window().control.clone();
    assert!(!osc::Acquire::new(Wish::Exclusive(0), 0, false).attempt(control.view(), |_| {}));
    assert!(process.unlock(2, 2));
    assert!(control.view().is_unlocked());
}

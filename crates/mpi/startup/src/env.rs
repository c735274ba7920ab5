//! Initialisation, finalization, abort and enquiries (MPI-5.0 chapters 9 and 11).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abi::{Error, Result};
use ffi::StrOut;

use crate::facts::FACTS;
use communicators::drop_from_table;
use messages::buffer::BufferOwner;
use objects::comm::{Comm, hints};
use objects::domain::{DOMAIN, Mode, Token, mode};
use objects::errhandler::Handler;
use objects::fatal::{abort_with, give_up};
use objects::group::Group;
use objects::info::Info;
use objects::reason;
use objects::state::{Membership, State};
use objects::wait::{wait_actively, wait_actively_seen};
use parameters::{Deadlock, InitialErrhandler, MpiParams};

/// `MPI_Init`
pub fn init(t: &mut Token) -> Result<()> {
    init_thread(t, abi::THREAD_SINGLE, &mut 0)
}

/// `MPI_Init_thread`: every level is provided.
pub fn init_thread(t: &mut Token, required: i32, provided: &mut i32) -> Result<()> {
    let levels = [abi::THREAD_SINGLE, abi::THREAD_FUNNELED, abi::THREAD_SERIALIZED];
    let level = levels.into_iter().find(|&level| required <= level).unwrap_or(abi::THREAD_MULTIPLE);
    if FACTS.is_initialized() {
        return Err(Error::new(abi::ERR_OTHER, "MPI_Init was called twice"));
    }
    *provided = start(t, level)?;
    FACTS.initialize();
    join_parent(t);
    Ok(())
}

/// A spawned job is one with its parents from its beginning (MPI-5.0 section 11.7.1): without them it does not begin.
fn join_parent(t: &mut Token) {
    if let Err(error) = dynamic::join_parent(t) {
        let seen = error.into_text().replace('\n', "; ");
        give_up(&format!(
            "alhena: MPI_Init: the processes that have spawned this job cannot be joined\n  seen: {seen}\n  \
             next: look at what those processes wrote last"
        ));
    }
}

/// Joins the job if that has not happened yet, for `MPI_Init` or a session; the thread level in force.
pub fn start(t: &mut Token, level: i32) -> Result<i32> {
    if t.lock().world.is_none() {
        check_stack();
        join(t);
    }
    make_world_comms(&mut t.lock());
    if mode() == Mode::After
        && let Some(world) = &mut t.lock().world
    {
        // Should the launcher be gone, it learns of nothing any more.
        let _ = world.job.resumed();
    }
    // The level only ever rises: a lock that other threads rely on must stay.
    let level = FACTS.raise_level(level);
    announce(t, level, observe::State::Running);
    let running = if level == abi::THREAD_MULTIPLE { Mode::Multiple } else { Mode::Running };
    DOMAIN.set_mode(running, level <= abi::THREAD_FUNNELED && FACTS.is_main_thread());
    if t.lock().p2p.is_away() {
        wait_actively(t, |state| state.come_back().then_some(()));
    }
    let wants_helper = {
        let state = t.lock();
        state.params.engine.async_progress && !state.threads.has_progress_thread()
    };
    if wants_helper {
        engine::need_progress(t)?;
    }
    Ok(level)
}

/// Tells the launcher who this process is and what it does, by the observation memory.
fn announce(t: &mut Token, level: i32, does: observe::State) {
    let rank = t.lock().me();
    if let Some(section) = observe::own() {
        section.announce(rank, level);
        section.set_state(does);
    }
}

/// Bytes of stack that `MPI_Init` and calls of the library need; the system's default is 8 MiB.
const LEAST_STACK: usize = 128 << 10;

/// Ends a process whose stack is too small.
fn check_stack() {
    if let Some(bytes) = platform::thread::stack_left().filter(|&bytes| bytes < LEAST_STACK) {
        give_up(&format!(
            "alhena: MPI_Init: the stack is too small\n  seen: {} KiB of it are left, and the library needs {} KiB\n  \
             next: raise `ulimit -s`, or the stack size of the thread that calls MPI_Init",
            bytes >> 10,
            LEAST_STACK >> 10
        ));
    }
}

/// Takes part in the job. A function of its own: its frame alone is more than a stack may be that [`check_stack`] refuses.
#[inline(never)]
fn join(t: &mut Token) {
    let mut job = pmi::attach(btl_vader::segment_bytes).unwrap_or_else(|error| give_up(&error.to_string()));
    let mut state = t.lock();
    adopt_observation(&job, &state.params.mpi);
    if job.rank == 0 && !job.is_native() {
        state.params.report_unknown();
    }
    state.classes = crate::transport::classes();
    state.on_loss = crate::lost::peer_lost;
    state.on_failure = failures::rank_failed;
    state.revoke_for_all = failures::revoke_for_all;
    state.agree_on = failures::agree_on;
    let opened = crate::transport::open(&mut job, &state.params.values);
    let (node, p2p) = opened.unwrap_or_else(|error| give_up(&error.0));
    if state.params.mpi.report {
        let text = crate::transport::reach(&p2p, &job, &state.params);
        job.report(&text).unwrap_or_else(|error| give_up(&error.to_string()));
    }
    if !p2p.bml.has_fast_verbs() || p2p.matches_below() {
        state.comms.without_fast_paths();
    }
    state.contexts.limit(p2p.contexts());
    (state.node, state.p2p) = (node, p2p);
    let is_over_hosts = state.p2p.peers().own_size() as usize > job.local_ranks.len();
    if let (Some(section), true) = (observe::own(), is_over_hosts && uses_ofi(&state.p2p)) {
        // A provider does not tell what it has sent and the other host has not got: a network that is away for a while would
        // look like a dead-lock.
        section.find_deadlocks(Duration::ZERO, false);
    }
    state.params.settle(job.oversubscribed);
    state.errhandlers.initial = state.params.mpi.initial_errhandler.into();
    state.predefined.appnum = job.app_num;
    state.predefined.universe_size = job.universe_size.map_or(-1, |size| size as i32);
    state.infos.env = with_memory_kinds(job.info.iter().cloned().collect());
    let handler = match state.params.mpi.initial_errhandler {
        InitialErrhandler::Fatal => "mpi_errors_are_fatal",
        InitialErrhandler::Abort => "mpi_errors_abort",
        InitialErrhandler::Return => "mpi_errors_return",
    };
    state.infos.env.set("mpi_initial_errhandler", handler);
    state.memory_kinds = hints::kinds_for(state.infos.env.get(hints::KINDS));
    let peers: Arc<[u32]> = (0..state.p2p.peers().own_size()).collect();
    let abort = job.abort();
    if state.params.mpi.ft_enable && job.is_native() {
        survive(&mut state, &job);
    }
    state.world = Some(Membership { group: Arc::new(Group::new(peers, job.rank)), job });
    drop(state);
    engine::close_in_children::<State>();
    objects::fatal::ends_by(abort);
    FACTS.join();
}

fn uses_ofi(p2p: &engine::P2p) -> bool {
    p2p.bml.table().iter().any(|(name, peers)| *name == "ofi" && !peers.is_empty())
}

/// The job goes on when ranks fail: what the launcher has to say about that wakes this process.
fn survive(state: &mut State, job: &pmi::Job) {
    if state.p2p.matches_below() {
        give_up(
            "alhena: MPI_Init: a job that goes on when ranks fail needs the message layer ob1\n  seen: the network matches messages \
             (pml cm), and does not give back those of a failed rank\n  next: start the job with --mca pml ob1, or without -with-ft",
        );
    }
    state.failures.survive();
    state.predefined.ft = 1;
    if let Some(Err(error)) = job.descriptor().map(|descriptor| state.p2p.bml.bell().add(descriptor)) {
        give_up(&format!(
            "alhena: MPI_Init: failures of ranks cannot be noticed\n  seen: {error}\n  next: see `ulimit -n`, or start the job without \
             -with-ft"
        ));
    }
}

/// Maps the observation memory that came with the job. The job runs as well without it.
fn adopt_observation(job: &pmi::Job, params: &MpiParams) {
    let area = job.observation.as_ref().and_then(|file| observe::Area::map(file, job.local_ranks.len()).ok());
    if let Some(section) = area.and_then(|area| area.section(job.local_index())) {
        if params.deadlock != Deadlock::Off {
            let after = Duration::from_secs(params.deadlock_s as u64);
            section.find_deadlocks(after, params.deadlock == Deadlock::End);
        }
        observe::set_own(section);
    }
}

/// Makes `MPI_COMM_WORLD` and `MPI_COMM_SELF`, with the first user of MPI: programs with sessions alone use them, too,
/// though they should not (MPI-5.0 section 11.3). They stay when that leaves, since the next one goes on with them.
fn make_world_comms(state: &mut State) {
    let is_due = state.comms.find(abi::COMM_WORLD).is_none() && !FACTS.is_finalized();
    let Some(world) = state.world.as_ref().filter(|_| is_due) else { return };
    let me = world.job.rank;
    let everyone = world.group.clone();
    let alone = Arc::new(Group::new([me].into(), me));
    let initial = state.errhandlers.initial;
    let named = |id, group, rank, name: &str| {
        let mut comm = Comm::new(id, group, rank, initial);
        name.clone_into(&mut comm.name);
        comm
    };
    state.comms.set_builtin(abi::COMM_WORLD, named(0, everyone, me, "MPI_COMM_WORLD"));
    collectives::open_world_area(state);
    state.comms.set_builtin(abi::COMM_SELF, named(1, alone, 0, "MPI_COMM_SELF"));
}

/// `MPI_Finalize`: the attributes of `MPI_COMM_SELF` go first, so that a library can hang its own finalization
/// there (MPI-5.0 section 11.2.4).
pub fn finalize(t: &mut Token) -> Result<()> {
    if !FACTS.is_initialized() || FACTS.is_finalized() {
        return Err(Error::new(abi::ERR_OTHER, "MPI_Finalize was called without MPI_Init or twice"));
    }
    objects::attr::delete_all(t, abi::COMM_SELF)?;
    objects::attr::delete_all(t, abi::COMM_WORLD)?;
    flush_buffers(t);
    dynamic::finalize(t);
    // All ranks of the world stay until each has sent all it had: a rank that leaves answers no peer.
    let met = if t.lock().failures.survives {
        failures::meet_to_finalize(t);
        Ok(())
    } else {
        collectives::meet_to_finalize(t)
    };
    let handler = t.lock().comm(abi::COMM_WORLD).map(|world| world.errhandler);
    if let (Err(_), Ok(Handler::Fatal | Handler::Abort)) = (&met, &handler) {
        // While the job can be ended.
        return met;
    }
    if t.lock().sessions.is_empty() {
        say_goodbye(t);
    } else {
        settle(t);
    }
    meet_at_launcher(t);
    let mut state = t.lock();
    FACTS.finalize();
    drop_from_table(&mut state, abi::COMM_WORLD);
    drop_from_table(&mut state, abi::COMM_SELF);
    if let (Err(_), Ok(handler)) = (&met, handler) {
        // The communicator that the error is raised on is gone.
        state.errhandlers.initial = handler;
    }
    let last = state.sessions.is_empty();
    drop(state);
    if last {
        leave(t);
    }
    met
}

/// Lets all buffered messages leave.
fn flush_buffers(t: &mut Token) {
    let (comms, sessions) = {
        let state = t.lock();
        (state.comms.handles(), state.sessions.handles())
    };
    let places =
        comms.into_iter().map(BufferOwner::Comm).chain(sessions.into_iter().map(BufferOwner::Session));
    for place in places.chain([BufferOwner::Process]) {
        // A communicator or session that went meanwhile has nothing left to send.
        let _ = messages::buffer::flush(t, place);
    }
}

/// Waits until nothing that this process has begun depends on it any more.
fn settle(t: &mut Token) {
    wait_actively(t, |state| (state.p2p.idle() && state.p2p.is_flushed()).then_some(()));
}

/// Lets everything that this process started reach its peers, and announces that it leaves: its end is no loss then. It
/// waits for no peer that is not to receive something from it.
fn say_goodbye(t: &mut Token) {
    settle(t);
    wait_actively(t, |state| state.leave().then_some(()));
}

/// Waits for the end of all processes of the world, where that takes more than a goodbye: a NIC whose process has ended
/// acknowledges nothing, and a peer that is not done yet may need an answer.
fn meet_at_launcher(t: &mut Token) {
    let fence = {
        let mut state = t.lock();
        let State { p2p, world: Some(world), .. } = &mut *state else { return };
        if !p2p.bml.ends_together() && !p2p.matches_below() {
            return;
        }
        world.job.begin_fence()
    };
    wait_in(t, fence);
}

/// The number that the meeting at the launcher has among the collective calls of the world.
const LAST_MEETING: u64 = u64::MAX;

/// Waits in a fence of all processes of the world and makes progress meanwhile: a peer that is not done yet may need an
/// answer, such as to close a connection where it may have only few. Should the launcher be gone, so is the job.
fn wait_in(t: &mut Token, fence: pmi::Fence) {
    let place = Arc::new(Mutex::new(Some(fence)));
    let is_over = Arc::new(AtomicBool::new(false));
    let wait = |place: &Mutex<Option<pmi::Fence>>| {
        let mut fence = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = fence.as_mut().map(pmi::Fence::wait);
        fence
    };
    let give_back = |state: &mut State, fence: Option<pmi::Fence>| {
        if let (Some(world), Some(fence)) = (&mut state.world, fence) {
            world.job.end_fence(fence);
        }
    };
    let (place_of_worker, over) = (Arc::clone(&place), Arc::clone(&is_over));
    let began = engine::run_apart(
        t,
        move || wait(&place_of_worker),
        move |state: &mut State, fence| {
            give_back(state, fence);
            over.store(true, Ordering::Release);
        },
    );
    match began {
        Ok(()) => {
            let all = |state: &mut State| reason::of_all_members(state, abi::COMM_WORLD, LAST_MEETING);
            wait_actively_seen(t, all, |_| is_over.load(Ordering::Acquire).then_some(()));
        }
        // Where no thread can be started, this one waits.
        Err(_) => give_back(&mut t.lock(), wait(&place)),
    }
}

/// The last user of MPI leaves, the world or a session: it informs peers and launcher, so that the process may exit.
pub fn leave(t: &mut Token) {
    flush_buffers(t);
    say_goodbye(t);
    engine::end_outside(t);
    DOMAIN.set_mode(Mode::After, false);
    announce(t, FACTS.level(), observe::State::Finalized);
    if let Some(world) = &mut t.lock().world {
        // The launcher may be gone already; then it need not know.
        let _ = world.job.finalized();
    }
}

/// `MPI_Initialized`
pub fn initialized(_t: &mut Token, flag: &mut i32) -> Result<()> {
    *flag = i32::from(FACTS.is_initialized());
    Ok(())
}

/// `MPI_Finalized`
pub fn finalized(_t: &mut Token, flag: &mut i32) -> Result<()> {
    *flag = i32::from(FACTS.is_finalized());
    Ok(())
}

/// `MPI_Query_thread`
pub fn query_thread(_t: &mut Token, provided: &mut i32) -> Result<()> {
    *provided = FACTS.level();
    Ok(())
}

/// `MPI_Is_thread_main`
pub fn is_thread_main(_t: &mut Token, flag: &mut i32) -> Result<()> {
    *flag = i32::from(FACTS.is_main_thread());
    Ok(())
}

/// `MPI_Abort`: ends the whole job, whatever the communicator. Also from a signal handler, which may have interrupted the
/// thread that has the state: then the communicator is not looked at.
pub fn abort(t: &mut Token, comm: abi::Comm, code: i32) -> Result<()> {
    if let Some(state) = t.try_lock() {
        state.comm(comm)?;
    }
    abort_with(code, format_args!("alhena: MPI_Abort was called with error code {code}"))
}

/// `MPI_Get_version`
pub fn get_version(_t: &mut Token, version: &mut i32, subversion: &mut i32) -> Result<()> {
    (*version, *subversion) = (abi::VERSION, abi::SUBVERSION);
    Ok(())
}

/// `MPI_Get_library_version`
pub fn get_library_version(_t: &mut Token, mut version: StrOut<'_>) -> Result<()> {
    version.set(concat!("Alhena ", env!("CARGO_PKG_VERSION"), " (MPI 5.0, standard ABI 1.0)"));
    Ok(())
}

/// `MPI_Get_processor_name`: the host name as the kernel has it; nothing is resolved.
pub fn get_processor_name(_t: &mut Token, mut name: StrOut<'_>) -> Result<()> {
    name.set(&host_name());
    Ok(())
}

fn host_name() -> String {
    platform::host::name().unwrap_or_else(|| "localhost".to_owned())
}

/// `MPI_Wtime`: seconds since the machine started.
pub fn wtime() -> f64 {
    platform::clock::seconds()
}

/// `MPI_Wtick`
pub fn wtick() -> f64 {
    1e-9
}

/// `MPI_Pcontrol`: for profilers that interpose it.
pub fn pcontrol(_t: &mut Token, _level: i32) -> Result<()> {
    Ok(())
}

/// `MPI_Info_create_env`
pub fn info_create_env(
    t: &mut Token,
    _argc: i32,
    _argv: ffi::Strings<'_>,
    info: &mut abi::Info,
) -> Result<()> {
    let mut state = t.lock();
    let env = if state.infos.env == Info::default() { environment() } else { state.infos.env.clone() };
    *info = state.infos.add(env)?;
    Ok(())
}

/// What `MPI_Info_create_env` knows before initialisation (MPI-5.0 section 11.2.1): what our launcher has passed, else
/// what can be seen.
fn environment() -> Info {
    if let Some(given) = pmi::start_info::info() {
        return with_memory_kinds(given.into_iter().collect());
    }
    let mut info = Info::default();
    if let Some(command) = std::env::args_os().next() {
        info.set("command", &command.to_string_lossy());
    }
    if let Ok(directory) = std::env::current_dir() {
        info.set("wdir", &directory.to_string_lossy());
    }
    info.set("host", &host_name());
    info.set("arch", std::env::consts::ARCH);
    info
}

/// What was asked for in kinds of memory (MPI-5.0 section 11.4.3) becomes what there is.
fn with_memory_kinds(mut info: Info) -> Info {
    if let Some(asked) = info.get(hints::KINDS) {
        let kinds = hints::kinds_for(Some(asked));
        info.set(hints::KINDS, &kinds);
    }
    info
}

//! A key space without a launcher that has one: a thread of rank 0 keeps it, for ranks that `srun --mpi=none` has started.
//!
//! ```text
//!   rank 0                                             every rank, rank 0 too
//!    │ listens at a port that all compute alike          looks for it: the name is resolved anew each time
//!    │ ── hello: step, how the secret is had ───────►  reads the secret: a credential of munge, or a file
//!    │ ◄─ proofs, both ways (crate connect) ──────────►   from here on all is encrypted and signed
//!    │ ◄─ its node ────────────────────────────────────   then PMI-1, as under any launcher
//! ```
//!
//! Users of the host can compute the ports, too, and listen at one before rank 0 does. One that does can pass on what
//! ranks and rank 0 send to each other, and neither read it nor put in anything.
//!
//! The secret does not cross the network in the clear: munge's credential can be read by processes of this user only, on
//! hosts of the cluster. A rank that is gone before it has finalized ends the job: rank 0 ends, and the others see their
//! connections end.

use std::env;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use connect::{Acceptor, Protection, Role, Secret, Session, Who};

use crate::abort::{self, Abort};
use crate::connection::Connection;
use crate::munge::Munge;
use crate::pmi1::{JobPlace, Server};
use crate::server::{self, Event, Phase};
use crate::slurm::JobStep;
use crate::standard::{self, Contact};
use crate::wire::{Line, LineBuffer};
use crate::{Error, token};

/// Names a file with the secret, where there is no munge.
const TOKEN_FILE: &str = "ALHENA_TOKEN_FILE";
/// First word of the hello.
const HELLO: &str = "alhena-star";
/// Longest hello.
const LONGEST: usize = 4096;
/// How long rank 0 is looked for: it may read its input before it calls `MPI_Init`.
const SEARCH: Duration = Duration::from_secs(300);
/// Time between two rounds of looking.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest wait for one connection and one part of the exchange.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for a hello: a thread does nothing else, and other programs may listen at these ports in silence.
const HELLO_TIMEOUT: Duration = Duration::from_secs(1);

/// This process's connection with rank 0.
pub(crate) struct Star {
    pub(crate) server: Server,
    /// From now on the end of the connection is no failure.
    finalized: Arc<AtomicBool>,
    /// Rank 0: ends when all have finalized.
    keeper: Option<mpsc::Receiver<()>>,
}

/// Meets the other ranks of `step`.
pub(crate) fn meet(step: &JobStep) -> Result<(Star, JobPlace), Error> {
    let mut keeper = None;
    let (stream, session) = match step.rank {
        0 => {
            let (secret, way) = Secrets::make(step).map_err(no_secret)?;
            let listener = platform::tcp::listen(step.ports.iter().copied())
                .map_err(Error::io("MPI_Init: opening a port"))?;
            let port = listener.local_addr().map_err(Error::io("MPI_Init: opening a port"))?.port();
            keeper = Some(Keeper::start(step, listener, secret, way)?);
            let here = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            call(here, step, Some(secret)).map_err(|why| lost(format!("{here}: {why}")))?
        }
        _ => find(step)?,
    };
    let finalized = Arc::new(AtomicBool::new(false));
    if step.rank != 0 {
        watch(&stream, Arc::clone(&finalized))?;
    }
    let mut connection = Connection::sealed(stream, session);
    connection.send("MPI_Init", &format!("cmd={NODE} node={}\n", step.node))?;
    let (server, place) = standard::meet(Contact { connection, rank: step.rank, size: step.size })?;
    Ok((Star { server, finalized, keeper }, place))
}

impl Star {
    /// Rank 0 returns when all ranks have finalized.
    pub(crate) fn finalize(&mut self) -> Result<(), Error> {
        self.finalized.store(true, Ordering::SeqCst);
        self.server.finalize()?;
        if let Some(keeper) = self.keeper.take() {
            // Nothing is ever sent: the other end is dropped.
            let _ = keeper.recv();
        }
        Ok(())
    }
}

fn lost(seen: String) -> Error {
    Error::Meeting {
        seen,
        next: "use `srun --mpi=pmi2` or `mpiexec`; see whether the step's hosts reach each other at these ports",
    }
}

fn no_secret(seen: String) -> Error {
    Error::Meeting {
        seen,
        next: "use `srun --mpi=pmi2` or `mpiexec`; or write `openssl rand -hex 16` to a file of mode 0600 that all hosts \
               see, and name it by ALHENA_TOKEN_FILE",
    }
}

/// How the ranks of a step come to a common secret.
struct Secrets;

impl Secrets {
    fn file() -> Option<PathBuf> {
        env::var_os(TOKEN_FILE).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Rank 0's: the secret, and what the hello holds of it.
    fn make(step: &JobStep) -> Result<(Secret, String), String> {
        if let Some(path) = Secrets::file() {
            return Ok((token::read(&path)?, "file".to_owned()));
        }
        let random = || crate::random().map(u128::from).map_err(|error| error.to_string());
        let secret = Secret::new(random()? << 64 | random()?);
        let text = format!("{HELLO} {} {} {}", step.job, step.step, secret.encode());
        let credential = Munge::load()?.encode(&text)?;
        Ok((secret, format!("munge {credential}")))
    }

    /// What `way`, the end of a hello, leads to.
    fn read(step: &JobStep, way: &str) -> Result<Secret, String> {
        match way.split_once(' ') {
            None if way == "file" => {
                let path = Secrets::file().ok_or_else(|| format!("{TOKEN_FILE} is set at rank 0 alone"))?;
                token::read(&path)
            }
            Some(("munge", credential)) => {
                let text = Munge::load()?.decode(credential)?;
                let words: Vec<&str> = text.split(' ').collect();
                match words[..] {
                    [HELLO, job, number, secret]
                        if job.parse() == Ok(step.job) && number.parse() == Ok(step.step) =>
                    {
                        Secret::parse(secret).ok_or_else(|| "a credential without a secret".to_owned())
                    }
                    _ => Err("a credential for something else".to_owned()),
                }
            }
            _ => Err("it speaks another protocol".to_owned()),
        }
    }
}

/// Looks for rank 0.
fn find(step: &JobStep) -> Result<(TcpStream, Session), Error> {
    let end = Instant::now() + SEARCH;
    loop {
        let why = match round(step) {
            Ok(found) => return Ok(found),
            Err(why) => why,
        };
        if Instant::now() > end {
            return Err(lost(format!(
                "rank 0 was looked for on {} for {} s; {why}",
                step.first,
                SEARCH.as_secs()
            )));
        }
        std::thread::sleep(PAUSE);
    }
}

/// Tries all addresses and ports once.
fn round(step: &JobStep) -> Result<(TcpStream, Session), String> {
    let addresses: Vec<IpAddr> = match step.node {
        // The own name need not be known.
        0 => vec![Ipv4Addr::LOCALHOST.into()],
        _ => {
            let found = (step.first.as_str(), 0).to_socket_addrs();
            let found = found.map_err(|error| format!("{}: {error}", step.first))?;
            found.map(|address| address.ip()).collect()
        }
    };
    let mut failures = Vec::new();
    for address in addresses {
        for &port in &step.ports {
            let address = SocketAddr::new(address, port);
            match call(address, step, None) {
                Ok(found) => return Ok(found),
                Err(why) => failures.push(format!("{address}: {why}")),
            }
        }
    }
    Err(failures.join("; "))
}

fn number_of(step: &JobStep) -> u64 {
    u64::from(step.job) << 32 | u64::from(step.step)
}

/// Calls `address` and proves to be a rank of the step. `secret`: rank 0's own, which it need not read.
fn call(address: SocketAddr, step: &JobStep, secret: Option<Secret>) -> Result<(TcpStream, Session), String> {
    let words = |error: io::Error| error.to_string();
    let stream = TcpStream::connect_timeout(&address, TIMEOUT).map_err(words)?;
    stream.set_nodelay(true).map_err(words)?;
    let hello = read_hello(&stream).map_err(words)?;
    let expected = format!("{HELLO} {} {} ", step.job, step.step);
    let way = hello.trim_end().strip_prefix(&expected).ok_or("another program listens there")?;
    let secret = match secret {
        Some(secret) => secret,
        None => Secrets::read(step, way)?,
    };
    let who = Who { role: Role::Process, job: number_of(step), from: step.rank, to: 0 };
    let random = || crate::random().map(u128::from).map_err(|error| error.to_string());
    let session = connect::prove(&stream, secret, who, random()? << 64 | random()?, TIMEOUT)?;
    stream.set_read_timeout(None).map_err(words)?;
    Ok((stream, session))
}

/// The first line that comes within [`HELLO_TIMEOUT`].
fn read_hello(stream: &TcpStream) -> io::Result<String> {
    let end = Instant::now() + HELLO_TIMEOUT;
    let mut line = Vec::new();
    while line.len() < LONGEST && !line.ends_with(b"\n") {
        let mut byte = [0];
        // No byte behind the line is taken. It is read once in a job.
        connect::read_within(stream, &mut byte, end)?;
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Ends this process when rank 0 does, unless MPI was finalized before.
fn watch(stream: &TcpStream, finalized: Arc<AtomicBool>) -> Result<(), Error> {
    let step = "MPI_Init: watching rank 0";
    let stream = stream.try_clone().map_err(Error::io(step))?;
    let watcher = move || {
        let mut poll = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        loop {
            // SAFETY: one entry, which is ours.
            let ready = unsafe { libc::poll(&raw mut poll, 1, -1) };
            if ready > 0 {
                break;
            }
        }
        if !finalized.load(Ordering::SeqCst) {
            // Rank 0, or Slurm, has reported why.
            abort::leave(1);
        }
    };
    platform::thread::start("alhena-star", watcher).map_err(Error::io(step))
}

/// What each rank sends first.
const NODE: &str = "alhena_node";

/// A rank's place at the star's centre.
struct Seat {
    stream: TcpStream,
    session: Session,
    /// What has come of a record that is not whole.
    raw: Vec<u8>,
    input: LineBuffer,
    /// Records.
    unsent: Vec<u8>,
    node: Option<u32>,
    closed: bool,
}

/// Rank 0's thread.
struct Keeper {
    listener: TcpListener,
    acceptor: Acceptor<TcpStream>,
    hello: String,
    number: u64,
    seats: Vec<Option<Seat>>,
    /// Once all have sent where they are.
    server: Option<server::Server>,
    /// Dropped at the end.
    _alive: mpsc::Sender<()>,
}

impl Keeper {
    fn start(
        step: &JobStep,
        listener: TcpListener,
        secret: Secret,
        way: String,
    ) -> Result<mpsc::Receiver<()>, Error> {
        let (alive, over) = mpsc::channel();
        let mut keeper = Keeper {
            listener,
            acceptor: Acceptor::new("rank 0 of a job step", secret, Protection::Encrypt, Some(report))
                .for_processes(),
            hello: format!("{HELLO} {} {} {way}\n", step.job, step.step),
            number: number_of(step),
            seats: (0..step.size).map(|_| None).collect(),
            server: None,
            _alive: alive,
        };
        platform::thread::start("alhena-star", move || while keeper.turn() {})
            .map_err(Error::io("MPI_Init: starting a thread"))?;
        Ok(over)
    }

    /// Waits for what happens next and acts on it; `false`: all have finalized.
    fn turn(&mut self) -> bool {
        let event = |fd, more| libc::pollfd { fd, events: libc::POLLIN | more, revents: 0 };
        let mut polls = vec![event(self.listener.as_raw_fd(), 0)];
        polls.extend(self.acceptor.callers().map(|caller| event(caller.as_raw_fd(), 0)));
        let open = self.seats.iter().flatten().filter(|seat| !seat.closed);
        polls.extend(open.map(|seat| {
            event(seat.stream.as_raw_fd(), if seat.unsent.is_empty() { 0 } else { libc::POLLOUT })
        }));
        let timeout = self.acceptor.deadline().map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.map_or(-1, |time| time.as_millis() as i32 + 1);
        // SAFETY: the list is ours and has that length.
        unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout) };
        self.hear_callers();
        for rank in 0..self.seats.len() {
            self.serve(rank);
        }
        self.begin();
        self.send();
        let finalized = |server: &server::Server| {
            let sent = self.seats.iter().flatten().all(|seat| seat.unsent.is_empty());
            sent && (0..self.seats.len()).all(|rank| server.phase(rank) == Phase::Finalized)
        };
        !self.server.as_ref().is_some_and(finalized)
    }

    fn hear_callers(&mut self) {
        let now = Instant::now();
        loop {
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    let ready = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
                    if ready.and_then(|()| stream.write_all(self.hello.as_bytes())).is_ok() {
                        self.acceptor.add(stream, now);
                    }
                }
                // One that has proven nothing gives its own.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                    if !self.acceptor.give_one_up() {
                        end(
                            1,
                            format_args!(
                                "alhena: rank 0 has no descriptor left for another rank; the job ends\n  seen: {error}\n  \
                                 next: raise `ulimit -n` above the number of ranks, or use `srun --mpi=pmi2`"
                            ),
                        );
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        let (number, seats) = (self.number, &self.seats);
        let expect = |who: &Who| match seats.get(who.from as usize) {
            Some(None) if who.role == Role::Process && who.job == number => Ok(()),
            Some(Some(_)) => Err(Some("a second program in the place of one rank")),
            _ => Err(Some("it is of another job")),
        };
        let nonce = || {
            let half = || u128::from(crate::random().unwrap_or_default());
            half() << 64 | half()
        };
        for (stream, who, session) in self.acceptor.hear(now, nonce, expect) {
            let (raw, input, unsent) = (Vec::new(), LineBuffer::default(), Vec::new());
            let seat = Seat { stream, session, raw, input, unsent, node: None, closed: false };
            self.seats[who.from as usize].get_or_insert(seat);
        }
    }

    /// Reads what `rank` sends, and answers what can be answered.
    fn serve(&mut self, rank: usize) {
        let Some(seat) = &mut self.seats[rank] else { return };
        let mut chunk = [0; 4096];
        while !seat.closed {
            match seat.stream.read(&mut chunk) {
                Ok(0) => seat.closed = true,
                Ok(bytes) => {
                    seat.raw.extend_from_slice(&chunk[..bytes]);
                    let mut opened = Vec::new();
                    if let Err(forged) = seat.session.opener.open(&mut seat.raw, &mut opened) {
                        end(1, format_args!("alhena: the connection of rank {rank}: {forged}; the job ends"));
                    }
                    seat.input.push(&opened);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => seat.closed = true,
            }
        }
        while seat.node.is_none() || self.server.is_some() {
            match seat.input.next_line() {
                Ok(None) => break,
                Ok(Some(line)) => match (&mut self.server, seat.node) {
                    (_, None) => {
                        let line = Line::new(line).filter(|line| line.command() == NODE);
                        seat.node = line.and_then(|line| line.number("node"));
                        if seat.node.is_none() {
                            end(
                                1,
                                format_args!("alhena: rank {rank} does not say where it is; the job ends"),
                            );
                        }
                    }
                    (Some(server), Some(_)) => match server.handle(rank, line) {
                        Event::None | Event::OtherLibrary => {}
                        // The rank has reported why.
                        Event::Abort { code, .. } => abort::leave(code),
                        _ => {
                            end(1, format_args!("alhena: rank {rank} speaks another protocol; the job ends"))
                        }
                    },
                    (None, Some(_)) => break,
                },
                Err(_) => end(1, format_args!("alhena: rank {rank} speaks another protocol; the job ends")),
            }
        }
        let finalized = self.server.as_ref().is_some_and(|server| server.phase(rank) == Phase::Finalized);
        if seat.closed && !finalized {
            end(
                1,
                format_args!(
                    "alhena: rank {rank} is gone without MPI_Finalize; the job ends\n  \
                     seen: its connection with rank 0 was closed\n  next: see what srun says about task {rank}"
                ),
            );
        }
    }

    /// Makes the server once all ranks are there.
    fn begin(&mut self) {
        if self.server.is_some() {
            return;
        }
        let nodes: Option<Vec<u32>> = self.seats.iter().map(|seat| seat.as_ref()?.node).collect();
        if let Some(nodes) = nodes {
            let programs = vec![0; nodes.len()];
            self.server = Some(server::Server::new("alhena_star".to_owned(), &programs, &nodes, None));
            // What has come meanwhile.
            for rank in 0..self.seats.len() {
                self.serve(rank);
            }
        }
    }

    fn send(&mut self) {
        for (rank, text) in
            self.server.as_mut().map(|server| std::mem::take(&mut server.outbox)).unwrap_or_default()
        {
            if let Some(seat) = &mut self.seats[rank] {
                seat.session.sealer.seal(text.as_bytes(), &mut seat.unsent);
            }
        }
        for seat in self.seats.iter_mut().flatten() {
            while !seat.unsent.is_empty() {
                match seat.stream.write(&seat.unsent) {
                    Ok(bytes) => drop(seat.unsent.drain(..bytes)),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // Its end is seen when it is read next.
                    Err(_) => seat.unsent.clear(),
                }
            }
        }
    }
}

fn report(text: &str) {
    eprintln!("alhena: {}", text.replace('\n', "\nalhena: "));
}

/// Ends this process, rank 0, and so the job.
fn end(code: i32, why: std::fmt::Arguments<'_>) -> ! {
    Abort::ALONE.run(code, why)
}

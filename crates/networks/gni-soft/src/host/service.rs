//! The service thread of a NIC: hands memory files to peers, serves initiators that come by socket, and
//! watches peers for their end.
//!
//! It sleeps in `poll` and costs nothing while no NIC calls. What can be done by the initiator alone (mapped
//! memory, single copy by the kernel) never comes here.

use super::link::{Link, is_direct, split_response, write};
use super::own::{Own, lock};
use super::sockets::{Stream, accept_tcp, accept_unix, send_file};
use super::wire::{HELLO, Hello, Purpose, REQUEST, Request, Response};
use connect::{Acceptor, Protection, Secret};
use core::sync::atomic::{AtomicBool, Ordering};
use gni::HwStatus;
use platform::pidfd::Pidfd;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// With links to other services, the thread looks this often for requests that wait for a response, and wakes the
/// rank so that it looks at their deadlines.
const TICK_MS: i32 = 500;
/// Bytes read from a connection at a time.
const GULP: usize = 256 << 10;
/// Callers accepted in a row, before the accepted ones are read from.
const CALLERS: usize = 64;

/// A peer process whose end is to be noticed.
pub(super) struct Watched {
    pub(super) process: Pidfd,
    pub(super) gone: Arc<AtomicBool>,
}

/// What the rank orders its service to do.
#[derive(Default)]
struct Orders {
    links: Vec<Arc<Link>>,
    watched: Vec<Watched>,
    stop: bool,
}

/// The rank's handle on its service thread; dropping it ends the thread.
pub(super) struct Service {
    orders: Arc<Mutex<Orders>>,
    bell: Arc<File>,
    thread: Option<JoinHandle<()>>,
}

/// Where a service listens.
pub(super) struct Listeners {
    pub(super) nic: UnixListener,
    /// Present in the NIC that gives out the node's segment.
    pub(super) node: Option<UnixListener>,
    pub(super) tcp: Option<TcpListener>,
}

impl Service {
    /// `secret` is what callers over TCP must prove that they know; `report` takes a line about the first stranger.
    pub(super) fn start(
        own: Arc<Own>,
        listeners: Listeners,
        (secret, report): (Secret, Option<fn(&str)>),
    ) -> io::Result<Service> {
        // SAFETY: the call takes numbers alone and touches no memory of ours.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor.
        let bell = Arc::new(File::from(unsafe { OwnedFd::from_raw_fd(fd) }));
        let orders = Arc::new(Mutex::new(Orders::default()));
        let mut worker = Worker {
            own,
            listeners,
            orders: Arc::clone(&orders),
            bell: Arc::clone(&bell),
            strangers: Acceptor::new("the Gemini NIC", secret, Protection::None, report).for_processes(),
            rests_until: None,
            incoming: Vec::new(),
            links: Vec::new(),
            watched: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("gni-service".into()).spawn(move || worker.run())?;
        Ok(Service { orders, bell, thread: Some(thread) })
    }

    /// Has the service read the responses of a link.
    pub(super) fn add_link(&self, link: Arc<Link>) {
        lock(&self.orders).links.push(link);
        self.wake();
    }

    /// Has the service notice the end of a process.
    pub(super) fn watch(&self, watched: Watched) {
        lock(&self.orders).watched.push(watched);
        self.wake();
    }

    /// Makes the service look at what changed, for instance at a link with output left.
    pub(super) fn wake(&self) {
        // The counter can only be full of wake-ups not seen yet.
        let _ = (&*self.bell).write(&1u64.to_ne_bytes());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        lock(&self.orders).stop = true;
        self.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread aborts the process.
            let _ = thread.join();
        }
    }
}

/// The thread's state.
struct Worker {
    own: Arc<Own>,
    listeners: Listeners,
    orders: Arc<Mutex<Orders>>,
    bell: Arc<File>,
    strangers: Acceptor<Stream>,
    /// Until when no caller is accepted, for want of descriptors.
    rests_until: Option<Instant>,
    incoming: Vec<Incoming>,
    links: Vec<(Arc<Link>, Vec<u8>)>,
    watched: Vec<Watched>,
}

/// A connection of an initiator: over TCP by one that has proven to be of the job, or of this user's process on this host.
struct Incoming {
    stream: Stream,
    /// It has announced that it is for data.
    is_for_data: bool,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Worker {
    fn run(&mut self) {
        loop {
            self.wait();
            let mut counter = [0; 8];
            // Only resets the counter.
            let _ = (&*self.bell).read(&mut counter);
            if self.take_orders() {
                return;
            }
            let now = Instant::now();
            self.accept(now);
            self.hear(now);
            let own = &self.own;
            self.incoming.retain_mut(|incoming| incoming.turn(own));
            self.links.retain_mut(|(link, input)| turn_link(link, input, own));
            self.watched.retain(|watched| {
                let ended = watched.process.has_ended();
                if ended {
                    watched.gone.store(true, Ordering::Release);
                    own.ring();
                }
                !ended
            });
        }
    }

    /// Sleeps until something happens on one of the descriptors.
    fn wait(&self) {
        let entry = |fd: BorrowedFd<'_>, output: bool| libc::pollfd {
            fd: fd.as_raw_fd(),
            events: if output { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN },
            revents: 0,
        };
        let mut entries = vec![entry(self.bell.as_fd(), false)];
        if self.rests_until.is_none() {
            entries.push(entry(self.listeners.nic.as_fd(), false));
            entries.extend(self.listeners.node.iter().map(|node| entry(node.as_fd(), false)));
            entries.extend(self.listeners.tcp.iter().map(|tcp| entry(tcp.as_fd(), false)));
        }
        entries.extend(self.strangers.callers().map(|stream| entry(stream.as_fd(), false)));
        entries.extend(self.incoming.iter().map(|i| entry(i.stream.as_fd(), !i.output.is_empty())));
        entries.extend(self.links.iter().map(|(link, _)| entry(link.stream.as_fd(), link.has_output())));
        let processes = self.watched.iter().filter_map(|watched| watched.process.descriptor());
        entries.extend(processes.map(|descriptor| entry(descriptor, false)));
        // The rank begins requests without telling, so wherever there is a link one may have begun to wait.
        // The end of a process without a descriptor is only seen by looking.
        let is_blind = self.watched.iter().any(|watched| watched.process.descriptor().is_none());
        let tick = (is_blind || !self.links.is_empty()).then_some(TICK_MS);
        let now = Instant::now();
        let until = [self.strangers.deadline(), self.rests_until].into_iter().flatten().min();
        // Rounded up: one that sleeps too short would only sleep again.
        let left = until.map(|until| until.saturating_duration_since(now).as_millis() as i32 + 1);
        let timeout = [tick, left].into_iter().flatten().min().unwrap_or(-1);
        // SAFETY: the entries are valid, and `entries.len()` is their number.
        let ready = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as _, timeout) };
        if ready == 0 && self.links.iter().any(|(link, _)| link.is_waiting()) {
            self.own.ring();
        }
    }

    /// Takes the rank's orders; whether the thread is to end.
    fn take_orders(&mut self) -> bool {
        let mut orders = lock(&self.orders);
        self.links.extend(orders.links.drain(..).map(|link| (link, Vec::new())));
        self.watched.append(&mut orders.watched);
        orders.stop
    }

    /// Takes callers, some at a time. Without descriptors for more, silent callers make room; else the others wait.
    fn accept(&mut self, now: Instant) {
        self.rests_until = self.rests_until.filter(|&until| now < until);
        if self.rests_until.is_some() {
            return;
        }
        for _ in 0..CALLERS {
            match self.next_caller() {
                Ok(None) => return,
                Ok(Some(stream)) => self.keep(stream, now),
                Err(_) if self.strangers.give_one_up() => {}
                Err(_) => {
                    self.rests_until = Some(now + Duration::from_millis(TICK_MS as u64));
                    return;
                }
            }
        }
    }

    fn next_caller(&self) -> io::Result<Option<Stream>> {
        if let Some(stream) = accept_unix(&self.listeners.nic)? {
            return Ok(Some(stream));
        }
        if let Some(node) = &self.listeners.node
            && let Some(stream) = accept_unix(node)?
        {
            return Ok(Some(stream));
        }
        self.listeners.tcp.as_ref().map_or(Ok(None), accept_tcp)
    }

    /// Has a caller over TCP wait until it has proven to be of the job. The kernel vouches for those of this host;
    /// another user's is not read.
    fn keep(&mut self, stream: Stream, now: Instant) {
        if stream.is_of_other_user() {
            self.strangers.turn_away(&stream, format_args!("it is another user's"));
        } else if stream.prepare().is_ok() {
            match stream {
                Stream::Tcp(_) => self.strangers.add(stream, now),
                Stream::Unix(_) => self.incoming.push(Incoming::new(stream, false)),
            }
        }
    }

    /// Takes the callers over TCP that have proven to be of the job.
    fn hear(&mut self, now: Instant) {
        let own = &self.own;
        let callers = self.strangers.hear(now, platform::random::nonce, |who| own.expects(who));
        for (stream, _, session) in callers {
            match is_direct(&session) {
                true => self.incoming.push(Incoming::new(stream, true)),
                false => self.strangers.turn_away(&stream, format_args!("it calls through a relay")),
            }
        }
    }
}

/// Reads what a connection has into `input`; `false`: it is closed or broken.
fn read_all(stream: &Stream, input: &mut Vec<u8>) -> bool {
    loop {
        let had = input.len();
        input.resize(had + GULP, 0);
        let read = stream.read(&mut input[had..]);
        input.truncate(had + read.as_ref().ok().copied().flatten().unwrap_or(0));
        match read {
            Ok(Some(0)) | Err(_) => return false,
            Ok(Some(GULP)) => {}
            Ok(_) => return true,
        }
    }
}

impl Incoming {
    fn new(stream: Stream, is_for_data: bool) -> Incoming {
        Incoming { stream, is_for_data, input: Vec::new(), output: Vec::new() }
    }

    /// Serves what has arrived; `false`: the connection is over.
    fn turn(&mut self, own: &Own) -> bool {
        let open = read_all(&self.stream, &mut self.input);
        let mut at = 0;
        if !self.is_for_data {
            let Some(hello) = self.input.get(..HELLO) else { return open };
            let Some(hello) = Hello::from_bytes(hello).filter(|hello| hello.key == own.key) else {
                return false;
            };
            if hello.purpose != Purpose::Data {
                self.give_file(own, hello.purpose);
                return false;
            }
            self.is_for_data = true;
            at = HELLO;
        }
        while let Some(head) = self.input.get(at..at + REQUEST) {
            let Some(request) = Request::from_bytes(head) else { return false };
            let end = at + REQUEST + request.data as usize;
            let Some(data) = self.input.get(at + REQUEST..end) else { break };
            let start = self.output.len();
            self.output.extend([0; super::wire::RESPONSE]);
            let status = own.serve(&request, data, &mut self.output);
            self.finish_response(start, &request, status);
            at = end;
        }
        self.input.drain(..at);
        let written = write(&self.stream, &self.output);
        self.output.drain(..written);
        open
    }

    /// Sends the file that a caller of this host wants, at once.
    fn give_file(&self, own: &Own, purpose: Purpose) {
        let Stream::Unix(stream) = &self.stream else { return };
        let block;
        let file = match purpose {
            Purpose::Core => Some(own.core_file.as_fd()),
            Purpose::Node => Some(own.node_file.as_fd()),
            Purpose::Doorbell => own.doorbell_file(),
            Purpose::Block(number) => {
                block = own.block(number);
                block.as_ref().map(|(file, _)| file.as_fd())
            }
            Purpose::Data => None,
        };
        if let Some(file) = file {
            // A caller that has gone away needs no file.
            let _ = send_file(stream, file);
        }
    }

    /// Fills in the head of the response that begins at `start`, or drops a response that is not wanted.
    fn finish_response(&mut self, start: usize, request: &Request, status: HwStatus) {
        if request.id == 0 {
            return self.output.truncate(start);
        }
        let body = start + super::wire::RESPONSE;
        if status != HwStatus::Ok {
            self.output.truncate(body);
        }
        let response = Response { id: request.id, status, data: (self.output.len() - body) as u32 };
        self.output[start..body].copy_from_slice(&response.to_bytes());
    }
}

/// Moves a link's bytes in both directions; `false`: the connection is over.
fn turn_link(link: &Link, input: &mut Vec<u8>, own: &Own) -> bool {
    link.flush();
    let open = read_all(&link.stream, input);
    let mut at = 0;
    let sound = match link.take_challenge(input) {
        Ok(Some(bytes)) => {
            at = bytes;
            loop {
                match split_response(&input[at..]) {
                    Ok(Some((response, whole))) => {
                        link.take(own, &response, &input[at + super::wire::RESPONSE..at + whole]);
                        at += whole;
                    }
                    Ok(None) => break true,
                    Err(()) => break false,
                }
            }
        }
        Ok(None) => true,
        Err(()) => false,
    };
    input.drain(..at);
    if !(open && sound) {
        link.die(own);
    }
    open && sound
}

//! Setting the transport up: what can be done before the peers are known.

use crate::burst::Burst;
use crate::card::Card;
use crate::conversation::Watch;
use crate::conversations::Conversations;
use crate::direct::Direct;
use crate::foreign::Foreigners;
use crate::hello::JobProof;
use crate::network::{COUNTED, Contact, LISTENER, Network, TIMER};
use crate::pair::ConnectLimits;
use crate::params::TcpParams;
use crate::room::FEWEST;
use crate::transport::{STRAIGHT, Tcp};
use btl::{Limits, Pace, Peer};
use connect::Acceptor;
use core::fmt;
use mem::Slab;
use platform::epoll::Epoll;
use platform::interfaces::{Interface, offered};
use platform::timer::Timer;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Why the transport cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The parameters leave no address, or name what is none.
    Addresses(String),
    /// The ports of the parameter are none, or taken.
    Ports(String),
    /// The limit for open files leaves too few descriptors: the limit, and how many are open.
    Descriptors(usize, usize),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Addresses(seen) => write!(
                f,
                "choosing the addresses of this process for TCP failed\n{seen}\nset btl_tcp_if_include or \
                 btl_tcp_if_exclude to names of interfaces or networks of this host: ip address"
            ),
            SetupError::Ports(seen) => write!(
                f,
                "listening for TCP connections failed\n{seen}\nset btl_tcp_ports to a range with a free port for each \
                 rank of a host, as 20000-20999, or to nothing"
            ),
            SetupError::Descriptors(limit, open) => write!(
                f,
                "setting up the transport over TCP failed: too few descriptors\nthe limit for open files is {limit}, and {open} \
                 are open; the transport needs {} more, and the program some\nraise the limit for open files: ulimit -n",
                FEWEST + SPARE
            ),
            SetupError::System(step, error) => write!(
                f,
                "setting up the transport over TCP failed: {step}\n{error}\nlook at the limit for open files: ulimit -n"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

/// Descriptors that are left to the program, at least.
const SPARE: usize = 3;

/// How many connections the limit for open files allows: three quarters of what is left of it, or all but 64.
fn connections_allowed() -> Result<usize, SetupError> {
    let limit = platform::descriptor::limit();
    let open = platform::descriptor::count_open();
    let left = limit.saturating_sub(open);
    let most = left.saturating_sub((left / 4).clamp(SPARE, 64));
    if most < FEWEST { Err(SetupError::Descriptors(limit, open)) } else { Ok(most) }
}

/// A port at which others can call, and the addresses of it that this process offers.
#[derive(Debug)]
pub struct Port {
    /// Listens without blocking.
    pub listener: TcpListener,
    /// With the addresses.
    own: Vec<Interface>,
    port: u16,
}

impl Port {
    /// What callers must know.
    pub fn card(&self) -> Card {
        Card::new(self.port, self.own.iter().map(|one| one.address).collect())
    }
}

/// Listens at a port that the parameters allow.
///
/// # Errors
/// [`SetupError`].
pub fn listen(params: &TcpParams) -> Result<Port, SetupError> {
    let system = |step| move |error| SetupError::System(step, error);
    let all = platform::interfaces::addresses().map_err(system("listing the network interfaces"))?;
    let own = offered(&all, &params.if_include, &params.if_exclude).map_err(SetupError::Addresses)?;
    let ports = platform::ports::range(&params.ports).ok_or_else(|| {
        SetupError::Ports(format!("btl_tcp_ports is \"{}\", which is no port and no range", params.ports))
    })?;
    let listener = platform::tcp::listen(ports.clone()).map_err(|error| match *ports.start() {
        0 => SetupError::System("listening on a port", error),
        _ => SetupError::Ports(format!("no port of {} is free: {error}", params.ports)),
    })?;
    let port = listener.local_addr().map_err(system("listening on a port"))?.port();
    Ok(Port { listener, own, port })
}

/// A transport whose peers are not known yet.
#[derive(Debug)]
pub struct Listening {
    port: Port,
    set: Arc<Epoll>,
    timer: Timer,
    /// Connections that there may be at a time.
    most: usize,
}

impl Listening {
    /// Listens on a free port.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(params: &TcpParams) -> Result<Listening, SetupError> {
        let system = |step| move |error| SetupError::System(step, error);
        let port = listen(params)?;
        let set = Arc::new(Epoll::new().map_err(system("making an epoll set"))?);
        set.add(port.listener.as_fd(), LISTENER, false).map_err(system("making an epoll set"))?;
        let timer = Timer::new().map_err(system("making a timer"))?;
        set.add(timer.as_fd(), TIMER, false).map_err(system("making an epoll set"))?;
        let most = match params.connections {
            0 => connections_allowed()?,
            given => (given as usize).max(FEWEST),
        };
        Ok(Listening { port, set, timer, most })
    }

    /// What the peers must know.
    pub fn card(&self) -> Card {
        self.port.card()
    }

    /// The transport of process `me` of a job whose processes have these cards. `report` takes the lines about the first
    /// stranger that calls.
    pub fn open(
        self,
        me: Peer,
        job: JobProof,
        cards: impl IntoIterator<Item = Card>,
        params: &TcpParams,
        report: Option<fn(&str)>,
    ) -> Tcp {
        let contacts = cards.into_iter().map(|card| Some(Contact { card, acquaintance: None })).collect();
        self.open_to(me, job, contacts, params, report)
    }

    /// As [`Listening::open`]; peers without a contact are reached by other ways.
    pub(crate) fn open_to(
        self,
        me: Peer,
        job: JobProof,
        contacts: Vec<Option<Contact>>,
        params: &TcpParams,
        report: Option<fn(&str)>,
    ) -> Tcp {
        let peers = Conversations::new(contacts.len());
        let card = self.card();
        let mut interfaces: Vec<String> = Vec::new();
        for one in &self.port.own {
            if !interfaces.contains(&one.name) {
                interfaces.push(one.name.clone());
            }
        }
        let max_send = params.max_send_size;
        let silence = Duration::from_millis(params.silence_ms as u64);
        let security = params.security.into();
        Tcp {
            pace: Pace { latency: params.latency as u64, bandwidth: params.bandwidth as u64 },
            limits: Limits {
                eager: params.eager_limit.min(max_send),
                max_send,
                get: true,
                put: true,
                min_rdma: STRAIGHT,
                min_rdma_answer: STRAIGHT,
                max_get: params.max_rdma_size,
                max_put: params.max_rdma_size,
                get_align: 1,
            },
            out_buffer: params.out_buffer,
            striping: params.striping,
            links_each: params.links as usize,
            connect_limits: ConnectLimits {
                address: Duration::from_millis(params.connect_timeout_ms as u64),
                rounds: params.connect_rounds as u32,
                refusals: params.connect_rounds as u32,
            },
            network: Network {
                set: self.set,
                links: Slab::new(),
                me: me.0,
                job,
                security,
                of_job: contacts.iter().flatten().count() as u32,
                contacts,
                foreigners: Foreigners::default(),
                own: self.port.own,
                interfaces,
                lane_places: HashMap::new(),
                most: self.most,
                callers: 0,
                wants_room: false,
                silence,
            },
            card,
            listener: self.port.listener,
            timer: self.timer,
            timer_at: None,
            strangers: Acceptor::new("the TCP transport", job.secret(), security, report).for_processes(),
            listens_again: None,
            hand: 0,
            watch: Watch::new(silence),
            report,
            peers,
            gone: Vec::new(),
            unsettled: Vec::new(),
            connects: false,
            ready: VecDeque::new(),
            lent: None,
            events: VecDeque::new(),
            direct: Direct::default(),
            recent: None,
            burst: Burst::new(params.burst),
            polls: 0,
            polled: false,
            arrivals: 0,
            bytes_sent: 0,
            bytes_moved: [0; COUNTED],
            divisions: 0,
            rails: None,
            reported: Vec::new(),
        }
    }
}

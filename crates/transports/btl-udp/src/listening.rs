//! Setting the transport up: what can be done before the peers are known.

use std::fmt;
use std::io;
use std::sync::Arc;

use btl::Peer;
use connect::Secret;
use connect::datagram::Datagrams;
use platform::epoll::Epoll;
use platform::interfaces::{addresses, mtu, offered};

use crate::card::MOST;
use crate::port::Port;
use crate::{Card, Udp, UdpParams};

/// Why the transport cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The parameters leave no address, or name what is none.
    Addresses(String),
    /// The ports of the parameter are none, or taken.
    Ports(String),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Addresses(seen) => write!(
                f,
                "choosing the addresses of this process for UDP failed\n{seen}\nset btl_udp_if_include or \
                 btl_udp_if_exclude to names of interfaces or networks of this host: ip address"
            ),
            SetupError::Ports(seen) => write!(
                f,
                "opening a port for UDP failed\n{seen}\nset btl_udp_ports to a range with free ports for each address of each rank \
                 of a host, as 20000-20999, or to nothing"
            ),
            SetupError::System(step, error) => write!(
                f,
                "setting up the transport over UDP failed: {step}\n{error}\nlook at the limit for open files: ulimit -n"
            ),
        }
    }
}

impl std::error::Error for SetupError {}

/// The longest packet where none is set and the interfaces take longer ones.
const LONGEST: usize = 9000;
/// The longest packet of an interface that reports none, as of Ethernet.
const USUAL: usize = 1500;

/// A transport whose peers are not known yet.
#[derive(Debug)]
pub struct Listening {
    ports: Vec<Port>,
    set: Arc<Epoll>,
    mtu: usize,
}

impl Listening {
    /// Opens a socket at each address.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(params: &UdpParams) -> Result<Listening, SetupError> {
        let system = |step| move |error| SetupError::System(step, error);
        let all = addresses().map_err(system("listing the network interfaces"))?;
        let own = offered(&all, &params.if_include, &params.if_exclude).map_err(SetupError::Addresses)?;
        let range = platform::ports::range(&params.ports).ok_or_else(|| {
            SetupError::Ports(format!("btl_udp_ports is \"{}\", which is no port and no range", params.ports))
        })?;
        let set = Arc::new(Epoll::new().map_err(system("making an epoll set"))?);
        let mut ports = Vec::new();
        for interface in own.into_iter().take(MOST) {
            let port =
                Port::open(interface, range.clone(), params.socket_buffer).map_err(|error| {
                    match range.start() {
                        0 => SetupError::System("opening a socket", error),
                        _ => SetupError::Ports(format!("no port of {} is free: {error}", params.ports)),
                    }
                })?;
            set.add(port.fd(), ports.len() as u64, false).map_err(system("making an epoll set"))?;
            ports.push(port);
        }
        let reported = ports.iter().map(|port: &Port| mtu(&port.interface.name).unwrap_or(USUAL));
        let least = reported.min().unwrap_or(USUAL).min(LONGEST);
        let mtu = if params.mtu == 0 { least } else { params.mtu as usize };
        Ok(Listening { ports, set, mtu: mtu.max(576) })
    }

    /// What the peers must know.
    ///
    /// # Panics
    /// Never: an open socket has an address.
    pub fn card(&self) -> Card {
        let place = |port: &Port| port.socket.local_addr().expect("an open socket has an address");
        Card { mtu: self.mtu, places: self.ports.iter().map(place).collect() }
    }

    /// The transport of process `me` of the job with this number and secret, whose processes have these cards. `report` takes the lines
    /// about the first stranger's datagram.
    pub fn open(
        self,
        me: Peer,
        (job, secret): (u64, Secret),
        cards: &[Card],
        params: &UdpParams,
        report: Option<fn(&str)>,
    ) -> Udp {
        let sealing = Datagrams::new(secret, job, me.0, params.security == crate::Security::Encrypt);
        let own = self.card();
        Udp::new((self.ports, self.set), &own, me, sealing, cards, params, report)
    }
}

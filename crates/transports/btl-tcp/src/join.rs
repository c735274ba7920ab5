//! Opens the transport in a job: a port, and a card with it; the others' cards, and the job's key.

use btl::join::report;
use btl::{Cards, Join, Lines, Peer, Start};
use mca::Quantity::Sum;
use mca::Variable;

use crate::{Card, JobProof, Listening, Tcp, TcpParams};

/// Under this name rank 0 puts the key that both sides of a connection prove to know.
const KEY: &str = "alhena-tcp-key";
/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-tcp";

const ADVICE: &str = "give all ranks the same transports: mpiexec --mca btl self,vader,tcp for the whole job";

/// A process that listens and does not know its peers yet.
#[derive(Debug)]
pub struct Joining {
    listening: Listening,
    params: TcpParams,
    is_repaired: bool,
}

impl Join for Joining {
    type Opened = Tcp;
    type Below = ();
    const ABOUT: &'static str =
        "TCP, between hosts and within one; eager and fragments, GET and PUT over several networks";
    const PARAMS: &'static [mca::Param] = TcpParams::PARAMS;
    const VARIABLES: &'static [Variable<Tcp>] = &[
        Variable::new("btl_tcp_bytes", Sum, Tcp::bytes_sent, "Payload sent over TCP"),
        Variable::new(
            "btl_tcp_network0_bytes",
            Sum,
            |tcp| tcp.bytes_moved()[0],
            "Payload that this process fetched from or stored into other processes' memory by TCP over the first network of this host, \
             in the order of the system's list of interfaces",
        ),
        Variable::new(
            "btl_tcp_network1_bytes",
            Sum,
            |tcp| tcp.bytes_moved()[1],
            "The same over the second network",
        ),
        Variable::new(
            "btl_tcp_network2_bytes",
            Sum,
            |tcp| tcp.bytes_moved()[2],
            "The same over the third network",
        ),
        Variable::new(
            "btl_tcp_network3_bytes",
            Sum,
            |tcp| tcp.bytes_moved()[3],
            "The same over all other networks",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining, Lines> {
        let params = TcpParams::read(start.values)?;
        let listening = Listening::new(&params).map_err(|error| Lines::of(&error))?;
        if start.job.me() == Peer(0) {
            let key = platform::random::secret();
            let key = key.map_err(|error| Lines::system("drawing the job's key for TCP", &error))?;
            start.job.put(KEY, &format!("{key:032x}"))?;
        }
        start.job.put(CARD, &listening.card().encode())?;
        Ok(Joining { listening, params, is_repaired: start.is_repaired })
    }

    fn open(self, job: &mut dyn Cards, _below: ()) -> Result<Tcp, Lines> {
        let key = |text: &str| u128::from_str_radix(text, 16).ok();
        let key = job.card(Peer(0), (KEY, "key of the job for TCP", ADVICE), key)?;
        let cards = job.cards((CARD, "TCP address", ADVICE), Card::parse)?;
        let proof = JobProof { id: job.id(), key };
        let mut tcp = self.listening.open(job.me(), proof, cards, &self.params, Some(report));
        if self.is_repaired {
            tcp.run_on_rails();
        }
        if let Some(suspects) = job.suspects() {
            tcp.report_suspicions_to(suspects);
        }
        Ok(tcp)
    }

    fn detail(tcp: &Tcp, peer: Peer) -> String {
        let networks = tcp.networks(peer);
        let mut text = match networks.len() {
            0 | 1 => String::new(),
            _ => format!("; large messages over {}, where all of them answer", networks.join(" and ")),
        };
        if let Some(how) = tcp.protected() {
            text += &format!("; {how}");
        }
        text
    }
}

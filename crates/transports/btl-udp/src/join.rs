//! Opens the transport in a job: sockets, and a card with their addresses; the others' cards, and the job's key.

use btl::join::report;
use btl::{Cards, Join, Lines, Peer, Start};
use connect::Secret;
use mca::Quantity::Sum;
use mca::Variable;

use crate::{Card, Listening, Udp, UdpParams};

/// Under this name rank 0 puts the key with which datagrams are signed.
const KEY: &str = "alhena-udp-key";
/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-udp";

const ADVICE: &str =
    "give all ranks the same transports: mpiexec --mca pml dr --mca btl self,udp for the whole job";

/// A process that has its sockets and does not know its peers yet.
#[derive(Debug)]
pub struct Joining {
    listening: Listening,
    params: UdpParams,
}

impl Join for Joining {
    type Opened = Udp;
    type Below = ();
    const ABOUT: &'static str = "UDP, between hosts and within one, below data reliability alone (pml dr): signed datagrams over \
                                 several networks";
    const PARAMS: &'static [mca::Param] = UdpParams::PARAMS;
    const VARIABLES: &'static [Variable<Udp>] = &[
        Variable::new("btl_udp_bytes", Sum, |udp| udp.counts().bytes, "Payload sent over UDP"),
        Variable::new("btl_udp_datagrams", Sum, |udp| udp.counts().datagrams, "Datagrams sent over UDP"),
        Variable::new(
            "btl_udp_strangers",
            Sum,
            |udp| udp.counts().strangers,
            "Datagrams over UDP that no process of the job has made, or that were changed on their way: dropped",
        ),
    ];

    fn begin(start: &mut Start<'_>) -> Result<Joining, Lines> {
        let params = UdpParams::read(start.values)?;
        let listening = Listening::new(&params).map_err(|error| Lines::of(&error))?;
        if start.job.me() == Peer(0) {
            let key = platform::random::secret();
            let key = key.map_err(|error| Lines::system("drawing the job's key for UDP", &error))?;
            start.job.put(KEY, &Secret::new(key).encode())?;
        }
        start.job.put(CARD, &listening.card().encode())?;
        Ok(Joining { listening, params })
    }

    fn open(self, job: &mut dyn Cards, _below: ()) -> Result<Udp, Lines> {
        let secret = job.card(Peer(0), (KEY, "key of the job for UDP", ADVICE), Secret::parse)?;
        let cards = job.cards((CARD, "UDP address", ADVICE), Card::parse)?;
        Ok(self.listening.open(job.me(), (job.id(), secret), &cards, &self.params, Some(report)))
    }

    fn detail(udp: &Udp, peer: Peer) -> String {
        format!("; {}", udp.places(peer).join(", and "))
    }
}

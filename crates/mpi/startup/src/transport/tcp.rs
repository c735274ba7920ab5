//! Opens the transport over TCP: a port, and a card with it put before the job's fence; those of the others, and the job's
//! key, read after it.

use btl::{Peer, Suspects, Suspicion};
use btl_tcp::{Card, JobProof, Listening, Tcp, TcpParams};

use super::{random, report};
use objects::params::Params;

/// Under this name rank 0 puts the key that both sides of a connection prove to know.
const KEY: &str = "alhena-tcp-key";
/// Under this name each process puts how it is reached.
const CARD: &str = "alhena-tcp";

/// Listens and puts this process's card, which the others see after the next fence.
///
/// # Errors
/// The lines to print.
pub(super) fn listen(job: &mut pmi::Job, params: &Params) -> Result<Listening, String> {
    let tcp = TcpParams::read(&params.values).map_err(|error| error.to_string())?;
    let listening = Listening::new(&tcp).map_err(|error| format!("alhena: {error}"))?;
    if job.rank == 0 {
        let key = random().map_err(|error| error.to_string())?;
        job.put(KEY, &format!("{key:032x}")).map_err(|error| error.to_string())?;
    }
    job.put(CARD, &listening.card().encode()).map_err(|error| error.to_string())?;
    Ok(listening)
}

/// The transport, all of whose peers have put their cards.
///
/// # Errors
/// The lines to print.
pub(super) fn open(listening: Listening, job: &mut pmi::Job, params: &Params) -> Result<Tcp, String> {
    let tcp = TcpParams::read(&params.values).map_err(|error| error.to_string())?;
    let text = job.get(0, KEY).map_err(|error| error.to_string())?.unwrap_or_default();
    let proof = u128::from_str_radix(&text, 16).map(|key| JobProof { id: job.job_id, key });
    let proof = proof.map_err(|_| missing(job, 0, "the job's key"))?;
    let cards = (0..job.size).map(|rank| card_of(job, rank)).collect::<Result<_, _>>()?;
    let mut tcp = listening.open(Peer(job.rank), proof, cards, &tcp, Some(report));
    if let Some(launcher) = job.suspicions() {
        tcp.report_suspicions_to(Box::new(ToLauncher(launcher)));
    }
    Ok(tcp)
}

/// The launcher finds out whether a host that is suspected answers.
#[derive(Debug)]
struct ToLauncher(pmi::lost::Suspicions);

impl Suspects for ToLauncher {
    fn suspect(&mut self, suspicion: &Suspicion) {
        let Suspicion { peer, silent, patience, places } = suspicion;
        let (rank, places) = (peer.0, places.iter().map(|place| place.ip()).collect());
        self.0.tell(&pmi::lost::Suspicion { rank, silent: *silent, patience: *patience, places });
    }
}

fn card_of(job: &mut pmi::Job, rank: u32) -> Result<Card, String> {
    let text = job.get(rank, CARD).map_err(|error| error.to_string())?;
    text.and_then(|text| Card::parse(&text)).ok_or_else(|| missing(job, rank, "its TCP address"))
}

fn missing(job: &pmi::Job, rank: u32, what: &str) -> String {
    format!(
        "alhena: rank {} has no way to rank {rank}\n\
         alhena: seen: it did not say {what}\n\
         alhena: give all ranks the same transports: mpiexec --mca btl self,vader,tcp for the whole job",
        job.rank
    )
}

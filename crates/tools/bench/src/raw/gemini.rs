//! A pair over Gemini: the NIC in software of this host.

use gni::{InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::host::{self, HostConfig, HostNic};
use gni_soft::{NicConfig, SoftNic};
use mem::PeerBytes;
use sim::raw::{Carrier, OverGemini};

use super::exchange::{Exchange, pattern};

/// Under this name each process puts what its peer has to know.
const CARD: &str = "alhena-raw-card";

/// A side.
pub(super) struct Messages(OverGemini<SoftNic<HostNic>>);

/// Opens this process's side, for messages of at most `most` bytes.
pub(super) fn open(job: &mut pmi::Job, carrier: Carrier, most: usize) -> Result<Messages, String> {
    let place = |rank: u32| (PeAddr(job.node_of[rank as usize]), InstId(rank));
    let config = HostConfig {
        job: (job.job_id >> 32) as u32,
        secret: u128::from(pmi::random().map_err(|error| error.to_string())?),
        proxy_pid: job.proxy_pid,
        ..HostConfig::default()
    };
    let modes = Modes::FORK_PARTCOPY | Modes::ERR_NO_KILL | Modes::MDD_SHARED | Modes::FMA_SHARED;
    let (pe, inst) = place(job.rank);
    let key = JobKey::for_job(job.job_id as u32);
    let nic = host::attach(pe, inst, key, modes, NicConfig::default(), config)
        .map_err(|error| error.to_string())?;
    // Processes of one host find each other by name.
    let (peer, rank) = (place(1 - job.rank), job.rank);
    let refused = |error: gni::Error| format!("the NIC answered {error}");
    let mut side = OverGemini::new(nic, peer, rank == 0, carrier, most).map_err(refused)?;
    job.put(CARD, &mem::hex::text(&side.card())).map_err(|error| error.to_string())?;
    job.fence().map_err(|error| error.to_string())?;
    let text = job.get(1 - rank, CARD).map_err(|error| error.to_string())?.unwrap_or_default();
    side.meet(&mem::hex::bytes(&text).unwrap_or_default()).map_err(refused)?;
    job.fence().map_err(|error| error.to_string())?;
    Ok(Messages(side))
}

impl Exchange for Messages {
    fn exchange(&mut self, bytes: usize, messages: u32) -> Result<(), String> {
        self.0.begin(bytes, messages);
        let now = || Time(platform::clock::nanoseconds());
        while !self.0.is_done() {
            self.0.turn(now).map_err(|error| format!("the NIC answered {error}"))?;
        }
        Ok(())
    }

    fn fill(&mut self, bytes: usize) {
        let [from, into] = self.0.buffers();
        from.write(PeerBytes::of(&pattern(bytes)));
        into.write(PeerBytes::of(&vec![0; bytes]));
    }

    fn is_intact(&self, bytes: usize) -> bool {
        self.0.buffers()[1].part(0, bytes).as_bytes().to_vec() == pattern(bytes)
    }
}

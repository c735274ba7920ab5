//! The job's key space, as transports see it.

use btl::{Cards, Lines, Peer, Suspects, Suspicion};

/// A job of which transports know no launcher.
pub(super) struct JobCards<'a>(pub &'a mut pmi::Job);

/// Errors of a launcher have the beginnings of their lines.
fn lines(error: pmi::Error) -> Lines {
    Lines(error.to_string())
}

impl Cards for JobCards<'_> {
    fn me(&self) -> Peer {
        Peer(self.0.rank)
    }

    fn id(&self) -> u64 {
        self.0.job_id
    }

    fn nodes(&self) -> &[u32] {
        &self.0.node_of
    }

    fn oversubscribed(&self) -> bool {
        self.0.oversubscribed
    }

    fn proxy_pid(&self) -> Option<i32> {
        self.0.proxy_pid
    }

    fn put(&mut self, key: &str, card: &str) -> Result<(), Lines> {
        self.0.put(key, card).map_err(lines)
    }

    fn get(&mut self, of: Peer, key: &str) -> Result<Option<String>, Lines> {
        self.0.get(of.0, key).map_err(lines)
    }

    fn suspects(&mut self) -> Option<Box<dyn Suspects>> {
        let launcher = self.0.suspicions()?;
        Some(Box::new(ToLauncher(launcher)))
    }

    fn end(&self) -> fn(&str) -> ! {
        |text| objects::fatal::abort_with(1, format_args!("{}", Lines::of(&text)))
    }

    fn fence(&mut self) -> Result<(), Lines> {
        self.0.fence().map_err(lines)
    }
}

/// The launcher finds out whether a host that is suspected answers.
#[derive(Debug)]
struct ToLauncher(pmi::lost::Suspicions);

impl Suspects for ToLauncher {
    fn suspect(&mut self, suspicion: Suspicion) {
        let Suspicion { peer, silent, patience, places, greeting } = suspicion;
        self.0.tell(&pmi::lost::Suspicion { rank: peer.0, silent, patience, places, greeting });
    }
}

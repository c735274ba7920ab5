//! What happens when a transport gives a peer up.

use btl::{Loss, Peer};
use engine::Process;

use crate::errhandler::Handler;
use crate::state::State;

impl State {
    /// Nothing more reaches `peer` or comes from it. Requests with it have ended with `MPI_ERR_PROC_ABORTED`, but
    /// others may wait for what such a request was to bring about: unless the program handles errors itself
    /// (the handler of `MPI_COMM_WORLD`), the job ends. A process that is leaving has nothing to wait for.
    /// It ends in any case where the message layer is set to do as its original did.
    #[cold]
    pub fn peer_lost(&mut self, peer: Peer) {
        let handler =
            self.comms.find(abi::COMM_WORLD).map_or(self.errhandlers.initial, |comm| comm.errhandler);
        let handled = !matches!(handler, Handler::Fatal | Handler::Abort) && !self.p2p.must_end();
        if self.world.as_ref().is_none_or(|world| world.is_leaving) || handled {
            return;
        }
        let Loss { seen, advice } = self.p2p.loss(peer);
        let peers = self.p2p.peers();
        let name = match (peers.own_rank(peer), peers.process(peer)) {
            (None, Some(Process { job, rank })) => format!("rank {rank} of the job {job:016x}"),
            (_, _) => format!("rank {}", peer.0),
        };
        let message = format!(
            "alhena: {name} is lost: messages to it do not arrive any more\n\
             alhena: seen: {seen}\n\
             alhena: look at what {name} wrote last, {advice}"
        );
        crate::env::abort_with(1, format_args!("{message}"))
    }
}

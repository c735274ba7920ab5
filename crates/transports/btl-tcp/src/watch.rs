//! Peers whose hosts answer no more.
//!
//! A link that is cut in silence breaks no connection for a quarter of an hour. Where nothing is on its way, the
//! kernel probes ([`platform::tcp::keep_alive`]). Where something is, the other kernel is watched from here, since
//! the kernel's own time limit would also end a connection to a process that computes and does not read.

use crate::transport::Tcp;
use platform::tcp::Answered;
use std::time::{Duration, Instant};

/// Checks in the time that a host may be silent.
const CHECKS: u32 = 4;

/// The peers to which something is on its way, as far as is known.
#[derive(Debug)]
pub(crate) struct Watch {
    /// A host that answers nothing for so long is gone; zero: none is.
    pub(crate) silence: Duration,
    peers: Vec<u32>,
    /// When to check them next.
    pub(crate) due: Option<Instant>,
}

impl Watch {
    pub(crate) fn new(silence: Duration) -> Watch {
        Watch { silence, peers: Vec::new(), due: None }
    }
}

impl Tcp {
    /// Something was sent to a peer: its host should answer.
    #[inline]
    pub(crate) fn watch(&mut self, at: u32) {
        if self.peers[at as usize].as_ref().is_some_and(|conversation| !conversation.is_watched) {
            self.watch_anew(at);
        }
    }

    #[cold]
    fn watch_anew(&mut self, at: u32) {
        if self.watch.silence.is_zero() {
            return;
        }
        self.conversation(at).is_watched = true;
        self.watch.peers.push(at);
        if self.watch.due.is_none() {
            self.watch.due = Some(Instant::now() + self.watch.silence / CHECKS);
            self.set_timer(self.deadline());
        }
    }

    /// Checks the peers watched, if that is due, and gives up those whose hosts have been silent for too long.
    pub(crate) fn look_after(&mut self, now: Instant) {
        let Some(due) = self.watch.due.filter(|&due| due <= now) else { return };
        let silence = self.watch.silence;
        // What was seen before the process was away for long says nothing.
        let was_away = now.duration_since(due) > silence / CHECKS;
        for at in core::mem::take(&mut self.watch.peers) {
            let Some(conversation) = &mut self.peers[at as usize] else { continue };
            conversation.is_watched = false;
            let Some((_, socket)) = Tcp::socket_of(conversation, &mut self.network) else { continue };
            let (seen, has_unsent) = (socket.answered(), socket.has_unsent());
            let before = conversation.silent_since.take().filter(|_| !was_away);
            match seen {
                Answered::All if conversation.output.is_empty() && !has_unsent => continue,
                Answered::All | Answered::Some => {}
                Answered::Not(silent) => {
                    let since = before.unwrap_or(now);
                    if silent >= silence && now.duration_since(since) >= silence {
                        self.give_up(at, format!("its host has not answered for {} s", silent.as_secs()));
                        continue;
                    }
                    conversation.silent_since = Some(since);
                }
            }
            conversation.is_watched = true;
            self.watch.peers.push(at);
        }
        self.watch.due = (!self.watch.peers.is_empty()).then(|| now + silence / CHECKS);
    }

    /// The connection with a peer is over once its messages that have come are taken.
    fn give_up(&mut self, at: u32, why: String) {
        let is_lent = self.lent.is_some_and(|(peer, _)| peer == at);
        let conversation = self.conversation(at);
        conversation.ending = Some(why);
        if !conversation.is_ready && !is_lent {
            self.settle(at);
        }
    }
}

//! Peers whose hosts answer no more.
//!
//! A link that is cut in silence breaks no connection for a quarter of an hour. Where nothing is on its way, the
//! kernel probes ([`platform::tcp::keep_alive`]). Where something is, the other kernel is watched from here, since
//! the kernel's own time limit would also end a connection to a process that computes and does not read.
//!
//! What is silent for a moment only is suspected ([`btl::Suspects`]): the launcher finds out sooner whether the peer's host, or
//! the network to it, is gone.

use crate::conversation::{CHECKS, Conversation};
use crate::network::{Network, Role};
use crate::pair::State;
use crate::transport::Tcp;
use btl::{Peer, Suspects, Suspicion};
use platform::tcp::Answered;
use std::time::{Duration, Instant};

/// A host that has answered nothing for so long is suspected.
const MOMENT: Duration = Duration::from_secs(1);

impl Tcp {
    /// From now on `suspects` takes what is suspected of peers.
    pub fn report_suspicions_to(&mut self, suspects: Box<dyn Suspects>) {
        self.watch.suspects = Some(suspects);
    }

    /// Something was sent to a peer, or is to be: its host should answer.
    #[inline]
    pub(crate) fn watch(&mut self, at: u32) {
        if self.peers[at].as_ref().is_some_and(|conversation| !conversation.is_watched) {
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
            self.watch.due = Some(Instant::now() + self.watch.interval());
            self.set_timer(self.deadline());
        }
    }

    /// Checks the peers watched, if that is due, and gives up those whose hosts have been silent for too long.
    pub(crate) fn look_after(&mut self, now: Instant) {
        let Some(due) = self.watch.due.filter(|&due| due <= now) else { return };
        let silence = self.watch.silence;
        // What was seen before the process was away for long proves nothing.
        let was_away = now.duration_since(due) > silence / CHECKS;
        for at in core::mem::take(&mut self.watch.peers) {
            let Some(conversation) = &mut self.peers[at] else { continue };
            conversation.is_watched = false;
            let Some((_, socket)) = Tcp::socket_of(conversation, &mut self.network) else {
                if self.connects_to(at, now, was_away) {
                    self.conversation(at).is_watched = true;
                    self.watch.peers.push(at);
                }
                continue;
            };
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
                    // Where nothing was sent, no answer was due.
                    let owed = silent.min(now.duration_since(since));
                    if owed >= MOMENT {
                        self.suspect(at, owed);
                    }
                }
            }
            self.conversation(at).is_watched = true;
            self.watch.peers.push(at);
        }
        self.watch.due = (!self.watch.peers.is_empty()).then(|| now + self.watch.interval());
    }

    /// Whether a connection with a peer is being made. Its host is suspected where no attempt was answered for a moment.
    fn connects_to(&mut self, at: u32, now: Instant, was_away: bool) -> bool {
        let Tcp { peers, network, .. } = self;
        let Some(conversation) = &mut peers[at] else { return false };
        let connects = matches!(conversation.pair.state(), State::Connecting | State::Resting(_));
        if !connects || conversation.output.is_empty() || is_heard(conversation, network) {
            conversation.unheard_since = None;
            return connects;
        }
        let since = *conversation.unheard_since.get_or_insert(now);
        let unheard = now.duration_since(since);
        if was_away {
            conversation.unheard_since = Some(now);
        } else if unheard >= MOMENT {
            self.suspect(at, unheard);
        }
        true
    }

    /// Reports that the host of a peer has been silent. A lane goes over one network alone, and does without it.
    fn suspect(&mut self, at: u32, silent: Duration) {
        let patience = self.watch.patience();
        if let (Some(suspects), true) = (&mut self.watch.suspects, self.network.is_of_job(at)) {
            let places = self.network.places(at);
            let greeting = self.network.greeting();
            suspects.suspect(Suspicion { peer: Peer(at), silent, patience, places, greeting });
        }
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

/// Whether the peer's host has answered an attempt to connect.
fn is_heard(conversation: &Conversation, network: &Network) -> bool {
    let stands = |wire| network.links.get(wire).is_some_and(|link| !matches!(link.role, Role::Begun));
    conversation.pair.attempts().any(stands)
}

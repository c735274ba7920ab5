//! What users learn of the ways to a peer: that one fails, that one is back, that none answers.

use btl::{Peer, Way, Ways};
use dr::{Pair, PathState, Time};

/// A peer that has answered by no way for so long is reported.
const SILENCE: Time = 30_000_000_000;

/// What was seen of a peer's ways last.
#[derive(Debug)]
pub(crate) struct News {
    states: Vec<PathState>,
    /// By way: that it failed was reported.
    has_failed: Vec<bool>,
    /// That the peer answers by no way was reported.
    is_silent: bool,
}

/// A way by its transport, device and addresses.
pub(crate) fn name<B: Ways>(below: &B, way: Way, peer: Peer) -> String {
    let (name, place) = (below.name_of(way), below.place_of(way, peer));
    if place.is_empty() { name.to_owned() } else { format!("{name} by {place}") }
}

impl News {
    pub(crate) fn of(pair: &Pair, ways: usize) -> News {
        let states = (0..ways).map(|path| pair.path_state(path as u8)).collect();
        News { states, has_failed: vec![false; ways], is_silent: false }
    }

    /// Whether the ways are not as they were seen last, or the peer's silence is to be reported or over.
    #[inline]
    pub(crate) fn is_due(&self, pair: &Pair, now: Time) -> bool {
        let changed = |(path, state): (usize, &PathState)| pair.path_state(path as u8) != *state;
        self.is_silent || silence(pair, now) >= SILENCE || self.states.iter().enumerate().any(changed)
    }

    /// Compares the ways with what was seen last: a transport makes anew what is to be tried again, and users learn what
    /// concerns them.
    #[cold]
    pub(crate) fn follow<B: Ways>(
        &mut self,
        below: &mut B,
        pair: &Pair,
        peer: Peer,
        ways: &[Way],
        report: Option<fn(&str)>,
        now: Time,
    ) {
        let report = |text: String| report.into_iter().for_each(|report| report(&text));
        for (path, &way) in ways.iter().enumerate() {
            let (state, before) = (pair.path_state(path as u8), self.states[path]);
            if state == before {
                continue;
            }
            self.states[path] = state;
            match state {
                PathState::Trial => below.renew_by(way, peer),
                PathState::Down | PathState::Lost | PathState::Banned if !self.has_failed[path] => {
                    let up = (0..ways.len()).find(|&other| pair.path_state(other as u8) == PathState::Up);
                    // With the last one the peer is lost, which is reported as such.
                    if let Some(up) = up {
                        self.has_failed[path] = true;
                        report(failed(below, peer, (way, state), ways[up]));
                    }
                }
                PathState::Up if core::mem::take(&mut self.has_failed[path]) => {
                    report(format!("{} leads to rank {} again", name(below, way, peer), peer.0));
                }
                _ => {}
            }
        }
        let silent = silence(pair, now);
        let is_silent = silent >= SILENCE;
        if is_silent && !core::mem::replace(&mut self.is_silent, true) {
            let all: Vec<String> = ways.iter().map(|&way| name(below, way, peer)).collect();
            report(format!(
                "rank {} has not answered for {} s\nseen: no answer by {}; what was sent waits, and is tried again and again\nlook \
                 whether it computes without calling MPI (alhena stacks), and at the network between the two hosts",
                peer.0,
                silent / 1_000_000_000,
                all.join(" and by ")
            ));
        }
        self.is_silent &= is_silent;
    }
}

/// For how long a peer has answered by no way.
fn silence(pair: &Pair, now: Time) -> Time {
    pair.silent_since().map_or(0, |since| now.saturating_sub(since))
}

/// One way has failed, and another one is used.
fn failed<B: Ways>(below: &B, peer: Peer, (way, state): (Way, PathState), up: Way) -> String {
    let seen = match state {
        PathState::Lost => below.loss_by(way, peer).seen,
        PathState::Banned => "it has failed again and again, and is not used any more".to_owned(),
        _ => "it is silent while another way answers; it is tried again now and then".to_owned(),
    };
    format!(
        "{} does not lead to rank {} any more\nseen: {seen}\nmessages go over {}; look at the first one's network, and whether it \
         works again: mpiexec -report names all ways",
        name(below, way, peer),
        peer.0,
        name(below, up, peer)
    )
}

//! What this process has exposed, for questions about it.

use std::collections::HashMap;

use btl::{Peer, RemoteKey};
use mem::UserMem;

use crate::question::{Ask, MOST_ASKED};

/// Memory that peers may get from or put into.
#[derive(Debug, Default)]
pub struct Exposed {
    all: HashMap<(Peer, [u64; 3]), Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    /// Its runs, which are one message together.
    runs: Vec<UserMem>,
    /// How often it was exposed: two messages may leave from the same memory to the same peer.
    count: u32,
    /// What was put into it, where it is sealed in the end.
    seal: Option<Seal>,
}

/// Memory that is sealed when its peer has asked about all of it: concealed first, so that nothing is stored any more, and summed
/// then.
#[derive(Debug, Default)]
struct Seal {
    /// Bytes that were asked about.
    asked: u64,
    /// Offset, length and sums of each answer so far.
    answers: Vec<(u64, u64, Vec<u32>)>,
    is_closed: bool,
}

impl Exposed {
    /// `peer` may use `runs` by this key. Where it puts into it, the memory may be one that `is_sealed` in the end.
    pub fn add(&mut self, peer: Peer, key: RemoteKey, runs: Vec<UserMem>, is_sealed: bool) {
        let memory = self.all.entry((peer, key.0)).or_default();
        (memory.runs, memory.seal) = (runs, is_sealed.then(Seal::default));
        memory.count += 1;
    }

    /// What was added once is there once less; nothing happens if it is not there. Whether the transport still exposes it.
    pub fn remove(&mut self, peer: Peer, key: &RemoteKey) -> bool {
        let Some(memory) = self.all.get_mut(&(peer, key.0)) else { return true };
        let is_closed = memory.seal.as_ref().is_some_and(|seal| seal.is_closed);
        memory.count -= 1;
        if memory.count == 0 {
            self.all.remove(&(peer, key.0));
        }
        !is_closed
    }

    /// What `peer` asks about, if it may put there.
    pub fn stored(&self, Ask { peer, key, offset, len, .. }: &Ask) -> Option<UserMem> {
        let memory = self.all.get(&(*peer, key.0)).filter(|memory| memory.seal.is_some())?;
        let [run] = memory.runs[..] else { return None };
        Some(run.part(*offset as usize, *len as usize))
    }

    /// The sums of the pieces that `peer` asks about; none if not all of that is exposed to it by this key. Memory that is sealed is
    /// concealed by `conceal` with the last question. What is summed then does not change any more: so the sums of the answers before
    /// have to be the same, or there are none.
    pub fn answer(&mut self, ask: &Ask, conceal: impl FnOnce()) -> Vec<u32> {
        let Ask { peer, key, offset, len, .. } = *ask;
        let Some(Memory { runs, seal, .. }) = self.all.get_mut(&(peer, key.0)) else { return Vec::new() };
        let total: u64 = runs.iter().map(|run| run.len() as u64).sum();
        let is_within = offset.checked_add(len).is_some_and(|end| end <= total);
        if !is_within || len > MOST_ASKED {
            return Vec::new();
        }
        let sums = |offset, len| sums::of_runs(runs, offset, len);
        let Some(seal) = seal else { return sums(offset, len) };
        if seal.is_closed {
            return Vec::new();
        }
        seal.asked += len;
        if seal.asked < total {
            let answer = sums(offset, len);
            seal.answers.push((offset, len, answer.clone()));
            return answer;
        }
        seal.is_closed = true;
        conceal();
        let is_as_before = seal.answers.iter().all(|(offset, len, before)| sums(*offset, *len) == *before);
        if is_as_before { sums(offset, len) } else { Vec::new() }
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "the tests keep the bytes")]
mod tests {
    use super::*;

    const KEY: RemoteKey = RemoteKey([9; 3]);
    const PEER: Peer = Peer(2);

    fn about(peer: Peer, offset: u64, len: u64) -> Ask {
        Ask { peer, name: 1, key: KEY, offset, len }
    }

    #[test]
    fn only_what_is_exposed_to_that_peer_is_summed() {
        let mut bytes = [5; 100];
        // SAFETY: `bytes` outlives the view.
        let memory = unsafe { UserMem::of(&mut bytes) };
        let mut exposed = Exposed::default();
        exposed.add(PEER, KEY, vec![memory], false);
        exposed.add(PEER, KEY, vec![memory], false);
        let mut sums = |peer, offset, len| exposed.answer(&about(peer, offset, len), || panic!()).len();
        assert_eq!(sums(PEER, 10, 90), 1);
        assert_eq!(sums(PEER, 10, 91), 0);
        assert_eq!(sums(PEER, u64::MAX, 2), 0);
        assert_eq!(sums(Peer(1), 0, 1), 0);
        assert!(exposed.remove(PEER, &KEY));
        assert_eq!(exposed.answer(&about(PEER, 0, 100), || panic!()).len(), 1);
        assert!(exposed.remove(PEER, &KEY));
        assert!(exposed.remove(PEER, &KEY));
        assert!(exposed.answer(&about(PEER, 0, 1), || panic!()).is_empty());
    }

    /// Memory of 100 bytes in three puts, with a store into the first one after it was compared, or none.
    fn sealed(changes: bool) -> usize {
        let mut bytes = [5; 100];
        // SAFETY: `bytes` outlives the view.
        let memory = unsafe { UserMem::of(&mut bytes) };
        let mut exposed = Exposed::default();
        exposed.add(PEER, KEY, vec![memory], true);
        assert_eq!(exposed.answer(&about(PEER, 0, 40), || panic!("concealed early")).len(), 1);
        assert_eq!(exposed.answer(&about(PEER, 60, 40), || panic!("concealed early")).len(), 1);
        if changes {
            memory.part(7, 1).write(mem::PeerBytes::of(&[6]));
        }
        let mut conceals = 0;
        let sums = exposed.answer(&about(PEER, 40, 20), || conceals += 1).len();
        assert_eq!(conceals, 1);
        assert!(exposed.answer(&about(PEER, 40, 20), || panic!("concealed twice")).is_empty());
        assert!(!exposed.remove(PEER, &KEY), "it is concealed already");
        sums
    }

    #[test]
    fn what_is_put_is_summed_when_nothing_is_stored_any_more() {
        assert_eq!(sealed(false), 1);
        assert_eq!(sealed(true), 0, "a put went astray into what was compared before");
    }
}

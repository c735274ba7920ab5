//! What this process has exposed, for questions about it.

use std::collections::HashMap;

use btl::{Peer, RemoteKey};
use mem::UserMem;

/// Memory that peers may get from or put into.
#[derive(Debug, Default)]
pub struct Exposed {
    /// Its runs, and how often it was exposed: two messages may leave from the same memory to the same peer.
    all: HashMap<(Peer, [u64; 3]), (Vec<UserMem>, u32)>,
}

impl Exposed {
    /// `peer` may use `runs` by this key.
    pub fn add(&mut self, peer: Peer, key: RemoteKey, runs: Vec<UserMem>) {
        let (kept, count) = self.all.entry((peer, key.0)).or_default();
        *kept = runs;
        *count += 1;
    }

    /// What was added once is there once less; nothing happens if it is not there.
    pub fn remove(&mut self, peer: Peer, key: &RemoteKey) {
        if let Some((_, count)) = self.all.get_mut(&(peer, key.0)) {
            *count -= 1;
            if *count == 0 {
                self.all.remove(&(peer, key.0));
            }
        }
    }

    /// The sums of the pieces of `len` bytes from `offset` on; none if not all of that is exposed to `peer` by this key.
    pub fn sums(&self, peer: Peer, key: &RemoteKey, offset: u64, len: u64) -> Vec<u32> {
        let Some((runs, _)) = self.all.get(&(peer, key.0)) else { return Vec::new() };
        let total: u64 = runs.iter().map(|run| run.len() as u64).sum();
        let is_within = offset.checked_add(len).is_some_and(|end| end <= total);
        if is_within && len <= crate::MOST_ASKED { sums::of_runs(runs, offset, len) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(unsafe_code, reason = "the test keeps the bytes")]
    fn only_what_is_exposed_to_that_peer_is_summed() {
        let mut bytes = [5; 100];
        // SAFETY: `bytes` outlives the view.
        let memory = unsafe { UserMem::of(&mut bytes) };
        let (key, peer) = (RemoteKey([9; 3]), Peer(2));
        let mut exposed = Exposed::default();
        exposed.add(peer, key, vec![memory]);
        exposed.add(peer, key, vec![memory]);
        assert_eq!(exposed.sums(peer, &key, 10, 90).len(), 1);
        assert!(exposed.sums(peer, &key, 10, 91).is_empty());
        assert!(exposed.sums(peer, &key, u64::MAX, 2).is_empty());
        assert!(exposed.sums(Peer(1), &key, 0, 1).is_empty());
        exposed.remove(peer, &key);
        assert_eq!(exposed.sums(peer, &key, 0, 100).len(), 1);
        exposed.remove(peer, &key);
        exposed.remove(peer, &key);
        assert!(exposed.sums(peer, &key, 0, 1).is_empty());
    }
}

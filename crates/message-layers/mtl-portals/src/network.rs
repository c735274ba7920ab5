//! The network's state, its set-up, and the contract's calls.

use crate::arrivals::{Fetch, Receive, Taken, Unexpected, Unfetched};
use crate::blocks::{Blocks, USER_BITS};
use crate::device::{Device, Long};
use crate::queues::Queues;
use crate::sends::{CopyBlocks, Send};
use mem::{Slab, UserMem};
use mtl::{Busy, Claim, Event, Limits, Loss, Message, Mtl, Peer, Posted, Want};
use portals::{Me, Portals, ProcessId, SetupError};
use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;

/// Matching over a NIC. See the crate's documentation.
pub struct PortalsMtl<N: Portals> {
    pub(crate) nic: N,
    /// By peer.
    pub(crate) ids: Vec<ProcessId>,
    pub(crate) peers: HashMap<ProcessId, Peer>,
    limits: Limits,
    pub(crate) device: Device,
    pub(crate) queues: Queues,
    pub(crate) blocks: Blocks,
    pub(crate) copies: CopyBlocks,
    pub(crate) sends: Slab<Send, 20, 12>,
    /// Sends whose events the queues have room for.
    pub(crate) most_sends: usize,
    pub(crate) receives: Slab<Receive, 20, 12>,
    pub(crate) fetches: Slab<Fetch, 20, 12>,
    /// Messages without a receive, oldest first.
    pub(crate) waiting: VecDeque<Unexpected>,
    pub(crate) claimed: Slab<Unexpected, 20, 12>,
    /// Messages that were received before all of them was there.
    pub(crate) taken: Vec<Taken>,
    /// Long messages that met their receive as a header and could not be fetched at once.
    pub(crate) unfetched: VecDeque<Unfetched>,
    /// Entries to be removed once the operations on them are over.
    pub(crate) leaving: Vec<Me>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) lost: Vec<bool>,
    pub(crate) exhausted: Option<Exhausted>,
    /// Whether the owner sleeps on this very NIC.
    is_rung: bool,
}

/// What there was not enough of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted {
    /// What, for people.
    pub of: &'static str,
    /// The parameter that gives more.
    pub parameter: &'static str,
}

/// Long sends that may be under way together, where each has a queue of its own.
const LONG_SENDS: usize = 1024;

impl<N: Portals> PortalsMtl<N> {
    /// Sets matching up on an attached NIC; `Peer(i)` is the process `ids[i]`.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(mut nic: N, ids: Vec<ProcessId>, device: &Device) -> Result<PortalsMtl<N>, SetupError> {
        let (what, parameters) = (device.name, device.parameters.prefix);
        let at = |step| move |error| SetupError { what, parameters, step, error };
        let (expected, unexpected) = (device.expected_events, device.unexpected_events);
        let queues = Queues::new(&mut nic, expected, unexpected, device.queue_each);
        let queues = queues.map_err(at("making its queues"))?;
        let blocks = Blocks::new(&mut nic, device, queues.unexpected);
        let blocks = blocks.map_err(at("posting memory for messages without a receive"))?;
        let copies = CopyBlocks::new(&mut nic, device.copy_blocks, device.copy_block_len, queues.expected);
        let carries_data = device.long == Long::Eager;
        // Of a shared queue a quarter is theirs, and a long one has three events.
        let most_sends = if device.queue_each { LONG_SENDS } else { (expected as usize / 12).max(4) };
        Ok(PortalsMtl {
            limits: Limits {
                match_bits: 60,
                data_bits: if carries_data { 32 } else { 0 },
                directed: true,
                inject: device.copy_block_len,
                max_message: i32::MAX as u64,
            },
            device: *device,
            queues,
            blocks,
            copies: copies.map_err(at("making buffers for short messages"))?,
            sends: Slab::new(),
            most_sends,
            receives: Slab::new(),
            fetches: Slab::new(),
            waiting: VecDeque::new(),
            claimed: Slab::new(),
            taken: Vec::new(),
            unfetched: VecDeque::new(),
            leaving: Vec::new(),
            events: VecDeque::new(),
            lost: vec![false; ids.len()],
            exhausted: None,
            is_rung: false,
            peers: ids.iter().zip(0..).map(|(&id, peer)| (id, Peer(peer))).collect(),
            ids,
            nic,
        })
    }

    /// As it is, for an owner that sleeps on this very NIC, through a transport that has it, too.
    pub fn rung(self) -> PortalsMtl<N> {
        PortalsMtl { is_rung: true, ..self }
    }

    /// What has run out, so that messages were lost.
    pub fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted
    }

    /// Whether the process is to end, whatever handles its errors.
    pub fn must_end(&self) -> bool {
        self.device.strict && self.exhausted.is_some()
    }

    /// Whether `peer` was given up.
    pub fn has_lost(&self, peer: Peer) -> bool {
        self.lost.get(peer.0 as usize).copied().unwrap_or(true)
    }

    /// The NIC below.
    pub fn nic(&self) -> &N {
        &self.nic
    }

    /// The NIC below, for a driver that gives it turns of its own, as interrupts do.
    pub fn nic_mut(&mut self) -> &mut N {
        &mut self.nic
    }

    /// Ends all operations with a peer that is gone.
    pub(crate) fn end_all_with(&mut self, peer: Peer) {
        let sends: Vec<u32> =
            self.sends.iter().filter(|(_, send)| send.to == peer).map(|(number, _)| number).collect();
        sends.into_iter().for_each(|number| self.end_send(number, true));
        let fetches = self.fetches.iter().filter(|(_, fetch)| fetch.message.from == peer);
        let fetches: Vec<u32> = fetches.map(|(number, _)| number).collect();
        fetches.into_iter().for_each(|number| self.end_fetch(number, 0, true));
        let (gone, others): (VecDeque<_>, _) =
            self.unfetched.drain(..).partition(|waiting: &Unfetched| waiting.message.from == peer);
        self.unfetched = others;
        self.events.extend(gone.iter().map(|waiting| Event::Failed(waiting.cookie)));
        let receives = self.receives.iter().filter(|(_, receive)| receive.from == Some(peer));
        let receives: Vec<u32> = receives.map(|(number, _)| number).collect();
        receives.into_iter().for_each(|number| self.withdraw(number));
    }
}

impl<N: Portals> Mtl for PortalsMtl<N> {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn send(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem, cookie: u64) -> Result<(), Busy> {
        debug_assert_eq!(bits & !USER_BITS, 0, "the protocol's bits are no user's");
        if self.has_lost(to) {
            self.events.push_back(Event::Failed(cookie));
            return Ok(());
        }
        self.begin_send(to, bits, data, payload, Some(cookie))
    }

    fn inject(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem) -> Result<(), Busy> {
        debug_assert_eq!(bits & !USER_BITS, 0, "the protocol's bits are no user's");
        match self.has_lost(to) {
            true => Ok(()),
            // Without buffers it leaves from a descriptor of its own, which has nothing in it.
            false if self.device.copy_blocks == 0 => self.begin_send(to, bits, data, payload, None),
            false => self.copy_out(to, bits, data, payload),
        }
    }

    fn recv(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted, Busy> {
        debug_assert_eq!(want.bits & !USER_BITS, 0, "the protocol's bits are no user's");
        self.post(want, into, cookie)
    }

    fn peek(&mut self, want: &Want) -> Result<Option<Message>, Busy> {
        self.take_unexpected();
        Ok(self.find(want).map(|place| self.waiting[place].message))
    }

    fn claim(&mut self, want: &Want) -> Result<Option<(Claim, Message)>, Busy> {
        self.take_unexpected();
        if self.claimed.is_full() {
            return Err(Busy);
        }
        let Some(unexpected) = self.find(want).and_then(|place| self.waiting.remove(place)) else {
            return Ok(None);
        };
        let message = unexpected.message;
        match self.claimed.insert(unexpected) {
            Ok(name) => Ok(Some((Claim(name), message))),
            Err(unexpected) => {
                self.waiting.push_front(unexpected);
                Err(Busy)
            }
        }
    }

    fn recv_claimed(&mut self, claim: Claim, into: UserMem, cookie: u64) -> Result<(), Busy> {
        self.take_claim(claim, Some((into, cookie)))
    }

    fn discard(&mut self, claim: Claim) -> Result<(), Busy> {
        self.take_claim(claim, None)
    }

    fn cancel(&mut self, receive: Posted) {
        self.withdraw(receive.0);
    }

    fn give_up(&mut self, peer: Peer) {
        if let Some(lost) = self.lost.get_mut(peer.0 as usize) {
            *lost = true;
            self.end_all_with(peer);
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.take_events();
        }
        self.events.pop_front()
    }

    fn loss(&self, _peer: Peer) -> Loss {
        match self.exhausted {
            Some(Exhausted { of, parameter }) => Loss {
                seen: format!("this process's Portals NIC ran out of {of}, and messages were lost"),
                advice: format!(
                    "and give it more: --mca {parameter}; or match in the library: --mca pml ob1"
                ),
            },
            None => Loss {
                seen: "its Portals NIC is gone; its process has ended, or the network between the two is cut"
                    .into(),
                advice: "and at the network".into(),
            },
        }
    }

    /// The NIC is rung by a word and not by a descriptor: unless the owner sleeps on that, it keeps polling.
    fn arm(&mut self) -> bool {
        self.is_rung
            && self.events.is_empty()
            && self.leaving.is_empty()
            && self.unfetched.is_empty()
            && self.queues.is_quiet()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl<N: Portals> PortalsMtl<N> {
    fn take_claim(&mut self, claim: Claim, goal: Option<(UserMem, u64)>) -> Result<(), Busy> {
        let Some(unexpected) = self.claimed.get(claim.0) else { return Ok(()) };
        if unexpected.is_long() && self.has_lost(unexpected.message.from) {
            // The sender answers no fetch any more.
            self.claimed.discard(claim.0);
            self.events.extend(goal.map(|(_, cookie)| Event::Failed(cookie)));
            return Ok(());
        }
        let unexpected = *unexpected;
        self.consume(&unexpected, goal)?;
        self.claimed.discard(claim.0);
        Ok(())
    }
}

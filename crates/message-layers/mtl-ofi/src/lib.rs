//! libfabric as a network that matches: tagged messages of a reliable datagram endpoint.
//!
//! ```text
//!   Mtl                 libfabric
//!   send, inject        fi_tsenddata, fi_tinjectdata        (without data: fi_tsend, fi_tinject)
//!   recv                fi_trecv, directed where a sender is asked for
//!   peek, claim         fi_trecvmsg with FI_PEEK, FI_PEEK | FI_CLAIM; waits for its completion, which needs no peer
//!   recv_claimed        fi_trecvmsg with FI_CLAIM; discard: the same
//!   next_event          fi_cq_readfrom
//!   arm                 fi_trywait on a completion queue with a descriptor
//! ```
//! A message that is longer than its receive goes on behind the receive's memory, where the provider takes two runs.
//! Elsewhere the provider cuts it, and may not show its sender, if the receive named none. Then that is
//! [`UNKNOWN_SENDER`], and what is sent there is dropped: in synchronous mode its sender is not answered.
#![deny(unsafe_code)]

pub mod join;
mod open;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::BorrowedFd;

use mem::UserMem;
use mtl::{Busy, Claim, Event, Limits, Loss, Message, Mtl, Peer, Posted, Want};
use ofi::{Address, Completion, Endpoint, Facts, Refused};

pub use ofi::Card;
pub use open::{Error, Opening};

/// A sender that is not known.
pub(crate) const UNKNOWN_SENDER: Peer = Peer(u32::MAX);

/// The network; see the module's documentation.
pub struct Ofi {
    endpoint: Endpoint,
    limits: Limits,
    /// By peer.
    addresses: Vec<Address>,
    /// By address.
    peers: BTreeMap<u64, Peer>,
    events: VecDeque<Event>,
    /// The probe that is waited for, and what came of it.
    probe: Option<Completion>,
    /// Why peers were given up.
    losses: BTreeMap<Peer, String>,
}

/// What an operation was, in the highest byte of its cookie.
const KIND: u64 = 0xff << 56;
const SEND: u64 = 1 << 56;
const RECV: u64 = 2 << 56;
const PROBE: u64 = 3 << 56;
const DROP: u64 = 4 << 56;

impl Ofi {
    pub(crate) fn new(endpoint: Endpoint, addresses: Vec<Address>) -> Ofi {
        let Facts { inject, max_message, tag_bits, data_bytes, version, .. } = *endpoint.facts();
        // Seen in 2.5.1: receives that ask for a sender go before those that were posted earlier and name none.
        let directed = version < ofi::abi::version(1, 18);
        let data_bits = match data_bytes {
            8.. => 64,
            4.. => 32,
            _ => 0,
        };
        let peers = addresses.iter().zip(0..).map(|(address, peer)| (address.0, Peer(peer))).collect();
        Ofi {
            limits: Limits { match_bits: tag_bits, data_bits, directed, inject, max_message },
            endpoint,
            addresses,
            peers,
            events: VecDeque::new(),
            probe: None,
            losses: BTreeMap::new(),
        }
    }

    /// The provider and what it can do.
    pub fn facts(&self) -> &Facts {
        self.endpoint.facts()
    }

    /// Provider and domain, for people.
    pub fn path(&self) -> String {
        let Facts { provider, domain, .. } = self.facts();
        format!("libfabric ({provider} by {domain})")
    }

    /// Whether an operation has found this peer gone.
    pub fn has_lost(&self, peer: Peer) -> bool {
        self.losses.contains_key(&peer)
    }

    fn address(&self, peer: Peer) -> Result<Address, Busy> {
        self.addresses.get(peer.0 as usize).copied().ok_or(Busy)
    }

    fn wanted(&self, want: &Want) -> Result<Option<Address>, Busy> {
        want.from.map(|peer| self.address(peer)).transpose()
    }

    fn message(&self, completion: &Completion, len: u64) -> Message {
        let from = completion.peer.and_then(|address| self.peers.get(&address.0)).copied();
        let data = if self.limits.data_bits == 0 { 0 } else { completion.data };
        Message { from: from.unwrap_or(UNKNOWN_SENDER), bits: completion.tag, data, len }
    }

    /// Takes completions of the provider; how many.
    fn read(&mut self) -> usize {
        let mut read = [None; 8];
        let mut count = 0;
        let happened = self.endpoint.poll(|completion| {
            read[count] = Some(completion);
            count += 1;
        });
        read.into_iter().flatten().for_each(|completion| self.take(completion));
        happened
    }

    fn take(&mut self, completion: Completion) {
        let Completion { cookie, error, room, len, .. } = completion;
        let own = cookie & !KIND;
        match (cookie & KIND, error) {
            (PROBE, _) => self.probe = Some(completion),
            (SEND, 0) => self.events.push_back(Event::Sent(own)),
            (SEND, _) => self.fail(own, completion.peer, error),
            (RECV, 0) => {
                if len > room {
                    self.endpoint.release_overflow();
                }
                let message = self.message(&completion, len);
                self.events.push_back(Event::Received { cookie: own, message, stored: len.min(room) });
            }
            (RECV, ofi::abi::ETRUNC) => {
                // Providers differ in what they call the length then; that it was longer than the room is certain.
                let message = self.message(&completion, len.max(room + 1));
                self.events.push_back(Event::Received { cookie: own, message, stored: room });
            }
            (RECV, CANCELED) => self.events.push_back(Event::Cancelled(own)),
            (RECV, _) => self.fail(own, completion.peer, error),
            _ => {}
        }
    }

    /// An operation has failed: what it was with is gone.
    fn fail(&mut self, cookie: u64, with: Option<Address>, error: i32) {
        self.events.push_back(Event::Failed(cookie));
        if let Some(&peer) = with.and_then(|address| self.peers.get(&address.0))
            && !self.losses.contains_key(&peer)
        {
            self.losses.insert(peer, self.endpoint.words(error));
            self.events.push_back(Event::PeerLost(peer));
        }
    }

    /// The end of an attempt to begin something.
    fn begun<T>(
        &mut self,
        cookie: u64,
        with: Option<Address>,
        result: Result<T, Refused>,
    ) -> Result<Option<T>, Busy> {
        match result {
            Ok(begun) => Ok(Some(begun)),
            Err(Refused::Again) => Err(Busy),
            Err(Refused::Failed(error)) => {
                self.fail(cookie, with, error);
                Ok(None)
            }
        }
    }

    /// Asks the provider for a message without a receive, and waits for its answer.
    fn probe(&mut self, want: &Want, claim: bool) -> Result<Option<(u32, Message)>, Busy> {
        let from = self.wanted(want)?;
        let name = match self.endpoint.peek(from, want.bits, want.ignore, claim, PROBE) {
            Ok(name) => name,
            // Some providers answer at once.
            Err(Refused::Failed(NOMSG)) => return Ok(None),
            Err(_) => return Err(Busy),
        };
        let answer = loop {
            match self.probe.take() {
                Some(answer) => break answer,
                None => self.read(),
            };
        };
        if answer.error != 0 {
            return Ok(None);
        }
        Ok(Some((name, self.message(&answer, answer.len))))
    }
}

/// `ENOMSG` and `ECANCELED` of Linux.
const NOMSG: i32 = 42;
const CANCELED: i32 = 125;

/// The name of a receive that failed at once.
const NO_NAME: u32 = u32::MAX;

impl Mtl for Ofi {
    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn send(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem, cookie: u64) -> Result<(), Busy> {
        let address = self.address(to)?;
        let result = self.endpoint.tsend(address, bits, data, payload, cookie | SEND);
        self.begun(cookie, Some(address), result).map(drop)
    }

    fn inject(&mut self, to: Peer, bits: u64, data: u64, payload: UserMem) -> Result<(), Busy> {
        if to == UNKNOWN_SENDER {
            return Ok(());
        }
        let address = self.address(to)?;
        match self.endpoint.tinject(address, bits, data, payload) {
            Ok(()) => Ok(()),
            Err(Refused::Again) => Err(Busy),
            Err(Refused::Failed(error)) => {
                if !self.losses.contains_key(&to) {
                    self.losses.insert(to, self.endpoint.words(error));
                    self.events.push_back(Event::PeerLost(to));
                }
                Ok(())
            }
        }
    }

    fn recv(&mut self, want: &Want, into: UserMem, cookie: u64) -> Result<Posted, Busy> {
        let from = self.wanted(want)?;
        let result = self.endpoint.trecv(from, want.bits, want.ignore, into, cookie | RECV);
        self.begun(cookie, from, result).map(|name| Posted(name.unwrap_or(NO_NAME)))
    }

    fn peek(&mut self, want: &Want) -> Result<Option<Message>, Busy> {
        Ok(self.probe(want, false)?.map(|(_, message)| message))
    }

    fn claim(&mut self, want: &Want) -> Result<Option<(Claim, Message)>, Busy> {
        Ok(self.probe(want, true)?.map(|(name, message)| (Claim(name), message)))
    }

    fn recv_claimed(&mut self, claim: Claim, into: UserMem, cookie: u64) -> Result<(), Busy> {
        let result = self.endpoint.recv_claimed(claim.0, into, cookie | RECV);
        self.begun(cookie, None, result).map(drop)
    }

    /// By receiving it: some providers leave the sender of a long message waiting if its message is discarded.
    fn discard(&mut self, claim: Claim) -> Result<(), Busy> {
        match self.endpoint.drop_claimed(claim.0, DROP) {
            Err(Refused::Again) => Err(Busy),
            _ => Ok(()),
        }
    }

    fn cancel(&mut self, receive: Posted) {
        if receive.0 != NO_NAME {
            self.endpoint.cancel(receive.0);
        }
    }

    /// The provider ends what it finds broken; the receives that name the peer are cancelled here.
    fn give_up(&mut self, peer: Peer) {
        if let Ok(address) = self.address(peer) {
            self.endpoint.cancel_receives_from(address);
        }
    }

    fn next_event(&mut self) -> Option<Event> {
        if self.events.is_empty() {
            self.read();
        }
        self.events.pop_front()
    }

    fn loss(&self, peer: Peer) -> Loss {
        let words = self.losses.get(&peer).map_or("no operation reaches it", String::as_str);
        Loss {
            seen: format!("libfabric's provider {} says: {words}", self.facts().provider),
            advice: self.endpoint.advice(words).to_owned(),
        }
    }

    fn arm(&mut self) -> bool {
        self.events.is_empty() && self.endpoint.may_sleep()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.endpoint.descriptor()
    }
}

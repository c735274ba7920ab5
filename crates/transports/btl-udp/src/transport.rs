//! The transport: datagrams to and from peers, and the contract's calls.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;

use btl::{
    Arrival, Btl, Busy, Event, FastPath, Full, Limits, Loss, MAX_HEADER_WORDS, MOST_RAILS, Pace, Peer, Rails,
    RemoteMemory, Sleep,
};
use connect::datagram::{Datagrams, OVERHEAD};
use mem::{PeerBytes, PeerSpace, Source};
use platform::epoll::{Epoll, Ready};
use platform::interfaces::common_networks;
use platform::udp::Received;

use crate::outgoing::Flushed;
use crate::port::{Port, packet_overhead};
use crate::{Card, UdpParams};

/// A way to a peer over one network.
#[derive(Debug)]
struct Rail {
    /// The socket.
    port: usize,
    to: SocketAddr,
    /// The latest datagram that came by it.
    newest: u64,
}

/// What happened so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Payload sent.
    pub bytes: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams that did not open.
    pub strangers: u64,
}

/// What a socket has brought, of which this is the next one.
#[derive(Debug)]
struct Incoming {
    port: usize,
    received: Received,
    next: usize,
}

/// The transport of one process. See the crate's documentation.
#[derive(Debug)]
pub struct Udp {
    me: Peer,
    limits: Limits,
    pace: Pace,
    sealing: Datagrams,
    ports: Vec<Port>,
    set: Arc<Epoll>,
    /// By peer.
    rails: Vec<Vec<Rail>>,
    incoming: Incoming,
    /// The arrival that is out came by this rail.
    lent: Option<u8>,
    /// Sockets that were reported ready.
    ready: Vec<Ready>,
    events: VecDeque<Event>,
    counts: Counts,
    /// Takes the report of the first stranger; `None` once it was made.
    report: Option<fn(&str)>,
}

/// Bytes before the header of a frame: how many words that has.
const WORDS: usize = 8;

impl Udp {
    pub(crate) fn new(
        (ports, set): (Vec<Port>, Arc<Epoll>),
        own: &Card,
        me: Peer,
        sealing: Datagrams,
        cards: &[Card],
        params: &UdpParams,
        report: Option<fn(&str)>,
    ) -> Udp {
        let mtu = cards.iter().map(|card| card.mtu).min().unwrap_or(own.mtu);
        let rails: Vec<Vec<Rail>> =
            (0..).map(Peer).zip(cards).map(|(peer, card)| rails(own, me, card, peer)).collect();
        // Of all processes, so that none makes a datagram that is longer than another one's memory for it.
        let places = cards.iter().flat_map(|card| &card.places);
        let overhead = places.map(|&place| packet_overhead(place)).max().unwrap_or(0);
        let datagram = mtu - overhead;
        let max_send = datagram - OVERHEAD - WORDS - 8 * MAX_HEADER_WORDS;
        Udp {
            me,
            limits: Limits::of_messages(max_send, max_send),
            pace: Pace { latency: params.latency as u64, bandwidth: params.bandwidth as u64 },
            sealing,
            ports,
            set,
            rails,
            incoming: Incoming { port: 0, received: Received::new(datagram), next: 0 },
            lent: None,
            ready: Vec::new(),
            events: VecDeque::new(),
            counts: Counts::default(),
            report,
        }
    }

    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The rails to a peer, for people.
    pub fn places(&self, peer: Peer) -> Vec<String> {
        (0..self.rails(peer)).map(|rail| self.place_of(rail, peer)).collect()
    }

    fn flush(&mut self, at: usize) {
        let Udp { ports, set, .. } = self;
        let port = &mut ports[at];
        let end = port.outgoing.flush(port.socket.as_fd());
        if end == Flushed::Homeless && port.open_anew(set, at as u64) {
            return;
        }
        let waits = end == Flushed::Waits;
        if waits != port.outgoing.awaits_room && set.change(port.fd(), at as u64, waits).is_ok() {
            port.outgoing.awaits_room = waits;
        }
    }

    fn flush_all(&mut self) {
        for at in 0..self.ports.len() {
            if !self.ports[at].outgoing.is_empty() {
                self.flush(at);
            }
        }
    }

    /// Has the sockets polled, and takes what one of them has; whether there is something.
    fn receive(&mut self) -> bool {
        if self.ready.is_empty() {
            let mut ready = core::mem::take(&mut self.ready);
            self.set.poll(&mut ready);
            self.ready = ready;
        }
        while let Some(Ready { token, readable, writable }) = self.ready.pop() {
            let at = token as usize;
            if writable && self.ports[at].outgoing.awaits_room {
                self.flush(at);
            }
            let incoming = &mut self.incoming;
            if readable {
                (incoming.port, incoming.next) = (at, 0);
                // An error of a datagram socket is about one that was sent: it is lost.
                let _ = incoming.received.receive(self.ports[at].socket.as_fd());
                if !incoming.received.is_empty() {
                    return true;
                }
            }
        }
        false
    }

    /// The next frame of a peer that is there: whose, by which rail, and where it lies in its datagram.
    fn next_frame(&mut self) -> Option<(Peer, u8, PeerBytes<'static>, PeerBytes<'static>)> {
        loop {
            if self.incoming.next >= self.incoming.received.len() && !self.receive() {
                return None;
            }
            let frame = self.open_next();
            self.incoming.next += 1;
            if frame.is_some() {
                return frame;
            }
        }
    }

    #[allow(unsafe_code, reason = "views of bytes that stay where they are until they are given back")]
    fn open_next(&mut self) -> Option<(Peer, u8, PeerBytes<'static>, PeerBytes<'static>)> {
        let Incoming { port, received, next } = &mut self.incoming;
        let (datagram, place) = received.datagram(*next);
        let Ok(opened) = self.sealing.open(datagram) else {
            self.counts.strangers += 1;
            if let Some(report) = self.report.take() {
                report(&stranger(&self.ports[*port], place));
            }
            return None;
        };
        let rails = self.rails.get_mut(opened.from as usize)?;
        let at = rails.iter().position(|rail| rail.port == *port)?;
        let rail = &mut rails[at];
        if opened.number > rail.newest {
            // A signed datagram that is newer than all others shows where the peer is now.
            (rail.newest, rail.to) = (opened.number, place);
        }
        let (words, frame) = opened.bytes.split_first_chunk::<WORDS>()?;
        let header =
            usize::try_from(u64::from_le_bytes(*words)).ok().filter(|&words| words <= MAX_HEADER_WORDS)? * 8;
        let (header, payload) = frame.split_at_checked(header)?;
        // SAFETY: the bytes are neither moved nor written before the arrival is given back: nothing is received while one is
        // out (`next_arrival`), and a datagram is opened once.
        let (header, payload) = unsafe {
            (PeerBytes::new(header.as_ptr(), header.len()), PeerBytes::new(payload.as_ptr(), payload.len()))
        };
        Some((Peer(opened.from), at as u8, header, payload))
    }
}

/// The rails between this process and a peer: the networks that they have in common.
fn rails(own: &Card, me: Peer, card: &Card, peer: Peer) -> Vec<Rail> {
    let (ours, theirs) = (own.addresses(), card.addresses());
    let pairs = common_networks(&ours, &theirs, me < peer);
    let rail = |(port, place): (usize, usize)| Rail { port, to: card.places[place], newest: 0 };
    pairs.into_iter().take(usize::from(MOST_RAILS)).map(rail).collect()
}

/// Of a datagram that no process of the job has made.
fn stranger(port: &Port, from: SocketAddr) -> String {
    let Port { interface, .. } = port;
    format!(
        "a datagram of a stranger came to the UDP transport: it is dropped, as all further ones\nseen: it came from {from} to {} \
         ({}), and the job's signature is missing or wrong\nlook at what runs there, or at the network between: --mca \
         btl_udp_if_include chooses the addresses",
        interface.name, interface.address
    )
}

impl RemoteMemory for Udp {}
impl FastPath for Udp {}

impl Rails for Udp {
    fn rails(&self, peer: Peer) -> u8 {
        self.rails[peer.0 as usize].len() as u8
    }

    fn send_over<S: Source>(
        &mut self,
        rail: u8,
        peer: Peer,
        header: &[u64],
        payload: &mut S,
    ) -> Result<(), Busy> {
        let Rail { port, to, .. } = self.rails[peer.0 as usize][usize::from(rail)];
        if !self.ports[port].outgoing.has_room() {
            self.flush(port);
        }
        let Udp { ports, sealing, counts, .. } = self;
        let outgoing = &mut ports[port].outgoing;
        if !outgoing.has_room() {
            return Err(Busy);
        }
        let bytes = payload.remaining();
        let mut datagram = outgoing.memory();
        sealing.seal(peer.0, WORDS + header.len() * 8 + bytes, &mut datagram, |space| {
            let (words, space) = space.split_at_mut(WORDS);
            words.copy_from_slice(&(header.len() as u64).to_le_bytes());
            let (head, space) = space.split_at_mut(header.len() * 8);
            for (place, word) in head.as_chunks_mut::<8>().0.iter_mut().zip(header) {
                *place = word.to_ne_bytes();
            }
            payload.fill(PeerSpace::of(space));
        });
        outgoing.add(datagram, to);
        counts.bytes += bytes as u64;
        counts.datagrams += 1;
        if self.ports[port].outgoing.is_batch() {
            self.flush(port);
        }
        Ok(())
    }

    fn rail_of(&self, _arrival: &Arrival) -> u8 {
        self.lent.unwrap_or(0)
    }

    fn place_of(&self, rail: u8, peer: Peer) -> String {
        let Rail { port, to, .. } = &self.rails[peer.0 as usize][usize::from(rail)];
        let interface = &self.ports[*port].interface;
        format!("{} ({}) to {to}", interface.name, interface.address)
    }

    fn is_of_datagrams(&self) -> bool {
        true
    }

    fn depart(&mut self) {
        for at in 0..self.ports.len() {
            let outgoing = &self.ports[at].outgoing;
            if !outgoing.is_empty() && !outgoing.awaits_room {
                self.flush(at);
            }
        }
    }
}

impl Btl for Udp {
    fn reaches(&self, peer: Peer) -> bool {
        peer != self.me && self.rails.get(peer.0 as usize).is_some_and(|rails| !rails.is_empty())
    }

    fn limits(&self, _peer: Peer) -> &Limits {
        &self.limits
    }

    fn pace(&self, _peer: Peer) -> Pace {
        self.pace
    }

    fn send<S: Source>(&mut self, peer: Peer, header: &[u64], payload: &mut S) -> Result<(), Busy> {
        self.send_over(0, peer, header, payload)?;
        self.depart();
        Ok(())
    }

    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.lent.is_some() {
            return None;
        }
        self.depart();
        let (peer, rail, header, payload) = self.next_frame()?;
        self.lent = Some(rail);
        let token = self.incoming.next as u64;
        Some(Arrival { peer, header, payload, token })
    }

    /// Datagrams of all peers come by the same sockets.
    fn next_arrival_from(&mut self, _peer: Peer) -> Option<Arrival> {
        None
    }

    fn release(&mut self, _arrival: Arrival) {
        self.lent = None;
    }

    fn next_event(&mut self) -> Option<Event> {
        self.flush_all();
        self.events.pop_front()
    }

    fn has_ended(&mut self, peer: Peer) {
        self.events.push_back(Event::PeerLost(peer));
    }

    fn loss(&self, peer: Peer) -> Loss {
        Loss {
            seen: format!(
                "the launcher reports its end; UDP reached it by {}",
                self.places(peer).join(" and ")
            ),
            advice: "and at the network between the two hosts".into(),
        }
    }

    fn congested(&self, _peer: Peer) -> bool {
        false
    }

    fn full(&self, _peer: Peer) -> Option<Full> {
        self.ports.iter().any(|port| !port.outgoing.has_room()).then_some(Full::All)
    }

    fn is_flushed(&self) -> bool {
        self.ports.iter().all(|port| port.outgoing.is_empty())
    }

    fn advertise_congestion(&mut self, _on: bool) -> bool {
        false
    }

    /// Room is reported by the set.
    fn arm(&mut self) -> Option<Sleep> {
        self.flush_all();
        if self.must_arm_again() {
            return None;
        }
        Some(Sleep::Descriptor(self.set.as_fd().as_raw_fd()))
    }

    fn must_arm_again(&self) -> bool {
        let has_unsent = |port: &Port| !port.outgoing.is_empty() && !port.outgoing.awaits_room;
        let has_incoming = self.incoming.next < self.incoming.received.len();
        has_incoming || self.lent.is_some() || !self.events.is_empty() || self.ports.iter().any(has_unsent)
    }

    fn disarm(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.set.as_fd())
    }
}

//! The initiator's end of a socket to another NIC's service.
//!
//! The rank writes requests as far as the socket takes them; the service thread writes the rest and reads the
//! responses, puts fetched bytes where they belong, and wakes the rank.

use super::own::{About, Ended, Landing, Own, lock};
use super::sockets::Stream;
use super::wire::{Ask, RESPONSE, Request, Response};
use connect::exchange::{CHALLENGE, Calling, HELLO};
use connect::{Protection, Session};
use core::sync::atomic::{AtomicBool, Ordering};
use gni::{HwStatus, Time};
use mem::PeerBytes;
use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

/// Bytes that may wait for a socket before posts are refused as busy.
const MOST_WAITING: usize = 4 << 20;
/// A request is given up after this: the hardware's request table is scrubbed between 1 s and 2 s.
const DEADLINE: Time = Time::from_millis(1500);
const NEVER: Time = Time(u64::MAX);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Stream,
    out: Mutex<Outgoing>,
    pending: Mutex<Pending>,
    dead: AtomicBool,
}

/// What waits to be sent.
#[derive(Debug)]
struct Outgoing {
    bytes: Vec<u8>,
    /// What holds requests back.
    held: Option<Held>,
}

/// The exchange over TCP, until the other side has proven itself.
#[derive(Debug)]
struct Held {
    calling: Calling,
    /// Bytes of the hello that have not left; requests wait behind them.
    hello: usize,
}

impl Outgoing {
    /// Bytes at the front that may leave now.
    fn leaving(&self) -> usize {
        self.held.as_ref().map_or(self.bytes.len(), |held| held.hello)
    }

    fn flush(&mut self, stream: &Stream) {
        let written = write(stream, &self.bytes[..self.leaving()]);
        self.bytes.drain(..written);
        if let Some(held) = &mut self.held {
            held.hello -= written;
        }
    }
}

#[derive(Debug, Default)]
struct Pending {
    requests: HashMap<u32, Waiting>,
    last: u32,
}

/// A request without response yet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    about: About,
    into: Option<Landing>,
    deadline: Time,
}

/// What became of a request handed to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Handed {
    /// It is on its way.
    Sent,
    /// Too much is waiting already.
    Busy,
    /// The connection is gone.
    Dead,
}

impl Link {
    /// A connection within the host, which begins with `hello`.
    pub(super) fn begin(stream: Stream, hello: &[u8]) -> io::Result<Link> {
        Link::new(stream, Outgoing { bytes: hello.to_vec(), held: None })
    }

    /// A connection over TCP: requests leave once the other side has proven that it is of the job.
    pub(super) fn call(stream: Stream, calling: Calling) -> io::Result<Link> {
        let hello = calling.hello().to_vec();
        Link::new(stream, Outgoing { bytes: hello, held: Some(Held { calling, hello: HELLO }) })
    }

    fn new(stream: Stream, out: Outgoing) -> io::Result<Link> {
        stream.set_nonblocking()?;
        let (out, pending) = (Mutex::new(out), Mutex::default());
        let link = Link { stream, out, pending, dead: AtomicBool::new(false) };
        link.flush();
        Ok(link)
    }

    /// Where in `input` responses begin: behind the other side's challenge, if that was still to come. `Ok(None)`:
    /// not all of it is there; `Err`: the other side is not of the job.
    pub(super) fn take_challenge(&self, input: &[u8]) -> Result<Option<usize>, ()> {
        let mut out = lock(&self.out);
        let Some(held) = &out.held else { return Ok(Some(0)) };
        let Some(challenge) = input.first_chunk::<CHALLENGE>() else { return Ok(None) };
        let (proof, session) = held.calling.prove(challenge).map_err(|_| ())?;
        is_direct(&session).then_some(()).ok_or(())?;
        // The challenge answers the whole hello, so nothing of that is left.
        out.held = None;
        out.bytes.splice(..0, proof);
        out.flush(&self.stream);
        Ok(Some(CHALLENGE))
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Sends a request; with `answer` its end is reported, fetched bytes put `into` place.
    pub(super) fn send(
        &self,
        now: Time,
        mut request: Request,
        data: PeerBytes<'_>,
        answer: Option<(About, Option<Landing>)>,
    ) -> Handed {
        if self.is_dead() {
            return Handed::Dead;
        }
        let mut out = lock(&self.out);
        // Returned credits are few and short, and would be lost.
        let can_be_repeated = answer.is_some() || !data.is_empty();
        if can_be_repeated && out.bytes.len() > MOST_WAITING {
            return Handed::Busy;
        }
        if let Some((about, into)) = answer {
            // An atomic that was given up would be posted again and might be done twice; it waits as long as the
            // connection lives.
            let deadline = if matches!(request.ask, Ask::Atomic { .. }) { NEVER } else { now + DEADLINE };
            let mut pending = lock(&self.pending);
            pending.last = pending.last.wrapping_add(1).max(1);
            request.id = pending.last;
            pending.requests.insert(request.id, Waiting { about, into, deadline });
        }
        out.bytes.extend(request.to_bytes());
        append(&mut out.bytes, data);
        out.flush(&self.stream);
        Handed::Sent
    }

    /// Writes what waits. Errors show when reading.
    pub(super) fn flush(&self) {
        lock(&self.out).flush(&self.stream);
    }

    pub(super) fn has_output(&self) -> bool {
        lock(&self.out).leaving() > 0
    }

    pub(super) fn is_waiting(&self) -> bool {
        !lock(&self.pending).requests.is_empty()
    }

    /// Ends the request that `response` is about.
    pub(super) fn take(&self, own: &Own, response: &Response, data: &[u8]) {
        let mut pending = lock(&self.pending);
        let Some(waiting) = pending.requests.remove(&response.id) else { return };
        let mut status = response.status;
        if let (HwStatus::Ok, Some(into)) = (status, waiting.into) {
            // Under the lock: a request given up at its deadline is no longer in the table, and its memory may
            // have another use.
            status = own.land(&into, PeerBytes::of(data));
        }
        drop(pending);
        own.end(Ended { about: waiting.about, status });
    }

    /// Gives up requests whose time is over.
    pub(super) fn expire(&self, own: &Own, now: Time) {
        let overdue: Vec<Waiting> = lock(&self.pending)
            .requests
            .extract_if(|_, waiting| waiting.deadline <= now)
            .map(|(_, w)| w)
            .collect();
        for waiting in overdue {
            own.end(Ended { about: waiting.about, status: HwStatus::RequestTimeout });
        }
    }

    /// The connection is gone, and with it all requests.
    pub(super) fn die(&self, own: &Own) {
        self.dead.store(true, Ordering::Release);
        let lost: Vec<Waiting> = lock(&self.pending).requests.drain().map(|(_, waiting)| waiting).collect();
        for waiting in lost {
            own.end(Ended { about: waiting.about, status: HwStatus::RequestTimeout });
        }
        own.ring();
    }
}

/// Whether nothing is between the two sides. NICs do not sign what they send, so they accept no relay.
pub(super) fn is_direct(session: &Session) -> bool {
    session.protection() == Protection::None
}

/// Adds bytes that a peer or the program may be changing.
fn append(out: &mut Vec<u8>, data: PeerBytes<'_>) {
    let had = out.len();
    out.resize(had + data.len(), 0);
    data.copy_to(&mut out[had..]);
}

/// Writes as much of `out` as the stream takes; the bytes that it took.
pub(super) fn write(stream: &Stream, out: &[u8]) -> usize {
    let mut done = 0;
    while done < out.len() {
        match stream.write_some(&out[done..]) {
            Ok(Some(bytes)) if bytes > 0 => done += bytes,
            _ => break,
        }
    }
    done
}

/// Splits a complete response off the front of `bytes`: its head, and how long it is in all. `Err`: no response.
pub(super) fn split_response(bytes: &[u8]) -> Result<Option<(Response, usize)>, ()> {
    if bytes.len() < RESPONSE {
        return Ok(None);
    }
    let response = Response::from_bytes(bytes).ok_or(())?;
    let whole = RESPONSE + response.data as usize;
    Ok((bytes.len() >= whole).then_some((response, whole)))
}

//! The initiator's end of a socket to another NIC's service.
//!
//! The rank writes requests as far as the socket takes them; the service thread writes the rest and reads the
//! responses, puts fetched bytes where they belong, and wakes the rank.

use super::own::{Landing, Own, lock};
use super::sockets::Stream;
use super::wire::{RESPONSE, Request, Response};
use crate::fabric::Ticket;
use core::sync::atomic::{AtomicBool, Ordering};
use gni::{HwStatus, PeAddr, Time};
use mem::PeerBytes;
use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

/// Bytes that may wait for a socket before posts are refused as busy.
const MOST_WAITING: usize = 4 << 20;
/// A request is given up after this: the hardware's request table is scrubbed between 1 s and 2 s.
const DEADLINE: Time = Time::from_millis(1500);

#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: Stream,
    out: Mutex<Vec<u8>>,
    pending: Mutex<Pending>,
    dead: AtomicBool,
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

/// What a request was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum About {
    /// A transaction of the engine.
    Ticket(Ticket),
    /// Connecting this node's shared queue with another node's.
    Connect(PeAddr),
}

/// A request that has come to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    pub(super) about: About,
    pub(super) status: HwStatus,
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
    pub(super) fn new(stream: Stream) -> io::Result<Link> {
        stream.set_nonblocking()?;
        Ok(Link { stream, out: Mutex::default(), pending: Mutex::default(), dead: AtomicBool::new(false) })
    }

    /// Sends the first bytes of the connection.
    pub(super) fn begin(&self, hello: &[u8]) {
        let mut out = lock(&self.out);
        out.extend(hello);
        flush(&self.stream, &mut out);
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
        if can_be_repeated && out.len() > MOST_WAITING {
            return Handed::Busy;
        }
        if let Some((about, into)) = answer {
            let mut pending = lock(&self.pending);
            pending.last = pending.last.wrapping_add(1).max(1);
            request.id = pending.last;
            pending.requests.insert(request.id, Waiting { about, into, deadline: now + DEADLINE });
        }
        out.extend(request.to_bytes());
        append(&mut out, data);
        flush(&self.stream, &mut out);
        Handed::Sent
    }

    /// Writes what waits. Errors show when reading.
    pub(super) fn flush(&self) {
        flush(&self.stream, &mut lock(&self.out));
    }

    pub(super) fn has_output(&self) -> bool {
        !lock(&self.out).is_empty()
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

/// Adds bytes that a peer or the program may be changing.
fn append(out: &mut Vec<u8>, data: PeerBytes<'_>) {
    let had = out.len();
    out.resize(had + data.len(), 0);
    data.copy_to(&mut out[had..]);
}

/// Writes as much of `out` as the stream takes.
pub(super) fn flush(stream: &Stream, out: &mut Vec<u8>) {
    let mut done = 0;
    while done < out.len() {
        match stream.write_some(&out[done..]) {
            Ok(Some(bytes)) if bytes > 0 => done += bytes,
            _ => break,
        }
    }
    out.drain(..done);
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

//! Endpoints to try.

use btl::{Btl, Event, Peer};
use mem::UserMem;

/// Connected endpoints: `Peer(i)` names `ends[i]` on all of them. A loopback is a world of one.
#[derive(Debug)]
pub struct Endpoints<B> {
    /// The endpoints.
    pub ends: Vec<B>,
}

/// A message as it arrived.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Got {
    pub from: Peer,
    pub header: Vec<u64>,
    pub payload: Vec<u8>,
}

/// Calls without progress after which a check gives up. An endpoint that has work to do does it in its calls.
const MOST_POLLS: usize = 100_000;
/// Calls after which a check leaves the processor to the kernel between two calls: a network has timers of its own.
const BRISK: usize = 10_000;

/// Numbers the calls that a check makes until something happens.
pub(crate) fn calls() -> impl Iterator<Item = usize> {
    (0..MOST_POLLS).inspect(|&call| {
        if call > BRISK {
            std::thread::sleep(std::time::Duration::from_micros(20));
        }
    })
}

impl<B: Btl> Endpoints<B> {
    /// The receiver's index in checks between two: the last endpoint. The sender is the first.
    pub(crate) fn receiver(&self) -> usize {
        self.ends.len() - 1
    }

    /// Sends one message; `false`: the endpoint was busy.
    pub(crate) fn try_send(&mut self, from: usize, to: usize, header: &[u64], payload: &[u8]) -> bool {
        let mut copy = payload.to_vec();
        let mut source = view(&mut copy);
        let sent = self.ends[from].send(Peer(to as u32), header, &mut source).is_ok();
        let left = source.len();
        assert!(left == if sent { 0 } else { payload.len() }, "{left} bytes are left after sent = {sent}");
        sent
    }

    /// Sends one message, taking whatever arrives meanwhile at `to` into `got`.
    pub(crate) fn send(
        &mut self,
        from: usize,
        to: usize,
        header: &[u64],
        payload: &[u8],
        got: &mut impl FnMut(Got),
    ) {
        for _ in calls() {
            if self.try_send(from, to, header, payload) {
                return;
            }
            if let Some(message) = take(&mut self.ends[to]) {
                got(message);
            }
            self.no_event(from);
        }
        panic!("a send stays busy although the receiver takes every message");
    }

    /// The next message at `at`.
    pub(crate) fn receive(&mut self, at: usize) -> Got {
        self.receive_beside(at, usize::MAX)
    }

    /// As [`Endpoints::receive`], while the endpoint `idle` does nothing.
    pub(crate) fn receive_beside(&mut self, at: usize, idle: usize) -> Got {
        for _ in calls() {
            if let Some(message) = take(&mut self.ends[at]) {
                return message;
            }
            (0..self.ends.len()).filter(|&end| end != idle).for_each(|end| self.no_event(end));
        }
        panic!("a message does not arrive");
    }

    /// Lets all endpoints work until `at` reports an event.
    pub(crate) fn event(&mut self, at: usize) -> Event {
        for _ in calls() {
            if let Some(event) = next_event(&mut self.ends[at]) {
                return event;
            }
            (0..self.ends.len()).filter(|&end| end != at).for_each(|end| self.no_event(end));
        }
        panic!("an event is not reported");
    }

    /// Lets an endpoint work.
    pub(crate) fn no_event(&mut self, end: usize) {
        assert_eq!(next_event(&mut self.ends[end]), None, "nothing happened that is worth an event");
    }
}

/// The next event, but for ends of writes and updates, about which the transport is asked.
pub(crate) fn next_event<B: Btl>(end: &mut B) -> Option<Event> {
    std::iter::from_fn(|| end.next_event()).find(|event| !matches!(event, Event::Flushed(_)))
}

/// What has arrived at `end`, copied and released.
pub(crate) fn take<B: Btl>(end: &mut B) -> Option<Got> {
    let arrival = end.next_arrival()?;
    let header = (0..arrival.header.len() / 8).map(|index| arrival.header.word(index)).collect();
    let got = Got { from: arrival.peer, header, payload: arrival.payload.to_vec() };
    end.release(arrival);
    Some(got)
}

/// A view of bytes that outlive its use in these checks.
#[allow(unsafe_code)]
pub(crate) fn view(bytes: &mut [u8]) -> UserMem {
    // SAFETY: each check keeps the bytes until the operation on them has ended.
    unsafe { UserMem::of(bytes) }
}

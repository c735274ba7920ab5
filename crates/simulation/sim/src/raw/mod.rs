//! Two processes that exchange messages by the calls of a network interface itself, as the papers' NetPIPE modules did:
//! what MPI takes beyond that is MPI's overhead.
//!
//! ```text
//!   first                                   second
//!   put, or a message ──────────────────▶   event at the target
//!   event               ◀──────────────────  put, or a message
//! ```
//! Both modules are state machines. Their owner gives turns: two processes of a job spin (`alhena bench raw`), and on
//! virtual time the side whose clock is earlier has its turn first.

mod gemini;
mod over_portals;
pub(crate) mod pair;

pub use gemini::{Carrier, OverGemini};
pub use over_portals::OverPortals;

/// How two processes exchange messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// To and fro.
    PingPong,
    /// From the first to the second; each is waited for until it is acknowledged.
    Stream,
    /// Both ways at once, likewise.
    Both,
}

/// How far an exchange is, on one side.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    pattern: Pattern,
    /// Whether this side begins.
    first: bool,
    bytes: usize,
    messages: u32,
    sent: u32,
    received: u32,
    /// It waits for an acknowledgement.
    waits: bool,
}

impl Exchange {
    /// One of no messages.
    const fn none(first: bool) -> Exchange {
        Exchange {
            pattern: Pattern::PingPong,
            first,
            bytes: 0,
            messages: 0,
            sent: 0,
            received: 0,
            waits: false,
        }
    }

    const fn begin(&mut self, pattern: Pattern, bytes: usize, messages: u32) {
        *self = Exchange { pattern, bytes, messages, ..Exchange::none(self.first) };
    }

    fn sends(&self) -> bool {
        self.first || self.pattern != Pattern::Stream
    }

    fn receives(&self) -> bool {
        !self.first || self.pattern != Pattern::Stream
    }

    fn may_send(&self) -> bool {
        let turn = match self.pattern {
            Pattern::PingPong => self.sent < self.received + u32::from(self.first),
            Pattern::Stream | Pattern::Both => !self.waits,
        };
        self.sends() && turn && self.sent < self.messages
    }

    fn is_done(&self) -> bool {
        let sent = !self.sends() || self.sent == self.messages;
        sent && (!self.receives() || self.received == self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::{Exchange, Pattern};

    #[test]
    fn sides_take_turns() {
        let mut sides = [true, false].map(Exchange::none);
        sides.iter_mut().for_each(|side| side.begin(Pattern::PingPong, 8, 2));
        let mut order = Vec::new();
        while !sides.iter().all(Exchange::is_done) {
            let who = sides.iter().position(Exchange::may_send).expect("a side's turn");
            order.push(who);
            sides[who].sent += 1;
            sides[1 - who].received += 1;
        }
        assert_eq!(order, [0, 1, 0, 1]);
    }

    #[test]
    fn a_stream_has_one_direction_and_waits() {
        let [mut first, mut second] = [true, false].map(Exchange::none);
        first.begin(Pattern::Stream, 8, 1);
        second.begin(Pattern::Stream, 8, 1);
        assert!(first.may_send() && !second.may_send());
        first.waits = true;
        assert!(!first.may_send());
        (first.sent, second.received) = (1, 1);
        assert!(first.is_done() && second.is_done());
    }
}

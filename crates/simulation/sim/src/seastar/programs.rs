//! What two ranks do.

use crate::seastar::cluster::{Program, Step};
use crate::seastar::rank::Rank;
use abi::Result;
use mem::PeerBytes;
use pml::ReqId;
use portals_timed::Picos;

/// When receives are posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Before their message can come.
    Posted,
    /// After the send before them is complete, as two blocking calls do.
    Blocking,
    /// When their message is there.
    Late,
}

/// Rounds before time is taken.
const WARM_UP: u32 = 2;

/// Bounces a message to and fro.
pub(crate) struct PingPong {
    bytes: usize,
    mode: Mode,
    left: u32,
    rounds: u32,
    /// Whether this rank has the ball.
    may_send: bool,
    sending: Option<ReqId>,
    receiving: Option<ReqId>,
    begun: Picos,
    ended: Picos,
    intact: bool,
}

impl PingPong {
    pub(crate) fn new(me: u32, bytes: usize, mode: Mode, rounds: u32) -> PingPong {
        PingPong {
            bytes,
            mode,
            left: rounds + WARM_UP,
            rounds,
            may_send: me == 0,
            sending: None,
            receiving: None,
            begun: 0,
            ended: 0,
            intact: true,
        }
    }

    /// Nanoseconds of half a round trip, as rank 0 sees it.
    pub(crate) fn half_trip(&self) -> f64 {
        (self.ended - self.begun) as f64 / 1000.0 / f64::from(2 * self.rounds)
    }

    pub(crate) fn is_intact(&self) -> bool {
        self.intact
    }

    fn post(&mut self, rank: &mut Rank) -> Result<()> {
        if self.receiving.is_none() && self.left > 0 {
            let into = rank.memory().part(self.bytes, self.bytes);
            self.receiving = Some(rank.irecv(1 - rank.rank(), 1, into)?);
        }
        Ok(())
    }
}

impl Program for PingPong {
    fn memory(&self) -> usize {
        2 * self.bytes
    }

    fn step(&mut self, rank: &mut Rank) -> Result<Step> {
        if let Some(id) = self.sending
            && rank.take(id)?
        {
            self.sending = None;
        }
        if self.may_send && self.sending.is_none() {
            let from = rank.memory().part(0, self.bytes);
            from.part(0, 1).write(PeerBytes::of(&[self.left as u8]));
            self.may_send = false;
            if rank.rank() == 0 && self.left == self.rounds {
                self.begun = rank.now();
            }
            self.sending = rank.isend(1 - rank.rank(), 1, from)?;
        }
        match self.mode {
            Mode::Posted => self.post(rank)?,
            Mode::Blocking if self.sending.is_none() => self.post(rank)?,
            Mode::Late if self.receiving.is_none() && rank.is_here(1 - rank.rank(), 1) => self.post(rank)?,
            Mode::Blocking | Mode::Late => {}
        }
        if let Some(id) = self.receiving
            && rank.take(id)?
        {
            self.receiving = None;
            let first = rank.memory().part(self.bytes, self.bytes.min(1)).as_bytes().to_vec();
            // The rank that answers has counted the round before it sends.
            let expected = self.left - u32::from(rank.rank() == 0);
            self.intact &= first.first().is_none_or(|&byte| byte == expected as u8);
            self.left -= 1;
            self.ended = rank.now();
            self.may_send = rank.rank() == 1 || self.left > 0;
            return Ok(Step::Going);
        }
        let over = self.left == 0 && !self.may_send && self.sending.is_none();
        Ok(if over { Step::Done } else { Step::Waiting })
    }
}

/// Messages from rank 0 to rank 1, or one each way at once, one after the other on each side, with receives posted ahead.
pub(crate) struct Stream {
    bytes: usize,
    both: bool,
    /// Receives that are posted together.
    ahead: usize,
    messages: u32,
    sent: u32,
    received: u32,
    posted: u32,
    sending: Option<ReqId>,
    receiving: Vec<ReqId>,
    begun: Picos,
    ended: Picos,
}

impl Stream {
    pub(crate) fn new(bytes: usize, both: bool, ahead: usize, messages: u32) -> Stream {
        Stream {
            bytes,
            both,
            ahead,
            messages: messages + WARM_UP,
            sent: 0,
            received: 0,
            posted: 0,
            sending: None,
            receiving: Vec::new(),
            begun: 0,
            ended: 0,
        }
    }

    /// When the first timed message was there, and when all were.
    pub(crate) fn span(&self) -> (Picos, Picos) {
        (self.begun, self.ended)
    }
}

impl Program for Stream {
    fn memory(&self) -> usize {
        2 * self.bytes
    }

    fn step(&mut self, rank: &mut Rank) -> Result<Step> {
        let other = 1 - rank.rank();
        let (sends, receives) = (self.both || rank.rank() == 0, self.both || rank.rank() == 1);
        let memory = rank.memory();
        while receives && self.receiving.len() < self.ahead && self.posted < self.messages {
            self.receiving.push(rank.irecv(other, 1, memory.part(self.bytes, self.bytes))?);
            self.posted += 1;
        }
        // In their order: others may complete before, but the first is waited for first.
        while let Some(&first) = self.receiving.first()
            && rank.take(first)?
        {
            self.receiving.remove(0);
            self.received += 1;
            if self.received == WARM_UP {
                self.begun = rank.now();
            }
            self.ended = rank.now();
        }
        if let Some(id) = self.sending
            && rank.take(id)?
        {
            self.sending = None;
        }
        // Both ways: each waits for both of its messages before the next ones.
        let may_send = self.sending.is_none() && (!self.both || self.received >= self.sent);
        if sends && may_send && self.sent < self.messages {
            self.sending = rank.isend(other, 1, memory.part(0, self.bytes))?;
            self.sent += 1;
            return Ok(Step::Going);
        }
        let waits = receives && (self.received < self.messages);
        if waits && self.receiving.len() < self.ahead && self.posted < self.messages {
            return Ok(Step::Going);
        }
        let over = !waits && (!sends || self.sent == self.messages && self.sending.is_none());
        Ok(if over { Step::Done } else { Step::Waiting })
    }
}

/// Posts many operations whose counterparts never come.
pub(crate) struct Hoard {
    pub(crate) receives: u32,
    pub(crate) sends: u32,
    pub(crate) bytes: usize,
    begun: bool,
}

impl Hoard {
    pub(crate) fn new(receives: u32, sends: u32, bytes: usize) -> Hoard {
        Hoard { receives, sends, bytes, begun: false }
    }
}

impl Program for Hoard {
    fn memory(&self) -> usize {
        self.bytes
    }

    fn step(&mut self, rank: &mut Rank) -> Result<Step> {
        if rank.rank() == 0 && !self.begun {
            self.begun = true;
            let memory = rank.memory();
            for tag in 0..self.receives as i32 {
                rank.irecv(1, tag, memory)?;
            }
            for tag in 0..self.sends as i32 {
                rank.isend(1, tag, memory)?;
            }
        }
        Ok(Step::Done)
    }
}

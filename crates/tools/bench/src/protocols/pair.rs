//! Two ends of the Gemini transport in this process, and what one message between them costs.

use std::sync::Arc;
use std::time::Instant;

use btl::{Alone, Bounds, Btl, Peer};
use btl_ugni::{Job, PeerAddress, SetupError, Stats, Ugni, UgniParams};
use gni::{Gni, InstId, JobKey, Modes, PeAddr, Time};
use gni_soft::inproc::{InProc, NetworkConfig, SharedNetwork};
use gni_soft::{NicConfig, SoftNic};
use mem::UserMem;
use pml::{Counters, Data, LayerState, Mode, Pattern, Receives, ReqId, SendTo, Sends};
use pml_ob1::{Config, Ob1};
use serde::Serialize;

/// What became of one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Payload bytes.
    pub bytes: usize,
    /// The protocol that carried it.
    pub protocol: String,
    /// Messages that carried none of the payload.
    pub control_messages: u64,
    /// All messages, those with payload included.
    pub messages: u64,
    /// Copies of (parts of) the payload by a processor, on both sides.
    pub copies: u64,
    /// Transfers by the NIC.
    pub transfers: u64,
    /// Registrations made for it, on both sides.
    pub registrations: u64,
    /// Bytes that were registered for it, on both sides.
    pub registered_bytes: u64,
    /// Bytes of mailboxes and buffers that both sides keep registered for all their messages.
    pub pool_bytes: u64,
}

/// One process's stack.
struct End {
    ob1: Ob1,
    ugni: Ugni<SoftNic<InProc>, Box<dyn FnMut() -> Time>>,
    memory: UserMem,
}

/// Counts of both ends at one moment.
#[derive(Clone, Copy)]
struct Counts {
    ugni: [Stats; 2],
    ob1: [Counters; 2],
}

/// Room beside a message for misalignment.
const SLACK: usize = 64;

/// Sends one message of `bytes` from a buffer `from` bytes behind an aligned address to one `to` bytes behind, over a
/// connection and pools that are warm.
///
/// # Errors
/// [`SetupError`] when the limits leave no way to communicate.
pub fn measure(params: &UgniParams, bytes: usize, (from, to): (usize, usize)) -> Result<Cost, SetupError> {
    let mut ends = connect(params, bytes)?;
    let send = ends[0].memory.part(from, bytes);
    let receive = ends[1].memory.part(to, bytes);
    exchange(&mut ends, send, receive);
    let (before, registered_before) = (Counts::of(&ends), registered_bytes(&ends));
    exchange(&mut ends, send, receive);
    let counts = Counts::of(&ends).since(&before);
    Ok(Cost {
        registered_bytes: registered_bytes(&ends) - registered_before,
        pool_bytes: ends.iter().map(|end| end.ugni.stats()).map(pool_bytes).sum(),
        ..counts.cost(bytes, params.get_limit >= 4)
    })
}

fn pool_bytes(stats: &Stats) -> u64 {
    stats.mailbox_bytes + stats.buffer_bytes + stats.msgq_bytes
}

/// What both ends have registered so far.
fn registered_bytes(ends: &[End; 2]) -> u64 {
    ends.iter().map(|end| end.ugni.nic().stats().bytes_ever_registered).sum()
}

fn connect(params: &UgniParams, bytes: usize) -> Result<[End; 2], SetupError> {
    let world = SharedNetwork::new(NetworkConfig::default());
    let attach = |rank: u32| {
        let key = JobKey::for_job(0);
        let config = NicConfig::default();
        let failed = |error| SetupError::Nic("attaching a NIC of this process", error);
        let mut nic =
            world.attach(PeAddr(rank), InstId(rank), key, Modes::default(), config).map_err(failed)?;
        let memory = nic.mem_alloc(bytes + SLACK).map_err(failed)?;
        Ok((nic, memory))
    };
    let (first, second) = (attach(0)?, attach(1)?);
    let peers: Arc<[PeerAddress]> = [&first.0, &second.0].map(PeerAddress::of).into();
    let open = |rank, (nic, memory)| {
        let began = Instant::now();
        let clock: Box<dyn FnMut() -> Time> = Box::new(move || Time(began.elapsed().as_nanos() as u64));
        let job = Job { me: Peer(rank), peers: Arc::clone(&peers), local_ranks: 1 };
        let ugni = Ugni::new(nic, clock, job, params.clone())?;
        Ok(End { ob1: Ob1::new(Config::new(2)), ugni, memory })
    };
    Ok([open(0, first)?, open(1, second)?])
}

/// Sends one message from the first end to the second, and lets both come to rest.
fn exchange([sender, receiver]: &mut [End; 2], send: UserMem, receive: UserMem) {
    let pattern = Pattern { context: 0, source: 0, tag: 0, peer: Some(Peer(0)), owner: 0 };
    let to = SendTo { peer: Peer(1), context: 0, source: 0, tag: 0, owner: 0 };
    // A machine that has just been made has names for all requests, so neither call can fail.
    let received = receiver.ob1.irecv(&mut receiver.ugni, &pattern, Data::Contiguous(receive)).ok();
    let sent = sender.ob1.isend(&mut sender.ugni, &to, Data::Contiguous(send), Mode::Standard).ok().flatten();
    let is_over = |end: &End, request: Option<ReqId>| {
        let complete = |id| end.ob1.is_complete(id) != Some(false);
        request.is_none_or(complete) && end.ob1.idle() && end.ugni.is_flushed()
    };
    while !is_over(sender, sent) || !is_over(receiver, received) {
        for end in [&mut *sender, &mut *receiver] {
            btl::poll(&mut Alone(&mut end.ugni, &mut end.ob1), Bounds::USUAL);
        }
    }
    for (end, request) in [(sender, sent), (receiver, received)] {
        request.and_then(|id| end.ob1.take(id));
    }
}

impl Counts {
    fn of(ends: &[End; 2]) -> Counts {
        Counts {
            ugni: [0, 1].map(|end: usize| *ends[end].ugni.stats()),
            ob1: [0, 1].map(|end: usize| ends[end].ob1.counters()),
        }
    }

    /// What has been counted since `before`; only the fields that [`Counts::cost`] looks at.
    fn since(&self, before: &Counts) -> Counts {
        let mut news = *self;
        for (new, old) in news.ugni.iter_mut().zip(&before.ugni) {
            new.smsg_sends -= old.smsg_sends;
            new.msgq_sends -= old.msgq_sends;
            new.control_messages -= old.control_messages;
            new.eager_gets -= old.eager_gets;
            new.fma_gets -= old.fma_gets;
            new.bte_gets -= old.bte_gets;
            new.fma_puts -= old.fma_puts;
            new.bte_puts -= old.bte_puts;
            new.copies -= old.copies;
            new.registrations -= old.registrations;
        }
        for (new, old) in news.ob1.iter_mut().zip(&before.ob1) {
            new.gets -= old.gets;
            new.puts -= old.puts;
            new.copies -= old.copies;
        }
        news
    }

    fn cost(&self, bytes: usize, can_get: bool) -> Cost {
        let sum = |count: fn(&Stats) -> u64| self.ugni.iter().map(count).sum::<u64>();
        let messages = sum(|stats| stats.smsg_sends + stats.msgq_sends + stats.control_messages);
        let copies = sum(|stats| stats.copies);
        // A copy into a buffer for Eager GET is not in a message; one without payload is nonetheless the message.
        let inline = if bytes == 0 { 1 } else { copies - sum(|stats| stats.eager_gets) };
        Cost {
            bytes,
            protocol: self.protocol(can_get),
            control_messages: messages - inline,
            messages,
            // What the sender copied the receiver copied out again.
            copies: 2 * copies,
            transfers: sum(|stats| stats.fma_gets + stats.bte_gets + stats.fma_puts + stats.bte_puts),
            registrations: sum(|stats| stats.registrations),
            registered_bytes: 0,
            pool_bytes: 0,
        }
    }

    fn protocol(&self, can_get: bool) -> String {
        let [sender, receiver] = &self.ugni;
        let by = |fma: u64, bte: u64| match (fma, bte) {
            (_, 0) => "FMA",
            (0, _) => "BTE",
            _ => "FMA and BTE",
        };
        if self.ob1[1].gets > 0 {
            format!("rendezvous GET by {}", by(receiver.fma_gets, receiver.bte_gets))
        } else if self.ob1[0].puts > 0 {
            let name = if can_get { "Put Fallback" } else { "rendezvous PUT" };
            format!("{name} by {}", by(sender.fma_puts, sender.bte_puts))
        } else if self.ob1[0].copies > 0 {
            "rendezvous in fragments".to_string()
        } else if sender.eager_gets > 0 {
            format!("Eager GET by {}", by(receiver.fma_gets, receiver.bte_gets))
        } else if sender.msgq_sends > 0 {
            "MSGQ".to_string()
        } else {
            "SMSG".to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, measure};
    use crate::protocols::forced::Forced;

    fn cost(forced: Forced, bytes: usize, shift: (usize, usize)) -> Cost {
        measure(&forced.params(), bytes, shift).expect("usable limits")
    }

    #[test]
    fn the_papers_bands() {
        let protocols =
            [8, 1000, 1100, 4096, 8192, 65536].map(|bytes| cost(Forced::Paper, bytes, (0, 0)).protocol);
        let expected = [
            "SMSG",
            "SMSG",
            "Eager GET by FMA",
            "Eager GET by BTE",
            "Eager GET by BTE",
            "rendezvous GET by BTE",
        ];
        assert_eq!(protocols, expected);
    }

    #[test]
    fn an_inline_message_costs_two_copies_and_nothing_else() {
        let Cost { control_messages, messages, copies, transfers, registrations, .. } =
            cost(Forced::Default, 100, (0, 0));
        assert_eq!((control_messages, messages, copies, transfers, registrations), (0, 1, 2, 0, 0));
    }

    #[test]
    fn eager_get_costs_a_request_and_its_end() {
        let seen = cost(Forced::Paper, 4096, (1, 0));
        assert_eq!((seen.control_messages, seen.copies, seen.transfers, seen.registrations), (2, 2, 1, 0));
    }

    #[test]
    fn a_get_costs_an_offer_and_its_end_and_both_registrations() {
        let seen = cost(Forced::Default, 1 << 16, (0, 0));
        assert_eq!((seen.control_messages, seen.copies, seen.transfers, seen.registrations), (2, 0, 1, 2));
        assert_eq!(seen.registered_bytes, 2 << 16);
    }

    #[test]
    fn put_fallback_costs_one_message_more() {
        let seen = cost(Forced::Default, 1 << 16, (0, 1));
        assert_eq!(seen.protocol, "Put Fallback by BTE");
        assert_eq!((seen.control_messages, seen.copies, seen.transfers), (3, 0, 1));
    }

    #[test]
    fn a_forced_protocol_is_used() {
        for (forced, name) in [
            (Forced::Smsg, "SMSG"),
            (Forced::EagerGet, "Eager GET by BTE"),
            (Forced::Get, "rendezvous GET by BTE"),
            (Forced::Put, "rendezvous PUT by BTE"),
            (Forced::Fragments, "rendezvous in fragments"),
        ] {
            assert_eq!(cost(forced, 8192, (0, 0)).protocol, name, "{}", forced.name());
        }
        assert_eq!(cost(Forced::Msgq, 50, (0, 0)).protocol, "MSGQ");
    }
}

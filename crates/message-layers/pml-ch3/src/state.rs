//! What the layer knows without its transport.

use crate::Ch3;
use crate::request::State;
use btl::Peer;
use pml::{Counters, Data, LayerState, Notice, Requests};

impl LayerState for Ch3 {
    type State = State;

    #[inline]
    fn requests(&self) -> &Requests<State> {
        &self.requests
    }

    #[inline]
    fn requests_mut(&mut self) -> &mut Requests<State> {
        &mut self.requests
    }

    fn next_lost(&mut self) -> Option<Peer> {
        self.lost_news.pop()
    }

    fn idle(&self) -> bool {
        self.unfinished == 0
            && self.staged.is_empty()
            && self.fetches.is_empty()
            && self.transfers.is_empty()
            && !self.waits_for_room()
    }

    fn is_quiet(&self) -> bool {
        self.idle() && self.posted.is_empty() && self.unexpected.len() == 0 && !self.lanes.any_early()
    }

    fn each_awaited(&self, seen: &mut dyn FnMut(u32, Option<Peer>)) {
        for id in &self.posted {
            if let Some(State::Posted { pattern, .. }) = self.requests.get(id.0).map(|request| &request.state)
            {
                seen(pattern.context, pattern.peer);
            }
        }
    }

    fn waits_for_room(&self) -> bool {
        self.lanes.anyone_waits() || !self.retries.is_empty()
    }

    fn needs_turn(&self) -> bool {
        false
    }

    fn needs_poll(&mut self, _to: Peer, _data: &Data, _copied: bool) -> bool {
        false
    }

    fn changes(&self) -> u32 {
        self.changes
    }

    fn counters(&self) -> Counters {
        Counters {
            unexpected_bytes: self.unexpected.bytes(),
            unexpected_bytes_peak: self.unexpected.peak,
            unexpected_length: self.unexpected.len() as u64,
            posted_length: self.posted.len() as u64,
            ..self.counts
        }
    }

    fn restart_peak(&mut self) {
        self.unexpected.peak = self.unexpected.bytes();
    }

    fn note_unexpected(&mut self, wanted: bool) {
        self.notices.want(wanted);
    }

    fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.notices.take()
    }
}

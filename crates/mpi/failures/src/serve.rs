//! Receiving frames of the class `Failure`: revocations and messages of agreements.

use btl::{Class, Peer};
use engine::{Handler, Message, Process};

use crate::abroad;
use crate::ballot::{decode, longest};
use crate::decisions::{self, CallId};
use crate::frames::{self, CONSENSUS, FAILED, PART, REVOKE};
use crate::revoke;
use objects::state::State;

/// The handler of these frames.
pub struct Serve;

impl Handler<State> for Serve {
    const CLASS: Class = Class::Failure;

    fn on_message(state: &mut State, message: &Message<'_>) {
        let &[first, second, _] = message.words() else { return };
        if message.kind == FAILED {
            if let Ok(rank) = u32::try_from(second) {
                abroad::hear(state, message.from, Process { job: first, rank });
            }
            return;
        }
        let &[context, call, question] = message.words() else { return };
        let number = |word: u64| u32::try_from(word).ok();
        let (Some(context), Some(call), Some(question)) = (number(context), number(call), number(question))
        else {
            return;
        };
        match message.kind {
            REVOKE => revoke::hear(state, context, message.from),
            PART => {
                let most = longest(state.p2p.peers().next().0 as usize);
                frames::keep_part(state, message.from, &message.payload.to_vec(), most);
            }
            CONSENSUS => {
                let whole = frames::complete(state, message.from, message.payload.to_vec());
                if let Some(heard) = decode(&whole) {
                    decisions::hear(state, CallId { context, call, question }, message.from, heard);
                }
            }
            _ => {}
        }
    }

    fn on_room(state: &mut State) {
        frames::flush(state);
    }

    fn on_lost(state: &mut State, peer: Peer) {
        frames::forget(state, peer);
    }
}

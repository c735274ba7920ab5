//! Performance variables of the message layer.

use mca::{Quantity, Variable};
use pml::Counters;

/// The variables, read from what [`pml::LayerState::counters`] gives.
pub const VARIABLES: &[Variable<Counters>] = &[
    Variable::new(
        "pml_ob1_posted_length",
        Quantity::Level,
        |counts| counts.posted_length,
        "Receives that wait for their message",
    ),
    Variable::new(
        "pml_ob1_unexpected_length",
        Quantity::Level,
        |counts| counts.unexpected_length,
        "Messages that wait for their receive",
    ),
    Variable::new(
        "pml_ob1_unexpected_bytes",
        Quantity::Level,
        |counts| counts.unexpected_bytes,
        "Memory that the payload of messages without a receive takes",
    ),
    Variable::new(
        "pml_ob1_unexpected_bytes_peak",
        Quantity::Peak,
        |counts| counts.unexpected_bytes_peak,
        "Most memory that the payload of messages without a receive took",
    ),
    Variable::new(
        "pml_ob1_unexpected_arrivals",
        Quantity::Counter,
        |counts| counts.unexpected_arrivals,
        "Messages that arrived before their receive",
    ),
    Variable::new(
        "pml_ob1_parked_arrivals",
        Quantity::Counter,
        |counts| counts.parked_arrivals,
        "Messages that overtook others on their way and had to wait for them",
    ),
    Variable::new(
        "pml_ob1_eager_sends",
        Quantity::Counter,
        |counts| counts.eager_sends,
        "Messages sent together with their payload",
    ),
    Variable::new(
        "pml_ob1_sync_sends",
        Quantity::Counter,
        |counts| counts.sync_sends,
        "Synchronous-mode messages sent together with their payload",
    ),
    Variable::new(
        "pml_ob1_offers",
        Quantity::Counter,
        |counts| counts.offers,
        "Messages offered by rendezvous",
    ),
    Variable::new(
        "pml_ob1_gets",
        Quantity::Counter,
        |counts| counts.gets,
        "Messages that the receiver fetched from the sender's memory",
    ),
    Variable::new(
        "pml_ob1_puts",
        Quantity::Counter,
        |counts| counts.puts,
        "Messages that the sender stored into the receiver's memory",
    ),
    Variable::new(
        "pml_ob1_copies",
        Quantity::Counter,
        |counts| counts.copies,
        "Messages offered by rendezvous and sent in fragments",
    ),
    Variable::new(
        "pml_ob1_fallbacks",
        Quantity::Counter,
        |counts| counts.fallbacks,
        "Messages whose fetch or store failed, so that they went in fragments",
    ),
    Variable::new(
        "pml_ob1_bad_frames",
        Quantity::Counter,
        |counts| counts.bad_frames,
        "Frames dropped because no honest peer sends them",
    ),
];

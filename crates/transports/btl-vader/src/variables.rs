//! Performance variables of the transport.

use mca::Quantity::Sum;
use mca::Variable;

use crate::Vader;

/// Performance variables of the transport.
pub const VARIABLES: &[Variable<Vader>] = &[
    Variable::new("btl_vader_bytes", Sum, |vader| vader.traffic().0, "Payload sent through shared memory"),
    Variable::new(
        "btl_vader_copied_bytes",
        Sum,
        |vader| vader.traffic().1,
        "Payload of messages that this process fetched from or stored into the memory of processes on its node; the \
         sender's share of a joint copy counts for the receiver",
    ),
];

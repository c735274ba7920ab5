//! The performance variables that exist: what each says, and where its value comes from (MPI-5.0 section 15.3.7).

use crate::state::State;

/// One performance variable. Its name begins with the room that it tells of.
pub(super) struct Variable {
    pub name: &'static str,
    pub description: &'static str,
    pub quantity: Quantity,
}

/// What a variable measures, and how the library's own count is read.
#[derive(Clone, Copy)]
pub(super) enum Quantity {
    /// A length or amount at the moment: `MPI_T_PVAR_CLASS_LEVEL`, read-only.
    Level(fn(&State) -> u64),
    /// The highest value of a level: `MPI_T_PVAR_CLASS_HIGHWATERMARK`.
    Peak(fn(&State) -> u64),
    /// How often something happened: `MPI_T_PVAR_CLASS_COUNTER`.
    Counter(fn(&State) -> u64),
    /// A sum, here of bytes: `MPI_T_PVAR_CLASS_AGGREGATE`.
    Sum(fn(&State) -> u64),
    /// Time, kept in nanoseconds and shown in seconds: `MPI_T_PVAR_CLASS_TIMER`. Measured only while it is wanted.
    Time(fn(&State) -> u64),
}

impl Quantity {
    /// The library's own count.
    pub fn now(self, state: &State) -> u64 {
        match self {
            Quantity::Level(of)
            | Quantity::Peak(of)
            | Quantity::Counter(of)
            | Quantity::Sum(of)
            | Quantity::Time(of) => of(state),
        }
    }

    pub const fn class(self) -> i32 {
        match self {
            Quantity::Level(_) => abi::T_PVAR_CLASS_LEVEL,
            Quantity::Peak(_) => abi::T_PVAR_CLASS_HIGHWATERMARK,
            Quantity::Counter(_) => abi::T_PVAR_CLASS_COUNTER,
            Quantity::Sum(_) => abi::T_PVAR_CLASS_AGGREGATE,
            Quantity::Time(_) => abi::T_PVAR_CLASS_TIMER,
        }
    }

    pub const fn datatype(self) -> abi::Datatype {
        match self {
            Quantity::Time(_) => abi::DOUBLE,
            _ => abi::UNSIGNED_LONG_LONG,
        }
    }

    /// Whether it can be neither written nor reset.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Quantity::Level(_))
    }

    /// Whether it runs from the allocation of its handle on, without being started.
    pub const fn is_continuous(self) -> bool {
        !matches!(self, Quantity::Time(_))
    }
}

const fn variable(name: &'static str, quantity: Quantity, description: &'static str) -> Variable {
    Variable { name, description, quantity }
}

/// All performance variables; the index of one is its number.
pub(super) static VARIABLES: [Variable; 22] = [
    variable(
        "mpi_progress_time",
        Quantity::Time(|state| state.tools.progress_time),
        "Time spent advancing communication while it was awaited or tested for",
    ),
    variable(
        "mpi_communicators",
        Quantity::Level(|state| state.comms.handles().len() as u64),
        "Communicators that exist, the predefined ones included",
    ),
    variable(
        "pml_ob1_posted_length",
        Quantity::Level(|state| state.p2p.counters().posted_length),
        "Receives that wait for their message",
    ),
    variable(
        "pml_ob1_unexpected_length",
        Quantity::Level(|state| state.p2p.counters().unexpected_length),
        "Messages that wait for their receive",
    ),
    variable(
        "pml_ob1_unexpected_bytes",
        Quantity::Level(|state| state.p2p.counters().unexpected_bytes),
        "Memory that the payload of messages without a receive takes",
    ),
    variable(
        "pml_ob1_unexpected_bytes_peak",
        Quantity::Peak(|state| state.p2p.counters().unexpected_bytes_peak),
        "Most memory that the payload of messages without a receive took",
    ),
    variable(
        "pml_ob1_unexpected_arrivals",
        Quantity::Counter(|state| state.p2p.counters().unexpected_arrivals),
        "Messages that arrived before their receive",
    ),
    variable(
        "pml_ob1_parked_arrivals",
        Quantity::Counter(|state| state.p2p.counters().parked_arrivals),
        "Messages that overtook others on their way and had to wait for them",
    ),
    variable(
        "pml_ob1_eager_sends",
        Quantity::Counter(|state| state.p2p.counters().eager_sends),
        "Messages sent together with their payload",
    ),
    variable(
        "pml_ob1_sync_sends",
        Quantity::Counter(|state| state.p2p.counters().sync_sends),
        "Synchronous-mode messages sent together with their payload",
    ),
    variable(
        "pml_ob1_offers",
        Quantity::Counter(|state| state.p2p.counters().offers),
        "Messages offered by rendezvous",
    ),
    variable(
        "pml_ob1_gets",
        Quantity::Counter(|state| state.p2p.counters().gets),
        "Messages that the receiver fetched from the sender's memory",
    ),
    variable(
        "pml_ob1_puts",
        Quantity::Counter(|state| state.p2p.counters().puts),
        "Messages that the sender stored into the receiver's memory",
    ),
    variable(
        "pml_ob1_copies",
        Quantity::Counter(|state| state.p2p.counters().copies),
        "Messages offered by rendezvous and sent in fragments",
    ),
    variable(
        "pml_ob1_fallbacks",
        Quantity::Counter(|state| state.p2p.counters().fallbacks),
        "Messages whose fetch or store failed, so that they went in fragments",
    ),
    variable(
        "pml_ob1_bad_frames",
        Quantity::Counter(|state| state.p2p.counters().bad_frames),
        "Frames dropped because no honest peer sends them",
    ),
    variable(
        "btl_self_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().to_self),
        "Payload that went from this process to itself",
    ),
    variable(
        "btl_vader_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().sent),
        "Payload sent through shared memory",
    ),
    variable(
        "btl_vader_copied_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().copied),
        "Payload of messages that this process fetched from or stored into the memory of processes on its node; the \
         sender's share of a joint copy counts for the receiver",
    ),
    variable(
        "btl_ugni_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().gemini_sent),
        "Payload sent over Gemini in messages: through mailboxes, the node's shared queue, and buffers that the peer fetches",
    ),
    variable(
        "btl_ugni_moved_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().gemini_moved),
        "Payload of messages that this process fetched from or stored into other processes' memory over Gemini",
    ),
    variable(
        "btl_tcp_bytes",
        Quantity::Sum(|state| state.p2p.bml.traffic().tcp_sent),
        "Payload sent over TCP",
    ),
];

//! The performance variables that exist (MPI-5.0 section 15.3.7): one line for each crate that declares some.

use std::sync::LazyLock;

use coll::Coll;
use coll::algorithms::registry;
use mca::Quantity;

use objects::state::State;

/// The variables of the objects of MPI.
const OWN: &[mca::Variable<State>] = &[
    mca::Variable::new(
        "mpi_progress_time",
        Quantity::Time,
        |state| state.progress_time,
        "Time spent advancing communication while it was awaited or tested for",
    ),
    mca::Variable::new(
        "mpi_communicators",
        Quantity::Level,
        |state| state.comms.handles().len() as u64,
        "Communicators that exist, the predefined ones included",
    ),
];

/// All performance variables; the index of one is its number.
pub(super) static VARIABLES: LazyLock<Vec<Variable>> = LazyLock::new(|| {
    let mut all = Vec::new();
    collect(&mut all, OWN, |state, read| read(state));
    collect(&mut all, engine::VARIABLES, |state, read| read(&state.p2p));
    collect(&mut all, pml_ob1::VARIABLES, |state, read| read(&state.p2p.counters()));
    all.extend(bml::counts().into_iter().map(|count| Variable {
        name: count.name,
        description: count.description,
        quantity: count.quantity,
        words: &[],
        now: Box::new(move |state| (count.read)(&state.p2p.bml)),
    }));
    all.extend(Coll::ALL.into_iter().filter(|&coll| registry::of(coll).nth(1).is_some()).map(algorithm));
    all
});

/// What the latest call of a collective ran.
fn algorithm(coll: Coll) -> Variable {
    let all = move || registry::of(coll);
    let words: Vec<&str> = ["none"].into_iter().chain(all().map(|(_, algorithm)| algorithm.name)).collect();
    let place =
        move |latest| all().position(|(id, _)| Some(id) == latest).map_or(0, |index| index as u64 + 1);
    Variable {
        name: format!("coll_{}_algorithm", coll.name()).leak(),
        description: format!("Algorithm of the latest collective call of kind {}", coll.name()).leak(),
        quantity: Quantity::State,
        words: words.leak(),
        now: Box::new(move |state| place(state.algorithms[coll as usize])),
    }
}

/// One performance variable.
pub(super) struct Variable {
    pub name: &'static str,
    pub description: &'static str,
    pub quantity: Quantity,
    /// Of a state, the names of its values.
    pub words: &'static [&'static str],
    now: Box<dyn Fn(&State) -> u64 + Send + Sync>,
}

impl Variable {
    /// The library's own count.
    pub fn now(&self, state: &State) -> u64 {
        (self.now)(state)
    }
}

/// Calls a function with what the variables of a crate are read from.
type Lend<T> = fn(&State, fn(&T) -> u64) -> u64;

/// Adds the variables of a crate.
fn collect<T>(all: &mut Vec<Variable>, room: &'static [mca::Variable<T>], lend: Lend<T>) {
    all.extend(room.iter().map(|&mca::Variable { name, quantity, read, description }| Variable {
        name,
        description,
        quantity,
        words: &[],
        now: Box::new(move |state| lend(state, read)),
    }));
}

/// How MPI_T describes a quantity.
pub(super) trait Shown {
    fn class(&self) -> i32;
    fn datatype(&self) -> abi::Datatype;
    /// Bytes of a value.
    fn size(&self) -> usize;
    /// Whether it can be neither written nor reset.
    fn is_read_only(&self) -> bool;
    /// Whether it runs from the allocation of its handle on, without being started.
    fn is_continuous(&self) -> bool;
}

impl Shown for Quantity {
    fn class(&self) -> i32 {
        match self {
            Quantity::State => abi::T_PVAR_CLASS_STATE,
            Quantity::Level => abi::T_PVAR_CLASS_LEVEL,
            Quantity::Peak => abi::T_PVAR_CLASS_HIGHWATERMARK,
            Quantity::Counter => abi::T_PVAR_CLASS_COUNTER,
            Quantity::Sum => abi::T_PVAR_CLASS_AGGREGATE,
            Quantity::Time => abi::T_PVAR_CLASS_TIMER,
        }
    }

    fn datatype(&self) -> abi::Datatype {
        match self {
            Quantity::Time => abi::DOUBLE,
            Quantity::State => abi::INT,
            _ => abi::UNSIGNED_LONG_LONG,
        }
    }

    fn size(&self) -> usize {
        if *self == Quantity::State { size_of::<i32>() } else { size_of::<u64>() }
    }

    fn is_read_only(&self) -> bool {
        matches!(self, Quantity::Level | Quantity::State)
    }

    fn is_continuous(&self) -> bool {
        *self != Quantity::Time
    }
}

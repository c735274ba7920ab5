//! A performance variable's declaration.

/// What a crate counts, for tools (MPI-5.0 section 15.3.7). A crate declares its variables in one table, beside what
/// they are read from, a `T`:
///
/// ```
/// use mca::{Quantity, Variable};
///
/// #[derive(Default)]
/// struct Traffic {
///     sent: u64,
/// }
///
/// const VARIABLES: &[Variable<Traffic>] =
///     &[Variable::new("btl_vader_bytes", Quantity::Sum, |traffic| traffic.sent, "Payload sent through shared memory")];
/// # assert_eq!((VARIABLES[0].read)(&Traffic { sent: 3 }), 3);
/// ```
#[derive(Debug)]
pub struct Variable<T: 'static> {
    /// Its name, which begins with the crate whose count it is.
    pub name: &'static str,
    /// What it measures.
    pub quantity: Quantity,
    /// How the crate's own count is read.
    pub read: fn(&T) -> u64,
    /// What it means, for users.
    pub description: &'static str,
}

impl<T> Variable<T> {
    /// A row of a table.
    pub const fn new(
        name: &'static str,
        quantity: Quantity,
        read: fn(&T) -> u64,
        description: &'static str,
    ) -> Variable<T> {
        Variable { name, quantity, read, description }
    }
}

/// What a performance variable measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// A length or amount at the moment: `MPI_T_PVAR_CLASS_LEVEL`, read-only.
    Level,
    /// The highest value of a level: `MPI_T_PVAR_CLASS_HIGHWATERMARK`.
    Peak,
    /// How often something happened: `MPI_T_PVAR_CLASS_COUNTER`.
    Counter,
    /// A sum, of bytes for one: `MPI_T_PVAR_CLASS_AGGREGATE`.
    Sum,
    /// Which of several it is: `MPI_T_PVAR_CLASS_STATE`, an `int` with an enumeration, read-only.
    State,
    /// Time, kept in nanoseconds and shown in seconds: `MPI_T_PVAR_CLASS_TIMER`. Measured only while it is wanted.
    Time,
}

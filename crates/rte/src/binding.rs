//! Which processors each rank may use.

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Placement {}

//! What a rank needs of its machine.

/// Ways by which a program sends to other ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speaks {
    /// Messages to ranks of its node.
    pub within: bool,
    /// Messages to ranks of other nodes.
    pub between: bool,
    /// The area in which all ranks of its node meet; the same for all of them.
    pub meets: bool,
}

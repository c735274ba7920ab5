//! What is timed, whichever network interface carries it.

/// A pair of processes over a network interface.
pub(super) trait Exchange {
    /// Sends so many messages of `bytes` to and fro.
    fn exchange(&mut self, bytes: usize, messages: u32) -> Result<(), String>;

    /// Writes what is sent, and clears what is received into.
    fn fill(&mut self, bytes: usize);

    /// Whether what was received is what [`Exchange::fill`] has written on the other side.
    fn is_intact(&self, bytes: usize) -> bool;
}

/// The bytes of a message of this length.
pub(super) fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index * 7 + bytes + 1) as u8).collect()
}

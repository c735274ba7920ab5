//! Loopback transport: messages of a process to itself.

//! The node's shared segment and the lock-free structures in it.

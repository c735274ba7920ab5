//! Predefined reduction operations.

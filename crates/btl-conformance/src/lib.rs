//! The suite that every byte transfer layer passes.

//! Per-peer route table over the byte transfer layers.

//! What the state keeps by handle, as data: no call of MPI is here, and nothing knows of the state. The calls are in the
//! modules that have the objects' names in the standard.

pub mod attributes;
pub mod error_codes;
pub mod error_handlers;
pub mod groups;
pub mod infos;
pub mod operations;

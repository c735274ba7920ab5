//! How tools show results: [`aligned`] text for a terminal, a file of JSON for programs, pictures for papers.
//!
//! A picture is drawn twice, as vectors and as pixels ([`drawing::draw`]). [`curves`] draws the usual one: values over sizes or ranks,
//! both axes logarithmic. Other pictures implement [`drawing::Picture`] where their values are.
#![forbid(unsafe_code)]

pub mod curves;
pub mod drawing;
mod file;
mod log_axis;
mod text;

pub use file::{NotWritten, write, write_json};
pub use text::{aligned, significant};

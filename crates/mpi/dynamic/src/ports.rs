//! `MPI_Open_port`, `MPI_Close_port` (MPI-5.0 section 11.8.2).

use std::ffi::CStr;
use std::sync::Arc;

use abi::Result;
use ffi::StrOut;
use objects::domain::Token;

use crate::port::{Port, tcp_params};
use crate::table::{NOT_OPEN, TABLE};

/// `MPI_Open_port`
pub fn open_port(t: &mut Token, info: abi::Info, mut port_name: StrOut<'_>) -> Result<()> {
    let mut state = t.lock();
    let hints = state.infos.hints(info)?;
    let port = Port::open(&tcp_params(&state.params.values)?, &hints)?;
    port_name.set(&port.name);
    TABLE.get_mut(&mut state.tables).ports.insert(port.name.clone(), Arc::new(port));
    Ok(())
}

/// `MPI_Close_port`
pub fn close_port(t: &mut Token, port_name: &CStr) -> Result<()> {
    let mut state = t.lock();
    let name = port_name.to_string_lossy();
    let closed = TABLE.get_mut(&mut state.tables).ports.remove(name.trim());
    closed.map(drop).ok_or(NOT_OPEN)
}

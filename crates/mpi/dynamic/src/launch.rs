//! Has a job started that connects to a port of this process.

use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use abi::{Error, Result};
use objects::domain::Token;
use pmi::launch::{Launched, Order};

use crate::call::{Accepted, accept_at, dynamic_params, end_of, of_parameter};
use crate::meeting::Group;
use crate::port::{Port, tcp_params};
use crate::table::TABLE;
use crate::talk::Offer;

const FAILED: Error = Error::new(abi::ERR_SPAWN, "the processes could not be started");

/// The leader's part of a spawn: the new job's group, once all its processes are in `MPI_Init`. `arguments`: those of
/// mpiexec.
///
/// # Errors
/// `MPI_ERR_SPAWN`, with what mpiexec reports.
pub(crate) fn launch(t: &mut Token, group: &Group, arguments: Vec<Vec<u8>>) -> Result<Offer> {
    let offer = group.offer()?;
    let (port, launched, limit, brings_output) = {
        let mut state = t.lock();
        let port = Port::open(&tcp_params(&state.params.values)?, &Default::default())?;
        let limit = of_parameter(dynamic_params(&state.params.values)?.spawn_timeout_ms);
        let world = state.world.as_mut().ok_or(FAILED)?;
        let brings_output = world.job.must_bring_output();
        let launched = world.job.launch().map_err(|error| FAILED.described(|| error.to_string()))?;
        (Arc::new(port), launched, limit, brings_output)
    };
    let order = Order {
        port: port.name.clone(),
        brings_output,
        directory: std::env::current_dir().unwrap_or_default().as_os_str().as_bytes().to_vec(),
        arguments,
        environment: environment(),
    };
    let binds = |outcome: &Outcome| outcome.is_ok();
    let outcome = group.apart(t, binds, move |cancel| {
        run(launched, &order, cancel, |watched| accept_at(&port, &offer, watched, end_of(limit)))
    })?;
    let (met, launched) =
        outcome.map_err(|why| FAILED.described(|| format!("the processes could not be started: {why}")))?;
    let job = met.side.members.first().map_or(0, |member| member.process.job);
    TABLE.get_mut(&mut t.lock().tables).launched.push((job, launched));
    Ok(*met)
}

/// The group of the new job, or why there is none.
type Outcome = std::result::Result<(Box<Offer>, Launched), String>;

/// Gives mpiexec the order, and waits for the new job. Where that fails, `launched` is dropped, which ends the job.
fn run(
    mut launched: Launched,
    order: &Order,
    cancel: i32,
    accept: impl FnOnce(&[i32]) -> Accepted,
) -> Outcome {
    if launched.order(order).is_err() {
        return Err(launched.why());
    }
    match accept(&[launched.socket().as_raw_fd(), cancel]) {
        Accepted::Met(met) => Ok((met, launched)),
        Accepted::Watched if platform::descriptor::wait_readable(cancel, Some(Duration::ZERO)) => {
            Err("one of the processes that wanted them has failed".to_owned())
        }
        Accepted::Watched => Err(launched.why()),
        Accepted::TimedOut => {
            Err("they have not called MPI_Init in time (the parameter dynamic_spawn_timeout_ms)".to_owned())
        }
    }
}

/// This process's environment as it is now.
fn environment() -> Vec<Vec<u8>> {
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        [name.as_bytes(), b"=", value.as_bytes()].concat()
    };
    std::env::vars_os().map(entry).collect()
}

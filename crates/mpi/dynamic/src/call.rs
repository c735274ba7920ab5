//! `MPI_Comm_accept`, `MPI_Comm_connect`, `MPI_Comm_join` (MPI-5.0 sections 11.8.3 and 11.10.4).

use std::sync::Arc;
use std::time::{Duration, Instant};

use abi::{Error, Result};
use ffi::RootText;
use objects::domain::Token;
use objects::info::Info;
use parameters::DynamicParams;

use crate::dial::dial;
use crate::meeting::{Group, apart};
use crate::port::{Arrived, Name, Port};
use crate::table::{NOT_OPEN, TABLE};
use crate::talk::{Offer, Talk, of_program};

/// `MPI_Comm_accept`
pub fn accept(
    t: &mut Token,
    port_name: RootText<'_>,
    info: abi::Info,
    root: i32,
    comm: abi::Comm,
    new: &mut abi::Comm,
) -> Result<()> {
    let group = Group::of(t, comm, root)?;
    *new = group.meet(t, |t| begin_accept(t, &group, port_name, info))?;
    Ok(())
}

fn begin_accept(t: &mut Token, group: &Group, name: RootText<'_>, info: abi::Info) -> Result<Offer> {
    let name = name.get()?.to_string_lossy();
    let (port, end) = {
        let state = t.lock();
        let hints = state.infos.hints(info)?;
        let port = TABLE.get(&state.tables).ports.get(name.trim()).cloned();
        (port.ok_or(NOT_OPEN)?, end_of(timeout(&hints)?))
    };
    let offer = group.offer()?;
    let binds = |accepted: &Accepted| matches!(accepted, Accepted::Met(_));
    let accepted = group.apart(t, binds, move |cancel| accept_at(&port, &offer, &[cancel], end))?;
    match accepted {
        Accepted::Met(met) => Ok(*met),
        Accepted::Watched | Accepted::TimedOut => {
            Err(Error::new(abi::ERR_PORT, "no process has connected in time"))
        }
    }
}

/// How accepting has ended.
pub(crate) enum Accepted {
    Met(Box<Offer>),
    /// What was watched meanwhile is readable.
    Watched,
    TimedOut,
}

/// Waits for a caller that goes through with it; one that gives up or is gone is none.
pub(crate) fn accept_at(port: &Arc<Port>, offer: &Offer, watched: &[i32], end: Option<Instant>) -> Accepted {
    loop {
        match port.next_caller(watched, end) {
            Arrived::Caller(stream, session) => {
                if let Ok(met) = Talk::new(stream, Some(*session)).accept(offer, watched) {
                    return Accepted::Met(Box::new(met));
                }
            }
            Arrived::Watched => return Accepted::Watched,
            Arrived::TimedOut => return Accepted::TimedOut,
        }
    }
}

/// `MPI_Comm_connect`
pub fn connect(
    t: &mut Token,
    port_name: RootText<'_>,
    info: abi::Info,
    root: i32,
    comm: abi::Comm,
    new: &mut abi::Comm,
) -> Result<()> {
    let group = Group::of(t, comm, root)?;
    *new = group.meet(t, |t| begin_connect(t, &group, port_name, info))?;
    Ok(())
}

fn begin_connect(t: &mut Token, group: &Group, name: RootText<'_>, info: abi::Info) -> Result<Offer> {
    let name = name.get()?.to_string_lossy();
    let limit = {
        let state = t.lock();
        let hints = state.infos.hints(info)?;
        match timeout(&hints)? {
            Some(given) => Some(given),
            None => of_parameter(dynamic_params(&state.params.values)?.connect_timeout_ms),
        }
    };
    connect_to(t, group, &name, limit)
}

/// The leader's part of connecting to a port.
///
/// # Errors
/// `MPI_ERR_PORT`.
pub(crate) fn connect_to(t: &mut Token, group: &Group, name: &str, limit: Option<Duration>) -> Result<Offer> {
    let name = Name::parse(name)
        .ok_or(Error::new(abi::ERR_PORT, "the port's name is none that MPI_Open_port gives"))?;
    let offer = group.offer()?;
    let binds = |talked: &std::result::Result<Option<Offer>, String>| matches!(talked, Ok(Some(_)));
    let talked = group.apart(t, binds, move |cancel| {
        let Some((stream, session)) = dial(&name, end_of(limit), cancel)? else { return Ok(None) };
        let patience = Instant::now() + crate::talk::PATIENCE;
        let met = Talk::new(stream, Some(session)).connect(&offer, patience, &[cancel]);
        met.map(Some).map_err(|error| error.to_string())
    })?;
    let unreached = Error::new(abi::ERR_PORT, "no process accepts at the port");
    match talked {
        Ok(Some(met)) => Ok(met),
        Ok(None) => Err(Error::new(abi::ERR_PORT, "no process has accepted at the port in time")),
        Err(why) => Err(unreached.described(|| format!("no process accepts at the port: {why}"))),
    }
}

/// `MPI_Comm_join`: over a socket that the program has connected with another process.
pub fn join(t: &mut Token, fd: i32, new: &mut abi::Comm) -> Result<()> {
    let group = Group::of(t, abi::COMM_SELF, 0)?;
    let offer = group.offer()?;
    let failed = Error::new(abi::ERR_OTHER, "the processes at both ends of the socket cannot be joined");
    let talked = apart(t, move || of_program(fd).and_then(|socket| Talk::new(socket, None).join(&offer)))?;
    let outcome = talked.map_err(|error| failed.described(|| format!("descriptor {fd}: {error}")));
    *new = group.meet(t, |_| outcome)?;
    Ok(())
}

/// The parameters in force.
pub(crate) fn dynamic_params(values: &mca::Values) -> Result<DynamicParams> {
    let bad = Error::new(abi::ERR_OTHER, "a parameter of dynamic processes does not fit");
    DynamicParams::read(values).map_err(|error| bad.described(|| error.to_string()))
}

/// A time of a parameter, in milliseconds; 0: without end.
pub(crate) fn of_parameter(milliseconds: i64) -> Option<Duration> {
    u64::try_from(milliseconds).ok().filter(|&time| time > 0).map(Duration::from_millis)
}

/// When a wait of at most `limit` is over, if it ever is: no clock reaches the ends of the longest ones.
pub(crate) fn end_of(limit: Option<Duration>) -> Option<Instant> {
    limit.and_then(|limit| Instant::now().checked_add(limit))
}

/// The hint `timeout`, in seconds, if it was given.
fn timeout(hints: &Info) -> Result<Option<Duration>> {
    let Some(text) = hints.get("timeout") else { return Ok(None) };
    let seconds = text.trim().parse().ok().filter(|&seconds: &f64| seconds >= 0.0);
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map(Some).ok_or(Error::new(abi::ERR_INFO_VALUE, "the info key timeout is no number of seconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_may_be_longer_than_the_clock_goes() {
        let hint = |text: &str| {
            let mut info = Info::default();
            info.set("timeout", text);
            timeout(&info)
        };
        assert_eq!(end_of(hint("1e19").unwrap()), None);
        assert!(end_of(hint(" 0.5").unwrap()).is_some());
        for text in ["-1", "inf", "nan", "1e30", "soon"] {
            assert!(hint(text).is_err(), "{text}");
        }
    }
}

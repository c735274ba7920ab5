//! Asking for a request's status without taking its result (MPI-5.0 section 3.7.6).

use abi::{Result, Status};
use pml::Done;

use super::many::{in_status, note};
use super::wait::{failed, give};
use objects::domain::Token;
use objects::immediate::EMPTY;
use objects::wait::poll;

/// `MPI_Request_get_status`: as a test that leaves the request as it is.
pub fn get_status(
    t: &mut Token,
    request: abi::Request,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    *flag = 1;
    if request == abi::REQUEST_NULL {
        give(status, None);
        return Ok(());
    }
    poll(t);
    match peek(t, request)? {
        Some(done) => {
            give(status, Some(&done));
            failed(&done)
        }
        None => {
            *flag = 0;
            Ok(())
        }
    }
}

/// The result of a request that stays, if it is complete; makes no progress. An error in it is that of the query function of
/// a generalized request, which this call has called (MPI-5.0 section 13.2); that of an operation is for the call that
/// completes it.
fn peek(t: &mut Token, request: abi::Request) -> Result<Option<Done>> {
    if !super::is_complete(&mut t.lock(), request)? {
        return Ok(None);
    }
    let finished = super::peek(&mut t.lock(), request)?;
    Ok(Some(match finished.generalized {
        Some(generalized) => generalized.query(t),
        None => Done { error: abi::SUCCESS, ..finished.done },
    }))
}

/// `MPI_Request_get_status_any`
pub fn get_status_any(
    t: &mut Token,
    requests: &[abi::Request],
    index: &mut i32,
    flag: &mut i32,
    status: Option<&mut Status>,
) -> Result<()> {
    (*index, *flag) = (abi::UNDEFINED, 1);
    poll(t);
    let mut active = false;
    for (i, &request) in requests.iter().enumerate() {
        if super::is_inactive(&t.lock(), request)? {
            continue;
        }
        active = true;
        if let Some(done) = peek(t, request)? {
            *index = i as i32;
            give(status, Some(&done));
            return failed(&done);
        }
    }
    if active {
        *flag = 0;
    } else {
        give(status, None);
    }
    Ok(())
}

/// `MPI_Request_get_status_all`
pub fn get_status_all(
    t: &mut Token,
    requests: &[abi::Request],
    flag: &mut i32,
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    let mut results = Vec::with_capacity(requests.len());
    *flag = 0;
    poll(t);
    for &request in requests {
        if request == abi::REQUEST_NULL {
            results.push(EMPTY);
            continue;
        }
        match peek(t, request)? {
            Some(done) => results.push(done),
            None => return Ok(()),
        }
    }
    *flag = 1;
    let mut wrong = None;
    for (i, done) in results.iter().enumerate() {
        note(&mut statuses, i, i, done, &mut wrong);
    }
    in_status(wrong)
}

/// `MPI_Request_get_status_some`
pub fn get_status_some(
    t: &mut Token,
    requests: &[abi::Request],
    outcount: &mut i32,
    indices: &mut [i32],
    mut statuses: Option<&mut [Status]>,
) -> Result<()> {
    poll(t);
    let (mut found, mut wrong) = (0, None);
    let mut active = false;
    for (i, &request) in requests.iter().enumerate() {
        if super::is_inactive(&t.lock(), request)? {
            continue;
        }
        active = true;
        if let Some(done) = peek(t, request)? {
            indices[found] = i as i32;
            note(&mut statuses, found, i, &done, &mut wrong);
            found += 1;
        }
    }
    *outcount = if active { found as i32 } else { abi::UNDEFINED };
    in_status(wrong)
}

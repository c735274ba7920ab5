//! A send and a receive in one call (MPI-5.0 section 3.11).

use abi::{Address, Count, Datatype, Result, Status};
use pml::Data;

use super::recv::receive;
use super::{finish, outcome, pattern, proc_null, start_both, target};
use objects::domain::Token;

/// `MPI_Sendrecv`
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn sendrecv(
    t: &mut Token,
    sendbuf: Address,
    sendcount: Count,
    sendtype: Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: Address,
    recvcount: Count,
    recvtype: Datatype,
    source: i32,
    recvtag: i32,
    comm: abi::Comm,
    status: Option<&mut Status>,
) -> Result<()> {
    let mut guard = t.lock();
    let state = &mut *guard;
    // Both are checked before either starts, so that an error leaves nothing behind.
    let to = target(state.comm(comm)?, dest, sendtag)?;
    let outgoing = state.data(sendbuf, sendcount, sendtype)?;
    let incoming = state.data(recvbuf, recvcount, recvtype)?;
    let from = pattern(state.comm(comm)?, source, recvtag)?;
    let sent_at_once = match (&to, &outgoing) {
        (None, _) => true,
        (Some(to), Data::Contiguous(data)) => state.p2p.send_now(to, *data),
        _ => false,
    };
    let (done, sent) = if sent_at_once {
        // What is left is a receive, which waits without a request.
        drop(guard);
        (receive(t, from.map(|from| (from, incoming)))?, None)
    } else {
        let (received, sent) = start_both(state, from, incoming, to, outgoing)?;
        drop(guard);
        let sent = sent.map(|id| finish(t, id));
        (received.map_or_else(proc_null, |id| finish(t, id)), sent)
    };
    if let Some(status) = status {
        status.fill(&done.status);
    }
    outcome(&done)?;
    sent.map_or(Ok(()), |sent| outcome(&sent))
}

/// `MPI_Sendrecv_replace`: the outgoing data is packed first.
#[allow(clippy::too_many_arguments, reason = "the arguments of the MPI call")]
pub fn sendrecv_replace(
    t: &mut Token,
    buf: Address,
    count: Count,
    datatype: Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: abi::Comm,
    status: Option<&mut Status>,
) -> Result<()> {
    let packed = t.lock().data(buf, count, datatype).and_then(objects::datatype::packed)?;
    sendrecv(
        t,
        Address(packed.as_ptr() as usize),
        packed.len() as Count,
        abi::PACKED,
        dest,
        sendtag,
        buf,
        count,
        datatype,
        source,
        recvtag,
        comm,
        status,
    )
}

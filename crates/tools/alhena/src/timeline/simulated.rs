//! The timeline of a simulated job, on virtual time.

use sim::{Jobs, TracedCall, TracedMessage, TracedRank};

use super::{Call, Message, Rank, Request, Timeline};

/// That of the last job.
pub fn timeline(jobs: Jobs) -> Timeline {
    let ranks = (0..).zip(jobs.ranks).map(|(number, traced)| rank(number, traced)).collect();
    Timeline { ranks, messages: jobs.messages.iter().map(message).collect() }
}

fn rank(rank: u32, traced: TracedRank) -> Rank {
    let TracedRank { node, calls, requests, dropped } = traced;
    let request = |request: &sim::TracedRequest| Request {
        name: calls[request.call].name.clone(),
        place: String::new(),
        time: (request.time.0.0, request.time.1.0),
    };
    let requests = requests.iter().map(request).collect();
    let host = format!("node {node}");
    // All have one clock.
    let uncertainty = Some(0);
    let calls = calls.into_iter().map(call).collect();
    Rank { rank, pid: None, host, uncertainty, calls, requests, dropped }
}

fn call(traced: TracedCall) -> Call {
    let TracedCall { name, time: (begun, ended), waited } = traced;
    Call { name, time: (begun.0, ended.0), waited, ..Call::default() }
}

fn message(traced: &TracedMessage) -> Message {
    let end = |(rank, call): (u32, usize)| (rank as usize, call);
    Message {
        from: end(traced.from),
        to: end(traced.to),
        completed_by: Some(end(traced.sent_in)),
        posted: traced.posted.0,
        tag: traced.tag,
        bytes: traced.bytes,
    }
}

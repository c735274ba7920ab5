//! Trace Event JSON, which Perfetto, `chrome://tracing` and Speedscope read.
//!
//! A process is a rank, a thread is a thread of it. Calls are complete events (`X`), requests are asynchronous ones (`b`, `e`),
//! messages are arrows (`s`, `f`). Times are microseconds with three decimals.

use serde_json::{Value, json};

use super::{Call, Rank, Timeline};

/// The file.
pub fn write(timeline: &Timeline) -> String {
    let mut events = Vec::new();
    for rank in &timeline.ranks {
        names(rank, &mut events);
        events.extend(rank.calls.iter().map(|call| slice(rank, call)));
        for (number, request) in rank.requests.iter().enumerate() {
            // What makes a pair is category and number, in all processes.
            let id = format!("{}.{number}", rank.rank);
            for (phase, time) in [("b", request.time.0), ("e", request.time.1)] {
                events.push(json!({
                    "ph": phase, "cat": "request", "id": id, "name": request.name, "pid": rank.rank, "tid": 0,
                    "ts": micros(time), "args": place(&request.place),
                }));
            }
        }
    }
    for (id, message) in timeline.messages.iter().enumerate() {
        let (from, to) = (timeline.call(message.from), timeline.call(message.to));
        // The end of an arrow is bound to the call around it: it lies a moment before the end of that.
        let received = to.time.1.saturating_sub(1).max(to.time.0);
        for (phase, rank, call, time) in
            [("s", message.from.0, from, from.time.0), ("f", message.to.0, to, received)]
        {
            let mut event = json!({
                "ph": phase, "cat": "message", "name": "message", "id": id, "pid": timeline.ranks[rank].rank,
                "tid": call.thread, "ts": micros(time), "args": { "tag": message.tag, "bytes": message.bytes },
            });
            if phase == "f" {
                event["bp"] = "e".into();
            }
            events.push(event);
        }
    }
    let about: Vec<Value> = timeline.ranks.iter().map(about).collect();
    json!({ "displayTimeUnit": "ns", "otherData": { "ranks": about }, "traceEvents": events }).to_string()
}

fn names(rank: &Rank, events: &mut Vec<Value>) {
    let name = |kind: &str, thread: u16, args: Value| json!({ "ph": "M", "name": kind, "pid": rank.rank, "tid": thread, "args": args });
    events.push(name("process_name", 0, json!({ "name": format!("rank {}", rank.rank) })));
    events.push(name("process_labels", 0, json!({ "labels": rank.labels() })));
    events.push(name("process_sort_index", 0, json!({ "sort_index": rank.rank })));
    for thread in rank.threads() {
        events.push(name("thread_name", thread, json!({ "name": format!("thread {thread}") })));
    }
}

fn slice(rank: &Rank, call: &Call) -> Value {
    let facts = call.facts().into_iter().map(|(name, value)| (name.to_owned(), value.into()));
    let mut args: serde_json::Map<String, Value> = facts.collect();
    args.extend(place(&call.place));
    json!({
        "ph": "X", "cat": "mpi", "name": call.name, "pid": rank.rank, "tid": call.thread, "ts": micros(call.time.0),
        "dur": micros(call.time.1 - call.time.0), "args": args,
    })
}

/// Where a call was, if that is known: a simulated one is nowhere.
fn place(text: &str) -> serde_json::Map<String, Value> {
    (!text.is_empty()).then(|| ("place".to_owned(), text.into())).into_iter().collect()
}

fn about(rank: &Rank) -> Value {
    json!({
        "rank": rank.rank, "pid": rank.pid, "host": rank.host, "clock_uncertainty_ns": rank.uncertainty,
        "dropped_events": rank.dropped,
    })
}

/// Nanoseconds as microseconds: 53 bits hold them for a hundred days.
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

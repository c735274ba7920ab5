//! From the ranks' memory to a timeline: times by one clock, places with names, both ends of each message.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use interpose::FUNCTIONS;
use symbols::Resolver;
use trace::events::{self, Event, FIXED, Kind, MAGIC, NONE, Snapshot};

use super::clocks::Clocks;
use super::{Call, Error, Message, Rank, Request, Timeline};
use crate::tables;

/// Reads what so many ranks have left.
pub fn collect(memory: &Path, ranks: u32) -> Result<Timeline, Error> {
    let failed = |error: std::io::Error| Error::Read { path: memory.to_owned(), seen: error.to_string() };
    let words = tables::words(memory, ranks).map_err(failed)?;
    let all = tables::read(memory, ranks, MAGIC, words.max(FIXED)).map_err(failed)?;
    // What a rank claims of itself does not matter.
    let read = |(rank, words): (u32, Vec<_>)| Some(Snapshot { rank, ..Snapshot::read(&words)? });
    let all: Vec<Snapshot> = all.into_iter().filter_map(read).collect();
    if all.is_empty() {
        return Err(Error::NoRank);
    }
    let clocks = Clocks::of(&all);
    let mut resolver = Resolver::new();
    let ranks: Vec<Rank> = all.iter().map(|one| rank(one, &clocks, &mut resolver)).collect();
    let messages = join(&all, &ranks, &clocks);
    Ok(Timeline { ranks, messages })
}

fn rank(snapshot: &Snapshot, clocks: &Clocks, resolver: &mut Resolver) -> Rank {
    let host = &snapshot.names.host;
    let names: Vec<(Cow<'static, str>, String)> = snapshot
        .sites
        .iter()
        .map(|site| (FUNCTIONS[site.function].name.into(), place(snapshot, site, resolver)))
        .collect();
    let time = |(from, to): (u64, u64)| (clocks.align(host, from), clocks.align(host, to));
    let named = |site: u32| names[site as usize].clone();
    let call = |event: &Event| {
        let (name, place) = named(event.site);
        let (thread, waited) = (event.thread, event.waited);
        let round = (event.comm != 0).then_some((event.comm, event.number));
        Call { thread, name, place, time: time(event.time), waited, round, ..Call::default() }
    };
    let of = |kind: Kind| snapshot.events.iter().filter(move |event| event.kind == kind);
    let mut calls: Vec<Call> = of(Kind::Call).map(call).collect();
    if let Some((site, since)) = snapshot.current {
        // It ends where the rank has ended: at the last thing that any call of it left.
        let last = snapshot.events.iter().map(|event| event.time.1).max().unwrap_or(0).max(since);
        let (name, place) = named(site);
        calls.push(Call { name, place, time: time((since, last)), is_open: true, ..Call::default() });
    }
    calls.sort_by_key(|call| (call.thread, call.time.0, std::cmp::Reverse(call.time.1)));
    let is_request = |event: &&Event| event.kind != Kind::Call && goes_on(snapshot, event);
    let request = |event: &Event| {
        let (name, place) = named(event.site);
        Request { name, place, time: time(event.time) }
    };
    Rank {
        rank: snapshot.rank,
        pid: Some(snapshot.names.pid),
        host: host.clone(),
        uncertainty: clocks.uncertainty(host),
        calls,
        requests: snapshot.events.iter().filter(is_request).map(request).collect(),
        dropped: snapshot.dropped,
    }
}

fn place(snapshot: &Snapshot, site: &events::Place, resolver: &mut Resolver) -> String {
    let module = site.module.map(|module| snapshot.modules[module].clone()).unwrap_or_default();
    resolver.call(Path::new(&module.path), &module.build_id, site.offset).to_string()
}

/// Whether a message or an operation goes on between calls: one call began it, and another one has completed it.
fn goes_on(snapshot: &Snapshot, event: &Event) -> bool {
    let base = FUNCTIONS[snapshot.sites[event.site as usize].function].base();
    event.kind == Kind::Request || base.starts_with('I') || base.starts_with("Start")
}

/// The calls of a rank by when they began, and by when they ended.
struct Ends {
    begun: HashMap<(u16, u64), usize>,
    ended: HashMap<u64, usize>,
}

/// What names a message: communicator, sender, receiver, tag, and its number among those.
type Name = (u64, u32, u32, i32, u64);

/// Finds both ends of each message.
fn join(all: &[Snapshot], ranks: &[Rank], clocks: &Clocks) -> Vec<Message> {
    let ends: Vec<Ends> = ranks.iter().map(ends).collect();
    let mut sent: HashMap<Name, (usize, &Event)> = HashMap::new();
    let known = |event: &&Event, kind| event.kind == kind && event.peer != NONE;
    for (place, snapshot) in all.iter().enumerate() {
        for event in snapshot.events.iter().filter(|event| known(event, Kind::Send)) {
            sent.insert((event.comm, snapshot.rank, event.peer, event.tag, event.number), (place, event));
        }
    }
    let mut messages = Vec::new();
    for (place, snapshot) in all.iter().enumerate() {
        for event in snapshot.events.iter().filter(|event| known(event, Kind::Receive)) {
            let key = (event.comm, event.peer, snapshot.rank, event.tag, event.number);
            let Some(&(sender, send)) = sent.get(&key) else { continue };
            let began = (send.thread, clocks.align(&all[sender].names.host, send.time.0));
            let ended = clocks.align(&snapshot.names.host, event.time.1);
            // A call may have made room for later events.
            let calls = ends[sender].begun.get(&began).zip(ends[place].ended.get(&ended));
            if let Some((&from, &to)) = calls {
                let ended = clocks.align(&all[sender].names.host, send.time.1);
                messages.push(Message {
                    from: (sender, from),
                    to: (place, to),
                    completed_by: ends[sender].ended.get(&ended).map(|&call| (sender, call)),
                    posted: clocks.align(&snapshot.names.host, event.time.0),
                    tag: event.tag,
                    bytes: send.bytes,
                });
            }
        }
    }
    messages
}

fn ends(rank: &Rank) -> Ends {
    let begun = |(at, call): (usize, &Call)| ((call.thread, call.time.0), at);
    let ended = |(at, call): (usize, &Call)| (call.time.1, at);
    let calls = || rank.calls.iter().enumerate();
    Ends { begun: calls().map(begun).collect(), ended: calls().map(ended).collect() }
}

//! What ranks put under a launcher of others: those of a node give it to the lowest of them, which puts it for all as
//! one record ([`crate::wireup`]). So a fence of the launcher carries one key for each node, not one for each rank.
//!
//! ```text
//!   rank ── lines: what it has put ──► lowest rank of the node ── record, as text ──► key space ─┐ fence of
//!   rank ────────────────────────────────────────────────────────────────────────────────────────┤ all ranks
//!   get: the record of a rank's node, when it is asked for first; kept ◄─────────────────────────┘
//! ```
//!
//! A record that is longer than what PMI-1 takes as one value is cut into several; the first holds their number.
//! Each node puts one in each exchange, an empty one too, so that no rank asks for a key that is not there: PMIx would wait
//! for it for ever.

use std::collections::HashMap;

use crate::wireup::{self, Record};

use crate::Error;
use crate::connection::Connection;
use crate::protocol::{FENCE, PUT};
use crate::space::Space;
use crate::text;
use crate::wire::{MAX_PUT, escape, unescape};

const STEP: &str = "fence";
/// Key of a record, before the numbers of the exchange and of the part.
const RECORD: &str = "alhena-record";
/// Bytes of a part, with room for the number of parts.
const PART: usize = MAX_PUT - 8;

/// The key space, and the way there.
pub(crate) struct Foreign {
    pub(crate) space: Space,
    neighbours: Neighbours,
    /// What this process has put since the last exchange: keys and values.
    own: Vec<(String, String)>,
    /// For each exchange the records that were read, by the lowest rank of their node.
    records: Vec<HashMap<u32, Vec<u8>>>,
}

/// The ranks of this node.
pub(crate) enum Neighbours {
    /// This is the lowest of them; connections with the others, by place, from place 1 on.
    Guests(Vec<Connection>),
    /// The connection with the lowest one.
    Host(Connection),
}

/// A rank as other nodes find what it has put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whose {
    /// The lowest rank of its node.
    pub(crate) leader: u32,
    /// How many ranks of its node are below it.
    pub(crate) place: u32,
}

impl Foreign {
    pub(crate) fn new(space: Space, neighbours: Neighbours) -> Foreign {
        Foreign { space, neighbours, own: Vec::new(), records: Vec::new() }
    }

    pub(crate) fn put(&mut self, key: &str, value: &str) {
        self.own.push((key.to_owned(), value.to_owned()));
    }

    /// Gives what was put, and waits for all ranks. `rank` is the caller's.
    pub(crate) fn fence(&mut self, rank: u32) -> Result<(), Error> {
        let own = std::mem::take(&mut self.own);
        match &mut self.neighbours {
            Neighbours::Host(host) => host.send(STEP, &lines(&own))?,
            Neighbours::Guests(guests) => {
                let mut record = Record::default();
                own.iter().for_each(|(key, value)| add(&mut record, 0, key, value));
                for (place, guest) in (1..).zip(guests) {
                    hear(guest, place, &mut record)?;
                }
                let text = text::encode(&record.encode());
                let count = text.len().div_ceil(PART).max(1);
                for number in 0..count {
                    // Six bits a character: each is one byte.
                    let part = &text[number * PART..text.len().min((number + 1) * PART)];
                    let value = if number == 0 { format!("{count}.{part}") } else { part.to_owned() };
                    self.space.put(rank, &key(self.records.len(), number), &value)?;
                }
            }
        }
        self.space.fence()?;
        self.records.push(HashMap::new());
        Ok(())
    }

    /// The value that a rank has put under `key`, the last one where it has put several.
    pub(crate) fn get(&mut self, whose: Whose, key: &str) -> Result<Option<String>, Error> {
        for exchange in (0..self.records.len()).rev() {
            let record = self.record(exchange, whose.leader)?;
            if let Some(value) = wireup::find(record, whose.place, key) {
                return Ok(String::from_utf8(value).ok());
            }
        }
        Ok(None)
    }

    /// The record that the lowest rank of a node has put.
    fn record(&mut self, exchange: usize, leader: u32) -> Result<&[u8], Error> {
        if !self.records[exchange].contains_key(&leader) {
            let record = self.fetch(exchange, leader)?;
            self.records[exchange].insert(leader, record);
        }
        Ok(self.records[exchange].get(&leader).map_or(&[], Vec::as_slice))
    }

    fn fetch(&mut self, exchange: usize, leader: u32) -> Result<Vec<u8>, Error> {
        let first = self.space.get(leader, &key(exchange, 0))?;
        let broken = || Error::protocol("get", &format!("a record of rank {leader} that makes no sense"));
        let (count, first) = first.split_once('.').ok_or_else(broken)?;
        let count: usize = count.parse().map_err(|_| broken())?;
        let mut text = first.to_owned();
        for number in 1..count {
            text += &self.space.get(leader, &key(exchange, number))?;
        }
        text::decode(&text).ok_or_else(broken)
    }
}

/// What a rank sends at a fence to the lowest one of its node.
fn lines(own: &[(String, String)]) -> String {
    let mut lines = String::new();
    for (key, value) in own {
        lines += &put_line(key, value);
    }
    lines + &format!("cmd={FENCE}\n")
}

/// The line of a rank that has put `value`.
pub(crate) fn put_line(key: &str, value: &str) -> String {
    format!("cmd={PUT} key={} value={}\n", escape(key), escape(value))
}

fn key(exchange: usize, part: usize) -> String {
    format!("{RECORD}-{exchange}-{part}")
}

/// Adds to `record` what the guest at `place` has put.
fn hear(guest: &mut Connection, place: u32, record: &mut Record) -> Result<(), Error> {
    loop {
        let reply = guest.receive(STEP)?;
        let line = reply.line();
        match (line.command(), line.get("key"), line.get("value")) {
            (FENCE, ..) => return Ok(()),
            (PUT, Some(key), Some(value)) => add(record, place, &unescape(key), &unescape(value)),
            _ => return Err(Error::protocol(STEP, line.text())),
        }
    }
}

/// The library puts a handful of keys; more than a record holds are not its own.
fn add(record: &mut Record, place: u32, key: &str, value: &str) {
    record.put(place, key, value.as_bytes());
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Foreign").field("space", &self.space).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;

    use super::*;
    use crate::pmi1::Server;
    use crate::wire::Line;

    /// A launcher's key space: what was put, with the longest line that was read.
    #[derive(Default)]
    struct Launcher {
        space: Mutex<HashMap<String, String>>,
        longest: Mutex<usize>,
    }

    /// A rank's connection with `launcher`, which a thread of its own serves.
    fn space(launcher: &Arc<Launcher>, all_ranks: &Arc<Barrier>) -> Space {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (launcher, all_ranks) = (Arc::clone(launcher), Arc::clone(all_ranks));
        thread::spawn(move || {
            for text in BufReader::new(theirs.try_clone().unwrap()).lines().map_while(Result::ok) {
                let line = Line::from_text(&text);
                let mut longest = launcher.longest.lock().unwrap();
                *longest = text.len().max(*longest);
                drop(longest);
                let key = line.get("key").unwrap_or_default().to_owned();
                let reply = match line.command() {
                    "put" => {
                        let value = line.get_rest("value").unwrap().to_owned();
                        launcher.space.lock().unwrap().insert(key, value);
                        "cmd=put_result rc=0".to_owned()
                    }
                    "get" => match launcher.space.lock().unwrap().get(&key) {
                        Some(value) => format!("cmd=get_result rc=0 value={value}"),
                        None => "cmd=get_result rc=1".to_owned(),
                    },
                    _ => {
                        all_ranks.wait();
                        "cmd=barrier_out rc=0".to_owned()
                    }
                };
                (&theirs).write_all(format!("{reply}\n").as_bytes()).unwrap();
            }
        });
        Space::Pmi(Server { connection: Connection::over(ours), kvs: "kvs".to_owned() })
    }

    fn value(rank: u32, round: u32) -> String {
        // Of some length, and nothing that two ranks share.
        (0..60)
            .map(|at| format!("{:x} ", (rank + 1).wrapping_mul(2_654_435_761).rotate_left(at + round)))
            .collect()
    }

    #[test]
    fn each_node_puts_one_record_in_as_many_parts_as_it_takes() {
        const NODE: u32 = 4;
        let launcher = Arc::new(Launcher::default());
        let all_ranks = Arc::new(Barrier::new(2 * NODE as usize));
        let mut threads = Vec::new();
        for leader in [0, NODE] {
            let (hosts, guests): (Vec<_>, Vec<_>) = (1..NODE).map(|_| UnixStream::pair().unwrap()).unzip();
            let hosts = hosts.into_iter().map(Connection::over).collect();
            let guests = guests.into_iter().map(|guest| Neighbours::Host(Connection::over(guest)));
            for (place, neighbours) in (0..).zip(std::iter::once(Neighbours::Guests(hosts)).chain(guests)) {
                let mut foreign = Foreign::new(space(&launcher, &all_ranks), neighbours);
                threads.push(thread::spawn(move || {
                    let rank = leader + place;
                    for round in 0..2 {
                        foreign.put("card", &value(rank, round));
                        foreign.fence(rank).unwrap();
                        for other in 0..2 * NODE {
                            let whose = Whose { leader: other / NODE * NODE, place: other % NODE };
                            assert_eq!(foreign.get(whose, "card").unwrap(), Some(value(other, round)));
                            assert_eq!(foreign.get(whose, "other").unwrap(), None);
                        }
                    }
                    // An exchange in which no rank has put anything.
                    foreign.fence(rank).unwrap();
                    assert!(foreign.get(Whose { leader, place }, "card").unwrap().is_some());
                }));
            }
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let keys: Vec<String> = launcher.space.lock().unwrap().keys().cloned().collect();
        assert!(keys.iter().all(|key| key.ends_with("-0") || key.ends_with("-4")), "{keys:?}");
        assert!(keys.len() > 8, "{keys:?}");
        let longest = *launcher.longest.lock().unwrap();
        assert!(longest < 1024, "a line of {longest} bytes");
    }
}

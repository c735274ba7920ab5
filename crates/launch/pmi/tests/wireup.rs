//! The wire-up of a job of 49,152 ranks on 1,024 nodes, message by message: every rank finds the address of every other
//! one, in so many rounds, messages and bytes. Run it with `--nocapture` to see the figures.

use std::collections::VecDeque;
use std::rc::Rc;

use pmi::wireup::{Gather, Record, TreePlace, WireupTable, build};

const RANKS: u32 = 48;

/// An address as `btl-tcp` puts it: a port of the rank's own, two addresses of the node.
fn address(node: u32, place: u32) -> String {
    let (high, low) = (node / 250, node % 250 + 1);
    let port = 32_768 + (node * 7919 + place * 104_729) % 28_000;
    format!("{port} 10.1.{high}.{low} 10.2.{high}.{low}")
}

/// What one exchange over a tree cost.
struct Cost {
    rounds: u32,
    /// Most messages that a node sends, and most bytes that it sends and receives.
    messages: usize,
    sent: usize,
    received: usize,
    table: Rc<[u8]>,
}

enum Message {
    Up(Vec<(u32, Vec<u8>)>),
    Down(Rc<[u8]>),
}

fn bytes_of(message: &Message) -> usize {
    match message {
        Message::Up(records) => records.iter().map(|(_, record)| record.len() + 8).sum(),
        Message::Down(table) => table.len(),
    }
}

fn exchange(nodes: u32, fan_out: u32) -> Cost {
    let place = |node| TreePlace { node, nodes, fan_out };
    let members = |node| std::iter::once(node).chain(place(node).children());
    let mut gathers: Vec<_> = (0..nodes).map(|node| Gather::of(members(node))).collect();
    let mut tables: Vec<Rc<[u8]>> = vec![Rc::from([]); nodes as usize];
    let (mut messages, mut sent, mut received) =
        (vec![0; nodes as usize], vec![0; nodes as usize], vec![0; nodes as usize]);
    let mut rounds = 0;
    // Sender, receiver, round in which it arrives.
    let mut under_way: VecDeque<(u32, u32, u32, Message)> = VecDeque::new();
    for node in 0..nodes {
        let mut record = Record::default();
        (0..RANKS).for_each(|rank| assert!(record.put(rank, "tcp", address(node, rank).as_bytes())));
        under_way.push_back((node, node, 0, Message::Up(vec![(node, record.encode())])));
    }
    while let Some((from, to, round, message)) = under_way.pop_front() {
        let own = from == to;
        if !own {
            messages[from as usize] += 1;
            sent[from as usize] += bytes_of(&message);
            received[to as usize] += bytes_of(&message);
        }
        rounds = rounds.max(round);
        let table = match message {
            Message::Up(records) => match (gathers[to as usize].add(from, records), place(to).parent()) {
                (None, _) => continue,
                (Some(all), Some(parent)) => {
                    under_way.push_back((to, parent, round + 1, Message::Up(all)));
                    continue;
                }
                (Some(all), None) => {
                    assert!(all.iter().map(|(node, _)| *node).eq(0..nodes));
                    build(&all.into_iter().map(|(_, record)| record).collect::<Vec<_>>()).into()
                }
            },
            Message::Down(table) => table,
        };
        for child in place(to).children() {
            under_way.push_back((to, child, round + 1, Message::Down(Rc::clone(&table))));
        }
        tables[to as usize] = table;
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
    let most = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
    Cost {
        rounds,
        messages: most(&messages),
        sent: most(&sent),
        received: most(&received),
        table: tables.swap_remove(0),
    }
}

#[test]
fn all_ranks_find_each_other() {
    let nodes = 1024;
    let ranks = nodes * RANKS;
    for (fan_out, most_rounds) in [(2, 20), (8, 8), (32, 4), (nodes, 2)] {
        let cost = exchange(nodes, fan_out);
        println!(
            "{ranks} ranks on {nodes} nodes, fan-out {fan_out}: {} rounds; a node sends {} messages and {} bytes at most, \
             receives {} bytes at most; a table of {} bytes on each node, {:.1} bytes a peer",
            cost.rounds,
            cost.messages,
            cost.sent,
            cost.received,
            cost.table.len(),
            cost.table.len() as f64 / f64::from(ranks)
        );
        assert!(cost.rounds <= most_rounds, "{} rounds", cost.rounds);
        assert!(cost.messages <= fan_out as usize + 1);
        assert!(cost.table.len() <= 24 * ranks as usize);
        let read = |at: u64, into: &mut [u8]| {
            into.copy_from_slice(&cost.table[at as usize..at as usize + into.len()]);
            true
        };
        let table = WireupTable::new(read, cost.table.len() as u64).unwrap();
        for node in (0..nodes).step_by(97) {
            for place in [0, 17, RANKS - 1] {
                assert_eq!(table.get(node, place, "tcp"), Some(address(node, place).into_bytes()));
            }
        }
    }
}

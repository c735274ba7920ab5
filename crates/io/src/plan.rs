//! Two-phase access: which process accesses which part of a file for all, and in which rounds.
//!
//! ```text
//!   places    low                                                        high
//!             |------------ domain 0 ------------|------ domain 1 --------|      edges on blocks of the file system
//!             |-- window --|-- window --|-window-|-- window --|-- window -|      a buffer's length at most
//!   round          0            1           2          0            1
//! ```
//!
//! Every process computes the same plan from what all have said, so nobody sends lists of places.

use std::ops::Range;

/// From the place of a process's first byte to behind that of its last; empty for none.
pub type Extent = Range<u64>;

/// Whether the parts of some processes lie between those of others.
pub fn interleave(extents: impl Iterator<Item = Extent>) -> bool {
    let mut all: Vec<Extent> = extents.filter(|extent| !extent.is_empty()).collect();
    all.sort_by_key(|extent| extent.start);
    all.windows(2).any(|pair| pair[1].start < pair[0].end)
}

/// Who accesses what, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Edges of the domains: domain `i` lies between edges `i` and `i + 1`.
    edges: Vec<u64>,
    buffer: u64,
    processes: u64,
    aggregators: u64,
}

impl Plan {
    /// A plan for the places in `span`, by at most `aggregators` of `processes` processes, each with a buffer of `buffer` bytes,
    /// on a file system with blocks of `block` bytes.
    pub fn new(span: Range<u64>, processes: u64, aggregators: u64, buffer: u64, block: u64) -> Plan {
        let (block, buffer) = (block.max(1), buffer.max(1));
        let blocks = span.end.div_ceil(block) - span.start / block;
        let aggregators = aggregators.min(processes).max(1);
        let domains = aggregators.min(blocks).max(1);
        let each = blocks.div_ceil(domains);
        let first = span.start / block;
        let edge = |domain: u64| ((first + domain * each) * block).clamp(span.start, span.end);
        let mut edges: Vec<u64> = (0..domains).map(edge).collect();
        edges.push(span.end);
        // Windows are whole blocks, where a buffer holds one.
        let buffer = if buffer > block { buffer - buffer % block } else { buffer };
        Plan { edges, buffer, processes, aggregators }
    }

    /// Number of domains.
    pub fn domains(&self) -> u64 {
        self.edges.len() as u64 - 1
    }

    /// Processes that may have a domain, the same for all plans of a file: as many as that has aggregators.
    pub fn aggregators(&self) -> u64 {
        self.aggregators
    }

    /// The process that is aggregator `index`, and accesses the domain of that number if there is one. They are as far from
    /// each other as possible.
    pub fn process(&self, index: u64) -> u64 {
        index * self.processes / self.aggregators
    }

    /// The number of a process among the aggregators.
    pub fn index_of(&self, process: u64) -> Option<u64> {
        (0..self.aggregators).find(|&index| self.process(index) == process)
    }

    /// Rounds until every domain is done.
    pub fn rounds(&self) -> u64 {
        let longest = self.edges.windows(2).map(|pair| self.windows_of(pair[0]..pair[1])).max();
        longest.unwrap_or(0)
    }

    fn windows_of(&self, domain: Range<u64>) -> u64 {
        match domain.is_empty() {
            true => 0,
            false => domain.end.div_ceil(self.buffer) - domain.start / self.buffer,
        }
    }

    /// What is done of a domain in a round; empty when the domain is done.
    pub fn window(&self, domain: u64, round: u64) -> Range<u64> {
        let (low, high) = (self.edges[domain as usize], self.edges[domain as usize + 1]);
        let at = |round: u64| (low / self.buffer).saturating_add(round).saturating_mul(self.buffer);
        at(round).clamp(low, high)..at(round + 1).clamp(low, high)
    }
}

/// Which bytes of a window are there already: one bit each.
#[derive(Debug, Default)]
pub struct Cover {
    words: Vec<u64>,
}

impl Cover {
    /// No byte of a window of `len` bytes.
    pub fn clear(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
    }

    /// Marks `len` bytes from `from` on; false if one of them was marked before.
    pub fn mark(&mut self, from: usize, len: usize) -> bool {
        let mut fresh = true;
        let (mut at, end) = (from, from + len);
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let Some(word) = self.words.get_mut(at / 64) else { return false };
            fresh &= *word & mask == 0;
            *word |= mask;
            at += bits;
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_all_domains_are_the_span_once() {
        for (span, processes, aggregators, buffer, block) in [
            (0..1, 1, 1, 1, 4096),
            (5..100_000, 8, 3, 10_000, 4096),
            (4097..4098, 8, 8, 64, 4096),
            (100..1000, 5, 5, 7, 16),
            ((1 << 41) + 3..(1 << 41) + 70_000, 4, 2, 1 << 14, 4096),
        ] {
            let plan = Plan::new(span.clone(), processes, aggregators, buffer, block);
            let mut at = span.start;
            for domain in 0..plan.domains() {
                for round in 0..plan.rounds() {
                    let window = plan.window(domain, round);
                    if !window.is_empty() {
                        assert_eq!(window.start, at);
                        assert!(window.end - window.start <= buffer);
                        at = window.end;
                    }
                }
                assert!(domain + 1 == plan.domains() || at.is_multiple_of(block));
                assert_eq!(plan.index_of(plan.process(domain)), Some(domain));
            }
            assert_eq!(at, span.end);
            assert!(plan.domains() <= aggregators);
        }
    }

    #[test]
    fn parts_interleave_or_do_not() {
        let parts = |parts: &[(u64, u64)]| interleave(parts.iter().map(|part| part.0..part.1));
        assert!(!parts(&[(10, 20), (0, 10), (5, 5), (20, 30)]));
        assert!(parts(&[(0, 11), (10, 20)]));
        assert!(!parts(&[]));
    }

    #[test]
    fn a_cover_knows_each_byte() {
        let mut cover = Cover::default();
        cover.clear(200);
        assert!(cover.mark(0, 64));
        assert!(cover.mark(64, 1));
        assert!(cover.mark(66, 130));
        assert!(!cover.mark(60, 7));
        assert!(!cover.mark(195, 2));
        assert!(cover.mark(197, 1));
        assert!(!cover.mark(250, 10));
    }
}

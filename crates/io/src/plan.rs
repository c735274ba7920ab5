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
//!
//! Where writes are staged, a byte of the file has the same aggregator in every call, so that a later write of it comes
//! behind an earlier one in the same stage. The windows of the whole file then go to the aggregators in turn:
//!
//! ```text
//!   windows    0   |   1   |   2   |   3   |   4   |  …        of the file, whatever the span of the call
//!   domain     0   |   1   |   0   |   1   |   0   |
//! ```
//!
//! Where the file system stripes a file over storage targets, each target has one aggregator, which alone takes its locks:
//!
//! ```text
//!   stripes    0   |   1   |   2   |   3   |   4   |   5   |  …     three targets, two aggregators
//!   target     0   |   1   |   2   |   0   |   1   |   2   |
//!   domain     0   |   1   |   0   |   0   |   1   |   0   |        a stripe longer than a buffer is several windows
//! ```

use std::ops::Range;

use crate::lustre::Stripes;

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
    domains: Domains,
    buffer: u64,
    processes: u64,
    aggregators: u64,
}

/// Which windows are whose.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Domains {
    /// Domain `i` lies between edges `i` and `i + 1`.
    Between(Vec<u64>),
    /// The units of the file go round; only those in the span are accessed.
    InTurn(Turns),
}

/// The units of a file, each of which belongs to one of some targets in turn, and each target to one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Turns {
    span: Range<u64>,
    /// Bytes of a unit.
    unit: u64,
    /// Targets: unit `i` belongs to target `i % targets`.
    targets: u64,
    /// Domains: target `i` belongs to domain `i % domains`.
    domains: u64,
    /// Bytes of a window; a unit has one or several.
    window: u64,
}

impl Turns {
    /// Windows of a unit.
    fn windows_of_unit(&self) -> u64 {
        self.unit.div_ceil(self.window)
    }

    /// Rounds in which every target has one unit.
    fn rounds_of_cycle(&self) -> u64 {
        self.targets.div_ceil(self.domains) * self.windows_of_unit()
    }

    /// The cycles, in each of which every target has one unit, that the span touches.
    fn cycles(&self) -> Range<u64> {
        let cycle = self.unit.saturating_mul(self.targets);
        self.span.start / cycle..if self.span.is_empty() {
            self.span.start / cycle
        } else {
            self.span.end.div_ceil(cycle)
        }
    }

    fn rounds(&self) -> u64 {
        let cycles = self.cycles();
        (cycles.end - cycles.start).saturating_mul(self.rounds_of_cycle())
    }

    fn window(&self, domain: u64, round: u64) -> Range<u64> {
        let (cycle, within) = (round / self.rounds_of_cycle(), round % self.rounds_of_cycle());
        let target = domain + within / self.windows_of_unit() * self.domains;
        if target >= self.targets {
            return self.span.start..self.span.start;
        }
        let unit =
            (self.cycles().start.saturating_add(cycle)).saturating_mul(self.targets).saturating_add(target);
        let begin = unit.saturating_mul(self.unit);
        let place = |number: u64| {
            let in_unit = number.saturating_mul(self.window).min(self.unit);
            begin.saturating_add(in_unit).clamp(self.span.start, self.span.end)
        };
        let number = within % self.windows_of_unit();
        place(number)..place(number + 1)
    }
}

impl Plan {
    /// A plan for the places in `span`, by at most `aggregators` of `processes` processes, each with a buffer of
    /// `buffer` bytes, on a file system with blocks of `block` bytes.
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
        Plan { domains: Domains::Between(edges), buffer, processes, aggregators }
    }

    /// As [`Plan::new`], with the same process for a place in all plans of the same aggregators and buffer.
    pub fn in_turn(span: Range<u64>, processes: u64, aggregators: u64, buffer: u64) -> Plan {
        let targets = aggregators.min(processes).max(1);
        Plan::by_targets(span, processes, targets, buffer, &Stripes { unit: buffer.max(1), factor: targets })
    }

    /// As [`Plan::in_turn`], with one process for each storage target of a striped file, which may have several targets.
    pub fn by_targets(
        span: Range<u64>,
        processes: u64,
        aggregators: u64,
        buffer: u64,
        stripes: &Stripes,
    ) -> Plan {
        let (unit, targets) = (stripes.unit.max(1), stripes.factor.max(1));
        let buffer = buffer.clamp(1, unit);
        let aggregators = aggregators.min(processes).min(targets).max(1);
        let turns = Turns { span, unit, targets, domains: aggregators, window: buffer };
        Plan { domains: Domains::InTurn(turns), buffer, processes, aggregators }
    }

    /// Bytes of a window at most.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }

    /// Number of domains.
    pub fn domains(&self) -> u64 {
        match &self.domains {
            Domains::Between(edges) => edges.len() as u64 - 1,
            Domains::InTurn(_) => self.aggregators,
        }
    }

    /// Processes that may have a domain, the same for all plans of a file: as many as that has aggregators.
    pub fn aggregators(&self) -> u64 {
        self.aggregators
    }

    /// The process that is aggregator `index`, and accesses the domain of that number if there is one. They are as far
    /// from each other as possible.
    pub fn process(&self, index: u64) -> u64 {
        index * self.processes / self.aggregators
    }

    /// The number of a process among the aggregators.
    pub fn index_of(&self, process: u64) -> Option<u64> {
        (0..self.aggregators).find(|&index| self.process(index) == process)
    }

    /// Rounds until every domain is done.
    pub fn rounds(&self) -> u64 {
        match &self.domains {
            Domains::Between(edges) => {
                edges.windows(2).map(|pair| self.windows_of(&(pair[0]..pair[1]))).max().unwrap_or(0)
            }
            Domains::InTurn(turns) => turns.rounds(),
        }
    }

    fn windows_of(&self, places: &Range<u64>) -> u64 {
        match places.is_empty() {
            true => 0,
            false => places.end.div_ceil(self.buffer) - places.start / self.buffer,
        }
    }

    /// What is done of a domain in a round; empty for nothing.
    pub fn window(&self, domain: u64, round: u64) -> Range<u64> {
        match &self.domains {
            Domains::Between(edges) => {
                let within = edges[domain as usize]..edges[domain as usize + 1];
                let number = (within.start / self.buffer).saturating_add(round);
                let edge = |number: u64| number.saturating_mul(self.buffer).clamp(within.start, within.end);
                edge(number)..edge(number.saturating_add(1))
            }
            Domains::InTurn(turns) => turns.window(domain, round),
        }
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

    /// Marks `len` bytes from `from` on.
    pub fn mark(&mut self, from: usize, len: usize) {
        let (mut at, end) = (from, from + len);
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let Some(word) = self.words.get_mut(at / 64) else { return };
            *word |= mask;
            at += bits;
        }
    }

    /// The runs of bytes that are there, in order.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.find(at, true)?;
            at = self.find(start, false).unwrap_or(self.words.len() * 64);
            Some(start..at)
        })
    }

    /// The first byte from `from` on that is there, or is not.
    fn find(&self, from: usize, there: bool) -> Option<usize> {
        let wanted = |index: usize| if there { self.words[index] } else { !self.words[index] };
        let mut index = from / 64;
        let mut word =
            if index < self.words.len() { wanted(index) & (u64::MAX << (from % 64)) } else { return None };
        while word == 0 {
            index += 1;
            word = if index < self.words.len() { wanted(index) } else { return None };
        }
        Some(index * 64 + word.trailing_zeros() as usize)
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
    fn windows_in_turn_are_the_span_once_and_keep_their_process() {
        for (span, aggregators, buffer) in [
            (0..1, 1, 1),
            (5..100_000, 3, 10_000),
            (4097..4098, 8, 64),
            ((1 << 41) + 3..(1 << 41) + 70_000, 2, 1 << 14),
        ] {
            let plan = Plan::in_turn(span.clone(), 8, aggregators, buffer);
            let mut windows = Vec::new();
            for round in 0..plan.rounds() {
                for domain in 0..plan.domains() {
                    let window = plan.window(domain, round);
                    if !window.is_empty() {
                        assert_eq!(window.start / buffer % aggregators, domain);
                        windows.push(window);
                    }
                }
            }
            windows.sort_by_key(|window| window.start);
            let end = windows.iter().fold(span.start, |at, window| {
                assert_eq!(window.start, at);
                assert!(window.end - window.start <= buffer);
                window.end
            });
            assert_eq!(end, span.end);
        }
    }

    #[test]
    fn each_target_has_one_process() {
        for (span, processes, aggregators, buffer, stripes) in [
            (5..1000, 8, 3, 16, Stripes { unit: 16, factor: 3 }),
            (5..1000, 8, 8, 7, Stripes { unit: 16, factor: 3 }),
            (100..101, 4, 2, 16, Stripes { unit: 24, factor: 5 }),
            (0..0, 4, 2, 16, Stripes { unit: 24, factor: 5 }),
            ((1 << 41) + 3..(1 << 41) + 70_000, 4, 4, 1 << 12, Stripes { unit: 1 << 13, factor: 2 }),
        ] {
            let plan = Plan::by_targets(span.clone(), processes, aggregators, buffer, &stripes);
            assert_eq!(plan.domains(), aggregators.min(stripes.factor));
            let mut windows = Vec::new();
            for round in 0..plan.rounds() {
                for domain in 0..plan.domains() {
                    let window = plan.window(domain, round);
                    if !window.is_empty() {
                        let stripe = window.start / stripes.unit;
                        assert_eq!(stripe % stripes.factor % plan.domains(), domain);
                        assert_eq!((window.end - 1) / stripes.unit, stripe, "a window has one stripe");
                        assert!(window.end - window.start <= buffer);
                        windows.push(window);
                    }
                }
            }
            windows.sort_by_key(|window| window.start);
            let end = windows.iter().fold(span.start, |at, window| {
                assert_eq!(window.start, at);
                window.end
            });
            assert_eq!(end, span.end);
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
        cover.mark(0, 64);
        cover.mark(64, 1);
        cover.mark(66, 130);
        cover.mark(60, 7);
        cover.mark(195, 2);
        cover.mark(197, 1);
        cover.mark(250, 10);
        cover.clear(200);
        for (from, len) in [(0, 64), (64, 1), (66, 130), (100, 50), (197, 2)] {
            cover.mark(from, len);
        }
        assert_eq!(cover.runs().collect::<Vec<_>>(), [0..65, 66..196, 197..199]);
        cover.clear(128);
        assert_eq!(cover.runs().count(), 0);
        cover.mark(64, 64);
        assert_eq!(cover.runs().collect::<Vec<_>>(), std::iter::once(64..128).collect::<Vec<_>>());
    }
}

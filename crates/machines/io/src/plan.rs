//! Two-phase access: which process accesses which part of a file for all, and window by window.
//!
//! ```text
//!   places    low                                                        high
//!             |------------ domain 0 ------------|------ domain 1 --------|      edges on blocks of the file system
//!             |-- window --|-- window --|-window-|-- window --|-- window -|      a buffer's length at most
//! ```
//!
//! A process and an aggregator go from window to window that has bytes of the process ([`Course`]), and exchange those.
//! Windows without any are never visited: what an access takes depends on its bytes, not on how far apart they are.
//!
//! Every process computes the same plan from what all have exchanged, so none sends lists of places.
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
use crate::view::View;

/// From the place of a process's first byte to behind that of its last; empty for none.
pub type Extent = Range<u64>;

/// Whether the parts of some processes lie between those of others.
pub fn interleave(extents: impl Iterator<Item = Extent>) -> bool {
    let mut all: Vec<Extent> = extents.filter(|extent| !extent.is_empty()).collect();
    all.sort_by_key(|extent| extent.start);
    all.windows(2).any(|pair| pair[1].start < pair[0].end)
}

/// Which process accesses what, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPlan {
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
    /// The first window of a domain that ends behind a place of the span.
    fn window_from(&self, domain: u64, place: u64) -> Option<Range<u64>> {
        let unit = place / self.unit;
        let target = unit % self.targets;
        if target % self.domains == domain {
            let begin = unit * self.unit;
            let number = (place - begin) / self.window;
            let edge = |number: u64| begin.saturating_add(number.saturating_mul(self.window).min(self.unit));
            return Some(edge(number)..edge(number + 1));
        }
        // The next target of the domain in this cycle, or its first one in the next.
        let ahead = (domain + self.domains - target % self.domains) % self.domains;
        let units = if target + ahead < self.targets { ahead } else { self.targets - target + domain };
        let begin = unit.checked_add(units)?.checked_mul(self.unit)?;
        Some(begin..begin.saturating_add(self.window.min(self.unit)))
    }
}

impl AccessPlan {
    /// A plan for the places in `span`, by at most `aggregators` of `processes` processes, each with a buffer of
    /// `buffer` bytes, on a file system with blocks of `block` bytes.
    pub fn new(span: Range<u64>, processes: u64, aggregators: u64, buffer: u64, block: u64) -> AccessPlan {
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
        AccessPlan { domains: Domains::Between(edges), buffer, processes, aggregators }
    }

    /// As [`AccessPlan::new`], with the same process for a place in all plans of the same aggregators and buffer.
    pub fn in_turn(span: Range<u64>, processes: u64, aggregators: u64, buffer: u64) -> AccessPlan {
        let targets = aggregators.min(processes).max(1);
        AccessPlan::by_targets(
            span,
            processes,
            targets,
            buffer,
            &Stripes { unit: buffer.max(1), factor: targets },
        )
    }

    /// As [`AccessPlan::in_turn`], with one process for each storage target of a striped file, which may have several.
    pub fn by_targets(
        span: Range<u64>,
        processes: u64,
        aggregators: u64,
        buffer: u64,
        stripes: &Stripes,
    ) -> AccessPlan {
        let (unit, targets) = (stripes.unit.max(1), stripes.factor.max(1));
        let buffer = buffer.clamp(1, unit);
        let aggregators = aggregators.min(processes).min(targets).max(1);
        let turns = Turns { span, unit, targets, domains: aggregators, window: buffer };
        AccessPlan { domains: Domains::InTurn(turns), buffer, processes, aggregators }
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

    /// The first window of a domain that ends behind a place, if there is one.
    pub(crate) fn window_from(&self, domain: u64, place: u64) -> Option<Range<u64>> {
        let (within, window) = match &self.domains {
            Domains::Between(edges) => {
                let within = edges[domain as usize]..edges[domain as usize + 1];
                let number = place.max(within.start) / self.buffer;
                let edge = |number: u64| number.saturating_mul(self.buffer);
                (within, edge(number)..edge(number + 1))
            }
            Domains::InTurn(turns) => {
                let span = turns.span.clone();
                let window = turns.window_from(domain, place.max(span.start))?;
                (span, window)
            }
        };
        let window = window.start.max(within.start)..window.end.min(within.end);
        (window.end > place.max(window.start)).then_some(window)
    }
}

/// The parts of a view that lie in the windows of a domain, one after the other. A process and the aggregator of the
/// domain follow the same course, so both know without a word which bytes come next.
#[derive(Clone, Debug)]
pub struct Course {
    domain: u64,
    /// The next position.
    at: u64,
    end: u64,
}

impl Course {
    /// That of some positions of a view.
    pub fn new(domain: u64, positions: &Range<u64>) -> Course {
        Course { domain, at: positions.start, end: positions.end }
    }

    /// The next window that has any of the positions, and those. The view ascends.
    pub fn next(&mut self, plan: &AccessPlan, view: &View) -> Option<(Range<u64>, Range<u64>)> {
        while self.at < self.end {
            let Some(window) = plan.window_from(self.domain, view.place_of(self.at)) else { break };
            let position = |place: u64| view.position_at(place).clamp(self.at, self.end);
            let part = position(window.start)..position(window.end);
            self.at = part.end.max(part.start);
            if !part.is_empty() {
                return Some((window, part));
            }
        }
        self.at = self.end;
        None
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

    /// How many runs of bytes are there, and their bytes.
    pub fn count(&self) -> (u64, u64) {
        let (mut runs, mut bytes, mut before) = (0, 0, 0);
        for &word in &self.words {
            runs += u64::from((word & !(word << 1 | before)).count_ones());
            bytes += u64::from(word.count_ones());
            before = word >> 63;
        }
        (runs, bytes)
    }

    /// The last byte that is there.
    pub fn last(&self) -> Option<usize> {
        let index = self.words.iter().rposition(|&word| word != 0)?;
        Some(index * 64 + 63 - self.words[index].leading_zeros() as usize)
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
    use datatype::{Datatype, Form};

    use super::*;

    /// The windows of a domain.
    fn windows(plan: &AccessPlan, domain: u64, span: &Range<u64>) -> Vec<Range<u64>> {
        let mut at = span.start;
        std::iter::from_fn(|| {
            let window = plan.window_from(domain, at)?;
            assert!(window.start >= at && window.end > at);
            at = window.end;
            // From anywhere within, it is the same one.
            assert_eq!(plan.window_from(domain, window.start).as_ref(), Some(&window));
            assert_eq!(plan.window_from(domain, window.end - 1).as_ref(), Some(&window));
            Some(window)
        })
        .collect()
    }

    /// All windows lie one behind the other in the span.
    fn assert_cover(plan: &AccessPlan, span: &Range<u64>, check: impl Fn(u64, &Range<u64>)) {
        let all = (0..plan.domains()).flat_map(|domain| {
            let of_domain = windows(plan, domain, span);
            of_domain.iter().for_each(|window| check(domain, window));
            of_domain
        });
        let mut all: Vec<Range<u64>> = all.collect();
        all.sort_by_key(|window| window.start);
        let end = all.iter().fold(span.start, |at, window| {
            assert_eq!(window.start, at);
            window.end
        });
        assert_eq!(end, span.end.max(span.start));
    }

    #[test]
    fn windows_of_all_domains_are_the_span_once() {
        for (span, processes, aggregators, buffer, block) in [
            (0..1, 1, 1, 1, 4096),
            (5..100_000, 8, 3, 10_000, 4096),
            (4097..4098, 8, 8, 64, 4096),
            (100..1000, 5, 5, 7, 16),
            ((1 << 41) + 3..(1 << 41) + 70_000, 4, 2, 1 << 14, 4096),
        ] {
            let plan = AccessPlan::new(span.clone(), processes, aggregators, buffer, block);
            assert_cover(&plan, &span, |_, window| assert!(window.end - window.start <= buffer));
            for domain in 0..plan.domains() {
                let end = windows(&plan, domain, &span).last().map_or(0, |window| window.end);
                assert!(end == span.end || end.is_multiple_of(block));
                assert_eq!(plan.index_of(plan.process(domain)), Some(domain));
            }
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
            let plan = AccessPlan::in_turn(span.clone(), 8, aggregators, buffer);
            assert_cover(&plan, &span, |domain, window| {
                assert_eq!(window.start / buffer % aggregators, domain);
                assert!(window.end - window.start <= buffer);
            });
        }
    }

    #[test]
    fn each_target_has_one_process() {
        for (span, processes, aggregators, buffer, stripes) in [
            (5..1000, 8, 3, 16, Stripes { unit: 16, factor: 3 }),
            (5..1000, 8, 8, 7, Stripes { unit: 16, factor: 3 }),
            (5..1000, 8, 2, 7, Stripes { unit: 16, factor: 5 }),
            (100..101, 4, 2, 16, Stripes { unit: 24, factor: 5 }),
            (0..0, 4, 2, 16, Stripes { unit: 24, factor: 5 }),
            ((1 << 41) + 3..(1 << 41) + 70_000, 4, 4, 1 << 12, Stripes { unit: 1 << 13, factor: 2 }),
        ] {
            let plan = AccessPlan::by_targets(span.clone(), processes, aggregators, buffer, &stripes);
            assert_eq!(plan.domains(), aggregators.min(stripes.factor));
            assert_cover(&plan, &span, |domain, window| {
                let stripe = window.start / stripes.unit;
                assert_eq!(stripe % stripes.factor % plan.domains(), domain);
                assert_eq!((window.end - 1) / stripes.unit, stripe, "a window has one stripe");
                assert!(window.end - window.start <= buffer);
            });
        }
    }

    /// A course has each position once, in windows of its domain, and takes steps for pieces and not for holes.
    #[test]
    fn courses_are_as_long_as_the_data() {
        let byte = Datatype::predefined(abi::BYTE).unwrap();
        for far in [100i64, 1 << 20, 1 << 40, 1 << 60] {
            let places = [3, 40, far + 5, far + 6, 2 * far + 1];
            let filetype = Datatype::hindexed_block(1, (&places[..]).into(), byte, Form::Classic).unwrap();
            let view = View::new(2, byte, &filetype).unwrap();
            let span = view.span(&(0..5));
            let plans = [
                AccessPlan::new(span.clone(), 4, 3, 1 << 10, 16),
                AccessPlan::in_turn(span.clone(), 4, 3, 64),
                AccessPlan::by_targets(span.clone(), 4, 2, 7, &Stripes { unit: 16, factor: 3 }),
            ];
            for plan in plans {
                let mut seen = Vec::new();
                for domain in 0..plan.domains() {
                    let mut course = Course::new(domain, &(0..5));
                    while let Some((window, part)) = course.next(&plan, &view) {
                        assert_eq!(plan.window_from(domain, window.start), Some(window.clone()));
                        assert!(part.clone().all(|position| window.contains(&view.place_of(position))));
                        seen.extend(part);
                    }
                    assert!(course.next(&plan, &view).is_none());
                }
                seen.sort_unstable();
                assert_eq!(seen, [0, 1, 2, 3, 4], "{plan:?}");
            }
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
        assert_eq!((cover.count(), cover.last()), ((3, 65 + 130 + 2), Some(198)));
        cover.clear(128);
        assert_eq!(cover.runs().count(), 0);
        assert_eq!((cover.count(), cover.last()), ((0, 0), None));
        cover.mark(64, 64);
        assert_eq!((cover.count(), cover.last()), ((1, 64), Some(127)));
        assert_eq!(cover.runs().collect::<Vec<_>>(), std::iter::once(64..128).collect::<Vec<_>>());
    }
}

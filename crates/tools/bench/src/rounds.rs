//! Rounds of measurements, and which of them count.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::modes::View;
use crate::mpi::Line;
use crate::statistics::median;

/// A round counts while its floor is at most this times that of the quiet machine.
pub const QUIET: f64 = 1.25;
/// So many rounds must count for a verdict.
pub const ENOUGH: usize = 9;

/// One round of a mode: every MPI ran once.
#[derive(Clone, Debug)]
pub struct Round {
    /// The floor just before, in nanoseconds; none where it cannot be probed.
    pub floor: Option<f64>,
    /// What each MPI's program printed.
    pub lines: Vec<Vec<Line>>,
}

/// Which rounds count.
#[derive(Clone, Copy, Debug)]
pub enum Counting {
    /// Those whose floor is near that of the quiet machine, where there is a floor.
    Quiet {
        /// In nanoseconds ([`quiet_floor`]).
        floor: Option<f64>,
    },
    /// All, for trying things out on a busy machine; there is no verdict then.
    All,
}

impl Counting {
    fn includes(self, round: &Round) -> bool {
        match (self, round.floor) {
            (Counting::Quiet { floor: Some(quiet) }, Some(floor)) => {
                floor <= QUIET * quiet && quiet <= QUIET * floor
            }
            _ => true,
        }
    }

    /// Whether enough rounds count for a verdict.
    pub fn has_verdict(self, rounds: &[Round]) -> bool {
        let kept = rounds.iter().filter(|round| self.includes(round)).count();
        kept >= ENOUGH && matches!(self, Counting::Quiet { .. })
    }
}

/// What the rounds show about one view of a mode.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Rounds that count.
    pub kept: usize,
    /// Rounds that do not.
    pub discarded: usize,
    /// Whether enough rounds count for a verdict.
    pub verdict: bool,
    /// Results by size.
    pub rows: Vec<Row>,
}

/// One size.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Size of a message.
    pub bytes: u64,
    /// Median of each MPI, in the order they were given.
    pub values: Vec<f64>,
    /// Lowest and highest of each MPI.
    pub spread: Vec<[f64; 2]>,
    /// The first MPI's value over each other's: the median of the rounds' ratios.
    pub ratios: Vec<f64>,
    /// Each other MPI's value less the first one's, the median of the rounds' differences, where the view shows that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overheads: Vec<f64>,
}

/// The floor of the quiet machine, which that of a round is compared with: the lowest to which enough rounds for a verdict are near, and
/// a tenth of all. A few lower ones are of a machine that was another one for a while: a virtual one's two processors were on one core.
/// Where no floor has so many, the lowest.
pub fn quiet_floor<'a>(rounds: impl IntoIterator<Item = &'a Round>) -> Option<f64> {
    let mut floors: Vec<f64> = rounds.into_iter().filter_map(|round| round.floor).collect();
    floors.sort_unstable_by(f64::total_cmp);
    let needed = ENOUGH.max(floors.len() / 10);
    let has_company = |&(at, &floor): &(usize, &f64)| {
        floors[at..].iter().take_while(|&&other| other <= QUIET * floor).count() >= needed
    };
    floors.iter().enumerate().find(has_company).map(|(_, &floor)| floor).or(floors.first().copied())
}

/// Medians of the rounds that count.
pub fn summarise(rounds: &[Round], counting: Counting, view: &View) -> Summary {
    let kept: Vec<BySize> =
        rounds.iter().filter(|round| counting.includes(round)).map(|round| by_size(round, view)).collect();
    let sizes: Vec<u64> = kept.first().map(|round| round.keys().copied().collect()).unwrap_or_default();
    Summary {
        kept: kept.len(),
        discarded: rounds.len() - kept.len(),
        verdict: counting.has_verdict(rounds),
        rows: sizes.into_iter().filter_map(|bytes| row(bytes, &kept, view.overheads)).collect(),
    }
}

/// The values of all MPIs, by size; sizes that some MPI lacks are left out.
type BySize = BTreeMap<u64, Vec<f64>>;

fn by_size(round: &Round, view: &View) -> BySize {
    let mut sizes = BySize::new();
    for lines in &round.lines {
        for line in lines {
            if let Some(value) = (view.of)(line) {
                sizes.entry(line.bytes).or_default().push(value);
            }
        }
    }
    sizes.retain(|_, values| values.len() == round.lines.len());
    sizes
}

/// A size's medians over the rounds that have it.
fn row(bytes: u64, rounds: &[BySize], overheads: bool) -> Option<Row> {
    let rounds: Vec<&Vec<f64>> = rounds.iter().filter_map(|round| round.get(&bytes)).collect();
    let mpis = rounds.first()?.len();
    let mut row =
        Row { bytes, values: Vec::new(), spread: Vec::new(), ratios: Vec::new(), overheads: Vec::new() };
    for mpi in 0..mpis {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[mpi]).collect();
        row.values.push(median(&mut values)?);
        row.spread.push([values[0], values[values.len() - 1]]);
        if mpi > 0 {
            let mut ratios: Vec<f64> = rounds.iter().map(|round| round[0] / round[mpi]).collect();
            row.ratios.push(median(&mut ratios)?);
        }
        if mpi > 0 && overheads {
            let mut over: Vec<f64> = rounds.iter().map(|round| round[mpi] - round[0]).collect();
            row.overheads.push(median(&mut over)?);
        }
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{FILES, POINT_TO_POINT};

    fn round(floor: f64, ours: f64, theirs: f64) -> Round {
        let lines = |value| {
            [(8, value), (16, 2.0 * value)]
                .map(|(bytes, value)| Line { bytes, value, processor: None, floor: None })
                .to_vec()
        };
        Round { floor: Some(floor), lines: vec![lines(ours), lines(theirs)] }
    }

    fn quiet(rounds: &[Round]) -> Counting {
        Counting::Quiet { floor: quiet_floor(rounds) }
    }

    #[test]
    fn a_machine_that_was_another_one_for_a_while_sets_no_measure() {
        let floors = [vec![33.0; 3], vec![53.0; 20], vec![80.0; 2]].concat();
        let rounds: Vec<Round> = floors.into_iter().map(|floor| round(floor, 1.0, 2.0)).collect();
        let summary = summarise(&rounds, quiet(&rounds), &POINT_TO_POINT[0].views[0]);
        assert_eq!((summary.kept, summary.discarded, summary.verdict), (20, 5, true));
        assert!(!quiet(&rounds).has_verdict(&rounds[..11]) && quiet(&rounds).has_verdict(&rounds[..12]));
        assert_eq!(quiet_floor(&rounds[..12]), Some(53.0));
        assert_eq!(quiet_floor(&rounds[..11]), Some(33.0), "no floor has enough rounds");
        assert_eq!(quiet_floor(&[]), None);
    }

    #[test]
    fn noisy_rounds_do_not_count() {
        let rounds = [round(100.0, 1.0, 2.0), round(126.0, 50.0, 2.0), round(125.0, 3.0, 4.0)];
        let summary = summarise(&rounds, quiet(&rounds), &POINT_TO_POINT[0].views[0]);
        assert_eq!((summary.kept, summary.discarded, summary.verdict), (2, 1, false));
        assert_eq!(summary.rows[0].values, [2.0, 3.0]);
        assert_eq!(summary.rows[0].spread, [[1.0, 3.0], [2.0, 4.0]]);
        assert_eq!(
            summary.rows[0].ratios,
            [(0.5 + 0.75) / 2.0],
            "the median of the ratios, not their medians'"
        );
    }

    #[test]
    fn views_turn_times_into_bandwidth() {
        let rounds = vec![round(1.0, 0.5, 1.0); 9];
        let summary = summarise(&rounds, quiet(&rounds), &POINT_TO_POINT[0].views[1]);
        assert!(summary.verdict);
        assert_eq!(summary.rows[0].values, [16.0, 8.0], "8 bytes in half a microsecond are 16 MB/s");
        assert_eq!(summary.rows[1].ratios, [2.0]);
    }

    #[test]
    fn a_floor_is_compared_within_a_line() {
        let mut one = round(1.0, 3.0, 4.0);
        one.lines[0][0].floor = Some(2.0);
        one.lines[1][0].floor = Some(1.0);
        let summary = summarise(&[one], Counting::All, &FILES[2].views[1]);
        let sizes: Vec<u64> = summary.rows.iter().map(|row| row.bytes).collect();
        assert_eq!(sizes, [8], "the other size has no floor");
        assert_eq!(summary.rows[0].values, [1.5, 4.0]);
    }

    #[test]
    fn an_overhead_is_the_median_of_the_differences() {
        let rounds = [round(1.0, 1.0, 1.5), round(1.0, 2.0, 4.0), round(1.0, 3.0, 3.75)];
        let view = View { overheads: true, ..POINT_TO_POINT[0].views[0] };
        let summary = summarise(&rounds, Counting::All, &view);
        assert_eq!(summary.rows[0].overheads, [0.75]);
        let plain = summarise(&rounds, Counting::All, &POINT_TO_POINT[0].views[0]);
        assert!(plain.rows[0].overheads.is_empty(), "only where it is shown");
    }

    #[test]
    fn sizes_that_one_lacks_are_left_out() {
        let mut one = round(1.0, 1.0, 1.0);
        one.lines[1].pop();
        let summary = summarise(&[one], Counting::All, &POINT_TO_POINT[0].views[0]);
        assert_eq!(summary.rows.len(), 1);
    }

    #[test]
    fn counting_all_gives_no_verdict() {
        let mut rounds = vec![round(1.0, 1.0, 1.0); 9];
        rounds.push(round(2.0, 1.0, 1.0));
        let summary = summarise(&rounds, Counting::All, &POINT_TO_POINT[0].views[0]);
        assert_eq!((summary.kept, summary.verdict), (10, false));
    }

    #[test]
    fn without_a_floor_every_round_counts() {
        let mut rounds = vec![round(1.0, 1.0, 1.0), round(9.0, 1.0, 1.0)];
        rounds.iter_mut().for_each(|round| round.floor = None);
        assert_eq!(summarise(&rounds, quiet(&rounds), &POINT_TO_POINT[0].views[0]).kept, 2);
    }
}

//! Cells of a campaign (operation, number of ranks, size): how each stands beside the best other MPI, and which are behind.

use std::path::Path;

use figures::{aligned, significant};
use serde::Serialize;

use crate::error::Error;
use crate::heat::{self, Square};
use crate::results::ModeResult;
use crate::statistics::median;

/// One operation at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub mode: &'static str,
    pub ranks: u32,
    pub bytes: u64,
    pub unit: &'static str,
    /// This MPI's median.
    pub own: f64,
    /// The best other MPI's median, and whose it is.
    pub other: f64,
    pub best: String,
    /// How often the best other's time this one's is, by the medians of the rounds' ratios; above 1: behind.
    pub times: f64,
    /// Whether enough quiet rounds count.
    pub verdict: bool,
}

impl Cell {
    /// The operation, and how many ranks do it.
    fn operation(&self) -> String {
        format!("{}, {} ranks", self.mode, self.ranks)
    }
}

/// What `--json` adds.
#[derive(Serialize)]
pub struct Report {
    limit: f64,
    cells: usize,
    behind: usize,
    median: Option<f64>,
    list: Vec<Cell>,
}

/// The cells of all results by what their programs print; `labels` are those of the MPIs, this one's first.
pub fn cells(labels: &[&str], results: &[ModeResult]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for result in results {
        let Some(view) = result.views.iter().find(|view| view.of.compared) else { continue };
        for row in &view.summary.rows {
            let times = |&ratio: &f64| if view.more_is_better { 1.0 / ratio } else { ratio };
            let all = row.ratios.iter().map(times).enumerate();
            let Some((other, times)) = all.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            cells.push(Cell {
                mode: result.mode,
                ranks: result.ranks,
                bytes: row.bytes,
                unit: view.unit,
                own: row.values[0],
                other: row.values[other + 1],
                best: labels[other + 1].to_string(),
                times,
                verdict: view.summary.verdict,
            });
        }
    }
    cells
}

/// Those that are behind by more than `limit` times, the worst first.
fn behind(cells: &[Cell], limit: f64) -> Vec<&Cell> {
    let mut lost: Vec<&Cell> = cells.iter().filter(|cell| cell.times > limit).collect();
    lost.sort_by(|a, b| b.times.total_cmp(&a.times));
    lost
}

fn middle(cells: &[Cell]) -> Option<f64> {
    median(&mut cells.iter().map(|cell| cell.times).collect::<Vec<_>>())
}

/// The table of cells that are behind, and one line with their number.
pub fn table(cells: &[Cell], limit: f64) -> String {
    let lost = behind(cells, limit);
    let head = ["operation", "bytes", "own", "best other", "whose", "unit", "times", "verdict"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(lost.iter().map(|cell| {
        let verdict = if cell.verdict { "behind" } else { "none: too few quiet rounds" };
        vec![
            cell.operation(),
            cell.bytes.to_string(),
            significant(cell.own),
            significant(cell.other),
            cell.best.clone(),
            cell.unit.to_string(),
            format!("{:.2}", cell.times),
            verdict.to_string(),
        ]
    }));
    let table = if lost.is_empty() { String::new() } else { aligned(&rows) };
    let percent = (limit - 1.0) * 100.0;
    let usual = middle(cells).map_or_else(String::new, |times| {
        format!("; in the median cell {times:.2} times the best other's time")
    });
    format!("{table}{} of {} cells are behind by more than {percent:.0} %{usual}\n", lost.len(), cells.len())
}

/// The same for `--json`.
pub fn report(cells: &[Cell], limit: f64) -> Report {
    let lost = behind(cells, limit);
    Report {
        limit,
        cells: cells.len(),
        behind: lost.len(),
        median: middle(cells),
        list: lost.into_iter().cloned().collect(),
    }
}

/// A heat map of all cells: an operation a row, a size a column.
pub fn draw(stem: &Path, cells: &[Cell]) -> Result<(), Error> {
    let square = |cell: &Cell| Square { row: cell.operation(), bytes: cell.bytes, times: cell.times };
    heat::draw(stem, &cells.iter().map(square).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(mode: &'static str, times: f64) -> Cell {
        let (ranks, bytes, unit, best) = (2, 8, "µs", "B".to_string());
        Cell { mode, ranks, bytes, unit, own: times, other: 1.0, best, times, verdict: true }
    }

    #[test]
    fn the_worst_cell_comes_first_and_one_within_the_limit_not_at_all() {
        let cells = [cell("bcast", 1.2), cell("scan", 0.5), cell("pbarrier", 1.9), cell("gather", 1.04)];
        let text = table(&cells, 1.05);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].contains("pbarrier, 2 ranks") && lines[2].contains("bcast, 2 ranks"), "{text}");
        let last =
            "2 of 4 cells are behind by more than 5 %; in the median cell 1.12 times the best other's time";
        assert_eq!(lines[3], last);
        assert_eq!(report(&cells, 1.05).behind, 2);
    }

    #[test]
    fn nothing_measured_is_nothing_behind() {
        assert_eq!(table(&[], 1.05), "0 of 0 cells are behind by more than 5 %\n");
    }
}

//! The diagrams of a campaign: one for each mode, or one for several modes that are to be seen beside each other.

use std::path::Path;

use figures::curves::{self, Curve, Over, Panel};

use crate::error::Error;
use crate::results::{ModeResult, ViewResult};

/// The pictures of the papers: times against size, and bandwidth (or rate) against size. `mpis`: their names.
pub fn draw(stem: &Path, mpis: &[&str], results: &[ModeResult]) -> Result<(), Error> {
    for (name, more_is_better) in [("latency", false), ("bandwidth", true)] {
        let panels = panels(mpis, results, more_is_better);
        if !panels.is_empty() {
            let mut file = stem.as_os_str().to_owned();
            file.push(format!("-{name}"));
            curves::draw(Path::new(&file), &panels)?;
        }
    }
    Ok(())
}

fn panels(mpis: &[&str], results: &[ModeResult], more_is_better: bool) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    let views = results.iter().flat_map(|result| result.views.iter().map(move |view| (result, view)));
    for (result, view) in views {
        let drawn = (view.of.compared || view.of.overheads) && view.summary.rows.len() >= 2;
        if view.more_is_better != more_is_better || !drawn {
            continue;
        }
        let title = |of: &str| format!("{of}: {}, {} ranks", view.of.title, result.ranks);
        if result.drawn.is_empty() {
            panels.push(panel(title(&result.title), view, curves(mpis, view)));
        }
        for drawn in result.drawn {
            let title = title(drawn.diagram);
            let name = |mpi: &&str| {
                if mpis.len() == 1 { drawn.curve.to_string() } else { format!("{mpi}, {}", drawn.curve) }
            };
            let names: Vec<String> =
                mpis[..if drawn.ours { 1 } else { mpis.len() }].iter().map(name).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let more = curves(&names, view);
            match panels.iter_mut().find(|panel| panel.title == title) {
                Some(panel) => panel.curves.extend(more),
                None => panels.push(panel(title, view, more)),
            }
        }
    }
    panels
}

fn panel(title: String, view: &ViewResult, curves: Vec<Curve>) -> Panel {
    Panel { title, over: Over::Bytes, unit: view.unit, curves }
}

/// The curves of the first MPIs, as many as there are names.
fn curves(names: &[&str], view: &ViewResult) -> Vec<Curve> {
    let rows = &view.summary.rows;
    // Axes are logarithmic.
    let drawn = || rows.iter().filter(|row| row.bytes > 0);
    let points = |mpi: usize| drawn().map(|row| (row.bytes as f64, row.values[mpi])).collect();
    let curve =
        |(mpi, name): (usize, &&str)| Curve { label: name.to_string(), points: points(mpi), joined: true };
    names.iter().enumerate().map(curve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{Mode, ONE_SIDED};
    use crate::rounds::{Row, Summary};

    fn measured(mode: &'static Mode) -> ModeResult {
        let row = |bytes| Row {
            bytes,
            values: vec![1.0, 2.0],
            spread: Vec::new(),
            ratios: Vec::new(),
            overheads: Vec::new(),
        };
        let view = |of: &'static crate::modes::View| ViewResult {
            view: of.key,
            unit: of.unit,
            more_is_better: of.more_is_better,
            summary: Summary { kept: 1, discarded: 0, verdict: false, rows: vec![row(8), row(64)] },
            of,
        };
        let views = mode.views.iter().map(view).collect();
        ModeResult { mode: mode.name, of: None, ranks: 2, views, title: mode.title.into(), drawn: mode.drawn }
    }

    #[test]
    fn modes_that_belong_together_share_a_diagram() {
        let results: Vec<ModeResult> = ONE_SIDED.iter().map(measured).collect();
        let times = panels(&["Alhena", "Open MPI"], &results, false);
        let labels = |title: &str| -> Vec<&str> {
            let panel = times.iter().find(|panel| panel.title.starts_with(title)).expect("a diagram");
            panel.curves.iter().map(|curve| curve.label.as_str()).collect()
        };
        assert_eq!(labels("gather"), ["Alhena, MPI_Gather", "Open MPI, MPI_Gather", "Alhena, alhena_rput"]);
        assert_eq!(labels("get and").len(), 5);
        assert_eq!(labels("MPI_Win_fence"), ["Alhena", "Open MPI"]);
        assert_eq!(panels(&["Alhena"], &results, true).len(), 1, "only gathers have a bandwidth");
    }
}

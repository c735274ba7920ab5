//! The table of a view.

use std::fmt::Write;

use figures::{aligned, significant};

use crate::modes::View;
use crate::rounds::{ENOUGH, Summary};

/// One view's table: sizes, each MPI's median, the first one's ratio to each other.
pub fn of_view(what: &str, view: &View, ranks: u32, labels: &[&str], summary: &Summary) -> String {
    let better = if view.more_is_better { "more" } else { "less" };
    let Summary { kept, discarded, verdict, rows } = summary;
    let mut text = format!(
        "{what}: {}, {} ({better} is better); {ranks} ranks, {kept} of {} rounds count\n",
        view.title,
        view.unit,
        kept + discarded
    );
    if !verdict {
        writeln!(text, "no verdict: {ENOUGH} quiet rounds are needed").expect("a string takes text");
    }
    if rows.is_empty() {
        return text;
    }
    let mut cells = vec![head(labels, view)];
    cells.extend(rows.iter().map(|row| {
        let values = row.values.iter().map(|&value| significant(value));
        let ratios = row.ratios.iter().filter(|_| view.compared).map(|ratio| format!("{ratio:.2}"));
        let over = row.overheads.iter().map(|over| format!("{over:+.3}"));
        std::iter::once(row.bytes.to_string()).chain(values).chain(ratios).chain(over).collect()
    }));
    text.push_str(&aligned(&cells));
    text
}

/// One line about the ratios of many tables: the geometric mean of those to the best other MPI, and the worst of them
/// with its table and size. None where nothing is compared.
pub fn summed_up<'a>(view: &View, summaries: impl Iterator<Item = (&'a str, &'a Summary)>) -> Option<String> {
    let worse = |a: &f64, b: &f64| if view.more_is_better { a.total_cmp(b) } else { b.total_cmp(a) };
    let mut ratios: Vec<(f64, &str, u64)> = Vec::new();
    for (title, summary) in summaries {
        for row in &summary.rows {
            ratios.push((row.ratios.iter().copied().min_by(worse)?, title, row.bytes));
        }
    }
    let (worst, title, bytes) = ratios.iter().min_by(|a, b| worse(&a.0, &b.0))?;
    let mean = (ratios.iter().map(|(ratio, ..)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    Some(format!(
        "{} over the best other: {mean:.2} (geometric mean), at worst {worst:.2} ({title}, {bytes} bytes)",
        view.title
    ))
}

fn head(labels: &[&str], view: &View) -> Vec<String> {
    let others = || labels.iter().skip(1);
    let ratios = others().filter(|_| view.compared).map(|other| format!("{}/{other}", labels[0]));
    let over = others().filter(|_| view.overheads).map(|other| format!("{other} over {}", labels[0]));
    std::iter::once("bytes".to_string())
        .chain(labels.iter().map(|label| label.to_string()))
        .chain(ratios)
        .chain(over)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_about_the_best_other() {
        use crate::rounds::Row;
        let row = |bytes, ratios| Row {
            bytes,
            values: Vec::new(),
            spread: Vec::new(),
            ratios,
            overheads: Vec::new(),
        };
        let summary = |rows| Summary { kept: 9, discarded: 0, verdict: true, rows };
        let view = &crate::modes::DATATYPES[0].views[0];
        let one = summary(vec![row(8, vec![2.0, 3.0]), row(16, vec![9.0, 4.0])]);
        let said = summed_up(view, [("face", &one)].into_iter());
        let expected = "bandwidth over the best other: 2.83 (geometric mean), at worst 2.00 (face, 8 bytes)";
        assert_eq!(said.as_deref(), Some(expected));
        assert_eq!(summed_up(view, [("alone", &summary(vec![row(8, vec![])]))].into_iter()), None);
    }
}

//! The picture of `alhena top`: a bar for each rank, how much of the time it waited and how much it worked, and where it is.

use std::path::{Path, PathBuf};

use figures::drawing::{self, BLUE, Error, FONT, Filled, INK, ORANGE, Picture};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::page;
use super::table::{Row, Table};
use crate::numbers;

/// Bars at most; the JSON and the page have all ranks.
const MOST: usize = 128;
const WIDTH: i32 = 1000;
const LEFT: i32 = 60;
const BAR: i32 = 330;
const TOP: i32 = 92;
const STEP: i32 = 22;
const WAITS: RGBColor = ORANGE;
const WORKS: RGBColor = BLUE;
const NOTHING: RGBColor = RGBColor(225, 230, 235);

/// Draws STEM.svg and STEM.png.
pub fn draw(stem: &Path, table: &Table) -> Result<[PathBuf; 2], Error> {
    drawing::draw(stem, &Bars { table })
}

struct Bars<'t> {
    table: &'t Table,
}

impl Bars<'_> {
    fn rows(&self) -> &[Row] {
        &self.table.rows[..self.table.rows.len().min(MOST)]
    }
}

impl Picture for Bars<'_> {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, (TOP + STEP * self.rows().len().max(1) as i32 + 20) as u32)
    }

    fn fill<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Filled<B> {
        area.fill(&WHITE)?;
        let text = |size: i32, at: HPos| (FONT, size).into_font().color(&INK).pos(Pos::new(at, VPos::Center));
        let title = (FONT, 17, FontStyle::Bold).into_font().color(&INK);
        area.draw_text(&self.table.title, &title, (14, 12))?;
        area.draw_text(&page::summary(self.table), &text(14, HPos::Left), (14, 46))?;
        let mut at = LEFT;
        for (name, colour) in [("works", WORKS), ("waits in MPI", WAITS), ("has ended", NOTHING)] {
            area.draw(&Rectangle::new([(at, TOP - 22), (at + 12, TOP - 10)], colour.filled()))?;
            area.draw_text(name, &text(13, HPos::Left), (at + 18, TOP - 16))?;
            at += 120;
        }
        for (number, row) in self.rows().iter().enumerate() {
            bar(area, row, TOP + number as i32 * STEP, &text)?;
        }
        area.present()
    }
}

fn bar<'t, B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    row: &Row,
    top: i32,
    text: &impl Fn(i32, HPos) -> TextStyle<'t>,
) -> Filled<B> {
    let (bottom, middle) = (top + STEP - 4, top + STEP / 2 - 2);
    area.draw_text(&row.rank.to_string(), &text(14, HPos::Right), (LEFT - 8, middle))?;
    let right = LEFT + BAR;
    let waits = right - (row.waiting.clamp(0.0, 1.0) * f64::from(BAR)).round() as i32;
    let parts: &[(i32, i32, RGBColor)] = match &*row.state {
        "ended" => &[(LEFT, right, NOTHING)],
        _ => &[(LEFT, waits, WORKS), (waits, right, WAITS)],
    };
    for &(from, to, colour) in parts.iter().filter(|(from, to, _)| from < to) {
        area.draw(&Rectangle::new([(from, top), (to, bottom)], colour.filled()))?;
    }
    let call = if row.call.is_empty() { String::new() } else { format!(" in {}", row.call) };
    let place = if row.place.is_empty() { String::new() } else { format!(" at {}", row.place) };
    let words = format!("{}{call}{place}, {}/s", row.state, numbers::bytes(row.bytes as u64));
    area.draw_text(&words, &text(13, HPos::Left), (right + 10, middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn both_files_are_drawn() {
        let folder = std::env::temp_dir().join(format!("alhena-top-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let row = |rank, state, waiting| Row {
            rank,
            host: "here".into(),
            pid: 1,
            state: Cow::Borrowed(state),
            call: "MPI_Recv".into(),
            place: "a.c:7 (main)".into(),
            bytes: 1e6,
            messages: 10.0,
            waiting,
            processors: 1.0,
        };
        let rows =
            vec![row(0, "computes", 0.0), row(1, "waits", 1.0), row(2, "in MPI", 0.3), row(3, "ended", 0.0)];
        let table = Table {
            title: "job 1".into(),
            rows,
            bytes: 1e6,
            messages: 10.0,
            waiting: 0.4,
            ..Table::default()
        };
        for path in draw(&folder.join("now"), &table).expect("pictures") {
            assert!(std::fs::metadata(&path).expect("a file").len() > 500, "{}", path.display());
        }
        let error = draw(&folder.join("none/now"), &table).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 3, "{error}");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}

//! A heat map of ratios: blue where this MPI is ahead, white where it is as fast, orange where it is behind.

use std::path::Path;

use figures::curves::size_label;
use figures::drawing::{self, BLUE, FONT, Filled, INK, ORANGE, Picture};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontStyle;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::Error;

/// One square.
#[derive(Clone, Debug)]
pub struct Square {
    /// The label of its row.
    pub row: String,
    /// Its column.
    pub bytes: u64,
    /// The ratio: above 1 is behind.
    pub times: f64,
}

const LEFT: i32 = 330;
const TOP: i32 = 64;
const CELL: (i32, i32) = (74, 22);
/// Ratios from which on a colour is full: twice as fast, or half as fast.
const FULL: f64 = 2.0;

/// Draws STEM.svg and STEM.png.
pub fn draw(stem: &Path, squares: &[Square]) -> Result<(), Error> {
    let rows = distinct(squares.iter().map(|square| square.row.clone()));
    let mut columns = distinct(squares.iter().map(|square| square.bytes));
    columns.sort_unstable();
    drawing::draw(stem, &HeatMap { squares, rows, columns })?;
    Ok(())
}

struct HeatMap<'s> {
    squares: &'s [Square],
    rows: Vec<String>,
    columns: Vec<u64>,
}

impl HeatMap<'_> {
    fn place(&self, square: &Square) -> (i32, i32) {
        let row = self.rows.iter().position(|row| *row == square.row).unwrap_or_default() as i32;
        let column = self.columns.iter().position(|&bytes| bytes == square.bytes).unwrap_or_default() as i32;
        (LEFT + column * CELL.0, TOP + row * CELL.1)
    }
}

impl Picture for HeatMap<'_> {
    fn size(&self) -> (u32, u32) {
        let width = LEFT + CELL.0 * self.columns.len().max(1) as i32 + 20;
        (width as u32, (TOP + CELL.1 * self.rows.len().max(1) as i32 + 20) as u32)
    }

    fn fill<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Filled<B> {
        area.fill(&WHITE)?;
        let text = |size: i32, at: HPos| (FONT, size).into_font().color(&INK).pos(Pos::new(at, VPos::Center));
        let title = (FONT, 17, FontStyle::Bold).into_font().color(&INK);
        area.draw_text("times the best other's time (above 1: behind)", &title, (14, 12))?;
        for (at, &bytes) in self.columns.iter().enumerate() {
            let label = if bytes == 0 { "–".to_string() } else { size_label(bytes as f64) };
            area.draw_text(
                &label,
                &text(14, HPos::Center),
                (LEFT + at as i32 * CELL.0 + CELL.0 / 2, TOP - 12),
            )?;
        }
        for (at, row) in self.rows.iter().enumerate() {
            area.draw_text(row, &text(14, HPos::Right), (LEFT - 10, TOP + at as i32 * CELL.1 + CELL.1 / 2))?;
        }
        for square in self.squares {
            let (x, y) = self.place(square);
            let corners = [(x + 1, y + 1), (x + CELL.0 - 1, y + CELL.1 - 1)];
            area.draw(&Rectangle::new(corners, colour(square.times).filled()))?;
            let middle = (x + CELL.0 / 2, y + CELL.1 / 2);
            area.draw_text(&format!("{:.2}", square.times), &text(13, HPos::Center), middle)?;
        }
        area.present()
    }
}

/// White at 1, a full colour at [`FULL`] times or a part as much.
fn colour(times: f64) -> RGBColor {
    let share = (times.max(1e-9).ln() / FULL.ln()).clamp(-1.0, 1.0);
    let RGBColor(red, green, blue) = if share < 0.0 { BLUE } else { ORANGE };
    // Dark text stays legible on three quarters of a full colour.
    let mixed = |part: u8| (255.0 - (255.0 - f64::from(part)) * 0.75 * share.abs()) as u8;
    RGBColor(mixed(red), mixed(green), mixed(blue))
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_white_in_the_middle_and_full_at_the_ends() {
        assert_eq!(colour(1.0), RGBColor(255, 255, 255));
        assert_eq!(colour(2.0), colour(5.0));
        assert_eq!(colour(0.5), colour(0.1));
        assert_ne!(colour(0.5), colour(2.0));
    }

    #[test]
    fn both_files_are_drawn() {
        let folder = std::env::temp_dir().join(format!("alhena-heat-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let square = |row: &str, bytes, times| Square { row: row.into(), bytes, times };
        let squares =
            [square("bcast, 2 ranks", 8, 0.6), square("bcast, 2 ranks", 64, 1.3), square("scan", 0, 1.0)];
        draw(&folder.join("cells"), &squares).expect("pictures");
        for name in ["cells.svg", "cells.png"] {
            assert!(std::fs::metadata(folder.join(name)).expect("a file").len() > 500, "{name}");
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}

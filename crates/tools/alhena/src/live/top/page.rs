//! One page of text, and the words of its cells.

use std::fmt::Write;

use super::table::{Row, Table};
use crate::numbers;

/// The columns, with their widths; the last one takes what is left.
pub const COLUMNS: [(&str, u16); 9] = [
    ("RANK", 6),
    ("PID", 8),
    ("STATE", 14),
    ("WAITS", 6),
    ("CPU", 6),
    ("BYTES/S", 12),
    ("MSGS/S", 10),
    ("CALL", 16),
    ("PLACE", 0),
];

/// The columns of which the words stand at the right.
pub fn is_number(column: usize) -> bool {
    matches!(column, 0 | 1 | 3..=6)
}

/// The words of a row.
pub fn cells(row: &Row) -> [String; COLUMNS.len()] {
    [
        row.rank.to_string(),
        row.pid.to_string(),
        row.state.to_owned(),
        percent(row.waiting),
        percent(row.processors),
        numbers::bytes(row.bytes as u64),
        count(row.messages),
        row.call.clone(),
        row.place.clone(),
    ]
}

/// The line about all ranks.
pub fn summary(table: &Table) -> String {
    format!(
        "{}/s, {} messages/s; ranks wait for {} of the time; imbalance {}",
        numbers::bytes(table.bytes as u64),
        count(table.messages),
        percent(table.waiting),
        percent(table.imbalance)
    )
}

/// All of it.
pub fn page(table: &Table) -> String {
    let mut text = format!("{}\n{}\n\n", table.title, summary(table));
    line(&mut text, &COLUMNS.map(|(name, _)| name.to_owned()));
    for row in &table.rows {
        line(&mut text, &cells(row));
    }
    text
}

fn line(text: &mut String, cells: &[String; COLUMNS.len()]) {
    let mut whole = String::new();
    for (column, (cell, (_, width))) in cells.iter().zip(COLUMNS).enumerate() {
        let width = usize::from(width);
        let _ = match is_number(column) {
            true => write!(whole, "{cell:>width$}  "),
            false => write!(whole, "{cell:<width$}  "),
        };
    }
    let _ = writeln!(text, "{}", whole.trim_end());
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn count(value: f64) -> String {
    match value {
        0.0..10_000.0 => format!("{value:.0}"),
        10_000.0..10_000_000.0 => format!("{:.1} k", value / 1e3),
        _ => format!("{:.1} M", value / 1e6),
    }
}

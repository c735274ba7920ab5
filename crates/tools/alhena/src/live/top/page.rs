//! One page of text, and the words of its cells.

use std::fmt::Write;

use super::table::{Row, Table};
use crate::numbers;

/// A column.
pub struct Column {
    pub name: &'static str,
    /// Its width; 0: what is left.
    pub width: u16,
    /// Its words stand at the right.
    pub is_number: bool,
    /// The words of a row.
    pub cell: fn(&Row) -> String,
}

const fn number(name: &'static str, width: u16, cell: fn(&Row) -> String) -> Column {
    Column { name, width, is_number: true, cell }
}

const fn word(name: &'static str, width: u16, cell: fn(&Row) -> String) -> Column {
    Column { name, width, is_number: false, cell }
}

static COLUMNS: [Column; 9] = [
    number("RANK", 6, |row| row.rank.to_string()),
    number("PID", 8, |row| row.pid.to_string()),
    word("STATE", 14, |row| row.state.to_string()),
    number("WAITS", 6, |row| percent(row.waiting)),
    number("CPU", 6, |row| percent(row.processors)),
    number("BYTES/S", 12, |row| numbers::bytes(row.bytes as u64)),
    number("MSGS/S", 10, |row| count(row.messages)),
    word("CALL", 16, |row| row.call.clone()),
    word("PLACE", 0, |row| row.place.clone()),
];
static HOST: Column = word("HOST", 12, |row| row.host.clone());

/// The columns of a table; hosts are named where there are several.
pub fn columns(table: &Table) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    if table.rows.iter().any(|row| row.host != table.rows[0].host) {
        columns.insert(1, &HOST);
    }
    columns
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
    let columns = columns(table);
    line(&mut text, &columns, |column| column.name.to_owned());
    for row in &table.rows {
        line(&mut text, &columns, |column| (column.cell)(row));
    }
    table.missing.iter().for_each(|missing| _ = writeln!(text, "{missing}"));
    text
}

fn line(text: &mut String, columns: &[&Column], cell: impl Fn(&Column) -> String) {
    let mut whole = String::new();
    for column in columns {
        let (cell, width) = (cell(column), usize::from(column.width));
        let _ = match column.is_number {
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

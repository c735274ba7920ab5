//! Results as aligned text.

use std::fmt::Write;

/// Columns as wide as their widest cell, numbers to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (cell, width) in row.iter().zip(&widths) {
            write!(text, "  {cell:>width$}").expect("a string takes text");
        }
        text.push('\n');
    }
    text
}

/// Four significant digits, never an exponent.
pub fn significant(value: f64) -> String {
    let digits_before = value.abs().log10().floor().max(0.0) as usize + 1;
    format!("{value:.*}", 4usize.saturating_sub(digits_before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in
            [(0.2049, "0.205"), (1.5, "1.500"), (12.345, "12.35"), (5321.7, "5322"), (1e7, "10000000")]
        {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["bytes".into(), "A".into()], vec!["8".into(), "0.123".into()]];
        assert_eq!(aligned(&rows), "  bytes      A\n      8  0.123\n");
    }
}

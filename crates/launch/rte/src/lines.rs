//! From bytes to whole lines: what several ranks print at once is never mixed within a line.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// A line longer than this is passed on in pieces, in bytes.
const LONGEST: usize = 1 << 20;

/// What goes before each line of one stream.
#[derive(Clone, Debug, Default)]
pub struct Prefix {
    /// `[3] ` or `[3]<stdout>: `; empty for none.
    pub label: String,
    /// The time before the label.
    pub timestamp: bool,
}

impl Prefix {
    /// Whether nothing goes before lines.
    pub fn is_empty(&self) -> bool {
        self.label.is_empty() && !self.timestamp
    }

    fn put(&self, out: &mut Vec<u8>) {
        if self.timestamp {
            out.extend_from_slice(utc(SystemTime::now()).as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(self.label.as_bytes());
    }
}

/// Cuts one stream into lines.
#[derive(Default)]
pub struct Lines {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// Part of the present line was passed on already; its rest gets no prefix.
    open: bool,
}

impl Lines {
    /// Takes `bytes` and appends all whole lines to `out`.
    pub fn feed(&mut self, bytes: &[u8], prefix: &Prefix, out: &mut Vec<u8>) {
        let Some(end) = bytes.iter().rposition(|&b| b == b'\n') else {
            self.partial.extend_from_slice(bytes);
            if self.partial.len() > LONGEST {
                self.flush(prefix, out);
            }
            return;
        };
        let (whole, rest) = bytes.split_at(end + 1);
        if prefix.is_empty() {
            out.append(&mut self.partial);
            out.extend_from_slice(whole);
        } else {
            for line in whole.split_inclusive(|&b| b == b'\n') {
                if !std::mem::take(&mut self.open) {
                    prefix.put(out);
                }
                out.append(&mut self.partial);
                out.extend_from_slice(line);
            }
        }
        self.open = false;
        self.partial.extend_from_slice(rest);
    }

    /// Passes the present line on although it has no end yet (a prompt, or the end of the stream).
    /// Returns whether there was anything.
    pub fn flush(&mut self, prefix: &Prefix, out: &mut Vec<u8>) -> bool {
        if self.partial.is_empty() {
            return false;
        }
        if !std::mem::replace(&mut self.open, true) {
            prefix.put(out);
        }
        out.append(&mut self.partial);
        true
    }

    /// Whether the beginning of a line is held back.
    pub fn has_partial(&self) -> bool {
        !self.partial.is_empty()
    }
}

/// `2026-01-31T12:34:56.789Z`.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let mut text = String::with_capacity(24);
    let _ = write!(
        text,
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        since.subsec_millis()
    );
    text
}

/// Date of a day counted from 1970-01-01, by eras of 400 years that begin on 1 March (so that leap days
/// come last).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    fn labelled() -> Prefix {
        Prefix { label: "[1] ".to_owned(), timestamp: false }
    }

    #[test]
    fn only_whole_lines_pass() {
        let (mut lines, mut out) = (Lines::default(), Vec::new());
        lines.feed(b"one\ntw", &labelled(), &mut out);
        assert_eq!(out, b"[1] one\n");
        lines.feed(b"o\nthree", &labelled(), &mut out);
        assert!(lines.has_partial());
        assert!(lines.flush(&labelled(), &mut out));
        lines.feed(b" and more\nfour\n", &labelled(), &mut out);
        assert_eq!(out, b"[1] one\n[1] two\n[1] three and more\n[1] four\n");
        assert!(!lines.flush(&labelled(), &mut out));
    }

    #[test]
    fn dates_are_right() {
        let at = |s| utc(UNIX_EPOCH + Duration::from_millis(s));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_767_225_600_000), "2026-01-01T00:00:00.000Z");
    }

    proptest! {
        #[test]
        fn without_prefix_all_bytes_pass_unchanged(chunks in proptest::collection::vec("[a\n]{0,9}", 0..9)) {
            let (mut lines, mut out) = (Lines::default(), Vec::new());
            for chunk in &chunks {
                lines.feed(chunk.as_bytes(), &Prefix::default(), &mut out);
                prop_assert!(out.is_empty() || out.ends_with(b"\n"));
            }
            lines.flush(&Prefix::default(), &mut out);
            prop_assert_eq!(out, chunks.concat().into_bytes());
        }
    }
}

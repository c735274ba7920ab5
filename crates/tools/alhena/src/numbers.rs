//! Numbers as reports show them.

use time::OffsetDateTime;

/// With three significant digits, as C's `%.3g` has them.
pub fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let exponent =
        format!("{value:.2e}").rsplit('e').next().and_then(|it| it.parse::<i32>().ok()).unwrap_or(0);
    if !(-4..3).contains(&exponent) {
        let text = format!("{value:.2e}");
        let (digits, _) = text.split_once('e').unwrap_or((&text, ""));
        let digits =
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let text = format!("{value:.*}", (2 - exponent).max(0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A range of sizes or counts: `4`, `5 to 8`.
pub fn range((least, most): (u64, u64), show: impl Fn(u64) -> String) -> String {
    if least == most { show(least) } else { format!("{} to {}", show(least), show(most)) }
}

/// Bytes with a unit.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = (63 - (value | 1).leading_zeros()) / 10;
    let step = (step as usize).min(UNITS.len() - 1);
    match step {
        0 => format!("{value} B"),
        _ => format!("{:.1} {}", value as f64 / f64::from(1u32 << 10).powi(step as i32), UNITS[step]),
    }
}

/// Nanoseconds with a unit.
pub fn time(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} ns"),
        1_000..1_000_000 => format!("{:.1} µs", value as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", value as f64 / 1e6),
        _ => format!("{:.2} s", value as f64 / 1e9),
    }
}

/// A share in percent.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Nanoseconds since 1970 as mpiP writes times (UTC).
pub fn date(unix: u64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(unix.into()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (month, day, (hour, minute, second)) = (u8::from(at.month()), at.day(), at.to_hms());
    format!("{} {month:02} {day:02} {hour:02}:{minute:02}:{second:02}", at.year())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_those_of_c() {
        for (value, text) in [
            (0.0, "0"),
            (9.512, "9.51"),
            (0.168, "0.168"),
            (38.06, "38.1"),
            (926.4, "926"),
            (999.6, "1e+03"),
            (147_000_000.0, "1.47e+08"),
            (6000.0, "6e+03"),
            (0.0138, "0.0138"),
            (0.00001, "1e-05"),
        ] {
            assert_eq!(three(value), text);
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970 01 01 00:00:00");
        assert_eq!(date(951_782_400_000_000_000), "2000 02 29 00:00:00");
        assert_eq!(date(1_603_218_341_000_000_000), "2020 10 20 18:25:41");
    }

    #[test]
    fn units_fit() {
        assert_eq!([bytes(0), bytes(1023), bytes(1536)], ["0 B", "1023 B", "1.5 KiB"]);
        assert_eq!([time(999), time(1_500), time(2_500_000_000)], ["999 ns", "1.5 µs", "2.50 s"]);
    }
}

//! Ports of which a socket takes one that is free.

use core::ops::RangeInclusive;
use std::io;

/// The ports of a parameter's text: `4711`, `20000-20999`, or nothing, which is 0: any. `None`: it is no port and no range.
pub fn range(text: &str) -> Option<RangeInclusive<u16>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(0..=0);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (1 <= first && first <= last).then_some(first..=last)
}

/// What `open` makes of the first port of which it makes something; else why not, of the last port.
pub(crate) fn first_free<T>(
    ports: impl IntoIterator<Item = u16>,
    mut open: impl FnMut(u16) -> io::Result<T>,
) -> io::Result<T> {
    let mut opened = Err(io::ErrorKind::InvalidInput.into());
    for port in ports {
        opened = open(port);
        if opened.is_ok() {
            break;
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn a_range_is_one_port_or_two_in_order() {
        assert_eq!(range(" "), Some(0..=0));
        assert_eq!(range("4711"), Some(4711..=4711));
        assert_eq!(range(" 20000 - 20999 "), Some(20000..=20999));
        for wrong in ["0", "0-5", "7-6", "1-", "-1", "70000", "x"] {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }
}

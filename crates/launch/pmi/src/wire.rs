//! The PMI-1 wire format: one line per message, `cmd=name key=value key=value\n`.
//!
//! Both ends use this module. A line is never copied to be parsed, and no input makes it panic.
//! Values that may hold blanks or control characters travel percent-escaped ([`escape`]).

use std::borrow::Cow;

/// Longest line either side accepts, in bytes. PMI-1 needs about 1.3 KiB (a key and a value); the rest
/// is room for long `put`s of other clients.
pub(crate) const MAX_LINE: usize = 64 * 1024;
/// Limits that a server announces in answer to `cmd=get_maxes`, in bytes.
pub(crate) const MAX_KVS_NAME: usize = 256;
/// Longest key, in bytes (PMI-1 `keylen_max`).
pub(crate) const MAX_KEY: usize = 64;
/// Longest value, in bytes (PMI-1 `vallen_max`).
pub(crate) const MAX_VALUE: usize = 1024;
/// What we put is shorter, in bytes: Slurm reads 1,024 bytes at a time and takes what it has read for one whole command.
pub(crate) const MAX_PUT: usize = 800;

/// One message, still as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    text: &'a str,
}

impl<'a> Line<'a> {
    /// Wraps one line; a final newline is dropped. `None` where the bytes are not UTF-8.
    pub fn new(bytes: &'a [u8]) -> Option<Line<'a>> {
        Some(Line::from_text(std::str::from_utf8(bytes).ok()?))
    }

    /// [`Line::new`] for what is text already.
    pub(crate) fn from_text(text: &'a str) -> Line<'a> {
        Line { text: text.trim_end_matches(['\n', '\r', '\0']) }
    }

    /// The message's name: the value of `cmd`, or of `mcmd` (a message of several lines).
    pub fn command(&self) -> &'a str {
        self.get("cmd").or_else(|| self.get("mcmd")).unwrap_or("")
    }

    /// The value of `key`, up to the next blank.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs().find(|(k, _)| *k == key).map(|(_, v)| v)
    }

    /// The value of `key` up to the end of the line, for the last field of a message, which may hold blanks.
    pub fn get_rest(&self, key: &str) -> Option<&'a str> {
        let mut start = 0;
        loop {
            let at = start + self.text[start..].find(key)?;
            let free_before = at == 0 || self.text[..at].ends_with(' ');
            let after = at + key.len();
            if free_before && self.text[after..].starts_with('=') {
                return Some(&self.text[after + 1..]);
            }
            start = after;
        }
    }

    /// The value of `key` as a number.
    pub fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.get(key)?.parse().ok()
    }

    /// All `key=value` pairs in order; words without `=` are skipped.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.text.split(' ').filter_map(|word| word.split_once('='))
    }

    /// The whole line.
    pub fn text(&self) -> &'a str {
        self.text
    }
}

/// Collects bytes from a stream and hands out whole lines.
#[derive(Default)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    taken: usize,
}

/// A line longer than [`MAX_LINE`]: the stream is not PMI-1 and cannot be followed any further.
#[derive(Debug, PartialEq, Eq)]
pub struct LineTooLong;

impl LineBuffer {
    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line without its newline, if one has arrived.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, LineTooLong> {
        let rest = &self.bytes[self.taken..];
        match rest.iter().position(|&b| b == b'\n') {
            Some(end) if end <= MAX_LINE => {
                let from = self.taken;
                self.taken += end + 1;
                Ok(Some(&self.bytes[from..from + end]))
            }
            Some(_) => Err(LineTooLong),
            None if rest.len() > MAX_LINE => Err(LineTooLong),
            None => Ok(None),
        }
    }

    /// Takes up to `limit` bytes that follow the last line: the body of a message that announced its length.
    pub(crate) fn take_body(&mut self, limit: usize) -> &[u8] {
        let from = self.taken;
        self.taken += limit.min(self.bytes.len() - from);
        &self.bytes[from..self.taken]
    }
}

/// Escapes what PMI-1 cannot carry in a value (blanks, control characters, `%`) as `%XX`.
pub fn escape(value: &str) -> Cow<'_, str> {
    if value.bytes().all(is_plain) {
        return Cow::Borrowed(value);
    }
    let mut out = String::with_capacity(value.len() + 16);
    for c in value.chars() {
        match u8::try_from(c) {
            Ok(b) if c.is_ascii() => {
                let (escaped, len) = escape_byte(b);
                out.extend(escaped[..len].iter().map(|&b| char::from(b)));
            }
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// One byte as [`escape`] writes it, and how many bytes that takes.
pub(crate) fn escape_byte(byte: u8) -> ([u8; 3], usize) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if is_plain(byte) {
        return ([byte, 0, 0], 1);
    }
    ([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]], 3)
}

/// Undoes [`escape`]. A `%` that starts no escape stays as it is, so plain text of other programs survives.
pub fn unescape(value: &str) -> Cow<'_, str> {
    if !value.contains('%') {
        return Cow::Borrowed(value);
    }
    let mut out = Vec::with_capacity(value.len());
    let bytes = value.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let escaped = bytes
            .get(at + 1..at + 3)
            .and_then(|hex| std::str::from_utf8(hex).ok().and_then(|hex| u8::from_str_radix(hex, 16).ok()));
        match (bytes[at], escaped) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

fn is_plain(b: u8) -> bool {
    b > b' ' && b != b'%' && b != 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_gives_its_fields() {
        let line = Line::new(b"cmd=put kvsname=kvs_0 key=a value=x=y\n").unwrap();
        assert_eq!(line.command(), "put");
        assert_eq!(line.get("value"), Some("x=y"));
        assert_eq!(line.get("val"), None);
    }

    #[test]
    fn the_last_field_keeps_its_blanks() {
        let line = Line::new(b"cmd=abort exitcode=3 message=out of luck").unwrap();
        assert_eq!(line.get_rest("message"), Some("out of luck"));
        assert_eq!(line.number::<i32>("exitcode"), Some(3));
    }

    #[test]
    fn lines_arrive_in_pieces() {
        let mut buffer = LineBuffer::default();
        buffer.push(b"cmd=in");
        assert_eq!(buffer.next_line(), Ok(None));
        buffer.push(b"it\ncmd=barrier_in\nrest");
        assert_eq!(buffer.next_line().unwrap(), Some(&b"cmd=init"[..]));
        assert_eq!(buffer.next_line().unwrap(), Some(&b"cmd=barrier_in"[..]));
        assert_eq!(buffer.next_line(), Ok(None));
        assert_eq!(buffer.take_body(9), b"rest");
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let mut buffer = LineBuffer::default();
        buffer.push(&vec![b'x'; MAX_LINE + 1]);
        assert_eq!(buffer.next_line(), Err(LineTooLong));
    }

    proptest! {
        #[test]
        fn escaping_round_trips(text in any::<String>()) {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains([' ', '\n', '\0']));
            prop_assert_eq!(unescape(&escaped), text.as_str());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut buffer = LineBuffer::default();
            buffer.push(&bytes);
            while let Ok(Some(line)) = buffer.next_line() {
                if let Some(line) = Line::new(line) {
                    let _ = (line.command(), line.get("key"), line.get_rest("value"), line.number::<i64>("rc"));
                    let _ = unescape(line.text());
                }
            }
        }
    }
}

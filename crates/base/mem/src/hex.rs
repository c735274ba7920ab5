//! Bytes as text: two hexadecimal digits each, as cards and lines between processes hold them.

/// The text of some bytes.
pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What [`text`] made; `None` for other text.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}

#[cfg(test)]
mod tests {
    use super::{bytes, text};

    #[test]
    fn bytes_come_back_and_other_text_is_refused() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes(&text(&all)), Some(all));
        assert_eq!(bytes(""), Some(Vec::new()));
        assert!(["0", "0g", "0\u{e9}", "00 ", "+5"].iter().all(|text| bytes(text).is_none()));
    }
}

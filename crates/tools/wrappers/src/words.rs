//! Words as a POSIX shell splits and quotes them.

use std::ffi::OsString;

use crate::failure::Failure;

/// Splits at blanks outside of quotes; `origin` is named when the quotes do not balance.
pub fn split(origin: &str, text: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    // The word being read: none between words, which an empty pair of quotes is not.
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => match letters.next() {
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => return Err(Failure::Quotes { origin: origin.into(), text: text.into() }),
            },
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(Failure::Quotes { origin: origin.into(), text: text.into() });
    }
    words.extend(word);
    Ok(words)
}

/// One line that a shell would split into these words again.
pub fn join(words: &[OsString]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(&word.to_string_lossy())).collect();
    quoted.join(" ")
}

fn quote(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_=+./,:@%^".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    // CMake's FindMPI takes quotes for what they are only where they are double and follow a flag.
    let flag = ["-I", "-L", "-Wl,"].into_iter().find(|flag| word.starts_with(flag));
    match flag.map(|flag| word.split_at(flag.len())) {
        Some((flag, rest)) if !rest.contains(['"', '\\', '$', '`', '!']) => format!("{flag}\"{rest}\""),
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_like_a_shell() {
        let text = r#" gcc  -DA="x y" '-I a'  b\ c "" "q\"r" "#;
        assert_eq!(split("test", text).expect("balanced"), ["gcc", "-DA=x y", "-I a", "b c", "", "q\"r"]);
        for text in ["'a", "\"a", "a\\"] {
            assert!(split("test", text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn joined_words_split_again(words in proptest::collection::vec("[ -~]{0,8}", 0..5)) {
            let line = join(&words.iter().map(OsString::from).collect::<Vec<_>>());
            prop_assert_eq!(split("test", &line).expect("balanced"), words);
        }
    }
}

//! Files with programs (`-configfile`, `-app`): each line is one section of a command line.

use std::ffi::OsString;
use std::path::Path;

use crate::text_file;
use crate::usage::UsageError;

const PURPOSE: &str = "file of programs";

/// The sections in the file at `path`.
pub fn read(path: &Path) -> Result<Vec<Vec<OsString>>, UsageError> {
    let text = text_file::read(path, PURPOSE)?;
    let mut sections = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = words(line).ok_or_else(|| UsageError::BadLine {
            purpose: PURPOSE,
            path: path.to_owned(),
            line: index + 1,
            expected: "complete: a quotation mark has no partner",
        })?;
        if !words.is_empty() {
            sections.push(words.into_iter().map(OsString::from).collect());
        }
    }
    Ok(sections)
}

/// The words of a line: separated by blanks, `'…'` and `"…"` keep blanks, `\` takes the next character as it
/// is, `#` at the beginning of a word starts a comment. `None` where a quotation mark is left open.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            '#' if word.is_none() => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next()? {
                        end if end == c => break,
                        '\\' if c == '"' => word.push(characters.next()?),
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(characters.next()?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(words("-n 2 ./a.out  x").unwrap(), ["-n", "2", "./a.out", "x"]);
        assert_eq!(
            words(r#"-env A 'two words' "say \"hi\"" b\ c"#).unwrap(),
            ["-env", "A", "two words", "say \"hi\"", "b c"]
        );
        assert_eq!(words("a '' b # comment").unwrap(), ["a", "", "b"]);
        assert_eq!(words("a#b").unwrap(), ["a#b"]);
        assert!(words("   # nothing").unwrap().is_empty());
        assert_eq!(words("-env A 'open"), None);
        assert_eq!(words("end\\"), None);
    }
}

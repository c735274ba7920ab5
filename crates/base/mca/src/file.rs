//! Parameter files: the part of TOML that parameters need.
//!
//! ```toml
//! btl = ["self", "vader"]       # a list
//! btl_vader_eager_limit = "8k"  # a size; 8192 does as well
//! [btl.vader]                   # a table's name goes before its keys, joined by `_`
//! cooperative = false
//! ```
//!
//! Accepted are bare keys, dotted keys, `[tables]`, strings on one line (basic ones with the escapes `\" \\ \t`,
//! or literal ones), whole numbers, booleans, and arrays of those within one line. Everything accepted means
//! the same in full TOML (a property test holds it against the `toml` crate); everything else is refused
//! with its line. One leniency: `a = 1` beside `a.b = 2` is a conflict in TOML and two parameters here.

/// One setting in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Line number, counted from 1.
    pub line: usize,
    /// The parameter's full name.
    pub name: String,
    /// The value; an array's elements are joined by commas.
    pub text: String,
}

/// A line that cannot be understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub line: usize,
    pub reason: String,
}

/// Reads a whole file.
pub(crate) fn parse(text: &str) -> Result<Vec<Line>, Refusal> {
    let mut lines: Vec<Line> = Vec::new();
    let mut tables: Vec<String> = Vec::new();
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let refuse = |reason: String| Refusal { line, reason };
        let mut cursor = Cursor { rest: raw.trim_matches(BLANKS) };
        if cursor.at_end() {
            continue;
        }
        if cursor.take("[") {
            let table = cursor.key().map_err(refuse)?;
            cursor.expect("]").and_then(|()| cursor.end()).map_err(refuse)?;
            if tables.contains(&table) {
                return Err(refuse(format!("the table [{table}] stands here a second time")));
            }
            tables.push(table);
            continue;
        }
        let key = cursor.key().map_err(refuse)?;
        cursor.expect("=").map_err(refuse)?;
        let text = cursor.value().map_err(refuse)?;
        cursor.end().map_err(refuse)?;
        let name = match tables.last() {
            Some(table) => format!("{table}_{key}"),
            None => key,
        };
        if let Some(first) = lines.iter().find(|other| other.name == name) {
            return Err(refuse(format!("{name} is already set in line {}", first.line)));
        }
        lines.push(Line { line, name, text });
    }
    Ok(lines)
}

/// TOML's white space.
const BLANKS: [char; 2] = [' ', '\t'];

/// The rest of a line that is still to be read.
struct Cursor<'a> {
    rest: &'a str,
}

impl Cursor<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(BLANKS);
    }

    /// Whether nothing but blanks and a comment is left.
    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty() || self.rest.starts_with('#') && !self.rest.contains(is_forbidden)
    }

    fn end(&mut self) -> Result<(), String> {
        if self.at_end() {
            Ok(())
        } else {
            Err(format!("nothing may follow here, but there is `{}`", self.rest))
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) { Ok(()) } else { Err(format!("`{token}` is missing before `{}`", self.rest)) }
    }

    /// The longest start of the line made of such characters.
    fn word(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let length = self.rest.find(|c| !belongs(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        word
    }

    /// A bare key; the parts of a dotted one are joined by `_`.
    fn key(&mut self) -> Result<String, String> {
        let mut key = String::new();
        loop {
            self.skip_blanks();
            let part = self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            if part.is_empty() {
                return Err(format!("a name is missing before `{}`", self.rest));
            }
            key.push_str(part);
            if !self.take(".") {
                return Ok(key);
            }
            key.push('_');
        }
    }

    fn value(&mut self) -> Result<String, String> {
        if !self.take("[") {
            return self.scalar();
        }
        let mut elements = Vec::new();
        while !self.take("]") {
            elements.push(self.scalar()?);
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(elements.join(","))
    }

    fn scalar(&mut self) -> Result<String, String> {
        if self.take("\"") {
            self.basic_string()
        } else if self.take("'") {
            self.literal_string()
        } else {
            self.bare_value()
        }
    }

    /// A boolean or a decimal number, by TOML's rules.
    fn bare_value(&mut self) -> Result<String, String> {
        let word = self.word(|c| !BLANKS.contains(&c) && !",]#".contains(c));
        match (word, integer(word)) {
            ("true" | "false", _) => Ok(word.to_string()),
            (_, Some(number)) => Ok(number.to_string()),
            _ => {
                Err(format!("`{word}` is neither a whole number nor true or false; other text needs quotes"))
            }
        }
    }

    fn literal_string(&mut self) -> Result<String, String> {
        let text = self.word(|c| c != '\'' && !is_forbidden(c)).to_string();
        self.close('\'', text)
    }

    fn basic_string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        loop {
            text.push_str(self.word(|c| c != '"' && c != '\\' && !is_forbidden(c)));
            if !self.rest.starts_with('\\') {
                return self.close('"', text);
            }
            let escaped = self.rest[1..].chars().next();
            text.push(match escaped {
                Some(c @ ('"' | '\\')) => c,
                Some('t') => '\t',
                _ => return Err(format!("the escape `{}` is not one of \\\" \\\\ \\t", self.rest)),
            });
            self.rest = &self.rest[2..];
        }
    }

    /// The closing quote of a string; three in a row would start TOML's multi-line strings.
    fn close(&mut self, quote: char, text: String) -> Result<String, String> {
        self.rest = self.rest.strip_prefix(quote).ok_or_else(|| format!("the closing {quote} is missing"))?;
        if self.rest.starts_with(quote) {
            return Err("strings over several lines are not supported here".to_string());
        }
        Ok(text)
    }
}

/// Control characters, which TOML allows in no string and no comment.
fn is_forbidden(c: char) -> bool {
    c.is_ascii_control() && c != '\t'
}

/// A decimal integer of TOML: digits with single `_` between them, no leading zero, 64 bits.
fn integer(word: &str) -> Option<i64> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    let groups_are_digits = digits.split('_').all(|g| !g.is_empty() && g.bytes().all(|b| b.is_ascii_digit()));
    let leads_with_zero = digits.len() > 1 && digits.starts_with('0');
    if groups_are_digits && !leads_with_zero { word.replace('_', "").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        let lines = parse(text).expect("the file is understood");
        lines.into_iter().map(|line| (line.name, line.text)).collect()
    }

    fn pair(name: &str, text: &str) -> (String, String) {
        (name.to_string(), text.to_string())
    }

    #[test]
    fn every_form_of_value() {
        let text = "# head\nbtl = [\"self\", 'vader',] # tail\na.b = 1_000\nc=true\n\n[x . y]\nd = \"8k # no\\\"\\\\\"\n";
        let expected =
            [pair("btl", "self,vader"), pair("a_b", "1000"), pair("c", "true"), pair("x_y_d", "8k # no\"\\")];
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn refusals_name_the_line() {
        for (text, line) in [
            ("a = 64k", 1),
            ("\na 1", 2),
            ("a = \"x", 1),
            ("a = 1\nb = 2\na = 3", 3),
            ("[t]\n[t]", 2),
            ("a = 1 2", 1),
            ("a = 01", 1),
            ("a = [1", 1),
            ("= 1", 1),
            ("a = \"\\n\"", 1),
            ("a = \"\\", 1),
            ("a = \"\"\"x\"\"\"", 1),
            ("[t", 1),
        ] {
            assert_eq!(parse(text).expect_err(text).line, line, "{text:?}");
        }
    }

    /// The value as this module writes it, from the `toml` crate's.
    fn oracle(value: &toml::Value) -> Option<String> {
        match value {
            toml::Value::String(text) => Some(text.clone()),
            toml::Value::Integer(number) => Some(number.to_string()),
            toml::Value::Boolean(value) => Some(value.to_string()),
            toml::Value::Array(array) => {
                Some(array.iter().map(oracle).collect::<Option<Vec<_>>>()?.join(","))
            }
            _ => None,
        }
    }

    fn flatten(prefix: &str, table: &toml::Table, out: &mut Vec<(String, String)>) {
        for (key, value) in table {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}_{key}") };
            match value {
                toml::Value::Table(inner) => flatten(&name, inner, out),
                other => out.push((name, oracle(other).expect("a kind this module accepts"))),
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in ".*\n.*\n?.*") {
            let _ = parse(&text);
        }

        /// Lines near the grammar: whatever is accepted, full TOML reads the same way.
        #[test]
        fn accepted_means_the_same_in_toml(
            text in r##"([a-c][.][a-c] ?|[a-d]|\[[e-g]([.][hi])?\]|#) ?(=|= |)(-?[0-9_]{1,3}|true|"[a-c\\t" ]{0,3}"|'[a-c"]{0,3}'|\[("x"|1|, ?){0,3}\]|)( #.*)?(\n[j-m] = [+-]?[0-9]{1,3}){0,2}"##
        ) {
            if let Ok(lines) = parse(&text) {
                let table: toml::Table = match text.parse() {
                    Ok(table) => table,
                    Err(error) => return Err(TestCaseError::fail(format!("toml refuses {text:?}: {error}"))),
                };
                let mut expected = Vec::new();
                flatten("", &table, &mut expected);
                let mut found: Vec<_> = lines.into_iter().map(|line| (line.name, line.text)).collect();
                found.sort();
                expected.sort();
                prop_assert_eq!(found, expected);
            }
        }
    }
}

//! The kinds of values and how each is read from text.

/// What a parameter's values look like, for documentation and MPI_T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Bool`].
    Bool,
    /// [`Int`].
    Int,
    /// [`Size`].
    Size,
    /// [`Text`].
    Text,
    /// [`List`].
    List,
    /// A list of some of these words, or of those to leave out, after `^`; see [`listed`].
    Words(&'static [&'static str]),
    /// One of these words, or nothing.
    Word(&'static [&'static str]),
    /// One of these words; declared with [`choice!`](crate::choice).
    Choice(&'static [&'static str]),
}

impl Kind {
    /// The kind's name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Bool => "bool",
            Kind::Int => "integer",
            Kind::Size => "size",
            Kind::Text | Kind::Word(_) => "string",
            Kind::List | Kind::Words(_) => "list",
            Kind::Choice(_) => "enum",
        }
    }

    /// The words of which values consist, where the kind has a list of them.
    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Kind::Words(words) | Kind::Word(words) | Kind::Choice(words) => words,
            _ => &[],
        }
    }

    /// What has to be written, in words.
    pub fn expectation(&self) -> String {
        match self {
            Kind::Bool => "true or false (also 1/0, yes/no, on/off)".to_string(),
            Kind::Int => "a whole number".to_string(),
            Kind::Size => "a size such as 4096, 64k, 1M or 2G".to_string(),
            Kind::Text => "any text".to_string(),
            Kind::List => "words separated by commas".to_string(),
            Kind::Words(words) => {
                format!("some of {}, separated by commas (after ^: those to leave out)", words.join(", "))
            }
            Kind::Word(words) => format!("one of {}, or nothing", words.join(", ")),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
        }
    }
}

/// A type that a declaration can name: how its text is read and what the field holds.
pub trait Type {
    /// What the parameter's field holds.
    type Value;
    /// The kind shown to users.
    const KIND: Kind;
    /// Reads a value; `None` when the text does not fit.
    fn parse(text: &str) -> Option<Self::Value>;
    /// The value as a number where it has one, so that a declared range can be checked.
    fn number(_value: &Self::Value) -> Option<i64> {
        None
    }
}

/// A switch; the field is `bool`.
pub struct Bool;

impl Type for Bool {
    type Value = bool;
    const KIND: Kind = Kind::Bool;
    fn parse(text: &str) -> Option<bool> {
        let is = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if is(["true", "1", "yes", "on"]) {
            Some(true)
        } else if is(["false", "0", "no", "off"]) {
            Some(false)
        } else {
            None
        }
    }
}

/// A whole number; the field is `i64`.
pub struct Int;

impl Type for Int {
    type Value = i64;
    const KIND: Kind = Kind::Int;
    fn parse(text: &str) -> Option<i64> {
        text.parse().ok()
    }
    fn number(value: &i64) -> Option<i64> {
        Some(*value)
    }
}

/// A number of bytes; the field is `usize`.
///
/// Suffixes `k`, `M`, `G`, `T` in either case stand for powers of 1024, with an optional `B` or `iB` behind.
pub struct Size;

impl Type for Size {
    type Value = usize;
    const KIND: Kind = Kind::Size;
    fn parse(text: &str) -> Option<usize> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = text.split_at(digits);
        let shift = match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "kib" => 10,
            "m" | "mb" | "mib" => 20,
            "g" | "gb" | "gib" => 30,
            "t" | "tb" | "tib" => 40,
            _ => return None,
        };
        let bytes = number.parse::<usize>().ok()?.checked_mul(1 << shift)?;
        // Buffers and counts are signed at the ABI (`MPI_Count`), so nothing larger can be meant.
        (bytes <= isize::MAX as usize).then_some(bytes)
    }
    fn number(value: &usize) -> Option<i64> {
        i64::try_from(*value).ok()
    }
}

/// Any text; the field is `String`.
pub struct Text;

impl Type for Text {
    type Value = String;
    const KIND: Kind = Kind::Text;
    fn parse(text: &str) -> Option<String> {
        Some(text.to_string())
    }
}

/// Words separated by commas; the field is `Vec<String>`, without blanks and empty words.
pub struct List;

impl Type for List {
    type Value = Vec<String>;
    const KIND: Kind = Kind::List;
    fn parse(text: &str) -> Option<Vec<String>> {
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        Some(words.map(String::from).collect())
    }
}

/// Which of `words` the list `text` names: those in it or, when it begins with `^`, those not in it. `None` when it
/// has any other word.
pub fn listed(words: &[&str], text: &str) -> Option<Vec<bool>> {
    let (text, exclusive) = text.trim().strip_prefix('^').map_or((text, false), |rest| (rest, true));
    let mut chosen = vec![exclusive; words.len()];
    for word in List::parse(text)? {
        chosen[words.iter().position(|known| *known == word)?] = !exclusive;
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_of_known_words_include_or_exclude() {
        let words = ["self", "vader", "ugni"];
        assert_eq!(listed(&words, " ugni,self"), Some(vec![true, false, true]));
        assert_eq!(listed(&words, "^vader"), Some(vec![true, false, true]));
        assert_eq!(listed(&words, ""), Some(vec![false; 3]));
        assert_eq!(listed(&words, "self,tcp"), None);
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(Size::parse("0"), Some(0));
        assert_eq!(Size::parse("64k"), Some(65536));
        assert_eq!(Size::parse("64KiB"), Some(65536));
        assert_eq!(Size::parse("3M"), Some(3 << 20));
        assert_eq!(Size::parse("2gb"), Some(2 << 30));
        assert_eq!(Size::parse("1T"), Some(1 << 40));
    }

    #[test]
    fn sizes_refuse_what_is_not_one() {
        for text in ["", "k", "-1", "4q", "1.5k", " 4", "0x10", "99999999999999999999", "9223372036854775808"]
        {
            assert_eq!(Size::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn bools_accept_the_usual_words() {
        for (text, value) in [("TRUE", true), ("1", true), ("on", true), ("No", false), ("0", false)] {
            assert_eq!(Bool::parse(text), Some(value), "{text:?}");
        }
        assert_eq!(Bool::parse("2"), None);
    }

    #[test]
    fn lists_drop_blanks() {
        assert_eq!(List::parse(" self, vader,,"), Some(vec!["self".to_string(), "vader".to_string()]));
        assert_eq!(List::parse(""), Some(vec![]));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = (Bool::parse(&text), Int::parse(&text), List::parse(&text));
            if let Some(bytes) = Size::parse(&text) {
                prop_assert!(Size::number(&bytes).is_some());
            }
        }

        #[test]
        fn a_size_survives_writing(kib in 0usize..1 << 40) {
            prop_assert_eq!(Size::parse(&format!("{kib}k")), Some(kib << 10));
        }
    }
}

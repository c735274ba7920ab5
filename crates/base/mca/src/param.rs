//! A parameter's declaration.

use crate::{Bool, Int, Kind, List, Size, Text, Type};

/// One declared parameter. Written by [`params!`](crate::params), never by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Full name: framework, component and parameter, joined by `_` (`btl_vader_eager_limit`).
    pub name: &'static str,
    /// What values look like.
    pub kind: Kind,
    /// The default, as a user would write it.
    pub default: &'static str,
    /// The doc comment; its first line is the short description.
    pub doc: &'static str,
    /// Unit of the value (`bytes`, `microseconds`), empty where it has none.
    pub unit: &'static str,
    /// Inclusive bounds of an integer or size.
    pub range: Option<Range>,
    /// Which processes have to agree on the value.
    pub scope: Scope,
    /// For whom the parameter is meant.
    pub level: Level,
    /// Further names accepted behind `OMPI_MCA_`; the own name always is.
    pub aliases: &'static [&'static str],
}

impl Param {
    /// What a declaration starts from: everything optional at its default.
    pub const BLANK: Param = Param {
        name: "",
        kind: Kind::Text,
        default: "",
        doc: "",
        unit: "",
        range: None,
        scope: Scope::Local,
        level: Level::User,
        aliases: &[],
    };

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("{}{}", crate::values::OWN_PREFIX, self.name)
    }

    /// Whether a value written like this fits the declaration.
    pub fn accepts(&self, text: &str) -> bool {
        match self.kind {
            Kind::Bool => self.fits::<Bool>(text),
            Kind::Int => self.fits::<Int>(text),
            Kind::Size => self.fits::<Size>(text),
            Kind::Text => self.fits::<Text>(text),
            Kind::List => self.fits::<List>(text),
            Kind::Choice(words) => words.contains(&text),
            Kind::Word(words) => text.is_empty() || words.contains(&text),
            Kind::Words(words) => crate::listed(words, text).is_some(),
        }
    }

    fn fits<T: Type>(&self, text: &str) -> bool {
        let Some(value) = T::parse(text) else { return false };
        match (self.range, T::number(&value)) {
            (Some(Range { low, high }), Some(number)) => (low..=high).contains(&number),
            _ => true,
        }
    }

    /// The doc comment as plain text: the indentation of `///` removed, paragraphs kept.
    pub fn description(&self) -> String {
        let lines: Vec<&str> = self.doc.lines().map(str::trim).collect();
        lines.join("\n").trim().to_string()
    }

    /// What a value has to look like, in words: `a size in bytes such as 4096, 64k or 1M, from 64 to 1048576`.
    pub fn expectation(&self) -> String {
        let mut text = self.kind.expectation();
        if let Some(Range { low, high }) = self.range {
            text.push_str(&format!(", from {low} to {high}"));
        }
        text
    }
}

/// Inclusive bounds of an integer or size parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest value accepted.
    pub low: i64,
    /// Largest value accepted.
    pub high: i64,
}

/// Which processes have to agree on a value (MPI-5.0 section 15.3.6.1, the scope of a control variable).
///
/// Values are taken when MPI is initialised; a tool can change them before that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Reported, never changeable (`MPI_T_SCOPE_CONSTANT`).
    Constant,
    /// Each process may choose for itself (`MPI_T_SCOPE_LOCAL`).
    Local,
    /// Must be the same in all processes of the job (`MPI_T_SCOPE_ALL_EQ`).
    AllEq,
}

/// For whom a parameter is meant (MPI-5.0 section 15.3.2, verbosity levels).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Users who run programs.
    User,
    /// Users who tune them for a machine.
    Tuner,
    /// Developers of this library.
    Developer,
}

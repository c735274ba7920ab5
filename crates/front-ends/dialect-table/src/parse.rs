//! From text to constants.

use crate::{Common, Constant, Module, Value};

/// What a table says.
#[derive(Default)]
pub struct Table {
    pub constants: Vec<Constant>,
    pub commons: Vec<Common>,
    pub modules: Vec<Module>,
}

/// Reads a table; every constant must be one of the standard ABI.
pub fn table(text: &str) -> Result<Table, String> {
    let mut table = Table::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at_line = |what| format!("line {}: {what}", number + 1);
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            "common" => table.commons.push(common(words).map_err(at_line)?),
            "module" => table.modules.push(module(words).map_err(at_line)?),
            kind => {
                for word in words {
                    table.constants.push(constant(kind, word).map_err(at_line)?);
                }
            }
        }
    }
    Ok(table)
}

/// `mpipriv1_ 28 BOTTOM IN_PLACE+4`
fn common<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Common, String> {
    let symbol = words.next().ok_or("a COMMON block has no name")?.to_string();
    let bytes = words.next().and_then(|bytes| bytes.parse().ok());
    let bytes = bytes.ok_or_else(|| format!("{symbol}: no number of bytes"))?;
    let place = |word: &str| {
        let (name, offset) = word.split_once('+').unwrap_or((word, "0"));
        let offset = offset.parse().map_err(|_| format!("{offset} is no number"))?;
        Ok((name.to_string(), offset))
    };
    Ok(Common { symbol, bytes, places: words.map(place).collect::<Result<_, String>>()? })
}

/// `equal __mpi_constants_MOD_{}eq`
fn module<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Module, String> {
    let role = words.next().ok_or("names of modules have no role")?.to_string();
    Ok(Module { role, names: words.map(str::to_string).collect() })
}

fn constant(kind: &str, word: &str) -> Result<Constant, String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word}: no value"))?;
    let ours = ours(name).ok_or_else(|| format!("MPI_{name} is not a constant of the standard ABI"))?;
    Ok(Constant { kind: kind.to_string(), name: name.to_string(), theirs: self::value(value)?, ours })
}

/// A constant of ours by its name without `MPI_` or `MPIX_`.
fn ours(name: &str) -> Option<i64> {
    let standard = abi::ALL.iter().chain(abi::FORMER).map(|constant| (constant.name, constant.value));
    let beyond = abi::extension::CLASSES.iter().copied().chain([("MPIX_FT", abi::FT)]);
    let beyond = beyond.map(|(name, value)| (name, i64::from(value)));
    let known = |full: &str| full.strip_prefix("MPI_").or_else(|| full.strip_prefix("MPIX_")) == Some(name);
    standard.chain(beyond).find(|(full, _)| known(full)).map(|(_, value)| value)
}

fn value(text: &str) -> Result<Value, String> {
    if text.starts_with(|letter: char| letter.is_alphabetic()) {
        return Ok(Value::Symbol(text.to_string()));
    }
    let number = match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.map(Value::Number).map_err(|_| format!("{text} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        table(text).err().expect("the table is wrong")
    }

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong() {
        assert_eq!(error("\nrank ANY_SOURCE"), "line 2: ANY_SOURCE: no value");
        assert_eq!(error("rank NO_SOURCE=1"), "line 1: MPI_NO_SOURCE is not a constant of the standard ABI");
        assert_eq!(error("rank ANY_SOURCE=1x"), "line 1: 1x is no number");
    }

    #[test]
    fn values_are_numbers_or_objects() {
        let read = table("comm COMM_WORLD=0x44000000 COMM_SELF=ompi_mpi_comm_self").unwrap().constants;
        assert_eq!(read[0].theirs, Value::Number(0x4400_0000));
        assert_eq!(read[0].ours, 0x101);
        assert_eq!(read[1].theirs, Value::Symbol("ompi_mpi_comm_self".into()));
    }

    #[test]
    fn common_blocks_have_places() {
        let read = table("common mpipriv1_ 28 BOTTOM IN_PLACE+4").unwrap().commons;
        assert_eq!((read[0].symbol.as_str(), read[0].bytes), ("mpipriv1_", 28));
        assert_eq!(read[0].places, [("BOTTOM".to_string(), 0), ("IN_PLACE".to_string(), 4)]);
        assert_eq!(error("common a_ BOTTOM"), "line 1: a_: no number of bytes");
    }
}

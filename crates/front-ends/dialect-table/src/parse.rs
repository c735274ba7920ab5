//! From text to constants.

use crate::{Constant, Value};

/// Reads a table; every constant must be one of the standard ABI.
pub fn constants(text: &str) -> Result<Vec<Constant>, String> {
    let mut constants = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap_or_default();
        for word in words {
            constants.push(constant(kind, word).map_err(|what| format!("line {}: {what}", number + 1))?);
        }
    }
    Ok(constants)
}

fn constant(kind: &str, word: &str) -> Result<Constant, String> {
    let (name, value) = word.split_once('=').ok_or_else(|| format!("{word}: no value"))?;
    let full = format!("MPI_{name}");
    let ours = abi::ALL.iter().find(|constant| constant.name == full);
    let ours = ours.ok_or_else(|| format!("{full} is not a constant of the standard ABI"))?.value;
    Ok(Constant { kind: kind.to_string(), name: name.to_string(), theirs: self::value(value)?, ours })
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

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong() {
        assert_eq!(constants("\nrank ANY_SOURCE").unwrap_err(), "line 2: ANY_SOURCE: no value");
        assert_eq!(
            constants("rank NO_SOURCE=1").unwrap_err(),
            "line 1: MPI_NO_SOURCE is not a constant of the standard ABI"
        );
        assert_eq!(constants("rank ANY_SOURCE=1x").unwrap_err(), "line 1: 1x is no number");
    }

    #[test]
    fn values_are_numbers_or_objects() {
        let read = constants("comm COMM_WORLD=0x44000000 COMM_SELF=ompi_mpi_comm_self").unwrap();
        assert_eq!(read[0].theirs, Value::Number(0x4400_0000));
        assert_eq!(read[0].ours, 0x101);
        assert_eq!(read[1].theirs, Value::Symbol("ompi_mpi_comm_self".into()));
    }
}

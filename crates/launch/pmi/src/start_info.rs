//! What the launcher gives of a program's start before the program joins the job: `MPI_Info_create_env` may be asked
//! before `MPI_Init`.

use crate::wire::{escape, unescape};

/// The variable that holds it. Its prefix keeps it from the ranks of a nested job.
const VARIABLE: &str = "ALHENA_PMI_INFO";

/// The entry of a rank's environment, `NAME=value`, for these pairs of key and value.
pub fn entry(info: &[(String, String)]) -> String {
    let pairs = info.iter().map(|(key, value)| format!("{},{}", quote(key), quote(value)));
    format!("{VARIABLE}={}", pairs.collect::<Vec<_>>().join(";"))
}

/// What our own `mpiexec` gave this process; `None` where another launcher or none started it.
pub fn info() -> Option<Vec<(String, String)>> {
    std::env::var(VARIABLE).ok().map(|text| parse(&text))
}

fn parse(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(';').filter_map(|pair| pair.split_once(','));
    pairs.map(|(key, value)| (unescape(key).into_owned(), unescape(value).into_owned())).collect()
}

fn quote(text: &str) -> String {
    escape(text).replace(';', "%3B").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_back() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let info = vec![pair("command", "./a b"), pair("argv", "--x=1;2, 50% \n\"ü\""), pair("soft", "")];
        let entry = entry(&info);
        assert_eq!(parse(entry.strip_prefix("ALHENA_PMI_INFO=").unwrap()), info);
        assert_eq!(parse(""), []);
    }
}

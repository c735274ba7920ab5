//! What `-help` and `-version` print.

use std::fmt::Write;

use crate::flags::{Flag, TOPICS};

/// Width of the column of flags.
const COLUMN: usize = 34;

/// All flags by topic.
pub fn help() -> String {
    let mut text = String::from(
        "usage: mpiexec [flags] program [arguments] [: [flags] program [arguments]]...\n\n\
         Starts the ranks of an MPI job, here or on the hosts named. Flags may have one or two dashes.\n",
    );
    for (topic, flags) in TOPICS {
        let _ = writeln!(text, "\n{topic}:");
        for flag in flags {
            let _ = writeln!(text, "{}", row(flag));
        }
    }
    text.push_str(
        "\nExit code: that of the first rank that failed, 128 + signal where a signal ended it, 0 if none failed.\n\
         Examples:\n  mpiexec -n 4 ./program\n  mpiexec -n 1 ./server : -n 3 ./client\n  mpiexec -hosts a,b -n 8 ./program\n",
    );
    text
}

fn row(flag: &Flag) -> String {
    let names: Vec<String> = flag.names.iter().map(|name| format!("-{name}")).collect();
    let values: String = flag.values.iter().map(|value| format!("{}{value}", space(value))).collect();
    let left = format!("  {}{values}", names.join(" "));
    if left.chars().count() < COLUMN {
        format!("{left:COLUMN$}{}", flag.help)
    } else {
        format!("{left}\n{:COLUMN$}{}", "", flag.help)
    }
}

/// What stands before a value: one that may be left out is attached.
pub fn space(value: &str) -> &'static str {
    if value.starts_with('[') { "" } else { " " }
}

/// Whose mpiexec this is.
pub fn version() -> String {
    let path = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    format!(
        "mpiexec (Alhena) {}\n  MPI standard 5.0, standard ABI (libmpi_abi.so.1)\n  this program: {path}\n  \
         process management: native, PMI-1\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_text_fits_a_terminal_and_names_every_flag() {
        let text = help();
        for flag in TOPICS.iter().flat_map(|(_, flags)| flags.iter()) {
            assert!(text.contains(&format!("-{}", flag.names[0])));
        }
        assert!(text.lines().all(|line| line.chars().count() <= 140));
    }
}

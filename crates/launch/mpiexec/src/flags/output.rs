//! Standard input, output and error of the ranks.

use std::ffi::OsString;
use std::path::Path;

use rte::spec::{Output, Stdin};

use super::{Complaint, Flag, text};

pub const FLAGS: &[Flag] = &[
    Flag {
        names: &["l", "prepend-rank"],
        values: &[],
        help: "put [rank] before each line",
        apply: |options, _| {
            options.job.output.rank_prefix = true;
            Ok(())
        },
    },
    Flag {
        names: &["prepend-pattern"],
        values: &["TEXT"],
        help: "put TEXT before each line: %r rank, %a program, %h host, %p mpiexec's pid",
        apply: |options, values| {
            options.job.output.prefix_pattern = Some(text(&values[0])?.to_owned());
            Ok(())
        },
    },
    Flag {
        names: &["tag-output"],
        values: &[],
        help: "put [rank]<stdout>: or [rank]<stderr>: before each line",
        apply: |options, _| {
            options.job.output.stream_prefix = true;
            Ok(())
        },
    },
    Flag {
        names: &["timestamp-output", "timestamp"],
        values: &[],
        help: "put the time (UTC) before each line",
        apply: |options, _| {
            options.job.output.timestamp = true;
            Ok(())
        },
    },
    Flag {
        names: &["output"],
        values: &["WORD,…"],
        help: "tag, rank, timestamp, merge, dir=DIR, file=NAME (NAME.RANK.out and .err), :copy, :nocopy",
        apply: |options, values| {
            let mut output = options.job.output.clone();
            for word in text(&values[0])?.split([',', ':']).filter(|word| !word.is_empty()) {
                output_word(&mut output, word)?;
            }
            options.job.output = output;
            Ok(())
        },
    },
    Flag {
        names: &["outfile-pattern", "outfile"],
        values: &["NAME"],
        help: "standard output to files: %r rank, %a program, %h host, %p mpiexec's pid",
        apply: |options, values| {
            options.job.output.stdout_pattern = Some(values[0].clone());
            Ok(())
        },
    },
    Flag {
        names: &["errfile-pattern", "errfile"],
        values: &["NAME"],
        help: "likewise standard error",
        apply: |options, values| {
            options.job.output.stderr_pattern = Some(values[0].clone());
            Ok(())
        },
    },
    Flag {
        names: &["output-filename", "output-directory"],
        values: &["DIR"],
        help: "copy output to DIR/1/rank.N/stdout and stderr; DIR:nocopy prints nothing",
        apply: |options, values| {
            let value = text(&values[0])?;
            let silent = value.strip_suffix(":nocopy");
            to_directory(&mut options.job.output, silent.unwrap_or(value));
            options.job.output.copy = silent.is_none();
            Ok(())
        },
    },
    Flag {
        names: &["merge-stderr-to-stdout"],
        values: &[],
        help: "send standard error where standard output goes",
        apply: |options, _| {
            options.job.output.merge = true;
            Ok(())
        },
    },
    Flag {
        names: &["stdin", "s"],
        values: &["RANK"],
        help: "who reads standard input: a rank (0 by default), all or none",
        apply: |options, values| {
            options.job.stdin = match text(&values[0])? {
                "all" => Stdin::All,
                "none" => Stdin::None,
                rank => Stdin::Rank(rank.parse().map_err(|_| Complaint::Expected("a rank, all or none"))?),
            };
            Ok(())
        },
    },
];

/// One word of `-output`.
fn output_word(output: &mut Output, word: &str) -> Result<(), Complaint> {
    match word {
        "tag" | "tag-detailed" | "tag-fullname" => output.stream_prefix = true,
        "rank" => output.rank_prefix = true,
        "timestamp" => output.timestamp = true,
        "merge" | "merge-stderr-to-stdout" => output.merge = true,
        "copy" => output.copy = true,
        "nocopy" => output.copy = false,
        "raw" | "pattern" => {}
        _ => match word.split_once('=') {
            Some(("dir", directory)) => to_directory(output, directory),
            Some(("file", name)) => {
                output.stdout_pattern = Some(OsString::from(format!("{}.%r.out", escape(name))));
                output.stderr_pattern = Some(OsString::from(format!("{}.%r.err", escape(name))));
                output.make_directories = true;
                output.copy = true;
            }
            _ => return Err(Complaint::Expected("tag, rank, timestamp, merge, dir=DIR or file=NAME")),
        },
    }
    Ok(())
}

fn to_directory(output: &mut Output, directory: &str) {
    let rank = Path::new(&escape(directory)).join("1").join("rank.%r");
    output.stdout_pattern = Some(rank.join("stdout").into_os_string());
    output.stderr_pattern = Some(rank.join("stderr").into_os_string());
    output.make_directories = true;
    output.copy = true;
}

/// A name in which `%` means itself.
fn escape(name: &str) -> String {
    name.replace('%', "%%")
}

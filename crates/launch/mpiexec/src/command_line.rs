//! From words to wishes: `mpiexec [flags] program [arguments] [: [flags] program [arguments]]…`

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::config_file;
use crate::flags::{self, Complaint, Flag};
use crate::options::{AppOptions, JobOptions, Options};
use crate::usage::UsageError;

/// A parsed command line.
#[derive(Debug, Default)]
pub struct CommandLine {
    /// What holds for the whole job.
    pub job: JobOptions,
    /// The programs.
    pub programs: Vec<Program>,
}

/// One program with its own wishes.
#[derive(Debug)]
pub struct Program {
    /// Wishes about it.
    pub options: AppOptions,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Reads the words after `mpiexec`. Flags may have one or two dashes, and `--flag=value` is understood.
pub fn parse(words: Vec<OsString>) -> Result<CommandLine, UsageError> {
    let mut line = CommandLine::default();
    for section in words.split(|word| word == ":") {
        let rest = parse_section(&mut line, section, AppOptions::default())?;
        if line.job.show.is_some() {
            return Ok(line);
        }
        if let Some(path) = line.job.config_file.take() {
            // What was given before the file holds for each of its programs.
            let mut for_all = rest.unwrap_or_default();
            line.job.hosts.append(&mut for_all.hosts);
            for section in config_file::read(&path)? {
                parse_section(&mut line, &section, for_all.clone())?;
            }
        }
    }
    if line.programs.is_empty() { Err(UsageError::NoProgram) } else { Ok(line) }
}

/// Adds the program of a section, whose wishes begin as `app`. Where a file of programs takes its place, the wishes are
/// returned.
fn parse_section(
    line: &mut CommandLine,
    words: &[OsString],
    app: AppOptions,
) -> Result<Option<AppOptions>, UsageError> {
    let mut options = Options { job: std::mem::take(&mut line.job), app };
    let rest = parse_flags(&mut options, words);
    line.job = options.job;
    match rest? {
        [program, arguments @ ..] => line.programs.push(Program {
            options: options.app,
            program: program.clone(),
            arguments: arguments.to_vec(),
        }),
        [] if line.job.config_file.is_some() || line.job.show.is_some() => return Ok(Some(options.app)),
        [] => return Err(UsageError::NoProgram),
    }
    Ok(None)
}

/// Applies the flags in front and returns what follows them.
fn parse_flags<'a>(options: &mut Options, mut words: &'a [OsString]) -> Result<&'a [OsString], UsageError> {
    while let [word, rest @ ..] = words {
        if !word.as_bytes().starts_with(b"-") || word == "-" {
            break;
        }
        words = rest;
        if word == "--" {
            break;
        }
        let written = word.to_string_lossy();
        let name = written.trim_start_matches('-');
        let (name, attached) = match name.split_once('=') {
            Some((name, value)) if flags::find(name).is_some() => (name, Some(OsString::from(value))),
            _ => (name, None),
        };
        let unknown = || UsageError::UnknownFlag { flag: written.to_string(), nearest: flags::nearest(name) };
        let flag = flags::find(name).ok_or_else(unknown)?;
        let values = take_values(flag, &written, attached, &mut words)?;
        (flag.apply)(options, &values).map_err(|complaint| explain(complaint, &written, &values))?;
    }
    Ok(words)
}

/// The values that `flag` asks for, the attached one first.
fn take_values(
    flag: &Flag,
    written: &str,
    attached: Option<OsString>,
    words: &mut &[OsString],
) -> Result<Vec<OsString>, UsageError> {
    let mut values: Vec<OsString> = attached.into_iter().collect();
    let needed = flag.values.iter().filter(|value| !value.starts_with('[')).count();
    while values.len() < needed {
        let missing = UsageError::MissingValue { flag: written.to_owned(), value: flag.values[values.len()] };
        let (value, rest) = words.split_first().ok_or(missing)?;
        values.push(value.clone());
        *words = rest;
    }
    if values.len() > flag.values.len() {
        let value = values[0].to_string_lossy().into_owned();
        return Err(UsageError::BadValue { flag: written.to_owned(), value, expected: "no value" });
    }
    Ok(values)
}

fn explain(complaint: Complaint, written: &str, values: &[OsString]) -> UsageError {
    match complaint {
        Complaint::Other(error) => error,
        Complaint::Expected(expected) => {
            let values: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
            UsageError::BadValue { flag: written.to_owned(), value: values.join(" "), expected }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rte::spec::Stdin;

    fn parse_text(text: &str) -> Result<CommandLine, String> {
        parse(text.split_whitespace().map(OsString::from).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn sections_have_their_own_counts_and_share_the_rest() {
        let line = parse_text("-n 2 -l ./a x -n 9 : --np 3 -env A 1 ./b").unwrap();
        assert!(line.job.output.rank_prefix);
        let [a, b] = &line.programs[..] else { panic!("two programs") };
        assert_eq!((a.options.count, b.options.count), (Some(2), Some(3)));
        assert_eq!(a.arguments, ["x", "-n", "9"]);
        assert_eq!(b.options.set, [(OsString::from("A"), OsString::from("1"))]);
    }

    #[test]
    fn values_may_be_attached() {
        let line = parse_text("--stdin=all -n=4 -x A=b=c -- -odd").unwrap();
        assert_eq!(line.job.stdin, Stdin::All);
        assert_eq!(line.programs[0].options.count, Some(4));
        assert_eq!(line.programs[0].options.set, [(OsString::from("A"), OsString::from("b=c"))]);
        assert_eq!(line.programs[0].program, "-odd");
    }

    #[test]
    fn mistakes_are_told_in_three_lines() {
        for (text, part) in [
            ("", "no program"),
            ("-n 2", "no program"),
            ("-n", "lacks its value"),
            ("-n 0 ./a", "at least 1"),
            ("-n two ./a", "-n two"),
            ("-bind-too core ./a", "did you mean -bind-to?"),
            ("-zzzzzzz ./a", "unknown flag"),
            ("-l=3 ./a", "no value"),
            ("-bind-to core -bind-to none ./a", "contradict"),
            ("-oversubscribe -nooversubscribe ./a", "contradict"),
            ("-map-by moon ./a", "socket"),
            ("-timeout -3 ./a", "seconds"),
            ("-host-silence 0.5 ./a", "a second or more"),
            ("-configfile /no/such/file", "/no/such/file"),
            ("-n 2 ./a :", "no program"),
        ] {
            let message = parse_text(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
            assert_eq!(message.lines().count(), 3, "{message}");
        }
    }
}

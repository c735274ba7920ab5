//! From the arguments of `MPI_Comm_spawn` and their info keys to a command line of mpiexec.

use std::os::unix::ffi::OsStrExt;

use abi::{Error, Result};
use objects::info::Info;

/// One command.
pub(crate) struct Command {
    pub(crate) program: Vec<u8>,
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) maxprocs: i32,
    pub(crate) info: Info,
}

/// Info keys whose value is the value of a flag of mpiexec; Open MPI's and Hydra's names among them.
const FLAGS: &[(&str, &str)] = &[
    ("host", "-host"),
    ("hosts", "-host"),
    ("add-host", "-host"),
    ("add_host", "-host"),
    ("hostfile", "-hostfile"),
    ("add-hostfile", "-hostfile"),
    ("add_hostfile", "-hostfile"),
    ("wdir", "-wdir"),
    ("path", "-path"),
    ("arch", "-arch"),
    ("file", "-file"),
    ("soft", "-soft"),
    ("map_by", "-map-by"),
    ("rank_by", "-rank-by"),
    ("bind_to", "-bind-to"),
    ("npernode", "-npernode"),
    ("ppn", "-ppn"),
    ("mpi_memory_alloc_kinds", "-memory-alloc-kinds"),
];

/// The arguments of mpiexec for these commands, and how many processes each of them starts. `universe`: the value of
/// `MPI_UNIVERSE_SIZE`, where there is one; `survives`: as this job, the new one goes on when ranks fail.
///
/// # Errors
/// `MPI_ERR_ARG`, `MPI_ERR_SPAWN`.
pub(crate) fn words(
    commands: &[Command],
    universe: Option<i32>,
    survives: bool,
) -> Result<(Vec<Vec<u8>>, Vec<u32>)> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut put = |text: &str| words.push(text.as_bytes().to_vec());
    if survives {
        put("-with-ft");
        put("ulfm");
    }
    if !commands.iter().any(|command| command.info.get("bind_to").is_some()) {
        // Parents and children would sit on the same processors.
        put("-bind-to");
        put("none");
    }
    put("-usize");
    put(&universe.map_or("INFINITE".to_owned(), |size| size.to_string()));
    let mut counts = Vec::with_capacity(commands.len());
    for (index, command) in commands.iter().enumerate() {
        let count = count(command)?;
        counts.push(count);
        if index > 0 {
            words.push(b":".to_vec());
        }
        words.extend([b"-n".to_vec(), count.to_string().into_bytes()]);
        words.extend(flags(&command.info));
        words.push(b"--".to_vec());
        words.push(match command.info.get("wdir") {
            Some(_) => from_here(&command.program),
            None => command.program.clone(),
        });
        words.extend(command.arguments.iter().cloned());
    }
    Ok((words, counts))
}

/// A program whose name is a relative path is the one that this process sees, wherever it is to run.
fn from_here(program: &[u8]) -> Vec<u8> {
    let is_relative = program.contains(&b'/') && !program.starts_with(b"/");
    match std::env::current_dir().ok().filter(|_| is_relative) {
        Some(here) => [here.as_os_str().as_bytes(), b"/", program].concat(),
        None => program.to_vec(),
    }
}

fn flags(info: &Info) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut put =
        |flag: &str, value: &str| words.extend([flag.as_bytes().to_vec(), value.as_bytes().to_vec()]);
    for &(key, flag) in FLAGS {
        if let Some(value) = info.get(key) {
            put(flag, value);
        }
    }
    for entry in info.get("env").unwrap_or("").lines().filter(|entry| entry.contains('=')) {
        put("-x", entry);
    }
    if let Some(handler) = info.get("mpi_initial_errhandler") {
        put("-x", &format!("ALHENA_MCA_mpi_initial_errhandler={}", handler.trim().to_ascii_lowercase()));
    }
    words
}

/// How many processes a command starts: all, or with `soft` the largest number of that set.
fn count(command: &Command) -> Result<u32> {
    let most =
        u32::try_from(command.maxprocs).map_err(|_| Error::new(abi::ERR_ARG, "maxprocs is negative"))?;
    let count = match command.info.get("soft") {
        None => Some(most),
        Some(text) => soft(text, most)
            .ok_or(Error::new(abi::ERR_INFO_VALUE, "the info key soft is no list of triplets"))?,
    };
    count.filter(|&count| count > 0).ok_or(Error::new(abi::ERR_SPAWN, "no process is to be started"))
}

/// The largest number up to `most` in a list of triplets `a`, `a:b`, `a:b:c` (MPI-5.0 section 11.7.4). `None`: it is no such
/// list; `Some(None)`: no number of it can be had.
fn soft(text: &str, most: u32) -> Option<Option<u32>> {
    let mut largest = None;
    for triplet in text.split(',') {
        let numbers: Vec<i64> =
            triplet.split(':').map(|word| word.trim().parse().ok()).collect::<Option<_>>()?;
        let (from, to, step) = match numbers[..] {
            [one] => (one, one, 1),
            [from, to] => (from, to, 1),
            [from, to, step] if step != 0 => (from, to, step),
            _ => return None,
        };
        largest = largest.max(largest_of((from, to, step), i64::from(most)));
    }
    Some(largest.and_then(|largest| u32::try_from(largest).ok()))
}

/// The largest number of a triplet that is not negative and at most `most`.
fn largest_of((from, to, step): (i64, i64, i64), most: i64) -> Option<i64> {
    let steps = i128::from(to) - i128::from(from);
    let (from, step, most) = (i128::from(from), i128::from(step), i128::from(most));
    let last = steps / step;
    if last < 0 || steps != 0 && (steps < 0) != (step < 0) {
        return None;
    }
    let best = if step > 0 {
        last.min((most - from).div_euclid(step))
    } else {
        0.max((from - most + -step - 1).div_euclid(-step))
    };
    let number = from + best * step;
    (best >= 0 && best <= last && (0..=most).contains(&number)).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triplets_mean_what_fortran_means() {
        for (text, most, expected) in [
            ("3", 4, Some(Some(3))),
            ("3", 2, Some(None)),
            ("0:4", 4, Some(Some(4))),
            ("0:100", 4, Some(Some(4))),
            ("1:9:4", 8, Some(Some(5))),
            ("9:1:-4", 8, Some(Some(5))),
            ("2,4,8", 7, Some(Some(4))),
            ("-3:2", 5, Some(Some(2))),
            ("5:1", 5, Some(None)),
            ("1:5:-1", 5, Some(None)),
            ("1:5:0", 5, None),
            ("a", 5, None),
            ("1:2:3:4", 5, None),
        ] {
            assert_eq!(soft(text, most), expected, "{text} up to {most}");
        }
    }

    #[test]
    fn commands_become_a_line() {
        let mut info = Info::default();
        info.set("wdir", "/tmp");
        info.set("env", "A=1\nB=2");
        info.set("unknown", "x");
        let command = |info, maxprocs| Command {
            program: b"p".to_vec(),
            arguments: vec![b"a b".to_vec()],
            maxprocs,
            info,
        };
        let (words, counts) =
            words(&[command(info, 2), command(Info::default(), 1)], Some(8), false).unwrap();
        let line: Vec<String> = words.into_iter().map(|word| String::from_utf8(word).unwrap()).collect();
        assert_eq!(
            line.join("|"),
            "-bind-to|none|-usize|8|-n|2|-wdir|/tmp|-x|A=1|-x|B=2|--|p|a b|:|-n|1|--|p|a b"
        );
        assert_eq!(counts, [2, 1]);
    }
}

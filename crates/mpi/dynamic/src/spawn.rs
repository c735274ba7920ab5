//! `MPI_Comm_spawn`, `MPI_Comm_spawn_multiple` (MPI-5.0 section 11.7).

use abi::{Error, Result};
use ffi::{Argv, Argvs, Array, ArrayMut, RootText, Strings};
use objects::domain::Token;

use crate::launch::launch;
use crate::meeting::Group;
use crate::order::{Command, words};
use crate::table::TABLE;

/// `MPI_Comm_spawn`
pub fn spawn(
    t: &mut Token,
    command: RootText<'_>,
    argv: Argv<'_>,
    maxprocs: i32,
    info: abi::Info,
    root: i32,
    comm: abi::Comm,
    new: &mut abi::Comm,
    errcodes: Option<ArrayMut<'_, i32>>,
) -> Result<()> {
    start(t, (root, comm), new, errcodes, |t| {
        let info = t.lock().infos.hints(info)?;
        let arguments = argv.iter().map(|argument| argument.to_bytes().to_vec()).collect();
        Ok(vec![Command { program: command.get()?.to_bytes().to_vec(), arguments, maxprocs, info }])
    })
}

/// `MPI_Comm_spawn_multiple`
pub fn spawn_multiple(
    t: &mut Token,
    count: i32,
    commands: Strings<'_>,
    argvs: Argvs<'_>,
    maxprocs: Array<'_, i32>,
    infos: Array<'_, abi::Info>,
    root: i32,
    comm: abi::Comm,
    new: &mut abi::Comm,
    errcodes: Option<ArrayMut<'_, i32>>,
) -> Result<()> {
    start(t, (root, comm), new, errcodes, |t| {
        let count = usize::try_from(count).ok().filter(|&count| count > 0);
        let count = count.ok_or(Error::new(abi::ERR_COUNT, "there is no command"))?;
        let (maxprocs, infos) = (maxprocs.first(count)?, infos.first(count)?);
        (0..count)
            .map(|at| {
                let arguments = argvs.get(at).iter().map(|argument| argument.to_bytes().to_vec()).collect();
                let info = t.lock().infos.hints(infos[at])?;
                Ok(Command {
                    program: commands.get(at)?.to_bytes().to_vec(),
                    arguments,
                    maxprocs: maxprocs[at],
                    info,
                })
            })
            .collect()
    })
}

/// Has the root start what its `commands` are; they are asked for there alone.
fn start(
    t: &mut Token,
    (root, comm): (i32, abi::Comm),
    new: &mut abi::Comm,
    errcodes: Option<ArrayMut<'_, i32>>,
    commands: impl FnOnce(&mut Token) -> Result<Vec<Command>>,
) -> Result<()> {
    let group = Group::of(t, comm, root)?;
    // What the root wants of each command and what it starts, for the error codes: `4:2 3:3`.
    let (mut counts, mut job) = (String::new(), None);
    let made = group.meet_along(t, &mut counts, |t, counts| {
        let commands = commands(t)?;
        *counts = wanted(&commands, &[]);
        let (size, survives) = {
            let state = t.lock();
            (state.predefined.universe_size, state.failures.survives)
        };
        let (words, started) = words(&commands, (size > 0).then_some(size), survives)?;
        let met = launch(t, &group, words)?;
        job = met.side.members.first().map(|member| member.process.job);
        *counts = wanted(&commands, &started);
        Ok(met)
    });
    if let Some(mut errcodes) = errcodes {
        give(&counts, made.is_ok(), &mut errcodes)?;
    }
    if made.is_err()
        && let Some(job) = job
    {
        // A parent has failed meanwhile: dropping its `Launched` ends the new job, which would wait for the parents.
        TABLE.get_mut(&mut t.lock().tables).launched.retain(|(other, _)| *other != job);
    }
    *new = abi::COMM_NULL;
    *new = made?;
    Ok(())
}

fn wanted(commands: &[Command], started: &[u32]) -> String {
    let one = |(at, command): (usize, &Command)| {
        format!("{}:{}", command.maxprocs.max(0), started.get(at).copied().unwrap_or(0))
    };
    commands.iter().enumerate().map(one).collect::<Vec<_>>().join(" ")
}

/// Writes an error code for each process that was asked for.
fn give(counts: &str, succeeded: bool, errcodes: &mut ArrayMut<'_, i32>) -> Result<()> {
    let codes = codes(counts, succeeded);
    errcodes.first(codes.len())?.copy_from_slice(&codes);
    Ok(())
}

fn codes(counts: &str, succeeded: bool) -> Vec<i32> {
    let pair = |word: &str| {
        let (wanted, started) = word.split_once(':')?;
        Some((wanted.parse::<usize>().ok()?, started.parse::<usize>().ok()?))
    };
    let pairs = counts.split(' ').filter_map(pair);
    let of_command = |(wanted, started): (usize, usize)| {
        (0..wanted).map(move |at| if succeeded && at < started { abi::SUCCESS } else { abi::ERR_SPAWN })
    };
    pairs.flat_map(of_command).collect()
}

#[cfg(test)]
mod tests {
    use super::codes;

    #[test]
    fn each_process_has_a_code() {
        let (ok, failed) = (abi::SUCCESS, abi::ERR_SPAWN);
        assert_eq!(codes("2:1 1:1", true), [ok, failed, ok]);
        assert_eq!(codes("2:1 1:1", false), [failed; 3]);
        assert_eq!(codes("", false), []);
    }
}

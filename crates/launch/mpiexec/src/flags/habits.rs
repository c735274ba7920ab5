//! Flags of other launchers that have nothing to do here: accepted with one note.

use super::Flag;

/// A flag without effect: its names, its value, what takes its place.
macro_rules! accepted {
    ($name:literal $(, $alias:literal)*; $($value:literal)?; $instead:literal) => {
        Flag {
            names: &[$name $(, $alias)*],
            values: &[$($value)?],
            help: concat!("without effect: ", $instead),
            apply: |options, _| {
                options.job.without_effect.push(($name, $instead));
                Ok(())
            },
        }
    };
}

pub const FLAGS: &[Flag] = &[
    accepted!("noprefix"; ; "the prefix is mpiexec's own"),
    accepted!("tmpdir"; "DIR"; "nothing is kept in a directory of a session"),
    accepted!("personality"; "NAME"; "all launchers' flags are understood"),
    accepted!("debug"; ; "start each rank below a debugger instead: mpiexec -n 2 xterm -e gdb ./program"),
    accepted!("demux"; "NAME"; "events are found by epoll"),
    accepted!("topolib"; "NAME"; "the kernel describes the processors"),
    accepted!("disable-hostname-propagation"; ; "names of hosts are not passed on"),
    accepted!("rankmap"; "MAP"; "use -map-by or a rank file"),
    accepted!("tune", "am"; "FILE"; "set ALHENA_PARAM_FILE to a file of parameters"),
    accepted!("leave-session-attached"; ; "daemons stay attached"),
    accepted!("debug-daemons"; ; "-v tells each step"),
    accepted!("show-progress"; ; "-v tells each step"),
    accepted!("novm"; ; "daemons run where ranks do"),
    accepted!("mca-base-env-list"; "LIST"; "use -x NAME"),
    accepted!("ordered-output"; ; "lines are never mixed"),
    accepted!("localhost"; "NAME"; "this host's name is not needed"),
];

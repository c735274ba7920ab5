//! Signals for people: names, what they mean for a program, what to do next.

/// `SIGKILL` for 9 and so on; `signal N` for what has no name.
pub fn name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTSTP => "SIGTSTP",
        libc::SIGCONT => "SIGCONT",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// The signal behind an exit code of a shell.
pub(crate) fn behind_code(code: i32) -> Option<i32> {
    let signal = code - 128;
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGKILL, libc::SIGXCPU, libc::SIGXFSZ]
        .contains(&signal)
        .then_some(signal)
}

/// What a signal usually means for a program.
pub(crate) fn meaning(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "it used memory that is not its own",
        libc::SIGBUS => "it used memory whose page could not be had",
        libc::SIGABRT => "it aborted itself (a failed assertion, an uncaught exception, a heap error)",
        libc::SIGFPE => "an integer division by zero or overflow",
        libc::SIGILL => "an instruction that this processor does not have",
        libc::SIGPIPE => "it wrote to a pipe without a reader",
        libc::SIGXCPU => "its limit of processor time is used up",
        libc::SIGXFSZ => "it wrote a file beyond its limit of file sizes",
        libc::SIGKILL => "it was killed; the program could not prevent it",
        _ => "the signal came from outside or from the program itself",
    }
}

/// What to do about a program that it ended.
pub(crate) fn advice(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE => {
            "compile with -g, run `ulimit -c unlimited`, start again and open the core file with gdb"
        }
        libc::SIGILL => "compile for this processor (see -march), or start the job on the right hosts",
        libc::SIGKILL => {
            "run `dmesg | tail` and look at the memory limit; ask who else may kill your processes"
        }
        libc::SIGPIPE => "see whether mpiexec's output was closed, for example by `head`",
        libc::SIGXCPU => "raise `ulimit -t`",
        libc::SIGXFSZ => "raise `ulimit -f`",
        _ => "see the program's own messages above",
    }
}

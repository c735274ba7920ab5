//! Call stacks of running ranks, taken from outside: by a debugger if one is installed, else what the
//! kernel shows.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A debugger gets this long for all ranks together.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Debuggers that are tried, best first, with their arguments before the process id.
const DEBUGGERS: [(&str, &[&str]); 2] = [
    ("gdb", &["-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "thread apply all bt", "-p"]),
    ("eu-stack", &["-p"]),
];

/// One text per process, with a line that names where it comes from.
pub fn of(pids: &[i32]) -> Vec<String> {
    for (debugger, arguments) in DEBUGGERS {
        let started: Option<Vec<Child>> = pids.iter().map(|pid| start(debugger, arguments, *pid)).collect();
        if let Some(children) = started {
            let deadline = Instant::now() + TIMEOUT;
            let texts = children.into_iter().map(|child| collect(child, deadline));
            return texts.map(|text| format!("(by {debugger})\n{text}")).collect();
        }
    }
    pids.iter()
        .map(|pid| format!("(by the kernel; install gdb or eu-stack for more)\n{}", from_kernel(*pid)))
        .collect()
}

fn start(debugger: &str, arguments: &[&str], pid: i32) -> Option<Child> {
    let mut command = Command::new(debugger);
    command.args(arguments).arg(pid.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
}

/// What a debugger printed; it is killed at `deadline`, for a hung process may hang its debugger as well.
fn collect(mut child: Child, deadline: Instant) -> String {
    let mut text = Vec::new();
    let Some(mut output) = child.stdout.take() else { return String::new() };
    // A failure leaves the descriptor blocking; the deadline is then the debugger's own business.
    let _ = rustix::io::ioctl_fionbio(&output, true);
    loop {
        match output.read_to_end(&mut text) {
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => break,
        }
    }
    // Both fail only if it has ended already.
    let _ = child.kill();
    let _ = child.wait();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().filter(|line| ["Thread ", "TID ", "#"].iter().any(|start| line.starts_with(start))).fold(
        String::new(),
        |mut all, line| {
            let _ = writeln!(all, "  {line}");
            all
        },
    )
}

/// System call, waiting place and kernel stack of each thread.
fn from_kernel(pid: i32) -> String {
    let mut text = String::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for task in tasks {
        let _ = writeln!(text, "  thread {}", task.file_name().to_string_lossy());
        for file in ["comm", "syscall", "wchan", "stack"] {
            let content = fs::read_to_string(task.path().join(file)).unwrap_or_default();
            if !content.trim().is_empty() {
                let _ = writeln!(text, "    {file}: {}", content.trim().replace('\n', "\n           "));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_knows_this_thread() {
        let text = from_kernel(std::process::id() as i32);
        assert!(text.contains("thread ") && text.contains("comm: "), "{text}");
    }
}

//! Call stacks of other processes of the user.
//!
//! ```text
//!   thread   PTRACE_SEIZE, PTRACE_INTERRUPT ─► stopped ─► registers, copy of the stack ─► PTRACE_DETACH: it goes on
//!                                              │ some ten microseconds
//!   process  /proc/PID/maps ─► objects, and what they say about unwinding (.eh_frame)
//!            copy + objects ─► framehop ─► return addresses ─► offsets in files ─► names (`places`)
//! ```
//! Nothing is changed in the process but the time that it takes. It must be of the same user, and no debugger may have it. What
//! forbids that in containers and by Yama is reported as the system's error.

mod files;
mod follow;
mod maps;
mod ptrace;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative};
use symbols::{Place, Resolver};

pub use follow::{Crashes, follow};

use files::{Bytes, Files};
use ptrace::Copy;

/// Frames of a stack at most.
const MOST: usize = 256;

/// The stack of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The thread, as the kernel numbers it.
    pub thread: i32,
    /// Its name.
    pub name: String,
    /// Where it is, the innermost frame first.
    pub frames: Vec<Frame>,
}

/// A place on a stack, in terms of files.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file that the code is of; empty: of none.
    pub path: PathBuf,
    /// Its build-id; empty where it has none.
    pub build_id: Vec<u8>,
    /// The address in it, or in the process where there is no file.
    pub offset: u64,
    /// The function there has called another one, and the address is behind that call.
    pub has_called: bool,
}

impl Frame {
    /// The name of the place.
    pub fn place(&self, resolver: &mut Resolver) -> Place {
        match self.has_called {
            true => resolver.call(&self.path, &self.build_id, self.offset),
            false => resolver.place(&self.path, &self.build_id, self.offset),
        }
    }
}

/// Takes stacks, and keeps what it has read of files.
#[derive(Default)]
pub struct Sampler {
    files: Files,
}

impl Sampler {
    /// One that has read nothing.
    pub fn new() -> Sampler {
        Sampler::default()
    }

    /// The stacks of all threads of a process, its first thread first.
    ///
    /// # Errors
    /// The system's, about the first thread: no such process, or no permission.
    pub fn process(&mut self, pid: i32) -> io::Result<Vec<Stack>> {
        let mut threads = ptrace::threads(pid)?;
        threads.sort_by_key(|&thread| (thread != pid, thread));
        let mut copies = Vec::new();
        for thread in threads {
            match ptrace::copy(pid, thread) {
                Ok(copy) => copies.push((thread, copy)),
                Err(error) if thread == pid => return Err(error),
                // It has ended meanwhile.
                Err(_) => {}
            }
        }
        let code = self.code(pid);
        Ok(copies.iter().map(|(thread, copy)| code.unwind(pid, *thread, copy)).collect())
    }

    /// The stack of one thread of a process.
    ///
    /// # Errors
    /// The system's: no such thread, or no permission; `TimedOut`: the kernel does not stop it.
    pub fn thread(&mut self, pid: i32, thread: i32) -> io::Result<Stack> {
        let copy = ptrace::copy(pid, thread)?;
        Ok(self.stopped(pid, thread, &copy))
    }

    /// The stack of a thread that was stopped when it was copied.
    fn stopped(&mut self, pid: i32, thread: i32, copy: &Copy) -> Stack {
        self.code(pid).unwind(pid, thread, copy)
    }

    fn code(&mut self, pid: i32) -> Code {
        let mut code = Code { objects: Vec::new(), unwinder: UnwinderNative::new() };
        for object in maps::objects(pid) {
            if let Some((module, build_id, bias)) = self.files.module(pid, &object) {
                code.unwinder.add_module(module);
                code.objects.push(Loaded { path: object.path, range: object.range, build_id, bias });
            }
        }
        code
    }
}

/// The code of a process whose files are known.
struct Code {
    objects: Vec<Loaded>,
    unwinder: UnwinderNative<Bytes, MayAllocateDuringUnwind>,
}

/// A part of a file in a process.
struct Loaded {
    path: PathBuf,
    range: Range<u64>,
    build_id: Vec<u8>,
    /// What the loader has added to the addresses in the file.
    bias: u64,
}

impl Code {
    /// The stack that a stopped thread has left.
    fn unwind(&self, pid: i32, thread: i32, copy: &Copy) -> Stack {
        let mut cache: CacheNative<MayAllocateDuringUnwind> = CacheNative::new();
        let mut read = |address| copy.word(address).ok_or(());
        let (pc, registers) = copy.registers.start();
        let mut walk = self.unwinder.iter_frames(pc, registers, &mut cache, &mut read);
        let mut frames = Vec::new();
        // An error ends the stack where the unwinder is lost.
        while let (Ok(Some(frame)), true) = (walk.next(), frames.len() < MOST) {
            frames.push(self.frame(frame));
        }
        Stack { thread, name: ptrace::name(pid, thread), frames }
    }

    fn frame(&self, at: FrameAddress) -> Frame {
        let (address, has_called) = match at {
            FrameAddress::InstructionPointer(address) => (address, false),
            FrameAddress::ReturnAddress(address) => (address.get(), true),
        };
        let object = self.objects.iter().find(|object| object.range.contains(&at.address_for_lookup()));
        let (path, build_id, bias) = object.map_or_else(Default::default, |object| {
            (object.path.clone(), object.build_id.clone(), object.bias)
        });
        Frame { path, build_id, offset: address.wrapping_sub(bias), has_called }
    }
}

/// Why the system refuses to show stacks, in words that help.
pub fn advice(error: &io::Error) -> &'static str {
    let yama = std::fs::read_to_string(Path::new("/proc/sys/kernel/yama/ptrace_scope")).unwrap_or_default();
    match (error.raw_os_error(), yama.trim()) {
        (Some(libc::EPERM), "1" | "2" | "3") => "run it as root, or `sysctl kernel.yama.ptrace_scope=0`",
        (Some(libc::EPERM), _) => {
            "end a debugger that is attached; in a container allow ptrace (`--cap-add SYS_PTRACE`)"
        }
        (Some(libc::ESRCH), _) => "the process has ended: see `alhena jobs`",
        _ => "try again; see `ps -o pid,stat,wchan -p PID`",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// A process of this program in C, which has written `here` and a newline.
    fn started(folder: &Path, text: &str) -> std::process::Child {
        std::fs::create_dir_all(folder).unwrap();
        let (source, program) = (folder.join("program.c"), folder.join("program"));
        std::fs::write(&source, text).unwrap();
        let built = Command::new("cc")
            .args(["-g", "-O1", "-fno-omit-frame-pointer", "-fno-inline", "-o"])
            .args([&program, &source])
            .status();
        assert!(built.unwrap().success());
        let mut command = Command::new(program);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        child
    }

    fn folder(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("alhena-stacks-{name}-{}", std::process::id()))
    }

    /// It sleeps in a function of its own.
    const SLEEPER: &str = "#include <unistd.h>\n#include <stdio.h>\n\
         static int inner(int n) { puts(\"here\"); fflush(stdout); while (n) n = pause() + 2; return n; }\n\
         int outer(int n) { return inner(n) + 1; }\n\
         int main(int n, char **v) { (void)v; return outer(n); }\n";

    /// It waits until its child has read a byte, and does not stop before.
    const WAITER: &str = "#define _DEFAULT_SOURCE\n#include <unistd.h>\n\
         int main(void) { char byte; if (vfork()) return 0;\n\
         _exit(write(1, \"here\\n\", 5) != 5 || read(0, &byte, 1) != 1); }\n";

    #[test]
    fn the_stack_of_another_process_has_its_functions() {
        let folder = folder("sleeper");
        let mut child = started(&folder, SLEEPER);
        let pid = child.id() as i32;
        let (mut sampler, mut resolver) = (Sampler::new(), Resolver::new());
        for _ in 0..3 {
            match sampler.process(pid) {
                Ok(stacks) => {
                    let places: Vec<String> =
                        stacks[0].frames.iter().map(|frame| frame.place(&mut resolver).to_string()).collect();
                    let at =
                        |name: &str| places.iter().position(|place| place.contains(&format!("({name})")));
                    assert!(
                        at("inner").is_some() && at("inner") < at("outer") && at("outer") < at("main"),
                        "{places:?}"
                    );
                }
                // A container may forbid it.
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM)),
            }
        }
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(sampler.process(pid).is_err());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_thread_that_stops_too_late_goes_on() {
        let folder = folder("waiter");
        let mut child = started(&folder, WAITER);
        let pid = child.id() as i32;
        let error = Sampler::new().thread(pid, pid).unwrap_err();
        // A container may forbid it.
        assert!(
            error.kind() == io::ErrorKind::TimedOut || error.raw_os_error() == Some(libc::EPERM),
            "{error}"
        );
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"x").unwrap();
        let hangs_at = Instant::now() + Duration::from_secs(60);
        let status = loop {
            match child.try_wait().unwrap() {
                None if Instant::now() < hangs_at => std::thread::sleep(Duration::from_millis(10)),
                status => break status,
            }
        };
        child.kill().unwrap();
        assert!(status.expect("it goes on").success());
        std::fs::remove_dir_all(folder).unwrap();
    }
}

"""Running jobs and judging what they did."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
PREFIX = os.environ.get("ALHENA_PREFIX") or sys.exit("name an installed tree: ALHENA_PREFIX=DIR")
MPIEXEC = os.path.join(PREFIX, "bin", "mpiexec")
# Marks every process of these tests, so that leftovers can be found whatever they became.
MARK = f"ALHENA_LAUNCH_TEST={os.getpid()}"
# Only there to end a hung test; nothing is judged by it.
PATIENCE = 60

work = tempfile.mkdtemp(prefix="alhena-launch-")
RANK = os.path.join(work, "rank")
# Runs a program for which the kernel refuses one system call.
REFUSE = os.path.join(work, "refuse")
# A launcher like ssh, whose other hosts are this one.
STUB = os.path.join(work, "stub")
failures = 0

# nohup, or a shell that starts the tests in the background, has all that they start ignore these.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)


class Skip(Exception):
    """The check cannot be done here; the text is the reason."""


class Result:
    """What a job left: exit code, output, error output, time in seconds."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    @property
    def lines(self):
        return sorted(self.out.splitlines())

    def __repr__(self):
        return f"exit code {self.code}, stdout {self.out[-600:]!r}, stderr {self.err[-1500:]!r}"


def build():
    cc = os.environ.get("CC", "cc")
    lib = os.path.join(PREFIX, "lib")
    subprocess.run(
        [cc, "-Wall", "-Wextra", "-I", os.path.join(PREFIX, "include"), os.path.join(HERE, "rank.c"), "-o", RANK,
         "-L", lib, f"-Wl,-rpath,{lib}", "-lmpi_abi"],
        check=True,
    )
    subprocess.run([cc, "-Wall", "-Wextra", os.path.join(HERE, "refuse.c"), "-o", REFUSE], check=True)
    with open(STUB, "w") as file:
        file.write('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    os.chmod(STUB, 0o755)


def environment(**extra):
    name, value = MARK.split("=")
    return {**os.environ, name: value, **extra}


def start(*arguments, env=None, **options):
    """Starts mpiexec without waiting for it."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([MPIEXEC, *map(str, arguments)], env=environment(**(env or {})), cwd=work, **options)


def finish(process, data=None):
    """Waits for a started mpiexec."""
    began = time.monotonic()
    try:
        out, err = process.communicate(data, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"{process.args} did not end in {PATIENCE} s")
    text = lambda b: (b or b"").decode(errors="replace")
    return Result(process.returncode, text(out), text(err), time.monotonic() - began)


def job(*arguments, data=None, env=None, **options):
    """Runs mpiexec with these arguments to its end."""
    if data is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(*arguments, env=env, **options), data)


def expect(condition, what):
    assert condition, what


def three_lines(text):
    """An error message: step, `seen:`, `next:`."""
    lines = text.strip().splitlines()
    expect(len(lines) == 3 and lines[1].startswith("  seen:") and lines[2].startswith("  next:"), f"not three lines: {text!r}")


def leftovers():
    """Processes of these tests that still run: their environment has the mark. (Zombies have none.)"""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if MARK.encode() in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                pass
    return found


def describe(pid):
    """A process in words: id, parent, state, command."""
    try:
        with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as command:
            state, parent = stat.read().rsplit(")", 1)[1].split()[:2]
            return f"{pid} (parent {parent}, state {state}, {command.read()!r})"
    except OSError:
        return f"{pid} (gone)"


def wait_until(condition, what):
    """Waits for something that must happen; the limit only ends a hung test."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {PATIENCE} s for {what}; there are {[describe(p) for p in leftovers()]}")
        time.sleep(0.005)


def check(name, case):
    global failures
    try:
        case()
        left = leftovers()
        expect(not left, f"left behind: {[describe(p) for p in left]}")
        print(f"ok {name}", flush=True)
    except Skip as reason:
        print(f"skip: {name}: {reason}", flush=True)
    except Exception as error:
        failures += 1
        reason = str(error) or traceback.format_exc()
        print(f"FAIL {name}: {reason}", flush=True)
        for pid in leftovers():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass


def summary():
    shutil.rmtree(work, ignore_errors=True)
    return 1 if failures else 0

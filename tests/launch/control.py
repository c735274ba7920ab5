"""Signals to mpiexec, and time limits."""
import os
import select
import signal
import subprocess
import time

from death import children
from harness import PATIENCE, RANK, STUB, expect, finish, job, leftovers, start, wait_until


def cases():
    return [
        ("SIGINT and SIGTERM end the job", interrupts),
        ("a second SIGINT does not wait", insisting),
        ("SIGUSR1 and SIGUSR2 reach every rank", user_signals),
        ("stop and continue", stop_and_continue),
        ("-timeout", timeout),
        ("-get-stack-traces", stack_traces),
        ("a reader that has stopped does not hold up SIGTERM", stopped_reader),
        ("mpiexec sleeps while ranks do not read", idle_input),
        ("a proxy and a daemon that are stopped do not outlive mpiexec", stopped_proxies),
    ]


def ready(process):
    """Waits for the line that every rank prints when it is ready."""
    expect(process.stdout.readline() == b"ready\n", "the ranks did not start")


def interrupts():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        process = start("-n", 2, "sh", "-c", "[ $PMI_RANK = 1 ] || echo ready; exec sleep 100")
        ready(process)
        process.send_signal(number)
        result = finish(process)
        expect(result.code == 128 + number, (number, result))


def insisting():
    process = start("-n", 1, "sh", "-c", "trap '' INT TERM; echo ready; while :; do sleep 1; done")
    ready(process)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    result = finish(process)
    expect(result.code == 130, result)
    expect(time.monotonic() - began < 4, "the second signal did not shorten the wait")


def user_signals():
    process = start("-n", 2, "sh", "-c", "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; "
                    "while :; do sleep 0.01; done")
    ready(process)
    ready(process)
    process.send_signal(signal.SIGUSR1)
    expect(process.stdout.readline() + process.stdout.readline() == b"one\none\n", "SIGUSR1")
    process.send_signal(signal.SIGUSR2)
    result = finish(process)
    expect(result.code == 0 and result.out == "two\ntwo\n", result)


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def stop_and_continue():
    process = start("-n", 1, "sh", "-c", "echo ready $$; exec sleep 0.5", start_new_session=True)
    rank = int(process.stdout.readline().split()[1])
    process.send_signal(signal.SIGTSTP)
    wait_until(lambda: state(process.pid) == "T" and state(rank) == "T", "mpiexec and the rank to stop")
    os.kill(process.pid, signal.SIGCONT)
    result = finish(process)
    expect(result.code == 0, result)


def timeout():
    for arguments, env in ((["-timeout", "0.2"], {}), ([], {"MPIEXEC_TIMEOUT": "1"})):
        result = job(*arguments, "-n", 2, "sleep", 100, env=env)
        expect(result.code == 124 and "ran longer than" in result.err, result)


def stack_traces():
    result = job("-timeout", "0.3", "-get-stack-traces", "-n", 2, RANK, "sleep=50000")
    expect(result.code == 124, result)
    for rank in (0, 1):
        expect(f"call stack of rank {rank} (by " in result.err, result)


# A second host makes another loop serve mpiexec's own consoles.
PLACES = ([], ["-hosts", "x,y", "-launcher-exec", STUB])


def ticks(pid):
    """Processor time of a process; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))
    except OSError:
        return 0


def sleeps(pids):
    """A process that waits uses no processor, however busy the machine is; one that polls uses all it gets."""
    before = sum(map(ticks, pids))
    time.sleep(0.6)
    used = sum(map(ticks, pids)) - before
    expect(used < 8, f"waiting took {used} ticks of 60")


def stopped_reader():
    for place in PLACES:
        for last in ([], ["sleep=600000"]):
            process = start(*place, "-n", 2, RANK, "0:lines=2000", "1:sleep=10", *last)
            select.select([process.stdout], [], [])
            if not last:
                wait_until(lambda: not [pid for pid in leftovers() if "rank" in name(pid)], "the ranks to end")
            sleeps([process.pid, *(pid for pid in leftovers() if "rank" not in name(pid))])
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=PATIENCE)
            err = finish(process).err
            expect(code == 143, (place, last, code, err))
            expect("the reader of standard output" in err and "after SIGTERM" in err and err.count("next:") == 1, err)


def name(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read()
    except OSError:
        return ""


def fill(pipe):
    """Writes until nothing more is taken."""
    os.set_blocking(pipe, False)
    tries = 0
    while tries < 3:
        try:
            os.write(pipe, bytes(4096))
            tries = 0
        except BlockingIOError:
            tries += 1
            time.sleep(0.1)


def idle_input():
    """More than all pipes hold, for ranks that do not read, from a writer that has ended."""
    for place in PLACES:
        process = start(*place, "-n", 2, "-stdin", "all", RANK, "print=ready\n", "flush", "sleep=600000", stdin=subprocess.PIPE)
        ready(process)
        ready(process)
        fill(process.stdin.fileno())
        process.stdin.close()
        process.stdin = None
        sleeps([process.pid, *(pid for pid in leftovers() if "rank" not in name(pid))])
        process.send_signal(signal.SIGTERM)
        expect(finish(process).code == 143, place)


def stopped_proxies():
    for place in PLACES:
        for also_mpiexec in (False, True):
            process = start(*place, "-n", 2, RANK, "print=ready\n", "flush", "fork", "sleep=600000")
            ready(process)
            ready(process)
            launchers = children(process.pid)
            if also_mpiexec:
                # So it cannot have the proxy go on.
                os.kill(process.pid, signal.SIGSTOP)
                wait_until(lambda: state(process.pid) == "T", "mpiexec to stop")
            for pid in launchers + [proxy for launcher in launchers for proxy in children(launcher) if place]:
                os.kill(pid, signal.SIGSTOP)
            process.kill()
            # What stays behind would hold its output open.
            process.wait()
            wait_until(lambda: not leftovers(), f"what was stopped to end: {place} {also_mpiexec}")
    process = start("-n", 2, RANK, "print=ready\n", "flush", "sleep=600000")
    ready(process)
    ready(process)
    os.kill(children(process.pid)[0], signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    expect(finish(process).code == 143, "SIGTERM while the proxy is stopped")

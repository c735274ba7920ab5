"""Signals to mpiexec, and time limits."""
import os
import signal
import time

from harness import RANK, expect, finish, job, start, wait_until


def cases():
    return [
        ("SIGINT and SIGTERM end the job", interrupts),
        ("a second SIGINT does not wait", insisting),
        ("SIGUSR1 and SIGUSR2 reach every rank", user_signals),
        ("stop and continue", stop_and_continue),
        ("-timeout", timeout),
        ("-get-stack-traces", stack_traces),
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

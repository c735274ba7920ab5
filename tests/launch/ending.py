"""Ranks that end, in every way, and what becomes of the job."""
import os
import signal
import time

from death import children
from harness import RANK, Skip, expect, finish, job, start, three_lines


def cases():
    return [
        ("the exit code of a rank after finalize", after_finalize),
        ("the exit code of programs without MPI", without_mpi),
        ("exit between init and finalize ends the job", inside),
        ("exit without init while others wait ends the job", before_init),
        ("MPI_Abort gives its code", abort),
        ("signals give 128 + number", killed),
        ("a death that is heard of last is named first", heard_late),
        ("a death that takes long is named first", slow_death),
        ("a wrapper that outlives its MPI program", wrapper),
        ("a rank that a debugger holds at its end", debugged),
        ("-disable-auto-cleanup lets the others go on", no_cleanup),
        ("-print-all-exitcodes", all_codes),
        ("ranks that ignore SIGTERM are killed", stubborn),
        ("memory limit of a control group", out_of_memory),
    ]


def after_finalize():
    result = job("-n", 3, RANK, "init", "finalize", "1:exit=7", "2:sleep=200", "2:print=done")
    expect(result.code == 7 and result.out == "done", result)
    three_lines(result.err)
    expect("rank 1" in result.err, result)


def without_mpi():
    result = job("-n", 3, "sh", "-c", "[ $PMI_RANK = 1 ] && exit 5; sleep 0.2; echo done")
    expect(result.code == 5 and result.out == "done\ndone\n", result)


def inside():
    for code, shown in ((0, 1), (9, 9)):
        result = job("-n", 3, RANK, "init", "barrier", f"1:exit={code}", "sleep=50000")
        expect(result.code == shown, result)
        three_lines(result.err)
        expect("rank 1" in result.err and os.uname().nodename in result.err, result)
        expect(f"code {code} between MPI_Init and MPI_Finalize" in result.err, result)


def before_init():
    result = job("-n", 3, RANK, "2:exit=0", "init", "finalize")
    expect(result.code != 0 and "without calling MPI_Init" in result.err, result)
    three_lines(result.err)
    result = job("-n", 2, RANK, "0:sleep=200", "1:exit=4", "init", "finalize")
    expect(result.code == 4, result)


def abort():
    for code, shown in ((7, 7), (0, 1), (256, 1)):
        result = job("-n", 3, RANK, "init", "0:print=last words\n", "barrier", f"1:abort={code}", "sleep=50000")
        expect(result.code == shown and "rank 1" in result.err and "MPI_Abort" in result.err, result)


def killed():
    for number, name in ((9, "SIGKILL"), (11, "SIGSEGV"), (6, "SIGABRT")):
        result = job("-n", 3, RANK, "init", "barrier", f"2:signal={number}", "sleep=50000")
        expect(result.code == 128 + number, result)
        three_lines(result.err)
        expect("rank 2" in result.err and name in result.err, result)


def heard_late():
    """Ranks that miss one that was killed report before mpiexec hears of its end."""
    process = start("-n", 4, "--mca", "btl", "self,tcp", "--mca", "coll_areas", "no", RANK, "init", "barrier", "print=ready\n", "flush",
                    "3:sleep=600000", "barrier", "finalize")
    for _ in range(4):
        process.stdout.readline()
    proxy = children(process.pid)[0]
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(proxy, signal.SIGSTOP)
    os.kill(children(proxy)[-1], signal.SIGKILL)
    time.sleep(0.3)
    # mpiexec has its proxy go on.
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    three_lines(result.err)
    expect(result.code == 137 and "rank 3 (" in result.err and "the other 3 ranks were ended" in result.err, result)


def slow_death():
    """Ranks report that they miss one that has begun to end, whose launcher does not see its end yet."""
    result = job("-n", 4, "--mca", "btl", "self,tcp", "--mca", "coll_areas", "no", RANK, "3:sockets=1000000", "init", "barrier",
                 "3:signal=9", "barrier", "finalize")
    three_lines(result.err)
    expect(result.code == 137 and "rank 3 (" in result.err and "the other 3 ranks were ended" in result.err, result)


def wrapper():
    script = f"{RANK} init barrier 1:signal=9 sleep=50000; sleep 100"
    result = job("-n", 2, "sh", "-c", script)
    expect(result.code != 0 and "rank 1" in result.err, result)


# Ends while its child traces it: until the child ends too, its parent cannot learn its exit code.
DEBUGGED = """
import ctypes, os, time
libc = ctypes.CDLL(None)
PR_SET_PTRACER, PTRACE_SEIZE = 0x59616d61, 0x4206
libc.prctl(PR_SET_PTRACER, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
reader, writer = os.pipe()
if os.fork() == 0:
    refused = libc.ptrace(ctypes.c_long(PTRACE_SEIZE), os.getppid(), None, None)
    os.write(writer, b"n" if refused else b"y")
    time.sleep(0.3)
    os._exit(0)
print(os.read(reader, 1).decode(), flush=True)
os._exit(3)
"""


def debugged():
    result = job("-n", 1, "python3", "-c", DEBUGGED)
    if "n" in result.out:
        raise Skip("this system does not let a child trace its parent")
    expect(result.code == 3, result)


def no_cleanup():
    result = job("-disable-auto-cleanup", "-n", 2, RANK, "0:signal=9", "sleep=100", "print=done")
    expect(result.code == 137 and result.out == "done", result)


def all_codes():
    result = job("-print-all-exitcodes", "-n", 3, "sh", "-c", "exit $PMI_RANK")
    expect(result.code in (1, 2) and "rank 0: 0, rank 1: 1, rank 2: 2" in result.err, result)


def stubborn():
    result = job("-n", 2, RANK, "0:catch=15", "init", "barrier", "1:signal=9", "sleep=20000", "sleep=20000")
    expect(result.code == 137, result)


def out_of_memory():
    root = "/sys/fs/cgroup/memory"
    limit, version = "memory.limit_in_bytes", 1
    if not os.path.isdir(root):
        root, limit, version = "/sys/fs/cgroup", "memory.max", 2
    group = os.path.join(root, f"alhena-test-{os.getpid()}")
    try:
        os.mkdir(group)
        with open(os.path.join(group, limit), "w") as file:
            file.write(str(128 << 20))
    except OSError as error:
        if os.path.isdir(group):
            os.rmdir(group)
        raise Skip(f"no control group can be made here: {error}")
    enter = f"echo $$ > {group}/cgroup.procs"
    from harness import MPIEXEC, environment
    import subprocess
    try:
        process = subprocess.Popen(
            ["sh", "-c", f"{enter}; exec {MPIEXEC} -n 2 {RANK} init barrier 1:memory=400 sleep=50000"],
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = finish(process)
        expect(result.code == 137 and "out of memory" in result.err and "128 MiB" in result.err, result)
        process = subprocess.Popen(["sh", "-c", f"{enter}; exec {MPIEXEC} -n 400 {RANK} init"], env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = finish(process)
        expect(result.code != 0 and "shared memory" in result.err, result)
    finally:
        from harness import wait_until
        wait_until(lambda: not open(os.path.join(group, "cgroup.procs")).read(), "the group to be empty")
        os.rmdir(group)

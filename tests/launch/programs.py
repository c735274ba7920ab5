"""Programs in a rank's place that mpiexec did not start itself: the second of a script, without descriptors, of another process."""
import os
import socket
import subprocess
import time

from harness import RANK, STUB, Skip, environment, expect, finish, job, start, three_lines, wait_until

# Runs its arguments without any descriptor but the standard ones, as Python's subprocess does.
CLOSED = ["python3", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
MEMBER = ["init", "barrier", "who", "barrier", "finalize"]


def cases():
    return [
        ("the second MPI program of a script", second),
        ("a second program that some ranks do not start", second_missing),
        ("scripts and programs without descriptors on two hosts", two_hosts),
        ("a program whose descriptors were closed", closed),
        ("a program that takes a rank's process over", taken_over),
        ("programs with and without the descriptor in turn", in_turn),
        ("a program in a session of its own", own_session),
        ("a program started by a rank stops", below_a_rank),
        ("a process that no rank has started stays outside", stranger),
        ("another user stays outside", other_user),
        ("a silent caller", silent),
        ("MPI calls in a forked child", forked),
    ]


def forked():
    calls = ["send", "receive", "barrier", "window", "finalize", "init"]
    words = [f"forked={call}" for call in calls]
    for level in ("init", "multiple"):
        for parameters in ([], ["--mca", "mpi_async_progress", "1"], ["--mca", "btl", "self,tcp"]):
            for ranks in (1, 2):
                result = job("-n", ranks, *parameters, RANK, level, *words, "forked=wtime", "barrier", "exchange", "finalize")
                seen = sorted(([f"{call}: exit 1" for call in calls] + ["wtime: exit 0", "exchange ok"]) * ranks)
                expect(result.code == 0 and result.lines == seen, f"{level} {parameters}: {result}")
                expect(result.err.count("in a forked child of a rank") == len(calls) * ranks, result)
    # Before MPI_Init and after MPI_Finalize nothing is there to be protected.
    result = job("-n", 1, RANK, "forked=wtime", "init", "finalize", "forked=wtime")
    expect(result.code == 0 and result.lines == ["wtime: exit 0"] * 2, result)


def members(count):
    return [f"rank {rank} of {count} app 0" for rank in range(count)]


def second():
    script = "; ".join(" ".join([RANK, *MEMBER]) for _ in range(3))
    result = job("-n", 3, "sh", "-c", script)
    expect(result.code == 0 and result.lines == sorted(members(3) * 3), result)
    expect(job("-n", 1, "sh", "-c", script).lines == members(1) * 3, "one rank")
    # Programs of a name space of their own: nothing of the first is found in the second.
    result = job("-n", 2, "sh", "-c", f"{RANK} init finalize; exec {RANK} {' '.join(MEMBER)}")
    expect(result.code == 0 and result.lines == members(2), result)


def second_missing():
    once, again = f"{RANK} init finalize", f"{RANK} init finalize"
    result = job("-n", 2, "sh", "-c", f"{once}; [ $PMI_RANK = 1 ] || {again}")
    expect(result.code != 0 and "rank 1" in result.err and "MPI_Init" in result.err, result)
    three_lines(result.err)


def two_hosts():
    hosts = ["-hosts", "x,y", "-launcher-exec", STUB, "-n", 4]
    words = " ".join(MEMBER)
    python = "python3 -c 'import subprocess, sys; subprocess.call(sys.argv[1:])'"
    result = job(*hosts, "sh", "-c", f"{RANK} {words}; {python} {RANK} {words}; {RANK} {words}")
    expect(result.code == 0 and result.lines == sorted(members(4) * 3), result)
    result = job(*hosts, "sh", "-c", f"{RANK} init finalize; [ $PMI_RANK -lt 2 ] || {RANK} init finalize")
    expect(result.code != 0 and "MPI_Init" in result.err and ("rank 0" in result.err or "rank 1" in result.err), result)


def closed():
    for count in (1, 2, 3):
        result = job("-n", count, *CLOSED, RANK, *MEMBER)
        expect(result.code == 0 and result.lines == members(count), result)
    result = job("-n", 2, *CLOSED, RANK, "init", "barrier", "1:exit=3", "sleep=30000")
    expect(result.code == 3 and "rank 1" in result.err, result)


def taken_over():
    code = "import os, sys; os.closerange(3, 100); os.execv(sys.argv[1], sys.argv[1:])"
    result = job("-n", 2, "python3", "-c", code, RANK, *MEMBER)
    expect(result.code == 0 and result.lines == members(2), result)
    result = job("-n", 2, "python3", "-c", "import os, sys; os.execv(sys.argv[1], sys.argv[1:])", RANK, *MEMBER)
    expect(result.code == 0 and result.lines == members(2), result)


def in_turn():
    words = " ".join(MEMBER)
    python = "python3 -c 'import subprocess, sys; subprocess.call(sys.argv[1:])'"
    script = f"{python} {RANK} {words}; {RANK} {words}; {python} {RANK} {words}; {RANK} {words}"
    result = job("-n", 2, "sh", "-c", script)
    expect(result.code == 0 and result.lines == sorted(members(2) * 4), result)


def own_session():
    script = f"setsid -f {' '.join([*CLOSED[:2], repr(CLOSED[2]), RANK, *MEMBER])}; sleep 2"
    result = job("-n", 2, "sh", "-c", script)
    expect(result.code == 0 and result.lines == members(2), result)


def below_a_rank():
    """While the rank is inside MPI itself, another program cannot be the rank."""
    result = job("-n", 2, RANK, "init", "barrier", f"0:run={RANK} init who", "finalize")
    expect("rank 0 of" not in result.out and "MPI_Init" in result.err and "started by a process" in result.err, result)
    # The only rank of a job: its programs are singletons.
    result = job("-n", 1, RANK, "init", f"run={RANK} init who finalize", "finalize")
    expect(result.code == 0 and result.out == "rank 0 of 1 app 0\n", result)
    result = job("-n", 2, RANK, "init", "barrier", f"0:run={RANK} init who finalize", "finalize",
                 env={"ALHENA_ALLOW_SINGLETON": "1"})
    expect(result.code == 0 and result.out == "rank 0 of 1 app 0\n", result)


def waiting_job():
    """A job whose ranks have not called MPI_Init yet, and the launcher's variables of its rank 0."""
    from harness import work
    place, go = os.path.join(work, f"place{time.monotonic_ns()}"), os.path.join(work, f"go{time.monotonic_ns()}")
    script = (f'[ $PMI_RANK != 0 ] || {{ env -0 > {place}.new; mv {place}.new {place}; }}; '
              f'until [ -e {go} ]; do sleep 0.05; done; exec {RANK} {" ".join(MEMBER)}')
    process = start("-n", 2, "sh", "-c", script)
    wait_until(lambda: os.path.exists(place), "the ranks")
    with open(place) as file:
        variables = dict(word.split("=", 1) for word in file.read().split("\0") if "=" in word)
    return process, {name: value for name, value in variables.items() if name.startswith(("ALHENA_PMI", "PMI_"))}, go


def goes_on(process, go):
    open(go, "w").close()
    result = finish(process)
    expect(result.code == 0 and result.lines == members(2), result)


def stranger():
    process, variables, go = waiting_job()
    result = finish(subprocess.Popen([RANK, "init", "who"], env=environment(**variables), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    expect(result.code != 0 and not result.out, result)
    three_lines(result.err)
    goes_on(process, go)


def proxy_socket(variables):
    return "\0alhena-" + variables["ALHENA_PMI"].split(":")[2]


def other_user():
    if os.getuid() != 0:
        raise Skip("only root can become another user")
    process, variables, go = waiting_job()
    hello = b"cmd=alhena_hello protocol=1 version=0 rank=0\n"
    code = ("import os, socket, sys; os.setgid(65534); os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
            f"s.connect({proxy_socket(variables)!r})\n"
            f"try: s.sendall({hello!r}); print('answer', s.recv(100))\n"
            "except OSError as error: print('none', error.errno)")
    seen = subprocess.run(["python3", "-c", code], capture_output=True, text=True, timeout=20)
    expect(seen.returncode == 0 and (seen.stdout == "answer b''\n" or seen.stdout.startswith("none")), seen)
    goes_on(process, go)


def silent():
    process, variables, go = waiting_job()
    callers = []
    for text in [b"", b"nonsense\n", b"cmd=abort exitcode=3 message=x\n", b"cmd=alhena_hello protocol=1 rank=0"] * 40:
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(20)
        caller.connect(proxy_socket(variables))
        try:
            caller.sendall(text)
        except OSError:
            pass
        callers.append(caller)
    goes_on(process, go)
    for caller in callers:
        caller.close()

#!/usr/bin/env python3
"""Jobs of several hosts: starting, wiring up, forwarding, failing, ending. Runs on host h0 of namespaces.sh.

usage: ALHENA_PREFIX=DIR tests/hosts/jobs.py LAUNCHER HUB PID…      PID: the first process of each host
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "launch"))
import harness
from harness import RANK, expect, finish, three_lines, wait_until, work

LAUNCHER, HUB, HOLDERS = sys.argv[1], sys.argv[2], [int(pid) for pid in sys.argv[3:]]
COUNT = len(HOLDERS)


def namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/uts")
    except OSError:
        return None


PLACES = [namespace(pid) for pid in HOLDERS]


def command(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(bytes(1), b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def processes(host):
    """Processes of jobs on a host, by the host's namespace. Zombies have no command."""
    everyone = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    here = {pid: command(pid) for pid in everyone if namespace(pid) == PLACES[host]}
    return {pid: words for pid, words in here.items() if re.search("bin/mpiexec|/(rank|survivors) ", words + " ")}


def leftovers():
    return {f"h{host}": found for host in range(COUNT) if (found := processes(host))}


def names(count=2):
    return ",".join(f"h{host}" for host in range(count))


def start(*arguments, hosts=None, launcher=LAUNCHER, **options):
    return harness.start("-launcher", launcher, "-hosts", hosts or names(), *arguments, **options)


def job(*arguments, data=None, **options):
    if data is not None:
        options["stdin"] = subprocess.PIPE
    return finish(start(*arguments, **options), data)


def check(name, case):
    def whole():
        case()
        end = time.monotonic() + 5
        while leftovers() and time.monotonic() < end:
            time.sleep(0.05)
        expect(not leftovers(), f"left behind: {leftovers()}")

    harness.check(name, whole)
    for found in leftovers().values():
        for pid in found:
            # It may be gone by now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def ranks():
    for count in (2, COUNT):
        result = job("-n", 2 * count, RANK, "init", "barrier", "who", "finalize", hosts=names(count))
        expect(result.code == 0 and not result.err, result)
        expect(result.lines == sorted(f"rank {r} of {2 * count} app 0" for r in range(2 * count)), result)


def places():
    where = lambda *flags, **more: job("-l", *flags, "hostname", **more).lines
    expect(where("-n", 4) == ["[0] h0", "[1] h0", "[2] h1", "[3] h1"], "even shares")
    expect(where("-n", 3, "-ppn", 1) == ["[0] h0", "[1] h1", "[2] h0"], "one by one")
    expect(where(hosts="h1:2,h0:1") == ["[0] h1", "[1] h1", "[2] h0"], "slots")
    expect(where("-n", 3, hosts="h1,h0,h1") == ["[0] h1", "[1] h1", "[2] h0"], "a host named twice")
    path = os.path.join(work, "hosts")
    with open(path, "w") as file:
        file.write("h1 slots=1\nh0 slots=2 # two\n")
    result = harness.job("-launcher", LAUNCHER, "-hostfile", path, "-l", "hostname")
    expect(result.lines == ["[0] h1", "[1] h0", "[2] h0"], result)
    result = harness.job("-launcher", LAUNCHER, "-hostfile", path, "-n", 4, "hostname")
    expect(result.code == 2 and "not enough slots" in result.err, result)


def programs():
    """Each program of a line, or of a file, runs on the hosts that it names."""
    where = lambda *flags: harness.job("-launcher", LAUNCHER, "-l", *flags).lines
    path = os.path.join(work, "programs")
    with open(path, "w") as file:
        file.write("-host h1 -n 1 hostname\n-n 2 -host h0 hostname\n")
    for flags, hosts in [
        (["-host", "h1", "-n", 1, "hostname", ":", "-host", "h0", "-n", 1, "hostname"], "h1 h0"),
        (["-n", 2, "-host", "h0", "hostname", ":", "-n", 1, "-H", "h1", "hostname"], "h0 h0 h1"),
        (["-host", "h1", "-n", 1, "hostname", ":", "-host", "h0,h1", "-n", 2, "hostname"], "h1 h0 h1"),
        (["-host", "h0,h1", "-n", 1, "hostname", ":", "-n", 1, "hostname"], "h0 h1"),
        (["-app", path], "h1 h0 h0"),
        (["-configfile", path], "h1 h0 h0"),
    ]:
        expect(where(*flags) == [f"[{rank}] {host}" for rank, host in enumerate(hosts.split())], (flags, where(*flags)))
    result = harness.job("-launcher", LAUNCHER, "-host", "h1", "-n", 1, RANK, "init", "barrier", "who", "finalize",
                         ":", "-host", "h0", "-n", 1, RANK, "init", "barrier", "who", "finalize")
    expect(result.lines == ["rank 0 of 2 app 0", "rank 1 of 2 app 1"], result)


def rank_files():
    path = os.path.join(work, "ranks")

    def placed(text, *flags):
        with open(path, "w") as file:
            file.write(text)
        return harness.job("-launcher", LAUNCHER, *flags, "-l", "sh", "-c",
                           "echo $(hostname) $(sed -n 's/^Cpus_allowed_list://p' /proc/self/status)")

    first, *_, last = sorted(os.sched_getaffinity(0))
    text = f"rank 2=h0 slot=p{first} # here\nrank 0=h1 slot=p{last}\nrank 1=h1 slot=p{first}\n"
    want = [f"[0] h1 {last}", f"[1] h1 {first}", f"[2] h0 {first}"]
    for flags in (["-rankfile", path], ["--map-by", f"rankfile:file={path}"], ["-hosts", "h0,h1", "-rankfile", path]):
        expect(placed(text, *flags).lines == want, placed(text, *flags))
    expect(placed(text, "-n", 2, "-rankfile", path).lines == want[:2], "fewer ranks than lines")
    # The first and the last hardware thread that may be used.
    threads = f"rank 0=+n1 slot=0\nrank 1=+n0 slot={len(os.sched_getaffinity(0)) - 1}\n"
    result = placed(threads, "-rankfile", path, "-hosts", names(), "--use-hwthread-cpus", "--report-bindings")
    expect(result.lines == [f"[0] h1 {first}", f"[1] h0 {last}"], result)
    expect(f"rank 0 on h1 is bound to processors {first}" in result.err, result)
    result = placed("rank 0=h0 slot=0\nrank 1=h1 slot=0:900\n", "-rankfile", path)
    three_lines(result.err)
    expect(result.code != 0 and "on host h1" in result.err and "rank 1 of the rank file has cores 900" in result.err, result)
    result = placed(text, "-rankfile", path, "-hosts", "h0,h2")
    three_lines(result.err)
    expect(result.code == 2 and "rank 0 is to run on h1, the hosts of the job are h0,h2" in result.err, result)


def environment():
    steps = ["env=PMI_SIZE", "env=MPI_LOCALRANKID", "env=MPI_LOCALNRANKS", "env=COLOUR", "env=SHAPE", "env=ALHENA_X", "env=FI_X"]
    result = job("-n", 2, "-ppn", 1, "-x", "SHAPE", "-l", RANK, *steps,
                 env={"COLOUR": "red", "SHAPE": "round", "ALHENA_X": "1", "FI_X": "2"})
    # The launcher's host has its own environment; others get what was asked for and the usual.
    expect([line for line in result.lines if line.startswith("[1]")] ==
           ["[1] ALHENA_X=1", "[1] COLOUR unset", "[1] FI_X=2", "[1] MPI_LOCALNRANKS=1", "[1] MPI_LOCALRANKID=0", "[1] PMI_SIZE=2",
            "[1] SHAPE=round"], result)
    result = job("-n", 2, "-ppn", 1, "-genvall", "-l", RANK, "env=COLOUR", env={"COLOUR": "red"})
    expect(result.lines == ["[0] COLOUR=red", "[1] COLOUR=red"], result)
    result = job("-n", 2, "-ppn", 1, "-l", "sh", "-c", "pwd")
    expect(result.lines == [f"[0] {work}", f"[1] {work}"], result)


def looked_at():
    """Tools on one host show the ranks of all, and name a host that does not answer."""
    go = os.path.join(work, "go")
    process = start("-n", 4, RANK, "init", "barrier", "barrier", "print=ready\n", "flush", f"0:await={go}", "0:send=3", "3:receive=0",
                    "spread=0", "finalize", "print=done\n")
    for _ in range(4):
        process.stdout.readline()
    daemon = next(pid for pid, words in processes(0).items() if words.endswith("mpiexec -daemon"))
    tool = lambda *words: subprocess.run([os.path.join(harness.PREFIX, "bin", "alhena"), words[0], str(daemon), *words[1:]],
                                         env=harness.environment(), capture_output=True, text=True)

    def queues():
        found = tool("queues", "--json")
        expect(found.returncode == 0 and not found.stderr, found)
        return json.loads(found.stdout)

    requests = lambda rank: [(row["work"], row["rank"]) for row in rank["lines"] if row["kind"] == "request"]
    wait_until(lambda: all(requests(rank) for rank in queues()[1:3]), "two ranks are in a collective call")
    found = queues()
    expect([rank["rank"] for rank in found] == [0, 1, 2, 3], found)
    expect(found[3]["posted"] == 1 and not requests(found[3]), found[3])
    expect(all(requests(found[rank])[0][0] == "collective call" for rank in (1, 2)), found)
    found = tool("top", "--once", "--json", "--interval", "0.2")
    rows = json.loads(found.stdout)
    expect([(row["rank"], row["host"]) for row in rows["rows"]] == [(0, "h0"), (1, "h0"), (2, "h1"), (3, "h1")], found)
    expect(not rows["missing"], found)
    found = tool("stacks", "--json")
    if "not possible" not in found.stderr + found.stdout:
        there = {rank for group in json.loads(found.stdout) for rank in group["ranks"]}
        expect(there == {0, 1, 2, 3} and not found.stderr, found)
    found = tool("queues", "--here")
    expect(found.stdout.count("\nrank ") + found.stdout.startswith("rank ") == 2, found)
    # A daemon that is stopped does not answer, nor does its proxy.
    stopped = [pid for pid, words in processes(1).items() if words.endswith("mpiexec -daemon")]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    found = tool("queues", "--patience", "0.3")
    expect("host h1: its ranks are left out: it has not answered within 0.3 s" in found.stderr and "rank 1 " in found.stdout, found)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    with open(go, "w"):
        pass
    result = finish(process)
    expect(result.code == 0 and result.lines == ["done"] * 4, result)


def failures():
    result = job("-n", 4, RANK, "init", "3:signal=9", "barrier", "finalize")
    three_lines(result.err)
    expect(result.code == 137 and "rank 3 (pid" in result.err and "on h1) was killed by signal 9" in result.err, result)
    expect("the other 3 ranks were ended" in result.err, result)
    result = job("-n", 4, RANK, "init", "2:abort=7", "barrier", "finalize")
    expect(result.code == 7 and "on h1) called MPI_Abort with code 7" in result.err, result)
    result = job("-n", 4, RANK, "3:exit=5")
    expect(result.code == 5 and "rank 3" in result.err and "the job went on" in result.err, result)
    result = job("-n", 4, RANK, "3:exit=0", "init", "barrier", "finalize")
    expect(result.code == 1 and "without calling MPI_Init" in result.err and "rank 3" in result.err, result)
    result = job("-n", 4, "-print-all-exitcodes", RANK, "2:exit=3")
    expect("rank 1: 0, rank 2: 3, rank 3: 0" in result.err, result)


def refusals():
    result = job("-n", 2, RANK, "init", hosts="h0,nowhere")
    three_lines(result.err)
    expect(result.code == 1 and "host nowhere" in result.err and "Could not resolve" in result.err, result)
    result = job("-n", 2, "/no/such/program")
    three_lines(result.err)
    expect(result.code == 127 and re.search("on host h[01]: starting /no/such/program", result.err), result)
    result = job("-n", 2, "-wdir", "/no/such/directory", RANK)
    three_lines(result.err)
    expect(result.code == 1 and re.search("on host h[01]: entering the working dir", result.err), result)
    other = os.path.join(work, "other-version")
    with open(other, "w") as file:
        file.write(f"#!/bin/sh\nread word version bytes\n(echo $word 9.9.9 $bytes; cat) | {LAUNCHER} \"$@\"\n")
    os.chmod(other, 0o755)
    result = job("-n", 2, RANK, launcher=other)
    three_lines(result.err)
    expect("host h1" in result.err and "mpiexec is Alhena 9.9.9" in result.err, result)


def not_startable():
    """What runs on one host and cannot be executed on another ends the job on both."""
    program = os.path.join(work, "program")
    with open(RANK, "rb") as file:
        good = file.read()
    machine, interpreter = bytearray(good), good.replace(b"/ld-linux", b"/no-linux")
    machine[18] ^= 1
    expect(interpreter != good, "the program names its interpreter")
    for words, broken in (("machine", machine), ("interpreter", interpreter), ("script", b"#!/no/such/interpreter\n"),
                          ("cut", good[:40])):
        other = os.path.join(work, words)
        for path, text in ((program, good), (other, broken)):
            with open(path, "wb") as file:
                file.write(text)
            os.chmod(path, 0o755)
        there = ["nsenter", "-m", "-p", "-t", str(HOLDERS[1])]
        subprocess.run([*there, "mount", "--bind", other, program], check=True)
        try:
            result = job("-n", COUNT, "-ppn", 1, program, "init", "sleep=600000", hosts=names(COUNT))
        finally:
            subprocess.run([*there, "umount", program], check=True)
        three_lines(result.err)
        expect(result.code == 126 and "h1" in result.err, (words, result))
    limited = os.path.join(work, "limited")
    with open(limited, "w") as file:
        file.write(f'#!/bin/sh\nhost=$1\nshift\nexec {LAUNCHER} $host sh -c "\'[ $host != h1 ] || ulimit -n 32; exec $*\'"\n')
    os.chmod(limited, 0o755)
    result = job("-n", 8 * COUNT, "-ppn", 8, RANK, "init", "sleep=600000", hosts=names(COUNT), launcher=limited)
    three_lines(result.err)
    expect(result.code == 1 and "on h1" in result.err and "`ulimit -n` (now 32)" in result.err, result)


def streams():
    text = bytes(range(256)) * 4000
    result = job("-n", 4, "-stdin", 3, RANK, "stdin", data=text)
    expect(f"stdin {len(text)} bytes sum {sum(text)}" in result.out, result)
    expect(result.out.count("stdin 0 bytes") == 3, result)
    result = job("-n", 4, "-stdin", "all", RANK, "stdin", data=b"abc\n")
    expect(result.lines == [f"stdin 4 bytes sum {sum(b'abc') + 10}"] * 4, result)
    result = job("-n", 4, RANK, "lines=3000")
    expect(result.lines == sorted(letter * 200 for letter in "abcd" for _ in range(3000)), "whole lines of all ranks")
    result = job("-n", 2, "-stdin", 1, RANK, "exit=0", data=text)
    expect(result.code == 0, result)


def slow_reader():
    """A reader that stops reading stops the ranks' output, and nothing else."""
    process = start("-n", 4, RANK, "0:lines=20000", "3:signal=9", "sleep=60000")
    time.sleep(1)
    result = finish(process)
    expect(result.code == 137, result)


def timeout():
    result = job("-n", 4, "-timeout", 1, "-get-stack-traces", RANK, "init", "sleep=60000")
    expect(result.code == 124 and "ran longer than 1 s" in result.err, result)
    expect(all(f"call stack of rank {r} on h{r // 2}" in result.err for r in range(4)), result)


def signals():
    process = start("-n", 2, "-ppn", 1, RANK, "catch=10", "print=ready\n", "flush", "sleep=60000", "sleep=60000")
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(signal.SIGUSR1)
    expect([process.stdout.readline() for _ in range(2)] == [b"caught 10\n"] * 2, "both ranks get the signal")
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    expect(result.code == 128 + 15, result)


def running(*arguments):
    """A job that runs until it is ended: mpiexec, and the processes of host 1 by what they are."""
    # A rank that leaves the first barrier may still have its answer to a connection to give, and gives it in the second.
    process = start("-n", 4, *arguments, RANK, "init", "barrier", "barrier", "print=ready\n", "flush", "sleep=600000", "finalize")
    for _ in range(4):
        process.stdout.readline()
    there = processes(1)
    daemons = sorted(pid for pid, words in there.items() if words.endswith("mpiexec -daemon"))
    return process, daemons, sorted(pid for pid, words in there.items() if "/rank " in words)


def kill_rank():
    process, _, there = running()
    os.kill(there[-1], signal.SIGKILL)
    result = finish(process)
    three_lines(result.err)
    expect(result.code == 137 and "on h1) was killed by signal 9" in result.err, result)


def status(pid, field):
    with open(f"/proc/{pid}/status") as file:
        return re.search(rf"^{field}:\s*(.*)$", file.read(), re.M)[1]


def variable(pid, name):
    with open(f"/proc/{pid}/environ") as file:
        return dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry).get(name)


def heard_late():
    """The host of a rank that was killed reports that last, behind the ranks of others that miss it."""
    for signal_number, code in ((signal.SIGKILL, 137), (signal.SIGSEGV, 139)):
        process = start("-n", 2 * COUNT, "--mca", "btl", "self,tcp", "--mca", "coll_areas", "no", RANK, "init", "barrier",
                        "print=ready\n", "flush", "3:sleep=600000", "barrier", "finalize", hosts=names(COUNT))
        for _ in range(2 * COUNT):
            process.stdout.readline()
        there = processes(1)
        proxy, = [pid for pid in there if status(pid, "Name") == "mpiexec-proxy"]
        victim, = [pid for pid, words in there.items() if "/rank " in words and variable(pid, "PMI_RANK") == "3"]
        # The daemon first, which would have its proxy go on.
        both = int(status(proxy, "PPid")), proxy
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        os.kill(victim, signal_number)
        time.sleep(0.7)
        # The daemon has its proxy go on; the job may be over right away.
        os.kill(both[0], signal.SIGCONT)
        result = finish(process)
        wait_until(lambda: not leftovers(), "every process of the job to end")
        three_lines(result.err)
        expect(result.code == code and f"on h1) was killed by signal {code - 128}" in result.err, result)
        expect(f"the other {2 * COUNT - 1} ranks were ended" in result.err, result)


def kill_daemon():
    for which in (0, 1):
        process, daemons, _ = running()
        expect(len(daemons) >= 2, f"a daemon and its proxy: {daemons}")
        # The launcher's shell, if it stayed, has the same words; the last two are the daemon and its proxy.
        os.kill(daemons[-2:][which], signal.SIGKILL)
        result = finish(process)
        three_lines(result.err)
        expect(result.code != 0 and "lost its host h1 with ranks 2 to 3" in result.err, result)


def kill_mpiexec():
    process, _, _ = running()
    process.kill()
    process.communicate()


def cut():
    process, _, _ = running()
    subprocess.run(["ip", "-n", HUB, "link", "set", "v1", "nomaster"], check=True)
    try:
        began = time.monotonic()
        result = finish(process)
        print(f"# a host that is cut off is missed after {time.monotonic() - began:.1f} s")
        expect(result.code != 0 and "lost its host h1 with ranks 2 to 3" in result.err, result)
        three_lines(result.err)
        wait_until(lambda: not leftovers(), "the host that was cut off to clean up")
    finally:
        subprocess.run(["ip", "-n", HUB, "link", "set", "v1", "master", "hub"], check=True)


def flaps():
    """A network that fails for seconds ends no job whose hosts may be silent for longer. The kernels' pauses between two
    tries grow with the time of failing."""
    process = start("-host-silence", 100, "--mca", "btl_tcp_silence_ms", 100000, "-n", 4, RANK, "init", "barrier", "print=ready\n",
                    "flush", "barrier", "finalize")
    process.stdout.readline()
    for _ in range(2):
        subprocess.run(["ip", "-n", HUB, "link", "set", "v1", "nomaster"], check=True)
        time.sleep(6)
        subprocess.run(["ip", "-n", HUB, "link", "set", "v1", "master", "hub"], check=True)
        time.sleep(1)
    result = finish(process)
    expect(result.code == 0 and not result.err, result)


def isolate(how):
    """Cuts h1 and h2 off from each other, where that is "on"."""
    for host in (1, 2):
        subprocess.run(["ip", "-n", HUB, "link", "set", f"v{host}", "type", "bridge_slave", "isolated", how], check=True)


def rules(enter, text):
    """Whether these rules of nft hold from here on, in the namespace that the command `enter` enters."""
    command = [*enter, "nft", "-f", "-"]
    return bool(shutil.which("nft")) and subprocess.run(command, input=text, text=True, capture_output=True).returncode == 0


def flaps_behind_walls():
    """A network that fails for less than hosts may be silent ends no job where firewalls let in what calls ranks, and drop other calls:
    the kernel of a rank tries again long after the network is back."""
    wall = """table inet wall { chain way { type filter hook input priority 0;
              iifname eth0 tcp flags & (syn | ack) == syn tcp dport != 23000-23999 drop; }; }"""
    enter = [["nsenter", "-n", "-t", str(HOLDERS[host])] for host in (1, 2)]
    go = os.path.join(work, "go")
    try:
        if not all(rules(one, wall) for one in enter):
            return
        process = start("-n", 2, "-ppn", 1, "--mca", "btl_tcp_ports", "23000-23999", RANK, "init", "exchange", "barrier",
                        "print=ready\n", "flush", f"await={go}", "exchange", "finalize", hosts="h1,h2")
        for _ in range(2):
            while process.stdout.readline() != b"ready\n":
                pass
        isolate("on")
        open(go, "w").close()
        time.sleep(3.4)
        isolate("off")
        result = finish(process)
        expect(result.code == 0 and not result.err, result)
    finally:
        isolate("off")
        for one in enter:
            rules(one, "delete table inet wall")
        if os.path.exists(go):
            os.unlink(go)


def cut_apart():
    """Two hosts that drop each other's packets are both named: mpiexec, which reaches both, knows that no rank has failed. A rank that
    gives the other one up by itself first is the exception."""
    between = "likely cause: the network between (h1 and h2|h2 and h1): .*both hosts answer mpiexec"

    def ends(process, seen):
        result = finish(process)
        three_lines(result.err)
        expect(result.code == 1 and re.search(seen, result.err) and re.search(between, result.err), result)

    def while_it_runs(flags, seen):
        go = os.path.join(work, "go")
        process = start("-n", COUNT, "-ppn", 1, *flags, RANK, "init", "exchange", "barrier", "print=ready\n", "flush", f"await={go}",
                        "exchange", "finalize", hosts=names(COUNT))
        while process.stdout.readline() != b"ready\n":
            pass
        isolate("on")
        try:
            open(go, "w").close()
            ends(process, seen)
        finally:
            isolate("off")
            os.unlink(go)

    while_it_runs([], "rank [12] .* does not reach rank [12]")
    while_it_runs(["--mca", "btl_tcp_silence_ms", 1500], "rank [12] is lost|does not reach rank [12]")
    isolate("on")
    try:
        ends(start("-n", COUNT, "-ppn", 1, RANK, "init", "exchange", "finalize", hosts=names(COUNT)), "does not reach rank [12]")
    finally:
        isolate("off")


def walls():
    """Firewalls that drop what calls a host. Of two hosts of ranks one may have one, since the other is called from there; two are named,
    and so is mpiexec's own."""
    wall = """table inet wall { chain way { type filter hook input priority 0;
              iifname eth0 tcp flags & (syn | ack) == syn drop; }; }"""

    def behind(*walled, hosts):
        enter = [["nsenter", "-n", "-t", str(HOLDERS[host])] for host in walled]
        try:
            if all(rules(one, wall) for one in enter):
                return job("-n", 2, "-ppn", 1, RANK, "init", "exchange", "barrier", "finalize", hosts=hosts)
        finally:
            for one in enter:
                rules(one, "delete table inet wall")

    one = behind(1, hosts="h0,h1")
    if one is None:
        print("skip: firewalls: no nft here")
        return
    expect(one.code == 0 and not one.err, one)
    own = behind(0, hosts="h0,h1")
    three_lines(own.err)
    expect(own.code == 1 and "through the firewall" in own.err and "mpiexec -listen" in own.err, own)
    both = behind(1, 2, hosts="h1,h2")
    three_lines(both.err)
    expect(both.code == 1 and re.search("does not reach rank [01]", both.err) and "filters packets" in both.err, both)


def stopped():
    """A stopped mpiexec is not dead: the job goes on when it does."""
    process = start("-n", 4, RANK, "init", "barrier", "print=ready\n", "flush", "lines=2000", "barrier", "finalize")
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    time.sleep(6)
    process.send_signal(signal.SIGCONT)
    result = finish(process)
    expect(result.code == 0 and not result.err, result)


def strangers():
    process, _, _ = running()
    port = listening_port(process.pid)
    hello = b"alhena\x02c" + bytes([3, 0, 1, 1]) + bytes(72)
    words = [b"", b"GET / HTTP/1.1\r\n\r\n", bytes(48), hello, os.urandom(4000)]
    callers = []
    for number in range(300):
        caller = socket.create_connection(("10.213.7.1", port))
        caller.sendall(words[number % len(words)])
        callers.append(caller)
    time.sleep(0.5)
    expect(process.poll() is None, "the job goes on")
    process.send_signal(signal.SIGTERM)
    result = finish(process)
    expect(result.err.count("a stranger called at mpiexec") == 1, result)


def workers():
    """mpiexec waits, workers call: no launcher at all."""
    token = os.path.join(work, "token")
    alhena = os.path.join(harness.PREFIX, "bin", "alhena")
    process = harness.start("-listen", "0", "-token-file", token, "-n", 4, "-ppn", 2, RANK, "init", "barrier", "who", "finalize")
    line = process.stderr.readline().decode()
    port = re.search(r"10\.213\.7\.1:(\d+)", line)[1]
    expect(os.stat(token).st_mode & 0o777 == 0o600, "the token is for its owner alone")
    wrong = os.path.join(work, "wrong")
    with open(wrong, "w") as file:
        file.write("0123456789abcdef" * 2 + "\n")
    os.chmod(wrong, 0o600)
    refused = subprocess.run([LAUNCHER, "h1", alhena, "worker", f"10.213.7.1:{port}", "--token-file", wrong, "--wait", "1"],
                             capture_output=True, text=True)
    expect(refused.returncode == 1 and "secret" in refused.stderr, refused)
    others = [subprocess.Popen([LAUNCHER, f"h{host}", alhena, "worker", f"10.213.7.1:{port}", "--token-file", token])
              for host in (1, 2)]
    result = finish(process)
    expect(result.code == 0 and result.lines == [f"rank {r} of 4 app 0" for r in range(4)], result)
    expect([other.wait(20) for other in others] == [0, 0], "workers end well")


def doctor():
    """What stands between hosts, by alhena doctor and by mpiexec itself."""
    alhena = os.path.join(harness.PREFIX, "bin", "alhena")

    def report(hosts):
        process = subprocess.Popen([alhena, "doctor", "--json", "--hosts", hosts], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=harness.environment(HYDRA_LAUNCHER_EXEC=LAUNCHER))
        result = finish(process)
        return {one["host"]: [finding for finding in one["findings"]] for one in json.loads(result.out)}, result

    def to(other, hosts):
        [finding] = [one for one in hosts["h0"] if one["check"] == f"to {other}"]
        return finding

    hosts, result = report("h0,h1")
    # docker0 has the same address on both.
    expect(result.code == 0 and to("h1", hosts)["verdict"] == "ok" and "172.17" not in to("h1", hosts)["seen"], hosts)
    hosts, result = report("h0,nowhere")
    problems = [one for one in sum(hosts.values(), []) if one["verdict"] == "problem"]
    expect(result.code == 1 and len(problems) == 1 and "nowhere" in problems[0]["seen"], hosts)
    # Often the daemon of h0 has just called when the job ends, and is ended before its first word: no stranger.
    for _ in range(20):
        result = harness.job("-n", 2, RANK, env={"SLURM_JOB_NODELIST": "h0,nowhere", "HYDRA_LAUNCHER_EXEC": LAUNCHER})
        three_lines(result.err)
        expect("host that SLURM_JOB_NODELIST names" in result.err and "unset SLURM_JOB_NODELIST" in result.err, result)
    result = job("-n", 2, RANK, launcher="/no/such/launcher")
    three_lines(result.err)
    expect("another launcher" in result.err and "by hand" not in result.err, result)
    hub = ["ip", "netns", "exec", HUB]
    # Long packets to h1 vanish on the way, short ones pass.
    hole = "table bridge hole { chain way { type filter hook forward priority 0; oifname v1 meta length > 1000 drop; }; }"
    if rules(hub, hole):
        try:
            hosts, result = report("h0,h1")
            finding = to("h1", hosts)
            expect(result.code == 1 and finding["verdict"] == "problem" and "swallowed" in finding["seen"], (finding, result))
            expect("ping -M do" in finding["next"], finding)
        finally:
            rules(hub, "delete table bridge hole")
    # A firewall of h0 lets no host call mpiexec.
    wall = "table inet wall { chain way { type filter hook input priority 0; iifname eth0 tcp flags syn reject with tcp reset; }; }"
    if rules([], wall):
        try:
            result = job("-n", 2, RANK, hosts="h0,h1")
            three_lines(result.err)
            expect("firewall" in result.err and "by hand" not in result.err and "h1" in result.err, result)
        finally:
            rules([], "delete table inet wall")


def allocations():
    """Hosts of a batch system are used without any flag."""
    def where(**variables):
        return harness.job("-launcher", LAUNCHER, "-l", "hostname", env=variables).lines
    three = ["[0] h0", "[1] h0", "[2] h1"]
    expect(where(SLURM_JOB_NODELIST="h[0-1]", SLURM_TASKS_PER_NODE="2,1") == three, "Slurm")
    path = os.path.join(work, "allocated")
    with open(path, "w") as file:
        file.write("h0\nh0\nh1\n")
    expect(where(PBS_NODEFILE=path) == three, "PBS")
    expect(where(LSB_MCPU_HOSTS="h0 2 h1 1") == three, "LSF")
    result = harness.job("-launcher", LAUNCHER, "-n", 4, "hostname", env={"PBS_NODEFILE": path})
    expect(result.code == 2 and "not enough slots" in result.err, result)


def listening_port(pid):
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
        if found:
            inodes.add(found[1])
    for family in ("tcp6", "tcp"):
        with open(f"/proc/{pid}/net/{family}") as file:
            for line in file.readlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[9] in inodes:
                    return int(fields[1].rsplit(":", 1)[1], 16)
    raise AssertionError("mpiexec does not listen")


def main():
    harness.build()
    for name, case in [
        ("ranks of all hosts meet", ranks),
        ("ranks are placed as asked for", places),
        ("each program runs on its own hosts", programs),
        ("rank files name hosts and processors", rank_files),
        ("environment and directory go along", environment),
        ("the first failure is named with its host", failures),
        ("what a host lacks is named with the host, before anything starts", refusals),
        ("what cannot be executed on one host ends the job", not_startable),
        ("tools show the ranks of all hosts", looked_at),
        ("standard input and output", streams),
        ("a reader that is slow", slow_reader),
        ("time limit and call stacks", timeout),
        ("signals reach all hosts", signals),
        ("kill -9 of a rank", kill_rank),
        ("a rank is killed and its host hears of it last", heard_late),
        ("kill -9 of a daemon and of its proxy", kill_daemon),
        ("kill -9 of mpiexec", kill_mpiexec),
        ("a host is cut off", cut),
        ("a network fails for seconds", flaps),
        ("a network fails for seconds, and firewalls drop calls", flaps_behind_walls),
        ("two hosts are cut off from each other", cut_apart),
        ("a firewall of one host lets no call in", walls),
        ("a stopped mpiexec is not dead", stopped),
        ("strangers at mpiexec's port", strangers),
        ("workers that call by themselves", workers),
        ("hosts of batch systems", allocations),
        ("what stands between hosts is found", doctor),
    ]:
        if len(sys.argv) < 3 or not os.environ.get("ONLY") or os.environ["ONLY"] in name:
            check(f"{COUNT} hosts: {name}", case)
    return harness.summary()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Something of a job on several hosts is killed at a random moment: one message names it, and nothing is left on any host. The
job ends; or goes on with those that are left, where SURVIVORS names failures/survivors.c as a program. Runs on host h0 of
namespaces.sh.

usage: ALHENA_PREFIX=DIR [SURVIVORS=FILE] tests/hosts/kills.py ROUNDS LAUNCHER HUB PID…      PID: the first process of each host

ROUNDS rounds for each kind of victim; SEED repeats what was chosen.
"""
import os
import random
import signal
import subprocess
import sys
import time

ROUNDS = int(sys.argv.pop(1))
SURVIVORS = os.environ.get("SURVIVORS")
import jobs
import harness
from harness import RANK, expect, finish, wait_until

# Slots for two ranks on each host.
RANKS = 2 * jobs.COUNT


def link(host, *words):
    subprocess.run(["ip", "-n", jobs.HUB, "link", "set", f"v{host}", *words], check=True)


def daemons(host):
    """The daemon of a host and its proxy; not its launcher, without which the job goes on."""
    own = lambda words: words.startswith(harness.MPIEXEC) and words.endswith("-daemon")
    return sorted(pid for pid, words in jobs.processes(host).items() if own(words))


def ranks(host):
    return [pid for pid, words in jobs.processes(host).items() if "bin/mpiexec" not in words]


def kill(pids):
    """Kills the last of these processes; `False` where there is none yet."""
    for pid in pids[-1:]:
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            pass
    return False


# How to harm a job whose mpiexec is `process` on one host; whether it was harmed. What to mend afterwards.
VICTIMS = {
    "rank": lambda process, host: kill(ranks(host)),
    "daemon": lambda process, host: kill(daemons(host)[:1]),
    "proxy": lambda process, host: kill(daemons(host)),
    "mpiexec": lambda process, host: kill([process.pid]),
    "host, its link down": lambda process, host: link(host, "down") or True,
    "host, everything dropped": lambda process, host: link(host, "nomaster") or True,
}


def strike(victim, host, process):
    """Harms a job, and waits for the end of all of it."""
    try:
        wait_until(lambda: VICTIMS[victim](process, host), f"a {victim} on h{host}")
        result = finish(process)
        wait_until(lambda: not jobs.leftovers(), "every process of the job to end")
    finally:
        link(host, "up")
        link(host, "master", "hub")
    return result


def ends(victim):
    """A job of which this is killed ends; the seconds that that took."""
    host = random.randrange(1, jobs.COUNT)
    # The second barrier takes along what the first one has left to a connection that was still being made: a rank that sleeps
    # outside MPI makes none.
    process = jobs.start("-n", RANKS, RANK, "init", "barrier", "barrier", "print=ready\n", "flush", "sleep=600000",
                         "finalize", hosts=jobs.names(jobs.COUNT))
    # Some rounds strike while the job is still starting.
    if random.random() < 0.8:
        for _ in range(RANKS):
            process.stdout.readline()
    else:
        time.sleep(random.random() * 0.3)
    began = time.monotonic()
    result = strike(victim, host, process)
    expect(result.code not in (0, None), result)
    if victim != "mpiexec":
        expect(result.err.count("next:") == 1 and f"h{host}" in result.err, result)
    return time.monotonic() - began


def goes_on(victim):
    """A job of which this is killed goes on with the others; the seconds until they have ended."""
    host = random.randrange(1, jobs.COUNT)
    left = RANKS - (1 if victim == "rank" else RANKS // jobs.COUNT)
    process = jobs.start("-with-ft", "ulfm", "-n", RANKS, SURVIVORS, left, hosts=jobs.names(jobs.COUNT))
    for _ in range(RANKS):
        process.stdout.readline()
    began = time.monotonic()
    result = strike(victim, host, process)
    expect(result.code == 0 and result.out.count("ok ") == 3 and "FAIL" not in result.out, result)
    expect(result.err.count("next:") == 1 and f"h{host}" in result.err, result)
    return time.monotonic() - began


def many(victim, one_round, says):
    seed = int(os.environ.get("SEED") or time.time())
    random.seed(seed)
    times = []

    def all_rounds():
        for _ in range(ROUNDS):
            times.append(one_round(victim))

    jobs.check(f"{jobs.COUNT} hosts: {ROUNDS} times a {victim} is killed{says} (SEED={seed})", all_rounds)
    if times:
        print(f"# over after {max(times):.2f} s at most, {sum(times) / len(times):.2f} s on average", flush=True)


def main():
    harness.build()
    for victim in VICTIMS:
        if not SURVIVORS:
            many(victim, ends, "")
        elif victim != "mpiexec":
            many(victim, goes_on, ", and the job goes on")
    return harness.summary()


if __name__ == "__main__":
    sys.exit(main())

"""kill -9 of a random rank, of the proxy, of mpiexec, at a random moment: nothing may be left."""
import os
import random
import signal
import tempfile
import time

import harness
from harness import RANK, expect, finish, leftovers, start, wait_until

# The time within which a job must be gone. Not asserted on a busy machine, only reported.
LIMIT = 1.0


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def ranks(proxy):
    """The proxy's children that are ranks: they lead process groups, unlike orphans that it adopted."""
    found = []
    for pid in children(proxy):
        try:
            if os.getpgid(pid) == pid:
                found.append(pid)
        except OSError:
            pass
    return found


def shared_objects():
    return {name for name in os.listdir("/dev/shm") if "alhena" in name} if os.path.isdir("/dev/shm") else set()


def one_round(victim):
    """Starts a job whose ranks leave children of all kinds, kills `victim`; returns how long the rest lived."""
    # Other jobs of this host have files and shared objects, too: this one's are in a folder of its own, or have the name.
    folder, shared = tempfile.mkdtemp(dir=harness.work), shared_objects()
    process = start("-n", 4, RANK, "0:fork", "1:daemon", "init", "barrier", "print=ready\n", "0:daemon", "sleep=100000",
                    "finalize", env={"TMPDIR": folder})
    # Some rounds strike while the job is still starting.
    if random.random() < 0.7:
        wait_until(lambda: len(leftovers()) >= 8, "the job to start")
    else:
        wait_until(lambda: children(process.pid), "the proxy")
        time.sleep(random.random() * 0.02)
    proxy = (children(process.pid) or [process.pid])[0]
    target = {"mpiexec": process.pid, "proxy": proxy, "rank": random.choice(ranks(proxy) or [proxy])}[victim]
    began = time.monotonic()
    os.kill(target, signal.SIGKILL)
    wait_until(lambda: not leftovers(), "every process of the job to end")
    seconds = time.monotonic() - began
    result = finish(process)
    expect(result.code not in (0, None), result)
    expect(victim == "mpiexec" or result.err.count("next:") == 1, result)
    expect(shared_objects() <= shared, "a shared-memory object was left")
    left = os.listdir(folder)
    expect(not left, f"files were left: {left}")
    return seconds


def rounds(count):
    seed = int(os.environ.get("SEED") or time.time())
    random.seed(seed)
    victims = ["rank", "proxy", "mpiexec"]
    times = []

    def all_rounds():
        for number in range(count):
            times.append(one_round(victims[number % len(victims)]))

    harness.check(f"kill: {count} rounds of kill -9 leave nothing (SEED={seed})", all_rounds)
    if times:
        print(f"   the job was gone after {max(times):.2f} s at most, {sum(times) / len(times):.2f} s on average; "
              f"{sum(t > LIMIT for t in times)} of {len(times)} took longer than {LIMIT:.0f} s", flush=True)

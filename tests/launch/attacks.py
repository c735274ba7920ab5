"""Another user of the host gets between the processes of a job, or at its token."""
import os
import re
import socket
import subprocess
import sys

import harness
from foreign import all_there, collect, slurm_variables
from foreign import start as start_rank
from harness import HERE, RANK, expect, finish, start, three_lines, wait_until, work

ALHENA = os.path.join(harness.PREFIX, "bin", "alhena")


def cases():
    return [
        ("another process has a port of mpiexec or of a rank at one address", port_taken),
        ("a relay before mpiexec reads no order, and changes none", orders),
        ("a stranger at mpiexec's port does not end a worker's search", search),
        ("a relay before rank 0 of a job step reads nothing, and puts nothing in", job_step),
        ("a token file that is a pipe, or a link of another user", token_files),
    ]


class Relay:
    """A relay before a port of `ports`, or before what will be there."""

    def __init__(self, ports, *command, port=None):
        self.port = port or free_port()
        arguments = [sys.executable, os.path.join(HERE, "relay.py"), str(self.port), f"{ports[0]}-{ports[-1]}", *command]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        expect(self.process.stdout.readline() == "ready\n", "the relay listens")

    def end(self):
        """Its lines so far."""
        self.process.kill()
        return self.process.communicate()[0].split("\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write_token(name="attacked-token"):
    path = os.path.join(work, name)
    if not os.path.exists(path):
        with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(os.urandom(16).hex())
    return path


def port_taken():
    for family, address in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
        try:
            taken = socket.socket(family)
            taken.bind((address, 0))
        except OSError:
            # A host without IPv6 has one kind alone.
            continue
        with taken:
            taken.listen()
            port = taken.getsockname()[1]
            result = harness.job("-listen", port, "-token-file", write_token(), "-n", 1, RANK)
            expect(result.code == 1 and f"port {port}" in result.err and "another process has" in result.err, result)
            three_lines(result.err)
            result = harness.job("-n", 2, "--mca", "btl", "self,tcp", "--mca", "btl_tcp_ports", port, RANK, "init", "finalize")
            expect(result.code != 0 and f"another process has port {port}" in result.err, result)


def listening(process):
    """The port at which a mpiexec waits for workers."""
    return int(re.search(r":(\d+)", process.stderr.readline().decode())[1])


def worker(port, token, wait=30):
    return subprocess.Popen([ALHENA, "worker", f"127.0.0.1:{port}", "--token-file", token, "--wait", str(wait)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=harness.environment(), cwd=work)


def orders():
    """The user's own program must run, or none; what a relay put in its place must not."""
    theirs, other = os.path.join(work, "their-program"), os.path.join(work, "other-program")
    for path, word in (theirs, "theirs"), (other, "OTHER"):
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\necho {word}\n")
        os.chmod(path, 0o755)
    token = write_token()
    seen = ["their-program", "SECRET_VARIABLE", "theirs"]
    for command in ["look", *seen], ["replace", "their-program", "other-program"], ["flip"], ["put", "x" * 64]:
        process = start("-listen", 0, "-token-file", token, "-n", 1, "-genv", "SECRET_VARIABLE", "1", theirs)
        port = listening(process)
        with Relay([port], *command) as relay:
            called = worker(relay.port, token)
            try:
                if command[0] in ("flip", "put"):
                    # The worker leaves, and mpiexec reports that.
                    _, err = called.communicate(timeout=60)
                    result = finish(process)
                    expect(result.code != 0 and "theirs" not in result.out, result)
                    expect("changed on their way" in err, err)
                else:
                    result = finish(process)
                    expect(result.code == 0 and result.out == "theirs\n", (command, result))
                    called.communicate(timeout=60)
                    said = relay.end()
                    expect("called" in said and not [line for line in said if line.startswith("seen")], said)
            finally:
                called.kill()
                called.communicate()


def search():
    token, port = write_token(), free_port()
    with Relay([port], "nonsense", port=port) as stranger:
        called = worker(port, token)
        # The worker reports that this is not its mpiexec, and looks further.
        expect("does not know the job's secret" in called.stderr.readline(), "the worker has met the stranger")
        stranger.end()
    process = start("-listen", port, "-token-file", token, "-n", 1, RANK, "init", "who", "finalize")
    result = finish(process)
    _, err = called.communicate(timeout=60)
    expect(result.code == 0 and result.out == "rank 0 of 1 app 0\n" and called.returncode == 0, (result, err))
    refused = worker(port, write_token("another-token"), wait=1)
    _, err = refused.communicate(timeout=60)
    expect(refused.returncode == 1 and "next:" in err, err)


def job_step():
    token = write_token()
    size, steps = 3, ["init", "barrier", "who", "finalize"]
    for command in ["look", "cmd=", "kvsname", "alhena_node"], ["put", "cmd=barrier_out\n" * 8], ["flip"]:
        first = free_port()
        last = min(first + 20, 65535)
        with Relay([first, last], *command, port=first) as relay:
            begin = lambda rank: start_rank(slurm_variables(rank, size, f"{first}-{last}", ALHENA_TOKEN_FILE=token), steps)
            processes = [begin(0)]
            # The relay finds no port before rank 0 listens, and the others would go on to rank 0 themselves.
            wait_until(lambda: any(listens_for_step(port) for port in range(first + 1, last + 1)), "rank 0 to listen")
            processes += [begin(rank) for rank in range(1, size)]
            if command[0] == "look":
                all_there(processes, 0)
                said = relay.end()
                expect("called" in said and not [line for line in said if line.startswith("seen")], said)
            else:
                out, err, codes = collect(processes)
                expect(0 not in codes, (out, err, codes))
                expect(any("changed on their way" in text for text in err), err)


def listens_for_step(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as probe:
            return probe.recv(11) == b"alhena-star"
    except OSError:
        return False


def token_files():
    pipe = os.path.join(work, "token-pipe")
    os.mkfifo(pipe, 0o600)
    process = start("-listen", 0, "-token-file", pipe, "-n", 1, RANK)
    result = finish(process)
    expect(result.code == 1 and "no regular file" in result.err, result)
    three_lines(result.err)
    if os.geteuid() == 0:
        # Every user knows what is in there.
        known, link = os.path.join(work, "known"), os.path.join(work, "link")
        with open(known, "w") as file:
            file.write("0123456789abcdef" * 2 + "\n")
        os.symlink(known, link)
        os.lchown(link, 65534, 65534)
        result = harness.job("-listen", 0, "-token-file", link, "-n", 1, RANK)
        expect(result.code == 1 and "symbolic link of user 65534" in result.err, result)
        result = harness.job("-listen", 0, "-token-file", known, "-n", 1, RANK)
        expect(result.code == 1 and "others may read it" in result.err, result)

"""Ranks that other launchers start: what they offer is played here, so that no launcher has to be installed."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from harness import HERE, RANK, environment, expect, work

STEPS = ["init", "barrier", "who", "finalize"]


def cases():
    return [
        ("Slurm's way of PMI-1", pmi1),
        ("Flux's way of PMI-1", flux),
        ("a PMIx library", pmix),
        ("a PMIx library that is not there", no_pmix),
        ("Slurm's variables alone", slurm),
        ("Slurm's variables alone: a rank is killed, and strangers call", slurm_trouble),
        ("Slurm's variables alone: no secret", slurm_without_secret),
    ]


def start(variables, steps=STEPS, **options):
    """Starts one process of a job that this test launches."""
    clean = {name: text for name, text in environment().items() if not name.startswith(("PMI", "SLURM", "ALHENA_PMI"))}
    return subprocess.Popen([RANK, *steps], env={**clean, **variables}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work, **options)


def collect(processes):
    """What the processes have printed, and their exit codes."""
    results = [process.communicate(timeout=60) for process in processes]
    return sorted(out for out, _ in results), [err for _, err in results], [process.returncode for process in processes]


def all_there(processes, number):
    out, err, codes = collect(processes)
    size = len(processes)
    expect(out == sorted(f"rank {r} of {size} app {number}\n" for r in range(size)) and codes == [0] * size, (out, err, codes))


class Slurm:
    """The key space of srun --mpi=pmi2 for clients that speak PMI-1: what one read brings is one command."""
    name, app_number, unknown_key = "9.0", -1, 1

    def __init__(self, size):
        self.size, self.waiting, self.wrong = size, [], []
        self.space = {"PMI_process_mapping": f"(vector,(0,2,{size // 2}))"}
        self.lock = threading.Lock()
        self.ends = [socket.socketpair() for _ in range(size)]
        self.threads = [threading.Thread(target=self.serve, args=(end,), daemon=True) for end, _ in self.ends]

    def start(self):
        processes = []
        for rank, (_, theirs) in enumerate(self.ends):
            variables = {"PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(self.size)}
            processes.append(start(variables, pass_fds=[theirs.fileno()]))
            theirs.close()
        for thread in self.threads:
            thread.start()
        return processes

    def serve(self, end):
        while command := end.recv(1024):
            text = command.decode()
            if not text.endswith("\n") or text.count("\n") != 1:
                self.wrong.append(text)
                break
            words = dict(word.split("=", 1) for word in text.split())
            with self.lock:
                for to, reply in self.answer(end, words):
                    to.sendall(reply.encode() + b"\n")
            if words["cmd"] == "finalize":
                break
        end.close()

    def answer(self, end, words):
        command = words["cmd"]
        if words.get("kvsname", self.name) != self.name:
            self.wrong.append(words)
        if command == "barrier_in":
            self.waiting.append(end)
            if len(self.waiting) < self.size:
                return []
            all_ranks, self.waiting = self.waiting, []
            return [(one, "cmd=barrier_out rc=0") for one in all_ranks]
        if command == "put":
            self.space[words["key"]] = words["value"]
        value = self.space.get(words.get("key"))
        return [(end, {
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_my_kvsname": f"cmd=my_kvsname rc=0 kvsname={self.name}",
            "get_appnum": f"cmd=appnum rc=0 appnum={self.app_number}",
            "get_universe_size": f"cmd=universe_size rc=0 size={self.size}",
            "put": "cmd=put_result rc=0",
            "get": f"cmd=get_result rc=0 value={value}" if value is not None else f"cmd=get_result rc={self.unknown_key}",
            "finalize": "cmd=finalize_ack rc=0",
        }[command])]


def pmi1():
    for size in (4, 12):
        server = Slurm(size)
        all_there(server.start(), -1)
        expect(not server.wrong, server.wrong)
        # Each fence carries all keys to all nodes, so only the lowest rank of each node puts any, and few: where the node
        # is, and what its ranks say before each of two fences; rank 0 the number of the job.
        keys = sorted(server.space.keys() - {"PMI_process_mapping"})
        expect(all(key.endswith(("-0", f"-{size // 2}")) for key in keys) and len(keys) == 7, keys)


class Flux(Slurm):
    """The key space of Flux's job shell, as of src/common/libpmi/simple_server.c and src/shell/pmi/pmi.c: it is called by the
    job's number in Flux's digits, which begin with a letter beyond ASCII, and -opmi-simple.nomap leaves the map of nodes out."""
    name, app_number, unknown_key = "\u019226GSVtQ", 0, 5


def flux():
    for has_map in (True, False):
        server = Flux(6)
        if not has_map:
            del server.space["PMI_process_mapping"]
        all_there(server.start(), 0)
        expect(not server.wrong, server.wrong)


def fake_pmix():
    library = os.path.join(work, "libpmix-fake.so")
    if not os.path.exists(library):
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-Wall", "-Wextra",
                        os.path.join(HERE, "fake_pmix.c"), "-o", library], check=True)
    return library


def pmix_variables(rank, size, folder, library):
    return {"PMIX_RANK": str(rank), "PMIX_NAMESPACE": "job", "PMIX_SERVER_URI41": "nowhere", "FAKE_PMIX_DIR": folder,
            "FAKE_PMIX_SIZE": str(size), "ALHENA_LIBPMIX": library}


def pmix():
    for steps, judge in [(STEPS, lambda processes: all_there(processes, 5)), (["init", "1:abort=7", "barrier"], aborted)]:
        folder = tempfile.mkdtemp(dir=work)
        judge([start(pmix_variables(rank, 4, folder, fake_pmix()), steps) for rank in range(4)])
        marks = sorted(name for name in os.listdir(folder) if name.startswith(("finalized", "aborted")))
        expect(marks == (["aborted.1"] if judge is aborted else [f"finalized.{rank}" for rank in range(4)]), marks)
        shutil.rmtree(folder)


def aborted(processes):
    _, err = processes[1].communicate(timeout=60)
    expect(processes[1].returncode == 7 and "rank 1: MPI_Abort" in err, err)
    # The launcher's part.
    for process in processes:
        process.kill()
    collect(processes[:1] + processes[2:])


def no_pmix():
    process = start(pmix_variables(0, 2, work, "/nowhere/libpmix.so.2"))
    _, err = process.communicate(timeout=60)
    expect(process.returncode == 1 and "/nowhere/libpmix.so.2" in err and "ALHENA_LIBPMIX" in err, err)


def slurm_variables(rank, size, ports, **more):
    return {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": str(size), "SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "3",
            "SLURM_NODEID": str(rank * 2 // size), "SLURM_STEP_NODELIST": "localhost,n2",
            "SLURM_STEP_RESV_PORTS": ports, **more}


def step_of_slurm(size, steps=STEPS):
    token = os.path.join(work, "step-token")
    if not os.path.exists(token):
        with open(os.open(token, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(os.urandom(16).hex())
    # One port is taken.
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        first = taken.getsockname()[1]
        last = min(first + 20, 65535)
        processes = [start(slurm_variables(rank, size, f"{first}-{last}", ALHENA_TOKEN_FILE=token), steps)
                     for rank in range(size)]
        yield processes, range(first + 1, last + 1)


def slurm():
    for processes, _ in step_of_slurm(4):
        all_there(processes, 0)


def slurm_trouble():
    for processes, ports in step_of_slurm(4, ["init", "barrier", "print=up", "flush", "3:sleep=60000", "barrier", "finalize"]):
        for process in processes:
            expect(process.stdout.read(2) == "up", "all ranks are there")
        called = 0
        for port in ports:
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
                    if stranger.recv(11) == b"alhena-star":
                        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 4)
                        called += 1
            except OSError:
                pass
        expect(called == 1, "rank 0's port was found")
        processes[3].send_signal(signal.SIGKILL)
        _, err, codes = collect(processes)
        expect(codes == [1, 1, 1, -signal.SIGKILL], (err, codes))
        expect("rank 3 is gone without MPI_Finalize" in err[0], err)


def slurm_without_secret():
    ports = "21900-21909"
    first = start(slurm_variables(0, 2, ports, ALHENA_TOKEN_FILE="/nowhere/token"))
    _, err = first.communicate(timeout=60)
    expect(first.returncode == 1 and "/nowhere/token" in err and "--mpi=none" in err, err)
    alone = start(slurm_variables(0, 2, ports, ALHENA_ALLOW_SINGLETON="1"))
    expect(alone.communicate(timeout=60)[0] == "rank 0 of 1 app 0\n", "a process that may be alone")

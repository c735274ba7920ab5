"""Launchers and libraries that do not belong together."""
import os
import shutil
import socket
import subprocess
import threading

from harness import RANK, Skip, environment, expect, finish, job, three_lines


def cases():
    return [
        ("a program started alone", alone),
        ("a parameter that a program started alone does not know", misspelt),
        ("a program under a launcher that cannot be reached stops", unreachable),
        ("a rank with another MPI library is noticed", other_library),
        ("PMI-1 of another launcher", hydra),
        ("PMI-1 over a network socket", pmi_port),
    ]


def direct(*words, **env):
    process = subprocess.Popen([RANK, *words], env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return finish(process)


def alone():
    result = direct("init", "who", "finalize")
    expect(result.code == 0 and result.out.startswith("rank 0 of 1"), result)


def misspelt():
    result = direct("init", "who", "finalize", ALHENA_MCA_btl_vader_eager_limt="4096")
    expect(result.code == 0 and "did you mean btl_vader_eager_limit?" in result.err, result)


def unreachable():
    for name, value in (("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "2"), ("PMI_SIZE", "2")):
        result = direct("init", "who", **{name: value})
        expect(result.code != 0 and not result.out and f"{name}={value}" in result.err, result)
        three_lines(result.err)
        allowed = direct("init", "who", "finalize", **{name: value, "ALHENA_ALLOW_SINGLETON": "1"})
        expect(allowed.code == 0 and allowed.out.startswith("rank 0 of 1"), allowed)


def other_library():
    """A library of an Open MPI whose ABI has no front-end here, and that does not speak to this mpiexec."""
    from harness import work
    directory = os.path.join(work, "other")
    os.makedirs(directory, exist_ok=True)
    library, program = os.path.join(directory, "libmpi.so.20"), os.path.join(directory, "program")
    source = os.path.join(directory, "other.c")
    with open(source, "w") as file:
        file.write("void MPI_Init(void) {}\n")
    main = os.path.join(directory, "main.c")
    with open(main, "w") as file:
        file.write("#include <stdio.h>\n#include <unistd.h>\nvoid MPI_Init(void);\n"
                   "int main(int c, char **v) { (void)v; MPI_Init(); puts(\"rank 0 of 1\"); if (c > 1) sleep(1); return 0; }\n")
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.20", source, "-o", library], check=True)
    subprocess.run([cc, main, "-o", program, library, f"-Wl,-rpath,{directory}"], check=True)
    for words in ([], ["stay"]):
        result = job("-n", 2, program, *words)
        expect(result.code == 0 and result.err.count("another MPI library") == 1, result)
        three_lines(result.err)
        expect("libmpi.so.20" in result.err, result)
    expect(not job("-q", "-n", 2, program).err, "-q")
    expect(not job("-n", 1, program).err, "one rank is rank 0 of 1 anyway")


def hydra():
    mpiexec = os.environ.get("MPICH_MPIEXEC") or shutil.which("mpiexec.hydra")
    if not mpiexec:
        raise Skip("no other launcher (MPICH_MPIEXEC=FILE names MPICH's mpiexec)")
    process = subprocess.Popen([mpiexec, "-n", "3", RANK, "init", "barrier", "who", "barrier", "finalize"],
                               env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result = finish(process)
    expect(result.code == 0 and result.lines == [f"rank {r} of 3 app 0" for r in range(3)], result)


class PortServer:
    """A PMI-1 server as `PMI_PORT` names it: every rank connects and sends its PMI_ID."""

    def __init__(self, size):
        self.size, self.keys, self.waiting = size, {"PMI_process_mapping": f"(vector,(0,1,{size}))"}, []
        self.finalized = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock = threading.Lock()
        for _ in range(size):
            threading.Thread(target=self.serve, args=(self.listener.accept,), daemon=True).start()

    def serve(self, accept):
        connection, _ = accept()
        lines = connection.makefile("rw", newline="\n")
        for line in lines:
            with self.lock:
                for rank_lines, answer in self.answer(lines, dict(w.split("=", 1) for w in line.split())):
                    rank_lines.write(answer + "\n")
                    rank_lines.flush()

    def answer(self, me, line):
        command = line["cmd"]
        if command == "initack":
            return [(me, a) for a in ("cmd=initack rc=0", f"cmd=set size={self.size}", f"cmd=set rank={line['pmiid']}")]
        if command == "barrier_in":
            self.waiting.append(me)
            if len(self.waiting) < self.size:
                return []
            all_ranks, self.waiting = self.waiting, []
            return [(rank, "cmd=barrier_out") for rank in all_ranks]
        if command == "put":
            self.keys[line["key"]] = line["value"]
        if command == "get" and line["key"] not in self.keys:
            return [(me, "cmd=get_result rc=-1 msg=not_found")]
        self.finalized += command == "finalize"
        return [(me, {
            "init": "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1",
            "get_my_kvsname": "cmd=my_kvsname kvsname=port",
            "get_appnum": "cmd=appnum appnum=2",
            "get_universe_size": "cmd=universe_size size=9",
            "put": "cmd=put_result rc=0",
            "get": "cmd=get_result rc=0 value=" + self.keys.get(line.get("key"), ""),
            "finalize": "cmd=finalize_ack",
        }[command])]


def pmi_port():
    server = PortServer(3)
    start = lambda rank: subprocess.Popen(
        [RANK, "init", "barrier", "who", "finalize"], env=environment(PMI_PORT=server.address, PMI_ID=str(rank)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for rank, process in enumerate([start(rank) for rank in range(3)]):
        result = finish(process)
        expect(result.code == 0 and result.out == f"rank {rank} of 3 app 2\n", result)
    expect(server.finalized == 3, "not every rank sent finalize")

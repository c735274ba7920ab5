"""Ranks, programs, environment, placement."""
import os

from harness import MPIEXEC, RANK, Skip, expect, job


def cases():
    return [
        ("ranks are numbered and meet in a barrier", ranks),
        ("one rank needs no memory to share", singleton),
        ("a job of many ranks on few processors", many),
        ("several programs in one job", programs),
        ("programs from a file", config_file),
        ("the exported environment", exported),
        ("-env, -genv, -envnone, -envlist, -x", variables),
        ("-wdir and -path", directories),
        ("parameters reach the ranks", parameters),
        ("-memory-alloc-kinds: what is known of the kinds asked for", memory_kinds),
        ("mpiexec below a rank starts a job of its own", nested),
        ("a script as the program of a rank", wrapper),
        ("binding splits the allowed processors", binding),
        ("hosts that mean this one", hosts),
        ("a sender that computes while its connection is being made", first_message),
    ]


def first_message():
    """The sender computes until its first message was received, which needs a connection."""
    from harness import work
    # Ranks 0 and 3 of 8 do not meet in a barrier.
    ways = [(["0:send=3"], ["3:receive=0"]), (["0:start=3"], ["3:receive=0"]), (["0:parts=3"], ["3:part=0"]),
            (["spread=0"], [f"{rank}:complete" for rank in range(1, 8)])]
    for turn, (sends, receives) in enumerate(ways * 3):
        ready, got = os.path.join(work, f"ready{turn}"), os.path.join(work, f"got{turn}")
        result = job("-n", 8, "--mca", "btl", "self,tcp", "--mca", "coll_areas", 0, "-timeout", 20, RANK, "init", *sends,
                     f"0:touch={ready}", f"0:await={got}", f"3:await={ready}", *receives, f"3:touch={got}", "0:complete",
                     "barrier", "3:send=0", "0:receive=3", "finalize")
        expect(result.code == 0 and not result.err, (sends, result))


def ranks():
    result = job("-n", 4, RANK, "init", "barrier", "who", "barrier", "finalize")
    expect(result.code == 0 and not result.err, result)
    expect(result.lines == [f"rank {r} of 4 app 0" for r in range(4)], result)


def singleton():
    expect(job(RANK, "init", "who", "finalize").out == "rank 0 of 1 app 0\n", "mpiexec without -n")


def many():
    result = job("-n", 24, RANK, "init", "barrier", "who", "finalize")
    expect(result.code == 0 and len(result.lines) == 24, result)


def programs():
    result = job("-n", 1, RANK, "init", "who", "finalize", ":", "-n", 2, RANK, "init", "who", "finalize")
    expect(result.lines == ["rank 0 of 3 app 0", "rank 1 of 3 app 1", "rank 2 of 3 app 1"], result)


def config_file():
    from harness import work
    path = os.path.join(work, "programs")
    with open(path, "w") as file:
        file.write(f"# two programs\n-n 1 {RANK} init who finalize\n\n-n 1 -env A 'b c' {RANK} env=A init finalize\n")
    result = job("-l", "-configfile", path)
    expect(result.lines == ["[0] rank 0 of 2 app 0", "[1] A=b c"], result)


def exported():
    names = ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
             "OMPI_COMM_WORLD_NODE_RANK", "OMPI_UNIVERSE_SIZE", "GFORTRAN_UNBUFFERED_PRECONNECTED"]
    result = job("-n", 2, RANK, *[f"1:env={name}" for name in names])
    values = dict(line.split("=") for line in result.out.splitlines())
    expected = dict(zip(names, ["1", "2", "1", "2", "1", "2", "1", "2", "1", "2", "y"]))
    expect(values == expected, result)


def variables():
    steps = ["env=A", "env=B", "env=HOME"]
    result = job("-genv", "A", "1", "-l", "-n", 1, "-env", "B", "2", RANK, *steps, ":",
                 "-n", 1, "-envnone", "-x", "A=3", RANK, *steps, ":",
                 "-n", 1, "-envlist", "B", RANK, *steps, ":",
                 "-n", 1, "-envlist", "HOME,NO", "-x", "B", RANK, *steps, env={"B": "9", "HOME": "/h"})
    expect(result.lines == sorted([
        "[0] A=1", "[0] B=2", "[0] HOME=/h",
        "[1] A=3", "[1] B unset", "[1] HOME unset",
        "[2] A=1", "[2] B=9", "[2] HOME unset",
        "[3] A=1", "[3] B=9", "[3] HOME=/h"]), result)


def directories():
    directory, name = os.path.split(RANK)
    result = job("-wdir", "/", "-path", directory, "-n", 1, "sh", "-c", f"pwd; exec {name} print=found",
                 env={"PATH": f"{directory}:{os.environ['PATH']}"})
    expect(result.out == "/\nfound", result)
    expect(job("-wdir", directory, "-n", 1, f"./{name}", "print=here").out == "here", "a relative program")


def parameters():
    result = job("--mca", "btl_vader_eager_limit", "8k", "-initial-errhandler", "mpi_errors_return", "-n", 1, RANK,
                 "env=ALHENA_MCA_btl_vader_eager_limit", "env=ALHENA_MCA_mpi_initial_errhandler", "init", "finalize")
    expect(result.out == "ALHENA_MCA_btl_vader_eager_limit=8k\n"
           "ALHENA_MCA_mpi_initial_errhandler=mpi_errors_return\n", result)
    result = job("--mca", "btl_vader_eager_limt", "8k", "-n", 1, "true")
    expect(result.code == 0 and "did you mean btl_vader_eager_limit?" in result.err, result)


def memory_kinds():
    kinds = lambda *flags: job(*flags, RANK, "init", "kinds", "finalize").lines
    both = lambda text: [f"environment: {text}", f"world: {text}"]
    seen = kinds("-memory-alloc-kinds", "mpi:alloc_mem:win_allocate,cuda,mpi:magic,system")
    expect(seen == both("system,mpi,mpi:alloc_mem:win_allocate"), seen)
    seen = kinds("-memory-alloc-kinds", "cuda:device")
    expect(seen == both("system,mpi"), seen)
    expect(kinds("-n", 1) == ["environment: unset", "world: system,mpi"], "without the flag")


def nested():
    result = job("-n", 2, "sh", "-c", f"exec {MPIEXEC} -n 3 {RANK} init who finalize")
    expect(result.lines == sorted([f"rank {r} of 3 app 0" for r in range(3)] * 2), result)


def wrapper():
    result = job("-n", 2, "sh", "-c", f"{RANK} init barrier who finalize; echo after")
    expect(result.lines == ["after", "after", "rank 0 of 2 app 0", "rank 1 of 2 app 0"], result)


def binding():
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        raise Skip("one processor only")
    quiet = job("-n", 2, RANK, "cpus")
    sets = [set(line.split()[1:]) for line in quiet.out.splitlines()]
    if sets[0] == sets[1]:
        raise Skip("a control group limits processor time here, so no rank is bound")
    expect(not sets[0] & sets[1] and sets[0] | sets[1] == {str(cpu) for cpu in allowed}, quiet)
    crowd = job("-n", len(allowed) + 1, "-report-bindings", RANK, "cpus")
    expect(set(crowd.lines) == {"cpus " + " ".join(map(str, allowed))}, crowd)
    expect("is not bound (more ranks than processors" in crowd.err, crowd)
    one = job("-n", 2, "-cpu-list", f"{allowed[1]},{allowed[0]}", "-l", RANK, "cpus")
    expect(one.lines == [f"[0] cpus {allowed[1]}", f"[1] cpus {allowed[0]}"], one)
    none = job("-n", 1, "-bind-to", "none", RANK, "cpus")
    expect(none.out == "cpus " + " ".join(map(str, allowed)) + "\n", none)


def hosts():
    own = os.uname().nodename
    for name in ("localhost", own, "127.0.0.1", f"{own}:8,localhost"):
        expect(job("-hosts", name, "-n", 2, RANK, "print=x\n").lines == ["x", "x"], name)

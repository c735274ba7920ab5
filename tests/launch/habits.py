"""What users of other launchers type: flags, parameters and variables."""
import os

from harness import RANK, Skip, expect, job, three_lines


def cases():
    return [
        ("flags that bind as Open MPI's and MPICH's", bindings),
        ("repeated hosts are slots", repeated_hosts),
        ("flags that have nothing to do are accepted with one note", accepted),
        ("fault tolerance is refused with a reason", fault_tolerance),
        ("a prefix by a pattern", prefix_pattern),
        ("parameters of Open MPI that need nothing are silent", silent),
        ("transports of Open MPI are dropped while a usable one remains", transports),
        ("typing errors are named", typing_errors),
        ("parameters of Open MPI's launcher are translated", translated),
        ("ranks whose environment is removed say that each is a job of one", lost_environment),
    ]


def processors(*arguments, env=None):
    """The processors of each rank."""
    result = job(*arguments, "-l", RANK, "cpus", env=env)
    expect(result.code == 0, result)
    return [[int(word) for word in line.split()[2:]] for line in result.lines]



def lost_environment():
    result = job("-n", 2, "env", "-i", RANK, "init", "who", "finalize")
    said = [line for line in result.err.splitlines() if "mpiexec (pid" not in line]
    expect(result.code == 0 and sum("a job of its own, of one rank" in line for line in said) == 2, result)
    expect(result.err.count("`env -i`") == 2, result)
    result = job("-n", 2, "env", "-i", "ALHENA_ALLOW_SINGLETON=1", RANK, "init", "who", "finalize")
    expect(result.code == 0 and result.err == "", result)


def bindings():
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        raise Skip("one processor")
    siblings = f"/sys/devices/system/cpu/cpu{mine[0]}/topology/thread_siblings_list"
    if open(siblings).read().strip() != str(mine[0]):
        raise Skip("cores have several threads")
    for flags in (["--map-by", "slot:PE=2"], ["--map-by", "core:PE=2"], ["-bind-to", "core:2"], ["--cpus-per-proc", 2],
                  ["--map-by", "slot:PE=2", "--bind-to", "core"]):
        expect(processors("-n", 1, *flags) == [mine[:2]], flags)
    for flags in (["--bind-to-core"], ["--bind-to-core", "--bycore"], ["-bind-to", "rr"], ["-mca", "hwloc_base_binding_policy", "core"]):
        expect(processors("-n", 2, *flags) == [[cpu] for cpu in mine[:2]], flags)
    user = f"user:{mine[1]},{mine[0]}+{mine[1]}"
    expect(processors("-n", 3, "-bind-to", user) == [[mine[1]], mine[:2], [mine[1]]], user)


def repeated_hosts():
    from harness import work
    path = os.path.join(work, "twice")
    with open(path, "w") as file:
        file.write("localhost\nlocalhost\n127.0.0.1\n")
    for flags, ranks in ((["-H", "localhost,localhost"], 2), (["-hostfile", path], 3)):
        expect(job(*flags, RANK, "print=x\n").lines == ["x"] * ranks, flags)


ACCEPTED = [["--noprefix"], ["--tmpdir", "/tmp"], ["--personality", "ompi"], ["--debug"], ["-demux", "poll"], ["-topolib", "hwloc"],
            ["-disable-hostname-propagation"]]


def accepted():
    for flags in ACCEPTED + [sum(ACCEPTED, [])]:
        result = job(*flags, "-n", 1, "echo", "x")
        expect(result.out == "x\n" and result.code == 0, result)
        expect(len(result.err.splitlines()) == 1 and flags[0].lstrip("-") in result.err, result)
    expect(not job("-q", "--debug", "-n", 1, "true").err, "-q")
    expect(not job("--allow-run-as-root", "-n", 1, "true").err, "--allow-run-as-root is what happens anyway")


def fault_tolerance():
    for flags in (["--with-ft", "ulfm"], ["--enable-recovery"]):
        result = job(*flags, "-n", 1, "true")
        expect(result.code == 0 and not result.err, result)
    result = job("--with-ft", "perhaps", "-n", 1, "true")
    expect(result.code != 0 and "ulfm" in result.err, result)
    expect(job("--with-ft", "no", "-n", 1, "true").code == 0, "--with-ft no")


def prefix_pattern():
    result = job("-prepend-pattern", "<%r of %a> ", "-n", 1, "echo", "x", ":", "-n", 1, "echo", "y")
    expect(result.lines == ["<0 of 0> x", "<1 of 1> y"], result)


NAMES = "pml coll osc io mtl mpi_leave_pinned btl_base_verbose btl_openib_allow_ib pml_ucx_tls coll_hcoll_enable " \
        "opal_cuda_support orte_base_help_aggregate plm_base_verbose"


def silent():
    for name in NAMES.split():
        for result in (job("--mca", name, "1", "-n", 1, "true"), job("-n", 1, "true", env={f"OMPI_MCA_{name}": "1"})):
            expect(result.code == 0 and not result.err, (name, result))


    for value in ("ucx", "^ucx", "ob1"):
        result = job("--mca", "pml", value, "-n", 2, RANK, "init", "barrier", "finalize")
        expect(result.code == 0 and not result.err, (value, result))


def transports():
    ring = [RANK, "init", "barrier", "finalize"]
    for value in ("^openib", "vader,self,openib", "^openib,ofi,uct", "sm,self"):
        for result in (job("--mca", "btl", value, "-n", 2, *ring), job("-n", 2, *ring, env={"OMPI_MCA_btl": value})):
            expect(result.code == 0 and not result.err, (value, result))
    result = job("--mca", "btl", "openib,self", "-n", 2, *ring)
    expect(result.code == 0 and "default" in result.err, result)


def typing_errors():
    for flags, env, part in (
        (["--mca", "btl_tcp_if_inclde", "lo"], {}, "btl_tcp_if_include"),
        ([], {"OMPI_MCA_btl_tcp_if_inclde": "lo"}, "btl_tcp_if_include"),
        ([], {"ALHENA_MCA_btl_tcp_if_inclde": "lo"}, "btl_tcp_if_include"),
        (["--mca", "btl", "self,vadre"], {}, "vader"),
        (["--mca", "nonsense", "1"], {}, "nonsense"),
    ):
        result = job(*flags, "-n", 1, "true", env=env)
        expect(len(result.err.splitlines()) == 1 and part in result.err, result)


def translated():
    for flags, env in ((["--mca", "orte_tag_output", "1"], {}), ([], {"OMPI_MCA_orte_tag_output": "1"})):
        expect(job(*flags, "-n", 1, "echo", "x", env=env).out == "[0]<stdout>: x\n", flags)
    result = job("--mca", "rmaps_base_mapping_policy", "ppr:2:node", RANK, "print=x\n")
    expect(result.lines == ["x", "x"] and not result.err, result)

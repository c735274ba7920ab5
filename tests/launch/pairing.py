"""Launchers and libraries that do not belong together."""
import os
import shutil
import subprocess

from harness import RANK, Skip, environment, expect, finish, job, three_lines


def cases():
    return [
        ("a program started alone", alone),
        ("a program under a launcher that cannot be reached stops", unreachable),
        ("a program started by a rank stops", below_a_rank),
        ("a rank with another MPI library is noticed", other_library),
        ("PMI-1 of another launcher", hydra),
    ]


def direct(*words, **env):
    process = subprocess.Popen([RANK, *words], env=environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return finish(process)


def alone():
    result = direct("init", "who", "finalize")
    expect(result.code == 0 and result.out.startswith("rank 0 of 1"), result)


def unreachable():
    for name, value in (("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "2"), ("PMI_SIZE", "2")):
        result = direct("init", "who", **{name: value})
        expect(result.code != 0 and not result.out and f"{name}={value}" in result.err, result)
        three_lines(result.err)
        allowed = direct("init", "who", "finalize", **{name: value, "ALHENA_ALLOW_SINGLETON": "1"})
        expect(allowed.code == 0 and allowed.out.startswith("rank 0 of 1"), allowed)


def below_a_rank():
    result = job("-n", 2, "sh", "-c", f"{RANK} init barrier 0:sleep=100 finalize; {RANK} init who")
    expect(result.code != 0 and "rank 0 of 1" not in result.out, result)


def other_library():
    """A library that calls itself Open MPI's and does not speak to this mpiexec."""
    from harness import work
    directory = os.path.join(work, "other")
    os.makedirs(directory, exist_ok=True)
    library, program = os.path.join(directory, "libmpi.so.40"), os.path.join(directory, "program")
    source = os.path.join(directory, "other.c")
    with open(source, "w") as file:
        file.write("void MPI_Init(void) {}\n")
    main = os.path.join(directory, "main.c")
    with open(main, "w") as file:
        file.write("#include <stdio.h>\n#include <unistd.h>\nvoid MPI_Init(void);\n"
                   "int main(int c, char **v) { (void)v; MPI_Init(); puts(\"rank 0 of 1\"); if (c > 1) sleep(1); return 0; }\n")
    cc = os.environ.get("CC", "cc")
    subprocess.run([cc, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", source, "-o", library], check=True)
    subprocess.run([cc, main, "-o", program, library, f"-Wl,-rpath,{directory}"], check=True)
    for words in ([], ["stay"]):
        result = job("-n", 2, program, *words)
        expect(result.code == 0 and result.err.count("another MPI library") == 1, result)
        three_lines(result.err)
        expect("libmpi.so.40" in result.err, result)
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

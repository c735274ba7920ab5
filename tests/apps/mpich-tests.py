"""Builds and runs the programs that the testlist files of MPICH's suite name; one line each."""
import os
import re
import shutil
import subprocess
import sys

import mpich_fortran

DIRECTORIES = ["attr", "comm", "datatype", "errhan", "group", "info", "init", "mpi_t", "pt2pt", "topo", "part", "coll",
               "threads/comm", "threads/pt2pt", "threads/init", "threads/coll", "threads/mpi_t", "errors/attr", "errors/basic",
               "errors/coll", "errors/comm", "errors/group", "errors/pt2pt", "errors/topo", "errors/datatype", "impls/mpich/comm",
               "rma", "errors/rma", "threads/rma", "io", "errors/io", "threads/io", "spawn", "errors/spawn", "threads/spawn", "ft"]
MOST_RANKS = 10
SECONDS = 90


class Case:
    """A line of a testlist: program, ranks, arguments and environment."""

    def __init__(self, directory, line):
        words = line.split()
        self.directory, self.program, self.ranks = directory, words[0], int(words[1])
        self.arguments = [word[4:] for word in words[2:] if word.startswith("arg=")]
        self.environment = dict(word[4:].split("=", 1) for word in words[2:] if word.startswith("env="))
        if "MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT" in self.environment:
            seconds = int(self.environment["MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT"])
            self.environment["ALHENA_MCA_dynamic_connect_timeout_ms"] = str(1000 * seconds)
        self.must_fail = any(word in ("resultTest=TestStatus", "resultTest=TestErrFatal") for word in words)
        # Ranks of these die, and the job goes on; one of them prints the result, whatever the exit code.
        self.survives = directory == "ft"
        self.expected_failure = any(word.startswith("xfail=") for word in words)

    @property
    def path(self):
        return f"{self.directory}/{self.program}"

    def __str__(self):
        return " ".join([self.path, f"-n {self.ranks}", *self.arguments])


def cases(suite, build, directory):
    """The cases of one directory, those apart left out that differ in MPICH's own variables only."""
    for root in (build, suite):
        for name in ("testlist", "testlist.in"):
            path = os.path.join(root, directory, name)
            if os.path.exists(path):
                seen, found = set(), []
                for line in open(path):
                    # Where the suite's configure leaves cases out.
                    line = re.sub(r"^@\w+@", "", line.strip())
                    if not re.match(r"[a-zA-Z_0-9]+ +\d+", line.strip()):
                        continue
                    case = Case(directory, line)
                    if str(case) not in seen:
                        seen.add(str(case))
                        found.append(case)
                return found
    return []


def skips(path):
    """Program or directory/program -> reason."""
    lines = (line.split("#", 1) for line in open(path) if line.strip() and not line.startswith("#"))
    return {name.strip(): reason.strip() for name, reason in lines}


def compile_program(suite, build, prefix, case):
    """Compiles a program, once; None, or the compiler's output."""
    into = os.path.join(build, "bin", case.path)
    if os.path.exists(into):
        return None
    if mpich_fortran.language_of(case):
        return mpich_fortran.compile_program(suite, build, prefix, case)
    os.makedirs(os.path.dirname(into), exist_ok=True)
    makefile = open(os.path.join(suite, case.directory, "Makefile.am")).read()
    flags = re.findall(rf"^{case.program}_CPPFLAGS *= *(.*)$", makefile, re.M)
    words = [word for line in flags for word in line.split() if word.startswith("-D")]
    sources = re.findall(rf"^{case.program}_SOURCES *= *(.*)$", makefile, re.M)
    files = [os.path.join(suite, case.directory, word) for line in sources for word in line.split()] or [os.path.join(suite, case.directory, case.program + ".c")]
    if not os.path.exists(files[0]):
        return "its source is made by MPICH's build or in another language"
    utilities = [os.path.join(build, "util/.libs", name) for name in ("libdtypes.a", "libmtest.a", "libmtest_thread.a", "libmtest.a")]
    before = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpich-tests.h")
    extension = ["-include", "mpi-ext.h"] if case.survives else []
    command = [os.path.join(prefix, "bin/mpicc"), "-w", "-O1", "-DHAVE_CONFIG_H", *words, "-include", before, *extension,
               f"-I{build}/include", f"-I{suite}/include", f"-I{build}/dtpools/include", f"-I{suite}/dtpools/include",
               *files, *utilities, f"{build}/dtpools/src/.libs/libdtpools.a", "-lpthread", "-lm",
               "-o", into]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()[-600:]


def run(build, prefix, case):
    """None, or what went wrong."""
    # Programs that start others ask whether there is room for more; by default that is what this machine has processors for.
    more = ["-with-ft", "ulfm"] if case.survives else []
    command = [os.path.join(prefix, "bin/mpiexec"), "-usize", "64", *more, "-n", str(case.ranks), os.path.join(build, "bin", case.path), *case.arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, stdin=subprocess.DEVNULL,
                              cwd=os.path.join(build, "bin", case.directory), env={**os.environ, **case.environment})
    except subprocess.TimeoutExpired:
        return f"not finished after {SECONDS} s"
    is_good = "no errors" in done.stdout.lower() and (done.returncode == 0 or case.survives)
    content = done.returncode != 0 if case.must_fail else is_good
    return None if content else f"exit status {done.returncode}\n" + (done.stdout + done.stderr)[-1500:]


def main():
    suite, build, prefix, *chosen = sys.argv[1:]
    excluded = skips(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpich-tests.skip"))
    failures = 0
    fortran = mpich_fortran.DIRECTORIES
    if not chosen and not (shutil.which("gfortran") and os.path.exists(f"{prefix}/bin/mpifort")):
        print("skip: mpich-tests: programs in Fortran, as gfortran is not installed")
        fortran = []
    for directory in chosen or DIRECTORIES + fortran:
        for case in cases(suite, build, directory):
            reason = excluded.get(case.path) or excluded.get(str(case))
            if not reason and case.ranks > MOST_RANKS:
                reason = f"more than {MOST_RANKS} ranks"
            if reason:
                print(f"skip: mpich-tests: {case}: {reason}")
                continue
            wrong = compile_program(suite, build, prefix, case) or run(build, prefix, case)
            if wrong:
                failures += 1
                print(f"FAIL mpich-tests: {case}{' (MPICH expects this)' if case.expected_failure else ''}: {wrong}", flush=True)
            else:
                print(f"ok mpich-tests: {case}", flush=True)
    return failures != 0


sys.exit(main())

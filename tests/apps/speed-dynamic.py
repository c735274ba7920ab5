"""Runs speed-dynamic.c with several MPIs in alternated rounds, and prints medians, their floors and ratios.

usage: speed-dynamic.py SOURCE WORK ROUNDS PREFIX…     the first is Alhena
"""

import os
import statistics
import subprocess
import sys
import time

LIMIT = 120  # seconds a run
TOLERATED = 1.25  # of the lowest floor


class Mpi:
    def __init__(self, prefix, source, work, number):
        self.prefix = prefix
        version = subprocess.run([f"{prefix}/bin/mpiexec", "--version"], capture_output=True, text=True).stdout
        self.name = "Open MPI" if "Open MPI" in version or "PRRTE" in version else "MPICH" if number else "Alhena"
        self.program = f"{work}/speed-dynamic-{number}"
        # MPICH has no mpi-ext.h.
        with_failures = [] if self.name == "MPICH" else ["-DWITH_FAILURES"]
        built = [f"{prefix}/bin/mpicc", "-O2", *with_failures, source, "-o", self.program]
        subprocess.run(built, check=True, stdout=subprocess.DEVNULL)
        self.has_failures = bool(with_failures)

    def run(self, ranks, *arguments, options=()):
        """The figures that a run prints, by name."""
        more = {"Open MPI": ["--map-by", ":OVERSUBSCRIBE"], "Alhena": ["-usize", "32"], "MPICH": ["-usize", "32"]}[self.name]
        command = [f"{self.prefix}/bin/mpiexec", "-n", str(ranks), *more, *options, self.program, *arguments]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=os.environ | root)
        except subprocess.TimeoutExpired:
            return {}
        words = (line.split() for line in done.stdout.splitlines())
        return {word[0]: float(word[1]) for word in words if len(word) == 2}

    def figures(self):
        found = self.run(1, "spawn", "1", "3") | self.run(1, "spawn", "16", "1") | self.run(2, "connect", "20")
        if self.has_failures:
            for ranks in (4, 16):
                of_these = self.run(ranks, "failures", "50", options=["--with-ft", "ulfm"])
                found |= {f"{name}-{ranks}": value for name, value in of_these.items()}
        return found


def floor():
    start = time.monotonic()
    for _ in range(100):
        subprocess.run(["/bin/true"], check=True)
    return time.monotonic() - start


def main(source, work, rounds, *prefixes):
    mpis = [Mpi(prefix, source, work, number) for number, prefix in enumerate(prefixes)]
    rows = []
    for number in range(int(rounds)):
        before = floor()
        order = mpis[number % len(mpis) :] + mpis[: number % len(mpis)]
        found = {mpi.name: mpi.figures() for mpi in order}
        rows.append((max(before, floor()), found))
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
    limit = TOLERATED * min(row[0] for row in rows)
    quiet = [found for took, found in rows if took <= limit]
    print(f"{len(quiet)} of {rounds} rounds count" + ("" if len(quiet) >= 9 else ": too few for a verdict"))
    others = [mpi.name for mpi in mpis[1:]]
    print(f"{'µs':<12}" + "".join(f"{name:>14}" for name in ["Alhena", *others]) + "  of the better other's time")
    for what in quiet[0]["Alhena"] if quiet else []:
        values = {name: [found[name][what] for found in quiet if what in found[name]] for name in ["Alhena", *others]}
        cells = "".join(f"{statistics.median(of):>14.1f}" if of else f"{'—':>14}" for of in values.values())
        pairs = [
            found["Alhena"][what] / min(found[name][what] for name in others if what in found[name])
            for found in quiet
            if what in found["Alhena"] and any(what in found[name] for name in others)
        ]
        print(f"{what:<12}{cells}" + (f"  {statistics.median(pairs):.3f}" if pairs else ""))


main(*sys.argv[1:])

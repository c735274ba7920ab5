"""What `mpiexec -check` says of a suite of right and wrong programs: checkers.py MBI|CorrBench TREE PREFIX.

A wrong program is found if its job does not end with code 0; it is named if the output has a line of the error, too. One that ran out
of time is late, which says nothing. Prints a row for each class, the programs that were missed or late, and those that are right
and were called wrong; ends with 1 where there are any.
"""

import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

SUITE, TREE, PREFIX = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
EVERY = int(os.environ.get("EVERY", "1"))
ONLY = os.environ.get("ONLY", "")
FLAGS = ["-check", "-timeout", os.environ.get("LIMIT", "60"), "--mca", "mpi_deadlock_s", "1"]
FLAGS += os.environ.get("FLAGS", "").split()
BUILDING = defaultdict(Lock)


def of_mbi():
    """Program, ranks, class (None: right), lines of the error, arguments."""
    for path in sorted((TREE / "codes").glob("*.c")):
        text = path.read_text(errors="replace")
        seen = set()
        test = r"\$ mpirun -np (\d+) .*\$\{EXE\}(.*)\n\s*\| (.*)\n\s*\| (.*)"
        for ranks, arguments, first, second in re.findall(test, text):
            error = re.match(r"ERROR: *(\w+)", first)
            case = (int(ranks), error and error[1], arguments)
            if case not in seen:
                seen.add(case)
                lines = [int(line) for line in re.findall(r"\.c:(\d+)", second)]
                yield path, case[0], case[1], lines, arguments.split()


def of_corrbench():
    """The same. Programs are in a folder for each part; names begin with the class."""
    base = TREE / "micro-benches" / "0-level"
    for path in sorted(base.rglob("*.c")):
        part = path.relative_to(base).parts[0]
        if part in ("conflo", "openmp"):
            continue
        text = path.read_text(errors="replace")
        lines = [int(line) for line in re.findall(r"line (\d+)", text)]
        error = None if part == "correct" else f"{part} {path.name.split('-')[0]}"
        yield path, 2, error, lines, []


def build(path):
    """The program of a source, and what the compiler says of one that it refuses."""
    program = path.with_suffix("")
    if not program.exists():
        words = [PREFIX / "bin/mpicc", "-g", "-w", "-I", path.parent, path, "-o", program, "-lm"]
        if SUITE == "CorrBench":
            words[1:1] = ["-I", TREE / "micro-benches" / "0-level" / "correct" / "include", "-std=gnu11"]
        built = subprocess.run(words, capture_output=True, text=True)
        if built.returncode:
            return None, built.stderr
    return program, ""


def judge(case):
    path, ranks, _, lines, arguments = case
    # Several cases may be of one program.
    with BUILDING[path]:
        program, complaints = build(path)
    if not program:
        return "broken", complaints
    words = [PREFIX / "bin/mpiexec", "-n", str(ranks), *FLAGS, program, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    output = done.stdout + done.stderr
    if done.returncode == 0:
        return "right", output
    if done.returncode == 124:
        return "late", output
    is_named = any(re.search(rf"{re.escape(path.name)}:{line}\b", output) for line in lines)
    return ("named" if is_named else "found"), f"code {done.returncode}\n{output}"


def main():
    cases = list(of_mbi() if SUITE == "MBI" else of_corrbench())[::EVERY]
    cases = [case for case in cases if re.search(ONLY, case[0].name)]
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        judged = list(pool.map(judge, cases))
    table, missed, alarms, broken, late = defaultdict(lambda: defaultdict(int)), [], [], [], []
    for (path, ranks, error, *_), (how, output) in zip(cases, judged):
        if how == "broken":
            broken.append(path.name)
            continue
        table[error or "right"][how] += 1
        if how == "late":
            late.append(path.name)
        elif error and how == "right":
            missed.append(f"{error}: {path.name} on {ranks}")
        elif not error and how != "right":
            alarms.append(f"{path.name} on {ranks}:\n{output}")
    print(f"{'class':36} programs  found  with the line  late")
    for error, of in sorted(table.items()):
        print(f"{error:36} {sum(of.values()):8} {of['found'] + of['named']:6} {of['named']:14} {of['late']:5}")
    wrong = [of for error, of in table.items() if error != "right"]
    total, found = sum(sum(of.values()) for of in wrong), sum(of["found"] + of["named"] for of in wrong)
    print(f"found {found} of {total}; {len(alarms)} alarms on {sum(table['right'].values())} right ones")
    for title, all_of_it in (("not compiled", broken), ("late", late), ("missed", missed), ("called wrong", alarms)):
        print("".join(f"{title}: {one}\n" for one in all_of_it), end="")
    return 1 if alarms else 0


sys.exit(main())

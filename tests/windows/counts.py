"""usage: counts.py LOG CALLGRIND-OUT-FILE

The instructions that counts.c's ways take, per operation; fails where alhena.h's take more than those of MPI, or not fewer than messages
(seed result S15). Of long copies callgrind counts an instruction for each byte, and none where the kernel copies, as it does for long
messages; so the bytes are left out of that comparison.
"""

import re
import sys
from pathlib import Path

ROUNDS = 200
# From this size on a copy is one instruction of the processor, which callgrind counts once for each byte.
STRING_MOVE = 4096
log, profile = sys.argv[1:]
calls = re.findall(r"^(counts|first) (\w+) (\d+)$", Path(log).read_text(), flags=re.M)
taken = {}
for number, (kind, way, size) in enumerate(calls, start=1):
    text = Path(f"{profile}.{number}").read_text()
    total = int(re.search(r"^(?:totals|summary): (\d+)", text, flags=re.M)[1])
    if kind == "counts":
        taken[way, int(size)] = total // ROUNDS
sizes = sorted({size for _, size in taken})
good = bool(sizes)
for size in sizes:
    for way in ("put", "get"):
        light, mpi = taken[f"alhena_{way}", size], taken[f"MPI_{way.capitalize()}", size]
        messages = taken["messages", size]
        copied = size if size >= STRING_MOVE else 0
        good &= light <= mpi and light - copied < messages
        print(f"{way} {size} B {light}, MPI {mpi}, messages {messages};", end=" ")
print()
sys.exit(0 if good else 1)

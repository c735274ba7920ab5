"""usage: same.py COUNTED.txt PROFILE.json: whether a profile has the calls and bytes that a tool of fifty lines has counted."""
import collections
import json
import sys

counted = {}
for line in open(sys.argv[1]):
    rank, call, count, size = line.split()
    counted[int(rank), call] = int(count), int(size)
report = json.load(open(sys.argv[2]))
seen = collections.defaultdict(lambda: (0, 0))
for site in report["sites"]:
    for one in site["ranks"]:
        size = sum(one.get(kind, {"sum": 0})["sum"] for kind in ("sent", "io", "one_sided"))
        before = seen[one["rank"], site["call"]]
        seen[one["rank"], site["call"]] = before[0] + one["time"]["count"], before[1] + size
bad = {key: (value, seen[key]) for key, value in counted.items() if seen[key] != value and key[1] != "Start"}
# What is started again counts at each start, which the tool does not know: three times 25 integers at rank 0.
starts = [seen[rank, "Start"] for rank in (0, 1)]
if bad or not counted or starts != [(3, 300), (3, 0)]:
    sys.exit(f"differs: {bad}, starts {starts}")
pairs = {(p["from"], p["to"]): (p["messages"], p["bytes"], p["one_sided"]) for p in report["pairs"]}
last = report["size"] - 1
expected = {(0, 1): (13, 5800, 4)}
for rank in range(report["size"]):
    expected.setdefault((rank, (rank + 1) % report["size"]), (0, 0, 4))
m, b, o = expected.get((last, last - 1), (0, 0, 0))
expected[last, last - 1] = m + 1, b + 4, o
if pairs != expected:
    sys.exit(f"pairs: {pairs}, not {expected}")
print(f"{len(counted)} numbers agree")

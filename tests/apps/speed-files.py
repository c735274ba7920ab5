"""Says of each figure that is asked of files whether it holds: reads what `alhena bench io --json` has written.

usage: speed-files.py FILE…     FILE: PART-PLACE-RANKS.json
"""

import json
import pathlib
import sys


def rows(report, mode, view):
    """The rows of a view of a mode, and whether there is a verdict."""
    for result in report["results"]:
        for found in result["views"]:
            if (result["mode"], found["view"]) == (mode, view):
                return found["rows"], found["verdict"]
    return [], True


def over_floor(row):
    return row["values"][0]


def to_best_rate(row):
    return min(row["ratios"])


def to_best_time(row):
    return max(row["ratios"])


# Mode, its view, sizes, what of a row, the limit, and whether more is better.
ASKED = [
    ("contiguous write over pwrite, from 1 MiB", "contiguous-write", "over", (1 << 20, 1 << 40), over_floor, 0.95, True),
    ("contiguous read over pread, from 1 MiB", "contiguous-read", "over", (1 << 20, 1 << 40), over_floor, 0.95, True),
    ("strided write over the better MPI, 8 to 512 bytes", "strided-write", "bandwidth", (8, 512), to_best_rate, 2, True),
    ("strided write over contiguous, from 4 KiB", "strided-write", "over", (4096, 1 << 40), over_floor, 0.85, True),
    ("open and close, of the better MPI's time", "open-close", "latency", (0, 1), to_best_time, 0.5, False),
    ("shared append, of the better MPI's time", "shared", "latency", (0, 1 << 40), to_best_time, 0.5, False),
    ("shared append over its floor", "shared", "over", (0, 1 << 40), over_floor, None, False),
]


def main(paths):
    for what, mode, view, (least, most), figure, limit, more in ASKED:
        for path in paths:
            _, place, ranks = path.stem.rsplit("-", 2)
            found, verdict = rows(json.loads(path.read_text()), mode, view)
            found = [(figure(row), row["bytes"]) for row in found if least <= row["bytes"] <= most]
            if not found:
                continue
            worst = min(found)[0] if more else max(found)[0]
            each = ", ".join(f"{value:.2f} ({size})" if size > 1 else f"{value:.2f}" for value, size in found)
            if limit is None:
                judged = "figure"
            elif not verdict:
                judged = "no verdict"
            else:
                judged = "holds" if (worst >= limit if more else worst <= limit) else "misses"
            asked = "" if limit is None else f" [{'at least' if more else 'at most'} {limit}]"
            print(f"{judged}: {what}, {place}, {ranks} ranks: {each}{asked}")


main([pathlib.Path(name) for name in sys.argv[1:]])

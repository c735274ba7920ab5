"""Mistakes on the command line: one clear message, a code other than 0, and nothing is started."""
import os

from harness import RANK, expect, job, three_lines


def cases():
    return [(f"refused: {name}", lambda arguments=arguments, part=part: refused(arguments, part))
            for name, arguments, part in MISTAKES] + [
        ("refused: an output pattern that cannot be written", unwritable),
        ("refused: a program that is no program", garbage),
        ("refused: more ranks than a host file has slots", slots),
        ("-version and -help", information),
    ]


MISTAKES = [
    ("no rank", ["-n", 0, RANK], "at least 1"),
    ("a negative count", ["-n", -3, RANK], "-3"),
    ("no program", ["-n", 2], "no program"),
    ("a missing program", ["-n", 2, "./no-such-program"], "no-such-program"),
    ("a missing program in PATH", ["-n", 2, "no-such-program"], "PATH"),
    ("a directory", ["-n", 2, "/"], "directory"),
    ("a file that is not executable", ["-n", 2, "/etc/passwd"], "chmod +x"),
    ("an unknown flag", ["-binding", "core", RANK], "unknown flag"),
    ("a misspelt flag", ["--bind-too", "core", RANK], "did you mean -bind-to?"),
    ("a flag without its value", ["-n"], "lacks its value"),
    ("contradictory binding", ["-bind-to", "none", "-map-by", "core:PE=2", RANK], "PE=2"),
    ("two bindings", ["-bind-to", "none", "-bind-to", "core", RANK], "contradict"),
    ("too many ranks to bind", ["-n", 1000, "-bind-to", "core", RANK], "1000 ranks"),
    ("too many ranks for ppr", ["-n", 1000, "-map-by", "ppr:1:node", RANK], "ppr:1:node"),
    ("too many ranks for -nooversubscribe", ["-n", 1000, "-nooversubscribe", RANK], "nooversubscribe"),
    ("another host", ["-hosts", "localhost,far-away", RANK], "far-away"),
    ("a missing host file", ["-f", "/no/hosts", RANK], "/no/hosts"),
    ("a missing working directory", ["-wdir", "/no/directory", RANK], "/no/directory"),
    ("standard input to a missing rank", ["-stdin", 7, "-n", 2, RANK], "2 ranks"),
    ("a variable that is not set", ["-x", "NO_SUCH_VARIABLE", RANK], "NO_SUCH_VARIABLE"),
]


def refused(arguments, part):
    result = job(*arguments)
    expect(result.code != 0 and not result.out, result)
    three_lines(result.err)
    expect(part in result.err, result)


def unwritable():
    result = job("-n", 2, "-outfile-pattern", "/no/directory/%r", RANK, "print=x")
    expect(result.code != 0 and "/no/directory/0" in result.err, result)
    three_lines(result.err)


def garbage():
    from harness import work
    path = os.path.join(work, "garbage")
    with open(path, "wb") as file:
        file.write(b"\x00\x01\x02")
    os.chmod(path, 0o755)
    result = job("-n", 2, path)
    expect(result.code == 126, result)
    three_lines(result.err)


def slots():
    from harness import work
    path = os.path.join(work, "hosts")
    with open(path, "w") as file:
        file.write("# this host\nlocalhost slots=2\n")
    expect(job("-f", path, RANK, "print=x\n").lines == ["x", "x"], "as many ranks as slots")
    result = job("-f", path, "-n", 3, RANK)
    expect(result.code != 0, result)
    three_lines(result.err)
    expect(job("-f", path, "-n", 3, "-oversubscribe", RANK, "print=x\n").lines == ["x"] * 3, "-oversubscribe")


def information():
    expect("Alhena" in job("--version").out, "-version")
    text = job("-help").out
    expect("-bind-to" in text and "usage: mpiexec" in text, text)

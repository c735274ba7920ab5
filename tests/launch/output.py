"""Standard input, output and error."""
import os
import pty
import select
import signal
import subprocess
import time

from harness import MPIEXEC, RANK, Skip, environment, expect, finish, job, start


def cases():
    return [
        ("lines of several ranks are never mixed", whole_lines),
        ("a last line without newline is not lost", no_newline),
        ("prefixes", prefixes),
        ("output files", files),
        ("output files with copies", copies),
        ("a full disk behind output files is reported", full_files),
        ("a full disk behind mpiexec's own output is reported", full_output),
        ("closed output is reported", closed_output),
        ("two ranks share an output file", shared_file),
        ("standard error joins standard output", merged),
        ("standard input reaches rank 0 only", stdin_first),
        ("standard input reaches the ranks asked for", stdin_chosen),
        ("much standard input", stdin_long),
        ("a pipe held by a grandchild is not waited for", grandchild),
        ("a reader that leaves ends the job", reader_leaves),
        ("a reader that stops does not hide a death", reader_stops),
        ("on a terminal nothing is lost before an abort", terminal),
        ("a prompt without newline shows on a terminal", prompt),
        ("a terminal where no pseudo-terminal can be had", no_further_terminal),
        ("a prompt without newline passes a pipe", piped_prompt),
        ("lines cut by a full buffer stay whole", cut_lines),
    ]


def whole_lines():
    result = job("-n", 4, RANK, "lines=2000")
    counts = {letter: result.lines.count(letter * 200) for letter in "abcd"}
    expect(set(counts.values()) == {2000} and len(result.lines) == 8000, counts)


def no_newline():
    result = job("-n", 2, RANK, "0:print=first", "1:sleep=50", "1:print=second")
    expect(result.out == "first\nsecond", result)
    expect(job("-n", 1, RANK, "print=a", "print=b").out == "ab", "one rank's bytes are unchanged")


def prefixes():
    expect(job("-l", "-n", 2, RANK, "print=x\ny\n").lines == ["[0] x", "[0] y", "[1] x", "[1] y"], "-l")
    tagged = job("-tag-output", "-timestamp-output", "-n", 1, "sh", "-c", "echo x; echo y >&2")
    expect(tagged.out.split()[1:] == ["[0]<stdout>:", "x"], tagged)
    expect(tagged.err.split()[1:] == ["[0]<stderr>:", "y"] and tagged.out[4] == "-", tagged)


def files():
    from harness import work
    pattern = os.path.join(work, "out-%r-%a")
    result = job("-outfile-pattern", pattern, "-n", 1, RANK, "print=x\n", ":", "-n", 1, RANK, "print=y\n")
    expect(result.code == 0 and not result.out, result)
    for name, text in (("out-0-0", "x\n"), ("out-1-1", "y\n")):
        with open(os.path.join(work, name)) as file:
            expect(file.read() == text, name)


def copies():
    from harness import work
    directory = os.path.join(work, "all")
    result = job("-output-filename", directory, "-n", 2, "sh", "-c", "echo $PMI_RANK; echo e >&2")
    expect(result.lines == ["0", "1"] and result.err == "e\ne\n", result)
    with open(os.path.join(directory, "1", "rank.1", "stdout")) as out:
        expect(out.read() == "1\n", "rank.1/stdout")
    with open(os.path.join(directory, "1", "rank.0", "stderr")) as err:
        expect(err.read() == "e\n", "rank.0/stderr")


def lost(result, path, error="No space left on device"):
    expect(result.code == 1, result)
    expect(f"lost output: writing to {path} failed" in result.err and f"seen: {error}" in result.err, result)
    expect(result.err.count("lost output") == 1, result)


def full_files():
    from harness import work
    directory = os.path.join(work, "full", "1", "rank.0")
    os.makedirs(directory)
    os.symlink("/dev/full", os.path.join(directory, "stdout"))
    name = os.path.join(work, "full", "name")
    os.symlink("/dev/full", name + ".0.err")
    lost(job("-outfile-pattern", "/dev/full", "-n", 2, "echo", "x"), "/dev/full")
    lost(job("-outfile-pattern", "/dev/full", "-l", "-n", 1, RANK, "init", "print=x\n", "finalize"), "/dev/full")
    lost(job("-output-filename", os.path.join(work, "full"), "-n", 2, "echo", "x"), os.path.join(directory, "stdout"))
    lost(job("-output", f"file={name}", "-n", 2, "sh", "-c", "echo x >&2"), name + ".0.err")
    expect(job("-outfile-pattern", "/dev/null", "-n", 2, "echo", "x").code == 0, "/dev/null takes all")


def full_output():
    with open("/dev/full", "wb") as full:
        lost(job("-n", 2, RANK, "init", "print=x\n", "finalize", stdout=full), "standard output (/dev/full)")
        lost(job("-help", stdout=full).err and job("-n", 1, "echo", "x", stdout=full), "standard output (/dev/full)")
        expect(job("-n", 2, "sh", "-c", "echo x >&2", stderr=full).code == 1, "standard error")
        expect(job("-no-such-flag", stderr=full).code == 2, "a message that cannot be written")


def closed_output():
    result = finish(subprocess.Popen(["sh", "-c", 'exec "$0" -n 2 echo x >&-', MPIEXEC], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment()))
    lost(result, "standard output (closed)", "Bad file descriptor")


def shared_file():
    from harness import work
    path = os.path.join(work, "shared")
    result = job("-outfile-pattern", path, "-n", 3, RANK, "lines=1000")
    expect(result.code == 0, result)
    with open(path) as file:
        lines = file.read().splitlines()
    expect(sorted(lines) == sorted([letter * 200 for letter in "abc"] * 1000), len(lines))


def merged():
    result = job("-merge-stderr-to-stdout", "-n", 1, "sh", "-c", "echo a; echo b >&2; echo c")
    expect(result.out == "a\nb\nc\n" and not result.err, result)


def stdin_first():
    result = job("-l", "-n", 2, RANK, "stdin", data=b"abc")
    expect(result.lines == ["[0] stdin 3 bytes sum 294", "[1] stdin 0 bytes sum 0"], result)


def stdin_chosen():
    for who, counts in (("1", [0, 3]), ("all", [3, 3]), ("none", [0, 0])):
        result = job("-l", "-stdin", who, "-n", 2, RANK, "stdin", data=b"abc")
        expect([int(line.split()[2]) for line in result.lines] == counts, (who, result))


def stdin_long():
    data = bytes(range(256)) * 20000
    for who in ("0", "all"):
        result = job("-stdin", who, "-n", 2, RANK, "stdin", data=data)
        expect(f"stdin {len(data)} bytes sum {sum(data)}" in result.out, (who, result))


def grandchild():
    for word in ("fork", "daemon"):
        result = job("-n", 2, RANK, word, "print=x\n")
        expect(result.code == 0 and result.lines == ["x", "x"], result)


def reader_leaves():
    process = start("-n", 2, "yes")
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    result = finish(process)
    expect(result.code != 0, result)


def reader_stops():
    process = start("-n", 2, RANK, "0:lines=100000", "1:sleep=300", "1:signal=9", "0:sleep=60000")
    # Nothing is read until mpiexec has ended the ranks; then all must be there.
    from harness import leftovers, wait_until
    wait_until(lambda: len(leftovers()) <= 2, "the ranks to be ended while no process reads")
    result = finish(process)
    expect(result.code == 137 and "rank 1" in result.err, result.code)


def on_terminal(*arguments, typed=b"", around=()):
    """Runs mpiexec on a pseudo-terminal, by the command `around`; returns its exit code and what the terminal showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*around, MPIEXEC, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
                               env=environment(), start_new_session=True)
    os.close(theirs)
    text = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if typed and b"? " in text:
            os.write(ours, typed)
            typed = b""
        if select.select([ours], [], [], 0.05)[0]:
            try:
                text += os.read(ours, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    os.close(ours)
    return process.wait(), text.decode(errors="replace").replace("\r\n", "\n")


def terminal():
    code, text = on_terminal("-n", 2, RANK, "init", "0:print=before\n", "0:print=the end", "barrier", "1:abort=3",
                             "sleep=9000")
    expect(code == 3 and "before\n" in text, (code, text))
    code, text = on_terminal("-n", 1, RANK, "print=before\n", "signal=9")
    expect(code == 137 and text.startswith("before\n"), (code, text))


def prompt():
    code, text = on_terminal("-n", 2, "sh", "-c", "[ $PMI_RANK = 1 ] || { printf 'name? '; read name; echo got $name; }",
                             typed=b"alhena\n")
    expect(code == 0 and "name? " in text and "got alhena" in text, (code, text))


def no_further_terminal():
    if os.getuid() != 0:
        raise Skip("only root can hide /dev/ptmx")
    around = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /dev/ptmx && exec "$0" "$@"']
    code, text = on_terminal("-n", 2, RANK, "init", "print=x\n", "finalize", around=around)
    if "unshare:" in text or "mount:" in text:
        raise Skip("no mount namespaces")
    expect(code == 0 and text == "x\nx\n", (code, text))


def piped_prompt():
    process = start("-n", 2, "sh", "-c", "[ $PMI_RANK = 1 ] || { printf 'name? '; read name; echo got $name; }",
                    stdin=subprocess.PIPE)
    expect(os.read(process.stdout.fileno(), 100) == b"name? ", "the prompt")
    result = finish(process, b"alhena\n")
    expect(result.code == 0 and result.out == "got alhena\n", result)


def cut_lines():
    # What the C library writes when its buffer is full ends anywhere in a line; the rest comes later.
    result = job("-n", 2, "sh", "-c", "head -c 4096 /dev/zero | tr '\\0' $PMI_RANK; sleep 0.3; echo $PMI_RANK")
    expect(result.lines == [digit * 4097 for digit in "01"], result)

"""Mistakes on the command line: one clear message, a code other than 0, and nothing is started."""
import os
import resource

from harness import RANK, expect, job, three_lines, work


def cases():
    return [(f"refused: {name}", lambda arguments=arguments, part=part: refused(arguments, part))
            for name, arguments, part in MISTAKES] + [
        ("refused: an output pattern that cannot be written", unwritable),
        ("refused: a program that is no program", garbage),
        ("refused: more ranks than a host file has slots", slots),
        ("refused: options of ssh in files and variables that name hosts", names_of_hosts),
        ("refused: ports and tokens for workers that cannot be had", workers),
        ("files of hosts that editors write", editors),
        ("refused: a host file without hosts", empty_files),
        ("refused: more ranks than there can be, without memory for them", sizes),
        ("arguments of a program that are no text", any_bytes),
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
    ("an option for ssh as a host", ["-host", "-oProxyCommand=false", RANK], "begins with -"),
    ("an option for ssh behind a user", ["-hosts", "me@-oProxyCommand=false", RANK], "begins with -"),
    ("a command as a host", ["-hosts", "$(id)", RANK], "no name of a host"),
    ("hosts of workers", ["-listen", 0, "-token-file", "/no/token", "-hosts", "far-away", RANK], "contradict"),
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


def any_bytes():
    # The program gets the byte 255.
    result = job("-n", 1, "sh", "-c", '[ "$0" = "$(printf "\\377")" ]', "\udcff")
    expect(result.code == 0 and not result.err, result)
    # As many words as mpiexec's own command lines have.
    expect(job("-n", "\udcff").code == 2, "a count that is no number")


def empty_files():
    for text in ("", "\n\n", "# node7\n", "\ufeff\n"):
        path = os.path.join(work, "empty")
        with open(path, "w") as file:
            file.write(text)
        refused(["-hostfile", path, "-n", 2, "echo", "x"], "names no host")
        result = job("-n", 2, "echo", "x", env={"HYDRA_HOST_FILE": path})
        expect(result.code == 2 and not result.out and "names no host" in result.err, result)
    for arguments in (["-hosts", "localhost:0"], ["-hosts", "h0:0,h1:0"]):
        refused([*arguments, "echo", "x"], "the job has none")


def sizes():
    """Numbers that become sizes: mpiexec has an address space of 4 GiB here."""
    most = 4000000000
    hosts = os.path.join(work, "many")
    with open(hosts, "w") as file:
        file.write(f"localhost slots={most}\nlocalhost slots={most}\nh1 slots={most}\n")
    less = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    for words in (["-hosts", f"h0:{most}"], ["-hosts", f"h0:{most},h1:{most}"], ["-hosts", f"localhost:{most}"], ["-n", most],
                  ["-ppn", most], ["-ppn", most, "-hosts", "h0,h1"], ["-hostfile", hosts], ["-map-by", f"ppr:{most}:node"],
                  ["-map-by", f"ppr:{most}:core"], ["-map-by", f"ppr:{most}:node", "-hosts", "h0,h1"],
                  ["-map-by", "node", "-hosts", f"h0:{most},h1:{most}"], ["-n", 1, "true", ":", "-n", most],
                  ["-listen", 0, "-token-file", os.path.join(work, "token"), "-n", most]):
        result = job(*words, "true", preexec_fn=less)
        expect(result.code == 2 and "there are too many" in result.err, (words, result))
        three_lines(result.err)
    result = job("-n", 1 << 23, "true", preexec_fn=less)
    expect(result.code == 1 and "kernel has at most" in result.err, result)
    three_lines(result.err)
    # Slots are places, and need no ranks.
    result = job("-hosts", f"localhost:{most}", "-n", 2, "echo", "x", preexec_fn=less)
    expect(result.code == 0 and result.lines == ["x", "x"], result)


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


def names_of_hosts():
    """Whatever names hosts: no word of it becomes an option of the launcher."""
    from harness import STUB, work
    path, mark = os.path.join(work, "odd-hosts"), os.path.join(work, "ran-a-command")
    option = f"-oProxyCommand=touch${{IFS}}{mark}"
    flags = ["-launcher", STUB, "-n", 2, RANK]
    for text, arguments, variables in [
        (f"localhost\n{option}\n", ["-f", path], {}),
        (f"{option} slots=2\n", [], {"HYDRA_HOST_FILE": path}),
        (f"rank 0=localhost slot=0\nrank 1={option} slot=0\n", ["-rankfile", path], {}),
        (f"-host {option} -n 1 {RANK}\n", ["-configfile", path], {}),
        (f"localhost\n{option}\n", [], {"PBS_NODEFILE": path}),
        (f"localhost 1 q U\n{option} 1 q U\n", [], {"PE_HOSTFILE": path}),
        ("", [], {"LSB_MCPU_HOSTS": f"localhost 1 {option} 1"}),
        ("", [], {"SLURM_JOB_NODELIST": f"localhost,{option}"}),
    ]:
        with open(path, "w") as file:
            file.write(text)
        result = job(*arguments, *flags, env=variables)
        expect(result.code == 2 and "begins with -" in result.err and not result.out, (arguments, variables, result))
        three_lines(result.err)
    expect(not os.path.exists(mark), "no command ran")
    for variables, part in [({"PBS_NODEFILE": "/no/file"}, "unset PBS_NODEFILE"), ({"SLURM_JOB_NODELIST": "n[3-1]"}, "n[3-1]")]:
        result = job(*flags, env=variables)
        expect(result.code == 2 and part in result.err, result)
        three_lines(result.err)


def workers():
    import socket
    import subprocess
    from harness import PREFIX, environment, finish, work
    token = os.path.join(work, "workers-token")
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        result = job("-listen", port, "-token-file", token, RANK)
        expect(result.code == 1 and f"port {port}" in result.err, result)
        three_lines(result.err)
    os.chmod(token, 0o644)
    missing = os.path.join(work, "no-token")
    odd = [("-token-file", "/no/folder/token"), ("-token-file", token)]
    if os.getuid() == 0:
        other = os.path.join(work, "other-token")
        with open(other, "w") as file:
            file.write("0" * 32 + "\n")
        os.chmod(other, 0o600)
        os.chown(other, 65534, 65534)
        odd.append(("-token-file", other))
    for flags in odd:
        result = job("-listen", 0, *flags, RANK)
        expect(result.code == 1 and f"ls -l {flags[1]}" in result.err and "ulimit" not in result.err, result)
        three_lines(result.err)
    for address, file, part in [("localhost:7000", missing, f"ls -l {missing}"), ("localhost:7000", token, "token"),
                                ("localhost", None, "HOST:PORT")]:
        os.chmod(token, 0o600 if file is None else 0o666)
        result = finish(subprocess.Popen([os.path.join(PREFIX, "bin", "alhena"), "worker", address, "--token-file", file or token],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()))
        expect(result.code == 1 and part in result.err, result)
        expect("token" not in part or "reading the token" in result.err, result)
        three_lines(result.err.removesuffix("\n"))


def editors():
    """A mark in front, and lines that end as Windows ends them."""
    from harness import work
    path = os.path.join(work, "edited")
    for text, arguments in [("localhost slots=2\r\n", ["-f", path, RANK, "print=x\n"]),
                            ("-n 2 echo x\r\n", ["-configfile", path]),
                            ("rank 0=localhost slot=0\r\nrank 1=localhost slot=0\r\n", ["-rankfile", path, RANK, "print=x\n"])]:
        with open(path, "w", encoding="utf-8-sig", newline="") as file:
            file.write(text)
        result = job(*arguments)
        expect(result.code == 0 and result.lines == ["x", "x"], (arguments, result))
    with open(path, "wb") as file:
        file.write("localhost\n".encode("utf-16"))
    result = job("-f", path, RANK)
    expect(result.code == 2 and f"`file {path}`" in result.err, result)
    three_lines(result.err)


def information():
    expect("Alhena" in job("--version").out, "-version")
    text = job("-help").out
    expect("-bind-to" in text and "usage: mpiexec" in text, text)

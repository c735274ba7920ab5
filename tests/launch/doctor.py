"""`alhena doctor` and `mpiexec -report`."""
import json
import os
import shutil
import subprocess

from harness import PREFIX, RANK, environment, expect, finish, job

ALHENA = os.path.join(PREFIX, "bin", "alhena")


def cases():
    return [
        ("the doctor examines this host", alone),
        ("the doctor examines a host as a rank", as_ranks),
        ("the doctor names what limits a host", limited),
        ("the doctor names a host that cannot be reached", unreachable),
        ("the doctor sees a library of others under our name", foreign_library),
        ("-report prints the transports", report),
        ("-report has the reason for another transport", report_chosen),
    ]


def doctor(*arguments, **options):
    """Its exit code and its reports by host."""
    result = finish(subprocess.Popen([ALHENA, "doctor", "--json", *map(str, arguments)], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment(), **options))
    reports = json.loads(result.out)
    return result, {report["host"]: {one["check"]: one for one in report["findings"]} for report in reports}


def alone():
    result, hosts = doctor()
    expect(result.code == 0, result)
    [(host, findings)] = hosts.items()
    expect(host == os.uname().nodename, host)
    for check in ("shared memory", "single copy", "processors", "memory", "open files", "locked memory", "core files",
                  "huge pages", "interfaces", "name resolution", "ssh", "other launchers", "libfabric", "versions", "PATH"):
        expect(check in findings, (check, list(findings)))
    for finding in findings.values():
        expect(finding["verdict"] == "ok" or finding["next"], finding)
    text = finish(subprocess.Popen([ALHENA, "doctor"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()))
    expect(text.code == 0 and "shared memory" in text.out and text.out.startswith(host), text)


def as_ranks():
    result, hosts = doctor("-n", 2)
    expect(result.code == 0 and list(hosts) == [os.uname().nodename], result)
    expect("2 ranks on 1 hosts" in hosts[os.uname().nodename]["wire-up"]["seen"], hosts)


def limited():
    def fewer():
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    result, hosts = doctor(preexec_fn=fewer)
    findings = hosts[os.uname().nodename]
    expect(result.code == 0 and findings["open files"]["verdict"] == "warning", findings)
    expect("ulimit -n" in findings["open files"]["next"] and "ulimit -c" in findings["core files"]["next"], findings)

    # Less than a job of this host needs.
    def few():
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (71, 71))
    result, hosts = doctor(preexec_fn=few)
    finding = hosts[os.uname().nodename]["open files"]
    expect(result.code == 1 and finding["verdict"] == "problem" and "enough for 0 ranks" in finding["seen"], finding)


def unreachable():
    env = {"HYDRA_LAUNCHER_EXEC": "/bin/false"}
    result = finish(subprocess.Popen([ALHENA, "doctor", "--json", "--hosts", "localhost,far-away"], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, env=environment(**env)))
    findings = [one for report in json.loads(result.out) for one in report["findings"] if one["verdict"] == "problem"]
    expect(result.code != 0 and len(findings) == 1 and "far-away" in findings[0]["seen"], result)


def foreign_library():
    from harness import work
    prefix = os.path.join(work, "prefix")
    for folder in ("bin", "lib"):
        os.makedirs(os.path.join(prefix, folder), exist_ok=True)
    for name in ("alhena", "mpiexec", "mpicc"):
        shutil.copy(os.path.join(PREFIX, "bin", name), os.path.join(prefix, "bin", name))
    source, library = os.path.join(work, "other.c"), os.path.join(prefix, "lib", "libmpi_abi.so.1")
    with open(source, "w") as file:
        file.write("void MPI_Init(void) {}\n")
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", source, "-o", library], check=True)

    def findings(program, **variables):
        output = subprocess.run([program, "doctor", "--json"], env=environment(**variables), capture_output=True, text=True)
        [report] = json.loads(output.stdout)
        return output.returncode, {one["check"]: one for one in report["findings"]}

    code, found = findings(os.path.join(prefix, "bin", "alhena"))
    expect(code == 1 and found["versions"]["verdict"] == "problem" and "another MPI library" in found["versions"]["seen"], found)
    code, found = findings(ALHENA, LD_LIBRARY_PATH=os.path.join(prefix, "lib"))
    expect(found["versions"]["verdict"] == "ok", found)
    expect(code == 1 and found["LD_LIBRARY_PATH"]["verdict"] == "problem", found)


def report():
    result = job("-report", "-n", 3, RANK, "init", "barrier", "finalize")
    lines = [line for line in result.err.splitlines() if line.startswith("  ranks")]
    expect(result.code == 0 and len(lines) == 2, result)
    expect("ranks 0-2 to themselves" in lines[0] and " self " in lines[0], result)
    expect("ranks 0-2 to ranks 0-2" in lines[1] and " vader " in lines[1] and "shared memory" in lines[1], result)
    expect("ranks 0 to themselves" in job("-report", "-n", 1, RANK, "init", "finalize").err, "one rank")


def report_chosen():
    result = job("-report", "-mca", "btl", "self,tcp", "-n", 2, RANK, "init", "barrier", "finalize")
    expect(result.code == 0 and " tcp " in result.err and "parameter btl" in result.err, result)

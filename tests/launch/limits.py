"""Limits of the system, scripts, and what is missing on a host."""
import os
import resource
import select
import socket
import subprocess
import tempfile

from death import children
from harness import MPIEXEC, RANK, REFUSE, STUB, Skip, environment, expect, finish, job, start, three_lines, wait_until, work


def cases():
    return [
        ("a limit of file sizes is named", file_size),
        ("a limit of processor time is named", processor_time),
        ("a limit of open files is named", open_files),
        ("ranks live with few descriptors", few_descriptors),
        ("few descriptors on another host", few_descriptors_elsewhere),
        ("tools that read nothing, and no descriptor for a further one", silent_tools),
        ("mpiexec lives with a small stack", small_stack),
        ("ranks with a stack that is too small say so", too_small_stack),
        ("a home that cannot be entered is no error", closed_home),
        ("scripts without a first line run by sh", plain_script),
        ("a missing interpreter is named", missing_interpreter),
        ("a missing /dev/null is named", missing_null),
        ("system calls that the kernel refuses", refused_calls),
        ("system calls that the kernel refuses on several hosts", refused_calls_on_hosts),
    ]


def limited(which, soft, hard, *arguments, **options):
    """mpiexec below a limit."""
    return job(*arguments, preexec_fn=lambda: resource.setrlimit(which, (soft, hard)), **options)


def file_size():
    big = os.path.join(work, "big")
    for program in (["dd", "if=/dev/zero", f"of={big}", "bs=4096", "count=9"], ["sh", "-c", f"cat /dev/zero > {big}"]):
        result = limited(resource.RLIMIT_FSIZE, 8192, 8192, "-n", 1, *program)
        expect(result.code == 128 + 25 and "ulimit -f" in result.err, result)
    result = limited(resource.RLIMIT_FSIZE, 8192, 8192, "-n", 2, RANK, "init", "finalize")
    expect(result.code == 1 and "ulimit -f" in result.err and "memory (docker" not in result.err, result)
    three_lines(result.err)
    result = limited(resource.RLIMIT_FSIZE, 8192, 8192, "-outfile-pattern", big, "-n", 1, "head", "-c", 9000, "/dev/zero")
    expect(result.code == 1 and "ulimit -f" in result.err and big in result.err, result)


def processor_time():
    for soft, code in ((1, 128 + 9), (1, 128 + 24)):
        hard = soft if code == 128 + 9 else resource.RLIM_INFINITY
        result = limited(resource.RLIMIT_CPU, soft, hard, "-n", 1, "sh", "-c", "while :; do :; done")
        expect(result.code == code and "ulimit -t" in result.err, result)


def open_files():
    for most in (9, 12, 20):
        result = limited(resource.RLIMIT_NOFILE, most, most, "-n", 8, "true")
        expect(result.code != 0 and f"`ulimit -n` (now {most})" in result.err and "8 more for each rank" in result.err, result)
        three_lines(result.err)


def few_descriptors():
    result = limited(resource.RLIMIT_NOFILE, 12, resource.getrlimit(resource.RLIMIT_NOFILE)[1], "-n", 2, RANK, "init",
                     "barrier", "finalize", "print=x\n")
    expect(result.code == 0 and result.lines == ["x", "x"], result)


def few_descriptors_elsewhere():
    """A limit that holds on one host alone: the other one's ranks run already."""
    for most in (9, 12, 16, 20, 24, 28, 32):
        launcher = script("limited", f'#!/bin/sh\nhost=$1\nshift\n[ $host != y ] || ulimit -n {most}\nexec sh -c "$*"\n')
        result = job("-hosts", "x:1,y:8", "-launcher-exec", launcher, "-n", 9, RANK, "0:init", "sleep=600000")
        expect(result.code != 0 and "y" in result.err, (most, result))
        three_lines(result.err)
        if "starting a daemon" not in result.err:
            expect(f"`ulimit -n` (now {most})" in result.err, (most, result))


def silent_tools():
    """A job waits for no tool, and closes the socket for tools where it could not let one in."""
    folder = tempfile.mkdtemp(prefix="tools-", dir=work)
    go = os.path.join(folder, "go")
    process = start("-n", 1, "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.05; done", env={"XDG_RUNTIME_DIR": folder})
    path = os.path.join(folder, "alhena", str(process.pid))
    wait_until(lambda: os.path.exists(path), "the socket for tools")
    wait_until(lambda: children(process.pid), "the proxy")
    proxy = children(process.pid)[0]
    tools = [socket.socket(socket.AF_UNIX) for _ in range(21)]
    for tool in tools[:20]:
        tool.connect(path)
    # Each of them has an answer, which it does not read, or is turned away with one.
    wait_until(lambda: all(select.select([tool], [], [], 0)[0] for tool in tools[:20]), "the answers")
    before = resource.prlimit(proxy, resource.RLIMIT_NOFILE)
    used = {int(number) for number in os.listdir(f"/proc/{proxy}/fd")}
    resource.prlimit(proxy, resource.RLIMIT_NOFILE, (min(set(range(len(used) + 1)) - used), before[1]))
    tools[20].connect(path)
    wait_until(lambda: not os.path.exists(path), "the end of the socket for tools")
    resource.prlimit(proxy, resource.RLIMIT_NOFILE, before)
    open(go, "w").close()
    result = finish(process)
    expect(result.code == 0, result)
    for tool in tools:
        tool.close()


def small_stack():
    size = 64 << 10
    result = limited(resource.RLIMIT_STACK, size, size, "-n", 2, RANK, "lines=2000")
    expect(result.code == 0 and len(result.lines) == 4000, result)


def too_small_stack():
    """Whatever the size, ranks run or say so. How much the environment takes of it differs from machine to machine."""
    for size, good in ((64, False), (80, None), (96, None), (112, None), (128, None), (144, None), (192, True)):
        result = limited(resource.RLIMIT_STACK, size << 10, size << 10, "-n", 2, RANK, "init", "exchange", "finalize")
        refused = result.code != 0 and "stack is too small" in result.err and "ulimit -s" in result.err
        expect(refused != (result.code == 0) and good in (None, result.code == 0), (size, result))
        expect("signal" not in result.err, (size, result))


def closed_home():
    """Another user's home, as `su` leaves it in the environment."""
    if os.getuid() != 0:
        raise Skip("only root can become another user")
    home = os.path.join(work, "home")
    os.makedirs(os.path.join(home, ".config", "alhena"), exist_ok=True)
    with open(os.path.join(home, ".config", "alhena", "mca.toml"), "w") as file:
        file.write("nonsense\n")
    os.chmod(home, 0o700)
    os.chmod(work, 0o755)

    def as_nobody(**variables):
        process = subprocess.Popen([RANK, "init", "who", "finalize"], env=environment(**variables), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, user=65534, group=65534, extra_groups=[])
        return finish(process)

    for variables in ({"HOME": home}, {"XDG_CONFIG_HOME": os.path.join(home, ".config")}):
        result = as_nobody(**variables)
        expect(result.code == 0 and result.out == "rank 0 of 1 app 0\n" and not result.err, result)
    # A file that the user names is another matter.
    result = as_nobody(ALHENA_PARAM_FILE=os.path.join(home, ".config", "alhena", "mca.toml"))
    expect(result.code != 0 and "Permission denied" in result.err, result)


def script(name, text):
    path = os.path.join(work, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


def plain_script():
    path = script("plain", "echo $PMI_RANK $0 $1\n")
    expect(job("-n", 2, path, "a").lines == [f"0 {path} a", f"1 {path} a"], "with its path")
    expect(job("-wdir", work, "-n", 1, "./plain").out == "0 ./plain\n", "with -wdir")


def missing_interpreter():
    for text, part in (("#!/no/such/python -u\n", "/no/such/python"), ("#!/bin/sh\r\necho x\r\n", "Windows")):
        result = job("-n", 2, script("broken", text))
        expect(result.code == 126 and part in result.err, result)
        three_lines(result.err)


def missing_null():
    if os.getuid() != 0:
        raise Skip("only root can hide /dev/null")
    command = 'mount -t tmpfs none /dev && exec "$0" -stdin none -n 1 true'
    result = finish(subprocess.Popen(["unshare", "-m", "sh", "-c", command, MPIEXEC], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()))
    if "unshare:" in result.err or "mount:" in result.err:
        raise Skip("no mount namespaces")
    expect(result.code != 0 and "/dev/null" in result.err, result)
    three_lines(result.err)


# What old kernels lack and containers' profiles refuse, and what a message names where nothing can stand in for it.
REPLACED = ["pidfd_open", "clone_pidfd", "pidfd_send_signal", "pidfd_getfd", "fallocate", "waitid", "membarrier", "process_vm_readv",
            "close_range", "epoll_pwait2", "statx"]
NEEDED = {"memfd_create": "memfd_create", "getrandom": "getting a random number", "signalfd4": "signals",
          "sched_setaffinity": "-bind-to none"}


def refusing(call, error, *arguments):
    """mpiexec, and all that it starts, without one system call."""
    process = subprocess.Popen([REFUSE, call, error, MPIEXEC, *map(str, arguments)], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    result = finish(process)
    if result.code == 77:
        raise Skip("no system call filters")
    return result


def refused_calls():
    for error in ("ENOSYS", "EPERM"):
        for call in REPLACED:
            result = refusing(call, error, "-n", 2, RANK, "init", "exchange", "finalize")
            expect(result.code == 0 and result.lines == ["exchange ok"] * 2 and not result.err, f"{call} {error}: {result}")
            result = refusing(call, error, "-n", 2, "sh", "-c", f"{RANK} init barrier 1:signal=9 sleep=30000; true")
            # The shell prints a message, too.
            expect(result.code != 0 and "rank 1" in result.err and result.err.count("next:") == 1, f"{call} {error}: {result}")
            expect(refusing(call, error, "-n", 2, RANK, "0:exit=7").code == 7, f"{call} {error}: exit code")
        for call, name in NEEDED.items():
            result = refusing(call, error, "-n", 2, RANK, "init", "finalize")
            expect(result.code != 0 and name in result.err, f"{call} {error}: {result}")


def refused_calls_on_hosts():
    for call in ("pidfd_open", "clone_pidfd", "waitid"):
        hosts = ["-hosts", "x,y", "-launcher-exec", STUB, "-n", 2]
        result = refusing(call, "ENOSYS", *hosts, RANK, "init", "exchange", "finalize")
        expect(result.code == 0 and result.lines == ["exchange ok"] * 2 and not result.err, f"{call}: {result}")
        result = refusing(call, "ENOSYS", *hosts, RANK, "init", "barrier", "1:signal=9", "sleep=30000")
        expect(result.code != 0 and "rank 1" in result.err, f"{call}: {result}")
        result = refusing(call, "ENOSYS", "-hosts", "x,y", "-launcher-exec", "false", "-n", 2, "true")
        expect(result.code != 0 and "starting a daemon on host" in result.err, f"{call}: {result}")

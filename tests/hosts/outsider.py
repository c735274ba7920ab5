#!/usr/bin/env python3
"""Another user of the host tries to read, to join and to end a job. Run by root, who finds the job and then takes the user `nobody`.

usage: outsider.py PID [FILE…]     the job's mpiexec or its parent; files that it has open and others may read. One line: "ok" and
how much was tried, or "FAIL" and what succeeded.
"""
import ctypes
import os
import signal
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ugni"))
from strangers import descendants, ports

NOBODY = 65534
PTRACE_ATTACH, PIDFD_OPEN, PIDFD_GETFD = 16, 434, 438

job = int(sys.argv[1])
processes, targets = sorted(descendants(job) - {job}), ports(job)
files = {os.path.realpath(f"/proc/{pid}/fd/{fd}") for pid in processes for fd in os.listdir(f"/proc/{pid}/fd")}
files = sorted(file for file in files if file.startswith(("/tmp/", "/dev/shm/", "/run/")) and file not in sys.argv[2:])
with open("/proc/net/unix") as table:
    names = sorted({line.split()[-1] for line in table if "@" in line})
os.setgroups([])
os.setgid(NOBODY)
os.setuid(NOBODY)
libc = ctypes.CDLL(None, use_errno=True)
tried, succeeded = 0, []


def attempt(what, action):
    """Tries something that must fail, or give nothing."""
    global tried
    tried += 1
    try:
        if action():
            succeeded.append(what)
    except OSError:
        pass


def read(path):
    with open(path, "rb") as file:
        return file.read(1)


def call(number, *arguments):
    return libc.syscall(number, *arguments) >= 0


def read_memory(pid):
    here, there = ctypes.create_string_buffer(8), 0x400000
    local = struct.pack("PN", ctypes.addressof(here), 8)
    return libc.process_vm_readv(pid, local, 1, struct.pack("PN", there, 8), 1, 0) > 0


def take_descriptor(pid):
    handle = libc.syscall(PIDFD_OPEN, pid, 0)
    return handle >= 0 and call(PIDFD_GETFD, handle, 0, 0)


def attach(pid):
    if libc.ptrace(PTRACE_ATTACH, pid, None, None) != 0:
        return False
    os.waitpid(pid, 0)
    return True


def answers(family, address, words):
    """Whether a port answers a caller that sends these words."""
    with socket.socket(family) as stream:
        stream.settimeout(0.3)
        stream.connect(address)
        stream.sendall(words)
        return stream.recv(1)


def joins(port, number):
    """Whether a caller who knows all but the secret is admitted."""
    hello = struct.pack("<8sHBB4xQII", b"alhena\x02c", 3, 3, 1, number, 1, 0) + os.urandom(16 + 36)
    with socket.socket() as stream:
        stream.settimeout(0.3)
        stream.connect(("127.0.0.1", port))
        stream.sendall(hello)
        return stream.recv(56) and (stream.sendall(os.urandom(32)), stream.recv(1))[1]


for pid in processes:
    for name in "mem", "environ", "maps", "auxv", "fd/0", "fd/3", "map_files":
        attempt(f"reading /proc/{pid}/{name}", lambda: read(f"/proc/{pid}/{name}"))
    attempt(f"listing descriptors of {pid}", lambda: os.listdir(f"/proc/{pid}/fd"))
    for number in 0, signal.SIGTERM, signal.SIGKILL:
        attempt(f"sending signal {number} to {pid}", lambda: os.kill(pid, number) is None)
    attempt(f"reading memory of {pid}", lambda: read_memory(pid))
    attempt(f"taking a descriptor of {pid}", lambda: take_descriptor(pid))
    attempt(f"attaching to {pid}", lambda: attach(pid))
for port in targets:
    for words in b"GET / HTTP/1.1\r\n\r\n", bytes(64), os.urandom(64):
        attempt(f"an answer at port {port}", lambda: answers(socket.AF_INET, ("127.0.0.1", port), words))
    for number in 0, 1, job:
        attempt(f"joining at port {port}", lambda: joins(port, number))
for name in names:
    if "alhena" in name:
        for words in bytes(32), os.urandom(64):
            attempt(f"an answer at {name}", lambda: answers(socket.AF_UNIX, "\0" + name[1:], words))
for file in files:
    attempt(f"reading {file}", lambda: read(file))
print(f"FAIL {', '.join(succeeded)}" if succeeded else f"ok {tried} attempts at {len(processes)} processes, {len(targets)} ports")

"""Sends to all UDP ports of one job what strangers send: rubbish of many lengths, and what its processes sent to each other, bent.

usage: datagrams.py PID     the job's mpiexec; goes on until the job has ended
"""
import os
import random
import socket
import sys
import time


def processes():
    """Each process with its parent."""
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{entry}/stat') as stat:
                yield int(entry), int(stat.read().rpartition(')')[2].split()[1])
        except OSError:
            pass


def places(job):
    """Where the job's processes have sockets for datagrams, IPv4."""
    parents, found = dict(processes()), {job}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    inodes = set()
    for pid in found:
        try:
            names = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
        except OSError:
            continue
        inodes |= {name[8:-1] for name in names if name.startswith('socket:[')}
    with open(f'/proc/{job}/net/udp') as table:
        for line in list(table)[1:]:
            words = line.split()
            if words[9] in inodes:
                address, port = words[1].split(':')
                yield socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)


job = int(sys.argv[1])
stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sent = 0
while os.path.exists(f'/proc/{job}/fd'):
    try:
        targets = list(places(job))
    except OSError:
        break
    for place in targets:
        for length in (0, 1, 15, 16, 31, 32, 40, 100, 1472, 9000):
            try:
                # Ranks 0 and 1 as sender and receiver, then a number, then rubbish.
                head = b'\0\0\0\0\1\0\0\0' + random.randbytes(8)
                stranger.sendto((head + random.randbytes(length))[:length], place)
                sent += 1
            except OSError:
                pass
    time.sleep(0.01)
print(f'{sent} datagrams')

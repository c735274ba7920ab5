"""Calls at all TCP ports on which processes of one job listen, as strangers do: silent connections, rubbish, scans.

usage: strangers.py PID     the job's mpiexec or its parent; goes on until the job has ended
"""
import os
import random
import socket
import sys
import time


def descendants(pid):
    parents = {}
    for entry in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{entry}/stat') as stat:
                parents[int(entry)] = int(stat.read().rpartition(')')[2].split()[1])
        except OSError:
            pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets_of(pid):
    try:
        names = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in os.listdir(f'/proc/{pid}/fd')]
    except OSError:
        return set()
    return {name[8:-1] for name in names if name.startswith('socket:[')}


def ports(pid):
    inodes = set().union(*map(sockets_of, descendants(pid)))
    found = set()
    for table in 'tcp', 'tcp6':
        with open(f'/proc/net/{table}') as lines:
            for words in map(str.split, list(lines)[1:]):
                if words[3] == '0A' and words[9] in inodes:
                    found.add(int(words[1].rpartition(':')[2], 16))
    return sorted(found)


def call(port):
    stream = socket.socket()
    stream.setblocking(False)
    stream.connect_ex(('127.0.0.1', port))
    return stream


def is_running(pid):
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


job = int(sys.argv[1])
draw = random.Random(1)
targets, silent = [], []
while is_running(job):
    for port in set(ports(job)) - set(targets):
        targets.append(port)
        # Half-open for as long as this runs: they say nothing, and never go.
        silent += [call(port) for _ in range(500)]
    for port in targets:
        stream = call(port)
        time.sleep(0.001)
        try:
            stream.send(draw.choice([b'', b'GET / HTTP/1.1\r\n\r\n', draw.randbytes(draw.randrange(1, 4096))]))
        except OSError:
            pass
        stream.close()
print(f'{len(silent)} silent callers at {len(targets)} ports')

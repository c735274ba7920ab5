"""Calls at all TCP ports on which processes of one job listen, as strangers do: silent connections, rubbish, scans, and what the
job's own processes were overheard to say, again.

usage: strangers.py PID [SILENT [FILE]]     the job's mpiexec or its parent; goes on until the job has ended. SILENT: calls at each
port that say nothing and never go, 500 of them open at a time (default 500). FILE is made once an exchange was repeated that was
overheard, or at the first call where this program may not read the network.
"""
import os
import random
import socket
import sys
import threading
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


class Overheard(threading.Thread):
    """What callers have sent to the job's ports, for a program that can read the network."""

    def __init__(self):
        super().__init__(daemon=True)
        self.hellos, self.proofs = [], {}
        try:
            self.network = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.ntohs(3))
        except PermissionError:
            self.network = None

    def run(self):
        while self.network:
            packet, origin = self.network.recvfrom(65536)
            if packet[0] >> 4 == 4 and packet[9] == 6:
                segment = packet[4 * (packet[0] & 15):int.from_bytes(packet[2:4], 'big')]
                said, flow = segment[4 * (segment[12] >> 4):], segment[:4]
                if said.startswith(b'alhena\x02c') and len(said) == 84 and (flow, said) not in self.hellos:
                    self.hellos.append((flow, said))
                elif len(said) == 32:
                    self.proofs.setdefault(flow, said)


def repeat(port, hello, proof):
    """Says again what was overheard; what came for it: a challenge may, and nothing after it."""
    with socket.create_connection(('127.0.0.1', port), 5) as stream:
        stream.settimeout(0.2)
        try:
            stream.sendall(hello)
            if stream.recv(56, socket.MSG_WAITALL):
                stream.sendall(proof)
                if stream.recv(1):
                    return 'admitted'
                return 'refused'
        except OSError:
            pass
    return 'ignored'


def main():
    job = int(sys.argv[1])
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    done = sys.argv[3] if len(sys.argv) > 3 else None
    overheard, repeated = Overheard(), {}
    overheard.start()
    draw = random.Random(1)
    targets, silent, calls = [], [], 0
    while is_running(job):
        for port in set(ports(job)) - set(targets):
            targets.append(port)
            # Half-open for as long as this runs: they say nothing, and never go.
            for _ in range(most):
                silent.append(call(port))
                calls += 1
                if len(silent) >= 500 * len(targets):
                    silent.pop(0).close()
        for port in targets:
            stream = call(port)
            time.sleep(0.001)
            try:
                stream.send(draw.choice([b'', b'GET / HTTP/1.1\r\n\r\n', draw.randbytes(draw.randrange(1, 4096))]))
            except OSError:
                pass
            stream.close()
        for flow, hello in draw.sample(overheard.hellos, min(4, len(overheard.hellos))):
            port = int.from_bytes(flow[2:], 'big')
            if port in targets and flow in overheard.proofs:
                try:
                    seen = repeat(port, hello, overheard.proofs[flow])
                except OSError:
                    continue
                repeated[seen] = repeated.get(seen, 0) + 1
        if done and targets and ('refused' in repeated or not overheard.network):
            open(done, 'w').close()
            done = None
    repeats = ', '.join(f'{count} repeated exchanges {seen}' for seen, count in sorted(repeated.items()))
    print(f'{calls} silent callers at {len(targets)} ports, {repeats or "nothing overheard"}')


if __name__ == '__main__':
    main()

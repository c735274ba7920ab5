#!/usr/bin/env python3
"""Carries packets between hosts of namespaces.sh, each after a while of its own: the device far0 of each host leads here.

usage: relay.py MILLISECONDS JITTER SEED [damage=PERMILLE] NAMESPACE…     a packet takes MILLISECONDS give or take JITTER, so that some
overtake others; one bit of so many of a thousand changes, behind the headers of TCP and UDP, whose checksums are made to fit;
NAMESPACE: the network namespace of each host, whose address is 10.213.9.(1 + its place in the list)
"""
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 1, 0x1000, 0x40000000
# Packets on their way; more than that are lost, as in a switch.
MOST = 20000

libc = ctypes.CDLL(None, use_errno=True)


def device(namespace):
    """far0 of a namespace, without blocking."""
    with open(f"/run/netns/{namespace}") as place:
        if libc.setns(place.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"entering {namespace}")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"far0", IFF_TUN | IFF_NO_PI))
    return tun


def damaged(packet):
    """One bit of what TCP or UDP carries is another one, and their checksum knows nothing of it; None: it carries nothing."""
    head = (packet[0] & 15) * 4
    kind = packet[9]
    if kind == 6:
        begin, at = head + (packet[head + 12] >> 4) * 4, head + 16
    elif kind == 17:
        begin, at = head + 8, head + 6
    else:
        return None
    if begin >= len(packet):
        return None
    packet = bytearray(packet)
    place = draw.randrange(begin, len(packet))
    # The checksum is over words of 16 bits that begin with the header, whose length is even.
    word = place - (place - head) % 2
    before = int.from_bytes(packet[word:word + 2].ljust(2, b"\0"), "big")
    packet[place] ^= 1 << draw.randrange(8)
    after = int.from_bytes(packet[word:word + 2].ljust(2, b"\0"), "big")
    checksum = int.from_bytes(packet[at:at + 2], "big")
    if kind == 6 or checksum:
        # RFC 1624, equation 3.
        sum = (~checksum & 0xffff) + (~before & 0xffff) + after
        sum = (sum & 0xffff) + (sum >> 16)
        packet[at:at + 2] = (~((sum & 0xffff) + (sum >> 16)) & 0xffff).to_bytes(2, "big")
    return bytes(packet)


delay, jitter, draw = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3, random.Random(int(sys.argv[3]))
damage = [int(word.partition("=")[2]) for word in sys.argv[4:] if word.startswith("damage=")]
damage = damage[0] / 1e3 if damage else 0
devices = [device(namespace) for namespace in sys.argv[4:] if "=" not in namespace]
poll = select.poll()
for tun in devices:
    poll.register(tun, select.POLLIN)
# Ranks that poll would keep it from its processor for a time slice each: a switch does not wait.
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
except PermissionError:
    pass
way, number = [], 0
while True:
    now = time.monotonic()
    while way and way[0][0] <= now:
        _, _, to, packet = heapq.heappop(way)
        try:
            os.write(to, packet)
        except OSError:
            pass  # No room, or no packet of a kind that is known: lost.
    wait = max(0, (way[0][0] - now) * 1e3) if way else None
    for tun, _ in poll.poll(wait):
        for _ in range(64):
            try:
                packet = os.read(tun, 65536)
            except BlockingIOError:
                break
            host = packet[19] - 1
            if packet[0] >> 4 == 4 and packet[16:19] == b"\x0a\xd5\x09" and host < len(devices) and len(way) < MOST:
                due = time.monotonic() + max(0, delay + draw.uniform(-jitter, jitter))
                if damage and draw.random() < damage:
                    packet = damaged(packet) or packet
                number += 1
                heapq.heappush(way, (due, number, devices[host], packet))

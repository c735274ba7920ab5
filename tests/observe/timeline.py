"""usage: timeline.py FILE FILE.json MESSAGES [simulated]: whether both timelines of a job, of trace.c or a simulated halo
exchange, are whole and the same.

Perfetto's file is decoded here field by field, and once more by Perfetto's own description where its package is installed.
"""
import collections
import json
import sys

perfetto, chrome, messages = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
simulated = sys.argv[4:] == ["simulated"]
wrong = []


def want(what, seen, expected=True):
    if seen != expected:
        wrong.append(f"{what}: {seen}, not {expected}")


def fields(data):
    """The fields of a message of protobuf: number and value."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            yield number, varint()
        elif kind == 1:
            yield number, int.from_bytes(data[at : at + 8], "little")
            at += 8
        elif kind == 2:
            length = varint()
            yield number, data[at : at + length]
            at += length
        else:
            sys.exit(f"field {number} has kind {kind}")


def one(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


def of_perfetto(data):
    """Slices by track and name, flows, tracks."""
    names, slices, open_slices, begins, ends, tracks = {}, [], collections.defaultdict(list), {}, {}, {}
    for number, packet in fields(data):
        want("packets alone", number, 1)
        packet = one(packet)
        for interned in packet[12]:
            for kind, entry in fields(interned):
                entry = one(entry)
                names[kind, entry[1][0]] = entry[2][0].decode()
        for track in packet[60]:
            track = one(track)
            tracks[track[1][0]] = track
        for event in packet[11]:
            event, time = one(event), packet[8][0]
            track = event[11][0]
            want("a track is described", track in tracks)
            if event[9][0] == 2:
                name, begin = open_slices[track].pop()
                slices.append((track, name, begin, time))
                want("a slice ends after it has begun", begin <= time)
                continue
            name = names[2, event[10][0]]
            for flow in event[47]:
                begins[flow] = name, time
            for flow in event[48]:
                # Within the call that has received it.
                ends[flow] = open_slices[track][-1][0], time
            if event[9][0] == 1:
                open_slices[track].append((name, time))
    want("open slices", [one for one in open_slices.values() if one], [])
    return slices, begins, ends, tracks


slices, begins, ends, tracks = of_perfetto(open(perfetto, "rb").read())
events = chrome["traceEvents"]
calls = [event for event in events if event["ph"] == "X"]
asynchronous = [event for event in events if event["ph"] == "b"]
# Slices of calls and of requests.
want("slices", len(slices), len(calls) + len(asynchronous))
count = lambda names: sorted(collections.Counter(names).items())
want("names", count(name for _, name, _, _ in slices), count(event["name"] for event in calls + asynchronous))
want("messages begin", len(begins), messages)
want("messages end", sorted(ends), sorted(begins))
want("arrows", [sum(event["ph"] == phase for event in events) for phase in "sf"], [messages, messages])
senders = {"MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Start", "MPI_Sendrecv"}
receivers = {"MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Mprobe", "MPI_Sendrecv", "MPI_Mrecv"}
want("senders", {name for name, _ in begins.values()} - senders, set())
want("receivers", {name for name, _ in ends.values()} - receivers, set())
want("messages forwards in time", [flow for flow in begins if flow in ends and ends[flow][1] < begins[flow][1]], [])
want("requests end", len(asynchronous), sum(event["ph"] == "e" for event in events))


def of_trace_c():
    """The late sender and the late receiver, by the times of the calls, and places."""
    of = lambda rank, name: sorted((event for event in calls if event["pid"] == rank and event["name"] == name), key=lambda it: it["ts"])
    send, receive = of(0, "MPI_Send")[0], of(1, "MPI_Recv")[0]
    ssend, second = of(0, "MPI_Ssend")[0], of(1, "MPI_Recv")[1]
    near = lambda a, b: abs(a - b) < 0.01
    late = max(0, min(send["ts"], receive["ts"] + receive["dur"]) - receive["ts"])
    want("late sender", near(receive["args"].get("late_sender_ns", 0) / 1e3, late))
    late = second["ts"] - ssend["ts"]
    want("late receiver", near(ssend["args"].get("late_receiver_ns", 0) / 1e3, max(0, late)))
    want("places", all("trace.c:" in event["args"]["place"] for event in calls))


if not simulated:
    of_trace_c()

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
except ImportError:
    print("skip: perfetto is not installed")
else:
    trace = Trace()
    trace.ParseFromString(open(perfetto, "rb").read())
    theirs = sum(packet.track_event.type == 1 for packet in trace.packet if packet.HasField("track_event"))
    want("slices that Perfetto's package reads", theirs, len(slices))
if wrong:
    sys.exit("\n".join(wrong))
print(f"ok {len(calls)} calls, {messages} messages")

#!/usr/bin/env python3
"""Another user of the host, between the two sides of a connection: passes on what they say, or something else.

usage: relay.py PORT FIRST-LAST COMMAND [ARGUMENT…]

Listens at PORT of the loopback and passes each caller on to the first port of FIRST to LAST that answers. COMMAND is one of
  look WORD…        passes all on, and prints "seen WORD" for each word that goes by in the clear
  replace FROM TO   replaces text by text of the same length
  put TEXT          puts TEXT in, towards the caller, after the first 200 bytes
  flip              changes one bit of what comes after the first 200 bytes, towards the caller
  nonsense          passes nothing on: answers each hello with a challenge that it has made up
Root takes the user `nobody` first. Prints "ready" once it listens, and "called" for each caller.
"""
import os
import socket
import sys
import threading

# Loaded while the interpreter can still read its own files.
import encodings.idna  # noqa: F401

NOBODY = 65534
# Behind the exchange, in whatever is sent first.
AFTER = 200

port, (first, last) = int(sys.argv[1]), map(int, sys.argv[2].split("-"))
command, words = sys.argv[3], [word.encode() for word in sys.argv[4:]]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def say(text):
    os.write(1, text.encode() + b"\n")


def carry(source, sink, to_caller):
    passed, seen = 0, b""
    while True:
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        if not data:
            break
        if command == "look":
            seen += data
            for word in [word for word in words if word in seen]:
                say("seen " + word.decode())
                words.remove(word)
            seen = seen[-100:]
        elif command == "replace":
            data = data.replace(*words)
        elif command in ("put", "flip") and to_caller and passed <= AFTER < passed + len(data):
            at = AFTER - passed
            new = words[0] + data[at:at + 1] if command == "put" else bytes([data[at] ^ 1])
            data = data[:at] + new + data[at + 1:]
            passed += len(new)
        passed += len(data)
        try:
            sink.sendall(data)
        except OSError:
            break
    for end in source, sink:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def connect():
    for target in range(first, last + 1):
        if target != port:
            try:
                return socket.create_connection(("127.0.0.1", target), 5)
            except OSError:
                pass
    return None


with socket.socket() as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    say("ready")
    while True:
        caller, _ = listener.accept()
        say("called")
        if command == "nonsense":
            caller.recv(200)
            caller.sendall(os.urandom(56))
            continue
        owner = connect()
        if owner is None:
            caller.close()
            continue
        # What reaches the ends late is waited for by them, not here.
        owner.settimeout(None)
        for pair in (caller, owner, False), (owner, caller, True):
            threading.Thread(target=carry, args=pair, daemon=True).start()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Sockets of krdma_ops while a protocol fails, one answer a line, for 92-ops-fail.sh.

ops_fail.py serve PORT [PROTOCOL]     accepts and sends back, until it is killed
ops_fail.py client PROTOCOL PORT      blocking: the protocol that won and what came, or the errno
ops_fail.py later PROTOCOL PORT       the same, non-blocking; connect() must not wait
ops_fail.py pair PROTOCOL             a listener and a client of it, in one program
ops_fail.py call NAME PROTOCOL PORT   socket, bind, listen or accept: the errno, or "ok"
ops_fail.py hold                      sockets in each state before a connection; waits for the file
                                      "go", then says what became of them
ops_fail.py established PROTOCOL      a connection; until the file "go" is there
"""
import errno
import os
import select
import socket
import sys
import time

HOST = "127.0.0.1"
SLOW = float(os.environ.get("VM_SLOW", "1"))


def make(protocol):
    """A wildcard by number, or a protocol alone through the family, which Python has no
    addresses for."""
    family = socket.AF_INET if protocol in (0, 6, 258) else 19
    sock = socket.socket(family, socket.SOCK_STREAM, protocol)
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol, fileno=sock.detach())


def winner(sock):
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)


def errno_name(error):
    return errno.errorcode.get(error, str(error))


def say(*words):
    print(*words, flush=True)


def wait_for_go():
    while not os.path.exists("go"):
        time.sleep(0.05)


def exchange(sock):
    sock.setblocking(True)
    sock.sendall(b"ping")
    return sock.recv(4, socket.MSG_WAITALL).decode()


def serve(port, protocol=6):
    listener = make(int(protocol))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, int(port)))
    listener.listen(16)
    while True:
        connection, _ = listener.accept()
        data = connection.recv(4, socket.MSG_WAITALL)
        connection.sendall(data)
        connection.close()


def client(protocol, port):
    sock = make(int(protocol))
    sock.connect((HOST, int(port)))
    say(winner(sock), exchange(sock))


def later(protocol, port):
    sock = make(int(protocol))
    sock.setblocking(False)
    begin = time.monotonic()
    error = sock.connect_ex((HOST, int(port)))
    took = time.monotonic() - begin
    if took > 0.25 * SLOW:
        say(f"connect() waited {took:.3f} s")
        return
    if error not in (0, errno.EINPROGRESS):
        say(errno_name(error))
        return
    _, ready, _ = select.select([], [sock], [], 20 * SLOW)
    error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if not ready:
        say("nothing happens")
    elif error:
        say(errno_name(error))
    else:
        say(winner(sock), exchange(sock))


def pair(protocol):
    listener = make(int(protocol))
    listener.bind((HOST, 0))
    listener.listen(4)
    sock = make(int(protocol))
    sock.connect(listener.getsockname())
    connection, _ = listener.accept()
    sock.sendall(b"pong")
    say(winner(connection), connection.recv(4, socket.MSG_WAITALL).decode())


def call(name, protocol, port):
    sock = make(int(protocol))
    if name != "socket":
        sock.bind((HOST, int(port)))
    if name in ("listen", "accept"):
        sock.listen(4)
    if name == "accept":
        sock.setblocking(False)
        open("listening", "w").close()
        wait_for_go()
        sock.accept()
    say("ok")


def attempt(what, function, *arguments):
    try:
        say(what, function(*arguments))
    except OSError as error:
        say(what, errno_name(error.errno))


def hold():
    """A protocol goes away under these; none of them has a connection."""
    server = make(6)
    server.bind((HOST, 0))
    server.listen(4)
    server.settimeout(20 * SLOW)
    there = server.getsockname()
    held = {}
    for name, protocol in (("wildcard", 258), ("alone", 260)):
        held[name, "new"] = make(protocol)
        held[name, "bound"] = make(protocol)
        held[name, "bound"].bind((HOST, 0))
        held[name, "listening"] = make(protocol)
        held[name, "listening"].bind((HOST, 0))
        held[name, "listening"].listen(4)
        held[name, "connecting"] = make(protocol)
        held[name, "connecting"].setblocking(False)
        error = held[name, "connecting"].connect_ex(there)
        assert error == errno.EINPROGRESS, error
    open("held", "w").close()
    wait_for_go()

    def connect(sock):
        sock.connect(there)
        return winner(sock), exchange_with(sock)

    def exchange_with(sock):
        connection, _ = server.accept()
        sock.setblocking(True)
        sock.sendall(b"ping")
        return connection.recv(4, socket.MSG_WAITALL).decode()

    def listening(sock):
        other = make(6)
        other.settimeout(10 * SLOW)
        other.connect(sock.getsockname())
        sock.setblocking(True)
        connection, _ = sock.accept()
        other.sendall(b"ping")
        return winner(connection), connection.recv(4, socket.MSG_WAITALL).decode()

    def connecting(sock):
        _, ready, _ = select.select([], [sock], [], 20 * SLOW)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not ready or error:
            return errno_name(error) if ready else "nothing happens"
        return winner(sock), exchange_with(sock)

    for name in ("wildcard", "alone"):
        # first, because it has gone on by itself, and waits at the server
        attempt(f"{name} connecting:", connecting, held[name, "connecting"])
        attempt(f"{name} new:", connect, held[name, "new"])
        attempt(f"{name} bound:", connect, held[name, "bound"])
        if name == "wildcard":
            attempt(f"{name} listening:", listening, held[name, "listening"])
        else:
            held[name, "listening"].setblocking(False)
            attempt(f"{name} listening:", held[name, "listening"].accept)


def established(protocol):
    listener = make(int(protocol))
    listener.bind((HOST, 0))
    listener.listen(4)
    sock = make(int(protocol))
    sock.connect(listener.getsockname())
    connection, _ = listener.accept()
    # the listener would be another user
    listener.close()
    open("held", "w").close()
    wait_for_go()
    sock.sendall(b"last")
    say(winner(connection), connection.recv(4, socket.MSG_WAITALL).decode())


def main():
    parts = {part.__name__: part
             for part in (serve, client, later, pair, call, hold, established)}
    try:
        parts[sys.argv[1]](*sys.argv[2:])
    except OSError as error:
        say(errno_name(error.errno))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Marked sockets while a road fails, one answer a line, for 92-ops-fail.sh.

ops_fail.py serve PORT           accepts and sends back, until it is killed
ops_fail.py client PORT [FAMILY [PROTOCOL]]  blocking: what came back, several times, or the errno
ops_fail.py later PORT           the same, non-blocking; connect() must not wait
ops_fail.py pair                 a listener and a client of it, in one program
ops_fail.py must PROTOCOL PORT   a socket that must use a road: the errno of its first send
ops_fail.py hold                 a connection that a road is opened for; until the file "go" is there
"""
import errno
import os
import select
import socket
import sys
import time

HOST = "127.0.0.1"
SLOW = float(os.environ.get("VM_SLOW", "1"))


def say(*words):
    print(*words, flush=True)


def wait_for_go():
    while not os.path.exists("go"):
        time.sleep(0.05)


def make(family=socket.AF_INET, protocol=0):
    raw = socket.socket(int(family), socket.SOCK_STREAM, int(protocol))
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=raw.detach())


def exchange(sock, pauses=(0, 0.05, 0.2)):
    """Some before, while and after a road fails"""
    sock.setblocking(True)
    sock.settimeout(20 * SLOW)
    for pause in pauses:
        time.sleep(pause * SLOW)
        sock.sendall(b"ping" * 100)
        got = sock.recv(400, socket.MSG_WAITALL)
        if got != b"ping" * 100:
            return f"{len(got)} bytes"
    return "ping"


def serve(port):
    listener = socket.create_server((HOST, int(port)), backlog=16)
    while True:
        connection, _ = listener.accept()
        try:
            while data := connection.recv(4096):
                connection.sendall(data)
        except OSError:
            pass
        connection.close()


def client(port, *kind):
    sock = make(*kind)
    sock.connect((HOST, int(port)))
    say(exchange(sock))


def later(port):
    sock = make()
    sock.setblocking(False)
    begin = time.monotonic()
    error = sock.connect_ex((HOST, int(port)))
    took = time.monotonic() - begin
    if took > 0.25 * SLOW:
        say(f"connect() waited {took:.3f} s")
        return
    if error not in (0, errno.EINPROGRESS):
        say(errno.errorcode[error])
        return
    _, ready, _ = select.select([], [sock], [], 20 * SLOW)
    error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    say(errno.errorcode[error] if error else exchange(sock) if ready else "nothing happens")


def pair(pause="0.05"):
    listener = socket.create_server((HOST, 0))
    sock = make()
    sock.connect(listener.getsockname())
    connection, _ = listener.accept()
    sock.settimeout(20 * SLOW)
    connection.settimeout(20 * SLOW)
    for _ in range(5):
        sock.sendall(b"pong")
        if connection.recv(4, socket.MSG_WAITALL) != b"pong":
            say("ends")
            return
        connection.sendall(b"back")
        if sock.recv(4, socket.MSG_WAITALL) != b"back":
            say("ends")
            return
        time.sleep(float(pause) * SLOW)
    say("pong")


def must(protocol, port, urgent=""):
    sock = make(socket.AF_INET if int(protocol) in (257, 258) else 19, protocol)
    sock.settimeout(20 * SLOW)
    sock.connect((HOST, int(port)))
    if urgent:
        sock.send(b"!", socket.MSG_OOB)
    sock.sendall(b"ping")
    say("sent", sock.recv(4).decode())


def hold():
    listener = socket.create_server((HOST, 0))
    sock = make()
    sock.connect(listener.getsockname())
    connection, _ = listener.accept()
    sock.sendall(b"first")
    say(connection.recv(5, socket.MSG_WAITALL).decode())
    open("held", "w", encoding="ascii").close()
    wait_for_go()
    sock.sendall(b"last")
    say(connection.recv(4, socket.MSG_WAITALL).decode())


def main():
    parts = {part.__name__: part for part in (serve, client, later, pair, must, hold)}
    try:
        parts[sys.argv[1]](*sys.argv[2:])
    except OSError as error:
        say(errno.errorcode.get(error.errno, type(error).__name__))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Sockets of SDP with options for the network, for 93-sdp-traffic: sdp_traffic.py server|client
ADDRESS PORT [tos=N] [priority=N] [mark=N]

Options are set before listen() or connect(). Both ends talk. PROTOCOL=N is another one than SDP."""
import os
import socket
import sys

PROTOCOL = int(os.environ.get("PROTOCOL", "257"))
ROUNDS = 5


def options(sock, words):
    names = {"priority": (socket.SOL_SOCKET, socket.SO_PRIORITY), "mark": (socket.SOL_SOCKET, socket.SO_MARK),
             "tos": (socket.IPPROTO_IP, socket.IP_TOS)}
    if sock.family == socket.AF_INET6:
        names["tos"] = (socket.IPPROTO_IPV6, socket.IPV6_TCLASS)
    for word in words:
        name, _, value = word.partition("=")
        sock.setsockopt(*names[name], int(value, 0))


def main():
    role, address, port = sys.argv[1:4]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, PROTOCOL)
    options(sock, sys.argv[4:])
    end = (address, int(port))
    if role == "client":
        sock.connect(end)
        for _ in range(ROUNDS):
            sock.sendall(b"a" * 3000)
            assert sock.recv(3000, socket.MSG_WAITALL) == b"b" * 3000
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(end)
    sock.listen()
    print("listening", flush=True)
    peer, _ = sock.accept()
    for _ in range(ROUNDS):
        assert peer.recv(3000, socket.MSG_WAITALL) == b"a" * 3000
        peer.sendall(b"b" * 3000)
    assert peer.recv(1) == b""


main()

# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What the programs for zero copy over SDP share: two ends, of which one receives."""
import hashlib
import random
import socket
import time

SOL_SDP, ZCOPY_THRESH = 1025, 80


def receive_all(sock, sizes=(1 << 20, 400000, 2500000)):
    source, digest, count = random.Random("reader"), hashlib.sha256(), 0
    while block := sock.recv(source.choice(sizes)):
        count += len(block)
        digest.update(block)
    print("received", count, digest.hexdigest(), flush=True)
    return count


def road(sock):
    """SDP's options are there when the connection has its road."""
    why = None
    for _ in range(200):
        try:
            return sock.getsockopt(SOL_SDP, ZCOPY_THRESH)
        except OSError as error:
            why = error
            time.sleep(0.1)
    raise AssertionError(f"no road: {why}")


def end_of_pair(role, protocol, address, port):
    """The server's or the client's end of the one connection."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    if role != "server":
        sock.connect((address, port))
        road(sock)
        print("connected", flush=True)
        return sock
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    sock.listen(1)
    print("listening", flush=True)
    with sock:
        peer = sock.accept()[0]
        road(peer)
        return peer

# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Many connections of SDP, or of what memory and the network let be made.

sdp_stress.py server ADDRESS COUNT      accepts, and returns what comes
sdp_stress.py client ADDRESS COUNT      connects, sends, compares
sdp_stress.py holds ADDRESS             listens, connects to itself, and keeps what waits
sdp_stress.py short ADDRESS ROUNDS      both ends; a call may fail, data may not be wrong
"""
import errno
import hashlib
import os
import random
import select
import socket
import struct
import sys
import threading
import time

SDP = 257
PORT = 9500


def made(address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.socket(family, socket.SOCK_STREAM, SDP)


def pattern(number, size):
    return hashlib.shake_128(b"%d" % number).digest(size)


def server(address, count):
    listener = made(address)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
    listener.listen(256)
    print("listening", flush=True)
    poll = select.epoll()
    listener.setblocking(False)
    poll.register(listener, select.EPOLLIN)
    socks, pending, accepted, ended = {}, {}, 0, 0
    while ended < count:
        for fd, events in poll.poll(1):
            if fd == listener.fileno():
                sock = listener.accept()[0]
                sock.setblocking(False)
                socks[sock.fileno()], pending[sock.fileno()] = sock, b""
                poll.register(sock, select.EPOLLIN)
                accepted += 1
                continue
            sock = socks[fd]
            if events & select.EPOLLIN and len(pending[fd]) < 1 << 20:
                data = sock.recv(65536)
                pending[fd] += data
                if not data and not pending[fd]:
                    poll.unregister(fd)
                    sock.close()
                    del socks[fd], pending[fd]
                    ended += 1
                    continue
            if pending[fd]:
                try:
                    sent = sock.send(pending[fd])
                    pending[fd] = pending[fd][sent:]
                except BlockingIOError:
                    pass
            poll.modify(fd, select.EPOLLIN | (select.EPOLLOUT if pending[fd] else 0))
    print("accepted", accepted, flush=True)


def client(address, count):
    socks = []
    for number in range(count):
        sock = made(address)
        sock.settimeout(120)
        sock.connect((address, PORT))
        socks.append(sock)
    print("connected", len(socks), flush=True)
    for size in (100, 3000):
        for number, sock in enumerate(socks):
            sock.sendall(pattern(number, size))
        for number, sock in enumerate(socks):
            got = b""
            while len(got) < size:
                block = sock.recv(size - len(got))
                assert block, "an early end of connection %d" % number
                got += block
            assert got == pattern(number, size), "wrong data on connection %d" % number
    print("compared", len(socks), flush=True)
    while not os.path.exists("go"):
        time.sleep(0.1)
    for sock in socks:
        sock.shutdown(socket.SHUT_WR)
    for sock in socks:
        assert sock.recv(1) == b"", "data behind the end"
        sock.close()
    print("ended", len(socks), flush=True)


def holds(address):
    """Connections in each state: open, with unread data, unaccepted, half closed."""
    listener = made(address)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
    listener.listen(64)
    kept = [listener]
    for number in range(24):
        sock = made(address)
        sock.connect((address, PORT))
        kept.append(sock)
        if number % 4:
            kept.append(listener.accept()[0])
            kept[-1].send(bytes(50000))
        if number % 4 == 2:
            sock.shutdown(socket.SHUT_WR)
        if number % 4 == 3:
            kept[-1].shutdown(socket.SHUT_WR)
            sock.send(bytes(50000))
    print("holds", len(kept), flush=True)
    while True:
        time.sleep(1)


SHORT = 400000


def short_side(sock, number, failed):
    limit = struct.pack("ll", 20, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def send():
        try:
            sock.sendall(pattern(number, SHORT))
            sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            failed.append(errno.errorcode.get(error.errno, str(error)))
            sock.shutdown(socket.SHUT_RDWR) if error.errno == errno.EAGAIN else None

    thread = threading.Thread(target=send)
    thread.start()
    got = b""
    try:
        while True:
            block = sock.recv(300000)
            if not block:
                break
            got += block
    except OSError as error:
        failed.append(errno.errorcode.get(error.errno, str(error)))
    thread.join()
    sock.close()
    wanted = pattern(number, SHORT)
    if got != wanted[: len(got)]:
        print("WRONG DATA", flush=True)
        os._exit(200)
    return len(got) == SHORT


def short_round(address, number, failed):
    listener, sock = made(address), made(address)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, PORT + number % 100))
        listener.listen(4)
        listener.settimeout(20)
        peer = []
        accepting = threading.Thread(target=lambda: peer.append(accept_one(listener, failed)))
        accepting.start()
        try:
            sock.connect((address, PORT + number % 100))
        except OSError:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            raise
        accepting.join()
        if not peer[0]:
            return False
        right = []
        sides = [threading.Thread(target=lambda s=s: right.append(short_side(s, number, failed)))
                 for s in (sock, peer[0])]
        for side in sides:
            side.start()
        for side in sides:
            side.join()
        return all(right) and len(right) == 2
    except OSError as error:
        failed.append(errno.errorcode.get(error.errno, str(error)))
        return False
    finally:
        sock.close()
        listener.close()


def accept_one(listener, failed):
    try:
        sock = listener.accept()[0]
        sock.setblocking(True)
        return sock
    except OSError as error:
        failed.append(errno.errorcode.get(error.errno, str(error)))
        return None


def short(address, rounds):
    failed, whole = [], 0
    for number in range(rounds):
        whole += short_round(address, number, failed)
    names = sorted(set(failed))
    print("whole", whole, "of", rounds, *(f"{name}:{failed.count(name)}" for name in names))


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    random.seed(1)
    {"server": server, "client": client, "holds": holds, "short": short}[what](
        where, *(int(word) for word in rest))

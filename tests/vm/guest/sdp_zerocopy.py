#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""MSG_ZEROCOPY over SDP: sdp_zerocopy.py server|client MODE ADDRESS [ARGUMENT...]

Each mode is a pair. The sender overwrites memory as soon as a notification says that it may, so that a
notification that is early is seen by the receiver."""
import errno
import hashlib
import os
import random
import resource
import select
import socket
import struct
import sys
import time

from sdp_pair import end_of_pair, receive_all

SDP, PORT = 257, 9311
SO_ZEROCOPY, MSG_ZEROCOPY, MSG_ERRQUEUE = 60, 0x4000000, 0x2000
ORIGIN_ZEROCOPY, CODE_COPIED = 5, 1
LIMIT = 60 * int(os.environ.get("VM_SLOW", "1"))
protocol = int(os.environ.get("PROTOCOL", SDP))


class Sender:
    """A socket that does not wait, and its notifications."""

    def __init__(self, sock, seed):
        self.sock, self.random, self.digest = sock, random.Random(seed), hashlib.sha256()
        self.buffers, self.count, self.notified, self.copied, self.ranges = {}, 0, 0, 0, 0
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
        assert sock.getsockopt(socket.SOL_SOCKET, SO_ZEROCOPY) == 1
        self.poll = select.poll()

    def hear(self):
        """All notifications that are there."""
        while True:
            try:
                data, control, flags, _ = self.sock.recvmsg(100, 200, MSG_ERRQUEUE)
            except BlockingIOError:
                return
            assert not data and flags & MSG_ERRQUEUE and len(control) == 1, (data, control, flags)
            level, kind, payload = control[0]
            assert (level, kind) == (socket.SOL_IP, 11), control
            number, origin, _, code, _, low, high = struct.unpack("=IBBBBII", payload[:16])
            assert number == 0 and origin == ORIGIN_ZEROCOPY, payload
            assert low <= high < self.count, (low, high, self.count)
            # each one once; those that were copied are early
            for i in range(low, high + 1):
                buffer = self.buffers.pop(i)
                buffer[:] = b"\xff" * len(buffer)
            self.notified += high + 1 - low
            self.ranges += 1
            if code & CODE_COPIED:
                self.copied += high + 1 - low

    def wait(self, events):
        self.poll.register(self.sock, events)
        assert self.poll.poll(LIMIT * 1000), "nothing happens"

    def send(self, size):
        """Return: octets that were taken, 0: there is no room"""
        buffer = bytearray(self.random.randbytes(size))
        begin = time.monotonic()
        try:
            sent = self.sock.send(buffer, MSG_ZEROCOPY)
        except BlockingIOError:
            sent = 0
        assert time.monotonic() - begin < LIMIT / 20, "send() has waited"
        if sent:
            self.digest.update(buffer[:sent])
            self.buffers[self.count] = buffer
            self.count += 1
        return sent

    def finish(self, total):
        self.sock.shutdown(socket.SHUT_WR)
        while self.notified < self.count:
            self.wait(0)
            self.hear()
        print("sent", total, self.digest.hexdigest())
        self.report()

    def report(self):
        assert not self.buffers, self.buffers.keys()
        print(f"sends {self.count} notified {self.notified} copied {self.copied} ranges {self.ranges}")


def stream(sock, role, total, *sizes):
    if role == "server":
        return receive_all(sock)
    sender, left = Sender(sock, role), int(total)
    while left:
        sent = sender.send(min(left, int(sender.random.choice(sizes))))
        left -= sent
        if not sent:
            sender.wait(select.POLLOUT)
        sender.hear()
    return sender.finish(int(total))


def small_reads(sock, role, total):
    """The peer wants Data, which leaves from the pinned memory."""
    if role == "server":
        return receive_all(sock, (1000, 5000, 20000))
    return stream(sock, role, total, 300000, 700000)


def mixed(sock, role, total):
    """Sends of all kinds, some of them not notified, one of them blocking."""
    if role == "server":
        return receive_all(sock)
    sender, sent = Sender(sock, role), 0
    while sent < int(total):
        for size in (200000, 100, 65536, 3000):
            sent += sender.send(size)
        plain = sender.random.randbytes(90000)
        sock.setblocking(True)
        sock.sendall(plain)
        sock.setblocking(False)
        sender.digest.update(plain)
        sent += len(plain)
        sender.hear()
    return sender.finish(sent)


def unread(sock, role):
    """Until there is no room, at a peer that reads later."""
    if role == "server":
        while not os.path.exists("no-room"):
            time.sleep(0.1)
        return receive_all(sock)
    sender, total = Sender(sock, role), 0
    while sent := sender.send(100000):
        total += sent
        assert total < 16 << 20, "room without end"
    assert not sender.poll.poll(0)
    sender.hear()
    assert sender.notified < sender.count, "notified of octets that nobody has read"
    with open("no-room", "w", encoding="ascii"):
        pass
    return sender.finish(total)


def gone(sock, role, how):
    """The peer ends with offers unread: each send is notified, once."""
    if role == "server":
        while not os.path.exists("no-room"):
            time.sleep(0.1)
        if how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how == "killed":
            time.sleep(600)
        return sock.close()
    sender = Sender(sock, role)
    while sender.send(100000):
        pass
    sender.hear()
    assert sender.notified < sender.count
    with open("no-room", "w", encoding="ascii"):
        pass
    deadline = time.monotonic() + LIMIT
    while sender.notified < sender.count:
        assert time.monotonic() < deadline, (sender.notified, sender.count)
        sender.wait(0)
        sender.hear()
    sender.report()
    try:
        sock.send(b"x")
        raise AssertionError("send() to nobody")
    except (BrokenPipeError, ConnectionResetError) as error:
        return print("ended:", error)


def closed(sock, role):
    """close() with pending offers: the peer gets all."""
    if role == "server":
        time.sleep(1)
        return receive_all(sock)
    sender, total = Sender(sock, role), 0
    while sent := sender.send(100000):
        total += sent
    print("sent", total, sender.digest.hexdigest())
    return sock.close()


def killed(sock, role):
    """... and the end of the process."""
    if role == "server":
        return time.sleep(600)
    sender = Sender(sock, role)
    while sender.send(100000):
        pass
    print("pending", flush=True)
    return time.sleep(600)


def refused(sock, role):
    """The option, and what it refuses."""
    if role == "server":
        return receive_all(sock)
    for value in (-1, 2):
        try:
            sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, value)
            raise AssertionError(value)
        except OSError as error:
            assert error.errno == errno.EINVAL, error
    # without the option the flag has no meaning
    assert sock.getsockopt(socket.SOL_SOCKET, SO_ZEROCOPY) == 0
    first = bytes(200000)
    sock.sendall(first, MSG_ZEROCOPY)
    try:
        sock.recvmsg(1, 100, MSG_ERRQUEUE)
        raise AssertionError("a notification")
    except BlockingIOError:
        pass
    # other options of that level are the kernel's
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 7)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 7
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    os.setgid(65534)
    os.setuid(65534)
    sender = Sender(sock, role)
    try:
        sock.send(bytes(200000), MSG_ZEROCOPY)
        raise AssertionError("RLIMIT_MEMLOCK is not kept")
    except OSError as error:
        assert error.errno == errno.ENOBUFS, error
    sock.setblocking(True)
    sock.sendall(b"end")
    print("sent", len(first) + 3, hashlib.sha256(first + b"end").hexdigest())
    sock.shutdown(socket.SHUT_WR)
    return sender.report()


MODES = {f.__name__: f for f in (stream, small_reads, mixed, unread, gone, closed, killed, refused)}


def main():
    role, mode, address = sys.argv[1:4]
    sock = end_of_pair(role, protocol, address, PORT)
    MODES[mode](sock, role, *sys.argv[4:])
    sock.close()


main()

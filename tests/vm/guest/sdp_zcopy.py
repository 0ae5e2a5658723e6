#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Programs for the cases of SDP's zero copy: sdp_zcopy.py server|client MODE ADDRESS [ARGUMENT...]

Each mode is a pair. What was sent and received is printed with its digest; the case compares."""
import ctypes
import errno
import hashlib
import os
import random
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time

from sdp_pair import end_of_pair, receive_all

SDP = 257
SOL_SDP, ZCOPY_THRESH, ZCOPY_WRITE = 1025, 80, 81
PORT = 9310
BLOCKS = (65536, 300000, 1 << 20, 3000001, 200, 70000)

SLOW = int(os.environ.get("VM_SLOW", "1"))


def fresh(seed, size):
    """Octets that both ends can make."""
    return random.Random(seed).randbytes(size)


def send_blocks(sock, seed, total):
    source, digest, left = random.Random(seed), hashlib.sha256(), total
    while left:
        block = source.randbytes(min(left, source.choice(BLOCKS)))
        digest.update(block)
        sock.sendall(block)
        left -= len(block)
    sock.shutdown(socket.SHUT_WR)
    print("sent", total, digest.hexdigest(), flush=True)


def receive_exactly(sock, size):
    """Blocks of whatever size recv() gives."""
    got = bytearray()
    while len(got) < size:
        block = sock.recv(size - len(got))
        assert block, f"the end after {len(got)} octets"
        got += block
    return bytes(got)


def both_ways(sock, role, size):
    """Two threads at each end."""
    thread = threading.Thread(target=send_blocks, args=(sock, role, int(size)))
    thread.start()
    receive_all(sock)
    thread.join()


def one_way(sock, role, size):
    if role == "client":
        send_blocks(sock, role, int(size))
    else:
        receive_all(sock)


def small_reads(sock, role, size):
    """The reader's calls are small, look only, or do not wait."""
    if role == "client":
        return send_blocks(sock, role, int(size))
    assert len(sock.recv(100000, socket.MSG_PEEK)) > 0
    digest, count, poll = hashlib.sha256(), 0, select.poll()
    poll.register(sock, select.POLLIN)
    while True:
        if count % 3 == 0:
            block = sock.recv(1000)
        else:
            assert poll.poll(20000), "nothing comes"
            try:
                block = sock.recv(200000, socket.MSG_DONTWAIT)
            except BlockingIOError:
                continue
        if not block:
            break
        count += len(block)
        digest.update(block)
    return print("received", count, digest.hexdigest())


def polled(sock, role, size):
    """A reader that does not block: when poll() says that there is something, there is."""
    if role == "client":
        return send_blocks(sock, role, int(size))
    sock.setblocking(False)
    digest, count, poll = hashlib.sha256(), 0, select.poll()
    poll.register(sock, select.POLLIN)
    while True:
        assert poll.poll(20000), "nothing comes"
        block = sock.recv(200000)
        if not block:
            break
        count += len(block)
        digest.update(block)
    return print("received", count, digest.hexdigest())


def vectors(sock, role):
    """Many iovecs, small, large, empty, and MSG_WAITALL at the other end."""
    sizes = (100, 65536, 0, 40000, 7, 1 << 20, 131072, 131072, 3, 2000000, 1)
    parts = [fresh(i, n) for i, n in enumerate(sizes)]
    whole = b"".join(parts)
    for _ in range(3):
        if role == "client":
            assert sock.sendmsg(parts) == len(whole)
        else:
            assert sock.recv(len(whole), socket.MSG_WAITALL) == whole
    into = [bytearray(n) for n in reversed(sizes)]
    if role == "client":
        return sock.sendall(whole)
    count = sock.recvmsg_into(into, 0, socket.MSG_WAITALL)[0]
    assert count == len(whole) and b"".join(into) == whole, count


def crossing(sock, role, size):
    """Each end sends before it receives, one thread each."""
    size = int(size)
    begin = time.monotonic()
    for i in range(5):
        sock.sendall(fresh(role + str(i), size))
        other = "client" if role == "server" else "server"
        assert receive_exactly(sock, size) == fresh(other + str(i), size)
    print("crossing took", time.monotonic() - begin)


def report(sock, data, count):
    sock.shutdown(socket.SHUT_WR)
    print("sent", count, hashlib.sha256(data[:count]).hexdigest())


def send_interrupted(sock, data, after):
    """Return: octets that the kernel says have left"""
    read, write = os.pipe2(os.O_NONBLOCK)
    # an exception would lose the answer of send()
    signal.signal(signal.SIGALRM, lambda *_: os.write(write, b"!"))
    signal.setitimer(signal.ITIMER_REAL, after)
    count = sock.send(data)
    assert os.read(read, 1) == b"!", "send() has ended before the signal"
    return count


def interrupted(sock, role, after):
    """A signal in the middle of a send, to an end that reads slowly, later or now."""
    if role == "server":
        time.sleep(1)
        return receive_all(sock, (100000,))
    data = fresh(role, 64 << 20)
    count = send_interrupted(sock, data, float(after))
    assert 0 < count < len(data), count
    return report(sock, data, count)


def timed(sock, role):
    """SO_SNDTIMEO, to an end that does not read until the sender has gone on."""
    if role == "server":
        while not os.path.exists("sender-went-on"):
            time.sleep(0.1)
        return receive_all(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 1, 0))
    data = fresh(role, 16 << 20)
    begin = time.monotonic()
    count = sock.send(data)
    took = time.monotonic() - begin
    assert 0 < count < len(data) and 0.9 < took < 3 * SLOW, (count, took)
    # what was taken back leaves room for a few copies
    try:
        for _ in range(10):
            count += sock.send(data[count:])
        raise AssertionError("send() finds room without end")
    except BlockingIOError:
        pass
    with open("sender-went-on", "w", encoding="ascii"):
        pass
    return report(sock, data, count)


def patient(sock, role):
    """An end that reads only after it was asked by another way: the sender must not stand still."""
    if role == "client":
        sock.sendall(fresh(0, 150000))
        sock.sendall(b"go")
        assert sock.recv(1) == b"!"
        return
    time.sleep(2)
    assert receive_exactly(sock, 150002) == fresh(0, 150000) + b"go"
    sock.sendall(b"!")


def limited(sock, role, size):
    """RLIMIT_MEMLOCK is 0 for a program without rights."""
    if role == "client":
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        os.setgid(65534)
        os.setuid(65534)
    one_way(sock, role, size)


def threshold(sock, role):
    """The option."""
    if role == "server":
        return receive_all(sock)
    assert sock.getsockopt(SOL_SDP, ZCOPY_THRESH) == -1
    # as an option of TCP, too
    sock.setsockopt(socket.IPPROTO_TCP, ZCOPY_THRESH, 4096)
    assert sock.getsockopt(socket.IPPROTO_TCP, ZCOPY_THRESH) == 4096
    sock.setsockopt(SOL_SDP, ZCOPY_THRESH, 0)
    assert sock.getsockopt(SOL_SDP, ZCOPY_THRESH) == 0
    return send_blocks(sock, role, 2000000)


def refused_memory(sock, role):
    """Memory that is not there: the error of a copy, and the connection is as it was."""
    if role == "server":
        return receive_all(sock)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.send.restype = ctypes.c_ssize_t
    libc.send.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    assert libc.send(sock.fileno(), 4096, 1 << 20, 0) == -1
    assert ctypes.get_errno() == 14, ctypes.get_errno()
    return send_blocks(sock, role, 1000000)


def writers(sock, role):
    """Several writers and one that must not wait."""
    if role == "server":
        count = receive_all(sock)
        return print("count", count)
    total = [0] * 4

    def write(i):
        for _ in range(6):
            block = bytes([i]) * 300000
            if i == 3:
                begin = time.monotonic()
                try:
                    total[i] += sock.send(block, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    pass
                # it may wait for a copy of another writer, and for the processor
                assert time.monotonic() - begin < 5
                time.sleep(0.05)
            else:
                sock.sendall(block)
                total[i] += len(block)
    threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sock.shutdown(socket.SHUT_WR)
    return print("count", sum(total))


def endless(sock, role, reads="reads"):
    """Until somebody ends it."""
    if role == "server":
        try:
            while reads == "reads" and sock.recv(3000000):
                pass
        except OSError as error:
            print("ended:", error)
        time.sleep(600)
    block = bytes(16 << 20)
    try:
        while True:
            sock.sendall(block)
            print("more", flush=True)
    except (ConnectionResetError, BrokenPipeError) as error:
        print("ended:", error)
        return
    except TimeoutError as error:
        print("ended:", error)


def asked(sock, role, rounds, size, thresh="-1"):
    """The receiver waits with its memory before anything is sent."""
    sock.setsockopt(SOL_SDP, ZCOPY_THRESH, int(thresh) if role == "client" else -1)
    for i in range(int(rounds)):
        if role == "client":
            time.sleep(0.1 * SLOW)
            sock.sendall(fresh(i, int(size)))
            assert sock.recv(1) == b"!"
        else:
            assert receive_exactly(sock, int(size)) == fresh(i, int(size)), i
            sock.sendall(b"!")


def little(sock, role, rounds):
    """Large receives that find little data: after some the memory is not offered any more."""
    for i in range(int(rounds)):
        if role == "client":
            sock.sendall(fresh(i, 100))
            assert sock.recv(200000) == b"!"
        else:
            assert sock.recv(200000) == fresh(i, 100), i
            sock.sendall(b"!")


def off(sock, role):
    """The option of the receiver."""
    sock.setsockopt(SOL_SDP, ZCOPY_WRITE, 0)
    assert sock.getsockopt(socket.IPPROTO_TCP, ZCOPY_WRITE) == 0
    asked(sock, role, 5, 200000)


def poor(sock, role):
    """RLIMIT_MEMLOCK is 0 for the receiver."""
    if role == "server":
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        os.setgid(65534)
        os.setuid(65534)
    asked(sock, role, 5, 200000)


def cancelled(sock, role, seconds):
    """Signals and time limits end receives at any moment: no octet is lost, and none comes into
    memory that recv() has given back."""
    chance, end = random.Random(role), time.monotonic() + float(seconds)
    if role == "client":
        digest, total = hashlib.sha256(), 0
        while time.monotonic() < end:
            block = fresh(total, chance.choice((100, 33000, 70000, 300000, 1 << 20)))
            time.sleep(chance.random() * 0.03 * SLOW)
            digest.update(block)
            total += len(block)
            sock.sendall(block)
        sock.shutdown(socket.SHUT_WR)
        return print("sent", total, digest.hexdigest())
    libc = ctypes.CDLL(None, use_errno=True)
    libc.recv.restype = ctypes.c_ssize_t
    libc.recv.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    size = 1 << 20
    room = ctypes.create_string_buffer(size)
    marks = b"\xa5" * size
    digest, total, ends = hashlib.sha256(), 0, 0
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, True)
    while True:
        room.raw = marks
        limit = int(1 + chance.random() * 40000 * SLOW)
        by_time = chance.random() < 0.5
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO,
                        struct.pack("ll", 0, limit if by_time else 0))
        if not by_time:
            signal.setitimer(signal.ITIMER_REAL, limit / 1e6)
        got = libc.recv(sock.fileno(), room, size, 0)
        why = ctypes.get_errno()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if got == 0:
            break
        if got < 0:
            assert why in (errno.EINTR, errno.EAGAIN), why
            ends += 1
            got = 0
        digest.update(room.raw[:got])
        total += got
        # the peer continues: what it writes now must not come here
        time.sleep(chance.random() * 0.01)
        assert room.raw[got:] == marks[got:], f"octets behind the {got} that recv() returned"
    assert ends, "no receive has ended early"
    return print("received", total, digest.hexdigest())


def endless_asked(sock, role):
    """The receiver waits with its memory, and the sender pauses, until somebody ends it."""
    block = bytes(1 << 20)
    try:
        while True:
            if role == "server":
                assert sock.recv(3000000), "the end"
            else:
                time.sleep(0.05)
                sock.sendall(block)
    except (OSError, AssertionError) as error:
        print("ended:", error, flush=True)
    time.sleep(600)


MODES = {f.__name__: f for f in (both_ways, one_way, small_reads, polled, vectors, crossing, interrupted,
                                 timed, patient, limited, threshold, refused_memory, writers,
                                 endless, asked, little, off, poor, cancelled, endless_asked)}


def main():
    role, mode, address = sys.argv[1:4]
    sock = end_of_pair(role, SDP, address, PORT)
    MODES[mode](sock, role, *sys.argv[4:])
    if role == "server" and mode in ("vectors", "crossing"):
        # the client has all before the connection ends
        assert sock.recv(1) == b""
    sock.close()


main()

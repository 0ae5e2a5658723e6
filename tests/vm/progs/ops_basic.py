#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Sockets that the switch makes or marks: each answer is compared with that of TCP alone.

    ops_basic.py family|options|bind|connect|late|listen|hold|leaves|asks
"""
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from socket import AF_INET, AF_INET6, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM, SOL_SOCKET

FAMILY, WILDCARD = 19, 258
MARKED, UNMARKED = "127.0.0.2", "127.0.0.1"
SO_PROTOCOL, SO_DOMAIN = 38, 39
TCP_ULP = 31
IPV6_ADDRFORM = 1
# ways to a socket of the switch, IPv4
WAYS = [(FAMILY, 0), (FAMILY, 6), (FAMILY, WILDCARD), (AF_INET, WILDCARD)]


def check(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: wanted {wanted}, got {got}")


def answer(call, *args):
    """The errno of a call, or 0"""
    try:
        result = call(*args)
    except OSError as error:
        return error.errno
    if isinstance(result, socket.socket):
        result.close()
    return 0


def made(family, protocol, type_=SOCK_STREAM):
    s = socket.socket(family, type_, protocol)
    # Python's own idea of it decides how it writes addresses
    return socket.socket(AF_INET6 if family == AF_INET6 else AF_INET, type_, 0, fileno=s.detach())


def option(s, name):
    return s.getsockopt(SOL_SOCKET, name)


def server(address="127.0.0.1", family=AF_INET):
    s = socket.create_server((address, 0), family=family, backlog=64)
    return s, s.getsockname()


def family_part():
    for family, protocol in WAYS:
        with made(family, protocol) as s:
            check("domain", AF_INET, option(s, SO_DOMAIN))
            check("protocol", 6, option(s, SO_PROTOCOL))
            check("type", SOCK_STREAM, option(s, socket.SO_TYPE))
            check("name", ("0.0.0.0", 0), s.getsockname())
            check("peer", errno.ENOTCONN, answer(s.getpeername))
            check("recv", errno.ENOTCONN, answer(s.recv, 1))
            check("send", errno.EPIPE, answer(s.send, b"x", socket.MSG_NOSIGNAL))
    with made(AF_INET6, WILDCARD) as s:
        check("domain", AF_INET6, option(s, SO_DOMAIN))
        check("protocol", 6, option(s, SO_PROTOCOL))
    with made(FAMILY, 0, SOCK_DGRAM) as s:
        check("domain of datagrams", AF_INET, option(s, SO_DOMAIN))
        check("protocol of datagrams", 17, option(s, SO_PROTOCOL))
        s.bind(("127.0.0.1", 0))
        s.sendto(b"hello", s.getsockname())
        check("datagram", b"hello", s.recv(10))
    with made(FAMILY, 1, SOCK_RAW) as s:
        check("raw", 1, option(s, SO_PROTOCOL))
    # few of those that the kernel looks for a module for: each takes a process
    asked = [(type_, -1) for type_ in range(1, 12)] + [(SOCK_STREAM, p) for p in (
        1, 17, 132, 255, 262, 263, 1 << 30)] + [(SOCK_DGRAM, 6), (5, 132), (10, 3), (3, 6)]
    for type_, protocol in asked:
        check(f"type {type_}, protocol {protocol}", answer(socket.socket, AF_INET, type_, protocol),
              answer(socket.socket, FAMILY, type_, protocol))
    check("pair", errno.EOPNOTSUPP, answer(socket.socketpair, FAMILY, SOCK_STREAM, 0))


OPTIONS = [
    (SOL_SOCKET, socket.SO_REUSEADDR, 1), (SOL_SOCKET, socket.SO_REUSEPORT, 1),
    (SOL_SOCKET, socket.SO_KEEPALIVE, 1), (SOL_SOCKET, socket.SO_RCVBUF, 70000),
    (SOL_SOCKET, socket.SO_SNDBUF, 90000), (SOL_SOCKET, socket.SO_RCVLOWAT, 7),
    (SOL_SOCKET, socket.SO_OOBINLINE, 1), (SOL_SOCKET, socket.SO_PRIORITY, 5),
    (SOL_SOCKET, socket.SO_MARK, 77), (SOL_SOCKET, 60, 1), (SOL_SOCKET, 60, 2),  # SO_ZEROCOPY
    (SOL_SOCKET, socket.SO_DONTROUTE, 1), (SOL_SOCKET, 46, 50),     # SO_BUSY_POLL
    (SOL_SOCKET, 42, 3),                                            # SO_PEEK_OFF
    (SOL_SOCKET, 29, 1), (SOL_SOCKET, 1234, 1), (SOL_SOCKET, socket.SO_TYPE, 1),
    (SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3)),
    (SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 3, 0)),
    (SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 4, 0)),
    (SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("i", 4)),
    (SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo"), (SOL_SOCKET, socket.SO_BINDTODEVICE, b"none"),
    (6, socket.TCP_NODELAY, 1), (6, socket.TCP_MAXSEG, 1000), (6, socket.TCP_MAXSEG, 1),
    (6, socket.TCP_KEEPIDLE, 33), (6, socket.TCP_USER_TIMEOUT, 12345), (6, socket.TCP_CORK, 1),
    (6, socket.TCP_CONGESTION, b"reno"), (6, socket.TCP_CONGESTION, b"none such"),
    (6, 999, 1), (0, socket.IP_TTL, 9), (0, socket.IP_TOS, 0x10),
    (0, 15, 1), (0, socket.IP_TTL, 999), (0, 24, 1), (777, 1, 1),  # IP_FREEBIND, BIND_ADDRESS_NO_PORT
]


def read_options(s):
    result = []
    for level, name, value in OPTIONS:
        try:
            result.append((level, name, s.getsockopt(level, name, 64)))
        except OSError as error:
            result.append((level, name, error.errno))
    return result


def options_part():
    def outcome(family, protocol, host=UNMARKED):
        lines = []
        with made(family, protocol) as s:
            lines.append(("new", read_options(s)))
            for level, name, value in OPTIONS:
                lines.append((level, name, value, answer(s.setsockopt, level, name, value)))
            lines.append(("set", read_options(s)))
            listener, name = server(host)
            s.connect(name)
            lines.append(("connected", read_options(s)))
            check("protocol after connect", 6, option(s, SO_PROTOCOL))
            s.setsockopt(SOL_SOCKET, socket.SO_PRIORITY, 3)
            lines.append(("later", read_options(s)))
            listener.close()
        return lines

    plain = outcome(AF_INET, 0)
    for way in [*WAYS, (AF_INET, 0, MARKED)]:
        for wanted, got in zip(plain, outcome(*way)):
            if wanted[0] in ("new", "set", "connected", "later"):
                for a, b in zip(wanted[1], got[1]):
                    check(f"{way}, option {a[:2]}, {wanted[0]}", a, b)
            else:
                check(f"{way}, set", wanted, got)
    # more than are remembered; values longer than are
    with made(FAMILY, 0) as s:
        for name in range(2000):
            answer(s.setsockopt, 0, name, 1)
            answer(s.setsockopt, SOL_SOCKET, name, b"x" * 300)


def bind_part():
    def outcome(family, protocol):
        lines = []
        taken, name = server()
        with made(family, protocol) as s:
            lines.append(answer(s.bind, name))
            lines.append(answer(s.bind, ("192.0.2.1", 0)))
            s.setsockopt(0, 15, 1)
            lines.append(answer(s.bind, ("192.0.2.1", 0)))
            lines.append(s.getsockname()[0])
            lines.append(s.getsockname()[1] > 0)
            lines.append(answer(s.bind, ("127.0.0.1", 0)))
        taken.close()
        for reuse in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with made(family, protocol) as a, made(family, protocol) as b, made(AF_INET, 0) as c:
                a.bind(("127.0.0.1", 0))
                lines.append(answer(b.bind, a.getsockname()))
                lines.append(answer(c.bind, a.getsockname()))
                a.setsockopt(SOL_SOCKET, reuse, 1)
                b.setsockopt(SOL_SOCKET, reuse, 1)
                lines.append(answer(b.bind, a.getsockname()))
        return lines

    plain = outcome(AF_INET, 0)
    for way in WAYS:
        check(f"bind {way}", plain, outcome(*way))
    with made(AF_INET, WILDCARD) as s:
        fd = os.dup(s.fileno())
    with socket.socket(AF_INET6, SOCK_STREAM, 0, fileno=fd) as s:
        check("mapped on AF_INET", errno.EAFNOSUPPORT, answer(s.bind, ("::ffff:127.0.0.1", 0)))
    # two binders: one of them gets the port
    for _ in range(50):
        socks = [made(FAMILY, 0) for _ in range(4)]
        results = []
        threads = [threading.Thread(target=lambda s=s: results.append(
            answer(s.bind, ("127.0.0.1", 23456)))) for s in socks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check("binders", [0] + [errno.EADDRINUSE] * 3, sorted(results))
        for s in socks:
            s.close()


def exchange(a, b):
    a.sendall(b"ping")
    check("ping", b"ping", b.recv(4))
    b.sendall(b"pong")
    check("pong", b"pong", a.recv(4))


def connect_part():
    for host, ways in ((UNMARKED, WAYS), (MARKED, [(AF_INET, 0)])):
        connect_at(host, ways)


def connect_at(host, ways):
    listener, name = server(host)
    for way in ways:
        with made(*way) as s:
            s.connect(name)
            peer, _ = listener.accept()
            check("protocol", 6, option(s, SO_PROTOCOL))
            check("domain", AF_INET, option(s, SO_DOMAIN))
            check("peer", name, s.getpeername())
            exchange(s, peer)
            check("again", errno.EISCONN, answer(s.connect, name))
            peer.close()
        with made(*way) as s:
            s.setblocking(False)
            epoll = select.epoll()
            epoll.register(s, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
            epoll.poll(0)
            check("connect", True, answer(s.connect, name) in (0, errno.EINPROGRESS))
            check("events", [(s.fileno(), select.EPOLLOUT)], epoll.poll(5))
            check("error", 0, option(s, socket.SO_ERROR))
            peer, _ = listener.accept()
            peer.send(b"x")
            check("events", [(s.fileno(), select.EPOLLIN | select.EPOLLOUT)], epoll.poll(5))
            peer.close()
        # refused
        with made(AF_INET, 0) as nobody, made(*way) as s:
            nobody.bind(("127.0.0.1", 0))
            check("refused", errno.ECONNREFUSED, answer(s.connect, nobody.getsockname()))
            check("another", 0, answer(s.connect, name))
            listener.accept()[0].close()
    # SIGIO, asked for before
    got = []
    signal.signal(signal.SIGIO, lambda *_: got.append(1))
    with made(FAMILY, 0) as s:
        fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) | os.O_ASYNC)
        s.connect(name)
        peer, _ = listener.accept()
        got.clear()
        peer.send(b"x")
        time.sleep(0.3)
        check("SIGIO", True, bool(got))
        fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) & ~os.O_ASYNC)
        peer.close()
    # what replaces the operations of a live socket
    with made(FAMILY, 0) as s:
        s.connect(name)
        peer, _ = listener.accept()
        if not answer(s.setsockopt, 6, TCP_ULP, b"tls"):
            key = struct.pack("HH8s16s4s8s", 0x0303, 51, b"i" * 8, b"k" * 16, b"s" * 4, b"r" * 8)
            check("TLS", 0, answer(s.setsockopt, 282, 1, key))
            s.send(b"secret")
            check("record", 0x17, peer.recv(100)[0])
        peer.close()
    six, name6 = server("::", AF_INET6)
    with made(AF_INET6, WILDCARD) as s:
        s.connect(("::1", name6[1]))
        peer, _ = six.accept()
        exchange(s, peer)
        check("IPv6", (AF_INET6, 6), (option(s, SO_DOMAIN), option(s, SO_PROTOCOL)))
        peer.close()
    with made(AF_INET6, WILDCARD) as s:
        s.connect((f"::ffff:{host}", name[1]))
        peer, _ = listener.accept()
        # which the kernel refuses to sockets that another part of it has
        if answer(s.setsockopt, 41, IPV6_ADDRFORM, AF_INET) != errno.EBUSY:
            check("form", AF_INET, option(s, SO_DOMAIN))
        exchange(s, peer)
        peer.close()
    # a socket that was connected, disconnects and listens
    with made(FAMILY, 0) as s:
        s.connect(name)
        listener.accept()[0].close()
        time.sleep(0.1)
        libc_connect_unspec(s)
        s.bind(("127.0.0.1", 0))
        s.listen(5)
        with socket.create_connection(s.getsockname()) as a:
            b, _ = s.accept()
            exchange(a, b)
            b.close()
    listener.close()


def libc_connect_unspec(s):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    address = struct.pack("H14x", 0)
    check("disconnect", 0, libc.connect(s.fileno(), address, len(address)))


def late_part():
    """Threads in all calls while the socket is marked, and its road opens"""
    listener, name = server(MARKED)
    listener.setblocking(True)
    stop = False
    peers = []

    def taker():
        while not stop:
            try:
                peers.append(listener.accept()[0])
            except OSError:
                return

    threading.Thread(target=taker, daemon=True).start()
    for turn in range(150):
        family, protocol = [*WAYS, (AF_INET, 0)][turn % (len(WAYS) + 1)]
        s = made(family, protocol)
        s.setblocking(False)
        go = threading.Event()
        over = []

        def caller(kind, s=s, go=go, over=over):
            poll = select.poll()
            poll.register(s, select.POLLIN | select.POLLOUT)
            go.wait()
            while True:
                if kind == 0:
                    poll.poll(0)
                elif kind == 1:
                    answer(s.setsockopt, SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                    answer(s.getsockopt, 6, socket.TCP_INFO, 104)
                elif kind == 2:
                    answer(s.send, b"x" * 10, socket.MSG_NOSIGNAL)
                    answer(s.recv, 10)
                elif kind == 3:
                    answer(s.getsockname)
                    fcntl.fcntl(s, fcntl.F_SETFL, os.O_NONBLOCK | os.O_ASYNC)
                    fcntl.fcntl(s, fcntl.F_SETFL, os.O_NONBLOCK)
                else:
                    answer(s.connect, name)
                if over:
                    return

        threads = [threading.Thread(target=caller, args=(kind,)) for kind in range(5)]
        for thread in threads:
            thread.start()
        go.set()
        check("writable", 1, len(select.select([], [s], [], 10)[1]))
        time.sleep(0.002)
        over.append(True)
        for thread in threads:
            thread.join()
        check("protocol", 6, option(s, SO_PROTOCOL))
        check("keepalive", 1, option(s, socket.SO_KEEPALIVE))
        s.close()
    stop = True
    listener.close()


def listen_part():
    for family, protocol in WAYS:
        with made(family, protocol) as s:
            s.setsockopt(6, socket.TCP_NODELAY, 1)
            check("accepts", 0, option(s, socket.SO_ACCEPTCONN))
            s.bind((MARKED, 0))
            s.listen(8)
            check("accepts", 1, option(s, socket.SO_ACCEPTCONN))
            name = s.getsockname()
            check("readable", [], select.select([s], [], [], 0)[0])
            clients = [socket.create_connection(name) for _ in range(3)]
            check("readable", [s], select.select([s], [], [], 5)[0])
            for client in clients:
                peer, address = s.accept()
                check("order", client.getsockname(), address)
                check("accepted", (AF_INET, 6), (option(peer, SO_DOMAIN), option(peer, SO_PROTOCOL)))
                check("inherited", 1, peer.getsockopt(6, socket.TCP_NODELAY))
                exchange(client, peer)
                client.close()
                peer.close()
            s.setblocking(False)
            check("nobody", errno.EAGAIN, answer(s.accept))


def pair(host=MARKED):
    listener, name = server(host)
    client = made(AF_INET, 0)
    client.connect(name)
    peer, _ = listener.accept()
    return listener, client, peer


def hold_part():
    """A connection by the road of the host"""
    _, client, peer = pair()
    exchange(client, peer)
    with open("ready", "w", encoding="ascii"):
        pass
    while not os.path.exists("go"):
        time.sleep(0.1)
    exchange(client, peer)


def leaves_part():
    """With the plain road of the tests, which leaves while marked sockets in all states are there"""
    listener, client, peer = pair()
    # it opens a moment later
    for _ in range(100):
        exchange(client, peer)
        with open("/sys/module/offload_plain/parameters/opened", encoding="ascii") as f:
            if int(f.read()):
                break
        time.sleep(0.05)
    exchange(client, peer)
    check("rmmod under a connection", True, os.system("rmmod offload_plain") != 0)
    exchange(client, peer)
    client.close()
    peer.close()
    # one that waits in accept(), and one that was never connected
    results = []
    thread = threading.Thread(target=lambda: results.append(listener.accept()[0]))
    thread.start()
    fresh = made(AF_INET, 0)
    for _ in range(100):
        if not os.system("rmmod offload_plain 2> rmmod.log"):
            break
        time.sleep(0.1)
    else:
        sys.exit("rmmod under a listener")
    fresh.connect(listener.getsockname())
    thread.join(10)
    exchange(fresh, results[0])


def asks_part():
    """TCP_ULP by the program's own will, where no rule takes the socket"""
    with made(AF_INET, 0) as listener, made(AF_INET, 0) as client:
        check("no ULP", b"", listener.getsockopt(6, TCP_ULP, 16).rstrip(b"\0"))
        check("a listener", 0, answer(listener.setsockopt, 6, TCP_ULP, b"krdma"))
        check("again", errno.EEXIST, answer(listener.setsockopt, 6, TCP_ULP, b"krdma"))
        listener.bind((UNMARKED, 0))
        listener.listen(4)
        check("a client", 0, answer(client.setsockopt, 6, TCP_ULP, b"krdma"))
        check("its name", b"krdma", client.getsockopt(6, TCP_ULP, 16).rstrip(b"\0"))
        client.connect(listener.getsockname())
        peer, _ = listener.accept()
        exchange(client, peer)
        exchange(client, peer)
        peer.close()


globals()[sys.argv[1] + "_part"]()

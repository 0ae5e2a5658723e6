#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Marked sockets beside other parts of the kernel, and servers that did not make their listeners.

    ops_others.py [--plain] PART [ARGUMENT...]

As in ops_attack.py: with --plain the sockets are at an address that no rule of the case takes. What
is printed must be the same for both, where the case compares it.
"""
import collections
import concurrent.futures
import contextlib
import os
import random
import select
import signal
import socket
import struct
import sys
import threading
import time

import ops_attack as base
from ops_attack import SLOW, UNMARKED, answer, check, exchange, instruction, listener, make, pair

SDP_FAMILY, SDP = 27, 257
SOL_TLS, TLS_TX, TLS_RX = 282, 1, 2
TCP_AO_ADD_KEY = 38
# how to call the krdma command
KRDMA = os.environ.get("KRDMA", "krdma")


def marked():
    return base.HOST != UNMARKED


def krdma(arguments):
    if os.system(f"{KRDMA} offload {arguments} > krdma.log"):
        sys.exit(f"krdma offload {arguments}")


def one_of(what, wanted, got):
    if got not in wanted:
        sys.exit(f"{what}: wanted one of {wanted}, got {got}")


def receive_all(s):
    got = b""
    while True:
        some = s.recv(65536)
        if not some:
            return got
        got += some


def echo(at, number):
    """Sends back what comes, one peer after the other"""
    for _ in range(number):
        server, _ = at.accept()
        server.settimeout(20 * SLOW)
        with server:
            server.sendall(receive_all(server))


def wait_for_file(name):
    end = time.monotonic() + 30 * SLOW
    while not os.path.exists(name):
        if time.monotonic() > end:
            sys.exit(f"no {name}")
        time.sleep(0.05)


# Servers ------------------------------------------------------------------------------------------


def activated(number):
    """What systemd starts: the listener is descriptor 3"""
    check("LISTEN_FDS", "1", os.environ.get("LISTEN_FDS"))
    check("LISTEN_PID", str(os.getpid()), os.environ.get("LISTEN_PID"))
    with socket.fromfd(3, socket.AF_INET, socket.SOCK_STREAM) as at:
        os.close(3)
        at.settimeout(30 * SLOW)
        echo(at, int(number))


def fan(host, port, number):
    """Connections that are there at the same time; each gets its own bytes back"""
    ends = []
    for _ in range(int(number)):
        client = make()
        client.connect((host, int(port)))
        data = os.urandom(20000)
        client.sendall(data[:100])
        ends.append((client, data))
    for client, data in ends:
        client.sendall(data[100:])
        client.shutdown(socket.SHUT_WR)
        check("what came back", data, receive_all(client))


# IPAddressDeny= -----------------------------------------------------------------------------------


def deny_127(offset):
    """cgroup_skb: 0 for packets whose address there, in IP's header, is one of 127.0.0.0/8"""
    return [instruction(0xB7, dst=2, value=offset), instruction(0xBF, dst=3, src=10),
            instruction(0x07, dst=3, value=-4), instruction(0xB7, dst=4, value=4),
            instruction(0x85, value=26),  # bpf_skb_load_bytes()
            instruction(0x71, dst=1, src=10, offset=-4), instruction(0xB7, dst=0, value=1),
            instruction(0x55, dst=1, offset=1, value=127), instruction(0xB7, dst=0, value=0),
            instruction(0x95)]


@contextlib.contextmanager
def denied(group):
    """As systemd: the source of what comes, the destination of what goes"""
    detach = []
    try:
        for direction, offset in ((0, 12), (1, 16)):
            detach.append(base.attach_bpf(group, 8, direction, deny_127(offset)))
        yield
    finally:
        for off in detach:
            off()


def arrives(what, client, server, wanted):
    """A byte each way: do they come?"""
    for name, a, b in (("there", client, server), ("back", server, client)):
        b.settimeout(1)
        check(f"{what}, {name}: send", "0", answer(a.send, b"x"))
        check(f"{what}, {name}", wanted, answer(b.recv, 1))
        b.settimeout(10 * SLOW)


def deny(group):
    """The process is in the group. Its connections are denied before they are made, and later."""
    at = listener()
    with denied(group):
        client = make()
        client.settimeout(1.5)
        got = answer(client.connect, at.getsockname())
        check("connect() that is denied", "timeout", got)
        client.close()
    at.close()

    client, server = pair()
    exchange(client, server)
    with denied(group):
        if marked():
            # what a road carries already, no packet filter sees
            arrives("on a road", client, server, "0")
            krdma("reset")
        arrives("by TCP", client, server, "timeout")
    # TCP repeats it
    for s in (client, server):
        s.settimeout(20 * SLOW)
        check("after the denial", b"x", s.recv(1))
    exchange(client, server)

    client, server = pair()
    exchange(client, server)
    if not marked():
        return
    with denied(group):
        krdma("reset --end")
        for s in (client, server):
            check("ended", "ECONNRESET", answer(s.recv, 1))


# kTLS ---------------------------------------------------------------------------------------------


def tls_key(s, direction, letter):
    s.setsockopt(SOL_TLS, direction, struct.pack("HH8s16s4s8s", 0x0303, 51, b"i" * 8, letter * 16, b"s" * 4, b"r" * 8))


def tls_both():
    """Keys at both ends of a connection that has carried nothing yet; each order of the ends"""
    for first in (0, 1):
        ends = pair()
        a, b = ends[first], ends[1 - first]
        check("the first end", "0", answer(a.setsockopt, 6, base.TCP_ULP, b"tls"))
        tls_key(a, TLS_TX, b"k")
        tls_key(a, TLS_RX, b"l")
        data = os.urandom(10000)
        a.sendall(data)
        check("the other end", "0", answer(b.setsockopt, 6, base.TCP_ULP, b"tls"))
        tls_key(b, TLS_TX, b"l")
        tls_key(b, TLS_RX, b"k")
        got = b""
        while len(got) < len(data):
            got += b.recv(30000)
        check("the first record", data, got)
        exchange(a, b)
        exchange(b, a)
        for s in ends:
            s.close()


def tls_meanwhile(size, piece):
    """What setsockopt() answers while three threads use the connection"""
    client, server = pair()
    data = os.urandom(size)

    def send():
        for at in range(0, size, piece):
            client.sendall(data[at:at + piece])

    def receive():
        poll, got = select.poll(), b""
        poll.register(client, select.POLLIN)
        while len(got) < size:
            if not poll.poll(10000 * SLOW):
                sys.exit(f"nothing comes behind {len(got)} bytes")
            got += client.recv(5000)
        check("what came back", data, got)

    def back():
        left = size
        while left:
            some = server.recv(5000)
            if not some:
                sys.exit("the end")
            server.sendall(some)
            left -= len(some)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        running = [pool.submit(call) for call in (back, receive, send)]
        time.sleep(random.uniform(0, 0.01 * SLOW))
        got = answer(client.setsockopt, 6, base.TCP_ULP, b"tls")
        for one in running:
            one.result()
    client.close()
    server.close()
    return got


def tls_race(rounds):
    answers = collections.Counter(tls_meanwhile(120000, 700) for _ in range(int(rounds)))
    for got in answers:
        one_of("kTLS", ("0", "EEXIST") if marked() else ("0",), got)
    print("kTLS:", dict(answers))


# A program that asks ------------------------------------------------------------------------------


class Load:
    """Clients of a listener, and what accepts them, until the with statement ends"""

    def __init__(self, at):
        self.at, self.made, self.stopped = at, 0, threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(4)
        at.settimeout(0.2)
        self.clients = [self.pool.submit(self.connects) for _ in range(3)]
        self.running = [self.pool.submit(self.accepts)] + self.clients

    def accepts(self):
        while not self.stopped.is_set() or any(not c.done() for c in self.clients):
            with contextlib.suppress(TimeoutError):
                echo(self.at, 1)

    def connects(self):
        while not self.stopped.is_set():
            with make() as client:
                client.connect(self.at.getsockname())
                data = os.urandom(3000)
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                check("what came back", data, receive_all(client))
            self.made += 1

    def more(self, number):
        end = self.made + number
        limit = time.monotonic() + 30 * SLOW
        while self.made < end:
            if time.monotonic() > limit or any(one.done() for one in self.running):
                sys.exit("no more connections")
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.pool.shutdown()
        # what one of them says is wrong comes first
        for one in self.running:
            one.result()


def asks():
    """TCP_ULP "krdma" on a listener that has peers already, as rules come; then kTLS on it"""
    at = listener()
    tls, again = collections.Counter(), collections.Counter()

    def ask(ulp):
        return answer(at.setsockopt, 6, base.TCP_ULP, ulp)

    with Load(at) as load:
        load.more(5)
        check("without a rule", "EPERM", ask(b"krdma"))
        load.more(5)
        for direction in ("connect", "listen"):
            krdma(f"add {direction} {base.HOST} use any")
        check("with one", "0", ask(b"krdma"))
        check("again", "EEXIST", ask(b"krdma"))
        load.more(20)
        for _ in range(10):
            tls[ask(b"tls")] += 1
            load.more(2)
            again[ask(b"krdma")] += 1
            load.more(2)
    print("kTLS on it:", dict(tls), "and again:", dict(again))
    check("kTLS on a listener", ["ENOTCONN"], list(tls))
    check("and again", ["0"], list(again))

    # too late: a connection; and one that a rule took already
    for host, wanted in ((UNMARKED, "EINVAL"), (base.HOST, "EEXIST")):
        with listener(host=host) as other, make() as client:
            client.connect(other.getsockname())
            server, _ = other.accept()
            for end in (client, server):
                check(f"a connection of {host}", wanted, answer(end.setsockopt, 6, base.TCP_ULP, b"krdma"))
            exchange(client, server)


def nothing_comes(what, s):
    """Not a byte; the connection may have ended"""
    s.settimeout(1)
    with contextlib.suppress(OSError):
        check(f"{what}: what comes", b"", s.recv(1))


def sdp_server(way):
    with listener(host=UNMARKED, family=way[0], protocol=way[1]) as at, make() as client:
        client.connect(at.getsockname())
        client.sendall(b"hello")
        server, _ = at.accept()
        with server:
            server.settimeout(None)
            sent = answer(server.send, b"answer")
            print(f"{way}: a server's send: {sent}")
            check(f"{way}: a server's send is refused", True, sent != "0")
            nothing_comes(way, client)


def sdp_client(way):
    with listener(host=UNMARKED) as at, make(*way) as client:
        client.settimeout(None)
        client.connect(at.getsockname())
        server, _ = at.accept()
        with server:
            sent = answer(client.send, b"question")
            print(f"{way}: a client's send: {sent}")
            check(f"{way}: a client's send is refused", True, sent != "0")
            nothing_comes(way, server)


def sdp_alone(wanted="0"):
    """Servers and clients that must have SDP, which is not there; the parameter explicit allows
    them, or they are refused"""
    for way in ((SDP_FAMILY, 0), (int(socket.AF_INET), SDP), (base.FAMILY, SDP)):
        for part in (sdp_server, sdp_client):
            check(f"{way}: {part.__name__}", wanted, answer(part, way))


def sdp_late():
    """A server whose rule has gone when its peer comes"""
    krdma(f"add listen {UNMARKED} use any")
    with listener(host=UNMARKED, protocol=SDP) as at, make() as client:
        krdma("flush")
        client.connect(at.getsockname())
        server, _ = at.accept()
        with server:
            server.settimeout(None)
            check("its send", "EACCES", answer(server.send, b"answer"))
            nothing_comes("its peer", client)


# Authentication -----------------------------------------------------------------------------------


def ao_key(s, address, key):
    """struct tcp_ao_add: one key for that address"""
    name = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address)).ljust(128, b"\0")
    numbers = struct.pack("=iIHBBBBBB", 0, 0, 0, 32, 100, 100, 0, 0, len(key))
    s.setsockopt(6, TCP_AO_ADD_KEY, name + b"hmac(sha1)".ljust(64, b"\0") + numbers + key.ljust(80, b"\0"))


def ao_there():
    """Ends with 1, and the reason, where the kernel does not have it"""
    with make() as s:
        got = answer(ao_key, s, UNMARKED, b"key")
    if got in ("ENOPROTOOPT", "ENOENT"):
        sys.exit(f"TCP_AO_ADD_KEY: {got}")
    check("TCP_AO_ADD_KEY", "0", got)


def ao():
    """The right key, a wrong one, none"""
    for client_key, result in ((b"right", "0"), (b"wrong", "timeout"), (None, "timeout")):
        with listener() as at, make() as client:
            ao_key(at, UNMARKED, b"right")
            client.bind((UNMARKED, 0))
            if client_key:
                ao_key(client, base.HOST, client_key)
            client.settimeout(1.5 if result != "0" else 10 * SLOW)
            check(f"key {client_key}", result, answer(client.connect, at.getsockname()))
            if result == "0":
                server, _ = at.accept()
                exchange(client, server)
                server.settimeout(10 * SLOW)
                client.shutdown(socket.SHUT_WR)
                check("the end", b"", server.recv(1))


# Handshakes that do not end -----------------------------------------------------------------------


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def syn(source, destination):
    """A packet of IP; the kernel fills what is 0 in its header"""
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(destination[0])
    tcp = struct.pack("!HHIIBBHHH", source[1], destination[1], random.getrandbits(32), 0, 5 << 4, 2, 65535, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)) + tcp[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + addresses + tcp


def half_open():
    """TCP's requests: sockets that the listener has not got yet"""
    with open("/proc/net/tcp", encoding="ascii") as f:
        return sum(line.split()[3] == "03" for line in f.readlines()[1:])


def unanswered(stays=""):
    """SYNs of a host that answers nothing. The listener closes at once, or stays for the case."""
    host, number = "10.9.0.1", 40
    at = listener(9570, host)
    at.settimeout(10 * SLOW)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        for i in range(number):
            raw.sendto(syn(("10.9.0.7", 20000 + i), (host, 9570)), (host, 0))
    time.sleep(0.2)
    check("requests", number, half_open())
    if not stays:
        return
    open("asked", "w", encoding="ascii").close()
    wait_for_file("go")
    with make() as client:
        client.connect((host, 9570))
        server, _ = at.accept()
        server.settimeout(10 * SLOW)
        exchange(client, server)


def unacknowledged():
    """The case drops the last packet of the handshake, and what follows, until it says "go\""""
    at = listener(9571)
    at.settimeout(20 * SLOW)
    client = make()
    client.settimeout(20 * SLOW)
    client.connect((base.HOST, 9571))
    check("requests", 1, half_open())
    open("asked", "w", encoding="ascii").close()
    wait_for_file("go")
    client.sendall(b"first")
    server, _ = at.accept()
    server.settimeout(20 * SLOW)
    check("the first bytes", b"first", server.recv(5))
    exchange(client, server)


def main():
    arguments = sys.argv[1:]
    base.HOST = base.MARKED
    if arguments[0] == "--plain":
        base.HOST = UNMARKED
        arguments.pop(0)
    signal.alarm(int(80 * SLOW))
    parts = {part.__name__: part for part in (
        activated, fan, deny, tls_both, tls_race, asks, sdp_alone, sdp_late, ao_there, ao,
        unanswered, unacknowledged)}
    parts[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main()

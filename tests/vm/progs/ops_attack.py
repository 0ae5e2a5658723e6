#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What the kernel and the administrator lay down for TCP sockets holds for marked ones, too.

    ops_attack.py [--plain] PART [ARGUMENT...]

Without --plain the sockets are at an address that the rules of the case take; with it, at one that
they do not: the answers must be the same. A part ends with 0, or says what is wrong.
"""
import ctypes
import errno
import os
import signal
import socket
import struct
import sys
import time

MARKED, UNMARKED = "127.0.0.2", "127.0.0.1"
HOST = MARKED
FAMILY, WILDCARD = 19, 258
TCP_ULP, TCP_MD5SIG, TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 31, 14, 19, 20, 21
IP_FREEBIND = 15
SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF = 51, 52
SLOW = float(os.environ.get("VM_SLOW", "1"))
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)


def check(what, wanted, got):
    if wanted != got:
        sys.exit(f"{what}: wanted {wanted}, got {got}")


def answer(call, *args):
    """The name of a call's errno, or "0\""""
    try:
        result = call(*args)
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__) if error.errno else "timeout"
    if isinstance(result, socket.socket):
        result.close()
    return "0"


def syscall(number, *args):
    ctypes.set_errno(0)
    rc = libc.syscall(ctypes.c_long(number), *args)
    if rc < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return rc


def make(family=socket.AF_INET, protocol=0):
    raw = socket.socket(family, socket.SOCK_STREAM, protocol)
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=raw.detach())
    made.settimeout(10 * SLOW)
    return made


# ways to a socket of the switch
WAYS = [(socket.AF_INET, 0), (FAMILY, 0), (socket.AF_INET, WILDCARD)]


def listener(port=0, host=None, **options):
    s = make(**options)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host or HOST, port))
    s.listen(64)
    return s


def exchange(client, server, size=100000):
    """Both directions, compared; each end sends less than the buffers hold"""
    for a, b in ((client, server), (server, client)):
        data = os.urandom(size)
        got = b""
        left = data
        while len(got) < size:
            if left:
                left = left[a.send(left[:30000]):]
            got += b.recv(30000)
        check("data", data, got)


def pair(port=0, **options):
    at = listener(port, **options)
    options.pop("host", None)
    client = make(**options)
    client.connect(at.getsockname())
    server, _ = at.accept()
    server.settimeout(10 * SLOW)
    return client, server


def works():
    """A connection and its data"""
    client, server = pair()
    exchange(client, server)


# Landlock -----------------------------------------------------------------------------------------


def landlock(bind_ports, connect_ports):
    """Only these ports, for this process and its children"""
    bind_tcp, connect_tcp = 1, 2
    attr = struct.pack("=QQ", 0, bind_tcp | connect_tcp)
    ruleset = syscall(444, attr, ctypes.c_size_t(len(attr)), 0)
    for access, ports in ((bind_tcp, bind_ports), (connect_tcp, connect_ports)):
        for port in ports:
            syscall(445, ruleset, 2, struct.pack("=QQ", access, port), 0)
    check("PR_SET_NO_NEW_PRIVS", 0, libc.prctl(38, 1, 0, 0, 0))
    syscall(446, ruleset, 0)


def sandbox():
    open_port, closed_port = 9510, 9511
    at = listener(open_port), listener(closed_port)
    landlock([9512], [open_port])
    for way in WAYS:
        client = make(*way)
        check(f"connect to a port that is closed {way}", "EACCES", answer(client.connect, (HOST, closed_port)))
        check(f"bind to another port {way}", "EACCES", answer(make(*way).bind, (HOST, 9513)))
        check(f"connect to the open one {way}", "0", answer(client.connect, (HOST, open_port)))
        exchange(client, at[0].accept()[0])
        with make(*way) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            check(f"bind to the open one {way}", "0", answer(server.bind, (HOST, 9512)))
    # what was marked before the sandbox is left as it is
    check("disconnect", 0, libc.connect(client.fileno(), struct.pack("=H14x", 0), 16))
    check("and again", "EACCES", answer(client.connect, (HOST, closed_port)))


# BPF of cgroups -----------------------------------------------------------------------------------


def instruction(code, dst=0, src=0, offset=0, value=0):
    return struct.pack("=BBhi", code, src << 4 | dst, offset, value)


def bpf(command, attr, size=128):
    attr = ctypes.create_string_buffer(attr.ljust(size, b"\0"), size)
    return syscall(321, command, attr, size)


def load(kind, attach, body):
    code = ctypes.create_string_buffer(b"".join(body))
    name = ctypes.create_string_buffer(b"GPL")
    attr = struct.pack("=IIQQIIQII16sII", kind, len(body), ctypes.addressof(code), ctypes.addressof(name),
                       0, 0, 0, 0, 0, b"attack", 0, attach)
    return bpf(5, attr)


def refuse_port(port):
    """r0 = 0 for that port of struct bpf_sock_addr"""
    return [instruction(0x61, dst=2, src=1, offset=24), instruction(0xB7, dst=0, value=1),
            instruction(0x55, dst=2, offset=1, value=socket.htons(port)),
            instruction(0xB7, dst=0, value=0), instruction(0x95)]


def other_port(port, wanted):
    """Who asks for that port gets another, as a balancer of services does it"""
    return [instruction(0x61, dst=2, src=1, offset=24), instruction(0xB7, dst=0, value=1),
            instruction(0x55, dst=2, offset=2, value=socket.htons(port)),
            instruction(0xB7, dst=2, value=socket.htons(wanted)),
            instruction(0x63, dst=1, src=2, offset=24), instruction(0x95)]


def refuse_all():
    return [instruction(0xB7, dst=0, value=0), instruction(0x95)]


def attach_bpf(group, kind, attach, body):
    program = load(kind, attach, body)
    fd = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
    bpf(8, struct.pack("=IIII", fd, program, attach, 0))
    return lambda: bpf(9, struct.pack("=IIII", fd, program, attach, 0))


def cgroup_programs(group):
    """The process is in the group"""
    at = listener(9520), listener(9521)
    for attach, call in ((10, "connect"), (8, "bind")):
        detach = attach_bpf(group, 18, attach, refuse_port(9521 if call == "connect" else 9522))
        for way in WAYS:
            if call == "connect":
                client = make(*way)
                check(f"connect {way}", "EPERM", answer(client.connect, (HOST, 9521)))
                check(f"connect {way}", "0", answer(client.connect, (HOST, 9520)))
                exchange(client, at[0].accept()[0])
            else:
                check(f"bind {way}", "EPERM", answer(make(*way).bind, (HOST, 9522)))
        detach()
    detach = attach_bpf(group, 18, 10, other_port(9523, 9520))
    for way in WAYS:
        client = make(*way)
        check(f"connect to another port {way}", "0", answer(client.connect, (HOST, 9523)))
        check(f"which {way}", (HOST, 9520), client.getpeername())
        exchange(client, at[0].accept()[0])
    detach()
    detach = attach_bpf(group, 9, 2, refuse_all())
    for way in WAYS:
        check(f"socket {way}", "EPERM", answer(socket.socket, way[0], socket.SOCK_STREAM, way[1]))
    detach()
    # what IPAddressDeny= of systemd attaches
    detach = attach_bpf(group, 8, 1, refuse_all())
    for way in WAYS:
        client = make(*way)
        client.settimeout(1)
        check(f"connect without packets {way}", "timeout", answer(client.connect, (HOST, 9520)))
    detach()
    works()


# Firewall -----------------------------------------------------------------------------------------


def as_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def firewall(how):
    """The case has rules for the owner nobody and for port 9531; port 9530 answers nobody alone"""
    at = listener(9530), listener(9531)
    for way in WAYS:
        if how == "port":
            check(f"a port {way}", "ECONNREFUSED", answer(make(*way).connect, (HOST, 9531)))
        client = make(*way)
        check(f"another owner {way}", "0", answer(client.connect, (HOST, 9530)))
        exchange(client, at[0].accept()[0])
    if how == "port":
        return
    as_nobody()
    for way in WAYS:
        check(f"the owner {way}", "ECONNREFUSED", answer(make(*way).connect, (HOST, 9530)))


# Ports --------------------------------------------------------------------------------------------


def ports():
    """Nobody else's port"""
    held = listener(9540)
    shared = make()
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    shared.bind((HOST, 9541))
    shared.listen(8)
    switch = listener(9542, family=FAMILY)
    as_nobody()
    for way in WAYS:
        for port in (9540, 9541, 9542):
            for host in (HOST, "0.0.0.0"):
                for option in (None, (socket.SOL_SOCKET, socket.SO_REUSEPORT), (socket.SOL_SOCKET, socket.SO_REUSEADDR),
                               (socket.IPPROTO_IP, IP_FREEBIND)):
                    with make(*way) as thief:
                        if option:
                            thief.setsockopt(*option, 1)
                        check(f"port {port} of {host}, {option}, {way}", "EADDRINUSE",
                              answer(thief.bind, (host, port)))
        check(f"a privileged port {way}", "EACCES", answer(make(*way).bind, (HOST, 80)))
    for s in (held, shared, switch):
        s.close()


def reuseport():
    """A group, and programs that choose one of it"""
    group = []
    for _ in range(3):
        s = make()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind((HOST, 9545))
        s.listen(64)
        s.setblocking(False)
        group.append(s)
    clients = []

    def taken():
        for _ in range(12):
            client = make()
            client.connect((HOST, 9545))
            clients.append(client)
        counts = []
        for s in group:
            counts.append(0)
            while True:
                try:
                    server, _ = s.accept()
                except BlockingIOError:
                    break
                server.settimeout(10 * SLOW)
                client = next(c for c in clients if c.getsockname() == server.getpeername())
                exchange(client, server, 3000)
                counts[-1] += 1
        return counts

    check("all are taken", 12, sum(taken()))
    code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 1))
    group[0].setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
                        struct.pack("=H6xQ", 1, ctypes.addressof(code)))
    check("by the program", [0, 12, 0], taken())
    program = load(1, 0, [instruction(0xB7, dst=0, value=2), instruction(0x95)])
    group[0].setsockopt(socket.SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, program)
    check("by another", [0, 0, 12], taken())


# Other parts of the kernel that want the socket ---------------------------------------------------


def tls_sends(client, server):
    key = struct.pack("HH8s16s4s8s", 0x0303, 51, b"i" * 8, b"k" * 16, b"s" * 4, b"r" * 8)
    client.setsockopt(282, 1, key)
    client.send(b"secret")
    record = server.recv(100)
    check("a record", 0x17, record[0])
    check("what is sent", False, b"secret" in record)


def tls(reset=None):
    """kTLS on a connection with a road, on one without, and on one whose road was given up"""
    client, server = pair()
    exchange(client, server)
    first = answer(client.setsockopt, 6, TCP_ULP, b"tls")
    if first == "0":
        tls_sends(client, server)
    else:
        check("kTLS on a marked one", "EEXIST", first)
        exchange(client, server)
    # the tables that kTLS builds now are those of others
    plain = listener(host=UNMARKED)
    client = make()
    client.connect(plain.getsockname())
    server, _ = plain.accept()
    client.setsockopt(6, TCP_ULP, b"tls")
    tls_sends(client, server)
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(family) as s:
            check("kTLS without a connection", "ENOTCONN", answer(s.setsockopt, 6, TCP_ULP, b"tls"))
    # a listener, and a socket before connect(), that were marked
    at = listener()
    check("kTLS of a listener", "ENOTCONN", answer(at.setsockopt, 6, TCP_ULP, b"tls"))
    if not reset:
        return
    client, server = pair()
    if os.system(reset):
        sys.exit("reset")
    again = answer(client.setsockopt, 6, TCP_ULP, b"tls")
    if again == "0":
        tls_sends(client, server)
    else:
        # a byte has changed over already, or the road was there at once
        check("kTLS after a reset", "EEXIST", again)


def sockmap(port="0", wanted=None):
    """A marked socket is refused; at a port where a rule says TCP it is not"""
    client, server = pair(int(port))
    exchange(client, server, 2000)
    number = bpf(0, struct.pack("=IIIII", 15, 4, 4, 2, 0))
    key, value = ctypes.create_string_buffer(4), ctypes.create_string_buffer(struct.pack("=I", client.fileno()))
    got = answer(bpf, 2, struct.pack("=IIQQQ", number, 0, ctypes.addressof(key), ctypes.addressof(value), 0))
    check("a socket in a map", wanted or ("0" if HOST == UNMARKED else "ENOTSUP"), got)
    exchange(client, server)


def md5_of(s, address, key):
    packed = struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(address)).ljust(128, b"\0")
    s.setsockopt(6, TCP_MD5SIG, packed + struct.pack("=BBHi", 0, 0, len(key), 0) + key.ljust(80, b"\0"))


def md5():
    for client_key, result in ((b"right", "0"), (b"wrong", "timeout"), (None, "timeout")):
        at = listener()
        md5_of(at, "127.0.0.1", b"right")
        client = make()
        client.bind(("127.0.0.1", 0))
        if client_key:
            md5_of(client, HOST, client_key)
        client.settimeout(1.5 if result != "0" else 10 * SLOW)
        check(f"key {client_key}", result, answer(client.connect, at.getsockname()))
        if result == "0":
            exchange(client, at.accept()[0])


def repair():
    """In a user namespace of its own, with its own rules: numbers of the program's choice"""
    # other ports each time: what was closed is in TIME_WAIT
    for first in range(9550, 9590, 2):
        ends = [make(), make()]
        names = [(HOST, first), (HOST, first + 1)]
        for s in ends:
            s.setsockopt(6, TCP_REPAIR, 1)
        for i, s in enumerate(ends):
            for queue, number in ((1, 1000), (2, 2000)):
                s.setsockopt(6, TCP_REPAIR_QUEUE, queue if not i else 3 - queue)
                s.setsockopt(6, TCP_QUEUE_SEQ, struct.pack("=I", number))
            s.bind(names[i])
            s.connect(names[1 - i])
        for s in ends:
            s.setsockopt(6, TCP_REPAIR, struct.pack("=i", -1))
            s.close()


def asks():
    """A program that asks by itself, without a rule"""
    s = make()
    root = answer(s.setsockopt, 6, TCP_ULP, b"krdma")
    s.close()
    as_nobody()
    print("TCP_ULP of root:", root, "of nobody:", answer(make().setsockopt, 6, TCP_ULP, b"krdma"))


SDP = [(27, 0), (socket.AF_INET, 257), (FAMILY, 257)]


def explicit():
    """An ordinary user, and no rule: a road is the administrator's decision"""
    at = listener(9570, host=UNMARKED)
    # where the peers of SDP meet
    meeting = listener(1017, host=UNMARKED)
    as_nobody()
    for way in SDP:
        with make(*way) as s:
            check(f"connect {way}", "EACCES", answer(s.connect, (UNMARKED, 9570)))
            check(f"again {way}", "EACCES", answer(s.connect, (UNMARKED, 9570)))
            check(f"connect to any {way}", "EACCES", answer(s.connect, ("0.0.0.0", 9570)))
        with make(*way) as s:
            begin = time.monotonic()
            check(f"send without a connection {way}", "EPIPE", answer(s.send, b"x"))
            check("at once", True, time.monotonic() - begin < 3 * SLOW)
            s.bind((UNMARKED, 0))
            check(f"listen {way}", "EACCES", answer(s.listen, 1))
            check(f"fast open {way}", "EACCES",
                  answer(s.sendto, b"x", socket.MSG_FASTOPEN, (UNMARKED, 9570)))
    for way in WAYS[1:]:
        client = make(*way)
        client.connect((UNMARKED, 9570))
        exchange(client, at.accept()[0])
        client, server = pair(host=UNMARKED, family=way[0], protocol=way[1])
        exchange(client, server)
    for s in (at, meeting):
        s.setblocking(False)
        check("no connection of SDP", "EAGAIN", answer(s.accept))


# Memory -------------------------------------------------------------------------------------------


def files_for(number):
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * number + 100, 2 * number + 100))


def held(number):
    """A listener that does not read; when all are there and have sent, each gets an answer"""
    number = int(number)
    files_for(number)
    at = listener(9560)
    at.settimeout(60 * SLOW)
    servers = [at.accept()[0] for _ in range(number)]
    while not os.path.exists("pressed"):
        time.sleep(0.1)
    for server in servers:
        server.send(b"last")
    print(number, "connections", flush=True)
    for server in servers:
        server.settimeout(20 * SLOW)
        while server.recv(1 << 20):
            pass


def press(number, size):
    """So many peers of it, who each send as much as they can"""
    number, size = int(number), int(size)
    files_for(number)
    clients = []
    data = os.urandom(size)
    for _ in range(number):
        client = make()
        client.connect((HOST, 9560))
        client.setblocking(False)
        clients.append(client)
        try:
            client.send(data)
        except BlockingIOError:
            pass
    open("pressed", "w", encoding="ascii").close()
    for client in clients:
        client.settimeout(20 * SLOW)
        check("the answer", b"last", client.recv(4))
        client.shutdown(socket.SHUT_WR)
    for client in clients:
        check("the end", b"", client.recv(1))


# In between ---------------------------------------------------------------------------------------


def serve(host, port, number):
    """Sends back what comes"""
    at = listener(int(port), host)
    at.settimeout(30 * SLOW)
    for _ in range(int(number)):
        server, _ = at.accept()
        server.settimeout(20 * SLOW)
        while True:
            data = server.recv(65536)
            if not data:
                break
            server.sendall(data)
        server.close()


def ask(host, port, number="1", size="200000", pause="0"):
    """What was sent comes back, and the end of it"""
    for _ in range(int(number)):
        client = make()
        client.settimeout(20 * SLOW)
        client.connect((host, int(port)))
        data = os.urandom(int(size))
        child = os.fork()
        if not child:
            client.sendall(data)
            if float(pause):
                # what comes now, the network does not carry any more
                open("paused", "w", encoding="ascii").close()
                time.sleep(float(pause))
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            os._exit(0)
        got = b""
        while True:
            some = client.recv(65536)
            if not some:
                break
            got += some
        os.waitpid(child, 0)
        check("what came back", data * (2 if float(pause) else 1), got)
        client.close()


def main():
    global HOST
    arguments = sys.argv[1:]
    if arguments[0] == "--plain":
        HOST = UNMARKED
        arguments.pop(0)
    signal.alarm(int(60 * SLOW))
    parts = {part.__name__: part for part in (
        works, sandbox, cgroup_programs, firewall, ports, reuseport, tls, sockmap, md5, repair, asks, explicit,
        held, press, serve, ask)}
    parts[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main()

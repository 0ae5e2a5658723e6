#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The calls of a marked socket beside those of one that no rule takes: each scene is played by both,
and what they saw must be the same.

    ops_calls.py WAY [SCENE...]

WAY: marked: both ends are at the address that the case's rules take; family: both are made by
AF_INET_OFFLOAD. 10.9.0.2 and 10.9.0.3 never answer.
"""
import array
import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import termios
import threading
import time

FAMILY = 19
MARKED, UNMARKED = "127.0.0.2", "127.0.0.1"
SLOW = int(os.environ.get("VM_SLOW", "1"))
SIOCATMARK, SIOCOUTQNSD, SIOCGIFADDR = 0x8905, 0x894B, 0x8915
MSG_FASTOPEN = 0x20000000
libc = ctypes.CDLL(None, use_errno=True)


class Way:
    """How a scene makes its sockets, and where they are"""

    def __init__(self, host, family=socket.AF_INET):
        self.host, self.family = host, family
        self.dark = ("10.9.0.3" if host == MARKED else "10.9.0.2", 7)

    def make(self):
        raw = socket.socket(self.family, socket.SOCK_STREAM, 0)
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=raw.detach())

    def listener(self, backlog=16, port=0):
        s = self.make()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((self.host, port))
        s.listen(backlog)
        return s

    def closed_port(self):
        with self.make() as s:
            s.bind((self.host, 0))
            return s.getsockname()


def name(code):
    return errno.errorcode.get(code, "0") if code else "0"


def answer(call, *args):
    """The errno's name, or what the call returns if that is plain"""
    try:
        result = call(*args)
    except OSError as error:
        return name(error.errno) if error.errno else type(error).__name__
    if isinstance(result, tuple):
        result[0].close()
        return "connection"
    return result if isinstance(result, (int, bytes)) else "0"


def raw(function, *args):
    """A call of libc, which Python does not repeat after a signal"""
    ctypes.set_errno(0)
    return "0" if function(*args) >= 0 else name(ctypes.get_errno())


def sockaddr(address):
    return struct.pack("=HH4s8x", socket.AF_INET, socket.htons(address[1]), socket.inet_aton(address[0]))


def raw_connect(s, address):
    packed = sockaddr(address)
    return raw(libc.connect, s.fileno(), packed, len(packed))


def disconnect(s):
    return raw(libc.connect, s.fileno(), struct.pack("=H14x", socket.AF_UNSPEC), 16)


def raw_accept(s):
    return raw(libc.accept, s.fileno(), None, None)


def error_of(s):
    return name(s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def events(s, milliseconds=0):
    p = select.poll()
    p.register(s, select.POLLIN | select.POLLOUT | select.POLLPRI | 0x2000)
    got = p.poll(milliseconds * (SLOW if milliseconds else 1))
    return got[0][1] if got else 0


def comes(s):
    """Bytes or an end, in time"""
    p = select.poll()
    p.register(s, select.POLLIN)
    return bool(p.poll(5000 * SLOW))


def settled(s):
    """The events of a connect that is over"""
    events(s, 5000)
    time.sleep(0.05 * SLOW)
    return events(s)


def timeout(s, option, seconds):
    s.setsockopt(socket.SOL_SOCKET, option,
                 struct.pack("@ll", int(seconds), int(seconds % 1 * 1000000)))


def timed(call, *args):
    start = time.monotonic()
    result = call(*args)
    return result, round(time.monotonic() - start, 1)


def about(seconds, wanted):
    return wanted - 0.06 <= seconds <= wanted + 0.5 * SLOW


def alarm_after(seconds, restart=False):
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, not restart)
    # again and again: the first may come before the call
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)


def wait_until(condition):
    end = time.monotonic() + 5 * SLOW
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


# scenes ---------------------------------------------------------------------------------------


def new(way):
    """A socket of which nothing was asked"""
    s = way.make()
    yield events(s)
    yield answer(s.recv, 1)
    yield answer(s.send, b"x", socket.MSG_NOSIGNAL)
    yield answer(s.accept)
    yield answer(s.getpeername)
    yield s.getsockname()
    got = []
    signal.signal(signal.SIGPIPE, lambda *_: got.append("SIGPIPE"))
    yield answer(s.send, b"x")
    yield got
    yield answer(s.recv, 1, socket.MSG_ERRQUEUE)
    yield error_of(s)
    yield disconnect(s)
    yield answer(s.shutdown, socket.SHUT_WR)
    yield events(s)
    yield answer(s.shutdown, socket.SHUT_RDWR)
    yield events(s)
    yield answer(s.recv, 1)
    yield raw(libc.shutdown, s.fileno(), 7)


def wrong(way):
    """Addresses that are none"""
    s = way.make()
    address = sockaddr(("127.0.0.1", 9))
    yield raw(libc.connect, s.fileno(), address, 1)
    yield raw(libc.connect, s.fileno(), address, 8)
    yield raw(libc.connect, s.fileno(), struct.pack("=H26x", 77), 28)
    yield answer(s.connect, ("255.255.255.255", 9))
    yield answer(s.connect, ("224.0.0.1", 9))
    yield answer(s.connect, ("203.0.113.9", 9))
    server = way.listener()
    yield answer(s.connect, server.getsockname())
    yield answer(s.connect, server.getsockname())
    yield raw(libc.connect, s.fileno(), address, 1)


def refused(way):
    s = way.make()
    closed = way.closed_port()
    yield answer(s.connect, closed)
    yield error_of(s)
    yield events(s)
    yield answer(s.connect, closed)
    yield answer(s.send, b"x", socket.MSG_NOSIGNAL)
    server = way.listener()
    yield answer(s.connect, server.getsockname())
    yield server.accept()[1] == s.getsockname()


def refused_later(way):
    """... without waiting"""
    for ask in (error_of, lambda s: answer(s.connect, closed), lambda s: answer(s.recv, 1),
                lambda s: answer(s.send, b"x", socket.MSG_NOSIGNAL)):
        closed = way.closed_port()
        s = way.make()
        s.setblocking(False)
        yield answer(s.connect, closed)
        yield settled(s)
        yield ask(s)
        yield events(s)
        yield error_of(s)
        yield answer(s.connect, closed)
        settled(s)
        yield answer(s.connect, closed)
        s.close()


def connected(way):
    server = way.listener()
    s = way.make()
    yield answer(s.connect, server.getsockname())
    yield answer(s.connect, server.getsockname())
    yield events(s)
    yield answer(s.listen)
    yield s.getpeername() == server.getsockname()
    peer, _ = server.accept()
    s.send(b"hello")
    yield peer.recv(9)
    yield answer(s.shutdown, socket.SHUT_WR)
    yield peer.recv(9)
    yield events(peer)
    peer.close()
    yield s.recv(9)
    yield wait_until(lambda: events(s) & select.POLLHUP) != 0


def connected_later(way):
    server = way.listener()
    s = way.make()
    s.setblocking(False)
    yield answer(s.connect, server.getsockname())
    yield settled(s)
    yield error_of(s)
    yield answer(s.connect, server.getsockname())
    yield answer(s.connect, server.getsockname())
    s = way.make()
    s.setblocking(False)
    yield answer(s.connect, server.getsockname())
    yield settled(s)
    s.send(b"early")
    yield answer(s.shutdown, socket.SHUT_WR)
    for _ in range(2):
        peer, _ = server.accept()
    yield peer.recv(9)


def dark(way):
    """A connect that is under way"""
    s = way.make()
    s.setblocking(False)
    yield answer(s.connect, way.dark)
    time.sleep(0.3 * SLOW)
    yield answer(s.connect, way.dark)
    yield events(s)
    yield answer(s.send, b"x", socket.MSG_NOSIGNAL)
    yield answer(s.recv, 1)
    yield answer(s.getpeername)
    yield s.getsockname()[0]
    yield answer(s.listen)
    yield answer(s.accept)
    yield error_of(s)
    yield answer(s.shutdown, socket.SHUT_WR)
    yield events(s)
    yield error_of(s)
    yield answer(s.connect, way.dark)
    time.sleep(0.3 * SLOW)
    yield disconnect(s)
    yield events(s)
    yield error_of(s)
    server = way.listener()
    yield answer(s.connect, server.getsockname())
    yield settled(s)


def dark_timeout(way):
    s = way.make()
    timeout(s, socket.SO_SNDTIMEO, 0.3)
    result, seconds = timed(raw_connect, s, way.dark)
    yield result
    yield about(seconds, 0.3)
    result, seconds = timed(raw_connect, s, way.dark)
    yield result
    yield about(seconds, 0.3)
    result, seconds = timed(answer, s.send, b"x", socket.MSG_NOSIGNAL)
    yield result
    yield about(seconds, 0.3)
    timeout(s, socket.SO_RCVTIMEO, 0.3)
    result, seconds = timed(answer, s.recv, 1)
    yield result
    yield about(seconds, 0.3)


def dark_signal(way):
    s = way.make()
    alarm_after(0.2)
    yield raw_connect(s, way.dark)
    alarm_after(0.2)
    yield raw_connect(s, way.dark)
    s.setblocking(False)
    yield answer(s.connect, way.dark)
    s = way.make()
    timeout(s, socket.SO_SNDTIMEO, 2 * SLOW)
    alarm_after(0.2, restart=True)
    yield raw_connect(s, way.dark)
    s = way.make()
    alarm_after(0.2, restart=True)
    done = []
    thread = threading.Thread(target=lambda: done.append(raw_connect(s, way.dark)))
    thread.start()
    time.sleep(0.4 * SLOW)
    yield done
    yield answer(s.shutdown, socket.SHUT_RDWR)
    thread.join()
    yield done
    yield error_of(s)


def dark_disconnect(way):
    """Another thread gives up what one waits for"""
    for end in (disconnect, lambda s: answer(s.shutdown, socket.SHUT_RD)):
        s = way.make()
        done = []
        thread = threading.Thread(target=lambda: done.append(raw_connect(s, way.dark)))
        thread.start()
        time.sleep(0.3 * SLOW)
        yield end(s)
        thread.join()
        yield done
        yield events(s)


def listener(way):
    s = way.make()
    yield s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    yield answer(s.bind, (way.host, 0))
    yield answer(s.listen, 5)
    yield s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    yield answer(s.listen, 3)
    yield events(s)
    yield answer(s.send, b"x", socket.MSG_NOSIGNAL)
    yield answer(s.recv, 1)
    yield answer(s.connect, (way.host, 9))
    yield answer(s.getpeername)
    yield s.getsockname()[1] > 0
    yield answer(s.bind, (way.host, 0))
    s.setblocking(False)
    yield answer(s.accept)
    c = way.make()
    c.connect((way.host, s.getsockname()[1]))
    yield events(s, 1000)
    yield answer(s.accept)
    yield answer(s.accept)
    yield events(s)
    yield answer(s.shutdown, socket.SHUT_WR)
    c = way.make()
    yield answer(c.connect, (way.host, s.getsockname()[1]))
    yield events(s, 1000)
    yield answer(s.accept)
    yield answer(s.shutdown, socket.SHUT_RD)
    yield answer(s.accept)
    yield s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    yield events(s)
    yield answer(s.listen, 3)
    yield disconnect(s)
    yield answer(s.accept)
    s.close()


def listener_again(way):
    """Listen, stop, listen, and connect"""
    s = way.listener()
    address = s.getsockname()
    yield answer(s.shutdown, socket.SHUT_RDWR)
    yield answer(way.make().connect, address)
    yield answer(s.listen, 2)
    # a port that was not asked for is another one now
    yield s.getsockname() == address
    address = s.getsockname()
    c = way.make()
    yield answer(c.connect, address)
    yield answer(s.accept)
    other = way.listener()
    yield disconnect(s)
    yield answer(s.connect, other.getsockname())
    yield other.accept()[1] == s.getsockname()
    with way.make() as s:
        s.bind((way.host, 0))
        port = s.getsockname()[1]
    s = way.listener(port=port)
    yield answer(s.shutdown, socket.SHUT_RDWR)
    yield answer(s.listen, 2)
    yield s.getsockname()[1] == port
    c = way.make()
    yield answer(c.connect, s.getsockname())
    yield answer(s.accept)


def accept_times(way):
    s = way.listener()
    timeout(s, socket.SO_RCVTIMEO, 0.3)
    result, seconds = timed(raw_accept, s)
    yield result
    yield about(seconds, 0.3)
    alarm_after(0.1)
    yield raw_accept(s)
    timeout(s, socket.SO_RCVTIMEO, 0)
    alarm_after(0.1)
    yield raw_accept(s)
    # a handler that restarts the call
    alarm_after(0.1, restart=True)
    done = []
    thread = threading.Thread(target=lambda: done.append(raw_accept(s)))
    thread.start()
    time.sleep(0.3 * SLOW)
    yield done
    c = way.make()
    c.connect(s.getsockname())
    thread.join()
    yield done


def accept_ended(way):
    s = way.listener()
    done = []
    threads = [threading.Thread(target=lambda: done.append(raw_accept(s))) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.2 * SLOW)
    yield done
    yield answer(s.shutdown, socket.SHUT_RD)
    for thread in threads:
        thread.join()
    yield done


def switches(tid):
    with open(f"/proc/self/task/{tid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("voluntary_ctxt_switches"):
                return int(line.split()[1])
    return 0


def accept_herd(way):
    """One connection wakes one thread"""
    s = way.listener()
    done, tids = [], []

    def wait():
        tids.append(threading.get_native_id())
        done.append(raw_accept(s))

    threads = [threading.Thread(target=wait) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.3 * SLOW)
    before = [switches(tid) for tid in tids]
    clients = [way.make()]
    clients[0].connect(s.getsockname())
    wait_until(lambda: done)
    time.sleep(0.1 * SLOW)
    woken = 0
    for tid, count in zip(tids, before):
        try:
            woken += switches(tid) != count
        except FileNotFoundError:
            pass    # the one that has its connection
    yield done
    yield woken <= 1
    for _ in range(7):
        clients.append(way.make())
        clients[-1].connect(s.getsockname())
    for thread in threads:
        thread.join()
    yield done


def accept_order(way):
    s = way.listener(backlog=64)
    clients = []
    for _ in range(40):
        clients.append(way.make())
        clients[-1].connect(s.getsockname())
        clients[-1].send(b"early")
    names = [c.getsockname() for c in clients]
    accepted = [s.accept() for _ in range(40)]
    yield [a[1] for a in accepted] == names
    yield [a[0].recv(9) for a in accepted] == [b"early"] * 40
    for c, a in zip(clients, accepted):
        c.send(b"late")
    # data that comes after accept() wakes
    yield all(comes(a[0]) for a in accepted)
    for a in accepted:
        a[0].close()


def accept_gone(way):
    """Connections that ended in the queue"""
    s = way.listener()
    c = way.make()
    c.connect(s.getsockname())
    c.send(b"last")
    c.close()
    time.sleep(0.1 * SLOW)
    peer, _ = s.accept()
    yield peer.recv(9)
    yield peer.recv(9)
    peer.close()


def accept4(way):
    s = way.listener()
    for flags in (0, socket.SOCK_NONBLOCK, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, 1):
        c = way.make()
        c.connect(s.getsockname())
        fd = libc.accept4(s.fileno(), None, None, flags)
        if fd < 0:
            yield name(ctypes.get_errno())
            continue
        yield fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD)
        os.close(fd)


def full(way):
    """How many connections fit into a backlog"""
    s = way.listener(backlog=3)
    clients = []
    for _ in range(8):
        clients.append(way.make())
        clients[-1].setblocking(False)
        answer(clients[-1].connect, s.getsockname())
        time.sleep(0.02 * SLOW)
    time.sleep(0.2 * SLOW)
    yield sum(1 for c in clients if events(c) & select.POLLOUT)
    accepted = 0
    s.setblocking(False)
    while answer(s.accept) == "connection":
        accepted += 1
    # when the others try again is each protocol's own
    yield accepted >= 4


def edges(way):
    """epoll of a listener and of a connect, by level and by edge"""
    for mode in (0, select.EPOLLET):
        s = way.listener()
        s.setblocking(False)
        e = select.epoll()
        e.register(s, select.EPOLLIN | mode)
        yield [ev for _, ev in e.poll(0)]
        clients = []
        for _ in range(2):
            clients.append(way.make())
            clients[-1].connect(s.getsockname())
            yield [ev for _, ev in e.poll(2 * SLOW)]
            yield [ev for _, ev in e.poll(0)]
        yield answer(s.accept)
        yield [ev for _, ev in e.poll(0)]
        yield answer(s.accept)
        yield [ev for _, ev in e.poll(0)]
        e.unregister(s)
        c = way.make()
        c.setblocking(False)
        e.register(c, select.EPOLLIN | select.EPOLLOUT | mode)
        yield [ev for fd, ev in e.poll(0) if fd == c.fileno()]
        yield answer(c.connect, s.getsockname())
        yield [ev for fd, ev in e.poll(2 * SLOW) if fd == c.fileno()]
        wait_until(lambda: events(s))
        peer, _ = s.accept()
        time.sleep(0.1 * SLOW)
        e.poll(0)
        peer.send(b"x")
        # a road brings it a moment later
        wait_until(lambda: events(c) & select.POLLIN)
        yield [ev for fd, ev in e.poll(2 * SLOW) if fd == c.fileno()]
        peer.close()
        time.sleep(0.1 * SLOW)
        yield [ev for fd, ev in e.poll(2 * SLOW) if fd == c.fileno()]


def edges_refused(way):
    e = select.epoll()
    c = way.make()
    c.setblocking(False)
    e.register(c, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    yield [ev for _, ev in e.poll(0)]
    yield answer(c.connect, way.closed_port())
    time.sleep(0.2 * SLOW)
    yield [ev for _, ev in e.poll(2 * SLOW)]
    yield [ev for _, ev in e.poll(0)]


def own_signal(s, got):
    signal.signal(signal.SIGIO, lambda *_: got.append("SIGIO"))
    fcntl.fcntl(s, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) | os.O_ASYNC | os.O_NONBLOCK)


def sigio(way):
    got = []
    s = way.listener()
    own_signal(s, got)
    c = way.make()
    c.connect(s.getsockname())
    yield wait_until(lambda: got) != []
    peer, _ = s.accept()
    fcntl.fcntl(s, fcntl.F_SETFL, os.O_RDWR)
    for where, wanted in ((s.getsockname(), "connects"), (way.closed_port(), "is refused")):
        del got[:]
        a = way.make()
        own_signal(a, got)
        answer(a.connect, where)
        yield wanted, wait_until(lambda: got) != []
        if wanted == "connects":
            other, _ = s.accept()
            time.sleep(0.1 * SLOW)
            del got[:]
            other.send(b"x")
            yield wait_until(lambda: got) != []
    # the flag of an accepted socket is its own
    del got[:]
    c.send(b"x")
    time.sleep(0.1 * SLOW)
    yield got


def wanted_number(fd, command):
    value = array.array("i", [-1])
    return answer(fcntl.ioctl, fd, command, value, True), value[0]


def ioctls(way):
    commands = [termios.FIONREAD, termios.TIOCOUTQ, SIOCATMARK, SIOCOUTQNSD, 0x1234]
    s = way.make()
    yield [wanted_number(s, c) for c in commands]
    request = struct.pack("16s16x", b"lo")
    yield fcntl.ioctl(s, SIOCGIFADDR, request) == fcntl.ioctl(socket.socket(), SIOCGIFADDR, request)
    yield fcntl.ioctl(s, 0x8913, request)[:16]
    l = way.listener()
    yield [wanted_number(l, c) for c in commands]
    s.setblocking(False)
    s.connect_ex(way.dark)
    time.sleep(0.2 * SLOW)
    yield [wanted_number(s, c) for c in commands]


def fast_open(way):
    server = way.listener()
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
    s = way.make()
    yield s.sendto(b"syn", MSG_FASTOPEN, server.getsockname())
    peer, _ = server.accept()
    yield peer.recv(9)
    s = way.make()
    s.setsockopt(socket.IPPROTO_TCP, 30, 1)
    yield answer(s.connect, server.getsockname())
    yield s.send(b"more")
    peer, _ = server.accept()
    yield peer.recv(9)


SCENES = [new, wrong, refused, refused_later, connected, connected_later, dark, dark_timeout, dark_signal,
          dark_disconnect, listener, listener_again, accept_times, accept_ended, accept_herd, accept_order,
          accept_gone, accept4, full, edges, edges_refused, sigio, ioctls, fast_open]


# ----------------------------------------------------------------------------------------------


def play(scene, way):
    """In a process of its own: what the scene saw, and how it ended"""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        log = []
        watchdog = threading.Timer(20 * SLOW, lambda: (os.write(writer, repr(log + ["hangs"]).encode()), os._exit(1)))
        watchdog.daemon = True
        watchdog.start()
        try:
            for seen in scene(way):
                log.append(list(seen) if isinstance(seen, list) else seen)
        except Exception as error:  # pylint: disable=broad-except
            log.append(f"{type(error).__name__}: {error} line {error.__traceback__.tb_next.tb_lineno}")
        os.write(writer, repr(log).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as f:
        text = f.read().decode()
    os.waitpid(child, 0)
    return text


def main():
    way = {"marked": Way(MARKED), "family": Way(UNMARKED, FAMILY)}[sys.argv[1]]
    bad = []
    for scene in SCENES:
        if sys.argv[2:] and scene.__name__ not in sys.argv[2:]:
            continue
        start = time.monotonic()
        wanted = play(scene, Way(UNMARKED))
        got = play(scene, way)
        same = wanted == got
        print(f"{'same' if same else 'DIFFERS'}: {scene.__name__} {time.monotonic() - start:.1f} s", flush=True)
        if not same:
            bad.append(scene.__name__)
        if not same or "hangs" in wanted or "Error" in wanted:
            print(f"  TCP: {wanted}\n  {sys.argv[1]}: {got}", flush=True)
    sys.exit(f"differ: {' '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Generic netlink of krdma_ops by hand: what its policies refuse; "fill N" adds N rules."""
import errno
import os
import random
import socket
import struct
import sys

FAMILY = b"krdma_offload\0"
REQUEST, ACK, DUMP = 1, 4, 0x300
(GET_ROADS, GET_RULES, ADD, DEL, FLUSH, GET_COUNTERS, GET_SOCKETS, RESET, GET_LIMITS, SET_LIMIT) = range(1, 11)
(PAD, NAME, NUMBER, CAPS, PRIORITY, SOCKETS, ID, DIRECTION, ACTION, ADDRESS4, ADDRESS6, PREFIX, PORT_MIN,
 PORT_MAX, CGROUP, CGROUP_PATH, UID, HITS, VALUE, PORT, PEER4, PEER6, PEER_PORT, TCP_STATE, STATE, INODE, SENT,
 RECEIVED, TCP_SENT, TCP_RECEIVED, WHY, INFO, FORCE, LIMIT, USED, HOST) = range(1, 37)
ANY, TCP, NAMED = range(3)


def attr(kind, data):
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + bytes(-size % 4)


def u8(kind, value):
    return attr(kind, struct.pack("=B", value))


def u16(kind, value):
    return attr(kind, struct.pack("=H", value))


def u32(kind, value):
    return attr(kind, struct.pack("=I", value))


class Netlink:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
        self.socket.bind((0, 0))
        self.socket.settimeout(20)
        self.sequence = 0
        self.family = 16
        self.send(3, attr(2, FAMILY), version=1)
        answer = self.socket.recv(65536)
        at = 20
        while at + 4 <= len(answer):
            size, kind = struct.unpack_from("=HH", answer, at)
            if kind == 1:
                self.family = struct.unpack_from("=H", answer, at + 4)[0]
            at += (size + 3) & ~3
        assert self.family != 16, "no family"

    def send(self, command, attributes, flags=0, version=2, reserved=0, size=None):
        self.sequence += 1
        body = struct.pack("=BBH", command, version, reserved) + attributes
        head = struct.pack("=IHHII", size or 16 + len(body), self.family, REQUEST | flags, self.sequence, 0)
        self.socket.send(head + body)

    def ask(self, command, attributes=b"", flags=ACK, **more):
        """0 or the errno that the kernel answers; other messages are skipped"""
        self.send(command, attributes, flags, **more)
        while True:
            answer = self.socket.recv(65536)
            at = 0
            while at + 16 <= len(answer):
                size, kind, _, sequence, _ = struct.unpack_from("=IHHII", answer, at)
                if sequence == self.sequence and kind in (2, 3):
                    return -struct.unpack_from("=i", answer, at + 16)[0]
                at += (size + 3) & ~3


RULE = u8(DIRECTION, 0) + u8(ACTION, TCP)
REFUSED = {
    "nothing": (ADD, b""),
    "no action": (ADD, u8(DIRECTION, 0)),
    "no direction": (ADD, u8(ACTION, 0)),
    "unknown direction": (ADD, u8(DIRECTION, 2) + u8(ACTION, 0)),
    "unknown action": (ADD, u8(DIRECTION, 0) + u8(ACTION, 3)),
    "short direction": (ADD, attr(DIRECTION, b"") + u8(ACTION, 0)),
    "long direction": (ADD, u32(DIRECTION, 0) + u8(ACTION, 0)),
    "short address": (ADD, RULE + attr(ADDRESS4, b"\x0a\0\0")),
    "long address": (ADD, RULE + attr(ADDRESS4, bytes(8))),
    "short IPv6 address": (ADD, RULE + attr(ADDRESS6, bytes(15))),
    "two addresses": (ADD, RULE + u32(ADDRESS4, 0) + attr(ADDRESS6, bytes(16))),
    "prefix alone": (ADD, RULE + u8(PREFIX, 8)),
    "prefix of 129": (ADD, RULE + attr(ADDRESS6, bytes(16)) + u8(PREFIX, 129)),
    "IPv4 prefix of 33": (ADD, RULE + u32(ADDRESS4, 0) + u8(PREFIX, 33)),
    "port 0": (ADD, RULE + u16(PORT_MIN, 0)),
    "last port alone": (ADD, RULE + u16(PORT_MAX, 80)),
    "ports backwards": (ADD, RULE + u16(PORT_MIN, 81) + u16(PORT_MAX, 80)),
    "name without its action": (ADD, RULE + attr(NAME, b"sdp\0")),
    "action without its name": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED)),
    "empty name": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED) + attr(NAME, b"\0")),
    "name without its end": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED) + attr(NAME, b"sdp")),
    "long name": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED) + attr(NAME, b"s" * 16 + b"\0")),
    "name with a slash": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED) + attr(NAME, b"a/b\0")),
    "name in another encoding": (ADD, u8(DIRECTION, 0) + u8(ACTION, NAMED) + attr(NAME, b"\xe9\0")),
    "cgroup 0": (ADD, RULE + attr(CGROUP, bytes(8))),
    "a number of no cgroup": (ADD, RULE + struct.pack("=HHQ", 12, CGROUP, 1 << 60)),
    "path without its end": (ADD, RULE + attr(CGROUP_PATH, b"/")),
    "long path": (ADD, RULE + attr(CGROUP_PATH, b"/" * 4096 + b"\0")),
    "no uid": (ADD, RULE + u32(UID, 0xffffffff)),
    "an id with add": (ADD, RULE + u32(ID, 1)),
    "hits with add": (ADD, RULE + attr(HITS, bytes(8))),
    "unknown attribute": (ADD, RULE + u32(37, 1)),
    "attribute 0": (ADD, RULE + u32(0, 1)),
    "padding": (ADD, RULE + attr(PAD, b"")),
    "half an attribute": (ADD, RULE + b"\x08\x00"),
    "attribute beyond the end": (ADD, RULE + struct.pack("=HH", 64, UID)),
    "del without an id": (DEL, b""),
    "del 0": (DEL, u32(ID, 0)),
    "del of none": (DEL, u32(ID, 77777)),
    "del with more": (DEL, u32(ID, 1) + u32(UID, 1)),
    "flush with an attribute": (FLUSH, u32(ID, 1)),
    "command 0": (0, b""),
    "command 11": (11, b""),
    "reset of a wrong direction": (RESET, u8(DIRECTION, 2)),
    "reset with an action": (RESET, u8(DIRECTION, 0) + u8(ACTION, TCP)),
    "reset of an address without a direction": (RESET, u32(ADDRESS4, 0)),
    "no limit": (SET_LIMIT, b""),
    "unknown limit": (SET_LIMIT, u8(LIMIT, 5) + attr(VALUE, bytes(8))),
    "short limit": (SET_LIMIT, u8(LIMIT, 0) + u32(VALUE, 1)),
    "a limit above the host's": (SET_LIMIT, u8(LIMIT, 0) + attr(VALUE, b"\xff" * 7 + b"\x7f")),
    "a dump of add": (ADD, RULE, ACK | DUMP),
}


def refusals(netlink):
    for what, (command, attributes, *flags) in REFUSED.items():
        error = netlink.ask(command, attributes, *flags)
        print(f"{what}: {errno.errorcode.get(error, error)}")
        assert error, what
    for command in (GET_ROADS, GET_RULES, GET_COUNTERS, GET_SOCKETS, GET_LIMITS):
        assert netlink.ask(command, flags=DUMP) == 0
        assert netlink.ask(command, u32(ID, 1), flags=DUMP), command
        assert netlink.ask(command), command
        assert netlink.ask(command, flags=DUMP, reserved=1), command


def rubbish(netlink, rounds):
    """attributes of any kind and size; what is accepted is flushed"""
    chance = random.Random(1)
    for _ in range(rounds):
        attributes = RULE if chance.random() < 0.7 else b""
        for _ in range(chance.randrange(5)):
            attributes += attr(chance.randrange(40), os.urandom(chance.choice((0, 1, 2, 3, 4, 8, 16, 17, 40))))
        netlink.ask(chance.choice((ADD, ADD, ADD, DEL, RESET, 12)), attributes)
    assert netlink.ask(FLUSH) == 0


def fill(netlink, number):
    for i in range(number):
        address = struct.pack("!I", 0x0a000000 + i)
        error = netlink.ask(ADD, RULE + attr(ADDRESS4, address) + u16(PORT_MIN, i + 1))
        assert error == 0, (i, error)


if len(sys.argv) == 3:
    fill(Netlink(), int(sys.argv[2]))
else:
    refusals(Netlink())
    rubbish(Netlink(), 2000)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""A peer that asks for a road by hand, for 93-sdp-names: sdp_names.py OWN-ADDRESS VICTIM-ADDRESS PORT

It speaks MPA over TCP and puts a Hello into the request, right or wrong. The victim's program listens
at PORT and marks its connections; the name of one is made of its initial sequence numbers, which
TCP_REPAIR tells this end. Written from docs/sdp-wire.md and ops/pair.c."""
import socket
import struct
import sys

RENDEZVOUS = 1017
TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 19, 20, 21
RECV_QUEUE, SEND_QUEUE, OFF_NO_PROBE = 1, 2, -1
UNKNOWN, LATER, VERSION, MALFORMED = 1, 2, 3, 4
MASK = (1 << 64) - 1


def siphash(key, data):
    """SipHash-2-4 of 64 bits."""
    def rotl(value, by):
        return (value << by | value >> (64 - by)) & MASK

    v = [key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
         key[1] ^ 0x7465646279746573]

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[1] = rotl(v[1], 13) ^ v[0]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & MASK
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & MASK
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & MASK
            v[1] = rotl(v[1], 17) ^ v[2]
            v[2] = rotl(v[2], 32)

    whole = len(data) // 8 * 8
    last = data[whole:] + bytes(7 - len(data) % 8) + bytes([len(data) & 0xff])
    for at in range(0, whole + 8, 8):
        word = struct.unpack("<Q", last if at == whole else data[at:at + 8])[0]
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def mapped(address):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(address)


class Tcp:
    """A TCP connection with the victim's program."""

    def __init__(self, own, victim, port):
        self.sock = socket.create_connection((victim, port), source_address=(own, 0))
        self.own, self.victim = self.sock.getsockname(), self.sock.getpeername()
        sock = self.sock
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, SEND_QUEUE)
        self.active = sock.getsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ) - 1 & 0xffffffff
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR_QUEUE, RECV_QUEUE)
        self.passive = sock.getsockopt(socket.IPPROTO_TCP, TCP_QUEUE_SEQ) - 1 & 0xffffffff
        sock.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, OFF_NO_PROBE)

    def name(self, answer):
        data = mapped(self.own[0]) + mapped(self.victim[0])
        data += struct.pack(">HHI", self.own[1], self.victim[1], 2 if answer else 1)
        return struct.pack("<Q", siphash((self.active << 32 | self.passive, 0x4b52444d), data))

    def hello(self, **changes):
        """A right Hello, but for fields that are named."""
        fields = {"version": 0x30, "name": self.name(False), "own": self.own, "victim": self.victim} | changes
        bsdh = struct.pack(">BBHIII", 0, 0, 16, 92, 0, 0)
        extra = struct.pack(">BBBBIIHH", fields["version"], 0x40, 0, 4, 8192, 8192, fields["own"][1],
                            fields["victim"][1])
        ips = bytes(12) + socket.inet_aton(fields["own"][0]) + bytes(12) + socket.inet_aton(fields["victim"][0])
        return bsdh + extra + ips + bytes(4) + fields["name"] + bytes(16)


class Request:
    """A connection of the transport, of MPA revision 1."""

    def __init__(self, own, victim, data):
        self.sock = socket.create_connection((victim, RENDEZVOUS), 20, source_address=(own, 0))
        self.sock.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0x40, 1, len(data)) + data)

    def _exactly(self, count):
        got = b""
        while len(got) < count:
            more = self.sock.recv(count - len(got))
            if not more:
                raise ConnectionError("an end before the answer")
            got += more
        return got

    def answer(self):
        """Return: is it a refusal?, its private data."""
        frame = self._exactly(20)
        assert frame[:16] == b"MPA ID Rep Frame", frame
        flags, _, length = struct.unpack(">BBH", frame[16:])
        return bool(flags & 0x20), self._exactly(length)


def refused(what, own, victim, data, reason):
    rejected, answer = Request(own, victim, data).answer()
    assert rejected, what + ": accepted"
    assert answer[1] == reason, "%s: reason %d, not %d" % (what, answer[1], reason)
    print(what, "ok", flush=True)


def main():
    own, victim, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    assert siphash((0x0706050403020100, 0x0f0e0d0c0b0a0908), bytes(range(15))) == 0xa129ca6149be45e5
    tcp = Tcp(own, victim, port)
    # the program accepts it
    assert tcp.sock.recv(1) == b"x"
    right = tcp.name(False)
    for bit in (0, 31, 63):
        wrong = (int.from_bytes(right, "big") ^ 1 << bit).to_bytes(8, "big")
        refused("a name with another bit", own, victim, tcp.hello(name=wrong), UNKNOWN)
    refused("the name of the answer", own, victim, tcp.hello(name=tcp.name(True)), UNKNOWN)
    refused("no name", own, victim, tcp.hello(name=bytes(8)), UNKNOWN)
    refused("another port of the victim", own, victim, tcp.hello(victim=(victim, port + 1)), UNKNOWN)
    refused("another port of the peer", own, victim, tcp.hello(own=(own, tcp.own[1] ^ 1)), UNKNOWN)
    refused("another address", own, victim, tcp.hello(own=("10.77.0.99", tcp.own[1])), MALFORMED)
    refused("version 2", own, victim, tcp.hello(version=0x22), VERSION)
    refused("a short one", own, victim, tcp.hello()[:60], MALFORMED)
    refused("nothing", own, victim, b"", MALFORMED)
    # many that say nothing of use, or nothing at all, keep nobody else out
    silent = [socket.create_connection((victim, RENDEZVOUS), 20) for _ in range(20)]
    request = Request(own, victim, tcp.hello())
    rejected, answer = request.answer()
    assert not rejected, "the right one: refused with reason %d" % answer[1]
    assert answer[24:32] == tcp.name(True), "another answer"
    print("the right one ok", flush=True)
    refused("again", own, victim, tcp.hello(), UNKNOWN)
    # a peer that asks and then is silent, or goes, harms the TCP connection as little as its end does
    request.sock.close()
    for sock in silent:
        sock.close()
    print("done", flush=True)


main()

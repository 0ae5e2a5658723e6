#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""I/O for the cases of iSER that fio does not do: kiser_io.py random|edges|scsi|reset DEVICE [ARGUMENT...]

An assertion that fails ends the program with a status."""

import ctypes
import fcntl
import mmap
import os
import random
import struct
import sys
import threading
import time

MAP_HUGETLB = 0x40000
MIB = 1 << 20


def logical_block(device):
    """Bytes of a block."""
    with open(f"/sys/block/{os.path.basename(device)}/queue/logical_block_size", encoding="ascii") as size:
        return int(size.read())


def memory(size, flags=0):
    """Memory of whole pages."""
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags))


def random_io(device, start, count):
    """Writes and reads of any number of blocks, at any place of 1 MiB, from memory that begins anywhere in a page."""
    rnd, block = random.Random(start), logical_block(device)
    fd = os.open(device, os.O_RDWR | os.O_DIRECT)
    view = memory(2 * MIB)
    model = bytearray(os.urandom(MIB))
    view[:MIB] = model
    assert os.pwrite(fd, view[:MIB], start) == MIB
    for _ in range(count):
        length = min(block * rnd.choice([1, 2, 3, 7, 15, 16, 17, 33, 127, 128, 129, 1023, 1024, 2048]), MIB)
        at = rnd.randrange((MIB - length) // block + 1) * block
        offset = rnd.choice([0, 0, 4, 512, 1540, 3584, 4092])
        part = view[offset : offset + length]
        if rnd.random() < 0.5:
            part[:] = rnd.randbytes(length)
            assert os.pwrite(fd, part, start + at) == length
            model[at : at + length] = part
        else:
            part[:] = bytes(length)
            assert os.preadv(fd, [part], start + at) == length
            assert part == model[at : at + length], (at, length, offset)
    os.preadv(fd, [view[:MIB]], start)
    assert view[:MIB] == model


def random_threads(device, start, count):
    """The same by four threads, each at a place of its own."""
    failed = []

    def run(place):
        try:
            random_io(device, place, count)
        except BaseException as error:  # pylint: disable=broad-except
            failed.append((place, error))

    threads = [threading.Thread(target=run, args=(start + i * MIB,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def edges(device, sectors):
    """So many sectors, in memory of small and of huge pages that begins anywhere in a page."""
    fd, length = os.open(device, os.O_RDWR | os.O_DIRECT), 512 * sectors
    for flags in 0, MAP_HUGETLB:
        view = memory(4 * MIB, flags)
        for offset in 0, 4, 512, 2048, 3584, 4092:
            for page in 0, 4096, 300 * 4096:
                part = view[page + offset :][:length]
                data = os.urandom(length)
                part[:] = data
                assert os.pwrite(fd, part, 512 * 77) == length
                part[:] = bytes(length)
                assert os.preadv(fd, [part], 512 * 77) == length
                assert part == data, (flags, offset, page)


class SgHeader(ctypes.Structure):
    """struct sg_io_hdr"""

    _fields_ = [
        ("interface_id", ctypes.c_int),
        ("dxfer_direction", ctypes.c_int),
        ("cmd_len", ctypes.c_ubyte),
        ("mx_sb_len", ctypes.c_ubyte),
        ("iovec_count", ctypes.c_ushort),
        ("dxfer_len", ctypes.c_uint),
        ("dxferp", ctypes.c_void_p),
        ("cmdp", ctypes.c_void_p),
        ("sbp", ctypes.c_void_p),
        ("timeout", ctypes.c_uint),
        ("flags", ctypes.c_uint),
        ("pack_id", ctypes.c_int),
        ("usr_ptr", ctypes.c_void_p),
        ("status", ctypes.c_ubyte),
        ("masked_status", ctypes.c_ubyte),
        ("msg_status", ctypes.c_ubyte),
        ("sb_len_wr", ctypes.c_ubyte),
        ("host_status", ctypes.c_ushort),
        ("driver_status", ctypes.c_ushort),
        ("resid", ctypes.c_int),
        ("duration", ctypes.c_uint),
        ("info", ctypes.c_uint),
    ]


SG_IO, SG_TO, SG_FROM = 0x2285, -2, -3


def command(fd, cdb, direction, data):
    """A SCSI command. Return: status, host's status, residual, the data"""
    buffer = ctypes.create_string_buffer(data, max(len(data), 1))
    block = ctypes.create_string_buffer(cdb, len(cdb))
    sense = ctypes.create_string_buffer(96)
    header = SgHeader(
        interface_id=ord("S"),
        dxfer_direction=direction,
        cmd_len=len(cdb),
        mx_sb_len=96,
        dxfer_len=len(data),
        dxferp=ctypes.addressof(buffer),
        cmdp=ctypes.addressof(block),
        sbp=ctypes.addressof(sense),
        timeout=20000,
    )
    fcntl.ioctl(fd, SG_IO, header)
    return header.status, header.host_status, header.resid, buffer.raw[: len(data)]


def transfer(opcode, place, blocks):
    """READ(10) or WRITE(10)"""
    return struct.pack(">BBIBHB", opcode, 0, place, 0, blocks, 0)


def scsi(device):
    """Commands whose data is of odd sizes, more or less than the target moves, or goes the other way."""
    fd = os.open(device, os.O_RDWR)
    whole = command(fd, bytes([0x12, 0, 0, 0, 255, 0]), SG_FROM, bytes(255))[3]
    for size in range(1, 70):
        status, host, _, data = command(fd, bytes([0x12, 0, 0, 0, size, 0]), SG_FROM, bytes(size))
        assert (status, host, data) == (0, 0, whole[:size]), size
    page = bytes([0x12, 1, 0x83, 0, 255, 0])
    assert command(fd, page, SG_FROM, bytes(255))[2] == command(fd, page, SG_FROM, bytes(300))[2] - 45

    text, near = os.urandom(512 * 64), os.urandom(512 * 64)
    assert command(fd, transfer(0x2A, 200, 64), SG_TO, text)[:3] == (0, 0, 0)
    assert command(fd, transfer(0x2A, 264, 64), SG_TO, near)[:3] == (0, 0, 0)
    # LIO reports the difference, whichever of the two is larger
    for blocks, size in (1, 1024), (1, 65536), (2, 512), (64, 4096), (17, 8192), (64, 100000):
        status, host, rest, data = command(fd, transfer(0x28, 200, blocks), SG_FROM, bytes(size))
        same = min(512 * blocks, size)
        assert (status, host, rest) == (0, 0, abs(size - 512 * blocks)), (blocks, size)
        assert data[:same] == text[:same] and not any(data[same:]), (blocks, size)
    # such a write is refused, immediate data or not
    for blocks, size in (1, 1024), (1, 65536), (2, 512), (64, 512), (16, 8193), (64, 100000), (0, 8192):
        assert command(fd, transfer(0x2A, 264, blocks), SG_TO, bytes(size))[:2] == (2, 0), (blocks, size)
    for opcode in 0, 0xFF:
        for direction in SG_TO, SG_FROM:
            for size in 512, 8192, 65536:
                assert command(fd, bytes([opcode]) + bytes(9), direction, bytes(size))[1] == 0
    assert command(fd, transfer(0x2A, 0xFFFFFFF0, 1), SG_TO, bytes(512))[:2] == (2, 0)
    assert command(fd, transfer(0x2A, 0xFFFFFFF0, 64), SG_TO, bytes(512 * 64))[:2] == (2, 0)
    assert command(fd, transfer(0x28, 200, 128), SG_FROM, bytes(512 * 128))[3] == text + near


SG_SCSI_RESET, SG_RESET_DEVICE, SG_RESET_NO_ESCALATE = 0x2284, 1, 0x100


def reset(device, times):
    """Resets of the LUN: no command that is in progress ends by one, but the next one reports a unit attention."""

    def errors():
        with open(f"/sys/block/{os.path.basename(device)}/device/ioerr_cnt", encoding="ascii") as count:
            return int(count.read(), 0)

    fd, before = os.open(device, os.O_RDWR), errors()
    for _ in range(times):
        fcntl.ioctl(fd, SG_SCSI_RESET, struct.pack("i", SG_RESET_DEVICE | SG_RESET_NO_ESCALATE))
        time.sleep(0.2)
    assert errors() - before <= times, (before, errors())


MODES = {"random": random_threads, "edges": edges, "scsi": scsi, "reset": reset}
MODES[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))

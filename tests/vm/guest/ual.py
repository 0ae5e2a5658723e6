# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Objects of libkrdma for the programs of cases: PYTHONPATH=$VM_REPO/tests/vm/guest python3 ..."""
import ctypes

ual = ctypes.CDLL("libkrdma.so.1")


def made(create, *args):
    """What a call makes; it succeeds."""
    it = ctypes.c_void_p()
    status = create(*args, ctypes.byref(it))
    assert status == 0, status
    return it


def context_of(rnic, flags=0):
    """A context of the RNIC with that name, in a session of its own"""
    session, index = made(ual.ual_open), ctypes.c_uint32()
    assert ual.ual_find(session, rnic.encode(), ctypes.byref(index)) == 0
    return made(ual.ual_context_create, session, index, flags)

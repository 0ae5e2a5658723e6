# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What vmlib reads from a guest's console.

    python3 -m unittest discover -s tests/vm
"""
import os
import tempfile
import unittest

import vmlib

# a guest under QEMU 7.2 that ran the translation of a breakpoint that was gone
STALE = """\
[    1.982510] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[    1.982858] CPU: 1 UID: 0 PID: 1 Comm: swapper/0 Not tainted 6.12.117+deb12-amd64 #1  Debian
[    1.983061] RIP: 0010:sched_clock_cpu+0x9/0x190
[    1.983338] Code: 90 90 f3 0f 1e fa 41 54 55 53 66 <90> e8 41 ac f0 ff 48 03 05 a2 02 d2 01
[    1.983395] RSP: 0018:ff6ec11fc0013ba0 EFLAGS: 00000046
[    1.983999] Call Trace:
[    1.984324]  <TASK>
[    1.984785]  ttwu_queue_wakelist+0xa4/0x100
[    1.984785]  ? kick_pool+0x65/0x130
[    1.984786]  try_to_wake_up+0x300/0x680
[    1.984787]  </TASK>
[    1.984788] Modules linked in: krdma_soft(OE)
[    1.985918] Oops: int3: 0000 [#2] PREEMPT SMP NOPTI
[    1.986167] Kernel panic - not syncing: Fatal exception in interrupt
"""
# one that jumped to where no code is
WILD = STALE.replace("55 53 66 <90>", "cc cc cc <cc>")
NULL = """\
[   12.000001] krdma: loading out-of-tree module taints kernel.
[   52.000001] BUG: kernel NULL pointer dereference, address: 0000000000000010
[   52.000002] #PF: supervisor read access in kernel mode
[   52.000003] Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI
[   52.000004] RIP: 0010:siw_rtr_data_ready+0x9/0x190 [siw]
[   52.000005] Code: 90 90 f3 0f 1e fa 41 54 55 53 66 <90> e8 41 ac f0 ff 48 03 05 a2 02 d2 01
"""


class Console(unittest.TestCase):
    def test_breakpoint_that_is_not_there_is_the_emulators(self):
        self.assertTrue(vmlib.emulators_fault(STALE))

    def test_all_else_is_the_guests(self):
        for console in (WILD, NULL, "", STALE.replace("int3", "invalid opcode"),
                        NULL + STALE.replace("#1", "#2")):
            self.assertFalse(vmlib.emulators_fault(console), console)

    def test_last_words(self):
        self.assertEqual(vmlib.last_words(STALE),
                         "Oops: int3: 0000 [#1] PREEMPT SMP NOPTI at sched_clock_cpu+0x9/0x190 "
                         "< ttwu_queue_wakelist < try_to_wake_up")
        self.assertEqual(vmlib.last_words(NULL),
                         "BUG: kernel NULL pointer dereference, address: 0000000000000010 "
                         "at siw_rtr_data_ready+0x9/0x190 [siw]")
        self.assertEqual(vmlib.last_words("[ 1.0] Linux version 6.12\n"), "")

    def test_a_dump_of_the_trace_hides_nothing(self):
        with tempfile.TemporaryDirectory() as out:
            vm = vmlib.Vm(None, out)
            first, panic = STALE[:STALE.index("[    1.986167]")], STALE[STALE.index("[    1.986167]"):]
            with open(os.path.join(out, "console.log"), "w", encoding="ascii") as console:
                console.write(first + "[    1.99] kworker/-7 soft_fpdu: len=1448\n" * 5000 + panic)
            self.assertIn("int3", vm.last_words())
            self.assertTrue(vmlib.Forgiveness().given(vm, "this test"))

    def test_last_words_of_who_says_little(self):
        self.assertEqual(vmlib.last_words("[ 1.0] Linux version 6.12\n[ 2.0] Kernel panic - no reason\n"),
                         "Kernel panic - no reason, after: [ 1.0] Linux version 6.12")


if __name__ == "__main__":
    unittest.main()

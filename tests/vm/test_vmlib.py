# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What vmlib reads from a guest's console, and in which order schedule lets cases run.

    python3 -m unittest discover -s tests/vm
"""
import os
import tempfile
import unittest

import schedule
import vmlib

# a guest under QEMU 7.2 that ran the translation of a breakpoint that was gone
IWCM = """[  208.335681] kernel BUG at drivers/infiniband/core/iwcm.c:964!
[  208.336462] Oops: invalid opcode: 0000 [#1] PREEMPT SMP NOPTI
[  208.337909] RIP: 0010:cm_work_handler+0x6d0/0xd60 [iw_cm]
[  208.346348] Call Trace:
[  208.347445]  process_one_work+0x18d/0x3a0
[  208.348526] Modules linked in: krdma_hw(OE) rdma_rxe siw(OE) krdma_soft(OE) krdma(OE)
"""
SIWS = """[   61.301234] BUG: kernel NULL pointer dereference, address: 00000000000003f8
[   61.302000] Oops: Oops: 0000 [#1] PREEMPT SMP NOPTI
[   61.303000] RIP: 0010:siw_sq_start+0x5/0x90 [siw]
[   61.304000] Call Trace:
[   61.305000]  <IRQ>
[   61.306000]  siw_qp_llp_write_space+0x4b/0x70 [siw]
[   61.307000]  tcp_check_space+0x60/0x140
[   61.308000] Modules linked in: siw
"""
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
        self.assertEqual(vmlib.others_fault(STALE), "the emulator")
        self.assertEqual(vmlib.others_fault(SIWS), "siw")
        self.assertEqual(vmlib.others_fault(IWCM), "siw")
        self.assertIsNone(vmlib.others_fault(IWCM.replace("krdma_hw(OE) ", "")))
        self.assertIsNone(vmlib.others_fault(SIWS.replace("llp_write_space", "other")))
        self.assertIsNone(vmlib.others_fault(SIWS.replace("siw_sq_start+", "soft_tx_kick+")))
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


TIMES = {"long": 100, "short": 10, "other": 20, "quiet": 30}


class Handing(unittest.TestCase):
    def queue(self, names="long short other", **options):
        return schedule.Queue(names.split(), TIMES, **options)

    def test_each_case_goes_to_one_guest(self):
        q = self.queue()
        self.assertEqual([q.next(g, 0) for g in (1, 2, 1, 2)], ["long", "short", "other", None])
        self.assertEqual(q.left_out, [])

    def test_alone_cases_run_in_a_guest_that_is_not_serial(self):
        q = self.queue(alone=["other"], share=True)
        self.assertFalse(q.boots_serial())
        q.joins(1)
        self.assertEqual(q.next(1, 0), "other")
        q.ended(1, "other", 10)
        self.assertTrue(q.boots_serial())
        self.assertIsNone(q.next(1, 10))
        q.leaves(1)
        q.joins(1, serial=True)
        q.joins(2, serial=True)
        self.assertEqual([q.next(g, 10) for g in (1, 2)], ["long", "short"])
        q.again("other")
        q.ended(1, "long", 10)
        self.assertIsNone(q.next(1, 20))

    def test_what_is_not_over_in_time_is_left_out_and_shorter_ones_run(self):
        q = self.queue(until=50)
        self.assertEqual(q.next(1, 0), "short")
        q.ended(1, "short", 10)
        self.assertEqual(q.next(1, 10), "other")
        self.assertIsNone(q.next(1, 45))
        self.assertEqual(q.left_out, ["long"])

    def test_with_time_for_all_the_long_ones_come_first_after_the_urgent(self):
        q = self.queue("short quiet other long", urgent=["other"], until=1000)
        self.assertEqual([q.next(1, 0) for _ in range(4)], ["other", "long", "quiet", "short"])

    def test_without_it_the_order_is_kept(self):
        q = self.queue("short quiet other long", urgent=[], until=110)
        self.assertEqual([q.next(1, 0) for _ in range(4)], ["short", "quiet", "other", "long"])

    def test_a_case_that_nobody_timed_is_given_some_time(self):
        q = self.queue("new", until=schedule.UNKNOWN + 1)
        self.assertEqual(q.next(1, 0), "new")

    def test_a_slow_machine_begins_less(self):
        q = self.queue("other short", until=1000)
        q.next(1, 0)
        q.ended(1, "other", 20 + 7 * (20 + schedule.STEADY))
        self.assertEqual(q.pace(), 8)
        self.assertIsNone(q.next(1, 1000 - 79))
        self.assertEqual(q.left_out, ["short"])

    def test_alone_comes_first_and_no_guest_joins(self):
        q = self.queue("long quiet short", alone=["quiet"])
        self.assertTrue(q.may_start(0))
        q.joins(1)
        self.assertFalse(q.may_start(0))
        self.assertEqual(q.next(1, 0), "quiet")
        self.assertFalse(q.may_start(0))
        q.ended(1, "quiet", 30)
        self.assertEqual(q.next(1, 30), "long")
        self.assertTrue(q.may_start(30))

    def test_nothing_runs_beside_one_that_is_alone(self):
        q = self.queue("long quiet", alone=["quiet"])
        q.waiting.reverse()  # as if it had come back from a guest that was lost
        self.assertEqual(q.next(1, 0), "long")
        self.assertIs(q.next(2, 0), schedule.WAIT)
        q.ended(1, "long", 100)
        self.assertEqual(q.next(2, 100), "quiet")
        self.assertIs(q.next(1, 100), schedule.WAIT)

    def test_a_case_with_words_on_the_command_line_has_a_guest_of_its_own(self):
        q = self.queue(append={"short": "swiotlb=force"})
        self.assertEqual(q.boots_with(), "")
        q.joins(1, append=q.boots_with())
        self.assertEqual(q.boots_with(), "swiotlb=force")
        self.assertEqual([q.next(1, 0) for _ in range(3)], ["long", "other", None])
        q.leaves(1)
        q.joins(1, append=q.boots_with())
        self.assertEqual([q.next(1, 0) for _ in range(2)], ["short", None])

    def test_a_guest_that_left_holds_nobody_up(self):
        q = self.queue("quiet", alone=["quiet"])
        q.joins(2)
        q.running[2] = "long"
        self.assertIs(q.next(1, 0), schedule.WAIT)
        q.leaves(2)
        self.assertEqual(q.next(1, 0), "quiet")

    def test_second_tries_come_when_all_is_through_however_late(self):
        q = self.queue("short other", until=100)
        self.assertEqual(q.next(1, 0), "short")
        q.ended(1, "short", 10)
        q.later("short")
        self.assertEqual(q.next(1, 10), "other")
        self.assertIsNone(q.next(1, 99))
        q.leaves(1)
        self.assertFalse(q.may_start(99))
        q.second_round()
        self.assertTrue(q.may_start(200))
        self.assertEqual(q.next(1, 200), "short")
        self.assertIsNone(q.next(1, 300))

    def test_one_whose_guest_was_lost_is_next(self):
        q = self.queue()
        q.next(1, 0)
        q.again("long")
        self.assertEqual(q.next(2, 0), "long")

    def test_a_second_guest_is_for_work(self):
        self.assertEqual([schedule.guests_wanted(w, 2) for w in (0, 30, 89, 90, 5000)], [1, 1, 1, 2, 2])
        self.assertEqual(schedule.guests_wanted(5000, 1), 1)


class Order(unittest.TestCase):
    CASE = "serve server B 7175 $VM_PROGS/krdma_conns\n. \"${VM_LIB%/*}/mtu.sh\"\n"

    def touches(self, path, covers=()):
        return schedule.touches(path, "71-case", self.CASE, covers)

    def test_a_change_touches_what_covers_it(self):
        self.assertTrue(self.touches("kal/cm/mpa.c", ["kal/cm"]))
        self.assertTrue(self.touches("kvp_soft/rx/rx.c", ["kal", "kvp_soft/rx/rx"]))
        self.assertFalse(self.touches("kal/cmother/mpa.c", ["kal/cm"]))
        self.assertFalse(self.touches("docs/hacking.md", ["kal/cm"]))

    def test_and_what_runs_it(self):
        self.assertTrue(self.touches("tests/vm/cases/71-case.sh"))
        self.assertTrue(self.touches("tests/vm/progs/krdma_conns.cpp"))
        self.assertTrue(self.touches("tests/vm/guest/mtu.sh"))
        self.assertFalse(self.touches("tests/vm/progs/krdma_con.cpp"))
        self.assertFalse(self.touches("tests/vm/guest/siw.sh"))
        self.assertFalse(self.touches("tests/vm/cases/71-other.sh"))

    def test_touched_then_what_finds_most_then_another_rest_each_time(self):
        names = [f"{n:02}" for n in range(20)]
        first = schedule.arrange(names, ["07", "03"], ["05", "07", "01"], "a")
        self.assertEqual(first[:1], ["07"])
        self.assertEqual(set(first[:2]), {"07", "03"})
        self.assertEqual(first[2:4], ["05", "01"])
        self.assertEqual(sorted(first), names)
        self.assertEqual(first, schedule.arrange(names, ["07", "03"], ["05", "07", "01"], "a"))
        self.assertNotEqual(first, schedule.arrange(names, ["07", "03"], ["05", "07", "01"], "b"))

    def test_times_are_read_by_kernel(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("# comment\ncase\tstock\tdebug\na\t1.5\t\nb\t2\t9\n")
            f.flush()
            self.assertEqual(schedule.read_times(f.name, "stock"), {"a": 1.5, "b": 2})
            self.assertEqual(schedule.read_times(f.name, "debug"), {"b": 9})
            self.assertEqual(schedule.read_times(f.name, "other"), {})
        self.assertEqual(schedule.read_times("/nowhere", "stock"), {})

    def test_a_kernel_without_times_takes_the_stock_kernels(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("case\tstock\tdebug\na\t1.5\nb\t2\t9\n")
            f.flush()
            self.assertEqual(schedule.expected_times(f.name, "stock", 1), {"a": 1.5, "b": 2})
            self.assertEqual(schedule.expected_times(f.name, "debug", 4), {"a": 6, "b": 9})


class Cases(unittest.TestCase):
    def test_what_a_case_covers_is_there(self):
        folder = os.path.join(vmlib.REPO, "tests", "vm", "cases")
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for line in f:
                    for path in line.split()[2:] if line.startswith("# covers:") else []:
                        self.assertTrue(any(os.path.exists(os.path.join(vmlib.REPO, path + end))
                                            for end in ("", ".c", ".cpp")), f"{name}: {path}")


if __name__ == "__main__":
    unittest.main()

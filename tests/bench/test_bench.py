# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Tests of the parsing and computing of make bench, with recorded output of the programs.

    python3 -m unittest discover -s tests/bench
"""
import json
import os
import shutil
import tempfile
import unittest

import jobs
import parse
import profile_report
import report
import svg

BANDWIDTH = """ #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      500              890.40             276.76 		   0.004428
---------------------------------------------------------------------------------------
"""
LATENCY = """ #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 64      1000          19.01          88.70        20.80    	       21.02        	1.93		25.11  		88.70
"""
SOCKPERF = """sockperf: [Valid Duration] RunTime=1.550 sec; SentMessages=236260; ReceivedMessages=236260
sockperf: Summary: Latency is 3.324 usec
sockperf: ---> <MAX> observation = 4079.541
sockperf: ---> percentile 99.900 =   11.386
sockperf: ---> percentile 99.000 =    3.510
sockperf: ---> percentile 50.000 =    3.229
"""
SAMPLES = """     ib_write_bw   214 [000]   237.375468:  ffffffffba0650a3 copy_user (/lib/modules/x/build/vmlinux)
 kworker/0:1-ev     9 [000]   237.375568:  ffffffffc08f41bd soft_tx_build+0x1d (/lib/modules/x/build/vmlinux)
         swapper     0 [001]   237.375668:  ffffffffb9f89a6e default_idle ([kernel.kallsyms])
       iperf3-x y    7 [001]   238.1:  7f00 [unknown] (/usr/lib/x86_64-linux-gnu/libc.so.6)
"""


def result(stack, test, text, **more):
    return {"mode": "icount", "group": "bandwidth", "stack": stack, "kind": "perftest", "test": test,
            "size": 65536, "mtu": 1500, "crc": 0, "round": 0, "error": "", "commands": {},
            "output": {"client": text}, **more}


def bandwidth(value):
    return BANDWIDTH.replace("276.76", str(value))


class Asked(unittest.TestCase):
    def test_all_stacks_and_tcp(self):
        todo = jobs.asked("icount", ["mtu=9000 crc=1 ib_send_bw -s 3000 -q 4 -l 8 -b"], 1)
        self.assertEqual([j["stack"] for j in todo], ["krdma", "siw", "rxe", "tcp"])
        for job in todo:
            self.assertEqual((job["size"], job["qps"], job["mtu"]), (3000, 4, 9000))
            self.assertEqual(job["group"], "asked for, MTU 9000, CRC 1, -b")
        ours = todo[0]["args"]
        self.assertIn("-b", ours)
        self.assertEqual(int(ours[ours.index("-n") + 1]) % 200, 0)
        self.assertEqual((todo[0]["crc"], todo[0]["list"]), (1, 8))

    def test_its_own_count(self):
        for test in ("ib_write_bw -n 77", "ib_read_lat -n 77 -e"):
            args = jobs.asked("icount", [test], 1)[0]["args"]
            self.assertEqual(args.count("-n"), 1)
        self.assertTrue(jobs.asked("icount", ["ib_read_lat -e"], 1)[0]["events"])

    def test_same_host_is_krdma_alone(self):
        todo = jobs.asked("icount", ["same_host=1 ib_write_bw"], 1)
        self.assertEqual([j["stack"] for j in todo], ["krdma", "tcp"])

    def test_wrong(self):
        for test in ("", "mtu=9000", "mtu=x ib_send_bw", "ib_send_bw -s", "ib_send_bw -q 0", "reboot"):
            with self.assertRaises(ValueError):
                jobs.asked("icount", [test], 1)


class Parse(unittest.TestCase):
    def test_sockets(self):
        self.assertEqual(parse.sockets("size 64 count 10 us 12.5\n"), {"us": 12.5})
        self.assertEqual(parse.sockets("size 65536 count 10 mb_per_s 3000.25\n"), {"mb_per_s": 3000.25})
        for text in ("", "size 64 count 10 us 0.0\n", "connect: refused\n"):
            with self.assertRaises(parse.ParseError):
                parse.sockets(text)

    def test_bandwidth_is_of_millions(self):
        f = parse.perftest(BANDWIDTH)
        self.assertAlmostEqual(f["mb_per_s"], 276.76 * 1.048576)
        self.assertAlmostEqual(f["messages_per_s"], 4428)

    def test_latency_has_tails(self):
        f = parse.perftest(LATENCY)
        self.assertEqual((f["us"], f["us_99"], f["us_999"]), (20.8, 25.11, 88.7))

    def test_no_figures(self):
        for kind in parse.PARSERS:
            with self.assertRaises(parse.ParseError):
                parse.figures(kind, "Completion with error at client\n")

    def test_pipe_is_half_a_round_trip(self):
        text = "     Total time: 0.060 [sec]\n\n      11.982000 usecs/op\n          83458 ops/sec\n"
        self.assertAlmostEqual(parse.pipe(text)["us"], 5.991)

    def test_connections_that_failed(self):
        table = "connect      :       14.87       8.67     428.00      74.36\n"
        self.assertEqual(parse.cmtime(table)["us"], 74.36)
        for line in ("failure creating qp: Invalid argument",
                     "RDMA_CM_EVENT_ADDR_ERROR, error: -19"):
            with self.assertRaises(parse.ParseError):
                parse.cmtime(f"creating id\n{line}\n{table}")

    def test_clock_that_failed(self):
        with self.assertRaises(parse.ParseError):
            parse.perftest(BANDWIDTH.replace("0.004428", "0.000000"))

    def test_kdapltest(self):
        run = {"mb_per_s": 12.5, "operations_per_s": 3e3, "operations": 100, "error": 0, "what": ""}
        self.assertEqual(parse.kdapltest(json.dumps(run))["messages_per_s"], 3e3)
        with self.assertRaisesRegex(parse.ParseError, "refused"):
            parse.kdapltest(json.dumps({**run, "error": -111, "what": "refused"}))

    def test_iser(self):
        none = {"io_bytes": 0, "bw_bytes": 0, "iops": 0, "total_ios": 0}
        some = {"io_bytes": 10, "bw_bytes": 5e6, "iops": 7, "total_ios": 3}
        run = {"error": 0, "read": none, "write": some}
        self.assertEqual(parse.iser("a note\n" + json.dumps({"jobs": [run]}))["mb_per_s"], 5)
        for text in (json.dumps({"jobs": [{**run, "error": 5}]}), json.dumps({"jobs": []}), "failed"):
            with self.assertRaises(parse.ParseError):
                parse.iser(text)

    def test_redis(self):
        text = '"test","rps","avg_latency_ms"\n"PING_MBULK","20000.00","0.023"\n'
        self.assertEqual(parse.redis(text)["us"], 50)
        with self.assertRaises(parse.ParseError):
            parse.redis("Could not connect to Redis")

    def test_iperf3(self):
        text = json.dumps({"end": {"sum_received": {"bits_per_second": 8e9, "seconds": 1.5},
                                   "sum_sent": {"bytes": 10}}})
        self.assertEqual(parse.iperf3(text)["mb_per_s"], 1000)

    def test_ping(self):
        line = '{"summary":{"p50_us":40.0,"p99_us":60.0,"p99_9_us":80.0,"received":9}}'
        self.assertEqual(parse.ping("a line before\n" + line + "\n")["us"], 20)
        for bad in ("", "no JSON", '{"seq":1}'):
            self.assertRaises(parse.ParseError, parse.ping, bad)

    def test_octets_of_sdp_that_went_by_tcp(self):
        counted = {"sdp-opened": 1, "sdp-tx-copied": 9, "sdp-tx-read": 0, "sdp-tx-written": 0}
        self.assertIsNone(parse.strayed({"stack": "tcp"}, {}))
        self.assertIsNone(parse.strayed({"stack": "sdp"}, counted))
        self.assertIsNone(parse.strayed({"stack": "sdp", "zcopy": 65536}, counted | {"sdp-tx-read": 1}))
        self.assertIn("copied", parse.strayed({"stack": "sdp", "zcopy": 65536}, counted))
        self.assertIn("octets", parse.strayed({"stack": "sdp"}, counted | {"sdp-tx-copied": 0}))
        self.assertIn("road", parse.strayed({"stack": "sdp"}, counted | {"sdp-opened": 0}))

    def test_qperf(self):
        self.assertEqual(parse.qperf("tcp_lat:\n    latency  =  14.9 us\n")["us"], 14.9)
        self.assertEqual(parse.qperf("tcp_lat:\n    latency  =  900 ns\n")["us"], 0.9)

    def test_sockperf(self):
        found = parse.sockperf(SOCKPERF)
        self.assertEqual((found["us"], found["us_99"], found["us_999"]), (3.229, 3.51, 11.386))
        with self.assertRaises(parse.ParseError):
            parse.sockperf("sockperf: ERROR: _seqN > m_maxSequenceNo\n")

    def test_too_early(self):
        self.assertTrue(parse.too_early("RDMA_CM_EVENT_REJECTED; error: -111\n"))
        self.assertFalse(parse.too_early("RDMA_CM_EVENT_REJECTED; error: -104\n"))


class Report(unittest.TestCase):
    def row(self, *results):
        groups = report.rows_of({"results": list(results)}, "icount")
        return groups["bandwidth"][0]

    def test_median_and_ratio(self):
        row = self.row(*(result("krdma", "ib_write_bw", bandwidth(v)) for v in (100, 300, 200)),
                       result("siw", "ib_write_bw", bandwidth(50)))
        self.assertAlmostEqual(row.ratio("siw"), 4)
        self.assertIsNone(row.ratio("rxe"))

    def test_failure_is_shown(self):
        row = self.row(result("krdma", "ib_write_bw", BANDWIDTH),
                       result("rxe", "ib_write_bw", "", error="the client ended with 1"))
        self.assertEqual(row.cell("rxe"), "failed")

    def test_page_takes_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            page = os.path.join(folder, "results.md")
            shutil.copy(report.PAGE, page)
            report.into_docs(page, {"results": [result("krdma", "ib_write_bw", BANDWIDTH)], "command": ["run"],
                                    "machine": {"date": "2026-01-01", "revision": "0", "cpus": 2}})
            with open(page, encoding="utf-8") as new, open(report.PAGE, encoding="utf-8") as old:
                text, before = new.read(), old.read()
        self.assertIn("Made by `run` on 2026-01-01", text)
        self.assertEqual(text.split(report.END)[1], before.split(report.END)[1])
        self.assertEqual(text.split(report.BEGIN)[0], before.split(report.BEGIN)[0])

    def test_tcp_stands_beside_each_operation(self):
        tcp = json.dumps({"end": {"sum_received": {"bits_per_second": 8e9, "seconds": 1},
                                  "sum_sent": {"bytes": 10}}})
        row = self.row(result("krdma", "ib_read_bw", bandwidth(500)),
                       result("tcp", "iperf3", tcp, kind="iperf3"))
        self.assertAlmostEqual(row.ratio("tcp"), 500 * 1.048576 / 1000)

    def test_each_latency_has_the_tcp_of_its_kind(self):
        waits = result("tcp", "tcp_lat", "latency  =  16 us\n", kind="qperf", group="latency, events")
        polls = result("tcp", "tcp_polled_lat", SOCKPERF, kind="sockperf", group="latency, polled")
        here = [result("krdma", test, LATENCY, group=group) for test, group in (
            ("ib_send_lat", "latency, events"), ("ib_write_lat", "latency, polled"),
            ("ib_send_lat", "same host latency"), ("ib_write_lat", "same host latency, polled"))]
        pipe = result("pipe", "pipe", "12 usecs/op\n", kind="pipe", group="same host latency")
        rows = report.rows_of({"results": [waits, polls, *here, pipe]}, "icount")
        for r in here:
            [row] = [row for row in rows[r["group"]] if row.job["stack"] == "krdma"]
            self.assertAlmostEqual(row.ratio("tcp"),
                                   20.8 / (3.229 if "polled" in r["group"] else 16))

    def test_as_many_streams_stand_beside_queue_pairs(self):
        tcp = json.dumps({"end": {"sum_received": {"bits_per_second": 4e9, "seconds": 1},
                                  "sum_sent": {"bytes": 10}}})
        one, ten = (result("krdma", "ib_write_bw", bandwidth(500)) for _ in range(2))
        streams = result("tcp", "iperf3", tcp, kind="iperf3")
        ten["qps"] = streams["qps"] = 10
        rows = report.rows_of({"results": [one, ten, streams]}, "icount")["bandwidth"]
        self.assertEqual([report.what(r.job).split(", ")[-1] for r in rows],
                         ["64 KiB", "10 QPs", "10 streams"])
        self.assertIsNone(rows[0].ratio("tcp"))
        self.assertAlmostEqual(rows[1].ratio("tcp"), 500 * 1.048576 / 500)

    def test_plot_names_each_stack(self):
        text = svg.plot("t", "x", "y", {"krdma": [(2, 1.5), (64, 20)], "siw": [(2, 3)]}, str)
        self.assertIn(">krdma<", text)
        self.assertIn(">siw<", text)


class Profile(unittest.TestCase):
    def test_samples(self):
        modules = profile_report.Modules(["ffffffffc08f4100 t soft_tx_build\t[krdma_soft]"])
        found = list(profile_report.samples(SAMPLES.splitlines(), modules))
        self.assertEqual([(s[2], s[3]) for s in found],
                         [("copy_user", "kernel"), ("soft_tx_build", "krdma_soft"),
                          ("default_idle", "kernel"), ("[unknown]", "libc.so.6")])


class Jobs(unittest.TestCase):
    def test_perftest_gets_no_rest(self):
        for job in jobs.all_of("icount", False, 1):
            args = [str(word) for word in job["args"]]
            if job["kind"] == "perftest" and job["program"].endswith("_bw"):
                count = int(args[args.index("-n") + 1])
                self.assertEqual(count % job["list"], 0)
                self.assertTrue(count)
                if job["qps"] > 1:
                    self.assertEqual(count % 100, 0)

    def test_profile_of_queue_pairs(self):
        job, = jobs.profiled("icount", "krdma", "ib_write_bw", 65536, 10)
        self.assertEqual(job["qps"], 10)
        self.assertTrue(job["profile"].endswith("-65536-10"))

    def test_stacks_alternate(self):
        order = [j["stack"] for j in jobs.all_of("real", True, 2)]
        self.assertEqual(order[:3], ["krdma", "siw", "rxe"])

    def test_numbers_are_unique(self):
        for quick in (True, False):
            every = jobs.all_of("icount", quick, 1)
            self.assertEqual(len({j["id"] for j in every}), len(every))
            self.assertEqual(len({(j["group"], report.what(j), j["stack"]) for j in every}), len(every))


if __name__ == "__main__":
    unittest.main()

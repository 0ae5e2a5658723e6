# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Reads figures from the output of the measuring programs. The guest uses it to repeat a job
whose output is invalid. The report uses it, too, because it works from the raw output."""
import json
import re

# perftest's "MB" is 2^20 bytes; ours is 10^6
MIB = 1048576 / 1e6


class ParseError(Exception):
    """The output has no figures, or ones that cannot be."""


def perftest_rows(text):
    """The table's lines as lists of numbers."""
    rows = []
    for line in text.splitlines():
        if re.match(r"^ \d+ +\d+ +[\d.]", line):
            rows.append([float(word) for word in line.split()])
    return rows


def perftest(text):
    """The last line of perftest's table: bandwidth or latency, by its number of columns."""
    rows = perftest_rows(text)
    if not rows:
        raise ParseError("no figures")
    row = rows[-1]
    if row[-1] <= 0:
        # perftest measures its clock as it begins; on a busy machine it finds nonsense
        raise ParseError("a figure is 0")
    if len(row) == 5:
        return {"mb_per_s": row[3] * MIB, "messages_per_s": row[4] * 1e6,
                "octets": row[0], "iterations": row[1]}
    if len(row) == 9:
        return {"us_min": row[2], "us_max": row[3], "us": row[4], "us_average": row[5],
                "us_stdev": row[6], "us_99": row[7], "us_999": row[8],
                "octets": row[0], "iterations": row[1]}
    raise ParseError(f"a table of {len(row)} columns")


def iperf3(text):
    """iperf3 -J: what the receiver got."""
    try:
        end = json.loads(text)["end"]
        bits = end["sum_received"]["bits_per_second"]
        sent = end["sum_sent"]["bytes"]
        seconds = end["sum_received"]["seconds"]
    except (ValueError, KeyError) as problem:
        raise ParseError(f"no figures ({problem})") from problem
    if bits <= 0:
        raise ParseError("a figure is 0")
    return {"mb_per_s": bits / 8e6, "octets_in_all": sent, "seconds": seconds}


def ping(text):
    """krdma ping --json: half a round trip, as perftest counts."""
    try:
        found = json.loads(text.splitlines()[-1])["summary"]
        return {"us": found["p50_us"] / 2, "us_99": found["p99_us"] / 2,
                "us_999": found["p99_9_us"] / 2, "iterations": found["received"]}
    except (ValueError, KeyError, IndexError) as problem:
        raise ParseError(f"no figures ({problem})") from problem


QPERF_UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}
QPERF_BYTES = {"KB": 1e-3, "MB": 1, "GB": 1e3}


def qperf(text):
    """qperf tcp_bw; or tcp_lat: half a round trip, as perftest counts."""
    found = re.search(r"bw += +([\d.]+) (KB|MB|GB)/sec", text)
    if found:
        return {"mb_per_s": float(found[1]) * QPERF_BYTES[found[2]]}
    found = re.search(r"latency += +([\d.]+) (ns|us|ms|sec)", text)
    if not found:
        raise ParseError("no figures")
    return {"us": float(found[1]) * QPERF_UNITS[found[2]]}


def sockperf(text):
    """sockperf ping-pong: half a round trip; the median stands for perftest's typical one."""
    percent = {found[1]: float(found[2]) for found in
               re.finditer(r"percentile (\d+\.\d+) = +([\d.]+)", text)}
    average = re.search(r"Latency is ([\d.]+) usec", text)
    if not average or not {"50.000", "99.000", "99.900"} <= percent.keys():
        raise ParseError("no figures")
    return {"us": percent["50.000"], "us_99": percent["99.000"], "us_999": percent["99.900"],
            "us_average": float(average[1])}


def cmtime(text):
    """cmtime: "step total ms max us min us us/conn"; the time of each step for a connection.

    It divides by the number that was asked for, however many failed, and then ends well.
    """
    failed = re.findall(r"^(?:failure .*|RDMA_CM_EVENT_\w+, error: .*)", text, re.MULTILINE)
    if failed:
        raise ParseError(f"{len(failed)} steps failed, the first: {failed[0]}")
    figures = {}
    for line in text.splitlines():
        found = re.match(r"^(\w[\w ]*?) *: +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+)", line)
        if found:
            figures["us_" + found[1].replace(" ", "_")] = float(found[3])
    if "us_connect" not in figures:
        raise ParseError("no figures")
    figures["us"] = figures["us_connect"]
    return figures


def conns(text):
    """What measure.py notes of krdma_conns: KiB in use with that many."""
    found = re.search(r"^used_kib (-?\d+) slab_kib (-?\d+) number (\d+)$", text, re.M)
    if not found:
        raise ParseError("no figures")
    return {"kib": float(found[1]), "slab_kib": float(found[2]), "number": float(found[3])}


def kdapltest(text):
    """kdapltest --json."""
    try:
        run = json.loads(text)
        f = {"mb_per_s": run["mb_per_s"], "messages_per_s": run["operations_per_s"],
             "iterations": run["operations"]}
    except (ValueError, KeyError, TypeError) as problem:
        raise ParseError(f"no figures ({problem})") from problem
    if run["error"] or min(f.values()) <= 0:
        raise ParseError(run["what"] or "a figure is 0")
    return f


def iser(text):
    """fio's JSON, of a job that reads or writes."""
    try:
        run = json.loads(text[text.index("{"):])["jobs"][0]
        way = run["read"] if run["read"]["io_bytes"] else run["write"]
        f = {"mb_per_s": way["bw_bytes"] / 1e6, "messages_per_s": way["iops"],
             "iterations": way["total_ios"]}
    except (ValueError, KeyError, IndexError, TypeError) as problem:
        raise ParseError(f"no figures ({problem})") from problem
    if run["error"] or min(f.values()) <= 0:
        raise ParseError(f"error {run['error']}")
    return f


def redis(text):
    """redis-benchmark --csv with a connection for each request: the time of one."""
    found = re.search(r'^"PING_MBULK","([\d.]+)"', text, re.M)
    if not found or float(found[1]) <= 0:
        raise ParseError("no figures")
    return {"us": 1e6 / float(found[1])}


def memcpy(text):
    """krdma_memcpy: "OCTETS COUNT MB/s" on a line."""
    found = re.search(r"^(\d+) (\d+) ([\d.]+)$", text, re.M)
    if not found:
        raise ParseError("no figures")
    return {"mb_per_s": float(found[3]), "octets": float(found[1])}


def sockets(text):
    """krdma_sockets: a round trip or a connection, or the bandwidth of a stream."""
    found = re.search(r"^size \d+ count \d+ (us|mb_per_s) ([\d.]+)$", text, re.M)
    if not found or float(found[2]) <= 0:
        raise ParseError("no figures")
    return {found[1]: float(found[2])}


def pipe(text):
    """perf bench sched pipe: a round trip of two programs; half of it, as perftest counts."""
    found = re.search(r"^ *([\d.]+) usecs/op$", text, re.M)
    if not found:
        raise ParseError("no figures")
    return {"us": float(found[1]) / 2}


def strayed(job, counters):
    """Why the octets of a job of SDP did not go as they should: TCP carries what a road does not. None: they did."""
    if job["stack"] != "sdp":
        return None
    if not counters["sdp-opened"]:
        return "SDP has opened no road"
    zero_copy = counters["sdp-tx-read"] + counters["sdp-tx-written"]
    if not zero_copy + counters["sdp-tx-copied"]:
        return "no octets went by SDP"
    if job.get("zcopy") and not zero_copy:
        return "all octets were copied"
    return None


PARSERS = {"perftest": perftest, "iperf3": iperf3, "qperf": qperf, "cmtime": cmtime,
           "conns": conns, "memcpy": memcpy, "pipe": pipe, "ping": ping, "sockperf": sockperf,
           "kdapltest": kdapltest, "iser": iser, "redis": redis, "sockets": sockets, "idle": conns}


def figures(job_kind, text):
    return PARSERS[job_kind](text)


def too_early(text):
    """A perftest client can be faster with its second connection than its server is with
    listening for it; TCP refuses that."""
    return bool(re.search(r"EVENT_REJECTED; error: -111|ERRNO: Connection refused", text))

# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Makes a report from results: an HTML file with tables, ratios and plots, and a short text table.

All figures are computed from the output of the programs. A figure is the median of the rounds. A
measurement that failed is shown as failed, with its error.
"""
import html
import json
import os
import statistics

import jobs as job_list
import parse
import svg

STACKS = ("krdma", "siw", "rxe", "tcp", "memory", "pipe", "kdapl", "verbs", "kiser", "ib_iser",
          "ops", "unmarked", "alone", "native", "unix", "sdp")
# what the figures of others are compared with, and these others
OURS = ("krdma", "kdapl", "kiser", "ops", "unmarked", "alone", "sdp")
OTHERS = ("siw", "rxe", "tcp", "verbs", "ib_iser", "native")
# what is not a stack that krdma is measured against
BOUNDS = ("memory", "pipe", "unix")
MODES = {"icount": "repeatable clock: one CPU, an instruction is a nanosecond",
         "real": "real time on two CPUs, stacks alternating, medians"}
# the page that --docs writes its tables into, between two marks
PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "performance", "results.md")
BEGIN, END = "<!-- make bench: begin -->", "<!-- make bench: end -->"


def figures(result):
    output = result["output"]
    return parse.figures(result["kind"], output.get("note") or output.get("client", ""))


def main_figure(result, f):
    """The figure that is compared, and its unit."""
    if "mb_per_s" in f:
        if result.get("size", 1 << 30) <= 1024 and "messages_per_s" in f:
            return f["messages_per_s"] / 1e3, "1000 messages/s"
        if result.get("size", 1 << 30) <= 1024 and result["kind"] == "iperf3":
            return f["mb_per_s"] * 1e3 / result["size"], "1000 messages/s"
        return f["mb_per_s"], "MB/s"
    if "kib" in f:
        return f["kib"], "KiB in all"
    return f["us"], "us"


def short(result):
    """One line of progress."""
    f = figures(result)
    value, unit = main_figure(result, f)
    text = f"{value:.4g} {unit}"
    if "us_999" in f:
        text += f", 99 % {f['us_99']:.4g}, 99.9 % {f['us_999']:.4g}"
    return text


class Row:
    """A measurement: each stack's rounds."""

    def __init__(self, job):
        self.job = job
        self.values, self.tails, self.errors = {}, {}, {}
        self.unit = ""

    def add(self, result):
        stack = result["stack"]
        if result["error"]:
            self.errors[stack] = result["error"].splitlines()[0]
            return
        try:
            f = figures(result)
        except parse.ParseError as problem:
            self.errors[stack] = str(problem)
            return
        value, self.unit = main_figure(result, f)
        self.values.setdefault(stack, []).append(value)
        if "us_999" in f:
            self.tails.setdefault(stack, []).append((f["us_99"], f["us_999"]))

    def median(self, stack):
        return statistics.median(self.values[stack]) if self.values.get(stack) else None

    def tail(self, stack):
        if stack not in self.tails:
            return None
        return [statistics.median(t[i] for t in self.tails[stack]) for i in (0, 1)]

    def ratio(self, stack):
        """Our figure over that stack's: above 1 is more, whatever is better."""
        ours, theirs = self.median(ours_of([self])), self.median(stack)
        return ours / theirs if ours and theirs else None

    def cell(self, stack):
        value = self.median(stack)
        if value is None:
            return ("skipped" if self.errors[stack].startswith("skipped") else "failed") \
                if stack in self.errors else ""
        text = number(value)
        tail = self.tail(stack)
        if tail:
            text += f" ({number(tail[0])}, {number(tail[1])})"
        return text + ("*" if stack in self.errors else "")


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def what(job):
    """A row's name within its group."""
    words = [job["test"]]
    if "size" in job:
        words.append(octets(job["size"]))
    if job.get("qps", 1) > 1:
        words.append(job_list.queues(job))
    if job.get("list", 1) > 1:
        words.append(f"lists of {job['list']}")
    if "number" in job:
        words.append(f"{job['number']}")
    return ", ".join(words)


def octets(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


# TCP stands beside RDMA operations of its size: one measurement for three
TCP_FOR = {"iperf3": ("ib_write_bw", "ib_read_bw", "ib_send_bw"),
           "tcp_lat": ("ib_send_lat", "ib_write_lat", "ib_read_lat"),
           "tcp_polled_lat": ("ib_send_lat", "ib_write_lat", "ib_read_lat")}
# and in other groups than its own
TCP_GROUPS = {"bandwidth": ("same host", "crc"),
              "latency, events": ("same host latency",),
              "latency, polled": ("same host latency, polled",)}


def rows_of(data, mode):
    """{group: [Row]}, in the order in which they were first measured; TCP's figure goes into
    the rows that it is compared with."""
    rows, references = {}, []
    for result in data["results"]:
        if result["mode"] != mode:
            continue
        if result["stack"] == "tcp" or result["stack"] in BOUNDS:
            references.append(result)
        key = (result["group"], what(result))
        rows.setdefault(key, Row(result)).add(result)
    for result in references:
        for (group, _), row in rows.items():
            same = group == result["group"] or (
                result["stack"] == "tcp" and group in TCP_GROUPS.get(result["group"], ()))
            if same and row.job.get("size") == result.get("size") and \
                    row.job.get("qps", 1) == result.get("qps", 1) and \
                    row.job["stack"] != "tcp" and row.job["stack"] not in BOUNDS and \
                    row.job["test"] in TCP_FOR.get(result["test"], ()):
                row.add(result)
    groups = {}
    for (group, _), row in rows.items():
        groups.setdefault(group, []).append(row)
    return groups


def memory_each(rows):
    """Lines of the memory group: what one more costs, between the two numbers."""
    lines = []
    for test in ("queue pairs", "connections"):
        pair = sorted((r for r in rows if r.job["test"] == test), key=lambda r: r.job["number"])
        if len(pair) != 2:
            continue
        more = pair[1].job["number"] - pair[0].job["number"]
        cells = {s: (pair[1].median(s) - pair[0].median(s)) / more for s in STACKS
                 if pair[0].median(s) is not None and pair[1].median(s) is not None}
        lines.append((test, cells))
    return lines


def ours_of(rows):
    """The one of ours that the rows are about."""
    return next((s for s in OURS if any(s in r.values or s in r.errors for r in rows)), OURS[0])


def others_of(rows):
    return [s for s in OTHERS if any(s in r.values or s in r.errors for r in rows)]


def ratio_text(value):
    return f"{value:.2f}" if value else ""


# HTML ----------------------------------------------------------------------

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1150px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .6em 0 1.6em } caption { text-align: left; color: #555 }
th, td { padding: .15em .8em; text-align: right; border-bottom: 1px solid #ddd } td:first-child { text-align: left }
th { background: #f3f3f3 } .failed { color: #a00 } .ratio { background: #eef6ee } figure { display: inline-block; margin: 0 1em 1em 0 }
pre { background: #f6f6f6; padding: .5em; overflow-x: auto; font-size: 12px } details { margin: .2em 0 }
"""


def html_table(rows):
    stacks = [s for s in STACKS if any(s in r.values or s in r.errors for r in rows)]
    out = ["<table><tr><th>measurement</th><th>unit</th>"]
    out += [f"<th>{s}</th>" for s in stacks]
    out += [f"<th>{ours_of(rows)} / {s}</th>" for s in others_of(rows)]
    out.append("</tr>")
    for row in rows:
        out.append(f"<tr><td>{html.escape(what(row.job))}</td><td>{row.unit}</td>")
        for stack in stacks:
            cell = row.cell(stack)
            title = html.escape(row.errors.get(stack, ""))
            out.append(f"<td{' class=failed' if stack in row.errors else ''} title=\"{title}\">{cell}</td>")
        out += [f"<td class=ratio>{ratio_text(row.ratio(s))}</td>" for s in others_of(rows)]
        out.append("</tr>")
    return "".join(out) + "</table>"


def plots(groups):
    """One for each operation: bandwidth by size, and message rate by queue pairs."""
    out = []
    bandwidth = groups.get("bandwidth", [])
    for test in ("ib_write_bw", "ib_read_bw", "ib_send_bw"):
        series = {}
        for row in bandwidth:
            if row.job["test"] != test:
                continue
            for stack in row.values:
                value = row.median(stack)
                if row.unit != "MB/s":
                    value *= row.job["size"] / 1e3
                series.setdefault(stack, []).append((row.job["size"], value))
        if any(len(points) > 1 for points in series.values()):
            out.append(svg.plot(f"{test}, MTU 1500", "message", "MB/s", series, octets))
    for group, title in (("message rate", "ib_write_bw, 64 B"), ("queue pairs", "ib_write_bw, 16 KiB")):
        series = {}
        for row in groups.get(group, []):
            if row.job["test"] == "ib_write_bw" and row.job["list"] == 1:
                for stack in row.values:
                    series.setdefault(stack, []).append((row.job["qps"], row.median(stack)))
        if any(len(points) > 1 for points in series.values()):
            unit = "1000 messages/s" if group == "message rate" else "MB/s"
            out.append(svg.plot(title, "queue pairs", unit, series, str))
    return "".join(f"<figure>{p}</figure>" for p in out)


def write(folder, data):
    """report.html beside the results; answers its path."""
    m = data["machine"]
    out = [f"<!DOCTYPE html><meta charset=utf-8><title>krdma: make bench</title><style>{STYLE}</style>",
           "<h1>krdma, siw, rxe and kernel TCP</h1>",
           f"<p>{html.escape(m['date'])}, revision {m['revision'][:12]}"
           f"{' with changes' if m['changed'] else ''}, Linux {html.escape(data.get('kernel', ''))} in QEMU on "
           f"{html.escape(m['cpu'])} ({m['cpus']} CPUs). Command: "
           f"<code>{html.escape(' '.join(data['command']))}</code>. Raw output of every job: results.json.</p>",
           "<p>Both ends are in one guest, on an address of its own, so TCP goes over lo, with the MTU that is named. "
           "MB is 10<sup>6</sup> octets. Latency is half a round trip: typical (99 %, 99.9 %); TCP's with events, of qperf, is the average, "
           "polled, of sockperf, the median. "
           "TCP bandwidth is iperf3's with writes of that size. A ratio is krdma's figure over the other's. "
           "* some rounds failed.</p>"]
    for mode, title in MODES.items():
        groups = rows_of(data, mode)
        if not groups:
            continue
        clocks = {r["clock"] for r in data["results"] if r["mode"] == mode and "clock" in r}
        out.append(f"<h2>{mode}: {title}</h2>"
                   f"<p>The guest's clock: {html.escape(', '.join(sorted(clocks)) or 'not recorded')}</p>"
                   f"{plots(groups)}")
        for group, rows in groups.items():
            job = rows[0].job
            out.append(f"<h3>{group}</h3><p>MTU {job['mtu']}, CRC {'on' if job['crc'] else 'off'}</p>")
            out.append(html_table(rows))
            for test, cells in memory_each(rows) if group == "memory" else ():
                each = ", ".join(f"{s} {v:.1f}" for s, v in cells.items())
                out.append(f"<p>KiB for each of {test}, between 100 and 1000"
                           f"{', both ends with program' if test == 'connections' else ''}: {each}</p>")
    out.append("<h2>what failed</h2>")
    for result in data["results"]:
        if result["error"]:
            out.append(f"<details><summary>{result['mode']} round {result['round']}: {result['stack']} "
                       f"{html.escape(job_list.name(result))}: {html.escape(result['error'].splitlines()[0])}"
                       f"</summary><pre>{html.escape(json.dumps(result['commands'], indent=1))}\n")
            for name, text in result["output"].items():
                out.append(f"--- {name}\n{html.escape(text)}\n")
            out.append("</pre></details>")
    path = os.path.join(folder, "report.html")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")
    return path


# text ----------------------------------------------------------------------

def text(data):
    """Tables in Markdown."""
    out = []
    for mode, title in MODES.items():
        groups = rows_of(data, mode)
        for group, rows in groups.items():
            stacks = [s for s in STACKS if any(s in r.values or s in r.errors for r in rows)]
            compared = others_of(rows)
            job = rows[0].job
            out.append(f"{mode} ({title}); {group}, MTU {job['mtu']}, CRC {'on' if job['crc'] else 'off'}:\n")
            head = ["measurement", "unit", *stacks, *(f"{ours_of(rows)} / {s}" for s in compared)]
            out.append("| " + " | ".join(head) + " |")
            out.append("| --- | --- |" + " ---: |" * (len(head) - 2))
            for row in rows:
                cells = [what(row.job), row.unit, *(row.cell(s) for s in stacks),
                         *(ratio_text(row.ratio(s)) for s in compared)]
                out.append("| " + " | ".join(cells) + " |")
            out.append("")
            if group == "memory":
                for test, cells in memory_each(rows):
                    out.append(f"KiB for each of {test}: " +
                               ", ".join(f"{s} {v:.1f}" for s, v in cells.items()) + "\n")
    return "\n".join(out)


def into_docs(path, data):
    """Write the tables between the two marks of the page."""
    with open(path, encoding="utf-8") as f:
        before, rest = f.read().split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    m = data["machine"]
    head = (f"Made by `{' '.join(data['command'])}` on {m['date'][:10]}, revision {m['revision'][:12]}, "
            f"Linux {data.get('kernel', '')} in QEMU, {m['cpus']} CPUs.\n")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{head}\n{text(data).rstrip()}\n{END}{after}")

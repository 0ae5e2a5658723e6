# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Makes a table from samples of perf: the instructions of a measurement by function.

Only the steady part counts: the first and the last tenth of the samples in the stack's own module
(for TCP: iperf3) are left out. So the start of programs and connecting do not count.
"""
import bisect
import collections
import os
import re

import parse

# the text of "perf script -F comm,tid,cpu,time,ip,sym,dso"
SAMPLE = re.compile(r"^\s*(?P<comm>.+?)\s+(?P<tid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>[\d.]+):\s+"
                    r"(?P<ip>[0-9a-f]+)\s+(?P<sym>.+?)\s+\((?P<dso>[^()]+|\[[^\]]+\])\)\s*$")
OWN = {"krdma": ("krdma", "krdma_soft"), "siw": ("siw",), "rxe": ("rdma_rxe",)}
IDLE = re.compile(r"^(default_idle|native_safe_halt|pv_native_safe_halt|acpi_idle|acpi_safe_halt|"
                  r"cpuidle_|intel_idle|mwait_idle|do_idle)")


class Modules:
    """Which module an address is in, by the guest's /proc/kallsyms."""

    def __init__(self, lines):
        words = sorted((line.split() for line in lines), key=lambda w: int(w[0], 16))
        self.addresses = [int(w[0], 16) for w in words]
        self.names = [(w[2], w[3].strip("[]")) for w in words]

    def find(self, address):
        """Function and module, or None."""
        at = bisect.bisect_right(self.addresses, address) - 1
        # no function is as long as what lies between the kernel and its modules
        if at < 0 or address - self.addresses[at] > 1 << 20:
            return None
        return self.names[at]


def samples(lines, modules=Modules(())):
    for line in lines:
        found = SAMPLE.match(line)
        if found:
            dso = os.path.basename(found["dso"].strip("[]"))
            name = re.sub(r"\+0x[0-9a-f]+$", "", found["sym"])
            if dso in ("vmlinux", "kernel.kallsyms"):
                name, dso = modules.find(int(found["ip"], 16)) or (name, "kernel")
            yield float(found["time"]), found["comm"], name, dso


def steady(found, stack):
    """The samples of the part in which data flows."""
    if stack in OWN:
        own = [s[0] for s in found if s[3] in OWN[stack]]
    else:
        own = [s[0] for s in found if s[1].startswith(("iperf3", "qperf", "sockperf"))]
    if len(own) < 20:
        return found
    begin, end = own[len(own) // 10], own[len(own) * 9 // 10]
    return [s for s in found if begin <= s[0] <= end]


def table(found, result):
    """The text: by kind of code, by program, by function."""
    figures = parse.figures(result["kind"], result["output"]["client"])
    busy = [s for s in found if not IDLE.match(s[2])]
    total = len(busy) or 1
    size = result["size"]
    # a microsecond of the guest is 1000 instructions in icount mode
    per_message = 1e3 * (figures["us"] if "us" in figures else size / figures["mb_per_s"])
    speed = f"{figures['us']:.1f} us" if "us" in figures else f"{figures['mb_per_s']:.1f} MB/s"
    unit = "instr" if result["mode"] == "icount" else "ns"
    lines = [f"{result['stack']} {result['test']} {size} octets, MTU {result['mtu']}, "
             f"{'CRC' if result['crc'] else 'no CRC'}, mode {result['mode']}: "
             f"{speed}, {per_message:,.0f} {unit} a message",
             f"{total} samples of the steady part, {len(found) - len(busy)} more idle", ""]

    def add(title, key, least):
        counts = collections.Counter(key(s) for s in busy)
        lines.append(f"{'share':>7} {unit + '/message':>14}  {title}")
        for name, count in counts.most_common():
            if count / total < least:
                break
            lines.append(f"{100 * count / total:6.2f}% {per_message * count / total:14,.0f}  {name}")
        lines.append("")

    messages = figures.get("iterations", 0)
    for name, value in sorted(result.get("counters", {}).items()):
        if messages and value > messages / 1000:
            lines.append(f"{value / messages:14.3f}  {name} a message, all of the run")
    lines.append("")
    add("by module", lambda s: s[3], 0.001)
    # perf knows a kernel thread that is younger than it by its parent's name
    add("by program", lambda s: re.sub(r"[/:].*", "", s[1]).replace("kthreadd", "kernel thread"), 0.005)
    add("by function", lambda s: f"{s[2]:44} {s[3]}", 0.002)
    return "\n".join(lines)


def write(folder, result):
    """Makes profile.txt of the folder's perf.script; returns its text."""
    with open(os.path.join(folder, "modules"), encoding="ascii") as f:
        modules = Modules(f)
    with open(os.path.join(folder, "perf.script"), encoding="utf-8", errors="replace") as f:
        found = list(samples(f, modules))
    text = table(steady(found, result["stack"]), result)
    with open(os.path.join(folder, "profile.txt"), "w", encoding="utf-8") as f:
        f.write(text)
    return text

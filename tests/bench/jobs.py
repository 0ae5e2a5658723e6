# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The list of jobs of a run: a job for each stack, measurement and round.

Within a measurement the stacks follow each other, so that changes on the machine affect all of
them. The number of repetitions of a program depends on the expected speed of the stack. The
command of the job is kept with its result.
"""
import math
import re
import shlex

RNICS = ("krdma", "siw", "rxe")
KIB, MIB = 1024, 1024 * 1024
# megabytes and messages a second by which work is portioned; not results
EXPECTED_MB = {"krdma": 400, "siw": 30, "rxe": 45, "tcp": 1000, "sdp": 1000}
EXPECTED_MESSAGES = {"krdma": 100e3, "siw": 25e3, "rxe": 12e3, "tcp": 200e3}
SIZES = {True: (64, 64 * KIB, MIB),
         False: (2, 64, KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 8 * MIB)}

# perftest compares the times of all requests in pairs, of 100000 as well
NO_PEAK = ("-N",)
# operations of kdapltest
KDAPL_OPS = {"SR": "Send", "RW": "RDMA Write", "RR": "RDMA Read"}
# options that say how often, or how long
COUNTS = {"-n", "-D"}


def often(options, count):
    """perftest's options for so many times, unless those given say it."""
    return [] if COUNTS.intersection(options) else ["-n", count]


class List:
    """Jobs of one mode; seconds is how long a bandwidth job should move data."""

    def __init__(self, mode, quick):
        self.mode, self.quick = mode, quick
        self.seconds = {"icount": 0.15, "real": 0.5}[mode] * (0.7 if quick else 1)
        self.limit = {"icount": 30, "real": 60}[mode]
        self.jobs = []

    def add(self, group, stack, kind, test, args, **more):
        job = {"mode": self.mode, "group": group, "stack": stack, "kind": kind, "test": test,
               "mtu": 1500, "crc": 0, "same_host": 0, "limit": self.limit, "round": 0,
               **more, "args": [str(a) for a in args]}
        self.jobs.append(job)

    def iterations(self, stack, size, qps=1):
        count = min(EXPECTED_MB[stack] * 1e6 / size, EXPECTED_MESSAGES[stack])
        least = 10 if size >= MIB else 100
        return max(least, int(count * self.seconds / qps))

    def bandwidth(self, group, verb, size, stacks=RNICS, qps=1, post_list=1, options=(), **more):
        for stack in stacks:
            count = self.iterations(stack, size, qps)
            args = ["-s", size, *options]
            step = post_list
            if post_list > 1:
                args += ["-l", post_list]
            if qps > 1:
                args += ["-q", qps]
                # Each completion counts for 100 requests, the last one, too. With a rest
                # perftest believes that it has all of them before it has posted all.
                step = math.lcm(step, 100)
            count = max(count, 16 * post_list) // step * step or step
            args += often(options, count)
            self.add(group, stack, "perftest", f"ib_{verb}_bw", args,
                     program=f"ib_{verb}_bw", size=size, qps=qps, list=post_list, **more)

    def tcp_bandwidth(self, group, size, streams=1, **more):
        octets = max(int(min(EXPECTED_MB["tcp"] * 1e6, EXPECTED_MESSAGES["tcp"] * size) *
                         self.seconds), 10 * size)
        # iperf3 writes a MiB at most
        args = ["-l", min(size, MIB), "-n", octets]
        if streams > 1:
            args += ["-P", streams]
        self.add(group, "tcp", "iperf3", "iperf3", args, size=size, qps=streams, list=1, **more)

    def latency(self, group, verb, size, events, count, stacks=RNICS, options=(), **more):
        for stack in stacks:
            args = ["-s", size, *(["-e"] if events else []), *options]
            args += often(options, count)
            self.add(group, stack, "perftest", f"ib_{verb}_lat", args,
                     program=f"ib_{verb}_lat", size=size, events=events, **more)

    def socket_latency(self, group, stack, size, **more):
        self.add(group, stack, "qperf", "tcp_lat",
                 ["-m", size, "-t", "1"], size=size, events=True, **more)

    def socket_stream(self, group, stack, size, **more):
        """Calls that block, which zero copy needs; those of iperf3 do not."""
        self.add(group, stack, "qperf", "tcp_bw", ["-m", size, "-t", "1"], size=size, **more)

    def library_latency(self, group, size, events, count, **more):
        """Messages of two programs of libkrdma: krdma ping, which waits with cq.wait()."""
        self.add(group, "krdma", "ping", "krdma_ping",
                 ["-b", size, "-c", count, *(["-e"] if events else [])], size=size, events=events, **more)

    def tcp_polled_latency(self, group, size, **more):
        self.add(group, "tcp", "sockperf", "tcp_polled_lat",
                 ["-m", size, "-t", "1"], size=size, events=False, **more)

    # what the modes have ------------------------------------------------------

    def sizes(self):
        for size in SIZES[self.quick]:
            for verb in ("write", "read", "send"):
                self.bandwidth("bandwidth", verb, size)
            self.tcp_bandwidth("bandwidth", size)

    def mtu_9000(self):
        for size in (64 * KIB, MIB):
            for verb in ("write", "read", "send"):
                self.bandwidth("mtu 9000", verb, size, mtu=9000)
            self.tcp_bandwidth("mtu 9000", size, mtu=9000)

    def with_crc(self):
        for size in (64, 64 * KIB, MIB):
            for verb in ("write", "read", "send"):
                self.bandwidth("crc", verb, size, stacks=("krdma", "siw"), crc=1)

    def message_rate(self):
        for verb in ("write", "send"):
            for qps in (1, 4, 16, 64):
                for post_list in (1, 8):
                    self.bandwidth("message rate", verb, 64, qps=qps, post_list=post_list)

    def latencies(self, polled):
        count = 1000 if self.quick else 5000
        for verb in ("send", "write", "read"):
            for size in (64,) if self.quick else (64, 4 * KIB, 64 * KIB):
                # write_lat has no events: it looks at memory
                if verb != "write":
                    self.latency("latency, events", verb, size, True, count)
                if polled:
                    self.latency("latency, polled", verb, size, False, count)
        self.library_latency("latency, events", 64, True, count)
        for size in (64,) if self.quick else (64, 4 * KIB, 64 * KIB):
            self.socket_latency("latency, events", "tcp", size)
            if polled:
                self.tcp_polled_latency("latency, polled", size)

    def queue_pairs(self):
        for qps in (1, 10, 100, 1000):
            self.bandwidth("queue pairs", "write", 16 * KIB, qps=qps, options=NO_PEAK)
            # what as many streams cost TCP itself; iperf3 has 128 at most
            if qps <= 128:
                self.tcp_bandwidth("queue pairs", 16 * KIB, streams=qps)

    def connections(self):
        # siw has never made 200 at once
        for count in (50,) if self.quick else (50, 200):
            for stack in RNICS:
                self.add("connections", stack, "cmtime", "cmtime", ["-c", count], number=count)

    def kdapl(self):
        """kDAPL beside ib_core on the same RNIC: a kernel consumer's work by either API."""
        for op, size in (("SR", 64), ("SR", 4 * KIB), ("RW", 64), ("RW", 64 * KIB), ("RR", 4 * KIB)):
            for stack in ("kdapl", "verbs"):
                self.kdapltest("kDAPL", stack, op, size)

    def kdapltest(self, group, stack, op, size):
        args = ["-i", 2 * self.iterations("krdma", size), "-o", op, size]
        self.add(group, stack, "kdapltest", KDAPL_OPS[op], args, size=size)

    def iser(self):
        """iSER on kDAPL beside the kernel's on verbs: an initiator's work, the same target."""
        for size, octets in ((4 * KIB, 24 * MIB), (64 * KIB, 96 * MIB), (512 * KIB, 192 * MIB)):
            for how in ("randread", "randwrite"):
                for stack in ("kiser", "ib_iser"):
                    self.add("iSER", stack, "iser", how,
                             [f"--rw={how}", f"--bs={size}", "--size=48M", f"--io_size={octets}"],
                             size=size, limit=2 * self.limit)

    def sockets(self, group, stacks, test, size, count, events=False):
        """krdma_sockets: both ends wait in their calls, or by epoll."""
        name = f"{test}, epoll" if events else test
        for stack in stacks:
            self.add(group, stack, "sockets", name,
                     ["-s", size, "-n", count, *(["-e"] if events else []), test], size=size, events=events)

    def offload(self):
        """Sockets of one host by the road that rules give them, beside TCP without krdma_ops, AF_UNIX and
        pipes; and what krdma_ops costs those that have no road."""
        group, stacks = "offload, same host", ("ops", "native", "unix", "pipe")
        octets = int(8 * EXPECTED_MB["tcp"] * 1e6 * self.seconds)
        for events in (False, True):
            for size, count in ((64, 30000), (4 * KIB, 25000), (64 * KIB, 8000)):
                self.sockets(group, stacks, "rtt", size, int(count * self.seconds), events)
        for size in (64 * KIB, MIB):
            for events in (False, True):
                self.sockets(group, stacks, "stream", size, octets // size, events)
            for stack in ("ops", "native"):
                self.add(group, stack, "iperf3", "iperf3", ["-l", size, "-n", octets], size=size)
        for size in (64, 4 * KIB, 64 * KIB):
            for stack in ("ops", "native"):
                self.add(group, stack, "qperf", "tcp_lat", ["-m", size, "-t", "1"], size=size)
        self.sockets(group, ("ops", "native"), "connect", 64, int(8000 * self.seconds))
        for stack in ("ops", "native"):
            self.add(group, stack, "redis", "connections", ["-n", int(10000 * self.seconds)])
        for group, stack in (("offload, no rule", "unmarked"), ("offload, a peer without it", "alone")):
            stacks = (stack, "native")
            self.sockets(group, stacks, "rtt", 64, int(60000 * self.seconds))
            self.sockets(group, stacks, "stream", 64 * KIB, octets // (64 * KIB))
            self.sockets(group, stacks, "connect", 64, int(16000 * self.seconds))
        for stack in ("ops", "native"):
            self.add("offload, idle connections", stack, "idle", "connections", ["-n", 1000], number=1000,
                     limit=2 * self.limit)

    def sdp(self):
        """Sockets of SDP on krdma_soft beside TCP's, over the wire and inside of one host."""
        for same_host in (0, 1):
            group = "SDP, same host" if same_host else "SDP"
            for size in (64 * KIB, MIB):
                self.sdp_bandwidth(group, size, same_host)
                self.tcp_bandwidth(group, size, same_host=same_host)
            for stack in ("sdp", "tcp"):
                self.socket_latency(group, stack, 64, same_host=same_host)
            for size in (64 * KIB, 128 * KIB, 256 * KIB, MIB):
                self.socket_stream(group, "tcp", size, same_host=same_host)
                self.socket_stream(f"{group}, copies", "sdp", size, same_host=same_host)
                self.socket_stream(f"{group}, zero copy", "sdp", size, same_host=same_host, zcopy=size)
                self.socket_stream(f"{group}, Write Zcopy", "sdp", size, same_host=same_host, zcopy=size,
                                   zcopy_write=1)

    def sdp_adopted(self):
        """Sockets of SDP on RNICs of other drivers, adopted by krdma_hw."""
        for rnic in ("siw", "rxe"):
            group = f"SDP on {rnic}"
            for size in (64 * KIB, 256 * KIB, MIB):
                self.socket_stream(f"{group}, copies", "sdp", size, adopted=rnic)
                self.socket_stream(f"{group}, zero copy", "sdp", size, adopted=rnic, zcopy=size)
                self.socket_stream(f"{group}, Write Zcopy", "sdp", size, adopted=rnic, zcopy=size,
                                   zcopy_write=1)

    def sdp_bandwidth(self, group, size, same_host):
        octets = int(EXPECTED_MB["sdp"] * 1e6 * self.seconds)
        self.add(group, "sdp", "iperf3", "iperf3", ["-l", size, "-n", octets], size=size, same_host=same_host)

    def memory(self):
        for alone in (True, False):
            for number in (100, 1000):
                for stack in RNICS:
                    self.add("memory", stack, "conns",
                             "queue pairs" if alone else "connections",
                             ["-m", 64], number=number, alone=alone, limit=4 * self.limit)

    def ask(self, group, verb, what, size, numbers, options, **more):
        """One measurement that is not of the list, with TCP beside it."""
        stacks = ("krdma",) if more.get("same_host") else RNICS
        mtu = {"mtu": more.get("mtu", 1500)}
        if what == "lat":
            events = "-e" in options
            self.latency(group, verb, size, events, 5000, stacks=stacks,
                         options=[o for o in options if o != "-e"], **more)
            if events:
                self.socket_latency(group, "tcp", size, **mtu)
            else:
                self.tcp_polled_latency(group, size, **mtu)
            return
        self.bandwidth(group, verb, size, stacks=stacks, options=options, **numbers, **more)
        # iperf3 has 128 at most
        if numbers["qps"] <= 128:
            self.tcp_bandwidth(group, size, streams=numbers["qps"], **mtu)

    def same_host(self, polled):
        for verb in ("write", "send"):
            for post_list in (1, 8):
                self.bandwidth("same host", verb, 64, stacks=("krdma",), post_list=post_list,
                               same_host=1)
        for size in (64 * KIB, MIB) if self.quick else (64 * KIB, MIB, 8 * MIB):
            for verb in ("write", "read", "send"):
                self.bandwidth("same host", verb, size, stacks=("krdma",), same_host=1)
            # libc's copies by vectors; a kernel has none, so the same by words stands beside it
            for test, options in (("memcpy", []), ("memcpy by words", ["-w"])):
                self.add("same host", "memory", "memcpy", test,
                         ["-s", size, "-n", max(20, int(2e9 * self.seconds / size)), *options],
                         size=size)
        self.latency("same host latency", "send", 64, True, 1000, stacks=("krdma",), same_host=1)
        # what a change of threads and its two system calls take, with nothing to carry
        self.add("same host latency", "pipe", "pipe", "pipe", ["-l", 5000])
        if polled:
            for verb in ("send", "write"):
                self.latency("same host latency, polled", verb, 64, False, 1000,
                             stacks=("krdma",), same_host=1)


def all_of(mode, quick, rounds):
    """The jobs of a mode, numbered, in the order in which they run."""
    # real time is for what one CPU cannot show, and has rounds: few sizes do
    jobs = List(mode, quick or mode == "real")
    jobs.sizes()
    jobs.latencies(polled=mode == "real")
    jobs.connections()
    jobs.kdapl()
    jobs.iser()
    jobs.offload()
    jobs.sdp()
    if mode == "icount":
        jobs.sdp_adopted()
    jobs.same_host(polled=mode == "real")
    if not quick and mode == "icount":
        jobs.message_rate()
        jobs.with_crc()
        jobs.mtu_9000()
        jobs.queue_pairs()
        jobs.memory()
    return numbered(jobs.jobs, rounds)


def numbered(jobs, rounds):
    every = [{**job, "round": number} for number in range(rounds) for job in jobs]
    for number, job in enumerate(every):
        job["id"] = number
    return every


PERFTEST = re.compile(r"ib_(?P<verb>write|read|send)_(?P<what>bw|lat)")
SETTINGS = {"mtu": "MTU", "crc": "CRC", "same_host": "same host"}


def asked(mode, tests, rounds):
    """What the list has not, as text: [mtu=N crc=1 same_host=1] PROGRAM OPTIONS. How often it
    repeats is worked out unless -n or -D says it. Raises ValueError for what is none."""
    jobs = List(mode, False)
    for test in tests:
        words = shlex.split(test)
        group, more = ["asked for"], {}
        while words and words[0].partition("=")[0] in SETTINGS:
            setting, _, value = words.pop(0).partition("=")
            more[setting] = int(value)
            group.append(f"{SETTINGS[setting]} {value}")
        found = PERFTEST.fullmatch(words[0]) if words else None
        numbers, options = {"-s": 65536, "-q": 1, "-l": 1}, []
        words = iter(words[1:])
        for word in words:
            if word in numbers:
                numbers[word] = int(next(words, "0"))
            else:
                options.append(word)
        size, qps, post_list = numbers.values()
        if not found or min(numbers.values()) < 1:
            raise ValueError(f"'{test}' is no measurement")
        # rows are told apart by what is left, too
        if options:
            group.append(" ".join(options))
        jobs.ask(", ".join(group), found["verb"], found["what"], size,
                 {"qps": qps, "post_list": post_list}, options, **more)
    return numbered(jobs.jobs, rounds)


def profiled(mode, stack, verb_test, size, qps=1):
    """One measurement, long, with perf beside it; the stack "host" is krdma inside of one."""
    jobs = List(mode, False)
    kind = {"stacks": ("krdma",), "same_host": 1} if stack == "host" else {"stacks": (stack,)}
    jobs.seconds *= 2
    jobs.limit *= 4
    if verb_test in ("rtt", "stream", "connect"):
        count = {"rtt": 60000, "stream": 200000 * KIB // size, "connect": 16000}[verb_test]
        jobs.sockets("profile", (stack,), verb_test, size, int(count * jobs.seconds))
    elif stack in ("ops", "native") and verb_test == "iperf3":
        jobs.add("profile", stack, "iperf3", "iperf3", ["-l", size, "-n", int(4e9 * jobs.seconds)], size=size)
    elif stack in ("kdapl", "verbs"):
        jobs.kdapltest("profile", stack, verb_test.upper(), size)
    elif stack in ("sdp", "hostsdp") and verb_test == "iperf3":
        jobs.sdp_bandwidth("profile", size, int(stack == "hostsdp"))
    elif stack in ("sdp", "hostsdp") and verb_test == "tcp_lat":
        jobs.socket_latency("profile", "sdp", size, same_host=int(stack == "hostsdp"))
    elif stack in ("sdp", "hostsdp") and verb_test in ("tcp_bw", "zcopy"):
        jobs.socket_stream("profile", "sdp", size, same_host=int(stack == "hostsdp"),
                           zcopy=size if verb_test == "zcopy" else 0)
    elif verb_test == "tcp_bw":
        jobs.socket_stream("profile", "tcp", size)
    elif verb_test == "iperf3":
        jobs.tcp_bandwidth("profile", size)
    elif verb_test == "tcp_lat":
        jobs.socket_latency("profile", "tcp", size)
    elif verb_test == "tcp_polled_lat":
        jobs.tcp_polled_latency("profile", size)
    elif verb_test == "cmtime":
        jobs.add("profile", stack, "cmtime", "cmtime", ["-c", size], number=size, size=size)
    elif verb_test.endswith("_lat"):
        # with two CPUs both ends poll; on one a poller would wait for the other's turn
        events = mode == "icount"
        jobs.latency("profile", verb_test.split("_")[1], size, events, 5000 if events else 100000,
                     **kind)
    else:
        verb = verb_test.split("_")[1]
        jobs.bandwidth("profile", verb, size, qps=qps,
                       options=NO_PEAK if qps > 1 else (), **kind)
    for job in jobs.jobs:
        job["profile"] = f"profile-{stack}-{verb_test}-{size}" + (f"-{qps}" if qps > 1 else "")
        job["frequency"] = 20000 if mode == "icount" else 2000
    return numbered(jobs.jobs, 1)


def name(job):
    """What tells a job from the others of its stack and round; names are what --only knows."""
    words = [job["group"], job["test"]]
    for key in ("size", "number"):
        if key in job:
            words.append(str(job[key]))
    if job.get("qps", 1) > 1:
        words.append(queues(job))
    if job.get("list", 1) > 1:
        words.append(f"lists of {job['list']}")
    return " ".join(words)


def queues(job):
    """How many of what carries the data."""
    return f"{job['qps']} {'streams' if job['stack'] == 'tcp' else 'QPs'}"

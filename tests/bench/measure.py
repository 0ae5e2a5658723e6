# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Runs in the guest: runs the jobs of a file one after the other and writes their results.

    measure.py JOBS RESULTS

A job is a line of JSON, made by tests/bench/jobs.py: the program, the stack, the MTU and the CRC
setting. A result is also a line of JSON: the job with the commands, their unchanged output, and
an error if the job failed. Progress goes to the host through the event port, descriptor 3.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import parse

ADDRESS = {"krdma": "10.78.0.1", "kdapl": "10.78.0.1", "verbs": "10.78.0.1",
           "siw": "10.78.1.1",
           "rxe": "10.78.2.1", "tcp": "10.78.3.1", "ops": "10.78.3.1", "native": "10.78.3.1",
           "unmarked": "10.78.3.1", "alone": "10.78.3.1", "sdp": "10.78.0.1",
           "unix": "unix", "pipe": "pipe"}
NETDEV = {"krdma": "dummy0", "siw": "dummy1", "rxe": "dummy2", "tcp": "dummy3"}
PROGS = os.environ["VM_PROGS"]
BUILD = f"{os.environ['VM_REPO']}/build"
KRDMA = f"{BUILD}/tools/krdma"
# what krdma_ops is told of a stack's sockets; the others run without the module
RULES = {"ops": ("connect 10.78.3.1 use any", "listen use any"),
         "alone": ("connect 10.78.3.1 use any",),
         "unmarked": ("connect 192.0.2.0/24 use any", "listen port 9 use any"),
         "sdp": ("connect 10.78.0.0/16 use sdp", "listen use sdp")}
BENCH = os.path.dirname(os.path.abspath(__file__))
SDP_COUNTERS = "/sys/kernel/debug/krdma_sdp/counters"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
TMP = "/tmp/krdma-bench"
TRIES = 5
# the counted clock leaps while the guest waits for the host, and takes a time limit with it;
# such a job runs once more
LEAPS = ("not finished", "the server does not listen")


class JobError(Exception):
    """This job did not work; the text says why."""


def event(text):
    os.write(3, f"krdma-vm {text}\n".encode())


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def counters(job):
    """What the stack's RNIC has counted so far, the scheduler's changes of threads, and idle time."""
    scheduler = read("/proc/stat")
    values = {"context_switches": int(re.search(r"^ctxt (\d+)$", scheduler, re.M)[1]),
              "idle_ticks": int(scheduler.split()[4])}
    for path in glob.glob(f"/sys/class/infiniband/{job['stack']}0/ports/1/hw_counters/*") + \
            glob.glob(f"/sys/class/infiniband/{job['stack']}0/hw_counters/*"):
        text = read(path).strip()
        if os.path.basename(path) != "lifespan" and text.isdigit():
            values[os.path.basename(path)] = int(text)
    if job["stack"] == "sdp":
        values.update(("sdp-" + name, int(value))
                      for name, value in (line.split() for line in read(SDP_COUNTERS).splitlines()))
    return values


class Settings:
    """MTU, module parameters and modules, changed when a job wants others."""

    PARAMETERS = {
        "crc": (("krdma", "mpa_crc"), ("siw", "mpa_crc_required")),
        "same_host": (("krdma_soft", "same_host"),),
        "zcopy": (("krdma_sdp", "zcopy_thresh_soft"), ("krdma_sdp", "zcopy_thresh_adopted")),
        "zcopy_write": (("krdma_sdp", "zcopy_write"),),
    }

    def __init__(self):
        self.now = {}

    def want(self, job):
        for name in ("mtu", "crc", "same_host"):
            if name in job and self.now.get(name) != job[name]:
                self.set(name, job[name])
                self.now[name] = job[name]
        self.rules(job["stack"])
        self.adopt(job.get("adopted"))
        # a module that was just loaded has its default
        if job["stack"] == "sdp":
            self.set("zcopy", job.get("zcopy", 0))
            self.set("zcopy_write", job.get("zcopy_write", 0))

    def rules(self, stack):
        """Modules and rules of that stack."""
        if stack == self.now.get("rules") or stack in ("unix", "pipe"):
            return
        self.module("krdma_sdp", stack == "sdp")
        self.module("krdma_ops", stack in RULES)
        if stack in RULES:
            krdma("offload", "flush")
        for rule in RULES.get(stack, ()):
            krdma("offload", "add", *rule.split())
        self.now["rules"] = stack

    def adopt(self, stack):
        """krdma_hw takes the device of that stack. SDP listens on one port on all RNICs, and siw's TCP
        port is the host's, so krdma0 is not there meanwhile."""
        link = ["rdma", "link", *(["delete", "krdma0"] if stack else ["add", "krdma0", "type", "krdma", "netdev", "dummy0"])]
        if bool(stack) != self.now.get("krdma_hw", False):
            subprocess.run(link, check=True)
        self.module("krdma_hw", bool(stack))
        if not until(lambda: adopted(stack) if stack else active("krdma0"), 20):
            raise JobError(f"{stack or 'krdma'}0 is not ready")

    def module(self, name, wanted):
        """Load it, or unload it when its last sockets have gone."""
        if wanted == self.now.get(name, False):
            return
        options = {"krdma_hw": ["devices=*"]}.get(name, [])
        # a module that another one needs
        if name == "krdma_sdp" and wanted:
            self.module("krdma_ops", True)
        command = ["insmod", f"{os.environ['VM_MODULES']}/{name}.ko", *options] if wanted else ["rmmod", name]
        if not until(lambda: subprocess.run(command, check=False).returncode == 0, 20):
            raise JobError(f"{' '.join(command)} fails")
        self.now[name] = wanted

    def set(self, name, value):
        if name == "mtu":
            # what an address of this host is reached by is lo; rxe looks at its netdev
            for netdev in ("lo", *NETDEV.values()):
                subprocess.run(["ip", "link", "set", netdev, "mtu", str(value)], check=True)
            return
        for module, parameter in self.PARAMETERS[name]:
            path = f"/sys/module/{module}/parameters/{parameter}"
            if os.path.exists(path):
                write(path, str(value))
            elif name == "same_host" and value:
                raise JobError("skipped: this krdma has no same-host path")


class Process:
    """A program in the background, its output in a file."""

    def __init__(self, name, command, environment=None, stdin=subprocess.DEVNULL):
        self.command = command
        self.path = f"{TMP}/{name}.log"
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=stdin, stdout=log,
                                            stderr=subprocess.STDOUT,
                                            env={**os.environ, **(environment or {})})

    def output(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait(self, seconds):
        """Exit status, None when the time is over."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def ended(self):
        return self.process.poll() is not None

    def stop(self):
        if not self.ended():
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def krdma(*words):
    """The krdma command; JobError if it fails."""
    done = subprocess.run([KRDMA, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/ual"})
    if done.returncode:
        raise JobError(f"krdma {' '.join(words)}: {done.stderr.strip()}")


def address_of(job):
    return ADDRESS[job.get("adopted", job["stack"])]


def adopted(stack):
    """Has krdma_hw the device of that stack?"""
    shown = subprocess.run([KRDMA, "list"], capture_output=True, text=True, check=False,
                           env={**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/ual"}).stdout
    return f"{stack}0" in shown.split()


def active(rnic):
    path = f"/sys/class/infiniband/{rnic}/ports/1/state"
    return os.path.exists(path) and "ACTIVE" in read(path)


def listens(port):
    """By TCP or, on a device that is no TCP, by the RDMA CM."""
    if re.search(rf":{port:04X} 0+:0000 0A ", read("/proc/net/tcp") + read("/proc/net/tcp6")):
        return True
    shown = subprocess.run(["rdma", "resource", "show", "cm_id"], capture_output=True, text=True,
                           check=False).stdout
    return any(f":{port} " in line + " " and "LISTEN" in line for line in shown.splitlines())


def state(processes):
    """Why a measurement does not end: where its programs are, what its queue pairs wait for."""
    where = [f"{p.command[0]}: {read(f'/proc/{p.process.pid}/stack')}" for p in processes]
    shown = subprocess.run(["rdma", "resource", "show", "qp", "-dd"], capture_output=True,
                           text=True, check=False).stdout
    return "\n".join([*where, *shown.splitlines()[-16:]])


class Runner:
    """One job after the other."""

    def __init__(self):
        self.settings = Settings()
        self.port = 20000

    def pair(self, job, server, client, result, environment=None, ends=True):
        """Server and client, until both have ended; the server is stopped if it does not end
        by itself. Their output goes into the result."""
        processes = []
        result["commands"] = {"server": server, "client": client}
        try:
            processes.append(Process("server", server, environment))
            up = until(lambda: listens(self.port) or processes[0].ended(), job["limit"])
            if not up or processes[0].ended():
                result["output"]["state"] = state(processes)
                raise JobError("the server does not listen")
            processes.append(Process("client", client, environment if job["kind"] in ("ping", "qperf") else None))
            status = processes[1].wait(job["limit"])
            if status is None:
                result["output"]["state"] = state(processes)
                raise JobError(f"not finished after {job['limit']} s")
            if status:
                raise JobError(f"the client ended with {status}")
            if ends and processes[0].wait(10):
                raise JobError(f"the server ended with {processes[0].process.returncode}")
        finally:
            for name, process in zip(("server", "client"), processes):
                process.stop()
                result["output"][name] = process.output()

    def perftest(self, job, result):
        common = [job["program"], "-R", "-F", "-p", str(self.port), *job["args"]]
        self.pair(job, common, common + [ADDRESS[job["stack"]]], result,
                  {"LD_PRELOAD": f"{PROGS}/bind_address.so",
                   "BIND_ADDRESS": ADDRESS[job["stack"]]})

    def iperf3(self, job, result):
        address = ADDRESS[job["stack"]]
        self.pair(job, ["iperf3", "-s", "-1", "-B", address, "-p", str(self.port)],
                  ["iperf3", "-J", "-c", address, "-p", str(self.port), *job["args"]], result)

    def qperf(self, job, result):
        self.pair(job, ["qperf", "-lp", str(self.port)],
                  ["qperf", address_of(job), "-lp", str(self.port), *job["args"], job["test"]], result,
                  # qperf does not write to what it sends: all of it would be the kernel's one page of zeroes
                  {"MALLOC_PERTURB_": "165"}, ends=False)

    def sockperf(self, job, result):
        """Both ends ask a socket that does not wait, again and again, as a CQ is polled."""
        common = ["--tcp", "--nonblocked", "-i", ADDRESS[job["stack"]], "-p", str(self.port)]
        self.pair(job, ["sockperf", "server", *common],
                  ["sockperf", "ping-pong", *common, *job["args"]], result, ends=False)

    def ping(self, job, result):
        """krdma ping, a program of libkrdma."""
        library = {"LD_LIBRARY_PATH": f"{BUILD}/ual", "KRDMA_UVP_DIR": f"{BUILD}/uvp_soft"}
        address = ADDRESS[job["stack"]]
        self.pair(job, [KRDMA, "ping", "--server", address, str(self.port), "-c", "1",
                        *(["-e"] if "-e" in job["args"] else [])],
                  [KRDMA, "ping", address, str(self.port), "-q", "-i", "0", "--json", *job["args"]], result,
                  library)

    def redis(self, job, result):
        """A request and an answer on each connection."""
        self.pair(job, ["redis-server", "--save", "", "--protected-mode", "no",
                        "--bind", ADDRESS[job["stack"]],
                        "--port", str(self.port)],
                  ["redis-benchmark", "-h", ADDRESS[job["stack"]], "-p", str(self.port),
                   "-k", "0", "-c", "1", "-t", "ping_mbulk", "--csv",
                   *job["args"]], result, ends=False)

    def cmtime(self, job, result):
        address = ADDRESS[job["stack"]]
        common = ["cmtime", "-p", str(self.port), *job["args"]]
        self.pair(job, [*common, "-b", address], [*common, "-s", address], result, ends=False)

    def kdapltest(self, job, result):
        """Both ends are of the API that the stack is named after; the server never ends."""
        common = [f"{PROGS}/kdapltest", "-D", "krdma0", "-n", str(self.port),
                  "-s", ADDRESS[job["stack"]], "--api", job["stack"]]
        self.pair(job, [*common, "-T", "S"], [*common, "-T", "P", "--json", *job["args"]], result,
                  ends=False)

    def iser(self, job, result):
        self.alone(job, [f"{BENCH}/iser", job["stack"], *job["args"]], result)

    def memcpy(self, job, result):
        self.alone(job, [f"{PROGS}/krdma_memcpy", *job["args"]], result)

    def sockets(self, job, result):
        self.alone(job, [f"{PROGS}/krdma_sockets", *job["args"], ADDRESS[job["stack"]]], result)

    def idle(self, job, result):
        """Connections that have exchanged a few bytes, and what memory is less with them."""
        command = [f"{PROGS}/krdma_sockets", *job["args"], "idle", ADDRESS[job["stack"]]]
        result["commands"] = {"client": command}
        before = memory_settled()
        process = Process("client", command, stdin=subprocess.PIPE)
        try:
            wanted = f"{job['number']} connections"
            if not until(lambda: wanted in process.output() or process.ended(), job["limit"]) or process.ended():
                raise JobError(f"no {wanted}")
            after = memory_settled()
            process.process.stdin.close()
            if process.wait(job["limit"]) != 0:
                raise JobError("does not end well")
        finally:
            process.stop()
            result["output"]["client"] = process.output()
        result["output"]["note"] = (f"used_kib {before[0] - after[0]} slab_kib {after[1] - before[1]} "
                                    f"number {job['number']}\n")

    def pipe(self, job, result):
        self.alone(job, ["perf", "bench", "sched", "pipe", *job["args"]], result)

    @staticmethod
    def alone(job, command, result):
        """One program."""
        result["commands"] = {"client": command}
        process = Process("client", command)
        try:
            if process.wait(job["limit"]) != 0:
                raise JobError("failed")
        finally:
            process.stop()
            result["output"]["client"] = process.output()

    def conns(self, job, result):
        """Connections that rest, and what memory is less with them."""
        address = ADDRESS[job["stack"]]
        number = job["number"]
        go = f"{TMP}/go"
        if os.path.exists(go):
            os.unlink(go)
        common = [f"{PROGS}/krdma_conns", "-p", str(self.port), "-n", str(number), "-k", go,
                  *job["args"]]
        sides = []
        before = memory_settled()
        try:
            if not job["alone"]:
                sides.append(Process("server", [*common, "-s", address]))
                until(lambda: listens(self.port) or sides[0].ended(), 20)
            sides.append(Process("client", [*common, *(["-q"] if job["alone"] else []), address]))
            names = ("client",) if job["alone"] else ("server", "client")
            result["commands"] = {n: p.command for n, p in zip(names, sides)}
            wanted = f"{number} queue pairs" if job["alone"] else f"{number} connections"
            up = until(lambda: all(wanted in p.output() for p in sides) or
                       any(p.ended() for p in sides), job["limit"])
            if not up or any(p.ended() for p in sides):
                raise JobError(f"no {wanted}")
            after = memory_settled()
            write(go, "")
            for process in sides:
                if process.wait(job["limit"]):
                    raise JobError("does not end well")
            result["output"]["note"] = (f"used_kib {before[0] - after[0]} "
                                        f"slab_kib {after[1] - before[1]} number {number}\n")
        finally:
            for process in sides:
                process.stop()
                result["output"][os.path.basename(process.path)[:-4]] = process.output()

    def run(self, job):
        result = {**job, "commands": {}, "output": {}, "error": "", "tries": 0,
                  "clock": read(CLOCK).strip()}
        begin = time.monotonic()
        while True:
            self.port += 1
            result["tries"] += 1
            result["output"] = {}
            result["error"] = ""
            try:
                self.settings.want(job)
                before = counters(job)
                getattr(self, job["kind"])(job, result)
                result["counters"] = {name: value - before.get(name, 0)
                                      for name, value in counters(job).items()}
                strayed = parse.strayed(job, result["counters"])
                if strayed:
                    raise JobError(strayed)
                output = result["output"]
                result["figures"] = parse.figures(job["kind"],
                                                  output.get("note") or output["client"])
            except JobError as problem:
                result["error"] = str(problem)
                if parse.too_early(result["output"].get("client", "")) and \
                        result["tries"] < TRIES:
                    continue
                if job["mode"] == "icount" and result["tries"] < 2 and \
                        str(problem).startswith(LEAPS):
                    result["first_try"] = {"error": str(problem), "output": result["output"]}
                    continue
            except parse.ParseError as problem:
                result["error"] = str(problem)
                if result["tries"] < TRIES:
                    continue
            break
        result["seconds"] = round(time.monotonic() - begin, 3)
        return result


def memory_settled():
    """MemAvailable and Slab in KiB, once what is freed late is back; caches do not count."""
    os.sync()
    write("/proc/sys/vm/drop_caches", "3")
    time.sleep(2)
    values = dict(re.findall(r"^(\w+): +(\d+) kB", read("/proc/meminfo"), re.M))
    return int(values["MemAvailable"]), int(values["Slab"])


class Profile:
    """perf over one job: samples of everything that runs, for tests/bench/profile_report.py.
    Whether it has begun is its own to say: the counted clock leaps while files are read from
    the host, so no time is long enough to wait."""

    def __init__(self, job):
        self.folder = os.path.join(os.environ["VM_OUT"], job["profile"])
        os.makedirs(self.folder, exist_ok=True)
        self.data = f"{TMP}/perf.data"
        for name in ("control", "ack"):
            os.mkfifo(f"{TMP}/{name}")
        self.command = ["perf", "record", "-a", "-e", "cpu-clock", "-F", str(job["frequency"]),
                        "-D", "-1", "--control", f"fifo:{TMP}/control,{TMP}/ack", "-o", self.data]
        # for reading and writing, so that opening does not wait for perf
        self.control, self.ack = (os.open(f"{TMP}/{name}", os.O_RDWR) for name in ("control", "ack"))
        self.process = Process("perf", self.command)
        self.tell("enable")

    def tell(self, word):
        os.write(self.control, f"{word}\n".encode())
        while b"ack" not in os.read(self.ack, 64):
            pass

    def stop(self):
        self.tell("disable")
        self.process.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self.process.stop()
        # names are the guest's to give: its kernel has its addresses; perf takes modules for
        # parts of the kernel, so their symbols go with it
        write(f"{self.folder}/modules", "".join(
            line + "\n" for line in read("/proc/kallsyms").splitlines() if line.endswith("]")))
        with open(f"{self.folder}/perf.script", "wb") as out, \
                open(f"{self.folder}/perf.log", "wb") as log:
            log.write(self.process.output().encode())
            subprocess.run(["perf", "script", "-i", self.data, "-F", "comm,tid,cpu,time,ip,sym,dso"],
                           stdout=out, stderr=log, check=False)
        write(f"{self.folder}/perf.command", " ".join(self.command) + "\n")


def preload():
    """Programs and what they load, once, into the guest's memory: the counted clock leaps at
    each wait for the host, which is no time of a job."""
    programs = ["ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat",
                "ib_send_lat", "iperf3", "qperf", "sockperf", "cmtime", "redis-server",
                "redis-benchmark", KRDMA, "rdma", "ip", "perf",
                f"{PROGS}/krdma_conns", f"{PROGS}/krdma_memcpy", f"{PROGS}/krdma_sockets", f"{PROGS}/kdapltest"]
    paths = {f"{PROGS}/bind_address.so", *glob.glob("/usr/lib/*/libibverbs/*.so")}
    for program in programs:
        path = shutil.which(program)
        if path is None:
            raise SystemExit(f"no program {program}")
        shown = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        paths |= {path, *re.findall(r"(/\S+) \(0x", shown)}
    for path in sorted(paths):
        with open(path, "rb") as f:
            while f.read(1 << 20):
                pass


def main():
    jobs = [json.loads(line) for line in read(sys.argv[1]).splitlines()]
    os.makedirs(TMP, exist_ok=True)
    preload()
    runner = Runner()
    with open(sys.argv[2], "a", encoding="utf-8") as results:
        for job in jobs:
            event(f"JOB {job['id']}")
            profile = Profile(job) if "profile" in job else None
            result = runner.run(job)
            if profile:
                profile.stop()
            results.write(json.dumps(result) + "\n")
            results.flush()
            event(f"RESULT {job['id']} {result['seconds']} {result['error'] or 'ok'}")


main()

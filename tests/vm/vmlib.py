# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Boot a kernel in QEMU on the host's own root file system and follow what runs in it.

Used by tests/vm/run (cases, shell), tests/vm/demo and tests/bench. The guest sees the
host's root, or one that scripts/guest-root has made, read-only over 9p with a tmpfs
overlay on it, so nothing is installed into an image and nothing that a guest does stays. One writable
share, the "out" folder, carries the configuration in and the logs out; one
virtio-serial port carries events, a line each:

    krdma-vm WORD [argument...]
"""
import ctypes
import glob
import hashlib
import lzma
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(REPO, "build", "vm")
# where "make debug-modules" builds against the debug kernel
DEBUG_MODULES = os.path.join(REPO, "build", "debug", "modules")
# Debian's kernels, and where "make rt-modules" and the like build for them
FLAVOURS = {"stock": "", "rt": "rt-", "cloud": "cloud-"}
FLAVOUR_MODULES = {name: os.path.join(REPO, "build", name, "modules") for name in ("rt", "cloud")}
# where "make kernel-modules" builds for other kernels, a folder each
KERNELS = os.path.join(REPO, "build", "kernels")
# what a stock kernel needs before it can see the share
EARLY_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
EVENT = b"krdma-vm "
# seconds until a guest must have said that it is up
BOOT_LIMIT = 180
# by the end of a kernel's release: QEMU, its machine and processors, the bus of its devices, console
MACHINES = {
    "amd64": ("x86_64", ["-machine", "q35"], "max,-erms,-fsrm", "pci", "ttyS0"),
    "arm64": ("aarch64", ["-machine", "virt"], "max,pauth=off", "pci", "ttyAMA0"),
    "s390x": ("s390x", ["-machine", "s390-ccw-virtio"], "max", "ccw", "ttysclp0"),
}
ARCHES = f"({'|'.join(MACHINES)})"
# how a kernel begins to say why it dies
LAST_WORDS = re.compile(r"\] ((?:Oops|BUG|Kernel panic|Unable to handle|general protection)\b.*)")


class VmError(Exception):
    """The guest cannot be prepared or started; the text says what to do."""


def version_key(release):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", release)]


def newest_release(pattern, root="/"):
    """The newest kernel of that root which has an image and whose release matches, or None."""
    found = [r for r in os.listdir(os.path.join(root, "lib/modules"))
             if re.fullmatch(pattern, r) and os.path.exists(os.path.join(root, f"boot/vmlinuz-{r}"))]
    return max(found, key=version_key, default=None)


def installed_release(flavour="stock", root="/"):
    """The newest 6.12 of that flavour."""
    release = newest_release(rf"6\.12\..*deb[0-9]+-{FLAVOURS[flavour]}{ARCHES}", root)
    if not release:
        hint = "scripts/install-deps" if flavour == "stock" else f"scripts/flavour {flavour}"
        raise VmError(f"no Debian 6.12 kernel of the flavour {flavour} is installed; run {hint}")
    return release


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "krdma")


def guest_roots():
    """The folders of those of scripts/guest-root that have this machine's kernels."""
    # those of other machines have a name of two parts
    return sorted(path for path in glob.glob(os.path.join(cache_folder(), "root-*"))
                  if os.path.basename(path).count("-") == 1 and os.path.isdir(os.path.join(path, "lib/modules")))


def guest_root(name):
    """The folder of a root file system that scripts/guest-root has made."""
    script = os.path.join(REPO, "scripts", "guest-root")
    answer = subprocess.run([script, "--where", name], capture_output=True, text=True, check=False)
    folder = answer.stdout.strip()
    if answer.returncode or not os.path.exists(folder + REPO):
        raise VmError(f"there is no root file system {name}; run scripts/guest-root {name}")
    return folder


def kernel_release(image):
    """The release string inside a bzImage, or None."""
    with open(image, "rb") as f:
        head = f.read(0x10000)
    if head[0x202:0x206] == b"\0\0\0\0" or len(head) < 0x300:
        return None
    offset = int.from_bytes(head[0x20E:0x210], "little") + 0x200
    text = head[offset:offset + 256].split(b"\0")[0].decode(errors="replace")
    return text.split(" ")[0] if text else None


def debug_kernel():
    """The folder of the debug kernel, which scripts/debug-kernel has built."""
    script = os.path.join(REPO, "scripts", "debug-kernel")
    answer = subprocess.run([script, "--where"], capture_output=True, text=True, check=False)
    folder = answer.stdout.strip()
    if answer.returncode or not os.path.exists(os.path.join(folder, "bzImage")):
        raise VmError("the debug kernel is not built; run scripts/debug-kernel")
    return folder


class Kernel:
    """A kernel image and the modules that go with it.

    modules is the folder that the guest is to have as /lib/modules/RELEASE, if the
    host's root has not.
    """

    def __init__(self, choice, root="/"):
        self.modules = ""
        self.root = root
        # where it is installed, with its modules and what was built for it
        self.tree = root
        self.debug = choice == "debug"
        if choice in FLAVOURS:
            self.release = installed_release(choice, root)
            self.image = os.path.join(root, f"boot/vmlinuz-{self.release}")
            return
        if re.fullmatch(r"\d+\.\d+", choice):
            self._find(choice)
            return
        self.image = os.path.abspath(choice)
        if self.debug:
            folder = debug_kernel()
            self.image = os.path.join(folder, "bzImage")
            self.modules = os.path.join(folder, "modules")
            self.tree = None
        if not os.path.isfile(self.image):
            raise VmError(f"no kernel image {self.image}")
        self.release = kernel_release(self.image)

    def _find(self, version):
        """Linux of that version: of the root, or for the host's root one of scripts/guest-root."""
        for tree in [self.root] + (guest_roots() if self.root == "/" else []):
            self.release = newest_release(rf"{re.escape(version)}[.+].*-{ARCHES}", tree)
            if self.release:
                break
        else:
            raise VmError(f"no Linux {version} is installed, nor in a root of scripts/guest-root")
        self.tree = tree
        self.image = os.path.join(tree, f"boot/vmlinuz-{self.release}")
        if tree != self.root:
            self.modules = os.path.join(tree, "lib/modules", self.release)

    def built(self):
        """Where "make kernel-modules" has built for it, as the guest sees that."""
        prefix = self.tree if self.tree != self.root else ""
        return os.path.join(prefix + KERNELS, self.release)

    def early_modules(self):
        """Paths in loading order; a kernel that has them built in gives none."""
        if not self.tree or not os.path.isdir(os.path.join(self.tree, "lib/modules", self.release)):
            return []
        paths = []
        for name in EARLY_MODULES:
            answer = subprocess.run(["/sbin/modprobe", "-d", self.tree, "-S", self.release, "--show-depends", name],
                                    capture_output=True, text=True, check=False)
            for line in answer.stdout.splitlines():
                words = line.split()
                if words[0] == "insmod" and words[1] not in paths:
                    paths.append(words[1])
        return paths

    def machine(self):
        """What MACHINES has of it."""
        return MACHINES.get(self.release.rsplit("-", 1)[-1], MACHINES["amd64"])


STAGE1 = os.path.join(REPO, "tests", "vm", "guest", "stage1")


def build_initramfs(kernel, stage1=STAGE1):
    """Busybox, the early modules and the first program; cached by content."""
    busybox = shutil.which("busybox", path=":".join(os.path.join(kernel.root, p) for p in ("usr/bin", "bin")))
    if not busybox:
        raise VmError("busybox-static is missing; run scripts/install-deps")
    modules = kernel.early_modules()
    key = hashlib.sha256()
    for path in [stage1, busybox] + modules:
        with open(path, "rb") as f:
            key.update(path.encode() + b"\0" + f.read())
    cache = os.path.join(BUILD, f"initramfs-{key.hexdigest()[:16]}.cpio")
    if os.path.exists(cache):
        return cache
    os.makedirs(BUILD, exist_ok=True)
    tree = os.path.join(BUILD, f"initramfs.{os.getpid()}")
    for folder in ("bin", "modules", "dev", "proc", "sys", "lower", "upper", "root"):
        os.makedirs(os.path.join(tree, folder))
    shutil.copy(busybox, os.path.join(tree, "bin", "busybox"))
    os.symlink("busybox", os.path.join(tree, "bin", "sh"))
    shutil.copy(stage1, os.path.join(tree, "init"))
    os.chmod(os.path.join(tree, "init"), 0o755)
    order = []
    for path in modules:
        name = os.path.basename(path)
        with open(path, "rb") as f:
            data = f.read()
        if name.endswith(".xz"):
            data, name = lzma.decompress(data), name[:-3]
        with open(os.path.join(tree, "modules", name), "wb") as f:
            f.write(data)
        order.append(name)
    with open(os.path.join(tree, "modules", "order"), "w", encoding="utf-8") as f:
        f.write("".join(f"{name}\n" for name in order))
    names = []
    for folder, folders, files in os.walk(tree):
        for name in folders + files:
            names.append(os.path.relpath(os.path.join(folder, name), tree))
    with open(cache + ".new", "wb") as out:
        subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], cwd=tree, check=True,
                       input="\n".join(sorted(names)).encode(), stdout=out)
    os.rename(cache + ".new", cache)
    shutil.rmtree(tree)
    return cache


def end_with_parent():
    """In the child before exec: QEMU goes when this process does, however it goes."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Vm:
    """One boot. Events arrive with next_event(); stop() always ends QEMU."""

    def __init__(self, kernel, out, icount=False, shell=False, append="", cpus=2, memory=4096,
                 serial=False):
        self.kernel, self.out, self.icount, self.shell = kernel, out, icount, shell
        # its processors are emulated in turn, by one thread of the host
        self.serial = serial
        self.append, self.cpus, self.memory = append, cpus, memory
        self.console = os.path.join(out, "console.log")
        self.process = None
        self.events = queue.Queue()
        # a run with several guests has one queue for all
        self.report = self.events.put

    def command(self, accel):
        for option in (REPO, self.out, self.kernel.root):
            if re.search(r"[\s,]", option):
                raise VmError(f"the path {option} must not hold blanks or commas")
        append = self.append
        qemu, machine, cpu, bus, console = self.kernel.machine()
        machine = list(machine)
        if self.icount:
            machine += ["-accel", "tcg,thread=single,tb-size=1024", "-icount", "shift=0,sleep=off",
                        "-cpu", cpu, "-smp", "1"]
        elif accel == "kvm":
            machine += ["-accel", "kvm", "-cpu", "host", "-smp", str(self.cpus)]
        else:
            machine += ["-accel", f"tcg,thread={'single' if self.serial else 'multi'},tb-size=1024",
                        "-cpu", cpu, "-smp", str(self.cpus)]
            # the guest's init then cures what emulators_fault() only recognises
            append += " krdma.accel=tcg" if qemu == "x86_64" else ""
        append = (f"console={console} quiet log_buf_len=16M panic=-1 mitigations=off random.trust_cpu=on "
                  f"rcupdate.rcu_cpu_stall_timeout={120 if self.kernel.debug else 60} krdma.repo={REPO} {append}")
        if self.shell:
            console = ["-serial", "mon:stdio",
                       "-chardev", f"file,id=events,path={self.out}/events"]
        else:
            console = ["-chardev", f"file,id=console,path={self.console}",
                       "-serial", "chardev:console", "-monitor", "none",
                       "-chardev", "file,id=events,path=/dev/stdout"]
        return ([f"qemu-system-{qemu}"] + machine +
                ["-m", str(self.memory), "-display", "none", "-nodefaults", "-no-reboot"] +
                console +
                ["-device", f"virtio-serial-{bus}",
                 "-device", "virtserialport,chardev=events,name=krdma.events",
                 "-device", f"virtio-rng-{bus}",
                 "-kernel", self.kernel.image, "-initrd", build_initramfs(self.kernel),
                 "-append", append,
                 "-fsdev", f"local,id=fs0,path={self.kernel.root},security_model=none,readonly=on,multidevs=remap",
                 "-device", f"virtio-9p-{bus},fsdev=fs0,mount_tag=rootfs",
                 "-fsdev", f"local,id=fs1,path={self.out},security_model=none,multidevs=remap",
                 "-device", f"virtio-9p-{bus},fsdev=fs1,mount_tag=out"])

    def start(self, accel):
        """Starts QEMU; with shell the terminal is the guest's."""
        command = self.command(accel)
        if not shutil.which(command[0]):
            raise VmError(f"{command[0]} is missing; run scripts/install-deps, or install "
                          "qemu-system-arm or qemu-system-misc for another machine's")
        if self.shell:
            self.process = subprocess.Popen(command, preexec_fn=end_with_parent)
            return
        with open(os.path.join(self.out, "qemu.log"), "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log,
                                            stdout=subprocess.PIPE, start_new_session=True,
                                            preexec_fn=end_with_parent)
        threading.Thread(target=self._read_events, args=(self.process.stdout,),
                         daemon=True).start()

    def _read_events(self, stream):
        for line in stream:
            if line.startswith(EVENT):
                words = line[len(EVENT):].decode(errors="replace").strip().split(" ")
                self.report(words)
        self.report(None)

    def next_event(self, timeout):
        """Words of the next event, None when QEMU has ended; raises queue.Empty."""
        return self.events.get(timeout=timeout)

    def stop(self):
        if self.process and self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process:
            self.process.wait()

    def cpu_seconds(self):
        """What QEMU has had of the processors; 0 when it has ended."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as f:
                words = f.read().rpartition(")")[2].split()
        except OSError:
            return 0
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def console_tail(self, lines=60):
        return tail(self.console, lines)

    def last_words(self):
        """Why the guest's kernel died, in a few words; empty when it did not say."""
        return last_words(plain(self.console))


class Forgiveness:
    """Guests that a run may lose to the emulator or to siw, see others_fault()."""

    def __init__(self, times=3):
        self.left = times

    def given(self, vm, doing):
        """True when DOING is to be done again, in a new guest."""
        # all of it: a dump of the trace may follow
        whose = others_fault(plain(vm.console)) if self.left else None
        if not whose:
            return False
        self.left -= 1
        progress(f"        {whose}'s fault, so once more: {doing}: {vm.last_words()}")
        return True


def last_words(console):
    """The first complaint of a kernel that then died, the place in its code, and how it got there."""
    first = LAST_WORDS.search(console)
    if not first:
        return ""
    words = first[1].strip()
    before, after = console[:first.start()], console[first.start():]
    place = re.search(r"\] RIP: \w+:(\S+.*)", after)
    if not place:
        return f"{words}, after: " + " | ".join(before.splitlines()[-5:-1])
    words += f" at {place[1].strip()}"
    trace = re.search(r"\] Call Trace:\n((?:.*\n)*?).*\] (?:Modules linked|---\[ end)", after)
    frames = re.findall(r"\]  (\w[\w.]*)\+0x", trace[1]) if trace else []
    return " < ".join([words] + frames[:8])


def emulators_fault(console):
    """True when the guest died of a breakpoint that is not in its memory.

    A kernel changes its own code through a breakpoint, and QEMU before 8.1 ("Always lock pages
    before translation") may run the translation with the breakpoint after that is gone. A
    breakpoint that is really there is the octet cc before the one that the kernel marks.
    """
    trap = re.search(r"\] (?:Oops: )?int3: 0000 \[#1\](?:.*\n)*?.*\] Code: .*?(\w\w) <\w\w>", console)
    return bool(trap) and trap[1] != "cc"


def siws_fault(console):
    """True when siw crashed on a socket whose queue pair it had let go, or iw_cm on the end of a
    siw connection before its beginning (docs/kernel-bugs.md). iw_cm has krdma's devices, too: with
    krdma_hw loaded the cases connect through siw's alone.
    """
    oops = re.search(r"\] RIP: \w+:siw_sq_start\+(?:.*\n)*?.*\] Call Trace:\n((?:.*\n)*)", console)
    if oops and "siw_qp_llp_write_space" in oops[1]:
        return True
    bug = re.search(r"kernel BUG at drivers/infiniband/core/iwcm.c(?:.*\n)*?.*Modules linked in: (.*)", console)
    return bool(bug) and " siw(" in bug[1] and "krdma_hw(" in bug[1]


def others_fault(console):
    """Who else brought the guest down: "the emulator", "siw", or None."""
    if emulators_fault(console):
        return "the emulator"
    return "siw" if siws_fault(console) else None


def fresh_out(name):
    """An empty folder build/vm/NAME, to be the guest's writable share."""
    out = os.path.join(BUILD, name)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    return out


def guest_config(modules, kernel=None, slow=1, **values):
    """What the guest's init is told, with the provider that it installs."""
    uvp = os.path.join(REPO, "build", "uvp_soft")
    folder = (kernel.root if kernel else "/").rstrip("/") + uvp
    # the number in its name is the library's; the last one that was built
    providers = sorted(glob.glob(os.path.join(folder, "libkrdma-rdmav*.so")), key=os.path.getmtime)
    provider = os.path.basename(providers[-1]) if providers else "libkrdma-rdmav*.so"
    return {"REPO": REPO, "MODULES": os.path.abspath(modules), "SLOW": slow,
            "KERNEL_MODULES": kernel.modules if kernel else "",
            "PROVIDER": os.path.join(uvp, provider),
            "DRIVER": os.path.join(uvp, "krdma.driver"), **values}


def write_config(out, values):
    """The guest's init sources it."""
    with open(os.path.join(out, "config"), "w", encoding="utf-8") as f:
        f.writelines(f"{key}={shlex.quote(str(value))}\n" for key, value in values.items())


def plain(path, last=sys.maxsize):
    """The text of a log, or of its last octets, without what only a terminal wants."""
    try:
        with open(path, "rb") as f:
            f.seek(max(0, os.path.getsize(path) - last))
            text = f.read().decode(errors="replace").replace("\r", "")
    except OSError:
        return ""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc", "", text)


def tail(path, lines):
    return "\n".join(plain(path, 65536).splitlines()[-lines:])


def choose_accel(wanted):
    """kvm where it was asked for or can run a guest, else tcg (emulation)."""
    if wanted != "auto":
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
        boot = f.read().strip()
    verdict = os.path.join(BUILD, "kvm-" + boot)
    if not os.path.exists(verdict):
        os.makedirs(BUILD, exist_ok=True)
        with open(verdict, "w", encoding="ascii") as f:
            f.write("kvm\n" if kvm_works() else "tcg\n")
    with open(verdict, encoding="ascii") as f:
        return f.read().strip()


def kvm_works():
    """Boots the stock kernel with no root: it must get as far as its panic.

    A /dev/kvm that opens proves little: nested ones may fail at the first
    instruction that they have to emulate.
    """
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m",
               "512", "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio",
               "-monitor", "none", "-kernel", f"/boot/vmlinuz-{installed_release()}",
               "-append", "console=ttyS0 panic=-1"]
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=15, check=False)
    except (subprocess.TimeoutExpired, OSError):
        return False
    return b"Kernel panic - not syncing: VFS" in answer.stdout


def progress(text):
    print(text, flush=True)


def since(start):
    return f"{time.monotonic() - start:.0f} s"


def die(text):
    print(f"error: {text}", file=sys.stderr, flush=True)
    sys.exit(2)

# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Which case runs when, and in which guest: no guest and no clock is needed to know.

tests/vm/times.tsv says how long a case took, in seconds, on each kernel; tests/vm/times
makes it from the runs' own results.
"""
import os
import random
import re
import subprocess

# a case without a time
UNKNOWN = 40
# a pace is believed after so many seconds of cases
STEADY = 120
WAIT = object()


def read_column(path, column):
    """Words by case from the column of a table with a heading; {} when there is none."""
    try:
        with open(path, encoding="ascii") as f:
            heading, *rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    except (OSError, ValueError):
        return {}
    if column not in heading:
        return {}
    at = heading.index(column)
    return {row[0]: row[at] for row in rows if len(row) > at and row[at]}


def read_times(path, column):
    """The same in seconds."""
    return {name: float(word) for name, word in read_column(path, column).items()}


def expected_times(path, column, slow):
    """Seconds by case on a kernel: what was measured there, else the stock kernel's by the factor slow."""
    return {**{n: t * slow for n, t in read_times(path, "stock").items()}, **read_times(path, column)}


class Queue:
    """The cases of a run, handed out to guests.

    Each guest asks for its next one. With a time at which all is to be over, a case is only
    handed out when it would end by then; the others are left out. A case that is alone runs
    while no other guest does anything.

    Guests that share the host's processors are serial ones: each emulates its processors in
    turn, in one thread. With a thread for each, a processor of a guest spins while the host
    runs another guest in place of the one that it waits for, and all cases take twice as long
    as in one guest. Cases that are alone run in a guest that is not serial.

    A case may want words on its kernel's command line. It runs in a guest that has those.
    """

    def __init__(self, names, expected=None, alone=(), until=None, urgent=None, share=False, append=None):
        self.waiting = [n for n in names if n in alone] + [n for n in names if n not in alone]
        self.expected = expected or {}
        self.alone = set(alone)
        self.until = until
        # cases that are not alone are for serial guests
        self.share = share
        self.serial = set()
        # words of the kernel's command line, by case and by guest
        self.append = append or {}
        self.appended = {}
        # what to begin with where there is time for all; None keeps the order of the names
        self.urgent = urgent
        self.left_out = []
        # what failed and is tried again when all else is through
        self.second = []
        # by guest: the case, or None for a guest that is up or comes up and has none
        self.running = {}
        self.took = self.should = 0.0

    def pace(self):
        """How much longer cases take here than where they were timed."""
        return (STEADY + self.took) / (STEADY + self.should)

    def predicted(self, name):
        return self.expected.get(name, UNKNOWN) * self.pace()

    def work(self):
        """Seconds that what waits would take one guest."""
        return sum(self.predicted(n) for n in self.waiting)

    def in_order(self, now):
        """What waits as it is to be handed out. With time for all it is the long ones first, so that the
        guests come to their ends together."""
        if self.urgent is None:
            return self.waiting
        guests = max(1, len(self.running))
        if self.until is not None and now + 1.2 * self.work() / guests > self.until:
            return self.waiting
        return sorted(self.waiting, key=lambda n: (n not in self.alone, n not in self.urgent,
                                                   -self.expected.get(n, UNKNOWN)))

    def forget_late(self, now):
        """Leaves out what would not be over in time."""
        if self.until is None:
            return
        late = [n for n in self.waiting if now + self.predicted(n) > self.until]
        self.left_out += late
        self.waiting = [n for n in self.waiting if n not in late]

    def may_start(self, now):
        """True when one more guest would have something to do at once."""
        self.forget_late(now)
        if any(n in self.alone for n in self.running.values()):
            return False
        if not self.running:
            return bool(self.waiting)
        return any(n not in self.alone for n in self.waiting) and not self.alone_waits()

    def alone_waits(self):
        return any(n in self.alone for n in self.waiting)

    def boots_serial(self):
        """Whether the next guest is to be a serial one."""
        return self.share and not self.alone_waits()

    def boots_with(self):
        """What the next guest is to have on its kernel's command line."""
        wanted = [self.append.get(n, "") for n in self.waiting]
        return next((a for a in wanted if a not in self.appended.values()), wanted[0] if wanted else "")

    def joins(self, guest, serial=False, append=""):
        self.running[guest] = None
        self.appended[guest] = append
        if serial:
            self.serial.add(guest)

    def leaves(self, guest):
        self.running.pop(guest, None)
        self.appended.pop(guest, None)
        self.serial.discard(guest)

    def fits(self, guest, name):
        """The guest is of the kind that the case is for."""
        return self.append.get(name, "") == self.appended.get(guest, "") and (
            not self.share or (name in self.alone) != (guest in self.serial))

    def next(self, guest, now):
        """The guest's next case, WAIT when it is to ask again after another's end, None at the end."""
        self.running[guest] = None
        self.forget_late(now)
        others = [n for g, n in self.running.items() if g != guest]
        if any(n in self.alone for n in others):
            return WAIT
        for name in self.in_order(now):
            if (name in self.alone and any(others)) or not self.fits(guest, name):
                continue
            self.waiting.remove(name)
            self.running[guest] = name
            return name
        # alone ones wait for the others' ends
        return WAIT if any(self.fits(guest, n) for n in self.waiting) else None

    def ended(self, guest, name, seconds):
        self.running[guest] = None
        self.took += seconds
        self.should += self.expected.get(name, UNKNOWN)

    def again(self, name):
        """It did not come to its end for no fault of its own: before all others."""
        self.waiting.insert(0, name)

    def later(self, name):
        """A second try, however late it is, in a fresh guest that has the machine for itself."""
        self.second.append(name)

    def second_round(self):
        """All else is through."""
        self.waiting, self.second, self.until = self.second, [], None
        self.alone.update(self.waiting)


def guests_wanted(work, jobs, boot=45):
    """How many guests pay for work of so many seconds: each shall do more than it needs to boot."""
    return max(1, min(jobs, int(work / (2 * boot)) + (work > 0)))


# what a change touches --------------------------------------------------------


def answer(repo, *words):
    """Lines that a command says; none when it fails."""
    done = subprocess.run(words, cwd=repo, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def change(repo):
    """(since, files): which commit, and what is other than there; ("", []) outside of git."""
    script = os.path.join(repo, "scripts", "changed")
    return "".join(answer(repo, script, "--since")), answer(repo, script)


def commit(repo):
    """What a seed is made of: the commit, or "" outside of git."""
    return "".join(answer(repo, "git", "rev-parse", "--short=12", "HEAD"))


def touches(path, name, text, covers):
    """True when a change of that file is one of the case: its own, of what it covers, or of a
    program or a script that it names."""
    if path == f"tests/vm/cases/{name}.sh":
        return True
    if any(path == c or path.startswith(c.rstrip("/") + "/") or os.path.splitext(path)[0] == c for c in covers):
        return True
    folder, file = os.path.split(path)
    if folder in ("tests/vm/progs", "tests/vm/guest", "tests/consumers") and file != "lib.sh":
        return re.search(rf"\b{re.escape(os.path.splitext(file)[0])}\b", text) is not None
    return False


def arrange(names, touched, found_most, seed):
    """What the change touches comes first, then what was found to break most, then the rest in an
    order of the seed's."""
    rest = sorted(names)
    random.Random(seed).shuffle(rest)
    rank = {n: i for i, n in enumerate(found_most + [n for n in rest if n not in found_most])}
    return sorted(names, key=lambda n: (n not in touched, rank[n]))

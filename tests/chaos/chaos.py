#!/usr/bin/env python3
"""Runs of real processes that are killed, frozen and starved all the time, with every preset.

    tests/chaos/chaos.py [--for SECONDS] [--runs N] [--seed N] [--only SETTING] [--parallel N]

Each run is `strait run --on local` of a setting (settings.py). Faults are drawn by its seed: when,
which, whom. Two of three runs get only faults that the setting survives without losing anything;
their model must be exact, but for clocks of which a worker said that they may not count (one that
was too late for its site). In the others no update may be in the model twice. All runs must end as
they would have without the faults, by themselves. Faults stop when most clocks are over. What needs
privileges (a disk to fill), or a program without the address sanitizer (limits of memory), is left
out without them, and the summary says so.

Prints a line for each run and, at the end, how often each kind of fault happened, the longest time
in which no clock was completed, and the most memory and descriptors that a process used. The exit
status is 1 if anything was wrong; the run's folder is kept then."""

import argparse
import concurrent.futures
import collections
import errno
import heapq
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import settings

CLOCKS = 500
QUIET = 0.9  # The part of the clocks after which nothing goes wrong any more.
STUCK_S = 90  # A run without a new clock for so long has failed.
TURN_S = 0.01  # Between two looks at what is due.
GAP_S = 0.12  # Between two faults of a run, on average.
START_S = 0.5  # A process that cannot even start ends the run, as it should.
AGE_S = 2.4  # `strait run` gives up on a process that is killed again and again before that.
DISK_BYTES = 24 << 20
DESCRIPTORS = 5  # What a starved process may open, which it has open already.
MEMORY_FLAT = 64 << 20  # By how much a process may grow between a quarter of its life and its end.
# How often each kind is drawn, and how long it lasts.
KINDS = {
    "kill-server": (3, None),
    "kill-worker": (3, None),
    "kill-link": (2, None),
    "freeze": (5, (0.05, 1.2)),
    "freeze-long": (0.1, (4.0, 9.0)),
    "descriptors": (2, (0.1, 2.0)),
    "memory": (1, (0.1, 1.0)),
    "full-disk": (0.5, (0.2, 2.0)),
    "cut": (2, (0.1, 2.0)),
    "cut-one": (2, (0.1, 2.0)),
    "slow": (1, (0.2, 2.0)),
    "spike": (1, (0.2, 2.0)),
}
LINKS = ["a b", "a c", "b c"]
RUNNERS = set()
SANITIZED = False  # Set for a program with the address sanitizer, which takes memory as it likes.


class Wrong(Exception):
    """What a run did that it must not."""


class Totals:
    """Of a campaign. Runs add to it from their threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.fired = collections.Counter()
        self.runs = collections.Counter()
        self.gap_s, self.gap_of = 0.0, ""
        self.memory_bytes, self.descriptors = 0, 0
        self.clocks = 0
        self.exact = 0
        self.reported = 0
        self.mounted = True
        self.wrong = []


def children(pid):
    """Processes that this one started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += task.read_text().split()
    return [int(child) for child in found]


def rebased_clocks(text):
    """In how many clocks the update of a worker may be missing: lost, or never made."""
    found = re.match(r"clocks? (\d+)(?: to (\d+))? may not count(?:, goes on with (\d+))?$", text)
    if not found:
        raise Wrong(f"a worker says: {text}")
    last = found.group(3) or int(found.group(2)) + 1  # One that leaves does not go on.
    return int(last) - int(found.group(1))


class Process:
    """A member or a link of a run."""

    def __init__(self, pid):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        self.pid = pid
        self.role = words[1].decode()
        option = b"--routes" if self.role == "proxy" else b"--name"
        self.name = words[words.index(option) + 1].decode()
        self.started = time.monotonic()
        self.busy = False  # With a fault that lasts.
        self.memory = []  # Resident bytes, as it was looked at.
        self.descriptors = 0

    def look(self):
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            self.memory.append(pages * resource.getpagesize())
            open_now = len(os.listdir(f"/proc/{self.pid}/fd"))
            self.descriptors = max(self.descriptors, open_now)
        except OSError:
            pass  # It has ended.

    def growth(self):
        """Between the first quarter of a life and its end, if that was long."""
        if len(self.memory) < 40:
            return 0
        return self.memory[-1] - max(self.memory[: len(self.memory) // 4])


class Disk:
    """A small file system, which can be filled; without privileges an ordinary folder."""

    def __init__(self, path):
        self.path = path
        self.ballast = path / "ballast"
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=700", "chaos", path]
        self.mounted = subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0

    def fill(self):
        try:
            with self.ballast.open("wb", buffering=0) as ballast:
                for size in (1 << 20, 4096, 1):
                    while True:
                        try:
                            ballast.write(bytes(size))
                        except OSError as full:
                            if full.errno != errno.ENOSPC:
                                raise
                            break
        except OSError:
            pass

    def empty(self):
        self.ballast.unlink(missing_ok=True)

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)


class Run:
    """One run of a setting, and what happens to it."""

    def __init__(self, strait, setting, seed, exact, folder, clocks=CLOCKS):
        self.strait, self.setting, self.seed, self.exact = strait, setting, seed, exact
        self.clocks = clocks
        self.random = random.Random(f"{setting.name} {seed}")
        self.folder = folder
        self.disk = Disk(folder / "disk")
        self.record = folder / "disk" / "rec"
        self.allowed = setting.exact if exact else setting.hard
        self.allowed -= {"memory"} if SANITIZED else set()
        self.fired = collections.Counter()
        self.processes = {}
        self.ended = []  # Processes that are gone.
        self.undo = []
        self.serial = 0
        self.reported = 0  # Clocks of workers that may not be in the model, as they said.
        self.gap_s = 0.0
        self.row_at = None
        self.rows = 0

    # Faults.

    def scripted(self):
        """Faults of links are for the run itself: its processes carry them out."""
        kinds = sorted(self.allowed & {"cut", "cut-one", "slow", "spike"})
        lines, at = [], 1.0
        while kinds and at < 0.012 * self.clocks * 2:
            kind = self.random.choice(kinds)
            low, high = KINDS[kind][1]
            amount = {"slow": " 2%", "spike": " 100ms"}.get(kind, "")
            link = self.random.choice(LINKS)
            lasts = self.random.uniform(low, high)
            lines.append(f"  - at {at:.2f}s {kind} {link}{amount} for {lasts:.2f}s\n")
            at += self.random.expovariate(1 / 0.8)
        return "faults:\n" + "".join(lines) if lines else ""

    def find(self, runner):
        """Who is there now."""
        here = {}
        for pid in children(runner.pid):
            known = self.processes.get(pid)
            try:
                here[pid] = known or Process(pid)
            except (OSError, ValueError, IndexError):
                continue  # It ends, or is no member yet.
        self.ended += [p for pid, p in self.processes.items() if pid not in here]
        self.processes = here

    def victim(self, *roles, age_s=0.0):
        old = time.monotonic() - age_s
        fit = [p for p in self.processes.values() if p.role in roles and not p.busy]
        fit = [p for p in fit if p.started < old]
        return self.random.choice(fit) if fit else None

    def later(self, kind, action):
        low, high = KINDS[kind][1]
        self.serial += 1
        at = time.monotonic() + self.random.uniform(low, high)
        heapq.heappush(self.undo, (at, self.serial, action))

    def lasting(self, kind, process, undo):
        process.busy = True

        def action():
            process.busy = False
            try:
                undo()
            except (ProcessLookupError, PermissionError):
                pass  # It was killed meanwhile.

        self.later(kind, action)

    def limit(self, kind, process, what, amount):
        before = resource.prlimit(process.pid, what)
        resource.prlimit(process.pid, what, (min(amount, before[0]), before[1]))
        self.lasting(kind, process, lambda: resource.prlimit(process.pid, what, before))

    def inject(self, kind):
        """False: nobody was there for it."""
        if kind.startswith("kill-"):
            role = {"server": "server", "worker": "worker", "link": "proxy"}[kind[5:]]
            process = self.victim(role, age_s=AGE_S)
            if process:
                os.kill(process.pid, signal.SIGKILL)
        elif kind.startswith("freeze"):
            roles = ["worker"] if kind == "freeze-long" else ["server", "worker", "proxy"]
            process = self.victim(*roles)
            if process:
                os.kill(process.pid, signal.SIGSTOP)
                self.lasting(kind, process, lambda: os.kill(process.pid, signal.SIGCONT))
        elif kind == "descriptors":
            process = self.victim("server", "worker", "proxy", age_s=START_S)
            if process:
                self.limit(kind, process, resource.RLIMIT_NOFILE, DESCRIPTORS)
        elif kind == "memory":
            process = self.victim("server", "worker", age_s=START_S)
            if process:
                pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0])
                size = pages * resource.getpagesize()
                self.limit(kind, process, resource.RLIMIT_AS, size)
        elif kind == "full-disk":
            early = self.rows < QUIET * self.clocks / 2  # Rows wait while the disk is full.
            free = self.disk.mounted and not self.disk.ballast.exists()
            process = self.disk if free and early else None
            if process:
                self.disk.fill()
                self.later(kind, self.disk.empty)
        return process is not None

    # What is seen.

    def look(self):
        """At the rows of completed clocks."""
        try:
            rows = (self.record / "scalars.csv").read_bytes().count(b"\n") - 1
        except OSError:
            rows = 0
        now = time.monotonic()
        if rows > self.rows or self.row_at is None:
            self.row_at, self.rows = now, max(rows, self.rows)
        self.gap_s = max(self.gap_s, now - self.row_at)
        for process in self.processes.values():
            process.look()

    def why(self):
        """Whom the servers wait for, as an operator would ask."""
        said = []
        for process in self.processes.values():
            if process.role != "server":
                continue
            words = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
            address = words[words.index(b"--listen") + 1].decode()
            command = [self.strait, "why", "--join", address, "--insecure"]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=20)
                said.append(f"{process.name}: {done.stdout.strip()}{done.stderr.strip()}")
            except subprocess.TimeoutExpired:
                said.append(f"{process.name}: no answer")
        return "\n".join(said)

    def attend(self, runner):
        kinds = sorted(k for k in self.allowed if k not in ("cut", "cut-one", "slow", "spike"))
        weights = [KINDS[k][0] for k in kinds]
        next_fault = time.monotonic() + 0.5
        next_look = 0.0
        while runner.poll() is None:
            now = time.monotonic()
            while self.undo and self.undo[0][0] <= now:
                heapq.heappop(self.undo)[2]()
            if now >= next_look:
                self.find(runner)
                self.look()
                next_look = now + 0.05
            if now - self.row_at > STUCK_S:
                raise Wrong(f"no clock in {STUCK_S} s, after {self.rows}\n{self.why()}")
            if now >= next_fault and self.rows < QUIET * self.clocks:
                next_fault = now + self.random.expovariate(1 / GAP_S)
                kind = self.random.choices(kinds, weights)[0]
                try:
                    self.fired[kind] += self.inject(kind)
                except (OSError, ValueError):
                    pass  # It ended just now.
            try:
                runner.wait(TURN_S)
            except subprocess.TimeoutExpired:
                pass

    # The end.

    def file(self, faults):
        path = self.folder / "run.yaml"
        name = f"run: chaos\nseed: {self.seed % 1000}\n"
        stop = f"stop: {{clocks: {self.clocks}}}\n"
        path.write_text(name + self.setting.body + stop + faults)
        return path

    def command(self, faults):
        command = [self.strait, "run", self.file(faults), "--on", "local", "-o", self.record]
        return [*command, "--json", "--no-prediction"]

    def run(self):
        with (self.folder / "out.json").open("w") as out, (self.folder / "err").open("w") as err:
            command = self.command(self.scripted())
            runner = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            RUNNERS.add(runner)
            try:
                self.attend(runner)
            finally:
                for _, _, action in self.undo:
                    action()
                if runner.poll() is None:
                    runner.kill()
                runner.wait()
                RUNNERS.discard(runner)
                self.ended += self.processes.values()
        for event in self.events():
            if event.get("event") == "fault":
                self.fired[event["text"]] += 1
            if event.get("event") == "rebased":
                self.reported += rebased_clocks(event["text"])
        self.check(runner.returncode)

    def events(self):
        path = self.record / "events.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def check(self, status):
        said = (self.folder / "err").read_text()
        if status != 0:
            raise Wrong(f"ended with status {status}: {said.strip()[-600:]}")
        summary = json.loads((self.folder / "out.json").read_text())
        if summary["end"] != "clocks":
            raise Wrong(f"ended by {summary['end']}: {summary['why']}")
        for log in self.record.glob("*.log"):
            text = log.read_text(errors="replace")
            for bad in ("check failed", "Sanitizer", "runtime error"):
                if bad in text:
                    raise Wrong(f"{log.name}: {text[max(0, text.index(bad) - 200) :][:600]}")
        for process in self.ended:
            if process.growth() > MEMORY_FLAT and not SANITIZED:
                raise Wrong(f"{process.name} grew by {process.growth() >> 20} MiB")
        models = [self.export(site) for site in self.setting.sites]
        if self.setting.bits:
            if self.exact and self.reported == 0:
                self.check_bits(models[0])
            return
        for site, model in zip(self.setting.sites, models):
            self.check_sums(site, model, summary)

    def export(self, site):
        """The model of a site in the end, as numbers."""
        merged = self.folder / f"model-{site}"
        for store in sorted((self.record / "checkpoints").iterdir()):
            if (store / site).is_dir():
                shutil.copytree(store / site, merged / site, dirs_exist_ok=True)
        command = [self.strait, "store", "ls", "--store", merged, "--json"]
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if listed.returncode != 0:
            raise Wrong(f"store ls: {listed.stderr}")
        table = "w" if self.setting.bits else "model"
        path = self.folder / f"{site}.npy"
        command = [self.strait, "store", "export", table, "--store", merged, "-o", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise Wrong(f"store export: {done.stderr}")
        return path.read_bytes()

    def check_sums(self, site, npy, summary):
        values = memoryview(npy[10 + int.from_bytes(npy[8:10], "little") :]).cast("f")
        most = len(summary["workers"]) * self.clocks
        least = most - self.reported if self.exact else 0
        if len(values) < settings.ELEMENTS:
            raise Wrong(f"site {site} has {len(values)} elements")
        for i, value in enumerate(values):
            updates = value / settings.weight(i)
            if not least <= updates <= most or updates != int(updates):
                wanted = f"{least} to {most}" if least < most else f"{most}"
                raise Wrong(f"site {site}: element {i} has {updates} updates, not {wanted}")

    def check_bits(self, npy):
        """The same run again, undisturbed."""
        folder = self.folder / "calm"
        folder.mkdir()
        calm = Run(self.strait, self.setting, self.seed, True, folder, self.clocks)
        try:
            done = subprocess.run(calm.command(""), capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                raise Wrong(f"undisturbed: {done.stderr}")
            if calm.export(self.setting.sites[0]) != npy:
                raise Wrong("the model has other bits than that of an undisturbed run")
        finally:
            calm.disk.close()


def one(options, totals, setting, seed, exact):
    """Run it and add it up; the text of its line."""
    folder = Path(tempfile.mkdtemp(prefix=f"chaos-{setting.name}-", dir=options.folder))
    run = Run(options.strait, setting, seed, exact, folder, options.clocks)
    started = time.monotonic()
    wrong = ""
    try:
        run.run()
    except Wrong as what:
        wrong = str(what)
    took = time.monotonic() - started
    label = f"{setting.name} seed {seed} {'exact' if exact else 'hard'}"
    with totals.lock:
        totals.fired.update(run.fired)
        totals.runs[setting.name] += 1
        totals.exact += exact and not wrong and run.reported == 0
        totals.reported += run.reported
        totals.mounted = totals.mounted and run.disk.mounted
        totals.clocks += run.rows
        if run.gap_s > totals.gap_s:
            totals.gap_s, totals.gap_of = run.gap_s, label
        for process in run.ended:
            totals.memory_bytes = max([totals.memory_bytes, *process.memory])
            totals.descriptors = max(totals.descriptors, process.descriptors)
        if wrong:
            totals.wrong.append(f"{label}: {wrong}")
    if wrong:
        kept = folder / "kept"
        shutil.copytree(run.disk.path, kept, ignore=shutil.ignore_patterns("ballast"))
        wrong = f"  WRONG, kept in {kept}: {wrong}"
    run.disk.close()
    if not wrong:
        shutil.rmtree(folder, ignore_errors=True)
    faults = sum(run.fired.values())
    return (
        f"{label:32} {faults:4} faults, {run.rows:4} clocks in {took:5.1f} s, "
        f"longest gap {run.gap_s:4.1f} s{wrong}"
    )


def print_summary(totals, took):
    faults = sum(totals.fired.values())
    runs = sum(totals.runs.values())
    print(f"\n{runs} runs in {took:.0f} s, {totals.exact} of them exact: ", end="")
    print(", ".join(f"{name} {count}" for name, count in sorted(totals.runs.items())))
    print(f"{totals.reported} clocks of workers were reported as possibly lost")
    print(f"{faults} faults over {totals.clocks} clocks:")
    for kind in KINDS:
        print(f"  {kind:12} {totals.fired[kind]:6}")
    if SANITIZED:
        print("SKIPPED: memory, since the address sanitizer takes memory as it likes")
    if not totals.mounted:
        print("SKIPPED: full-disk, since file systems cannot be mounted here")
    print(f"longest time without a clock: {totals.gap_s:.1f} s ({totals.gap_of})")
    print(
        f"most of a process: {totals.memory_bytes / 1e6:.0f} MB of memory, "
        f"{totals.descriptors} descriptors"
    )
    for wrong in totals.wrong:
        print(f"WRONG: {wrong}")
    print(f"{len(totals.wrong)} wrong", flush=True)


def campaign(options):
    chosen = [s for s in settings.SETTINGS if not options.only or s.name in options.only]
    totals = Totals()
    started = time.monotonic()

    def jobs():
        number = 0
        while number < options.runs or time.monotonic() - started < options.seconds:
            setting = chosen[number % len(chosen)]
            turn = number // len(chosen)
            yield setting, options.seed + turn, turn % 3 != 2
            number += 1

    source = jobs()
    guard = threading.Lock()

    def work():
        while not totals.wrong or options.go_on:
            with guard:
                job = next(source, None)
            if job is None:
                return
            print(one(options, totals, *job), flush=True)

    def stop(number, frame):
        for runner in list(RUNNERS):
            runner.kill()
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        for done in [pool.submit(work) for _ in range(options.parallel)]:
            done.result()
    faults = sum(totals.fired.values())
    if faults < options.faults_min:
        totals.wrong.append(f"only {faults} faults happened, not {options.faults_min}")
    print_summary(totals, time.monotonic() - started)
    return totals


def parse(words=None):
    top = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--for", dest="seconds", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--runs", type=int, default=0, help="at least so many")
    parser.add_argument("--seed", type=int, default=1, help="of the first run of each setting")
    parser.add_argument("--only", action="append", choices=[s.name for s in settings.SETTINGS])
    parser.add_argument("--clocks", type=int, default=CLOCKS, help=f"of each run ({CLOCKS})")
    parser.add_argument("--parallel", type=int, default=3, help="runs at the same time (3)")
    parser.add_argument("--faults-min", type=int, default=0, help="fewer faults are a failure")
    parser.add_argument("--go-on", action="store_true", help="also after something was wrong")
    parser.add_argument("--folder", help="where runs have their files ($TMPDIR)")
    parser.add_argument("--strait", default=top / "build/release/strait", type=Path)
    options = parser.parse_args(words)
    if not options.runs and not options.seconds:
        options.runs = len(options.only or settings.SETTINGS)
    options.strait = options.strait.resolve()
    return options


if __name__ == "__main__":
    chosen_options = parse()
    SANITIZED = b"__asan_init" in chosen_options.strait.read_bytes()
    sys.exit(1 if campaign(chosen_options).wrong else 0)

"""Members of a site are killed with -9, or stopped, at each step of their lives and started again:
the run goes on, nobody waits for the dead longer than it takes to notice, and every update is in
the model once.

Steps are reached by observation: workers do what they are told (puppet.c), and what has happened is
seen in the status of the server, in its folder and in its socket. The deadline of a round is far
beyond the patience of the tests, so nobody is released by that."""

import ast
import json
import os
import re
import select
import signal
import socket
import struct
import time

import pytest

from site_of import LIMIT_S, until

DURABLE = ["--store", "ck", "--checkpoint-every", "2"]
MODES = {
    "bsp-pull": ["--barrier", "bsp", "--delivery", "pull", *DURABLE],
    "bsp-broadcast": ["--barrier", "bsp", "--delivery", "broadcast"],
    "ssp": ["--barrier", "ssp", "--staleness", "1", "--delivery", "pull", *DURABLE],
    "tap": ["--barrier", "tap", "--delivery", "broadcast"],
}
VALUES = [1, 10, 100]  # What each worker adds to every element in a clock.
VICTIM = 2
OTHERS = [0, 1]
BIG = {"rows": 2000, "width": 1000}  # Larger than what sockets hold.


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def unfinished(folder):
    """Files that are being written, or were when somebody died."""
    return list(folder.rglob(".strait-tmp-*"))


class Crew:
    """A server, three workers, and what the model must hold."""

    def __init__(self, site, mode, rows=4, width=100):
        self.site = site
        self.shape = f"{rows} {width}"
        self.options = [*MODES[mode], "--workers", "3", "--deadline", "600s"]
        self.mode = mode
        self.listen = f"tcp://127.0.0.1:{free_port()}"
        self.server = self.site.server(*self.options, listen=self.listen)
        self.workers = [None] * 3
        self.counted = [0] * 3  # Clocks that are in the model.
        self.next = [0] * 3  # The clock that each computes.
        for i in range(3):
            self.hire(i)

    # Lives.

    def hire(self, i):
        self.workers[i] = self.site.worker(self.listen, f"w{i}", i)
        self.workers[i].do(f"table model {self.shape}")

    def kill(self, who):
        (self.server if who == "server" else self.workers[VICTIM]).kill()

    def revive(self, who):
        """Start it again; a worker asks to be let in."""
        if who == "server":
            self.server = self.site.server(*self.options, listen=self.listen)
        else:
            self.hire(VICTIM)
            self.workers[VICTIM].begin("join")

    def revived(self, who):
        if who == "worker":
            self.joined(VICTIM)

    def signal(self, who, signum):
        child = self.server if who == "server" else self.workers[VICTIM]
        child.child.send_signal(signum)

    # Work.

    def join(self):
        for w in self.workers:
            w.begin("join")
        for i in range(3):
            self.joined(i)

    def joined(self, i):
        (self.next[i],) = self.workers[i].end()

    def push(self, ranks):
        """Compute and send a clock, and do not wait for the others."""
        for i in ranks:
            self.workers[i].do(f"push model {VALUES[i]}")
            self.workers[i].do("tick")
            self.counted[i] += 1

    def tock(self, ranks):
        for i in ranks:
            (self.next[i],) = self.workers[i].do("tock")

    def reach(self, clock, ranks=range(3)):
        """All of them compute up to that clock, and the server has it."""
        for i in ranks:
            count = int(clock - self.next[i] + 1)
            self.workers[i].begin(f"rounds {count} model {VALUES[i]}")
            self.counted[i] += count
        for i in ranks:
            (self.next[i],) = self.workers[i].end()
            assert self.next[i] == clock + 1
        self.arrived({i: clock for i in ranks})

    # Observation.

    def status(self):
        return self.site.why(self.listen)["lanes"][0]["status"]

    def arrived(self, clocks):
        """Wait until the server has all of these workers up to these clocks."""

        def seen():
            has = {m.get("rank"): m.get("clock", 0) for m in self.status()["members"]}
            return all(has.get(i, 0) >= clock for i, clock in clocks.items())

        until(seen)

    def unread(self):
        """Bytes that the kernel holds for the server."""
        port = int(self.listen.rsplit(":", 1)[1])
        total = 0
        with open("/proc/net/tcp", encoding="ascii") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if int(words[1].split(":")[1], 16) == port and words[3] == "01":
                    total += int(words[4].split(":")[1], 16)
        return total

    def connected(self):
        """Workers whose connection stands, as they see it."""
        port = int(self.listen.rsplit(":", 1)[1])
        with open("/proc/net/tcp", encoding="ascii") as f:
            words = [line.split() for line in f.readlines()[1:]]
        return sum(int(w[2].split(":")[1], 16) == port and w[3] == "01" for w in words)

    def catches_a_checkpoint(self):
        """Have one made, and see its file before it is whole."""
        end = time.monotonic() + LIMIT_S
        out = self.workers[0].child.stdout
        self.workers[0].begin("save")
        while not unfinished(self.site.strait.folder / "ck"):
            assert time.monotonic() < end
            if select.select([out], [], [], 0)[0]:
                return False  # It is whole already.
        return True

    # The end.

    def check(self, doubt=0):
        """The model holds every update once; @doubt: what may or may not be in it."""
        sure = sum(v * n for v, n in zip(VALUES, self.counted))
        allowed = {sure, sure + doubt}
        end = time.monotonic() + (0 if self.mode.startswith("bsp") else LIMIT_S)
        read = self.workers[0].do("read model")
        # Under ssp and tap a read does not wait for what others have sent just now.
        while not allowed.issuperset(read) and max(read) <= max(allowed):
            assert time.monotonic() < end, (read, allowed, self.counted)
            read = self.workers[0].do("read model")
        assert allowed.issuperset(read), (read, allowed, self.counted)

    def finish(self, doubt=0):
        self.reach(max(self.next) + 1)
        for w in self.workers[1:]:
            w.begin("leave")
        for w in self.workers[1:]:
            w.end()
        self.check(doubt)
        self.workers[0].do("leave")
        assert self.server.stop()["event"] == "stopped"


# The steps. Each is reached, then @who is killed there and started again.


def while_joining(crew, who):
    for i in (0, VICTIM):
        crew.workers[i].begin("join")
    until(lambda: crew.site.reasons(crew.listen)["workers_missing"]["joined"] == 2)
    crew.kill(who)
    crew.revive(who)
    crew.workers[1].begin("join")
    for i in range(3):
        crew.joined(i)


def before_the_first_clock(crew, who):
    crew.join()
    until(lambda: crew.status()["begun"])
    crew.kill(who)
    crew.revive(who)
    crew.revived(who)


def while_computing(crew, who):
    """The others have sent clock 3; the victim computes it."""
    crew.join()
    crew.reach(2)
    crew.push(OTHERS)
    crew.arrived({0: 3, 1: 3})
    crew.kill(who)
    crew.revive(who)
    if who == "server":
        crew.push([VICTIM])
        crew.tock([VICTIM])
    crew.tock(OTHERS)
    crew.revived(who)


def while_pushing(crew, who):
    """The server does not read: what is sent fills the socket, the rest waits in the worker."""
    crew.join()
    crew.reach(2)
    crew.signal("server", signal.SIGSTOP)
    crew.push([VICTIM] if who == "worker" else range(3))
    until(lambda: crew.unread() > 0)
    crew.kill(who)
    if who == "server":
        crew.revive(who)
        crew.tock(range(3))
        return 0
    crew.counted[VICTIM] -= 1  # Chunks that had arrived count, the others do not.
    crew.signal("server", signal.SIGCONT)
    crew.revive(who)
    crew.push(OTHERS)
    crew.tock(OTHERS)
    crew.revived(who)
    return VALUES[VICTIM]


def while_waiting_at_the_barrier(crew, who):
    """The victim has sent clock 3, which counts, and waits for the others."""
    crew.join()
    crew.reach(2)
    crew.push([VICTIM])
    crew.arrived({VICTIM: 3})
    crew.kill(who)
    crew.revive(who)
    crew.push(OTHERS)
    crew.tock(OTHERS if who == "worker" else range(3))
    crew.revived(who)


def while_a_checkpoint_is_written(crew, who):
    """One is there, and the next one is begun."""
    crew.join()
    crew.reach(2)
    until(lambda: crew.status()["checkpoint"]["number"] > 0)
    hit = False
    while not hit:
        crew.reach(max(crew.next))
        if crew.catches_a_checkpoint():
            crew.kill(who)
            hit = who == "worker" or unfinished(crew.site.strait.folder / "ck")
            crew.revive(who)
            crew.revived(who)
        crew.workers[0].end()


def while_leaving(crew, who):
    """The victim's good-bye is on its way."""
    crew.join()
    crew.reach(2)
    crew.signal("server", signal.SIGSTOP)
    before = crew.unread()
    crew.workers[VICTIM].begin("leave")
    until(lambda: crew.unread() > before)
    crew.kill(who)
    if who == "server":
        crew.revive(who)
        crew.workers[VICTIM].end()
        crew.reach(3, OTHERS)
        crew.workers[VICTIM].begin("join")
    else:
        crew.signal("server", signal.SIGCONT)
        crew.revive(who)
    crew.joined(VICTIM)


STEPS = [while_joining, before_the_first_clock, while_computing, while_pushing,
         while_waiting_at_the_barrier, while_a_checkpoint_is_written, while_leaving]


def cases():
    for step in STEPS:
        for mode in MODES:
            for who in ("worker", "server"):
                if step is not while_a_checkpoint_is_written or "--store" in MODES[mode]:
                    yield pytest.param(step, mode, who, id=f"{step.__name__}-{mode}-{who}")


@pytest.mark.parametrize("step, mode, who", cases())
def test_a_member_is_killed(site, step, mode, who):
    big = step in (while_pushing, while_a_checkpoint_is_written)
    crew = Crew(site, mode, **(BIG if big else {}))
    crew.finish(step(crew, who) or 0)


@pytest.mark.parametrize("mode", ["bsp-pull", "bsp-broadcast", "ssp"])
def test_nobody_waits_for_the_dead(site, mode):
    """Nobody starts it again: it is out as soon as its session is, and the others go on."""
    crew = Crew(site, mode)
    crew.join()
    crew.reach(2)
    crew.push(OTHERS)
    crew.kill("worker")
    crew.tock(OTHERS)
    crew.reach(8, OTHERS)
    crew.server.says(r"^worker w2 \(rank 2\) is out")
    crew.workers[1].do("leave")
    crew.check()


def test_the_first_checkpoint_of_all_is_never_finished(site):
    """Nothing was acknowledged yet, so all of it comes again, whoever is back first."""
    crew = Crew(site, "bsp-pull", **BIG)
    crew.join()
    crew.reach(1)
    for w in crew.workers[1:]:
        w.begin("save")
    caught = crew.catches_a_checkpoint()
    crew.kill("server")
    if not caught or list((site.strait.folder / "ck").rglob("*.ckpt")):
        pytest.skip("the disk was too fast")
    crew.revive("server")
    for w in crew.workers:
        w.end()
    crew.finish()


# Stopped, and let go on.


@pytest.mark.parametrize("mode", MODES)
def test_a_worker_is_stopped_for_a_moment(site, mode):
    """Its silence is noticed, nobody takes its place, and nothing is lost."""
    crew = Crew(site, mode)
    crew.join()
    crew.reach(2)
    crew.push(OTHERS)
    crew.signal("worker", signal.SIGSTOP)
    until(lambda: any(m.get("silent_ms", 0) > 1000 for m in crew.status()["members"]
                      if m.get("rank") == VICTIM))
    crew.signal("worker", signal.SIGCONT)
    crew.push([VICTIM])
    crew.tock(range(3))
    crew.finish()


def test_a_worker_that_is_stopped_for_long_is_left_out_and_comes_back(site):
    crew = Crew(site, "bsp-broadcast")
    crew.join()
    crew.reach(2)
    crew.push(OTHERS)
    crew.signal("worker", signal.SIGSTOP)
    crew.server.says(r"^worker w2 \(rank 2\) is out")
    crew.tock(OTHERS)
    crew.reach(6, OTHERS)
    crew.signal("worker", signal.SIGCONT)
    crew.server.says(r"^worker w2 \(rank 2\) is in(?s:.*)^worker w2 \(rank 2\) is in")
    # What it computes now is for a clock that went by without it: it is told where it is.
    crew.workers[VICTIM].do("push model 100")
    (crew.next[VICTIM],) = crew.workers[VICTIM].do("clock")
    assert crew.next[VICTIM] >= 7
    crew.finish(doubt=VALUES[VICTIM])


@pytest.mark.parametrize("mode", ["bsp-pull", "tap"])
def test_a_server_is_stopped(site, mode):
    """So long that the workers hang up; then it goes on, and so do they."""
    crew = Crew(site, mode)
    crew.join()
    crew.reach(2)
    crew.signal("server", signal.SIGSTOP)
    crew.push(range(3))
    until(lambda: crew.connected() == 0)
    crew.signal("server", signal.SIGCONT)
    crew.tock(range(3))
    crew.finish()


# What a job keeps of its own: real workers.

LDA = ["--job", "lda", "--option", "documents=60", "--option", "vocabulary=80", "--option",
       "tokens=20", "--option", "topics=4", "--option", "batch=2"]


def npy_sum(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<H", data[8:10])
    rows, width = ast.literal_eval(data[10 : 10 + size].decode())["shape"]
    return sum(struct.unpack(f"<{rows * width}f", data[10 + size :]))


class Learning:
    """A site that learns topics; its workers keep their state in a folder."""

    def __init__(self, site, name, clocks):
        self.site = site
        self.folder = site.strait.folder / name
        self.server = site.server("--site", name, "--workers", "3", "--store", f"{name}-ck",
                                  "--checkpoint-every", "1000", "--deadline", "600s", *LDA,
                                  "--clocks", clocks, "--evaluate-every", "0")
        self.name = name
        self.workers = [self.start(i) for i in range(3)]

    def start(self, i):
        return self.site.run("worker", "--join", self.server.first, "--insecure", "--json",
                             "--rank", str(i), "--state", self.name)

    def event(self, i, kind):
        while True:
            event = json.loads(self.workers[i].lines.next())
            if event["event"] == kind:
                return event

    def stopped_in_a_save(self, i):
        """Stop it when its state is half written; false: it was too fast, and goes on."""
        child = self.workers[i].child
        until(lambda: unfinished(self.folder))
        assert child.poll() is None, "it has ended"
        child.send_signal(signal.SIGSTOP)
        stat = f"/proc/{child.pid}/stat"
        until(lambda: open(stat, encoding="ascii").read().rsplit(")", 1)[1].split()[0] == "T")
        fds = f"/proc/{child.pid}/fd"
        if any(".strait-tmp-" in os.readlink(f"{fds}/{fd}") for fd in os.listdir(fds)):
            return True
        child.send_signal(signal.SIGCONT)
        return False

    def tokens(self):
        """When all have left: how many tokens are counted, by word and by topic."""
        for w in self.workers:
            w.child.communicate(timeout=LIMIT_S)
            assert w.child.returncode == 0, w.said()
        self.server.stop()
        sums = []
        for table in ("words", "topics"):
            out = self.site.strait.folder / f"{self.name}-{table}.npy"
            self.site.strait.ok("store", "export", table, "--store", f"{self.name}-ck", "-o", out)
            sums.append(npy_sum(out))
        return sums


def test_no_token_is_counted_twice_when_workers_of_lda_are_killed(site):
    words, topics = Learning(site, "calm", 20).tokens()
    assert words == topics > 1000
    run = Learning(site, "hit", 300)
    # While it waits at the barrier for worker 0, and its update is in.
    run.event(0, "clock")
    run.workers[0].child.send_signal(signal.SIGSTOP)
    until(lambda: site.reasons(run.server.first).get("clock", {}).get("ranks") == [0])
    run.workers[1].kill()
    run.workers[1] = run.start(1)
    run.workers[0].child.send_signal(signal.SIGCONT)
    notice = run.event(1, "notice")["text"]
    assert notice.startswith("goes on from the state that was saved after clock "), notice
    # While it writes its state, and nothing of the clock was sent.
    while not run.stopped_in_a_save(2):
        pass
    run.workers[2].kill()
    run.workers[2] = run.start(2)
    assert run.tokens() == [words, topics]


def test_mf_goes_on_if_worker_and_server_die_before_the_first_checkpoint(site):
    options = ["--site", "home", "--workers", "1", "--store", "ck", "--checkpoint-every", "10000",
               "--clocks", "300", "--evaluate-every", "0", "--job", "mf", "--option", "users=50",
               "--option", "items=50", "--option", "ratings=500"]
    join = ["worker", "--insecure", "--json", "--rank", "0", "--state", "st"]
    server = site.server(*options)
    worker = site.run(*join, "--join", server.first)
    while json.loads(worker.lines.next()).get("clock") != 20:
        pass
    worker.child.kill()
    server.kill()
    server = site.server(*options)
    events = [json.loads(line) for line in
              site.strait.ok(*join, "--join", server.first).splitlines()]
    said = [e["text"] for e in events if e["event"] == "notice"]
    assert any(re.fullmatch(r"the state of clock \d+ is ahead of the site, which is at clock 1: "
                            r"goes on from it \(if this is another run, .*\)", text)
               for text in said), said
    assert [e["clock"] for e in events if e["event"] == "clock"] == list(range(1, 301))


def test_a_state_that_does_not_fit_is_refused_by_name(site):
    strait = site.strait
    join = ["worker", "--insecure", "--rank", "0", "--state", "st", "--clocks", "3"]
    server = site.server("--workers", "1", *LDA)
    strait.ok(*join, "--join", server.first)
    assert sorted(p.name for p in (strait.folder / "st").iterdir()) == [
        "worker-0-a", "worker-0-b"]
    text = strait.fails(78, "STRAIT-0125", *join, "--join", server.first, "--job", "mf")
    assert "is the state of job lda, and this is job mf" in text
    text = strait.fails(78, "STRAIT-0125", *join, "--join", server.first, "--option", "topics=5")
    assert "was made with other data, or with other options" in text
    text = strait.fails(78, "STRAIT-0125", *join, "--join", server.first, "--workers", "2")
    assert "of worker 0 of 1, and this is worker 0 of 2" in text
    other = site.server("--workers", "1", *LDA)
    text = strait.fails(78, "STRAIT-0125", *join, "--join", other.first)
    assert "is of clock 3, and the site is at clock 1" in text and "another run" in text
    whole = (strait.folder / "st" / "worker-0-a").read_bytes()
    (strait.folder / "st" / "worker-0-a").write_bytes(whole[:-9] + b"x" + whole[-8:])
    text = strait.fails(78, "STRAIT-0125", *join, "--join", server.first)
    assert "st/worker-0-a cannot be used: its bytes were changed" in text
    (strait.folder / "st" / "worker-0-a").write_bytes(whole)
    strait.ok(*join, "--join", server.first, "--clocks", "6")
    strait.fails(2, "STRAIT-0010", "worker", "--join", server.first, "--insecure", "--state", "st")
    strait.fails(2, "STRAIT-0010", "worker", "--join", server.first, "--insecure", "--state-every",
                 "2")

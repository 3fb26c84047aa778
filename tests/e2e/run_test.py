"""`strait run` and `strait worker` as people use them: simulated, and with real processes that are
killed, interrupted and left alone."""

import csv
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import socket
import struct
import subprocess
import termios

import pytest

from site_of import LIMIT_S, until

RUN = """
run: small
seed: 3
topology:
  lan: {rate: 10gbit, delay: 100us}
  regions: [eu, us]
  links: [{between: [eu, us], rate: 400mbit, rtt: 2ms, price: 0.02}]
servers: [{region: eu}]
workers: [{region: eu}, {region: us}]
job:
  name: mlp
  options: {train: 400, eval: 100, hidden: 16, batch: 20, warmup: 0, lr: 0.05}
sync: {barrier: bsp, delivery: broadcast}
evaluate: {every: 10}
stop: {clocks: 30}
"""

# Some seconds at 2 ms a clock and 2 ms to the other region: long enough to be disturbed, short
# enough to be waited for.
LONG = ["--set", "job={name: synthetic, options: {elements: 20000, compute_ms: 2}}", "--set",
        "stop.clocks=600", "--set", "evaluate.every=150"]


def children(pid):
    """pid -> command line of the children of a process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                with open(f"/proc/{name}/cmdline", encoding="utf-8") as f:
                    words = f.read().split("\0")
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found[int(name)] = words
    return found


def member(pid, name):
    """The process of the member @name of a run, once it is itself."""
    for child, words in children(pid).items():
        if words[1:2] != ["tied"] and "--name" in words:
            if words[words.index("--name") + 1] == name:
                return child
    return None


def alive(pids):
    return [p for p in pids if os.path.exists(f"/proc/{p}") and "Z" not in
            open(f"/proc/{p}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[0]]


STARTED = []


def start(strait, *args, env=None, stderr=subprocess.PIPE):
    """Start the program and go on; whatever the test does, it is gone afterwards."""
    child = subprocess.Popen(
        [strait.bin, *map(str, args)], cwd=strait.folder, env={**strait.env, **(env or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True)
    STARTED.append(child)
    return child


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    while STARTED:
        child = STARTED.pop()
        if child.poll() is None:
            child.kill()
            child.communicate()


class Run:
    """A run that goes on while the test does something to it."""

    def __init__(self, strait, *args, env=None):
        self.dir = strait.folder / "record"
        self.child = start(strait, "run", "a.yaml", "--on", "local", "-o", self.dir, "--json",
                           *args, env=env)

    def rows(self):
        try:
            with open(self.dir / "scalars.csv", encoding="utf-8") as f:
                return list(csv.DictReader(f))
        except OSError:
            return []

    def events(self, kind=None):
        try:
            lines = (self.dir / "events.jsonl").read_text().splitlines()
        except OSError:
            return []
        events = [json.loads(line) for line in lines]
        return [e for e in events if kind is None or e["event"] == kind]

    def reach(self, clock):
        until(lambda: (rows := self.rows()) and int(rows[-1]["clock"]) >= clock)

    def member(self, name):
        return until(lambda: member(self.child.pid, name))

    def end(self, status=0):
        out, err = self.child.communicate(timeout=LIMIT_S)
        assert self.child.returncode == status, (out, err)
        self.err = err
        return json.loads(out) if out else None


SITES = """
run: sites
topology:
  regions: [{name: eu, usd_per_hour: 0.9}, {name: us, usd_per_hour: 0.8}]
  links: [{between: [eu, us], rate: 100mbit, rtt: 80ms, price: 0.02}]
sites: [{region: eu, workers: 2}, {name: west, region: us}]
between: {staleness: 2}
budget: {max_gb: 1}
job: {name: mf, options: {users: 60, items: 40, ratings: 900, rank: 4, batch: 100, lr: 0.05}}
evaluate: {every: 10}
stop: {clocks: 30}
"""


@pytest.fixture
def sites(strait):
    (strait.folder / "a.yaml").write_text(SITES)
    return strait


@pytest.fixture
def small(strait):
    (strait.folder / "a.yaml").write_text(RUN)
    return strait


# In the simulator.


def test_a_simulated_run_says_what_came_out(small):
    text = small.ok("run", "a.yaml", "-o", "r")
    assert text.startswith("small  all 30 clocks, after ") and "of virtual time" in text
    assert re.search(r"^  objective  [\d.]+ cross-entropy per test image, at clock 30$", text, re.M)
    assert re.search(r"^  links      \w+ +to \w+ +[\d.]+ MB  \$[\d.]+$", text, re.M)
    assert text.endswith("record     r\n")


def test_its_record_has_what_it_should(small):
    answer = small.json("run", "a.yaml", "-o", "r")
    record = small.folder / "r"
    assert answer["record"] == "r" and answer["end"] == "clocks" and answer["clocks"] == 30
    summary = json.loads((record / "summary.json").read_text())
    assert summary["objective"] == pytest.approx(answer["objective"])
    assert summary["wan_bytes"] == sum(link["bytes"] for link in summary["links"]) > 0
    with open(record / "scalars.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [int(row["clock"]) for row in rows] == list(range(1, 31))
    assert [row["clock"] for row in rows if row["objective"]] == ["10", "20", "30"]
    assert float(rows[-1]["objective"]) == pytest.approx(summary["objective"])
    assert float(rows[-1]["objective"]) < float(rows[9]["objective"])
    with open(record / "links.csv", encoding="utf-8") as f:
        links = list(csv.DictReader(f))
    assert {(link["from"], link["to"]) for link in links} == {("eu", "us"), ("us", "eu")}
    assert json.loads((record / "env.json").read_text())["backend"] == "sim"
    # What was run can be run again from the record, and is the same.
    again = small.json("run", "r/run.yaml", "--no-record")
    assert again["objective"] == answer["objective"] and again["time_s"] == answer["time_s"]


def test_sites_say_what_they_shared_and_what_it_cost(sites):
    text = sites.ok("run", "a.yaml", "-o", "r")
    assert re.search(r"^  cost       \$[\d.]+: computing .* \(a machine of class cpu per worker\)$",
                     text, re.M)
    assert re.search(r"^  sites      eu .* % kept back, \d+ pieces, \d+ barriers, soft", text, re.M)
    assert re.search(r"^  budget     [\d.]+ \wB of 1 GB; it held nothing back$", text, re.M)
    summary = json.loads((sites.folder / "r" / "summary.json").read_text())
    assert [site["name"] for site in summary["sites"]] == ["eu", "west"]
    assert [worker["site"] for worker in summary["workers"]] == ["eu", "eu", "west"]
    for kind in ("compute_usd", "waiting_usd", "transfer_usd", "total_usd"):
        assert summary["cost"][kind] == pytest.approx(
            sum(site["cost"][kind] for site in summary["sites"]), abs=1e-12)
    assert summary["cost"]["transfer_usd"] == pytest.approx(summary["wan_usd"])
    assert all(site["shared"]["pieces_made"] > 0 for site in summary["sites"])
    assert summary["budget"]["used_gb"] == pytest.approx(summary["wan_bytes"] * 1e-9)
    again = sites.json("run", "r/run.yaml", "--no-record")
    assert again["objective"] == pytest.approx(summary["objective"], rel=1e-8)
    assert again["wan_bytes"] == summary["wan_bytes"]


def test_one_file_has_three_layouts(sites):
    many, plain, lan = (sites.json("run", "a.yaml", "--no-record", "--set", f"layout={layout}")
                        for layout in ("sites", "plain", "lan"))
    assert lan["wan_bytes"] == 0 < min(many["wan_bytes"], plain["wan_bytes"])
    assert many["objective"] == pytest.approx(lan["objective"], rel=0.05)
    assert plain["objective"] == pytest.approx(lan["objective"], rel=0.01)
    assert lan["time_s"] < many["time_s"] < plain["time_s"]
    assert [len(run["sites"]) for run in (many, plain, lan)] == [2, 1, 1]


def test_a_training_that_diverges_prints_no_nan(small):
    wild = "job={name: mf, options: {users: 60, items: 40, ratings: 900, rank: 4, lr: 10}}"
    done = small.run("run", "a.yaml", "-o", "r", "--set", wild, "--set", "evaluate.every=1")
    assert done.returncode == 1
    assert "the objective was not a number at clock 1: this training has div" in done.stderr
    texts = [done.stdout, done.stderr] + [
        (small.folder / "r" / leaf).read_text()
        for leaf in ("summary.json", "scalars.csv", "report.html")]
    assert not any(re.search(r"-?\bnan\b", text, re.IGNORECASE) for text in texts)
    assert json.loads(texts[2])["objective"] is None


def test_records_do_not_land_where_one_happens_to_be(small):
    before = set(os.listdir(small.folder))
    answer = small.json("run", "a.yaml", env={"XDG_STATE_HOME": str(small.folder / "state")})
    assert answer["record"].startswith(f"{small.folder}/state/strait/runs/small-2")
    assert set(os.listdir(small.folder)) == before | {"state"}
    small.ok("run", "a.yaml", "--no-record")


def test_records_without_a_home_are_private_and_cannot_be_foreseen(small):
    place = small.folder / "shared"
    place.mkdir()
    place.chmod(0o1777)
    env = {"HOME": "", "XDG_STATE_HOME": "", "TMPDIR": str(place)}
    folders = [pathlib.Path(small.json("run", "a.yaml", env=env)["record"]) for _ in range(2)]
    for folder in folders:
        assert folder.parent == place and (folder / "run.yaml").exists()
        assert re.fullmatch(r"strait-small-\d{8}-\d{6}-\w{6}", folder.name)
        assert folder.stat().st_mode & 0o777 == 0o700
    place.chmod(0o777)  # Anybody could put another folder in its place.
    text = small.fails(1, "STRAIT-0101", "run", "a.yaml", env=env)
    assert "anybody may remove it" in text


@pytest.mark.parametrize("path", sorted(
    p for p in (pathlib.Path(__file__).parents[2] / "runs").rglob("*.yaml")
    if "\nset: " not in p.read_text(encoding="utf-8")), ids=lambda p: p.stem)
def test_the_run_files_of_the_tree_are_good(strait, path):
    printed = strait.ok("run", str(path), "--dry-run")
    assert "job:" in printed and "stop:" in printed
    assert path.read_text(encoding="utf-8").startswith("#"), "say what it is"


def test_a_dry_run_prints_the_whole_file(small):
    text = small.ok("run", "a.yaml", "-n", "--set", "stop.clocks=5", "--set", "seed=9")
    assert "stop: {clocks: 5}" in text and "seed: 9" in text and "deadline: " in text
    (small.folder / "b.yaml").write_text(text)
    assert small.ok("run", "b.yaml", "-n") == text


def test_faults_of_the_file_happen(small):
    slow = ["run", "a.yaml", "--no-record", "--set", "stop.clocks=60", "--set",
            "topology.links=[{between: [eu, us], rate: 400mbit, rtt: 80ms}]"]
    calm = small.json(*slow)
    hit = small.json(*slow, "--set",
                     'faults=["at 2s kill s0 for 1s", "at 5s cut eu us for 1s"]')
    assert hit["faults"] == {"kill": 1, "cut": 1}
    # Only time is lost.
    assert hit["objective"] == calm["objective"] and hit["time_s"] > calm["time_s"]


@pytest.mark.parametrize(
    "status, error, args, words",
    [
        (1, "STRAIT-0101", ["nowhere.yaml"], "nowhere.yaml: No such file"),
        (78, "STRAIT-0403", ["a.yaml", "--set", "job.name=mpl"], "did you mean 'mlp'?"),
        (78, "STRAIT-0403", ["a.yaml", "--set", "stop.clcks=5"], "a.yaml:15:"),
        (78, "STRAIT-0403", ["a.yaml", "--set", 'faults=["at 2s kill s0"]'], "for TIME"),
        (2, "STRAIT-0003", ["a.yaml", "--set", "stop.clocks"], "write KEY=VALUE"),
        (2, "STRAIT-0003", ["a.yaml", "--on", "mars"], "mars"),
        (78, "STRAIT-0302", ["a.yaml", "--no-record", "--set", "job.options.lrr=1"], "lrr"),
        (78, "STRAIT-0302", ["a.yaml", "--no-record", "--on", "local", "--set",
                             "job.options.lrr=1"], "lrr"),
        (78, "STRAIT-0302", ["a.yaml", "--no-record", "--set", "job.data=bad"],
         "bad: there is no train-images"),
        (1, "STRAIT-0101", ["a.yaml", "-o", "a.yaml/x"], "a.yaml/x"),
    ],
)
def test_what_is_wrong_is_said_before_anything_starts(small, status, error, args, words):
    (small.folder / "bad").mkdir()
    assert words in small.fails(status, error, "run", *args)


def test_a_record_is_not_written_over(small):
    small.ok("run", "a.yaml", "-o", "r")
    assert "another run" in small.fails(1, "STRAIT-0102", "run", "a.yaml", "-o", "r")


def test_a_simulation_can_be_interrupted(small):
    child = start(small, "run", "a.yaml", "-o", "r", "--json", *LONG, "--set",
                  "stop.clocks=1000000")
    until(lambda: (small.folder / "r" / "scalars.csv").exists() and
          (small.folder / "r" / "scalars.csv").read_text().count("\n") > 10)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130
    assert json.loads(out)["end"] == "interrupted"
    assert json.loads((small.folder / "r" / "summary.json").read_text())["end"] == "interrupted"


# With real processes.


def test_processes_learn_what_the_simulator_does(small):
    args = ["run", "a.yaml", "--no-record", "--set", "sync.order=fixed"]
    simulated = small.json(*args)
    local = small.json(*args, "--on", "local")
    assert local["backend"] == "local" and local["end"] == "clocks" and local["clocks"] == 30
    assert local["objective"] == pytest.approx(simulated["objective"], rel=1e-9)
    assert local["accuracy"] == pytest.approx(simulated["accuracy"])
    assert local["kills"] == 0 and local["restarts"] == 0
    assert {(link["from"], link["to"]) for link in local["links"]} == {("eu", "us"), ("us", "eu")}


def test_several_servers_with_several_lanes(small):
    local = small.json("run", "a.yaml", "--on", "local", "-o", "r", "--set",
                       "servers=[{region: eu, lanes: 2}, {region: us}, {region: us, lanes: 3}]",
                       "--set", "sync={barrier: ssp, staleness: 1, delivery: pull}")
    assert local["end"] == "clocks"
    assert sorted(p.name for p in (small.folder / "r").glob("*.log")) == [
        "link-eu-us.log", "s0.log", "s1.log", "s2.log", "w0.log", "w1.log"]
    assert "left after clock 30" in (small.folder / "r" / "w0.log").read_text()


def test_a_terminal_gets_a_picture_that_moves(small):
    try:
        outer, inner = pty.openpty()
    except OSError as e:
        pytest.skip(f"no pseudo-terminal: {e}")
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 90, 0, 0))
    child = start(small, "run", "a.yaml", "--on", "local", "--no-record", *LONG, "--set",
                  "stop.clocks=500", env={"TERM": "xterm"}, stderr=inner)
    os.close(inner)
    seen = b""
    while True:
        try:
            some = os.read(outer, 65536)
        except OSError:
            break
        if not some:
            break
        seen += some
    out, _ = child.communicate(timeout=LIMIT_S)
    os.close(outer)
    text = seen.decode()
    assert child.returncode == 0, text
    assert out.startswith("small  all 500 clocks")
    screens = re.split(r"\r\x1b\[\d+A", text)
    assert len(screens) > 3
    assert any(re.search(r"clock \d+/500 .*[█░]{24}", screen) for screen in screens)
    assert any("eu " in screen and "us " in screen and "WAN " in screen for screen in screens)
    assert screens[-1].startswith("\x1b[J")  # In the end it is wiped, and the table stands alone.


def test_it_tells_people_what_links_are(small):
    done = small.run("run", "a.yaml", "--on", "local", "--no-record")
    assert done.returncode == 0, done.stderr
    assert "1 server and 2 workers as processes; links between regions are emulated" in done.stderr


@pytest.mark.parametrize("sync", [
    ["--set", "sync={delivery: broadcast, order: fixed}"],
    ["--set", "sync={delivery: pull, order: fixed}", "--set", "checkpoint.every=20"],
])
def test_a_server_that_is_killed_comes_back_and_nothing_is_lost(small, sync):
    run = Run(small, *LONG, *sync)
    run.reach(50)
    os.kill(run.member("s0"), signal.SIGKILL)
    until(lambda: run.events("back"))
    summary = run.end()
    assert summary["end"] == "clocks" and summary["clocks"] == 600
    assert summary["kills"] == 1 and summary["restarts"] == 1
    # The job adds one per worker and clock: a lost or doubled update would be seen.
    assert summary["objective"] == 1200 and summary["accuracy"] == 1


def test_a_worker_that_is_killed_is_started_again(small):
    run = Run(small, *LONG)
    run.reach(50)
    os.kill(run.member("w1"), signal.SIGKILL)
    until(lambda: len([e for e in run.events("joined") if e["who"] == "w1"]) == 2)
    summary = run.end()
    assert summary["end"] == "clocks" and summary["kills"] == 1
    assert [w["lives"] for w in summary["workers"]] == [1, 2]


def test_a_link_that_is_killed_is_started_again(small):
    run = Run(small, *LONG)
    run.reach(50)
    link = lambda: {p: w for p, w in children(run.child.pid).items() if w[1:2] == ["proxy"]}
    (pid, words), = until(link).items()
    os.kill(pid, signal.SIGKILL)
    (_, again), = until(lambda: {p: w for p, w in link().items() if p != pid}).items()
    assert again == words  # The same routes, and so the same ports, rates and delays.
    summary = run.end()
    assert summary["end"] == "clocks" and summary["clocks"] == 600
    assert summary["kills"] == 1 and summary["restarts"] == 1
    assert [w["lives"] for w in summary["workers"]] == [1, 1]
    assert [e["event"] for e in run.events() if e.get("who") == "eu-us"] == ["killed", "back"]
    # The job adds one per worker and clock: a lost or doubled update would be seen.
    assert summary["objective"] == 1200 and summary["accuracy"] == 1


def test_a_worker_that_is_killed_goes_on_from_its_state(small):
    run = Run(small, "--set", "job={name: lda, options: {documents: 60, batch: 2, topics: 4}}",
              "--set", "stop.clocks=400", "--set", "evaluate.every=100")
    run.reach(20)
    os.kill(run.member("w1"), signal.SIGKILL)
    summary = run.end()
    assert summary["end"] == "clocks" and summary["kills"] == 1
    assert [w["lives"] for w in summary["workers"]] == [1, 2]
    said = [e["text"] for e in run.events("notice") if e["who"] == "w1"]
    assert any(text.startswith("goes on from the state that was saved after clock ")
               for text in said), said
    assert sorted(p.name for p in (run.dir / "state").iterdir()) == [
        "worker-0-a", "worker-0-b", "worker-1-a", "worker-1-b"]


def test_a_worker_whose_data_are_gone_ends_the_run_with_its_words(small):
    (small.folder / "docs").write_text("2\n3\n3\n1 1 2\n1 2 1\n2 3 2\n")
    run = Run(small, "--set", "job={name: lda, data: docs, options: {topics: 2}}", "--set",
              "stop={time: 60s}")
    run.reach(5)
    (small.folder / "docs").unlink()
    os.kill(run.member("w1"), signal.SIGKILL)
    summary = run.end(1)
    assert summary["end"] == "failed"
    assert re.search(r"^w1 ended with status 78: STRAIT-0302: .*docs: No such file.* \(more in "
                     r"\S+/record/w1\.log\)$", summary["why"]), summary["why"]


def test_faults_of_processes_and_links_happen_for_real(small):
    summary = Run(small, *LONG, "--set",
                  'faults=["at 1s kill w0 for 200ms", "at 2s pause s0 for 1s", '
                  '"at 3s cut eu us for 1s", "at 4s loss eu us 1% for 1s"]').end()
    assert summary["end"] == "clocks" and summary["kills"] == 1
    events = [json.loads(line) for line in
              (small.folder / "record" / "events.jsonl").read_text().splitlines()]
    assert [(e.get("who"), e["text"]) for e in events if e["event"] == "fault"] == [
        ("w0", "kill"), ("s0", "pause"), (None, "cut")]
    assert [e["text"] for e in events if e["event"] == "left out"] == [
        "the fault 'loss' is not to be had here"]
    assert [link["faults"]["cut"] for link in summary["network"]["links"]] == [2]  # Each way.


def test_a_server_without_checkpoints_is_missed(small):
    run = Run(small, *LONG, "--set", "sync={delivery: pull}")
    run.reach(50)
    os.kill(run.member("s0"), signal.SIGKILL)
    summary = run.end(1)
    assert summary["end"] == "failed" and "the parameters are gone" in summary["why"]
    assert "STRAIT-0301" in run.err and not children(run.child.pid)


def test_the_last_words_of_a_child_that_dies_at_once_are_shown(small):
    # The option is ours, the environment is our children's.
    done = small.run("run", "a.yaml", "--on", "local", "--no-record", "--log", "warn",
                     env={"STRAIT_LOG": "nonsense"})
    assert done.returncode == 1
    assert re.search(r"error\[STRAIT-0301\]: the link eu-us ended with status 2: .*STRAIT-0008.*"
                     r"'nonsense' is not a level", done.stderr)


def test_the_time_of_the_file_ends_it(small):
    summary = Run(small, *LONG, "--set", "stop={time: 2s}").end()
    assert summary["end"] == "time" and 2 <= summary["time_s"] < 20
    assert summary["clocks"] > 0


@pytest.mark.parametrize("signum, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_it_cleanly(small, signum, status):
    run = Run(small, *LONG)
    run.reach(20)
    members = list(children(run.child.pid))
    assert len(members) == 4  # A server, two workers and a link.
    run.child.send_signal(signum)
    summary = run.end(status)
    assert summary["end"] == "interrupted"
    assert not alive(members)
    assert "left after clock" in (run.dir / "w0.log").read_text()
    assert "stopped at clock" in (run.dir / "s0.log").read_text()


def test_the_second_interrupt_ends_it_at_once(small):
    # Workers that are stopped cannot leave: the first interrupt would wait for them.
    run = Run(small, *LONG)
    run.reach(20)
    members = list(children(run.child.pid))
    for name in ("w0", "w1"):
        os.kill(run.member(name), signal.SIGSTOP)
    run.child.send_signal(signal.SIGINT)
    until(lambda: run.events("interrupted"))
    run.child.send_signal(signal.SIGINT)
    run.child.communicate(timeout=LIMIT_S)
    assert run.child.returncode == -signal.SIGINT
    until(lambda: not alive(members))


def test_nobody_outlives_a_parent_that_is_killed(small):
    run = Run(small, *LONG)
    run.reach(20)
    members = list(children(run.child.pid))
    assert len(members) == 4  # A server, two workers and a link.
    run.child.kill()
    run.child.communicate(timeout=LIMIT_S)
    until(lambda: not alive(members))


def test_ports_that_are_in_use_are_passed_by(small):
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 7000:
        pytest.skip(f"only {soft} descriptors: too few to take half of the ports")
    taken = []
    try:
        for port in range(20000, 32000, 2):
            s = socket.socket()
            try:
                s.bind(("127.0.0.1", port))
                s.listen(1)
                taken.append(s)
            except OSError:
                s.close()
        summary = small.json("run", "a.yaml", "--on", "local", "--no-record", "--set",
                             "servers=[{region: eu}, {region: eu}, {region: us}, {region: us}]")
    finally:
        for s in taken:
            s.close()
    assert summary["end"] == "clocks"


# Workers by hand.


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Site:
    """A server with a job, and workers that join it as it says."""

    def __init__(self, strait, *args):
        self.strait = strait
        self.server = start(strait, "server", "--site", "home", "--insecure", "--listen",
                            f"tcp://127.0.0.1:{free_port()}", "--json", *args)
        self.ready = json.loads(self.server.stdout.readline())

    def worker(self, *args, env=None):
        """By the very command that the server printed."""
        words = self.ready["join"].split()
        assert words[:2] == ["strait", "worker"]
        return start(self.strait, *words[1:], *args, env=env)

    def close(self):
        self.server.terminate()
        self.server.communicate(timeout=LIMIT_S)


MF = ["--job", "mf", "--option", "users=60", "--option", "items=30", "--option", "ratings=500",
      "--option", "batch=50"]


def events_of(out):
    return [json.loads(line) for line in out.splitlines()]


def test_a_worker_needs_only_the_command_that_the_server_prints(strait):
    site = Site(strait, "--workers", "2", *MF, "--clocks", "20", "--evaluate-every", "5")
    workers = [site.worker("--json"), site.worker()]
    out, err = workers[0].communicate(timeout=LIMIT_S)
    assert workers[0].returncode == 0, err
    events = events_of(out)
    assert events[0]["event"] == "joined" and events[0]["job"] == "mf"
    assert events[0]["workers"] == 2 and events[-1]["event"] == "left"
    assert [e["clock"] for e in events if e["event"] == "clock"] == list(range(1, 21))
    assert [e["clock"] for e in events if e["event"] == "evaluated"] == [5, 10, 15, 20]
    assert events[-1]["lanes"][0][0] > 0 and events[-1]["lanes"][0][1] > 0
    out, err = workers[1].communicate(timeout=LIMIT_S)
    assert workers[1].returncode == 0, err
    assert re.search(r"joined site home as worker \d of 2: mf, bsp and pull, from clock 1 on", err)
    assert re.search(r"left after clock 20: [\d.]+ MB sent, [\d.]+ MB received", err)
    site.close()


def test_workers_train_over_tls(strait):
    strait.ok("cert", "init", "ca")
    for who in ("server/home/s0", "worker/home/w0", "worker/home/w1"):
        strait.ok("cert", "issue", "ca", who, "-o", "certs-" + who.rsplit("/", 1)[1])
    server = start(strait, "server", "--cert", "certs-s0", "--workers", "2", "--json", "--listen",
                   f"tls://127.0.0.1:{free_port()}", *MF, "--clocks", "10")
    join = json.loads(server.stdout.readline())["join"].split()
    assert join[-2:] == ["--cert", "DIR"]
    workers = [start(strait, *join[1:-1], f"certs-{name}") for name in ("w0", "w1")]
    for w in workers:
        _, err = w.communicate(timeout=LIMIT_S)
        assert w.returncode == 0 and "left after clock 10" in err, err
    # A certificate of the wrong kind does not get in.
    done = strait.run(*join[1:-1], "certs-s0")
    assert done.returncode == 78 and "is needed" in done.stderr, done.stderr
    server.terminate()
    server.communicate(timeout=LIMIT_S)


def test_ranks_come_from_options_and_the_environment(strait):
    site = Site(strait, "--workers", "3", *MF, "--clocks", "3")
    workers = [
        site.worker("--rank", "2", "--json", env={"RANK": "0"}),
        site.worker("--json", env={"SLURM_PROCID": "1", "SLURM_NTASKS": "3"}),
        site.worker("--json", env={"STRAIT_RANK": "0", "OMPI_COMM_WORLD_RANK": "2"}),
    ]
    ranks = []
    for w in workers:
        out, err = w.communicate(timeout=LIMIT_S)
        assert w.returncode == 0, err
        ranks.append(events_of(out)[0]["rank"])
    assert ranks == [2, 1, 0]
    site.close()


def test_options_of_the_worker_come_before_those_of_the_site(strait):
    site = Site(strait, "--workers", "1", *MF, "--clocks", "500")
    out, err = site.worker("--clocks", "4", "--json", "--option", "lr=0.5").communicate(
        timeout=LIMIT_S)
    assert events_of(out)[-1]["clock"] == 4, err
    site.close()


def test_an_interrupt_lets_a_worker_leave(strait):
    site = Site(strait, "--workers", "1", "--job", "synthetic", "--option", "elements=100")
    worker = site.worker("--json")
    assert json.loads(worker.stdout.readline())["event"] == "joined"
    assert json.loads(worker.stdout.readline())["event"] == "clock"
    worker.send_signal(signal.SIGINT)
    out, err = worker.communicate(timeout=LIMIT_S)
    assert worker.returncode == 130, err
    assert events_of(out)[-1]["event"] == "left"
    site.close()


def test_a_worker_says_for_whom_it_waits(strait):
    worker = start(strait, "worker", "--join", f"tcp://127.0.0.1:{free_port()}", "--insecure")
    assert re.match(r"waiting: lane 0 at tcp://127.0.0.1:\d+ cannot be reached",
                    worker.stderr.readline())
    worker.terminate()
    worker.communicate(timeout=LIMIT_S)
    assert worker.returncode == 143


def test_a_site_without_a_job_wants_one(strait):
    site = Site(strait, "--workers", "1")
    worker = site.worker()
    _, err = worker.communicate(timeout=LIMIT_S)
    assert worker.returncode == 78
    assert "error[STRAIT-0302]: worker: what is to be trained? Say --job NAME" in err
    worker = site.worker("--job", "mf", "--clocks", "2", "--option", "ratings=100")
    _, err = worker.communicate(timeout=LIMIT_S)
    assert worker.returncode == 0, err
    site.close()


@pytest.mark.parametrize(
    "status, error, args, env, words",
    [
        (2, "STRAIT-0004", [], {}, "where is the site? Say --join ADDRESS"),
        (2, "STRAIT-0009", ["--join", "tcp://127.0.0.1:1"], {}, "not encrypted"),
        (78, "STRAIT-0302", ["--join", "x:1", "--insecure", "--job", "nope"], {}, "--job nope"),
        (2, "STRAIT-0003", ["--join", "x:1", "--option", "lr"], {}, "write KEY=VALUE"),
        (2, "STRAIT-0003", ["--join", "x:1", "--seed", "-3"], {}, "--seed -3"),
        (2, "STRAIT-0003", ["--join", "x:1", "--pace-lanes", "0=5"], {}, "LANE=TO/FROM"),
        (2, "STRAIT-0003", ["--join", "x:1"], {"RANK": "one"}, "RANK=one"),
        (2, "STRAIT-0003", ["--join", "x:1"], {"WORLD_SIZE": "9999"}, "WORLD_SIZE=9999"),
    ],
)
def test_what_a_worker_cannot_do_is_said_at_once(strait, status, error, args, env, words):
    assert words in strait.fails(status, error, "worker", *args, env=env)


def test_a_job_for_a_site_is_checked_by_the_server(strait):
    strait.fails(78, "STRAIT-0302", "server", "--site", "x", "--insecure", "--job", "nope")
    assert "for which job?" in strait.fails(2, "STRAIT-0010", "server", "--site", "x",
                                            "--insecure", "--clocks", "5")


def test_the_jobs_are_listed(strait):
    text = strait.ok("worker", "--jobs")
    assert re.search(r"^mf  ", text, re.M) and re.search(r"^    rank=16 +factors", text, re.M)
    jobs = strait.json("worker", "--jobs")["jobs"]
    assert {"mf", "lda", "logreg", "lenet", "mlp", "synthetic"} == {j["name"] for j in jobs}


def test_a_member_of_nobody_does_not_run(strait):
    assert "the parent is gone" in strait.fails(1, "STRAIT-0301", "tied", "1", "--", "/bin/true")


def test_a_server_without_its_last_checkpoint_fails_the_run(small):
    run = Run(small, *LONG, "--set", "checkpoint.every=500")
    run.reach(300)
    resource.prlimit(run.member("s0"), resource.RLIMIT_NOFILE, (5, 4096))
    summary = run.end(1)
    assert summary is None or summary["end"] == "failed"
    assert "s0 ended with status 1 before its last checkpoint was whole" in run.err
    assert "Too many open files" in run.err or "STRAIT-0124" in run.err

"""Several sites that share one model, as real processes: by hand with --between, and from one run
file. Workers on strings push whole numbers, so that what is shared can be counted exactly."""

import json
import signal
import subprocess

import pytest

from port_of import free_port
from site_of import LIMIT_S, until

NAMES = ("east", "west", "north")
TERMS = "between: {threshold: 0, weight: sum, staleness: 100%s}\n"


class Fleet:
    """Sites of one server with two lanes and one worker each."""

    def __init__(self, site, names=NAMES, more=""):
        self.site = site
        self.folder = site.strait.folder
        self.names = names
        self.more = more
        self.ports = {n: free_port() for n in names}
        self.servers, self.workers, self.pushed = {}, {}, 0
        self.write("sites.yaml", TERMS % more)

    def write(self, name, terms):
        lines = [f'  - {{name: {n}, address: "tcp://127.0.0.1:{p}"}}\n'
                 for n, p in self.ports.items()]
        (self.folder / name).write_text("sites:\n" + "".join(lines) + terms)

    def first(self, name):
        return f"tcp://127.0.0.1:{self.ports[name]}"

    def start(self, name, *options, between="sites.yaml"):
        self.servers[name] = self.site.server(
            "--site", name, "--lanes", "2", "--between", between, *options,
            listen=self.first(name))
        return self.servers[name]

    def join(self, names, rows=4):
        for n in names:
            self.workers[n] = self.site.worker(self.first(n), f"{n}-w", 0, site=n)
        for n in names:
            self.workers[n].do(f"table model {rows} 100")
            self.workers[n].begin("join")
        for n in names:
            self.workers[n].end()

    def rounds(self, names, count, value=1):
        for n in names:
            self.workers[n].begin(f"rounds {count} model {value}")
        for n in names:
            self.workers[n].end()
            self.pushed += count * value

    def between(self, name):
        lanes = self.site.why(self.first(name))["lanes"]
        return [lane["status"]["between"] for lane in lanes if "status" in lane]

    def other(self, name, other):
        """What @name says of @other, lane by lane."""
        return [s for b in self.between(name) for s in b["sites"] if s["site"] == other]

    def agree(self, names):
        """In the end all of them have all that was pushed, and never more."""
        for n in names:
            def same(n=n):
                values = self.workers[n].do("read model")
                assert max(values) <= self.pushed, (n, values, self.pushed)
                return set(values) == {self.pushed}
            until(same)


@pytest.fixture
def three(site):
    return Fleet(site)


@pytest.fixture
def two(site):
    return Fleet(site, NAMES[:2])


def test_three_sites_share_what_is_pushed_anywhere(three):
    for n in NAMES:
        three.start(n)
    three.join(NAMES)
    three.rounds(NAMES, 5)
    three.rounds(["east"], 2, 3)
    three.agree(NAMES)
    top = three.site.strait.json("top", "--join", three.first("east"), "--insecure", "-q", "--once")
    assert {s["name"]: s["state"] for s in top["sites"]} == {"west": "there", "north": "there"}
    assert all(s["sent_bytes"] > 0 for s in top["sites"])
    screen = three.site.strait.ok("top", "--join", three.first("east"), "--insecure", "--once")
    assert "SITE " in screen and "pieces " in screen
    for n in NAMES:
        three.workers[n].do("leave")
    for n in NAMES:
        until(lambda n=n: all(b["settled"] for b in three.between(n)))
    for n in NAMES:
        assert three.servers[n].stop()["clock"] == (7 if n == "east" else 5)


def test_a_server_that_is_killed_comes_back_and_nothing_is_lost(two):
    options = {n: ("--store", f"kept-{n}", "--checkpoint-every", "3") for n in two.names}
    for n in two.names:
        two.start(n, *options[n])
    two.join(two.names)
    two.rounds(two.names, 4)
    two.agree(two.names)
    two.servers["west"].kill()
    two.servers["east"].says("site west is away")
    two.rounds(["east"], 3)
    two.start("west", *options["west"])
    two.servers["east"].says("site west is back")
    two.rounds(two.names, 2)
    two.agree(two.names)


def test_pieces_that_came_before_their_table_outlive_the_server(two):
    """They are taken with the table, before any checkpoint: the journal has the table first."""
    options = {n: ("--store", f"kept-{n}", "--checkpoint-every", "1000") for n in two.names}
    for n in two.names:
        two.start(n, *options[n])
    two.join(["east"])
    two.rounds(["east"], 3)
    until(lambda: all(s["sent_bytes"] > 4 * 400 and s["unacked_bytes"] == 0
                      for s in two.other("east", "west")))
    two.join(["west"])
    two.agree(two.names)
    until(lambda: all(b["log_bytes"] == 0 for b in two.between("east")))  # It is stored there.
    two.servers["west"].kill()
    two.start("west", *options["west"])
    two.rounds(two.names, 2)
    two.agree(two.names)


def test_with_broadcast_a_server_that_is_killed_takes_a_copy(two):
    for n in two.names:
        two.start(n, "--delivery", "broadcast")
    two.join(two.names)
    two.rounds(two.names, 4)
    two.agree(two.names)
    two.servers["west"].kill()
    two.rounds(["east"], 3)
    two.start("west", "--delivery", "broadcast")
    two.rounds(two.names, 4)  # What its worker sent while it was let in again may not count.
    least = two.pushed - 4
    until(lambda: two.workers["east"].do("read model") == two.workers["west"].do("read model"))
    assert least <= two.workers["east"].do("read model")[0] <= two.pushed


def test_with_broadcast_and_a_store_all_that_was_shared_is_there_again(two):
    """Its checkpoint is older than what others have: it takes a copy all the same."""
    options = {n: ("--delivery", "broadcast", "--store", f"kept-{n}", "--checkpoint-every", "3")
               for n in two.names}
    for n in two.names:
        two.start(n, *options[n])
    two.join(two.names)
    two.rounds(two.names, 4)
    two.agree(two.names)
    until(lambda: list((two.folder / "kept-west").rglob("*.ckpt")))
    two.servers["west"].kill()
    two.servers["east"].says("site west is away")
    two.rounds(["east"], 3)
    two.start("west", *options["west"])
    two.agree(two.names)
    # The worker is let in at the clock of the copy, and what it adds before that does not count.
    two.rounds(["west"], 1)
    until(lambda: two.workers["east"].do("read model") == two.workers["west"].do("read model"))
    now = two.workers["east"].do("read model")[0]
    assert two.pushed - 1 <= now <= two.pushed
    two.pushed = now
    two.rounds(two.names, 4)
    two.agree(two.names)


def test_a_site_that_is_killed_whole_takes_a_copy(two):
    for n in two.names:
        two.start(n)
    two.join(two.names)
    two.rounds(two.names, 4)
    two.agree(two.names)
    two.servers["west"].kill()
    two.workers["west"].kill()
    two.rounds(["east"], 3)
    two.start("west")
    two.join(["west"])
    two.agree(two.names)
    two.rounds(["west"], 2, 5)
    two.agree(two.names)
    assert sum(b["copies"] for b in two.between("east")) >= 1


def test_a_site_that_starts_late_gets_a_copy(site):
    fleet = Fleet(site, more=", away: 100ms")
    here = NAMES[:2]
    for n in here:
        fleet.start(n)
    fleet.join(here)  # They begin without the third when it has not come for a while.
    fleet.rounds(here, 20)
    fleet.agree(here)
    fleet.start("north")
    fleet.join(["north"])
    fleet.agree(NAMES)
    fleet.rounds(NAMES, 3)
    fleet.agree(NAMES)


def test_sites_with_other_terms_say_so_until_one_is_put_right(two):
    two.write("other.yaml", "between: {threshold: 5%, weight: sum, staleness: 100}\n")
    two.start("east")
    two.start("west", between="other.yaml")
    words = ("threshold: 0 at site east, 0.05 at site west: all sites must have the same; "
             "start one of them again with the other's")
    for n, other in (("east", "west"), ("west", "east")):
        two.servers[n].says(f"site {other} is not there: " + words)
        until(lambda n=n: words in two.site.reasons(two.first(n)).get("site", {}).get("text", ""))
    two.servers["west"].stop()
    two.start("west")
    two.servers["east"].says("site west is there")
    two.join(two.names)
    two.rounds(two.names, 2)
    two.agree(two.names)


def test_sites_with_other_lists_say_so_until_one_is_put_right(two):
    text = (two.folder / "sites.yaml").read_text()
    extra = 'sites:\n  - {name: north, address: "tcp://127.0.0.1:9"}\n'
    (two.folder / "more.yaml").write_text(text.replace("sites:\n", extra))
    two.start("east")
    two.start("west", between="more.yaml")
    words = ("site north is in the list of site west and not in that of site east: all sites must "
             "have the same list; start one of them again with the other's")
    for n, other in (("east", "west"), ("west", "east")):
        two.servers[n].says(f"site {other} is not there: " + words)
    two.servers["west"].stop()
    two.start("west")
    two.join(two.names)
    two.rounds(two.names, 2)
    two.agree(two.names)


def test_sites_with_other_tables_say_so(two):
    for n in two.names:
        two.start(n)
    for n in two.names:
        until(lambda n=n: all(b["began"] for b in two.between(n)))
    two.join(["east"], rows=4)
    two.join(["west"], rows=5)
    words = "table model is 4 x 100 at site east and 5 x 100 at site west"
    for n, other in (("east", "west"), ("west", "east")):
        # Away, if it had been said that it is there.
        two.servers[n].says(f"site {other} is (away|not there).*" + words)
        until(lambda n=n: words in two.site.reasons(two.first(n)).get("site", {}).get("text", ""))
    two.workers["east"].do("rounds 2 model 1")
    two.workers["west"].do("rounds 2 model 1")


SITES = ('sites: [{name: east, address: "tcp://127.0.0.1:1"},\n'
         '        {name: west, address: "tcp://127.0.0.1:2"}]\n')


@pytest.mark.parametrize("status, error, text, options, words", [
    (78, "STRAIT-0403", SITES + "betwen: {}\n", [], "s.yaml:3:1: betwen: no such key: did you mean "
     "'between'?"),
    (78, "STRAIT-0403", SITES, ["--site", "south"], "this server is of site 'south', which is not "
     "among them: add it; the sites are east, west"),
    (78, "STRAIT-0403", SITES.replace("tcp", "tls"), [], "s.yaml:1:31: sites[0].address: this "
     "server has no certificate"),
    (78, "STRAIT-0403", SITES + "between: {threshold: 2}\nbetween: {}\n", [], "s.yaml:4:1"),
    (78, "STRAIT-0403", SITES.replace("west", "east"), [], "names have to differ"),
    (2, "STRAIT-0009", SITES.replace("127.0.0.1:2", "10.0.0.1:2"), [], "site west at "
     "tcp://10.0.0.1:2: not encrypted, and not on this machine"),
    (1, "STRAIT-0101", None, [], "s.yaml: No such file"),
])
def test_files_that_cannot_be_are_refused_at_the_start(strait, status, error, text, options, words):
    if text is not None:
        (strait.folder / "s.yaml").write_text(text)
    done = strait.run("server", "--insecure", "--listen", "tcp://127.0.0.1:0", "--between",
                      "s.yaml", *(options or ["--site", "east"]))
    assert done.returncode == status and error in done.stderr, done.stderr
    assert words in done.stderr, done.stderr


def test_further_servers_are_told_of_the_sites_too(two):
    first = two.start("east", "--servers", "2", "--workers", "1")
    assert "--between sites.yaml" in first.ready["servers"][0]
    done = two.site.strait.run(
        "server", "--insecure", "--first", first.first, "--servers", "2", "--index", "1",
        "--lanes", "2", "--listen", "tcp://127.0.0.1:0")
    assert done.returncode == 78, done.stderr
    assert "shares its model with other sites; give it to all servers" in done.stderr


# Runs.

RUN = """\
run: sites
topology:
  regions: [eu, us, ap]
  default_link: {rate: 200mbit, rtt: 60ms, price: 0.02}
sites:
  - {region: eu, workers: 2, lanes: 2}
  - {region: us, workers: 1, servers: 2}
  - {region: ap, workers: 1, lanes: 2}
job: {name: mf, options: {users: 60, items: 40, ratings: 2000}}
sync: {order: fixed}
between: {goal: cost}
evaluate: {every: 5}
stop: {clocks: 30}
"""


@pytest.fixture
def sites(strait):
    (strait.folder / "a.yaml").write_text(RUN)
    return strait


def events(strait, record):
    return [json.loads(line) for line in
            (strait.folder / record / "events.jsonl").read_text().splitlines()]


def values_of(strait, record, site, servers):
    """The model of a site, as its last checkpoints have it."""
    for name in servers:
        (strait.folder / record / "checkpoints" / site).mkdir(parents=True, exist_ok=True)
        source = strait.folder / record / "checkpoints" / name
        subprocess.run(["cp", "-r", f"{source}/.", f"{source.parent / site}"], check=True)
    strait.ok("store", "export", "r", "--store", f"{record}/checkpoints/{site}", "-o",
              f"{site}.npy")
    raw = (strait.folder / f"{site}.npy").read_bytes()
    import struct
    data = raw[raw.index(b"\n") + 1:]
    return struct.unpack(f"<{len(data) // 4}f", data)


def test_the_same_file_on_processes_and_in_the_simulator(sites):
    steps = ["--set", "compute.time=50ms"]
    sim = sites.json("run", "a.yaml", "--no-record", *steps)
    real = sites.json("run", "a.yaml", "--on", "local", "-o", "r", *steps)
    assert real["end"] == sim["end"] == "clocks"
    assert real["clocks"] == sim["clocks"] == 30
    # When a piece of another site arrives is up to the machine: within the staleness, not the same.
    assert real["objective"] == pytest.approx(sim["objective"], rel=0.1)
    assert [s["name"] for s in real["sites"]] == ["eu", "us", "ap"]
    for a, b in zip(real["sites"], sim["sites"]):
        assert a["shared"]["lanes"] == b["shared"]["lanes"] == 2
        assert a["shared"]["pieces_made"] == b["shared"]["pieces_made"]
        assert a["shared"]["log_bytes"] == 0  # All of it has gone before the servers stopped.
    for link in real["links"]:
        (twin,) = [x for x in sim["links"]
                   if (x["from"], x["to"]) == (link["from"], link["to"])]
        assert link["bytes"] == pytest.approx(twin["bytes"], rel=0.5)  # Much of it is headers.
    assert {p.name for p in (sites.folder / "r").glob("between-*")} == {
        "between-eu.yaml", "between-us.yaml", "between-ap.yaml"}


@pytest.mark.parametrize("fault", ["kill site us", "kill us-s1", "kill ap-s0"])
def test_members_are_killed_in_the_middle_and_all_ends_in_agreement(sites, fault):
    answer = sites.json(
        "run", "a.yaml", "--on", "local", "-o", "r", "--set", "checkpoint.every=5", "--set",
        "stop.clocks=600", "--set", f'faults=["at 1s {fault} for 500ms"]')
    assert answer["end"] == "clocks" and answer["clocks"] == 600
    assert answer["kills"] == answer["restarts"] == (3 if "site" in fault else 1)
    killed = [e["who"] for e in events(sites, "r") if e["event"] == "killed"]
    assert sorted(killed) == (["us-s0", "us-s1", "w2"] if "site" in fault else [fault.split()[-1]])
    eu = values_of(sites, "r", "eu", ["eu-s0"])
    assert any(eu)
    for name, servers in (("us", ["us-s0", "us-s1"]), ("ap", ["ap-s0"])):
        assert values_of(sites, "r", name, servers) == pytest.approx(eu, rel=1e-3, abs=1e-4)


def test_the_goal_is_judged_over_all_sites(sites):
    best = sites.json("run", "a.yaml", "--no-record")["objective"]
    answer = sites.json("run", "a.yaml", "--on", "local", "--no-record", "--set",
                        "stop.clocks=400", "--set", f"stop.objective={best * 1.02}")
    assert answer["end"] == "goal" and answer["clocks"] < 400
    assert answer["objective"] <= best * 1.02


def test_ctrl_c_ends_all_of_it(sites):
    child = subprocess.Popen(
        [sites.bin, "run", "a.yaml", "--on", "local", "-o", "r", "--set", "stop.clocks=1000000"],
        cwd=sites.folder, env=sites.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    record = sites.folder / "r" / "events.jsonl"
    until(lambda: record.exists() and record.read_text().count('"joined"') == 4)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130, (out, err)
    assert events(sites, "r")[-1]["text"] == "interrupted"

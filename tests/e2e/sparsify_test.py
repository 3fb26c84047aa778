"""What is small is held back inside of a site: simulated and with real processes, less goes over
the links and nothing else changes; what does not go together is refused; top shows how it goes."""

import csv

import pytest

from site_of import until

FILE = """
run: sparsified
topology:
  regions: [here, there]
  links: [{between: [here, there], rate: 100mbit, delay: 2ms}]
servers: [{region: here}]
workers: [{region: here}, {region: there}]
job: {name: logreg}
sync: {delivery: broadcast%s}
stop: {clocks: 30}
"""

TWO = ', filter: "dvf:low=0.005,up=0.02 | auto", required: %s'


@pytest.fixture
def sparsified(strait):
    for name, sync in (("plain", ""), ("sparsified", ', filter: "dvf:delta=0.005 | auto"'),
                       ("wide", TWO % "1mbit"), ("narrow", TWO % "10gbit")):
        (strait.folder / f"{name}.yaml").write_text(FILE % sync)
    return strait


def uppers(strait, record):
    with open(strait.folder / record / "scalars.csv", encoding="utf-8") as f:
        return [row["upper"] for row in csv.DictReader(f)]


@pytest.mark.parametrize("ground", ["sim", "local"])
def test_less_goes_and_all_clocks_are_there(sparsified, ground):
    plain = sparsified.json("run", "plain.yaml", "--on", ground, "-o", "p")
    less = sparsified.json("run", "sparsified.yaml", "--on", ground, "-o", "s")
    assert plain["clocks"] == less["clocks"] == 30
    if ground == "sim":  # Of so short a run a proxy has not told all.
        assert less["wan_bytes"] < plain["wan_bytes"] * 0.8
    assert abs(less["objective"] - plain["objective"]) < 0.1 * plain["objective"]
    assert plain["codec_seconds"] is None and plain["sparsified"] is None
    assert less["codec_seconds"] > 0
    for what in less["sparsified"], less["sparsified"]["servers"]:
        assert 0 < what["sent_elements"] < what["elements"]
        assert 0 < what["bytes"] < what["elements"] * 4 * 0.8
    assert less["sparsified"]["servers"]["codec_seconds"] > 0
    assert set(uppers(sparsified, "p")) == {""} and set(uppers(sparsified, "s")) == {"0"}
    page = (sparsified.folder / "s" / "report.html").read_text(encoding="utf-8")
    assert "of all entries; compressing took workers " in page


def test_thresholds_follow_what_links_carry(sparsified):
    narrow = sparsified.json("run", "narrow.yaml", "-o", "n")
    assert set(uppers(sparsified, "n")) == {"2"}
    one = sparsified.json("run", "sparsified.yaml", "-o", "s")
    assert narrow["sparsified"]["sent_elements"] < one["sparsified"]["sent_elements"]
    sparsified.ok("run", "wide.yaml", "-o", "w", "--set", "job={name: synthetic, options: {mb: 2}}",
              "--set", "evaluate.every=0", "--set",
              'sync.filter="dvf:low=1e-9,up=1e-8 | dense"')
    assert uppers(sparsified, "w")[0] != "0" and uppers(sparsified, "w")[-1] == "0"


def test_it_is_printed_and_compared(sparsified):
    printed = sparsified.ok("run", "wide.yaml", "--dry-run")
    chain = '"dvf:low=0.005,up=0.02 | auto"'
    assert f"push: {chain}, broadcast: {chain}, required: 1mbit}}\n" in printed
    sparsified.ok("run", "plain.yaml", "-o", "p")
    sparsified.ok("run", "sparsified.yaml", "-o", "s")
    runs = {r["name"]: r for r in sparsified.json("compare", "p", "s", "-o", "c")["runs"]}
    assert runs["p"]["codec_seconds"] is None and runs["s"]["codec_seconds"] > 0


@pytest.mark.parametrize("sync, words", [
    (", filter: dvf", "9:37: sync.filter: chain 'dvf': dvf needs a threshold"),
    (', broadcast: "all | al"', "9:40: sync.broadcast: chain 'all | al': 'al' is unknown"),
    (', filter: "dvf:low=1,up=2"', "9:37: sync.filter: has two thresholds"),
    (", required: 1mbit", "9:39: sync.required: chooses between two thresholds"),
    (", tree: {degree: 65}", "9:44: sync.tree.degree: 65 is out of range"),
])
def test_what_cannot_be_is_refused_with_its_line(strait, sync, words):
    (strait.folder / "bad.yaml").write_text(FILE % sync)
    assert f"bad.yaml:{words}" in strait.fails(78, "STRAIT-0403", "run", "bad.yaml", "-o", "r")
    assert not (strait.folder / "r").exists()


@pytest.mark.parametrize("error, options, words", [
    ("STRAIT-0010", ["--broadcast", "all"], "needs delivery: broadcast"),
    ("STRAIT-0010", ["--tree", "degree=5,depth=3"], "needs delivery: broadcast"),
    ("STRAIT-0010", ["--push", "dvf:low=1,up=2"], "--required RATE"),
    ("STRAIT-0010", ["--push", "all", "--required", "1mbit"], "no chain has two"),
    ("STRAIT-0003", ["--push", "al"], "--push: chain 'al': 'al' is unknown"),
    ("STRAIT-0003", ["--tree", "5"], "--tree: '5' is not a tree"),
    ("STRAIT-0003", ["--required", "fast"], "--required"),
])
def test_servers_refuse_what_does_not_go_together(strait, error, options, words):
    assert words in strait.fails(2, error, "server", "--insecure", "--site", "home", *options)


def test_a_server_says_what_it_was_told_and_further_ones_must_agree(strait, site):
    first = site.server("--servers", "2", "--delivery", "broadcast", "--push", "dvf:delta=0.5",
                        "--tree", "degree=5,depth=3")
    assert first.ready["push"] == "dvf:delta=0.5 | auto"
    assert first.ready["tree"] == "degree=5,depth=3,leaf=0"
    assert "broadcast" not in first.ready
    further = ["server", "--insecure", "--first", first.first, "--servers", "2", "--index", "1",
               "--listen", "127.0.0.1:0", "-q"]
    for option in (["--push", "dvf:delta=0.25"], ["--broadcast", "all"]):
        said = strait.fails(78, "STRAIT-0207", *further, *option)
        assert option[0][2:] in said
    second = site.server("--first", first.first, "--servers", "2", "--index", "1")
    second.stop()
    first.stop()


def test_top_shows_what_is_held_back(strait, site):
    server = site.server("--workers", "1", "--delivery", "broadcast", "--push",
                         "dvf:low=0.001,up=0.5", "--broadcast", "dvf:delta=0.001", "--required",
                         "100gbit", "--job", "logreg", "--clocks", "1000000", "--evaluate-every",
                         "0")
    worker = site.run("worker", "--join", server.first, "--insecure", "--name", "w0")

    def top(*options):
        return strait.ok("top", "--join", server.first, "--insecure", "--once", *options)

    until(lambda: "workers hold back: up, delta " in top())
    shown = top()
    assert "% of entries sent, slowest link " in shown and "lanes hold back: low, delta " in shown
    member = strait.json("top", "--join", server.first, "--insecure", "--once")["members"][0]
    assert member["sparsified"]["upper"] is True
    assert 0 < member["sparsified"]["sent_elements"] < member["sparsified"]["elements"]
    worker.kill()
    server.stop()

"""strait plan links, and strait plan place --join: what running sites say of their links, as a
network to plan with."""

import json
import signal

import pytest

from port_of import free_port
from site_of import until
from sites_test import NAMES, Fleet

SENTENCE = "3 sites, 3 links, up and of known rate. Each direction of a link has its rate"


class Cluster(Fleet):
    """Sites that can be asked for their links."""

    def ask(self, name, *command):
        return self.site.strait.run(*command, "--join", self.first(name), "--insecure", "-q")

    def links(self, name, *options):
        """The network, or None if there is none yet."""
        done = self.ask(name, "plan", "links", "--json", *options)
        assert done.returncode == 0 or "STRAIT-0416" in done.stderr, done.stderr
        return json.loads(done.stdout) if done.returncode == 0 else None

    def text(self, name, *options):
        """As people see it, spaces counted once."""
        done = self.site.strait.run("plan", "links", "--join", self.first(name), "--insecure",
                                    *options)
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split()), done.stderr

    def work_until_measured(self, names):
        def measured():
            self.rounds(names, 5)
            network = self.links(names[0])
            return network and len(network["links"]) == len(names) * (len(names) - 1) / 2
        until(measured)


def started(site, names=NAMES, rows=400):
    fleet = Cluster(site, names)
    for n in names:
        fleet.start(n)
    fleet.join(names, rows=rows)
    return fleet


def pairs(network):
    return [(x["a"], x["b"]) for x in network["links"]]


def place(strait, *args):
    return strait.json("plan", "place", *args)


# What is measured.


def test_measured_links_are_a_network_to_plan_with(site):
    strait, fleet = site.strait, started(site)
    fleet.work_until_measured(NAMES)
    network = fleet.links("east")
    assert list(network) == ["schema", "name", "duplex", "source", "regions", "links"]
    assert network["duplex"] == "full" and network["name"] == fleet.first("east")
    assert [r["id"] for r in network["regions"]] == ["east", "north", "west"]
    assert pairs(network) == [("east", "north"), ("east", "west"), ("north", "west")]
    assert all(x["mbps"] > 0 and 0 < x["rtt_ms"] < 1000 for x in network["links"])
    assert len(network["source"]) == 1 and fleet.first("east") in network["source"][0]

    (strait.folder / "n.json").write_text(json.dumps(network))
    answer = place(strait, "n.json", "--bytes", "1MB")
    assert answer["server"] in NAMES and answer["bytes"] == 1_000_000 and answer["optimal"]
    assert answer["duplex"] == "full" and answer["topology"] == fleet.first("east")
    text, errors = fleet.text("east", "-o", "again.json")
    assert "east north" in text and "both" in text and SENTENCE in text
    assert "next: strait plan place again.json --bytes SIZE" in errors
    assert place(strait, "again.json", "--bytes", "1MB")["server"] in NAMES
    printed = fleet.ask("east", "plan", "links", "-o", "-").stdout
    assert pairs(json.loads(printed)) == pairs(network)


def test_it_is_the_same_whoever_is_asked(site):
    fleet = started(site)
    fleet.work_until_measured(NAMES)
    for n in NAMES:
        network = fleet.links(n)
        assert [r["id"] for r in network["regions"]] == ["east", "north", "west"]
        assert len(pairs(network)) == 3


def test_a_plan_for_a_running_cluster(site):
    strait, fleet = site.strait, started(site)
    fleet.work_until_measured(NAMES)
    join = ("--join", fleet.first("west"), "--insecure", "-q")
    answer = place(strait, *join)
    assert answer["topology"] == fleet.first("west") and answer["server"] in NAMES
    assert 160_000 <= answer["bytes"] < 200_000  # 400 rows of 100 floats, and what is around them.
    assert len(answer["flows"]) == 2 and len(answer["links"]) == 3
    assert any("--bytes says otherwise" in n for n in answer["notes"])
    answer = place(strait, *join, "--bytes", "92MB", "--server", "north", "--duplex", "shared")
    assert answer["server"] == "north" and answer["bytes"] == 92_000_000
    assert answer["notes"] == [] and answer["duplex"] == "shared"
    done = strait.run("plan", "place", "--join", fleet.first("west"), "--insecure", "--fail",
                      "links", "--html", "p.html")
    assert done.returncode == 0, done.stderr
    assert "Put the server in" in done.stdout and "note: the tables of a site" in done.stderr
    assert (strait.folder / "p.html").exists()
    assert "there is no region 'south'" in strait.fails(
        2, "STRAIT-0003", "plan", "place", *join, "--server", "south")


# What is not known.


def test_links_without_traffic_are_left_out_or_assumed(site):
    fleet = Cluster(site, NAMES[:2])
    for n in fleet.names:
        fleet.start(n)
    for n in fleet.names:
        until(lambda n=n: all(b["began"] for b in fleet.between(n)))
    until(lambda: "up, not measured yet both" in fleet.text("east")[0])
    text, errors = fleet.text("east")
    assert "2 sites, 1 link: 0 up and of known rate, 1 up and not measured yet." in text
    assert "unless --assume RATE says otherwise" in text
    done = fleet.ask("east", "plan", "links", "--json")
    assert done.returncode == 1 and done.stdout == "" and "STRAIT-0416" in done.stderr
    assert "none is up and of known rate (0 down, 1 not measured)" in done.stderr
    done = fleet.ask("east", "plan", "links", "-o", "n.json")
    assert done.returncode == 1 and not (site.strait.folder / "n.json").exists()
    network = fleet.links("east", "--assume", "100M")
    assert network["links"][0]["mbps"] == 100
    assert network["source"][1] == ("1 link not measured yet, and taken for 100 Mbit/s: "
                                    "east - west")
    done = fleet.ask("east", "plan", "place", "--assume", "100M")
    assert done.returncode == 2 and "say its size with --bytes" in done.stderr
    done = fleet.ask("east", "plan", "place", "--assume", "100M", "--bytes", "1MB", "--json")
    assert json.loads(done.stdout)["links"][0]["mbps"] == 100


def test_a_site_that_is_gone_is_left_out(site):
    fleet = started(site)
    fleet.work_until_measured(NAMES)
    fleet.servers["north"].kill()
    gone = until(lambda: (n := fleet.links("west")) and len(n["regions"]) == 2 and n)
    assert pairs(gone) == [("east", "west")]
    assert gone["source"][1:] == ["2 links down, and left out: east - north, north - west",
                                  "1 site left out, as all links there are down: north"]
    text, errors = fleet.text("west")
    assert "3 links: 1 up and of known rate, 2 down." in text and " down east" in text
    assert f"note: site north at {fleet.first('north')} could not be asked: " in errors
    answer = place(site.strait, "--join", fleet.first("west"), "--insecure", "-q")
    assert {answer["server"], answer["flows"][0]["from"]} == {"east", "west"}
    assert answer["notes"][0].startswith("2 links down")


def test_a_site_that_does_not_answer_is_waited_for_as_long_as_is_said(site):
    fleet = started(site, NAMES[:2])
    fleet.work_until_measured(NAMES[:2])
    fleet.servers["west"].child.send_signal(signal.SIGSTOP)
    text, errors = fleet.text("east", "--timeout", "300ms")
    fleet.servers["west"].child.send_signal(signal.SIGCONT)
    assert "could not be asked: no answer in time" in errors
    assert " east 2 sites, 1 link" in text  # Said by.


# Certificates.


def test_with_an_operators_certificate(site):
    strait, fleet = site.strait, Cluster(site, NAMES[:2])
    strait.ok("cert", "init", "ca")
    for n in fleet.names:
        strait.ok("cert", "issue", "ca", f"server/{n}/{n}-s", "-o", "certs")
        strait.ok("cert", "issue", "ca", f"worker/{n}/{n}-w", "-o", "certs")
    strait.ok("cert", "issue", "ca", "operator/any/me", "-o", "certs")
    text = (strait.folder / "sites.yaml").read_text().replace("tcp://", "tls://")
    (strait.folder / "sites.yaml").write_text(text)
    for n in fleet.names:
        site.server("--cert", "certs", "--name", f"{n}-s", "--between", "sites.yaml",
                    listen=fleet.first(n).replace("tcp", "tls"), insecure=False)
    join = ("--join", fleet.first("east").replace("tcp", "tls"), "--cert", "certs")
    me = (*join, "--name", "me", "-q", "--assume", "10M")
    until(lambda: " both" in strait.ok("plan", "links", *me))
    until(lambda: strait.run("plan", "links", *me, "--json").returncode == 0)  # They have met.
    assert pairs(strait.json("plan", "links", *me)) == [("east", "west")]
    assert place(strait, *me, "--bytes", "1MB")["links"][0]["mbps"] == 10
    strait.fails(2, "STRAIT-0112", "plan", "links", *join, "--name", "east-s", "-q")


# What is refused.


@pytest.mark.parametrize("command", [("links",), ("place", "--bytes", "1MB")])
def test_who_cannot_be_reached_or_is_alone(site, command):
    port = free_port()
    strait, server = site.strait, site.server()
    words = strait.fails(69, "STRAIT-0201", "plan", *command, "--join", f"tcp://127.0.0.1:{port}",
                         "--insecure", "-q")
    assert f"127.0.0.1:{port}: Connection refused" in words
    words = strait.fails(1, "STRAIT-0416", "plan", *command, "--join", server.first, "--insecure",
                         "-q")
    assert "site home has no others to share with" in words
    strait.fails(2, "STRAIT-0009", "plan", *command, "--join", server.first, "-q")
    strait.fails(2, "STRAIT-0003", "plan", *command, "--join", "nowhere", "--insecure", "-q")


@pytest.mark.parametrize("error, options, words", [
    ("STRAIT-0004", [], "missing argument TOPOLOGY: the network; or --join ADDRESS"),
    ("STRAIT-0004", ["--bytes", "1MB"], "missing argument TOPOLOGY: the network; or --join"),
    ("STRAIT-0004", ["n.json"], "missing option --bytes SIZE"),
    ("STRAIT-0010", ["n.json", "--join", "127.0.0.1:9", "--insecure"],
     "--join 127.0.0.1:9: the network is that of n.json already: leave one of the two out"),
    ("STRAIT-0010", ["n.json", "--bytes", "1MB", "--assume", "1M"], "--assume is for --join"),
    ("STRAIT-0010", ["-", "--bytes", "1MB", "--insecure"], "--insecure is for --join"),
    ("STRAIT-0003", ["--join", "127.0.0.1:9", "--assume", "fast"], "--assume"),
])
def test_settings_that_do_not_go_together(strait, error, options, words):
    assert words in strait.fails(2, error, "plan", "place", *options)


# Sites around a centre.


class Around(Cluster):
    """In a line, with west in the middle."""

    def __init__(self, site, more=""):
        super().__init__(site)
        self.write("sites.yaml", "between: {preset: central%s}\nlinks:\n" % more +
                   "  - {a: east, b: west, rate: 100mbit}\n  - {a: west, b: north, rate: 50mbit}\n")


def test_sites_around_a_centre_have_the_links_that_their_file_names(site):
    fleet = Around(site)
    for n in NAMES:
        fleet.start(n)
    fleet.join(NAMES, rows=2000)
    fleet.rounds(NAMES, 3)
    network = until(lambda: (n := fleet.links("east")) and len(n["links"]) == 2 and n)
    assert pairs(network) == [("east", "west"), ("north", "west")]
    assert all(x["mbps"] > 0 and x["rtt_ms"] > 0 for x in network["links"])
    assert "up both" in fleet.text("north")[0]
    answer = place(site.strait, "--join", fleet.first("north"), "--insecure", "-q", "--model",
                   "pipelined")
    assert answer["bytes"] == 2000 * 100 * 4 and answer["server"] in NAMES
    assert any(n.startswith("a round of the sites has 800 kB") for n in answer["notes"])
    assert {len(f["path"]) for f in answer["flows"]} <= {2, 3}
    assert not any({"east", "north"} <= {x["a"], x["b"]} for x in answer["links"])


def test_plans_for_sites_around_a_centre_keep_what_these_are_told(site):
    fleet = Around(site, ", no_centre: [west], reserve: 20%")
    for n in NAMES:
        fleet.start(n)
    fleet.join(NAMES)
    until(lambda: (n := fleet.links("east")) and len(n["links"]) == 2)
    ask = ["--join", fleet.first("east"), "--insecure", "-q"]
    answer = place(site.strait, *ask)
    assert answer["reserve"] == 0.2 and answer["server"] != "west"
    assert "the sites are told to leave 20% of each link to others" in answer["notes"]
    assert all(x["used_mbps"] <= 0.81 * x["mbps"] for x in answer["links"])
    assert place(site.strait, *ask, "--reserve", "0")["reserve"] == 0


def test_around_a_centre_others_have_heard_of_a_site_that_does_not_answer(site):
    fleet = Around(site)
    for n in NAMES:
        fleet.start(n)
    fleet.join(NAMES)
    until(lambda: (n := fleet.links("east")) and len(n["links"]) == 2)
    for n in ("west", "north"):
        fleet.servers[n].child.send_signal(signal.SIGSTOP)
    text, errors = fleet.text("east", "--timeout", "300ms")
    for n in ("west", "north"):
        fleet.servers[n].child.send_signal(signal.SIGCONT)
    assert "north west" in text and text.count(" east ") >= 2, text  # Said by it, both of them.
    assert errors.count("no answer in time") == 2

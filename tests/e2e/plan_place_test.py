"""strait plan place and plan diff: what they answer against all plans there are, what they say, and
what they refuse."""

import itertools
import json
import os
import random
import signal
import subprocess
import time

import pytest

BYTES = 92_000_000
KEYS = ["schema", "server", "time_s", "lp_bound_s", "bound_s", "optimal", "gap", "usd", "usd_bound",
        "flows", "candidates", "baselines", "links", "topology", "bytes", "objective", "method",
        "model", "duplex", "paths", "usd_limit", "reserve", "draws", "seed", "seconds",
        "statistics", "names", "notes"]
WAYS = [(model, duplex) for model in ("hops", "pipelined") for duplex in ("shared", "full")]


# All plans there are. Nothing of this comes from the program under test.


def network(seed, nodes=5, links=7, priced=False):
    """A random network that is connected: a tree, and some links more."""
    rng = random.Random(seed)
    pairs = [(rng.randrange(i), i) for i in range(1, nodes)]
    others = [p for p in itertools.combinations(range(nodes), 2) if p not in pairs]
    pairs += rng.sample(others, min(len(others), links - len(pairs)))
    g = {"regions": [{"id": f"r{i}"} for i in range(nodes)],
         "links": [{"a": f"r{a}", "b": f"r{b}", "mbps": rng.choice([100, 250, 400, 1000])}
                   for a, b in pairs]}
    for region in g["regions"] if priced else []:
        region["usd_per_hour"] = rng.choice([0.5, 2, 100])
    for link in g["links"] if priced else []:
        link["usd_per_gb"] = rng.choice([0, 0.01, 0.02, 0.09])
    return g


def ids(g):
    return [r["id"] if isinstance(r, dict) else r for r in g["regions"]]


def link_of(g, a, b):
    return next((x for x in g["links"] if {x["a"], x["b"]} == {a, b}), None)


def simple_paths(g, at, to, no_relay=(), avoid=(), before=()):
    """All of them, each as a tuple of regions."""
    if at == to:
        yield before + (at,)
        return
    if before and at in no_relay:
        return
    for other in ids(g):
        if other not in before and other != at and link_of(g, at, other) is not None \
                and {at, other} not in avoid:
            yield from simple_paths(g, other, to, no_relay, avoid, before + (at,))


def cost(g, paths, model, duplex, size=BYTES, reserve=0):
    """Seconds and dollars of a push and pull by these paths."""
    loads = {}
    factor = 1 if (model, duplex) == ("pipelined", "full") else 2
    usd = 0
    for path in paths:
        weight = len(path) - 1 if model == "hops" else 1
        for a, b in zip(path, path[1:]):
            key = (a, b) if duplex == "full" else tuple(sorted((a, b), key=str))
            loads[key] = loads.get(key, 0) + weight
            usd += 2 * size * 1e-9 * link_of(g, a, b).get("usd_per_gb", 0)
    seconds = max(factor * size * load / (link_of(g, *key)["mbps"] * 125e3 * (1 - reserve))
                  for key, load in loads.items())
    server = next(r for r in g["regions"] if r["id"] == paths[0][-1])
    return seconds, usd + server.get("usd_per_hour", 0) / 3600 * seconds


def plans(g, model, duplex, servers=None, senders=None, no_relay=(), avoid=(), **more):
    """Every plan: its server, seconds and dollars."""
    for server in servers or ids(g):
        flows = [list(simple_paths(g, a, server, no_relay, avoid))
                 for a in senders or ids(g) if a != server]
        for choice in itertools.product(*flows):
            yield (server, *cost(g, choice, model, duplex, **more))


def check(g, answer, size=BYTES):
    """The answer is a plan, and takes what it says."""
    paths = [tuple(f["path"]) for f in answer["flows"]]
    for flow, path in zip(answer["flows"], paths):
        assert path[0] == flow["from"] and path[-1] == answer["server"]
        assert len(set(path)) == len(path)
        assert all(link_of(g, a, b) for a, b in zip(path, path[1:]))
    seconds, usd = cost(g, paths, answer["model"], answer["duplex"], size, answer["reserve"])
    assert answer["time_s"] == pytest.approx(seconds, rel=1e-7)
    if answer["usd"] is not None:
        assert answer["usd"] == pytest.approx(usd, rel=1e-7)
    factor = 1 if (answer["model"], answer["duplex"]) == ("pipelined", "full") else 2
    for flow in answer["flows"]:
        weight = len(flow["path"]) - 1 if answer["model"] == "hops" else 1
        assert flow["mbps"] == pytest.approx(factor * weight * size * 8e-6 / seconds, rel=1e-6)
    for link in answer["links"]:
        assert link["used_mbps"] <= link["mbps"] * (1 - answer["reserve"]) * (1 + 1e-6)
    assert 0 <= answer["gap"] < 1 and answer["optimal"] is (answer["gap"] < 1e-9)
    return answer


def put(strait, g, name="n.json"):
    (strait.folder / name).write_text(json.dumps(g), encoding="utf-8")
    return name


def place(strait, g, *options):
    return check(g, strait.json("plan", "place", put(strait, g), "--bytes", BYTES, *options))


def untimed(answer):
    return {**answer, "seconds": 0}


# What is answered.


@pytest.mark.parametrize("model, duplex", WAYS)
def test_no_plan_is_better_than_the_one_that_is_proven(strait, model, duplex):
    for seed in range(6):
        g = network(seed)
        answer = place(strait, g, "--model", model, "--duplex", duplex)
        every = list(plans(g, model, duplex))
        best = min(p[1] for p in every)
        assert answer["time_s"] == pytest.approx(best, rel=1e-7)
        assert answer["optimal"] is True and answer["gap"] == 0
        assert answer["paths"] == "all" and answer["method"] == "exact"
        for c in answer["candidates"]:
            own = min(p[1] for p in every if p[0] == c["server"])
            assert c["lp_bound_s"] <= c["bound_s"] <= own * (1 + 1e-7)
            assert c["time_s"] >= own * (1 - 1e-7) and c["possible"]
            if c["proven"]:
                assert c["time_s"] == pytest.approx(own, rel=1e-7)
            if c["pruned"]:
                assert c["bound_s"] >= best * (1 - 1e-7)


def test_what_is_ruled_out_is_not_used(strait):
    for seed in range(6):
        g = network(seed, 5, 8)
        a, b = g["links"][seed % 4]["a"], g["links"][seed % 4]["b"]
        rules = {"servers": ["r0", "r2", "r3"], "senders": ["r0", "r1", "r4"], "no_relay": ["r3"],
                 "avoid": [{a, b}]}
        every = list(plans(g, "hops", "shared", **rules))
        options = ["--no-server", "r1,r4", "--only", "r0", "--only", "r1,r4", "--no-relay", "r3",
                   "--avoid", f"{b}:{a}"]
        if not every:
            error = strait.fails(78, "STRAIT-0407", "plan", "place", put(strait, g), "--bytes",
                                 "1MB", *options)
            assert "too much is ruled out" in error
            continue
        answer = place(strait, g, *options)
        assert answer["time_s"] == pytest.approx(min(p[1] for p in every), rel=1e-7)
        assert [c["server"] for c in answer["candidates"]] == ["r0", "r2", "r3"]
        for flow in answer["flows"]:
            assert flow["from"] in ("r0", "r1", "r4") and "r3" not in flow["path"][1:-1]
        assert next(x for x in answer["links"] if {x["a"], x["b"]} == {a, b})["used_mbps"] == 0


def test_dollars_may_be_least_or_limited(strait):
    for seed in range(6):
        g = network(seed, priced=True)
        every = list(plans(g, "hops", "shared"))
        cheapest = min(p[2] for p in every)
        answer = place(strait, g, "--objective", "dollars")
        assert answer["usd"] == pytest.approx(cheapest, rel=1e-6)
        assert answer["usd_bound"] == pytest.approx(cheapest, rel=1e-6)
        assert answer["lp_bound_s"] is None and answer["objective"] == "dollars"
        assert all(c["lp_bound_s"] is None and "usd" in c for c in answer["candidates"])
        limit = 1.3 * cheapest
        answer = place(strait, g, "--usd-limit", limit)
        assert answer["usd"] <= limit * (1 + 1e-6) and answer["usd_limit"] == pytest.approx(limit)
        assert answer["time_s"] == pytest.approx(min(p[1] for p in every if p[2] <= limit),
                                                 rel=1e-6)
        error = strait.fails(78, "STRAIT-0407", "plan", "place", "n.json", "--bytes", BYTES,
                             "--usd-limit", cheapest / 2)
        assert "--objective dollars" in error


def test_methods_bound_each_other(strait):
    for seed in range(4):
        g = network(seed, 6, 10)
        exact = place(strait, g, "--paths", "all")
        rounded = place(strait, g, "--method", "round", "--draws", "1")
        by_bound = place(strait, g, "--method", "lp")
        assert rounded["bound_s"] <= exact["time_s"] * (1 + 1e-7)
        assert exact["time_s"] <= rounded["time_s"] * (1 + 1e-7)
        least = min(c["lp_bound_s"] for c in by_bound["candidates"])
        assert by_bound["lp_bound_s"] == least
        assert exact["statistics"]["candidates"] == 6
        assert exact["statistics"]["pruned"] + exact["statistics"]["proven"] == 6
        assert rounded["statistics"]["questions"] == 0


def test_the_answer_is_the_same_for_any_number_of_processes_and_the_same_seed(strait):
    put(strait, network(3, 8, 14))
    for method in ("exact", "round", "lp"):
        answers = [untimed(strait.json("plan", "place", "n.json", "--bytes", "1GB", "--method",
                                       method, "--seed", "7", "--jobs", jobs, "--fail", "links"))
                   for jobs in (1, 2, 3, 3)]
        assert all(a == answers[0] for a in answers)


def test_one_server_has_no_others_to_compare_with(strait):
    g = network(1)
    answer = place(strait, g, "--server", "r3")
    assert answer["server"] == "r3" and len(answer["candidates"]) == 1
    assert answer["baselines"]["random_s"] is None
    assert answer["baselines"]["most_connected"] is None
    assert answer["time_s"] == pytest.approx(min(p[1] for p in plans(g, "hops", "shared", ["r3"])))
    every = place(strait, g)
    times = {c["server"]: c["time_s"] for c in every["candidates"]}
    assert every["baselines"]["random_s"] == pytest.approx(sum(times.values()) / len(times))
    degree = {i: sum(i in (x["a"], x["b"]) for x in g["links"]) for i in ids(g)}
    most = every["baselines"]["most_connected"]
    assert degree[most["server"]] == max(degree.values())
    assert most["time_s"] == times[most["server"]]
    assert most["tie_worst_s"] == max(t for i, t in times.items()
                                      if degree[i] == max(degree.values()))


def test_a_reserve_makes_every_link_slower(strait):
    g = network(2)
    whole = place(strait, g)
    half = place(strait, g, "--reserve", "50%")
    assert half["time_s"] == pytest.approx(2 * whole["time_s"])
    assert half["reserve"] == 0.5 and place(strait, g, "--reserve", "0.5") | {"seconds": 0} == \
        untimed(half)


def test_fewer_paths_take_no_less(strait):
    g = network(5, 6, 11)
    times = [place(strait, g, "--paths", k)["time_s"] for k in ("1", "2", "8", "all")]
    assert times == sorted(times, reverse=True)
    one = place(strait, g, "--paths", "1")
    assert one["paths"] == 1 and one["baselines"]["shortest_path_s"] == one["time_s"]
    told = strait.ok("plan", "place", "n.json", "--bytes", "1MB", "--paths", "2")
    assert "which is proven to be the least with 2 paths each." in " ".join(told.split())


def test_every_key_is_there_and_ids_are_as_the_file_has_them(strait):
    g = {"name": "four", "regions": [{"id": 1, "name": "Washington, DC"}, {"id": 22, "name": "b:c"},
                                     {"id": 3, "name": "twin"}, {"id": "x", "name": "twin"}],
         "links": [{"a": 1, "b": 22, "mbps": 10}, {"a": 22, "b": 3, "mbps": 20},
                   {"a": 3, "b": "x", "mbps": 40}, {"a": 1, "b": "x", "mbps": 30}]}
    answer = place(strait, g, "--duplex", "full")
    assert list(answer) == KEYS
    assert answer["topology"] == "four" and answer["names"]["1"] == "Washington, DC"
    assert [c["server"] for c in answer["candidates"]] == [1, 22, 3, "x"]
    assert set(answer["baselines"]) == {"random_s", "most_connected", "shortest_path_s",
                                        "load_balancing_s"}
    assert set(answer["statistics"]) == {"candidates", "pruned", "proven", "questions", "paths",
                                         "dropped"}
    chosen = place(strait, g, "--no-server", "Washington, DC,3", "--avoid", "b:c:Washington, DC")
    assert [c["server"] for c in chosen["candidates"]] == [22, "x"]
    assert chosen["links"][0]["used_mbps"] == 0
    error = strait.fails(2, "STRAIT-0003", "plan", "place", "n.json", "--bytes", "1MB", "--server",
                         "twin")
    assert "several regions are called 'twin': write the id" in error


def test_a_file_may_come_from_standard_input_or_be_a_topology(strait):
    g = network(0)
    put(strait, g)
    with open(strait.folder / "n.json", encoding="utf-8") as f:
        check(g, strait.json("plan", "place", "-", "--bytes", BYTES, stdin=f))
    maps = os.path.join(os.path.dirname(__file__), "..", "..", "topologies")
    answer = strait.json("plan", "place", os.path.join(maps, "ec2-11.json"), "--bytes", "92MB")
    assert len(answer["flows"]) == 10 and answer["duplex"] == "full" and answer["usd"] > 0


def test_a_file_may_be_graphml(strait):
    (strait.folder / "n.graphml").write_text("""<?xml version="1.0"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="d0" />
<key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d1" />
<graph edgedefault="undirected">
<node id="0"><data key="d0">Here</data></node><node id="1"><data key="d0">There</data></node>
<node id="2"><data key="d0">Beyond</data></node>
<edge source="0" target="1"><data key="d1">80000000</data></edge>
<edge source="1" target="2"><data key="d1">80000000</data></edge>
</graph></graphml>""", encoding="utf-8")
    answer = strait.json("plan", "place", "n.graphml", "--bytes", "10MB", "--no-server", "Here")
    assert answer["server"] == 1 and answer["time_s"] == 2
    assert answer["names"] == {"0": "Here", "1": "There", "2": "Beyond"}
    assert answer["flows"][0]["path"] == [0, 1]


def test_rates_that_the_file_lacks_are_noted(strait):
    g = {"regions": [{"id": i, "lat": 10 * i, "lon": 0} for i in range(3)],
         "links": [{"a": 0, "b": 1}, {"a": 1, "b": 2}]}
    put(strait, g)
    done = strait.run("plan", "place", "n.json", "--bytes", "1MB")
    assert done.stderr.startswith("note: 2 of 2 links have no speed in the file")
    assert len(strait.json("plan", "place", "n.json", "--bytes", "1MB")["notes"]) == 1


# What is said.

LINE = {"regions": [{"id": "a"}, {"id": "b"}, {"id": "c"}],
        "links": [{"a": "a", "b": "b", "mbps": 80}, {"a": "b", "b": "c", "mbps": 160}]}


def test_a_plan_is_told_in_sentences_and_tables(strait):
    put(strait, LINE)
    told = strait.ok("plan", "place", "n.json", "--bytes", "10MB")
    lines = told.splitlines()
    assert " ".join(lines[:2]) == ("Put the server in b: a push and pull of 10 MB takes 2.00 s, "
                                   "which is proven to be the least.")
    assert "  a     a → b      80" in lines and "  c     c → b      80" in lines
    assert "  b          2.00 s        2.00 s  proven" in lines
    assert any(x.startswith("  3 candidates: ") for x in lines)
    assert "  a – b              80    80  100 %" in lines
    assert "  as long as the server where most links are, in b" in lines
    assert "\033" not in told and "failed" not in told
    plain = strait.ok("plan", "place", "n.json", "--bytes", "10MB", env={"LC_ALL": "C"})
    assert "  a     a > b      80" in plain.splitlines() and plain.isascii()


def test_links_that_fail_are_told_with_the_worst(strait):
    put(strait, LINE)
    told = strait.ok("plan", "place", "n.json", "--bytes", "10MB", "--fail", "links")
    assert "Of 2 links the one between a and b is missed most: without it b is not" in told
    answer = strait.json("plan", "place", "n.json", "--bytes", "10MB", "--fail", "links")
    gone = {"kept_time_s": None, "server": None, "time_s": None, "optimal": False}
    assert answer["failures"] == [{"a": "a", "b": "b", **gone}, {"a": "b", "b": "c", **gone}]
    assert answer["worst"] == answer["failures"][0]


@pytest.mark.parametrize("paths", ["all", "64"])
def test_each_link_that_fails_is_planned_for(strait, paths):
    for seed in range(3):
        g = network(seed, 5, 8)
        answer = place(strait, g, "--fail", "links", "--paths", paths)
        for failure, link in zip(answer["failures"], g["links"]):
            assert (failure["a"], failure["b"]) == (link["a"], link["b"])
            rest = {**g, "links": [x for x in g["links"] if x is not link]}
            every = list(plans(rest, "hops", "shared"))
            kept = [p[1] for p in every if p[0] == answer["server"]]
            if not every:
                assert failure["time_s"] is None and failure["server"] is None
                continue
            assert failure["time_s"] == pytest.approx(min(p[1] for p in every), rel=1e-7)
            assert failure["kept_time_s"] == pytest.approx(min(kept), rel=1e-7)
            assert failure["optimal"] is True
        kept = [f["kept_time_s"] for f in answer["failures"]]
        assert answer["worst"]["kept_time_s"] == (None if None in kept else max(kept))


def test_time_that_is_up_gives_the_best_so_far(strait):
    g = network(11, 14, 32)
    late = place(strait, g, "--time", "1ms", "--paths", "16", "--draws", "1")
    assert late["optimal"] is False or late["gap"] == 0
    assert late["bound_s"] <= late["time_s"]
    told = strait.ok("plan", "place", "n.json", "--bytes", "1MB", "--time", "1ms", "--paths", "16",
                     "--draws", "1")
    assert ("(no plan with 16 paths each is below" in " ".join(told.split())) is not late["optimal"]


# What is refused.


def refused(strait, status, error, *options, g=LINE):
    return strait.fails(status, error, "plan", "place", put(strait, g), "--bytes", "1MB", *options)


@pytest.mark.parametrize("options, words", [
    (["--server", "easst"], "--server: there is no region 'easst': did you mean 'east'?"),
    (["--no-server", "a,zebra"], "--no-server: there is no region 'zebra': the regions are a, b"),
    (["--no-relay", "b,,c"], "--no-relay: there is no region ''"),
    (["--only", ""], '--only: "" is empty'),
    (["--avoid", "a"], "'a' is not a link: write its two regions as A:B"),
    (["--avoid", "a:c"], "no link joins a and c"),
    (["--avoid", "a:b,b:eats"], "there is no region 'eats': did you mean 'east'?"),
    (["--paths", "0"], "must be from 1 to 1024"),
    (["--paths", "some"], '"all" is all simple paths'),
    (["--reserve", "100%"], "write 10%"),
    (["--reserve", "nan"], "write 10%"),
    (["--reserve", "-1"], "write 10%"),
    (["--usd-limit", "0"], "has to be above zero"),
    (["--usd-limit", "nan"], "--usd-limit"),
    (["--model", "fast"], "hops"),
    (["--jobs", "0"], "must be from 1"),
    (["--fail", "regions"], "links"),
    (["--time", "0"], "--time"),
])
def test_values_that_cannot_be_are_refused(strait, options, words):
    g = {"regions": LINE["regions"] + [{"id": "east"}],
         "links": LINE["links"] + [{"a": "c", "b": "east", "mbps": 1}]}
    assert words in refused(strait, 2, "STRAIT-0003", *options, g=g)


@pytest.mark.parametrize("options, words", [
    (["--server", "a", "--no-server", "a"], "a may not hold the server"),
    (["--no-server", "a,b,c"], "no region may hold the server"),
    (["--only", "a"], "there must be two regions that have something to send"),
    (["--usd-limit", "1", "--objective", "dollars"], "the least dollars anyway"),
])
def test_options_that_contradict_each_other_are_refused(strait, options, words):
    assert words in refused(strait, 2, "STRAIT-0010", *options)


def test_bytes_have_to_be_said(strait):
    put(strait, LINE)
    strait.fails(2, "STRAIT-0004", "plan", "place", "n.json")
    strait.fails(2, "STRAIT-0003", "plan", "place", "n.json", "--bytes", "0")


def test_dollars_without_prices_are_the_files_fault(strait):
    for option in (["--usd-limit", "1"], ["--objective", "dollars"]):
        assert "between a and b has no price" in refused(strait, 78, "STRAIT-0410", *option)


def test_no_plan_is_a_failure_that_says_why(strait):
    assert "too much is ruled out" in refused(strait, 78, "STRAIT-0407", "--avoid", "a:b")
    error = refused(strait, 78, "STRAIT-0407", "--avoid", "a:b", "--server", "c")
    assert "no path is left from a to c" in error
    error = refused(strait, 78, "STRAIT-0407", "--no-relay", "b", "--server", "c")
    assert "no path is left from a to c" in error
    done = strait.run("plan", "place", "n.json", "--bytes", "1MB", "--avoid", "a:b", "--json")
    assert done.returncode == 78 and done.stdout == ""
    assert json.loads(done.stderr)["error"]["id"] == "STRAIT-0407"


@pytest.mark.parametrize("change, words", [
    ({"links": LINE["links"][:1]}, "cannot be reached"),
    ({"links": []}, "links: has no entry"),
    ({"links": [{"a": "a", "b": "b", "mbps": 0}]}, "links[0].mbps"),
    ({"links": [{"a": "a", "b": "b", "mbps": -5}]}, "links[0].mbps"),
    ({"links": [{"a": "a", "b": "b", "mbps": "fast"}]}, "links[0].mbps"),
    ({"links": LINE["links"] + [{"a": "c", "b": "b", "mbps": 1}]}, "links[2]"),
    ({"links": LINE["links"] + [{"a": "c", "b": "d", "mbps": 1}]}, "there is no region 'd'"),
    ({"links": LINE["links"] + [{"a": "c", "b": "c", "mbps": 1}]}, "with itself"),
    ({"regions": [{"id": "a"}, {"id": "a"}]}, "regions[1].id"),
    ({"regoins": []}, "did you mean 'regions'?"),
])
def test_files_that_are_wrong_are_refused_with_the_place(strait, change, words):
    error = refused(strait, 78, "STRAIT-0410", g={**LINE, **change})
    assert "n.json:1:" in error and words in error


def test_files_that_are_no_networks_are_refused(strait):
    strait.fails(1, "STRAIT-0101", "plan", "place", "nowhere.json", "--bytes", "1MB")
    path = strait.folder / "x.json"
    for text in ('{"regions": [1, 2], "links": [{"a": 1, "b": 2, "mbps": NaN}]}', "", "[]", "{",
                 '{"regions": [1, 2], "links": [{"a": 1, "b": 2, "mbps": 1e999}]}', "[" * 100_000):
        path.write_text(text, encoding="utf-8")
        error = strait.fails(78, "STRAIT-0410", "plan", "place", "x.json", "--bytes", "1MB")
        assert "x.json:1:" in error
    with open(path, "wb") as f:
        for _ in range(100):
            f.write(b"nonsense" * 125_000)
    error = strait.fails(78, "STRAIT-0410", "plan", "place", "x.json", "--bytes", "1MB")
    assert "x.json: larger than" in error


# Processes.


def grid(side):
    """A network that takes the solver a while."""
    rng = random.Random(1)
    names = [f"{x}.{y}" for x in range(side) for y in range(side)]
    pairs = [(f"{x}.{y}", f"{x + u}.{y + 1 - u}") for x in range(side) for y in range(side)
             for u in (0, 1) if x + u < side and y + 1 - u < side]
    return {"regions": names,
            "links": [{"a": a, "b": b, "mbps": rng.randrange(100, 1000)} for a, b in pairs]}


def long_plan(strait, **options):
    put(strait, grid(16))
    return subprocess.Popen([strait.bin, "plan", "place", "n.json", "--bytes", "1MB", "--jobs",
                             "2", "--paths", "64", "--draws", "100000", "--time", "1h"],
                            cwd=strait.folder, env=strait.env, stdout=subprocess.PIPE, **options)


@pytest.fixture
def planner(strait):
    """A plan that takes long, and the processes it has, once there are two."""
    run = long_plan(strait, stderr=subprocess.PIPE, text=True)
    children = []
    until = time.monotonic() + 30
    while len(children) < 2 and time.monotonic() < until:
        with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as f:
            children = [int(x) for x in f.read().split()]
    yield run, children
    run.kill()
    run.communicate()


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("signum, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_all_processes(planner, signum, status):
    run, children = planner
    assert len(children) == 2
    run.send_signal(signum)
    out, err = run.communicate(timeout=60)
    assert run.returncode == status and out == "" and "error" not in err
    assert not any(lives(c) for c in children)


def test_processes_do_not_outlive_the_one_that_began_them(planner):
    run, children = planner
    run.kill()
    run.communicate(timeout=60)
    until = time.monotonic() + 30
    while any(lives(c) for c in children) and time.monotonic() < until:
        pass
    assert not any(lives(c) for c in children)


def test_a_process_that_dies_is_said(planner):
    run, children = planner
    os.kill(children[1], signal.SIGKILL)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 1 and out == "" and err.startswith("error[STRAIT-0415]: ")
    assert "was ended by signal 9" in err and not lives(children[0])


def test_a_terminal_sees_how_far_it_is(strait):
    ours, theirs = os.openpty()
    run = long_plan(strait, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"of 256 done" not in shown:
        shown += os.read(ours, 4096)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    shown += os.read(ours, 4096)
    os.close(ours)
    assert run.returncode == 130
    assert shown.startswith("\rbounds of regions: ░".encode()) and shown.endswith(b"\r\x1b[K")


# plan diff.


def two_plans(strait, g, *options):
    for name, more in (("before.json", ()), ("after.json", options)):
        text = strait.ok("plan", "place", put(strait, g), "--bytes", BYTES, "--json", *more)
        (strait.folder / name).write_text(text, encoding="utf-8")
    return [json.loads((strait.folder / n).read_text(encoding="utf-8"))
            for n in ("before.json", "after.json")]


def test_what_differs_between_two_plans_is_said(strait):
    g = network(4, 6, 9)
    before, after = two_plans(strait, g, "--no-server", ",".join(["r0", "r1", "r2"]))
    diff = strait.json("plan", "diff", "before.json", "after.json")
    assert diff["server"] == {"before": before["server"], "after": after["server"],
                              "moved": before["server"] != after["server"]}
    assert diff["time_s"]["change"] == pytest.approx(after["time_s"] / before["time_s"] - 1,
                                                     rel=1e-6, abs=1e-9)
    was = {f["from"]: f for f in before["flows"]}
    now = {f["from"]: f for f in after["flows"]}
    assert [f["from"] for f in diff["flows"]] == sorted({*was, *now})
    for f in diff["flows"]:
        a, b = was.get(f["from"]), now.get(f["from"])
        state = ("added" if a is None else "removed" if b is None else
                 "path" if a["path"] != b["path"] else
                 "same" if a["mbps"] == pytest.approx(b["mbps"]) else "rate")
        assert f["state"] == state
        assert (f["before"] or {}).get("path") == (a or {}).get("path")
        assert (f["after"] or {}).get("path") == (b or {}).get("path")
    used = [{frozenset((x["a"], x["b"])): x["used_mbps"] for x in p["links"]}
            for p in (before, after)]
    changes = [abs(x["after_mbps"] - x["before_mbps"]) for x in diff["links"]]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == sum(used[0][k] != pytest.approx(used[1][k]) for k in used[0])
    told = strait.ok("plan", "diff", "before.json", "after.json")
    assert told.startswith("The server ") and "flows are as before" in told.replace("is", "are")


def test_the_same_plan_does_not_differ(strait):
    two_plans(strait, LINE)
    diff = strait.json("plan", "diff", "before.json", "after.json")
    assert diff["same"] is True and diff["links"] == [] and diff["notes"] == []
    with open(strait.folder / "after.json", encoding="utf-8") as f:
        told = strait.ok("plan", "diff", "before.json", "-", stdin=f)
    assert told == ("The server stays in b; a push and pull takes 18.4 s, as before.\n"
                    "2 of 2 flows are as before.\n")


def test_plans_of_something_else_are_noted(strait):
    two_plans(strait, LINE, "--model", "pipelined")
    done = strait.run("plan", "diff", "before.json", "after.json")
    assert done.returncode == 0
    assert 'note: these are not plans for the same thing: "model" was "hops" and is "pipelined"' \
        in done.stderr


@pytest.mark.parametrize("change, words", [
    ({"schema": 2}, "has schema 2, but this program reads version 1 only"),
    ({"schema": None}, 'has no "schema"'),
    ({"server": {}}, 'has no "server"'),
    ({"time_s": "long"}, 'has no "time_s"'),
    ({"time_s": 0}, 'has no "time_s"'),
    ({"bytes": None}, 'has no "bytes"'),
    ({"flows": {}}, 'there is no list of "flows"'),
    ({"flows": [{"from": "a"}]}, "a flow has no"),
    ({"flows": [{"from": "a", "path": ["a", "b"], "mbps": 1}] * 2}, "two flows come from one"),
    ({"links": None}, 'there is no list of "links"'),
    ({"links": [{"a": "a"}]}, "a link has no"),
])
def test_what_is_not_a_plan_is_refused(strait, change, words):
    plan = two_plans(strait, LINE)[0]
    put(strait, {**plan, **change}, "bad.json")
    for order in (("bad.json", "after.json"), ("before.json", "bad.json")):
        error = strait.fails(78, "STRAIT-0408", "plan", "diff", *order)
        assert "bad.json" in error and words in error


def test_files_of_plans_that_cannot_be_read_are_refused(strait):
    two_plans(strait, LINE)
    strait.fails(1, "STRAIT-0101", "plan", "diff", "nowhere.json", "after.json")
    strait.fails(2, "STRAIT-0010", "plan", "diff", "-", "-")
    (strait.folder / "bad.json").write_text('{"schema": 1', encoding="utf-8")
    assert "bad.json:1:" in strait.fails(78, "STRAIT-0408", "plan", "diff", "bad.json",
                                         "after.json")


# bench plan.


def test_plans_are_measured_beside_a_general_solver(strait):
    put(strait, network(0))
    bench = strait.json("bench", "plan", "n.json", "--rounds", "1")
    rows = bench["plans"]
    assert [(r["model"], r["method"]) for r in rows] == [
        (model, method) for model in ("hops", "pipelined") for method in ("exact", "round", "lp")]
    for r in rows:
        assert r["network"] == "n.json" and r["candidates"] == 5 and r["seconds"] >= 0
        assert ("against" in r) is (r["method"] == "exact")
    for r in rows[::3]:
        assert r["optimal"] is True and r["against"]["proven"] == 5
        assert r["against"]["time_was_up"] is False and r["against"]["ratio"] > 0
    told = strait.ok("bench", "plan", "n.json", "--rounds", "1", "--paths", "2", "--alone")
    assert "x ours" not in told and told.startswith("n.json: 5 regions, 7 links\n")


def test_without_a_file_the_networks_of_the_paper_are_measured(strait):
    bench = strait.json("bench", "plan", "--rounds", "1", "--alone")
    assert {r["network"]: r["candidates"] for r in bench["plans"]} == {"b4.json": 12,
                                                                       "internet2.json": 9}
    assert all(r["optimal"] for r in bench["plans"] if r["method"] == "exact")

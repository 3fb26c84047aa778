"""strait plan tree: what it answers, what it draws, and what it refuses."""

import json

import pytest

KEYS = ["schema", "objective", "optimal", "parent", "depth", "leaves", "bound", "gap", "method",
        "seconds"]


def racks(aggs=2, edges=4, each=5, servers=10, **limits):
    """A problem with a server in every fourth or so place."""
    workers = [{"id": f"w{a}{e}{i}", "agg": f"a{a}", "edge": f"e{e}"}
               for a in range(aggs) for e in range(edges) for i in range(each)]
    places = [workers[s * len(workers) // servers] for s in range(servers)]
    return {"workers": workers,
            "servers": [{**p, "id": f"s{s}"} for s, p in enumerate(places)],
            **{"degree": 5, "depth": 3, **limits}}


def cost(problem, a, b):
    if "costs" in problem:
        return problem["costs"][a["id"]][b["id"]]
    if a["agg"] != b["agg"]:
        return problem.get("core_cost", 1.0)
    return problem.get("edge_cost", 0.1) if a["edge"] == b["edge"] else problem.get("agg_cost", 0.5)


def check(problem, answer, root=None):
    """The answer is a tree within its limits, and costs what it says (eq. 12)."""
    workers = {w["id"]: w for w in problem["workers"]}
    servers = [s for s in problem["servers"] if root in (None, s["id"])]
    parent = answer["parent"]
    assert list(answer) == KEYS
    assert sorted(parent) == sorted(workers)
    depths = {}
    for worker in workers:
        depth, at = 1, worker
        while parent[at] in workers:
            at, depth = parent[at], depth + 1
            assert depth <= problem["depth"]
        assert parent[at] == servers[0]["id"]
        depths[worker] = depth
    above = list(parent.values())
    assert all(above.count(p) <= problem["degree"] for p in above)
    leaves = sum(w not in above for w in workers)
    total = problem.get("leaf_cost", 0) * leaves
    for child, p in parent.items():
        froms = [workers[p]] if p in workers else servers
        total += sum(cost(problem, f, workers[child]) for f in froms)
    assert answer["objective"] == pytest.approx(total, rel=1e-6)
    assert answer["depth"] == max(depths.values())
    assert answer["leaves"] == leaves
    assert answer["bound"] <= answer["objective"]
    assert answer["gap"] == pytest.approx(1 - answer["bound"] / answer["objective"], abs=1e-6)
    assert answer["seconds"] >= 0


def put(strait, problem):
    (strait.folder / "p.json").write_text(json.dumps(problem), encoding="utf-8")
    return "p.json"


def test_racks_get_the_best_tree(strait):
    for problem in (racks(), racks(leaf_cost=0.3), racks(1, 2, 3, 2, edge_cost=1, agg_cost=2)):
        answer = strait.json("plan", "tree", put(strait, problem))
        check(problem, answer)
        assert answer["optimal"] is True and answer["gap"] == 0
        assert answer["objective"] == answer["bound"]
    grown = strait.json("plan", "tree", put(strait, racks()), "--heuristic")
    check(racks(), grown)
    assert grown["method"] == "heuristic"


def test_measured_costs_get_the_best_tree(strait):
    names = ["w1", "w2", "w3", "s"]
    problem = {"workers": [{"id": n} for n in names[:3]], "servers": [{"id": "s"}],
               "degree": 2, "depth": 2, "leaf_cost": 1,
               "costs": {a: {b: 1 + abs(i - k) for k, b in enumerate(names)}
                         for i, a in enumerate(names)}}
    answer = strait.json("plan", "tree", put(strait, problem))
    check(problem, answer)
    # w3 from the server for 2, w2 below it for 2, w1 below it or w3 for 2 or 3, and leaves.
    assert answer["objective"] == pytest.approx(2 + 2 + 3 + 2)
    assert answer["optimal"] is True


def test_one_server_has_a_tree_of_its_own(strait):
    problem = racks()
    answer = strait.json("plan", "tree", put(strait, problem), "--server", "s7")
    check(problem, answer, "s7")
    error = strait.fails(2, "STRAIT-0003", "plan", "tree", "p.json", "--server", "s77")
    assert "did you mean 's7'?" in error


def test_the_tree_is_drawn(strait):
    drawn = strait.ok("plan", "tree", put(strait, racks(1, 2, 2, 2, degree=2, depth=2)))
    lines = drawn.splitlines()
    assert lines[0] == "s0 and 1 other server"
    assert lines[1:5] == ["├─ w000     a0/e0  0.6",
                          "│  └─ w001  a0/e0  0.1",
                          "└─ w010     a0/e1  0.6",
                          "   └─ w011  a0/e1  0.1"]
    assert lines[5].startswith("objective 1.4, bound 1.4, gap 0 %, depth 2, leaves 2, ")
    assert len(lines) == 6 and "\033" not in drawn
    plain = strait.ok("plan", "tree", "p.json", env={"LC_ALL": "C"})
    assert plain.splitlines()[2] == "|  `- w001  a0/e0  0.1"


def test_a_file_may_come_from_standard_input(strait):
    put(strait, racks())
    with open(strait.folder / "p.json", encoding="utf-8") as f:
        check(racks(), strait.json("plan", "tree", "-", stdin=f))


def test_time_that_is_up_gives_the_best_so_far(strait):
    problem = racks(4, 8, 8, 10, depth=4, leaf_cost=0.2)
    answer = strait.json("plan", "tree", put(strait, problem), "--time", "100ms")
    check(problem, answer)
    assert answer["optimal"] is False and 0 < answer["gap"] < 1


def test_limits_that_no_tree_keeps_are_refused(strait):
    error = strait.fails(1, "STRAIT-0406", "plan", "tree", put(strait, racks(degree=1)))
    assert "40 workers do not fit into a tree of degree 1 and depth 3" in error
    assert "degree 4 would do, or depth 40" in error
    done = strait.run("plan", "tree", "p.json", "--json")
    assert done.returncode == 1 and done.stdout == ""
    assert json.loads(done.stderr)["error"]["id"] == "STRAIT-0406"


@pytest.mark.parametrize("change, words", [
    ({"degree": 0}, "degree: has to be a whole number"),
    ({"depth": "3"}, "depth: has to be a whole number"),
    ({"leaf_cost": -1}, "leaf_cost: has to be from 0"),
    ({"leafcost": 1}, "leafcost: no such key: did you mean 'leaf_cost'?"),
    ({"workers": []}, "workers: there are no workers"),
    ({"servers": [{"id": "w000", "agg": 1, "edge": 1}]}, "servers[0].id: is the id of workers[0]"),
    ({"servers": [{"id": "s"}]}, 'servers[0]: needs "agg"'),
    ({"costs": {}}, 'workers[0]: has a place, but there are "costs" too'),
])
def test_files_that_are_wrong_are_refused_with_the_place(strait, change, words):
    error = strait.fails(78, "STRAIT-0405", "plan", "tree", put(strait, {**racks(), **change}))
    assert "p.json:1:" in error and words in error


def test_files_that_are_not_there_or_not_json(strait):
    strait.fails(1, "STRAIT-0101", "plan", "tree", "nowhere.json")
    (strait.folder / "p.json").write_text('{"workers": NaN}', encoding="utf-8")
    assert "p.json:1:" in strait.fails(78, "STRAIT-0405", "plan", "tree", "p.json")

"""Sites around a centre: plans are followed by real processes, and changed when something fails.
Times are shown and not asserted: machines are shared; bench/plan_run.py has them.

    STRAIT_BIN=build/release/strait python3 -m pytest -s tests/e2e/central_test.py
"""

import csv
import json
import pathlib
import statistics

import pytest

from grounds_test import lab_lacks
from site_of import Child, until
from sites_test import NAMES, Fleet

TOP = pathlib.Path(__file__).resolve().parents[2]

# b and c are in the middle of what is fast; d is behind slow links.
RING = """
run: ring
topology:
  regions: [a, b, c, d, e]
  links:
    - {between: [a, b], rate: 80mbit, delay: 5ms}
    - {between: [b, c], rate: 80mbit, delay: 5ms}
    - {between: [c, d], rate: 40mbit, delay: 5ms}
    - {between: [d, a], rate: 40mbit, delay: 5ms}
    - {between: [c, e], rate: 80mbit, delay: 5ms}
    - {between: [d, e], rate: 40mbit, delay: 5ms}
sites: [{region: a}, {region: b}, {region: c}, {region: d}, {region: e}]
between:
  preset: central
  plan:
    server: b
    flows:
      - {from: a, path: [a, b]}
      - {from: c, path: [c, b]}
      - {from: d, path: [d, a, b]}
      - {from: e, path: [e, c, b]}
job: {name: synthetic, options: {elements: 80000, fine: 10, chunk: 8000}}
compute: {time: 10ms}
evaluate: {every: 10}
"""


def write(strait, text):
    (strait.folder / "ring.yaml").write_text(RING + text)


def record(strait, name):
    """Rows of scalars.csv, and texts of plans."""
    folder = strait.folder / name
    with open(folder / "scalars.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return rows, [e["text"] for e in events if e["event"] == "plan"]


def run(strait, ground, name=None, *args):
    name = name or ground
    summary = strait.json("run", "ring.yaml", "--on", ground, "-o", name, "--no-prediction", *args)
    rows, plans = record(strait, name)
    return summary, rows, plans


def around(summary, name):
    return next(s["around"] for s in summary["sites"] if s["name"] == name)


def grounds():
    return ["sim", "local"] + ([] if lab_lacks() else ["lab"])


def test_a_plan_of_the_planner_is_followed_on_every_ground(strait):
    plan = strait.json("plan", "place", str(TOP / "topologies/internet2.json"), "--bytes", "100MB",
                       "--model", "pipelined", "--duplex", "full")
    (strait.folder / "plan.json").write_text(json.dumps(plan))
    relays = {site for flow in plan["flows"] for site in flow["path"][1:-1]}
    print(f"\n  planned {plan['time_s']:.2f} s")
    for ground in grounds():
        summary = strait.json(
            "run", str(TOP / "runs/apsp/internet2.yaml"), "--on", ground, "-o", ground,
            "--no-prediction", "--set", f"between.plan={strait.folder / 'plan.json'}", "--set",
            "stop.clocks=5", "--set", "job.options={elements: 500000, fine: 10, chunk: 20000}")
        rows, plans = record(strait, ground)
        ends = [float(row["time_s"]) for row in rows]
        print(f"  {ground:7} {statistics.median(b - a for a, b in zip(ends[1:], ends[2:])):.2f} s")
        assert summary["end"] == "clocks" and len(rows) == 5
        assert plans == [f"plan 1: centre {plan['server']}"]
        for site in summary["sites"]:
            assert (site["around"]["sums_taken"] > 0) == (site["name"] == plan["server"])
            # Sums go through just those sites that the plan says, up and back.
            assert (site["around"]["passed"] > 0) == (site["name"] in relays)
            assert site["around"]["stale"] == 0 and site["around"]["carried"] == 0
    if lab_lacks():
        pytest.skip(f"part: {lab_lacks()}")


def test_a_cut_makes_another_plan_and_no_update_is_lost(strait):
    write(strait, "stop: {clocks: 25}\nfaults: [at 2s cut b c for 30s]\n")
    for ground in grounds()[-2:]:  # The simulator has tests of its own.
        summary, _, plans = run(strait, ground)
        assert summary["clocks"] == 25
        assert summary["objective"] == 125 and summary["accuracy"] == 1  # Five workers, once each.
        assert plans[0] == "plan 1: centre b"
        assert "because the link" in plans[1] and "is down" in plans[1]
        assert around(summary, "d")["passed"] > 0  # It was not on any way before.


def test_a_relay_and_a_centre_may_die(strait):
    for who in "c-s0", "b-s0":
        write(strait, f"stop: {{clocks: 25}}\nfaults: [at 2s kill {who} for 500ms]\n")
        summary, _, plans = run(strait, "local", who)
        assert summary["clocks"] == 25
        # It has taken along at most what its worker had made of the rounds that were open.
        assert 123 <= summary["objective"] <= 125
        assert len(plans) >= 2, plans
        assert around(summary, who[0])["wholes_taken"] > 0  # It has got a copy.


def test_a_site_that_stays_away_is_left_out_until_it_is_back(strait):
    write(strait, "stop: {clocks: 45}\nfaults: [at 2s kill site e for 4s]\n")
    summary, _, plans = run(strait, "local", "r", "--set", "between.away=2s")
    assert summary["clocks"] == 45
    assert any("because site e is away" in p for p in plans), plans
    assert any("because site e is back" in p for p in plans), plans
    assert 4 * 45 < summary["objective"] < 5 * 45


def test_what_is_not_finite_in_a_sum_counts_as_nothing(site):
    fleet = Fleet(site)
    fleet.write("sites.yaml", "between: {preset: central, centre: west}\n")
    for n in NAMES:
        fleet.start(n)
    fleet.workers["more"] = site.worker(fleet.first("north"), "more-w", 1, site="north")
    fleet.workers["more"].do("table model 4 100")
    fleet.workers["more"].begin("join")
    fleet.join(NAMES)
    fleet.workers["more"].end()
    everybody = [*NAMES, "more"]
    fleet.rounds(everybody, 2)
    fleet.agree(NAMES)

    # In the sum of a site, which goes to the centre.
    for n, value in zip(everybody, ("1", "1", "3e38", "3e38")):
        fleet.workers[n].begin(f"rounds 1 model {value}")
    for n in everybody:
        fleet.workers[n].end()
    fleet.pushed += 2
    fleet.rounds(everybody, 2)
    fleet.agree(NAMES)

    # In the sum of all: the first one counts, and what is small beside it is lost.
    for value in ("3e38", "-3e38"):
        for n in everybody:
            fleet.workers[n].begin(f"rounds 1 model {'0' if n == 'more' else value}")
        for n in everybody:
            fleet.workers[n].end()
    fleet.pushed = 0
    fleet.rounds(everybody, 2)
    fleet.agree(NAMES)


def test_screens_say_who_is_the_centre_and_who_is_waited_for(strait):
    write(strait, "stop: {clocks: 1000}\n")
    child = Child(strait, "run", [strait.bin, "run", "ring.yaml", "--on", "local", "-o", "r",
                                  "--set", "between.centre=b"])
    try:
        child.says(r"strait top --join (\S+) ")
        join = next(w for w in child.said().split() if w.startswith("tcp://"))
        ask = ["--join", join, "--insecure"]
        once = ["top", *ask, "--once", "--interval", "100ms"]
        until(lambda: strait.json(*once)["clock"] > 2)
        assert "plan " in strait.ok(*once) and ": centre b" in strait.ok(*once)
        status = strait.json(*once)
        central = status["lanes"][0]["status"]["between"]["central"]
        assert central["centre"] == "b" and central["begun"]
        assert central["names"] == ["a", "b", "c", "d", "e"]
        assert sorted(link[:3] for link in central["links"]) == [
            [0, 1, 1], [0, 3, 1], [1, 2, 1], [2, 3, 1], [2, 4, 1], [3, 4, 1]]
        states = {s["name"]: s["state"] for s in status["sites"]}
        assert len(states) == 4  # Of whichever site was ready first: the others.
        assert all((state == "centre") == (name == "b") for name, state in states.items())
        waits = "from site b, the centre" if "b" in states else "the round waits "
        until(lambda: waits in strait.ok("why", *ask))
    finally:
        child.child.terminate()
        child.child.wait()


def test_grounds_refuse_what_they_cannot_emulate(strait):
    write(strait, "stop: {clocks: 2}\nlinks: {duplex: shared}\n")
    text = strait.fails(78, "STRAIT-0403", "run", "ring.yaml", "--on", "local", "-o", "r")
    assert "share" in text and "full" in text

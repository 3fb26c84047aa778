"""Sums that go by trees, with real processes: workers pass them on, with certificates and without,
one of them is killed, one does not listen, and benchmarks say what it gains."""

import json
import pathlib
import subprocess
import sys

import pytest

from site_of import until

TREE = ("--delivery", "broadcast", "--tree", "degree=2,depth=3")
JOB = ("--job", "synthetic", "--option", "elements=200000", "--evaluate-every", "0")

FILE = """
run: tree
topology: {regions: [here]}
servers: [{region: here, lanes: 2}]
workers: [{region: here, count: 6, agg: a, edge: e}]
job: {name: synthetic, options: {elements: 300000, chunk: 8192}}
sync: {delivery: broadcast, filter: "dvf:delta=0.0001", tree: {degree: 2, depth: 3}}
compute: {time: 20ms}
stop: {clocks: 40}
"""


def status_of(strait, server):
    return strait.json("top", "--join", server.first, "--insecure", "--once")


def trees(strait, server):
    """What the lanes say of their trees, added up."""
    lanes = [lane["status"]["tree"] for lane in status_of(strait, server)["lanes"]]
    return {key: sum(lane[key] for lane in lanes) for key in lanes[0]}


@pytest.mark.parametrize("ground", ["sim", "local"])
def test_a_run_by_trees_is_a_run(strait, ground):
    (strait.folder / "tree.yaml").write_text(FILE)
    summary = strait.json("run", "tree.yaml", "--on", ground, "-o", "r")
    assert summary["clocks"] == 40
    assert summary["objective"] == 240  # 6 workers, 40 clocks: nothing is missing, nothing twice.


def test_a_relay_that_is_killed_is_gone_around(strait, site):
    server = site.server("--workers", "5", *TREE, *JOB, "--clocks", "100000", "--barrier", "tap")
    workers = [site.run("worker", "--join", server.first, "--insecure", "--name", f"w{i}")
               for i in range(5)]
    until(lambda: trees(strait, server)["fed"] >= 3)
    for victim in 0, 1:  # Both of those that the root feeds: they feed the others.
        before = trees(strait, server)["trees"]
        workers[victim].kill()
        until(lambda: trees(strait, server)["trees"] > before)
    until(lambda: trees(strait, server)["fed"] >= 1)
    updates = status_of(strait, server)["updates"]
    until(lambda: status_of(strait, server)["updates"] > updates + 10)
    shown = strait.ok("top", "--join", server.first, "--insecure", "--once")
    assert "sums go by trees: " in shown
    assert " frames; " in shown and " dropped for want of room\n" in shown and "PASSED\n" in shown
    passed = [member["passed"] for member in status_of(strait, server)["members"]
              if "passed" in member]
    assert sum(p["bytes"] for p in passed) > 64 * sum(p["frames"] for p in passed) > 0
    assert all(p["dropped"] >= 0 for p in passed)  # Who is killed takes nothing for a while.
    for worker in workers[2:]:
        worker.kill()
    server.stop()


def test_who_does_not_listen_is_a_leaf(strait, site):
    server = site.server("--workers", "3", "--delivery", "broadcast", "--tree",
                         "degree=1,depth=3", *JOB, "--clocks", "100000", "--barrier", "tap")
    workers = [site.run("worker", "--join", server.first, "--insecure", "--name", f"w{i}",
                        "--relay", "off") for i in range(3)]
    until(lambda: trees(strait, server)["direct"] == 3)
    assert trees(strait, server)["fed"] == 0
    for worker in workers:
        worker.kill()
    server.stop()


def test_the_benchmark_runs_both_sides(strait):
    answer = strait.json("bench", "tree", "--workers", "8", "--servers", "2", "--elements",
                         "400000", "--tree", "degree=2,depth=4")
    ways = {way["name"]: way for way in answer["ways"]}
    assert ways["direct"]["times_direct"] == 1
    assert ways["tree"]["times_direct"] > 1 and ways["tree, held back"]["times_direct"] > 2
    assert ways["tree"]["lane_frames"] < ways["direct"]["lane_frames"]
    said = strait.fails(2, "STRAIT-0003", "bench", "tree", "--tree", "wide")
    assert "not a tree" in said
    assert json.dumps(answer)


def test_workers_with_certificates_feed_each_other(strait, site):
    strait.ok("cert", "init", "ca")
    members = ["server/home/s0", "operator/home/me"] + [f"worker/home/w{i}" for i in range(4)]
    for member in members:
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    server = site.server("--cert", "certs", "--name", "s0", "--workers", "4", *TREE, *JOB,
                         "--clocks", "100000", "--barrier", "tap", listen="tls://127.0.0.1:0",
                         insecure=False)
    workers = [site.run("worker", "--join", server.first, "--cert", "certs", "--name", f"w{i}")
               for i in range(4)]
    top = ["top", "--join", server.first, "--cert", "certs", "--name", "me", "--once"]
    until(lambda: strait.json(*top)["lanes"][0]["status"]["tree"]["fed"] == 2)
    for worker in workers:
        worker.kill()
    server.stop()


def test_the_benchmark_of_a_lab_runs_in_the_simulator_too(strait):
    script = pathlib.Path(__file__).resolve().parents[2] / "bench" / "broadcast_lab.py"
    done = subprocess.run([sys.executable, script, "--on", "sim", "--clocks", "4", "--json",
                           "figures.json"], cwd=strait.folder, env={"STRAIT_BIN": strait.bin},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads((strait.folder / "figures.json").read_text())["sim"]
    assert figures["by trees"]["speed"] > 1.7
    assert figures["by trees, held back"]["speed"] > figures["by trees"]["speed"]

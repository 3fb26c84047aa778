"""`strait compare --set` as people use it: sets of comparisons beside a paper's figures, what is
refused, what is gone on with, and the sets of runs/."""

import csv
import json
import os
import pathlib
import signal
import subprocess

import pytest

from compare_test import ENDLESS, THREE
from site_of import until

ROOT = pathlib.Path(__file__).resolve().parents[2]

SET = """
# Two cells.
set: small
about: two cells of the same file
source: a paper, figure 1
show: speed
cells:
  - {name: first, file: three.yaml, only: [plain-bsp, gaia-bsp], paper: {gaia-bsp: 3.5}}
  - name: second
    about: with other data
    file: three.yaml
    only: [plain-bsp, gaia-bsp, plain-ssp]
    set: {seed: 9}
    twin: first
    paper: {gaia-bsp: [2, 100]}
"""


@pytest.fixture
def small(strait):
    (strait.folder / "three.yaml").write_text(THREE, encoding="utf-8")
    (strait.folder / "small.yaml").write_text(SET, encoding="utf-8")
    return strait


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def runs_of(answer, cell):
    return {r["name"]: r for c in answer["cells"] if c["name"] == cell for r in c["runs"]}


def test_the_figures_are_those_of_the_comparisons(small):
    answer = small.json("compare", "--set", "small", "-o", "out", "--jobs", "1")
    assert [c["name"] for c in answer["cells"]] == ["first", "second"]
    assert {c["state"] for c in answer["cells"]} == {"done"}
    for cell in ("first", "second"):
        kept = {r["name"]: r for r in read(small.folder / "out" / cell / "compare.json")["runs"]}
        for name, run in runs_of(answer, cell).items():
            assert run["time_s"] == pytest.approx(kept[name]["time_s"])
            if run["reached"] or name == "lan":
                assert run["value"] == pytest.approx(
                    kept["plain-bsp"]["time_s"] / kept[name]["time_s"])
    gaia = runs_of(answer, "first")["gaia-bsp"]
    assert gaia["paper"] == [3.5, 3.5] and gaia["by_paper"] == pytest.approx(gaia["value"] / 3.5)
    twin = runs_of(answer, "second")["gaia-bsp"]
    assert twin["by_twin"] == pytest.approx(twin["value"] / gaia["value"])
    with open(small.folder / "out" / "set.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert [(r["cell"], r["run"]) for r in rows] == [
        ("first", "lan"), ("first", "plain-bsp"), ("first", "gaia-bsp"), ("second", "lan"),
        ("second", "plain-bsp"), ("second", "plain-ssp"), ("second", "gaia-bsp")]
    assert float(rows[2]["value"]) == pytest.approx(gaia["value"])
    assert read(small.folder / "out" / "set.json")["set"] == "small"
    assert "</svg>" in (small.folder / "out" / "set.svg").read_text(encoding="utf-8")
    page = (small.folder / "out" / "set.html").read_text(encoding="utf-8")
    assert "./first/compare.html" in page and "a paper, figure 1" in page


def test_a_set_is_found_by_its_file_its_name_and_its_folder(small):
    (small.folder / "fig").mkdir()
    (small.folder / "fig" / "set.yaml").write_text(
        SET.replace("three.yaml", "../three.yaml"), encoding="utf-8")
    for name in ("small.yaml", "small", "./small", "fig", "fig/set.yaml"):
        assert small.json("compare", "--set", name, "--dry-run")["set"] == "small"
    text = small.ok("compare", "--set", "small", "--dry-run")
    assert "first" in text and "./three.yaml" in text and "--set seed=9" in text
    assert not (small.folder / "out").exists()


def test_settings_hold_for_all_cells_and_cells_can_be_chosen(small):
    text = small.ok("compare", "--set", "small", "--set", "stop={clocks: 10}", "--set",
                    "evaluate.every=5", "--cell", "first", "-o", "out")
    assert "first (sim)" in text and "second" not in text
    assert read(small.folder / "out" / "first" / "compare.json")["goal"]["limit_clocks"] == 10
    assert "did you mean 'second'?" in small.fails(
        2, "STRAIT-0003", "compare", "--set", "small", "--cell", "secnod")
    assert "runs on local" in small.fails(
        2, "STRAIT-0003", "compare", "--set", "small", "--on", "local")


def test_too_many_settings_are_refused_before_anything_runs(small):
    many = [word for i in range(48) for word in ("--set", f"seed={i}")]
    assert "more than 48 settings with those of cell second" in small.fails(
        2, "STRAIT-0003", "compare", "--set", "small", "-o", "out", *many)
    assert not (small.folder / "out").exists()


def test_what_is_there_is_read_and_not_run_again(small):
    first = small.json("compare", "--set", "small", "-o", "out")
    record = small.folder / "out" / "first" / "gaia-bsp"
    before = os.stat(record / "summary.json").st_mtime_ns
    assert "go on with it (--resume)" in small.fails(
        1, "STRAIT-0102", "compare", "--set", "small", "-o", "out")
    cut = small.folder / "out" / "second" / "gaia-bsp"
    (cut / "summary.json").unlink()
    again = small.json("compare", "--set", "small", "-o", "out", "--resume")
    assert again["cells"] == first["cells"]
    assert os.stat(record / "summary.json").st_mtime_ns == before
    assert (small.folder / "out" / "second" / "gaia-bsp.cut-1").is_dir()
    assert (cut / "summary.json").exists()


def test_records_of_other_runs_are_not_taken(small):
    small.ok("compare", "--set", "small", "-o", "out", "--cell", "first")
    done = small.run("compare", "--set", "small", "-o", "out", "--cell", "first", "--resume",
                     "--set", "seed=6")
    assert done.returncode == 1
    assert "holds the record of another run" in done.stderr + done.stdout
    assert "--output" in small.fails(2, "STRAIT-0003", "compare", "--set", "small", "--resume")


def test_a_single_file_can_be_gone_on_with_too(small):
    first = small.json("compare", "three.yaml", "-o", "out", "--only", "plain-bsp")
    again = small.json("compare", "three.yaml", "-o", "out", "--only", "plain-bsp,gaia-bsp",
                       "--resume")
    assert again["runs"][:2] == first["runs"] and len(again["runs"]) == 3


@pytest.mark.parametrize("line, instead, words", [
    ("show: speed", "shwo: speed", "bad.yaml:6:1: shwo: no such key: did you mean 'show'?"),
    ("gaia-bsp], p", "gaia-bps], p", "did you mean 'gaia-bsp'?"),
    ("twin: first", "twin: frist", "did you mean 'first'?"),
    ("file: three.yaml\n", "file: four.yaml\n", "cell second: ./four.yaml"),
    ("{seed: 9}", "{sede: 9}", "cell second: ./three.yaml:"),
    ("plain-ssp]", "gaia-bsp-free]", "the file has none"),
])
def test_bad_sets_are_refused_before_anything_runs(small, line, instead, words):
    (small.folder / "bad.yaml").write_text(SET.replace(line, instead), encoding="utf-8")
    done = small.run("compare", "--set", "bad.yaml", "-o", "out")
    assert done.returncode in (1, 78) and words in done.stderr, done.stderr
    assert not (small.folder / "out").exists()


def test_what_is_neither_a_setting_nor_a_set_is_said(small):
    for args in (["three.yaml"], []):
        assert "neither a setting (write KEY=VALUE) nor a set" in small.fails(
            2, "STRAIT-0003", "compare", *args, "--set", "nothing")
    assert "what is to be compared?" in small.fails(2, "STRAIT-0004", "compare")
    assert "is a set" in small.fails(2, "STRAIT-0003", "compare", "three.yaml", "--set", "small")
    assert "second set" in small.fails(2, "STRAIT-0003", "compare", "--set", "small", "--set",
                                       "small.yaml")


def test_a_cell_that_fails_does_not_keep_the_others_from_running(small):
    (small.folder / "bad.yaml").write_text(SET.replace(
        "only: [plain-bsp, gaia-bsp], p", "only: [plain-bsp, gaia-bsp], set: {job.data: nowhere}, p"
    ), encoding="utf-8")
    done = small.run("compare", "--set", "bad.yaml", "-o", "out", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [c["state"] for c in answer["cells"]] == ["failed", "done"]
    assert "lan, which sets the goal" in answer["cells"][0]["why"]
    assert "failed: lan, which sets the goal" in small.run(
        "compare", "--set", "bad.yaml", "-o", "more").stdout


def test_ctrl_c_keeps_what_is_done(small):
    job = ENDLESS[1].removeprefix("job=")
    (small.folder / "long.yaml").write_text(
        SET.replace("{seed: 9}", f"{{job: '{job}', stop: '{{clocks: 100000000}}'}}"),
        encoding="utf-8")
    child = subprocess.Popen([small.bin, "compare", "--set", "long", "-o", "out"],
                             cwd=small.folder, env=small.env, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    until(lambda: (small.folder / "out" / "second" / "lan-converged" / "scalars.csv").exists())
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "was interrupted before there was a goal" in out
    assert "3.50" in out
    assert [c["state"] for c in read(small.folder / "out" / "set.json")["cells"]] == ["done", "cut"]


ONE = """
run: one
seed: 5
topology:
  regions: [{name: eu}]
servers: [{region: eu}]
workers: [{region: eu, count: 3}]
job:
  name: mf
  options: {users: 100, items: 80, ratings: 2000, rank: 4, batch: 100, lr: 0.05}
evaluate: {every: 5}
stop: {converged: {change: 5%, clocks: 10}}
compute: {gflops: 0.05}
"""

OWN = """
set: own
show: speed
base: plain-bsp
runs:
  halves: {sync.delivery: broadcast, sync.push: f16, sync.broadcast: f16}
  plain-bsp: {sync.barrier: bsp, sync.delivery: pull}
  loose: {sync.barrier: ssp, sync.staleness: 3}
cells:
  - {name: first, file: one.yaml, paper: {halves: 1.5}}
  - {name: second, file: one.yaml, only: [loose], set: {seed: 9}}
"""


@pytest.fixture
def own(strait):
    (strait.folder / "one.yaml").write_text(ONE, encoding="utf-8")
    (strait.folder / "own.yaml").write_text(OWN, encoding="utf-8")
    return strait


def test_runs_of_a_set_s_own_take_the_place_of_the_others(own):
    answer = own.json("compare", "--set", "own", "-o", "out")
    first, second = runs_of(answer, "first"), runs_of(answer, "second")
    assert list(first) == ["halves", "plain-bsp", "loose"]
    assert list(second) == ["plain-bsp", "loose"]
    assert {r["end"] for r in [*first.values(), *second.values()]} <= {"reached", "converged"}
    assert first["plain-bsp"]["value"] == 1
    assert first["halves"]["by_paper"] == pytest.approx(first["halves"]["value"] / 1.5)
    kept = read(own.folder / "out" / "first" / "compare.json")
    assert kept["base"] == "plain-bsp"
    record = own.folder / "out" / "first" / "plain-bsp-converged"
    assert read(record / "summary.json")["objective"] == kept["goal"]["objective"]
    text = (own.folder / "out" / "first" / "halves" / "run.yaml").read_text(encoding="utf-8")
    assert "delivery: broadcast" in text and 'push: "auto | f16"' in text and "seed: 5" in text
    text = (own.folder / "out" / "second" / "loose" / "run.yaml").read_text(encoding="utf-8")
    assert "staleness: 3" in text and "seed: 9" in text
    page = (own.folder / "out" / "first" / "compare.html").read_text(encoding="utf-8")
    assert "what plain-bsp had" in page and "x lan" not in page
    again = own.json("compare", "--set", "own", "-o", "out", "--resume")
    assert again["cells"] == answer["cells"]


def until_goal(folder, name):
    """The summary of a run of the comparison, and which part of its clocks it took to the goal."""
    runs = {run["name"]: run for run in read(folder / "compare.json")["runs"]}
    record = folder / name if (folder / name).exists() else folder / f"{name}-converged"
    summary = read(record / "summary.json")
    return summary, runs[name]["clocks"] / summary["clocks"]


def sent_until_goal(folder, name):
    summary, part = until_goal(folder, name)
    return summary["bytes"] * part


def test_what_is_saved_and_where_time_goes_are_those_of_the_records(own):
    shown = {}
    for show in ("saved", "communication", "computation"):
        (own.folder / f"{show}.yaml").write_text(OWN.replace("show: speed", f"show: {show}"),
                                                 encoding="utf-8")
        answer = own.json("compare", "--set", show, "--cell", "first", "-o", "out", "--resume")
        shown[show] = {name: run["value"] for name, run in runs_of(answer, "first").items()}
    base = read(own.folder / "out" / "first" / "compare.json")
    assert base["base"] == "plain-bsp" and shown["saved"]["plain-bsp"] == 0
    folder = own.folder / "out" / "first"
    halves, part = until_goal(folder, "halves")
    plain, whole = until_goal(folder, "plain-bsp")
    assert whole == 1 and 0 < part < 1
    assert halves["wan_bytes"] == 0 and plain["bytes"] > halves["bytes"] > 0
    assert shown["saved"]["halves"] == pytest.approx(1 - part * halves["bytes"] / plain["bytes"])
    workers = halves["workers"]
    assert shown["computation"]["halves"] == pytest.approx(
        part * sum(w["compute_s"] for w in workers) / len(workers))
    assert shown["communication"]["halves"] == pytest.approx(
        part * sum(w["read_s"] + w["end_s"] for w in workers) / len(workers))


FIGURES = OWN.replace("cells:", """also:
  - {name: fig9, about: less traffic, source: figure 9, show: saved, only: [halves],
     paper: {first: {halves: 45%}}}
  - {name: fig10, show: saved, only: [halves], against: {halves: loose}}
  - {name: fig12, show: time}
cells:""").replace("only: [loose]", "only: [halves]")


def test_a_set_shows_several_figures_of_the_same_runs(own):
    (own.folder / "own.yaml").write_text(FIGURES, encoding="utf-8")
    answer = own.json("compare", "--set", "own", "-o", "out")
    also = {figure["name"]: figure for figure in answer["also"]}
    assert list(also) == ["fig9", "fig10", "fig12"]
    assert list(runs_of(answer, "second")) == ["halves", "plain-bsp", "loose"]  # For figure 10.
    for cell in ("first", "second"):
        folder = own.folder / "out" / cell
        for figure, other in (("fig9", "plain-bsp"), ("fig10", "loose")):
            shown = runs_of(also[figure], cell)
            assert list(shown) == ["halves"]
            assert shown["halves"]["value"] == pytest.approx(
                1 - sent_until_goal(folder, "halves") / sent_until_goal(folder, other))
        assert {n: r["value"] for n, r in runs_of(also["fig12"], cell).items()} == pytest.approx(
            {n: r["time_s"] for n, r in runs_of(answer, cell).items()})
    halves = runs_of(also["fig9"], "first")["halves"]
    assert halves["by_paper"] == pytest.approx(halves["value"] / 0.45)
    assert also["fig10"]["against"] == {"halves": "loose"}
    assert len(read(own.folder / "out" / "set.json")["also"]) == 3
    files = sorted(p.name for p in (own.folder / "out").iterdir() if p.is_file())
    assert files == ["set-fig10.csv", "set-fig10.svg", "set-fig12.csv", "set-fig12.svg",
                     "set-fig9.csv", "set-fig9.svg", "set.csv", "set.html", "set.json", "set.svg"]
    text = own.ok("compare", "--set", "own", "-o", "out", "--resume")
    assert text.index("own\n") < text.index("fig9: less traffic") < text.index("fig12\n")
    assert "than plain-bsp; paper: figure 9" in text and "reached; by loose" in text
    rows = list(csv.DictReader(own.ok("compare", "--set", "own", "-o", "out", "--resume",
                                      "--csv").splitlines()))
    assert [(r["figure"], r["cell"], r["run"]) for r in rows if r["figure"] != "fig12"] == [
        *(("own", cell, run) for cell in ("first", "second")
          for run in ("halves", "plain-bsp", "loose")),
        *((figure, cell, "halves") for figure in ("fig9", "fig10")
          for cell in ("first", "second"))]


def test_what_a_set_s_own_runs_are_is_said(own):
    text = own.ok("compare", "--set", "own", "--dry-run", "--cell", "second")
    assert "run loose  --set sync.barrier=ssp  --set sync.staleness=3" in text
    assert "./one.yaml  plain-bsp loose  --set seed=9" in text
    answer = own.json("compare", "--set", "own", "--dry-run")
    assert answer["runs"]["plain-bsp"] == ["sync.barrier=bsp", "sync.delivery=pull"]


@pytest.mark.parametrize("line, instead, words", [
    ("base: plain-bsp", "base: plain-bps", "did you mean 'plain-bsp'?"),
    ("sync.staleness: 3", "sync.stalenes: 3", "cell first, run loose: "),
    ("sync.staleness: 3", "evaluate.every: 0", "evaluate.every is 0"),
    ("sync.staleness: 3", "stop.clocks: 3", "the same for all runs of a cell"),
])
def test_bad_runs_of_a_set_are_refused_before_anything_runs(own, line, instead, words):
    (own.folder / "bad.yaml").write_text(OWN.replace(line, instead), encoding="utf-8")
    done = own.run("compare", "--set", "bad.yaml", "-o", "out")
    assert done.returncode in (1, 78) and words in done.stderr, done.stderr
    assert not (own.folder / "out").exists()


SETS = sorted(p for p in (ROOT / "runs").rglob("*.yaml")
              if any(line.startswith("set:") for line in p.read_text("utf-8").splitlines()))


@pytest.mark.parametrize("path", SETS, ids=lambda p: p.stem)
def test_every_set_of_the_tree_can_be_run(strait, path):
    answer = strait.json("compare", "--set", path, "--dry-run")
    assert answer["cells"] and path.read_text(encoding="utf-8").startswith("# ")

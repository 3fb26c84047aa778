"""`strait compare` and `strait run --estimate` as people use them: the figures are those of the
records, what cannot be compared is refused, and nothing is left behind."""

import csv
import json
import math
import os
import signal
import subprocess

import pytest

from site_of import LIMIT_S, until

THREE = """
run: three
seed: 5
topology:
  lan: {rate: 1gbit, delay: 50us}
  regions:
    - {name: eu, usd_per_hour: {cpu: 0.9, small: 0.2}}
    - {name: us, usd_per_hour: {cpu: 0.8, small: 0.2}}
    - {name: ap, usd_per_hour: {cpu: 1, small: 0.3}}
  default_link: {rate: 2mbit, rtt: 150ms, price: 0.05}
sites:
  - {region: eu, workers: 2}
  - {region: us, workers: 2}
  - {region: ap, workers: 2}
job:
  name: mf
  data_gb: 0.01
  options: {users: 100, items: 80, ratings: 2000, rank: 4, batch: 100, lr: 0.05}
evaluate: {every: 5}
stop: {converged: {change: 5%, clocks: 10}}
compute: {gflops: 0.05}
"""

ALL = ["lan", "plain-bsp", "plain-ssp", "gaia-bsp", "gaia-ssp", "async", "central", "centralised"]

# A training that never ends by itself, and takes long enough to be interrupted.
ENDLESS = ["--set", "job={name: synthetic, options: {elements: 20000, compute_ms: 1}}", "--set",
           "stop={clocks: 100000000}"]


@pytest.fixture
def three(strait):
    (strait.folder / "three.yaml").write_text(THREE, encoding="utf-8")
    return strait


def summary(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def by_name(answer):
    return {run["name"]: run for run in answer["runs"]}


def near(a, b):
    return math.isclose(a, b, rel_tol=1e-6)


def crossing(record, goal):
    """Clocks and time at which the straight line between two evaluations meets the goal."""
    with open(record / "scalars.csv", encoding="utf-8") as f:
        rows = [[float(r[k]) for k in ("clock", "time_s", "objective")]
                for r in csv.DictReader(f) if r["objective"]]
    at = next(i for i, row in enumerate(rows) if row[2] <= goal * (1 + 1e-6))
    if at == 0:
        return rows[0][:2]
    a, b = rows[at - 1], rows[at]
    part = min((goal - a[2]) / (b[2] - a[2]), 1)
    return [a[i] + part * (b[i] - a[i]) for i in (0, 1)]


def test_the_figures_are_those_of_the_records(three):
    answer = three.json("compare", "three.yaml", "-o", "out")
    runs = by_name(answer)
    goal = answer["goal"]["objective"]

    assert list(runs) == ALL
    assert answer["goal"]["converged"] is True and answer["goal"]["limit_clocks"] is not None
    for name, run in runs.items():
        record = summary(three.folder / run["record"])
        assert run["reached"] is True, run
        clocks, time_s = crossing(three.folder / run["record"], goal)
        assert run["clocks"] == pytest.approx(clocks) and clocks <= record["clocks"]
        assert run["time_s"] == pytest.approx(time_s, rel=1e-3) and time_s <= record["time_s"]
        assert run["wan_bytes"] == record["wan_bytes"]
        assert near(run["total_usd"], record["cost"]["total_usd"])
        assert near(run["compute_usd"] + run["waiting_usd"] + run["transfer_usd"],
                    run["total_usd"])
        assert near(run["speed"], runs["plain-bsp"]["time_s"] / run["time_s"])
        assert near(run["by_lan"], run["time_s"] / runs["lan"]["time_s"])
        assert record["objective"] <= goal * (1 + 1e-6)
        assert record["layout"] == {"lan": "lan", "centralised": "centralised"}.get(
            name, "plain" if name.startswith("plain") else "sites")
    assert runs["lan"]["wan_bytes"] == 0 and runs["plain-bsp"]["wan_bytes"] > 0
    assert 0 <= runs["gaia-bsp"]["insignificant"] <= 1 and runs["lan"]["insignificant"] is None
    assert runs["centralised"]["time_s"] > runs["centralised"]["move_s"] > 0
    assert runs["gaia-bsp"]["speed"] > 1


def test_lan_counts_from_when_it_was_that_good_for_the_first_time(three):
    answer = three.json("compare", "three.yaml", "-o", "out", "--only", "lan")
    lan = by_name(answer)["lan"]
    first = None
    with open(three.folder / "out" / "lan-converged" / "scalars.csv", encoding="utf-8") as f:
        rows = [r for r in csv.DictReader(f) if r["objective"]]
    for row in rows:
        if float(row["objective"]) <= float(rows[-1]["objective"]) and first is None:
            first = row
    assert answer["goal"]["objective"] == pytest.approx(float(rows[-1]["objective"]))
    assert answer["goal"]["clock"] == int(first["clock"])
    assert lan["time_s"] == pytest.approx(float(first["time_s"]), abs=2e-6)


def test_lan_that_got_worse_again_is_run_up_to_where_it_was_that_good(three):
    settings = ["--set", "job={name: logreg, options: {samples: 300, features: 50, nonzeros: 6, "
                "batch: 5, lr: 5}}", "--set", "evaluate.every=1", "--set", "stop={clocks: 38}"]
    answer = three.json("compare", "three.yaml", "-o", "out", "--only", "gaia-bsp", *settings)
    lan = by_name(answer)["lan"]
    again = summary(three.folder / "out" / "lan")

    assert answer["goal"]["clock"] < 38 and lan["record"] == "out/lan"
    assert again["end"] == "goal" and again["evaluated"] == answer["goal"]["clock"]
    assert again["objective"] <= answer["goal"]["objective"] * (1 + 1e-6)
    assert lan["time_s"] < summary(three.folder / "out" / "lan-converged")["time_s"]


def test_tables_and_files_say_the_same(three):
    text = three.ok("compare", "three.yaml", "-o", "out", "--only", "plain-bsp,gaia-bsp")
    kept = json.loads((three.folder / "out" / "compare.json").read_text(encoding="utf-8"))
    with open(three.folder / "out" / "compare.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))

    assert [r["name"] for r in rows] == ["lan", "plain-bsp", "gaia-bsp"] == list(by_name(kept))
    for row in rows:
        run = by_name(kept)[row["name"]]
        assert near(float(row["time_s"]), run["time_s"]) and near(
            float(row["clocks"]), run["clocks"])
        assert near(float(row["speed"]), run["speed"])
        assert f"\n  {row['name']:<14} " in text
    assert "time to the goal" in text and "█" in text
    assert "The goal is " in text and "squared error per rating" in text
    assert three.ok("compare", "three.yaml", "-o", "more", "--only", "gaia-bsp",
                    env={"LC_ALL": "C"}).count("#") > 10
    assert three.ok("compare", "three.yaml", "-o", "csv", "--only", "gaia-bsp", "--csv") == (
        three.folder / "csv" / "compare.csv").read_text(encoding="utf-8")


def test_records_can_be_compared_again(three):
    three.ok("compare", "three.yaml", "-o", "out", "--only", "plain-bsp,gaia-bsp")
    answer = three.json("compare", "out/plain-bsp", "out/gaia-bsp/")
    runs = by_name(answer)

    assert list(runs) == ["plain-bsp", "gaia-bsp"] and answer["goal"] is None
    assert answer["base"] == "plain-bsp" and runs["plain-bsp"]["speed"] == 1
    again = three.json("compare", "out/plain-bsp", "out/gaia-bsp", "--base", "gaia-bsp")
    assert near(by_name(again)["plain-bsp"]["speed"], 1 / runs["gaia-bsp"]["speed"])
    assert "x plain-bsp" in three.ok("compare", "out/plain-bsp", "out/gaia-bsp")


def curves(path):
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def test_the_curves_are_those_of_the_records(three):
    three.ok("compare", "three.yaml", "-o", "out", "--only", "plain-bsp,gaia-bsp")
    rows = curves(three.folder / "out" / "curves.csv")
    assert list(rows[0]) == ["run", "clock", "time_s", "wan_bytes", "usd", "objective"]
    for name in ("lan-converged", "plain-bsp", "gaia-bsp"):
        with open(three.folder / "out" / name / "scalars.csv", encoding="utf-8") as f:
            wanted = [[r[k] for k in ("clock", "time_s", "wan_bytes", "wan_usd", "objective")]
                      for r in csv.DictReader(f) if r["objective"]]
        mine = [list(r.values())[1:] for r in rows if r["run"] == name.replace("-converged", "")]
        assert [[float(v) for v in row] for row in mine] == [
            [float(v) for v in row] for row in wanted]
    page = (three.folder / "out" / "compare.html").read_text(encoding="utf-8")
    assert "The fastest but lan to the goal is gaia-bsp" in page
    assert page.count('<svg class="chart"') == 4 and "<script" not in page
    for name in ("lan-converged", "plain-bsp", "gaia-bsp"):
        assert f'href="./{name}/report.html"' in page
        assert (three.folder / "out" / name / "report.html").exists()


def test_files_and_records_are_compared_up_to_what_all_came_to(three):
    (three.folder / "plain.yaml").write_text(
        THREE.replace("run: three", "run: plain") + "layout: plain\n", encoding="utf-8")
    settings = ["--set", "stop={clocks: 30}"]
    three.ok("run", "three.yaml", "-o", "short", "--set", "stop={clocks: 15}")
    answer = three.json("compare", "three.yaml", "plain.yaml", "short", "-o", "out", "--base",
                        "plain", *settings)
    runs = by_name(answer)
    assert list(runs) == ["three", "plain", "short"] and answer["goal"] is None
    assert [runs[n]["clocks"] for n in runs] == [30, 30, 15] and answer["base"] == "plain"
    assert summary(three.folder / "out" / "plain")["layout"] == "plain"
    worst = max(r["best"] for r in runs.values())
    assert answer["aim"] == worst == runs["short"]["best"]
    for name, folder in (("three", "out/three"), ("plain", "out/plain"), ("short", "short")):
        clocks, time_s = crossing(three.folder / folder, worst)
        assert runs[name]["aim"]["clocks"] == pytest.approx(clocks)
        assert runs[name]["aim"]["time_s"] == pytest.approx(time_s, rel=1e-3)
    assert runs["three"]["aim"]["time_s"] < runs["plain"]["aim"]["time_s"]
    assert sorted(p.name for p in (three.folder / "out").iterdir()) == [
        "compare.csv", "compare.html", "compare.json", "curves.csv", "plain", "three"]
    text = three.ok("compare", "three.yaml", "three.yaml", "-o", "twice", *settings)
    assert "three-2" in text and "which all of them came to" in text


def test_files_are_run_as_processes_one_after_the_other(three):
    settings = ["--set", "stop={clocks: 10}", "--set", "between.away=30s"]
    answer = three.json("compare", "three.yaml", "three.yaml", "--on", "local", "-o", "out",
                        *settings)
    assert [r["end"] for r in answer["runs"]] == ["clocks", "clocks"]
    for run in answer["runs"]:
        assert summary(three.folder / run["record"])["backend"] == "local"


def test_a_file_that_cannot_be_run_is_named_and_the_others_are_shown(three):
    (three.folder / "bad.yaml").write_text(
        THREE.replace("run: three", "run: bad").replace("batch: 100", "batch: 0"),
        encoding="utf-8")
    done = three.run("compare", "three.yaml", "bad.yaml", "-o", "out", "--set", "stop.clocks=10")
    assert done.returncode == 1
    assert "bad" in done.stdout and "no result" in done.stdout
    page = (three.folder / "out" / "compare.html").read_text(encoding="utf-8")
    assert "no result" in page and "batch" in page


def test_of_records_alone_files_are_kept_only_where_somebody_says(three):
    three.ok("compare", "three.yaml", "-o", "out", "--only", "gaia-bsp")
    before = sorted(p.name for p in three.folder.iterdir())
    assert three.json("compare", "out/lan-converged", "out/gaia-bsp")["dir"] is None
    assert sorted(p.name for p in three.folder.iterdir()) == before
    three.ok("compare", "out/lan-converged", "out/gaia-bsp", "-o", "two")
    assert sorted(p.name for p in (three.folder / "two").iterdir()) == [
        "compare.csv", "compare.html", "compare.json", "curves.csv"]


def test_a_budget_is_weighed_against_none(three):
    answer = three.json("compare", "three.yaml", "-o", "out", "--only", "gaia-bsp,gaia-bsp-free",
                        "--set", "budget={max_gb: 0.0002}", "--set", "between.threshold=50%")
    runs = by_name(answer)

    assert list(runs) == ["lan", "gaia-bsp", "gaia-bsp-free"]
    assert runs["gaia-bsp"]["wan_bytes"] < runs["gaia-bsp-free"]["wan_bytes"]
    assert summary(three.folder / "out" / "gaia-bsp")["budget"]["bound"] is True
    assert summary(three.folder / "out" / "gaia-bsp-free")["budget"]["bound"] is False
    assert "The budget (0.0002 GB) bound gaia-bsp: " in " ".join(
        three.ok("compare", "three.yaml", "-o", "more", "--only", "gaia-bsp,gaia-bsp-free", "--set",
                 "budget={max_gb: 0.0002}", "--set", "between.threshold=50%").split())


def test_who_diverges_is_a_result(three):
    answer = three.json("compare", "three.yaml", "-o", "out", "--only", "plain-bsp", "--set",
                        "sync.barrier=tap", "--set", "stop.clocks=20")
    assert by_name(answer)["lan"]["end"] == "clocks" and answer["goal"]["converged"] is False
    done = three.run("run", "three.yaml", "--set", "job.options.lr=10", "--set", "layout=lan",
                     "-o", "wild")
    assert done.returncode == 1 and "diverged" in done.stderr
    assert summary(three.folder / "wild")["end"] == "diverged"
    three.ok("run", "three.yaml", "--set", "layout=lan", "-o", "tame")
    text = three.ok("compare", "tame", "wild")
    assert "diverged" in text and "tame" in text


def test_what_cannot_be_compared_is_refused(three):
    one = THREE.replace("workers: 2", "count: 2")
    (three.folder / "one.yaml").write_text(
        one.replace("sites:", "servers: [{region: eu}]\nworkers:"), encoding="utf-8")
    assert "there is no setting 'gaia-bps': did you mean 'gaia-bsp'?" in three.fails(
        2, "STRAIT-0003", "compare", "three.yaml", "--only", "lan,gaia-bps")
    assert "it has no sites" in three.fails(78, "STRAIT-0403", "compare", "one.yaml")
    assert "evaluate.every is 0" in three.fails(
        78, "STRAIT-0403", "compare", "three.yaml", "--set", "evaluate.every=0", "--set",
        "stop={clocks: 9}")
    three.fails(1, "STRAIT-0101", "compare", "none.yaml")
    assert "three.yaml:" in three.fails(78, "STRAIT-0403", "compare", "three.yaml", "--set",
                                        "layout=mesh")
    assert "job.data_gb" in three.ok(
        "compare", "three.yaml", "-o", "no-data", "--set",
        "job={name: mf, options: {users: 60, items: 40, ratings: 900, batch: 100}}", "--set",
        "stop.clocks=10")
    assert "add data_gb" in three.fails(
        78, "STRAIT-0403", "compare", "three.yaml", "--only", "centralised", "--set",
        "job={name: mf}")
    assert "the file has none" in three.fails(78, "STRAIT-0403", "compare", "three.yaml", "--only",
                                              "gaia-bsp-free")
    assert "--only chooses ways to run one file" in three.fails(
        2, "STRAIT-0003", "compare", "three.yaml", "three.yaml", "--only", "lan")
    assert "for several files" in three.fails(2, "STRAIT-0003", "compare", "three.yaml", "--on",
                                              "local")
    three.fails(1, "STRAIT-0101", "compare", "three.yaml", "none.yaml")
    assert not (three.folder / ".local").exists()


def test_records_that_are_none_are_refused(three):
    three.ok("compare", "three.yaml", "-o", "out", "--only", "gaia-bsp")
    assert "another comparison" in three.fails(1, "STRAIT-0102", "compare", "three.yaml", "-o",
                                               "out")
    assert "name two or more" in three.fails(2, "STRAIT-0004", "compare", "out/gaia-bsp")
    assert "there is no summary.json" in three.fails(1, "STRAIT-0101", "compare", "out/gaia-bsp",
                                                     "out")
    assert "there is no run 'x'" in three.fails(
        2, "STRAIT-0003", "compare", "out/gaia-bsp", "out/lan-converged", "--base", "x")
    whole = (three.folder / "out" / "gaia-bsp" / "summary.json").read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 3):
        (three.folder / "out" / "gaia-bsp" / "summary.json").write_bytes(whole[:size])
        assert "damaged" in three.fails(1, "STRAIT-0101", "compare", "out/lan-converged",
                                        "out/gaia-bsp")
    (three.folder / "out" / "gaia-bsp" / "summary.json").write_bytes(whole)
    (three.folder / "out" / "gaia-bsp" / "scalars.csv").write_text("clock\n1\n", encoding="utf-8")
    assert "scalars.csv:1: " in three.fails(1, "STRAIT-0101", "compare", "out/lan-converged",
                                            "out/gaia-bsp")


def test_a_missing_price_is_said_where_dollars_would_be(three):
    (three.folder / "free.yaml").write_text(THREE.replace(", price: 0.05", ""), encoding="utf-8")
    text = three.ok("compare", "free.yaml", "-o", "out", "--only", "gaia-bsp")
    assert "no price" in text and "Dollars are not known: " in text
    assert by_name(three.json("compare", "out/lan-converged", "out/gaia-bsp"))["gaia-bsp"][
        "total_usd"] is None


def test_lan_that_cannot_run_is_the_end(three):
    assert "lan, which sets the goal: " in three.fails(
        1, "STRAIT-0301", "compare", "three.yaml", "-o", "out", "-q", "--set",
        "job.options.batch=0")


def tree(pid):
    """The processes below @pid."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found.append(int(name))
    return found


def test_an_interrupt_ends_all_and_shows_what_there_is(three):
    child = subprocess.Popen(
        [three.bin, "compare", "three.yaml", "-o", "out", "--only", "gaia-bsp", *ENDLESS],
        cwd=three.folder, env=three.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: (three.folder / "out" / "lan-converged" / "scalars.csv").exists() and (
            three.folder / "out" / "lan-converged" / "scalars.csv").stat().st_size > 2000)
        below = tree(child.pid)
        assert below
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=LIMIT_S)
    finally:
        child.kill()
    assert child.returncode == 130, err
    assert "interrupted" in out and "it did not begin" in out
    assert not [p for p in below if os.path.exists(f"/proc/{p}")]
    assert summary(three.folder / "out" / "lan-converged")["end"] == "interrupted"


def test_nothing_outlives_a_comparison_that_is_killed(three):
    child = subprocess.Popen(
        [three.bin, "compare", "three.yaml", "-o", "out", *ENDLESS], cwd=three.folder,
        env=three.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        until(lambda: (three.folder / "out" / "lan-converged" / "scalars.csv").exists())
        below = tree(child.pid)
        assert below
    finally:
        child.kill()
        child.wait()
    until(lambda: not [p for p in below if os.path.exists(f"/proc/{p}")])


def test_an_estimate_is_what_the_simulation_says(three):
    estimate = three.json("run", "three.yaml", "--estimate", "--set", "stop.clocks=30")
    real = three.json("run", "three.yaml", "--set", "stop.clocks=30", "-o", "out")

    assert estimate["estimate"] is True and estimate["without_budget"] is None
    for key in ("time_s", "clocks", "objective", "wan_bytes", "cost", "sites", "links"):
        assert estimate[key] == real[key]
    assert not (three.folder / ".local").exists()
    text = three.ok("run", "three.yaml", "--estimate", "--set", "stop.clocks=30", "-o", "kept")
    assert text.startswith("estimate, by simulation; nothing was started\n") and "cost " in text
    assert summary(three.folder / "kept")["clocks"] == 30


def test_an_estimate_says_what_a_budget_costs(three):
    settings = ["--set", "stop.clocks=60", "--set", "between.threshold=50%", "--set",
                "budget={max_gb: 0.0002}"]
    answer = three.json("run", "three.yaml", "--estimate", *settings)
    without = answer["without_budget"]

    assert answer["budget"]["bound"] is True and without["budget"]["bound"] is False
    assert answer["budget"]["holds"] == (answer["budget"]["used_gb"] <= 0.0002)
    assert answer["wan_bytes"] < without["wan_bytes"]
    assert "against no budget: " in three.ok("run", "three.yaml", "--estimate", *settings)


def test_an_estimate_for_processes_starts_none(three):
    answer = three.json("run", "three.yaml", "--on", "local", "--set", "layout=plain", "--estimate",
                        "--set", "stop.clocks=10")
    assert answer["backend"] == "sim" and answer["clocks"] == 10


def test_a_model_at_scale_is_shown_at_full_size(three):
    settings = ["--set", "stop.clocks=10", "--set", "links={scale: 1/100, lan: {rate: 100gbit}}"]
    answer = three.json("run", "three.yaml", *settings, "-o", "out")
    text = three.ok("run", "three.yaml", *settings, "-o", "more")

    assert answer["scale"] == 0.01
    assert "1:100: bytes and dollars as at full size" in text
    with open(three.folder / "out" / "links.csv", encoding="utf-8") as f:
        assert sum(int(r["bytes"]) for r in csv.DictReader(f)) >= answer["wan_bytes"]
    again = three.json("run", "out/run.yaml", "-o", "again")
    for key in ("time_s", "wan_bytes", "objective", "scale"):
        assert again[key] == answer[key]


def test_processes_converge_and_diverge_too(three):
    settings = ["--on", "local", "--set", "layout=lan", "--set",
                "stop={converged: {change: 0.4, clocks: 10}, clocks: 2000}"]
    answer = three.json("run", "three.yaml", *settings, "-o", "out")
    assert answer["end"] == "converged" and answer["clocks"] < 2000
    done = three.run("run", "three.yaml", *settings, "-o", "wild", "--set", "job.options.lr=10")
    assert done.returncode == 1 and "diverged" in done.stderr
    assert summary(three.folder / "wild")["end"] == "diverged"


def test_help_has_it(strait):
    text = strait.ok("help", "compare")
    for word in ("--only", "--jobs", "--base", "plain-bsp", "centralised", "compare.csv"):
        assert word in text
    assert "compare" in strait.ok("completion", "bash") and "compare" in strait.ok("man")
    assert "--estimate" in strait.ok("help", "run")

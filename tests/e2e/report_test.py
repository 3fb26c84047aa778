"""The pages that runs leave: written at every end, from any record, and looked at in a browser:
light, dark, and on a phone."""

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from browser_of import browser, colours_of, contrast, count, needs_browser, rgb
from site_of import LIMIT_S, until

TOP = Path(__file__).resolve().parents[2]
FIXED = TOP / "tests" / "run" / "record"
FILES = ["env.json", "events.jsonl", "links.csv", "report.html", "run.yaml", "scalars.csv",
         "summary.json"]

SMALL = """
run: small
topology:
  regions: [{name: eu, usd_per_hour: 1}, {name: us, usd_per_hour: 1}]
  links: [{between: [eu, us], rate: 100mbit, rtt: 20ms, price: 0.02}]
sites: [{region: eu, workers: 1}, {region: us, workers: 1}]
job:
  name: mf
  options: {users: 60, items: 40, ratings: 900, rank: 4, batch: 50, lr: 0.05}
evaluate: {every: 5}
stop: {clocks: 30}
compute: {gflops: 0.05}
"""

# A training that never ends by itself, and takes long enough to be interrupted.
ENDLESS = ["--set", "job={name: synthetic, options: {elements: 20000, compute_ms: 5}}", "--set",
           "stop={clocks: 100000000}"]


@pytest.fixture
def small(strait):
    (strait.folder / "small.yaml").write_text(SMALL, encoding="utf-8")
    return strait


@pytest.fixture
def fixed(strait):
    """A copy of the fixed record."""
    shutil.copytree(FIXED, strait.folder / "record")
    return strait


def page_of(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


# Records.

def test_a_run_leaves_its_page(small):
    small.ok("run", "small.yaml", "-o", "r")
    assert sorted(p.name for p in (small.folder / "r").iterdir()) == FILES
    page = page_of(small.folder / "r")
    assert "<h1>small</h1>" in page and "It ended all its 30 clocks" in page
    assert small.ok("report", "r", "-o", "-") == page
    assert small.ok("report", "r", "-o", "page.html") == "page.html\n"
    assert (small.folder / "page.html").read_text(encoding="utf-8") == page
    assert small.ok("report", "r") == "r/report.html\n"


def test_a_run_that_failed_leaves_its_page_too(small):
    done = small.run("run", "small.yaml", "-o", "r", "--set", "job.options.lr=10")
    assert done.returncode == 1
    assert ">diverged</span>" in page_of(small.folder / "r")


@pytest.mark.parametrize("where", ["sim", "local"])
def test_an_interrupted_run_leaves_a_record_that_is_read(small, where):
    child = subprocess.Popen(
        [small.bin, "run", "small.yaml", "--on", where, "-o", "r", *ENDLESS], cwd=small.folder,
        env=small.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    scalars = small.folder / "r" / "scalars.csv"
    try:
        until(lambda: scalars.exists() and scalars.read_text().count("\n") > 8)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=LIMIT_S)
    finally:
        child.kill()
    assert child.returncode == 130, err
    assert ">interrupted</span>" in page_of(small.folder / "r")
    answer = small.json("report", "r")
    assert answer["finished"] is True and answer["end"] == "interrupted" and answer["torn"] == []
    small.ok("run", "small.yaml", "-o", "whole")
    runs = small.json("compare", "r", "whole")["runs"]
    assert [run["end"] for run in runs] == ["interrupted", "clocks"]


def test_a_killed_run_is_shown_as_far_as_it_came(small):
    child = subprocess.Popen(
        [small.bin, "run", "small.yaml", "-o", "r", *ENDLESS], cwd=small.folder, env=small.env,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    record = small.folder / "r"
    try:
        until(lambda: (record / "scalars.csv").exists() and
              (record / "scalars.csv").read_text().count("\n") > 20)
        answer = small.json("report", "r")  # While it goes on.
        assert answer["finished"] is False and answer["end"] is None
    finally:
        child.kill()
        child.wait()
    with open(record / "scalars.csv", "ab") as f:
        f.write(b"999999,1")
    done = small.run("report", "r")
    assert done.returncode == 0 and "the run has not come to its end" in done.stderr
    lines = (record / "scalars.csv").read_text().count("\n")
    assert f"r/scalars.csv:{lines + 1}: the last line was cut off" in done.stderr
    assert ">not finished</span>" in page_of(record)


def test_a_damaged_record_is_refused_with_the_line(fixed):
    record = fixed.folder / "record"
    cases = {
        "summary.json": (lambda b: b[:len(b) // 2], r"record/summary\.json:\d+: .*damaged"),
        "env.json": (lambda b: b[:-5], r"record/env\.json:\d+: .*damaged"),
        "run.yaml": (lambda b: b[:200], r"record/run\.yaml:\d+:"),
        "scalars.csv": (lambda b: b.replace(b"\n7,", b"\nx,"),
                        r"record/scalars\.csv:8: it is no row of a run"),
        "links.csv": (lambda b: b.replace(b"osaka", b"paris", 1),
                      r"record/links\.csv:\d+: it names no link of run\.yaml"),
        "events.jsonl": (lambda b: b[:30] + b"\n" + b[30:],
                         r"record/events\.jsonl:1: it is no event of a run"),
    }
    for name, (damage, said) in cases.items():
        whole = (record / name).read_bytes()
        (record / name).write_bytes(damage(whole))
        assert re.search(said, fixed.fails(1, "STRAIT-0101", "report", "record")), name
        (record / name).write_bytes(whole)
    (record / "env.json").write_text('{"schema": 9}')
    assert "it is of schema 9" in fixed.fails(1, "STRAIT-0101", "report", "record")
    assert "there is no run.yaml" in fixed.fails(1, "STRAIT-0101", "report", "nothing")
    assert "is no folder" in fixed.fails(1, "STRAIT-0101", "report", "record/env.json")
    done = fixed.run("report", "record", "-o", "-", "--json")
    assert done.returncode == 2 and json.loads(done.stderr)["error"]["id"] == "STRAIT-0003"


def keys_of(value):
    """All keys of an object, however deep."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


@pytest.mark.parametrize("where", ["sim", "local"])
def test_all_that_a_record_holds_is_documented(small, where):
    small.ok("run", "small.yaml", "--on", where, "-o", "r", "--set", "budget={max_gb: 1}")
    record, words = small.folder / "r", (TOP / "docs" / "RECORD.md").read_text(encoding="utf-8")
    found = set()
    for name in ("env.json", "summary.json"):
        found |= set(keys_of(json.loads((record / name).read_text())))
    for line in (record / "events.jsonl").read_text().splitlines():
        found |= set(json.loads(line)) | {json.loads(line)["event"]}
    for name in ("scalars.csv", "links.csv"):
        found |= set((record / name).read_text().splitlines()[0].split(","))
    assert len(found) > 80
    assert [k for k in sorted(found) if f"`{k}`" not in words] == []


# The browser.

@needs_browser
def test_pictures_are_really_drawn_in_light_and_in_dark(fixed, browser):
    fixed.ok("report", "record")
    page = fixed.folder / "record" / "report.html"
    styles = colours_of(page.read_text(encoding="utf-8"))
    where = browser.measure(page, 1200)
    assert len(where["charts"]) == 4 and len(where["matrix"]) == 1 and len(where["bars"]) == 6
    for dark, style in enumerate(styles):
        image = browser.shot(page, 1200, 2600, dark=bool(dark))
        assert (image[3, 3] == rgb(style["bg"])).all()
        for box in where["charts"]:
            assert count(image, style["s0"], box) > 300  # A curve.
            assert count(image, style["card"], box) > 30000
        assert count(image, style["bad"], where["charts"][0]) > 20  # Faults, below it.
        assert count(image, style["good"], where["charts"][0]) > 20
        for step in ("u2", "u3", "u4"):
            assert count(image, style[step], where["matrix"][0]) > 500, step
        assert count(image, style["over"], where["matrix"][0]) == 0
        for box in where["bars"][:3]:
            assert count(image, style["s1"], box) > 1000
            assert count(image, style["s2"], box) > 5
    light, dark = styles
    assert rgb(light["bg"]).sum() > 600 > 200 > rgb(dark["bg"]).sum()


def test_colours_can_be_read():
    for style in colours_of((FIXED.parent / "report.html").read_text(encoding="utf-8")):
        assert contrast(style["ink"], style["card"]) > 7
        for name in ("soft", "bad", "good", "warn", "accent"):
            assert contrast(style[name], style["card"]) > 4.5, name
            assert contrast(style[name], style["bg"]) > 4.5, name
        for i in range(8):
            assert contrast(style[f"s{i}"], style["card"]) > 4.5, i  # Names are in it too.
        for step in ("card", "u1", "u2", "u3"):
            assert contrast(style["onlight"], style[step]) > 4.5, step
        for step in ("u4", "u5", "over"):
            assert contrast(style["ondark"], style[step]) > 4.5, step
        steps = [contrast(style[f"u{i}"], style["card"]) for i in range(1, 6)]
        assert steps == sorted(steps)


@needs_browser
@pytest.mark.parametrize("width", [360, 768])
def test_no_page_is_wider_than_a_phone(fixed, browser, width):
    fixed.ok("report", "record")
    shutil.copytree(fixed.folder / "record", fixed.folder / "a-record-with-a-rather-long-name-2")
    fixed.ok("compare", "record", "a-record-with-a-rather-long-name-2", "-o", "both")
    for page in ("record/report.html", "both/compare.html"):
        found = browser.measure(fixed.folder / page, width)
        assert found["wide"] <= width, page
        assert all(0 <= box[0] and box[2] <= width + 0.5 for box in found["cards"]), page
        assert all(box[2] - box[0] > 250 for box in found["charts"]), page


@needs_browser
def test_a_comparison_draws_every_run_in_its_colour(fixed, browser):
    for i in range(3):
        shutil.copytree(FIXED, fixed.folder / f"r{i}")
        scalars = fixed.folder / f"r{i}" / "scalars.csv"
        lines = scalars.read_text().splitlines()
        out = [lines[0]]
        for line in lines[1:]:
            fields = line.split(",")
            fields[6] = fields[6] and str(float(fields[6]) + i / 5)
            out.append(",".join(fields))
        scalars.write_text("\n".join(out) + "\n")
    fixed.ok("compare", "r0", "r1", "r2", "-o", "all")
    page = fixed.folder / "all" / "compare.html"
    where = browser.measure(page, 1200)
    for dark, style in enumerate(colours_of(page.read_text(encoding="utf-8"))):
        image = browser.shot(page, 1200, 2400, dark=bool(dark))
        for box in where["charts"]:
            for i in range(3):
                assert count(image, style[f"s{i}"], box) > 60, (i, box)

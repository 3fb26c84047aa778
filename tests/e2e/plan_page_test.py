"""strait plan place --html: the page of a plan, written whole, and looked at in a browser."""

import html
import json
import os
import re
import threading
from pathlib import Path

import pytest

from browser_of import browser, colours_of, count, needs_browser, rgb

TOP = Path(__file__).resolve().parents[2]
MAPS = TOP / "topologies"

# A ring around the world: whatever is cut, a link leaves the map at one side.
WORLD = {"name": "world", "regions": [
    {"id": "t", "name": "Tokyo", "lat": 35.7, "lon": 139.7},
    {"id": "o", "name": "Oregon", "lat": 45.6, "lon": -121.2},
    {"id": "v", "name": "Virginia", "lat": 38.9, "lon": -77.5},
    {"id": "d", "name": "Dublin", "lat": 53.3, "lon": -6.3},
    {"id": "m", "name": "Mumbai", "lat": 19.1, "lon": 72.9}],
    "links": [{"a": a, "b": b, "mbps": mbps} for a, b, mbps in (
        ("t", "o", 900), ("o", "v", 3000), ("v", "d", 1500), ("d", "m", 700), ("m", "t", 800))]}


def plan(strait, file, *args):
    """The answer and its page."""
    answer = strait.json("plan", "place", file, "--bytes", "92MB", "--html", "page.html", *args)
    return answer, strait.folder / "page.html"


def put(strait, network):
    (strait.folder / "net.json").write_text(json.dumps(network), encoding="utf-8")
    return "net.json"


def outside(page):
    """What a page asks of others."""
    return re.findall(r"(?:src|href)\s*=|url\(|@import|<script|<link|<iframe|https?:", page)


def bare(page):
    return page.read_text(encoding="utf-8")


# What is in it.

@pytest.mark.parametrize("name", ["b4.json", "internet2.json"])
@pytest.mark.parametrize("model", ["hops", "pipelined"])
def test_every_region_flow_and_link_is_there(strait, name, model):
    answer, path = plan(strait, MAPS / name, "--model", model)
    page = html.unescape(bare(path))
    assert outside(page) == []
    assert f"Put the server in {answer['server']}: a push and pull of 92 MB takes " in page
    assert ">proven</span>" in page
    regions = {c["server"] for c in answer["candidates"]}
    drawn = re.findall(r'<text class="label[^>]*>([^<,]*)', page)
    assert sorted(drawn) == sorted(regions)
    for flow in answer["flows"]:
        way = " → ".join(flow["path"])
        assert f"<title>{way}: {flow['mbps']:.0f} Mbit/s</title>" in page
        assert f"{way}</td>" in page
    for link in answer["links"]:
        assert f"<title>{link['a']} – {link['b']}: " in page
    assert len(re.findall(r'<path class="flow f\d+" d=', page)) == len(answer["flows"])
    assert page.count('class="node server"') == 2  # And in the legend.
    for note in answer["notes"]:
        assert note in page


def test_the_next_places_have_numbers_and_times(strait):
    answer, path = plan(strait, MAPS / "b4.json")
    order = sorted((c for c in answer["candidates"] if c["server"] != answer["server"]),
                   key=lambda c: c["time_s"])
    page = bare(path)
    assert re.findall(r'class="digit"[^>]*>(\d)<', page) == sorted("234", key=lambda n: [
        c["server"] for c in answer["candidates"]].index(order[int(n) - 2]["server"]))
    for next_ in order[:3]:
        assert re.search(rf">{next_['server']}, (at most )?{next_['time_s']:.2f} s</text>", page)


def test_a_link_over_the_edge_is_drawn_in_two(strait):
    _, path = plan(strait, put(strait, WORLD))
    ways = re.findall(r'<path class="link[^"]*" stroke-width="[\d.]+" d="([^"]*)"><title>',
                      bare(path))
    assert sorted(way.count("M") for way in ways) == [1, 1, 1, 1, 2]
    wide = float(re.search(r'class="map" viewBox="0 0 (\d+)', bare(path)).group(1))
    cut = next(way for way in ways if way.count("M") == 2)
    ends = [float(x) for x in re.findall(r"[ML]([\d.-]+) ", cut)]
    assert {ends[1], ends[2]} == {0.0, wide}


def test_networks_without_places_say_so(strait):
    for region in (network := json.loads(json.dumps(WORLD)))["regions"]:
        del region["lat"], region["lon"]
    _, path = plan(strait, put(strait, network))
    assert "The file has no places for these regions" in bare(path)
    assert 'class="land"' not in bare(path)
    network["regions"][0].update(lat=1, lon=2)
    network["regions"][1].update(lat=3, lon=5)
    network["regions"][2].update(lat=7, lon=9)
    _, path = plan(strait, put(strait, network))
    assert "no places for 2 of the regions: they are drawn between" in bare(path)


def test_regions_of_one_name_are_told_apart(strait):
    network = json.loads(json.dumps(WORLD))
    network["regions"][1]["name"] = "Tokyo"
    _, path = plan(strait, put(strait, network))
    assert "Tokyo (t)" in bare(path) and "Tokyo (o)" in bare(path)


def test_the_page_is_the_same_for_any_number_of_jobs(strait):
    pages = set()
    for jobs in (1, 2, 3):
        plan(strait, MAPS / "b4.json", "--jobs", str(jobs))
        pages.add((strait.folder / "page.html").read_bytes())
    assert len(pages) == 1


# Where it goes.

def test_it_is_beside_the_answer_or_alone(strait):
    args = ("plan", "place", MAPS / "internet2.json", "--bytes", "92MB")
    words = strait.ok(*args).split("\n\n")
    beside = strait.ok(*args, "--html", "a.html").split("\n\n")
    assert len(words) == len(beside) and words[:2] == beside[:2]  # Below is how long it took.
    page = strait.ok(*args, "--html", "-")
    assert page == (strait.folder / "a.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    done = strait.run(*args, "--html", "-", "--json")
    assert done.returncode == 2 and done.stdout == ""
    assert json.loads(done.stderr)["error"]["id"] == "STRAIT-0003"


def test_it_is_whole_or_not_there(strait):
    args = ("plan", "place", MAPS / "internet2.json", "--bytes", "92MB", "--html")
    (strait.folder / "old.html").write_text("old")
    (strait.folder / "full").mkdir()
    strait.ok(*args, "old.html")
    assert (strait.folder / "old.html").read_text(encoding="utf-8").endswith("</html>\n")
    done = strait.run(*args, "nowhere/page.html")
    assert done.returncode == 1 and "error[STRAIT-0101]" in done.stderr
    assert "nowhere/page.html: No such file" in done.stderr
    assert done.stdout.startswith("Put the server in ")  # What was found is not lost.
    done = strait.run(*args, "full")
    assert done.returncode == 1 and "full: Is a directory" in done.stderr
    assert sorted(p.name for p in strait.folder.iterdir()) == ["full", "old.html"]
    assert list((strait.folder / "full").iterdir()) == []


def test_a_pipe_stays_a_pipe(strait):
    os.mkfifo(strait.folder / "pipe")
    read = []
    reader = threading.Thread(
        target=lambda: read.append((strait.folder / "pipe").read_text(encoding="utf-8")))
    reader.start()
    strait.ok("plan", "place", MAPS / "internet2.json", "--bytes", "92MB", "--html", "pipe")
    reader.join(60)
    assert read[0].endswith("</html>\n") and (strait.folder / "pipe").is_fifo()


def test_without_a_plan_there_is_no_page(strait):
    file = put(strait, {"regions": ["a"], "links": []})
    done = strait.run("plan", "place", file, "--bytes", "1MB", "--html", "page.html")
    assert done.returncode == 78 and not (strait.folder / "page.html").exists()


# The browser.

def hits(a, b):
    """Do two boxes overlap, by more than what letters do not fill?"""
    return a[0] < b[2] and b[0] < a[2] and a[1] + 2 < b[3] and b[1] + 2 < a[3]


@needs_browser
@pytest.mark.parametrize("name", ["b4.json", "internet2.json", "ec2-11.json", "world"])
def test_it_is_really_drawn_and_names_do_not_touch(strait, browser, name):
    file = put(strait, WORLD) if name == "world" else MAPS / name
    answer, page = plan(strait, file, "--method", "round", "--paths", "8")
    found = browser.measure(page, 1200)
    assert found["requests"] == 0 and found["scripts"] == 0 and len(found["maps"]) == 1
    box = found["maps"][0]
    assert len(found["labels"]) == len(answer["candidates"])
    for i, a in enumerate(found["labels"]):
        assert box[0] <= a[0] and a[2] <= box[2] and box[1] <= a[1] and a[3] <= box[3]
        assert not any(hits(a, b) for b in found["labels"][:i])
    said = "\n".join(found["titles"])
    for flow in answer["flows"]:
        rate = f"{flow['mbps']:.0f}" if flow["mbps"] >= 100 else f"{flow['mbps']:.3g}"
        assert f" at {rate} Mbit/s" in said
    for dark, style in enumerate(colours_of(bare(page))):
        image = browser.shot(page, 1200, 1400, dark=bool(dark))
        assert (image[3, 3] == rgb(style["bg"])).all()
        assert count(image, style["over"], box) > 40  # The star.
        assert count(image, style["ink"], box) > 200  # Regions and names.


@needs_browser
@pytest.mark.parametrize("width", [360, 768])
def test_it_is_not_wider_than_a_phone(strait, browser, width):
    network = json.loads(json.dumps(WORLD))
    network["regions"][0]["name"] = "A region with a name that is longer than any column for it"
    for file in (MAPS / "b4.json", put(strait, network)):
        _, page = plan(strait, file)
        found = browser.measure(page, width)
        assert found["wide"] <= width
        assert all(0 <= box[0] and box[2] <= width + 0.5 for box in found["cards"])

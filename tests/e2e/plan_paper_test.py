"""strait plan paper: facts that hold whatever the figures are, its files, and its page."""

import csv
import re
from pathlib import Path

import pytest

from browser_of import browser, colours_of, count, needs_browser, rgb

TOP = Path(__file__).resolve().parents[2]
FILES = ["fig4.csv", "fig5.csv", "fig5.svg", "fig6.csv", "fig6.svg", "index.html", "table3.csv"]
SAME = 1e-8


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """One run: its answer, and the folder that it wrote."""
    from conftest import Strait
    strait = Strait(tmp_path_factory.mktemp("paper"))
    return strait.json("plan", "paper", "-o", "apsp"), strait.folder / "apsp"


def ways_of(answer):
    """All that is said of placing, by network."""
    for net in answer["topologies"]:
        for row in net["table3"]:
            yield net, row["hops"]
            yield net, row["pipelined"]
        for row in net["sweep"]:
            yield net, row["placing"]


def test_nothing_is_below_what_is_proven(done):
    answer, _ = done
    for _, ways in ways_of(answer):
        exact = ways["exact"]["time_s"]
        linked = ways["most_connected"]
        assert 0 < exact <= ways["apsp"]["time_s"] * (1 + SAME)
        assert exact <= linked["time_s"] * (1 + SAME) and exact <= ways["random_s"] * (1 + SAME)
        assert linked["time_s"] <= linked["tie_worst_s"] * (1 + SAME)
        assert exact <= linked["tie_mean_s"] <= linked["tie_worst_s"] * (1 + SAME)
    for net in answer["topologies"]:
        for row in net["sweep"]:
            routing = row["routing"]
            assert routing["exact_s"] == pytest.approx(row["placing"]["exact"]["time_s"], rel=SAME)
            assert routing["server"] == row["placing"]["exact"]["server"]
            for way in ("apsp_s", "shortest_path_s", "load_balancing_s"):
                assert routing["exact_s"] <= routing[way] * (1 + SAME)
            # A server's own draws are not better than the best of all servers'.
            assert row["placing"]["apsp"]["time_s"] <= routing["apsp_s"] * (1 + SAME)


def test_faster_links_never_take_longer(done):
    for net in done[0]["topologies"]:
        assert [row["lower_mbps"] for row in net["sweep"]] == list(range(500, 5001, 500))
        for less, more in zip(net["sweep"], net["sweep"][1:]):
            assert more["placing"]["exact"]["time_s"] <= less["placing"]["exact"]["time_s"]
            assert more["placing"]["random_s"] <= less["placing"]["random_s"]
            assert more["routing"]["shortest_path_s"] >= more["routing"]["exact_s"]


def test_times_are_linear_in_the_size_of_the_model(done):
    for net in done[0]["topologies"]:
        first = net["table3"][0]
        for row in net["table3"]:
            scale = row["bytes"] / first["bytes"]
            for model in ("hops", "pipelined"):
                assert row[model]["exact"]["server"] == first[model]["exact"]["server"]
                for way in ("exact", "most_connected"):
                    assert row[model][way]["time_s"] == pytest.approx(
                        scale * first[model][way]["time_s"], rel=1e-7)
                assert row[model]["random_s"] == pytest.approx(
                    scale * first[model]["random_s"], rel=1e-7)
            # A relay that streams is not slower than one that waits for all.
            assert row["pipelined"]["exact"]["time_s"] <= row["hops"]["exact"]["time_s"]


def test_the_table_and_the_sweep_agree_where_they_meet(done):
    for net in done[0]["topologies"]:
        table = next(row for row in net["table3"] if row["model"] == "ResNet152")
        # Rates of the file are in whole kbit/s.
        assert table["hops"]["exact"]["time_s"] == pytest.approx(
            net["sweep"][0]["placing"]["exact"]["time_s"], rel=1e-5)


def test_the_papers_own_figures_are_beside_ours(done):
    b4, internet2 = done[0]["topologies"]
    assert (b4["topology"], b4["regions"], b4["links"]) == ("B4", 12, 19)
    assert (internet2["topology"], internet2["regions"], internet2["links"]) == ("Internet2", 9, 13)
    said = [[row["paper"][k] for k in ("random_s", "most_connected_s", "apsp_s")]
            for net in (b4, internet2) for row in net["table3"]]
    paper = [[14.88, 7.36, 5.88], [37.68, 19.20, 14.40], [39.74, 20.48, 18.20],
             [87.18, 44.16, 39.26], [12.54, 12.26, 9.82], [32.72, 32.00, 25.60],
             [34.90, 34.14, 27.30], [75.24, 73.60, 58.88]]
    assert said == paper
    assert [row["bytes"] for row in b4["table3"]] == [92e6, 240e6, 256e6, 552e6]
    notes = " ".join(done[0]["notes"])
    for words in ("places are assumed", "says neither the rates", "linear in the size"):
        assert words in notes


def rows_of(folder, name):
    with open(folder / name, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def test_the_files_say_what_the_answer_says(done):
    answer, folder = done
    assert sorted(p.name for p in folder.iterdir()) == FILES
    table, fig4 = rows_of(folder, "table3.csv"), rows_of(folder, "fig4.csv")
    fig5, fig6 = rows_of(folder, "fig5.csv"), rows_of(folder, "fig6.csv")
    assert (len(table), len(fig4), len(fig5), len(fig6)) == (16, 32, 20, 20)
    assert list(table[0]) == [
        "topology", "model", "bytes", "reckoning", "random_s", "most_connected",
        "most_connected_s", "ties", "tie_mean_s", "tie_worst_s", "apsp", "apsp_s", "exact",
        "exact_s", "less_than_random_percent", "less_than_most_connected_percent",
        "paper_random_s", "paper_most_connected_s", "paper_apsp_s"]
    assert list(fig4[0]) == ["topology", "model", "way", "seconds", "paper_seconds"]
    assert list(fig5[0]) == [
        "topology", "lower_mbps", "random_s", "most_connected", "most_connected_s", "ties",
        "tie_mean_s", "tie_worst_s", "apsp", "apsp_s", "exact", "exact_s"]
    assert list(fig6[0]) == ["topology", "lower_mbps", "server", "shortest_path_s",
                             "load_balancing_s", "apsp_s", "exact_s"]
    for net in answer["topologies"]:
        for row in net["table3"]:
            found = next(r for r in table if (r["topology"], r["model"], r["reckoning"]) ==
                         (net["topology"], row["model"], "hops"))
            assert float(found["exact_s"]) == pytest.approx(row["hops"]["exact"]["time_s"],
                                                            abs=1e-6)
            assert float(found["paper_apsp_s"]) == row["paper"]["apsp_s"]
            less = 100 * (1 - row["hops"]["exact"]["time_s"] / row["hops"]["random_s"])
            assert float(found["less_than_random_percent"]) == pytest.approx(less, abs=1e-3)
            bars = {r["way"]: r for r in fig4
                    if (r["topology"], r["model"]) == (net["topology"], row["model"])}
            assert sorted(bars) == ["apsp", "exact", "most_connected", "random"]
            assert float(bars["random"]["paper_seconds"]) == row["paper"]["random_s"]


def test_every_run_writes_the_same_files(strait, done):
    text = strait.ok("plan", "paper", "-o", "again/deep")
    for name in FILES:
        assert (strait.folder / "again/deep" / name).read_bytes() == (done[1] / name).read_bytes()
    assert "B4, model hops" in text and "Internet2, model pipelined" in text
    assert "21.45 (37.68)" in text  # Ours, and the paper's.


def test_a_folder_that_cannot_be_is_an_error(strait):
    (strait.folder / "file").write_text("")
    assert "file/" in strait.fails(1, "STRAIT-0101", "plan", "paper", "-o", "file/apsp")


def test_the_figures_of_the_docs_are_those_of_the_command(done):
    words = (TOP / "docs" / "EXPERIMENTS.md").read_text(encoding="utf-8")
    for figure in ("fig5", "fig6"):
        ours = (done[1] / f"{figure}.svg").read_text(encoding="utf-8")
        assert (TOP / "docs" / f"apsp-{figure}.svg").read_text(encoding="utf-8") == ours
        assert f"](apsp-{figure}.svg)" in words
    for row in rows_of(done[1], "table3.csv"):
        if row["reckoning"] == "hops":
            assert f"**{float(row['exact_s']):.2f}**" in words, row["model"]


# The page.

def outside(page):
    """What a page asks of others."""
    return re.findall(r"(?:src|href)\s*=|url\(|@import|<script|<link|<iframe", page)


def test_the_page_has_everything_in_it(done):
    page = (done[1] / "index.html").read_text(encoding="utf-8")
    assert outside(page) == [] and "http" not in page
    for name in ("tokyo", "finland", "seat", "newy"):
        assert f">{name}</text>" in page
    for figure in ("fig4", "fig5", "fig6", "table3-0", "table3-1"):
        assert f'id="{figure}"' in page
    for note in done[0]["notes"]:
        assert note.replace("'", "&#39;") in page


@needs_browser
def test_the_page_is_really_drawn(done, browser):
    page = done[1] / "index.html"
    found = browser.measure(page, 1200)
    assert found["requests"] == 0 and found["scripts"] == 0
    assert len(found["maps"]) == 2 and len(found["charts"]) == 4 and len(found["bars"]) == 40
    assert len(found["labels"]) == 12 + 9
    for i, a in enumerate(found["labels"]):
        for b in found["labels"][:i]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] + 2 >= b[3] or b[1] + 2 >= a[3], (a, b)
    for dark, style in enumerate(colours_of(page.read_text(encoding="utf-8"))):
        image = browser.shot(page, 1200, 4200, dark=bool(dark))
        assert (image[3, 3] == rgb(style["bg"])).all()
        for box in found["charts"]:
            assert count(image, style["s0"], box) > 300 and count(image, style["s3"], box) > 150
        for box in found["maps"]:
            assert count(image, style["ink"], box) > 300


@needs_browser
@pytest.mark.parametrize("width", [360, 768])
def test_the_page_is_not_wider_than_a_phone(done, browser, width):
    found = browser.measure(done[1] / "index.html", width)
    assert found["wide"] <= width
    assert all(0 <= box[0] and box[2] <= width + 0.5 for box in found["cards"])

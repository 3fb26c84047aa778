"""tools/land: coastlines from TopoJSON, and that src/run/map/coastline.c is what it writes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
LAND = TOP / "src" / "run" / "map" / "coastline.c"


def run(data, out):
    return subprocess.run([sys.executable, str(TOP / "tools" / "land"), str(data), "--out",
                           str(out)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60)


def rings_of(text):
    """Rings of a file that the tool wrote."""
    points = [(int(x), int(y)) for x, y in re.findall(r"\{(-?\d+), (-?\d+)\}", text)]
    ends = [int(n) for n in re.findall(r"\d+", text.split("ends[] = {")[1].split("}")[0])]
    assert f"run_land_count = {len(ends)};" in text and ends[-1] == len(points)
    return [points[a:b] for a, b in zip([0] + ends, ends)]


def topology(arcs, polygons):
    """TopoJSON of arcs in whole degrees."""
    def steps(arc):
        return [arc[0]] + [[b[0] - a[0], b[1] - a[1]] for a, b in zip(arc, arc[1:])]
    return {"type": "Topology", "transform": {"scale": [1, 1], "translate": [0, 0]},
            "arcs": [steps(arc) for arc in arcs],
            "objects": {"land": {"geometries": [{"type": "MultiPolygon", "arcs": polygons}]}}}


def written(tmp_path, arcs, polygons):
    data, out = tmp_path / "data.json", tmp_path / "out.c"
    data.write_text(json.dumps(topology(arcs, polygons)))
    done = run(data, out)
    assert done.returncode == 0, done.stderr
    return rings_of(out.read_text())


def test_arcs_are_joined_whichever_way_round_they_are(tmp_path):
    arcs = [[[0, 0], [10, 0], [10, 10]], [[0, 0], [0, 10], [10, 10]]]
    assert written(tmp_path, arcs, [[[0, -2]]]) == [[(0, 0), (100, 0), (100, 100), (0, 100)]]


def test_what_is_straight_has_no_points_between(tmp_path):
    side = [[x, 0] for x in range(0, 21)] + [[20, 20], [0, 20], [0, 0]]
    assert written(tmp_path, [side], [[[0]]]) == [[(0, 0), (200, 0), (200, 200), (0, 200)]]


def test_a_ring_goes_on_beyond_180_degrees(tmp_path):
    ring = [[170, 0], [-170, 0], [-170, 20], [170, 20], [170, 0]]
    assert written(tmp_path, [ring], [[[0]]]) == [[(1700, 0), (1900, 0), (1900, 200), (1700, 200)]]


def test_a_ring_around_a_pole_is_closed_along_it(tmp_path):
    ring = [[-180, -70], [-90, -75], [0, -70], [90, -75], [-180, -70]]
    found, = written(tmp_path, [ring], [[[0]]])
    assert found[-2:] == [(1800, -900), (-1800, -900)]
    assert all(abs(a[0] - b[0]) <= 900 for a, b in zip(found[:-2], found[1:-2]))


def test_what_cannot_be_seen_is_left_out(tmp_path):
    large = [[0, 0], [10, 0], [10, 10], [0, 0]]
    small = [[50, 80], [51, 80], [51, 81], [50, 80]]
    assert len(written(tmp_path, [large, small], [[[0]], [[1]]])) == 1


@pytest.mark.parametrize("bytes_", [b"", b"{}", b"[1]", b'{"transform": 1}', b"\xff"])
def test_other_files_are_refused(tmp_path, bytes_):
    (tmp_path / "data.json").write_bytes(bytes_)
    done = run(tmp_path / "data.json", tmp_path / "out.c")
    assert done.returncode == 1 and "data.json: not TopoJSON" in done.stderr
    assert not (tmp_path / "out.c").exists()
    done = run(tmp_path / "nothing", tmp_path / "out.c")
    assert done.returncode == 1 and "nothing" in done.stderr


def test_the_coastlines_are_what_the_tool_writes(tmp_path):
    folder = os.environ.get("STRAIT_DATA")
    if not folder:
        pytest.skip("STRAIT_DATA does not name a folder with map/land-110m.json")
    done = run(Path(folder) / "map" / "land-110m.json", tmp_path / "out.c")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.c").read_text() == LAND.read_text()

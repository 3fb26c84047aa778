"""tools/topology-apsp and the maps it wrote: the method on made-up networks, its complaints, and,
where the networks are, that the files of the tree are just what it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
TOOL = TOP / "tools" / "topology-apsp"
MAPS = TOP / "topologies"
FILES = {"b4.json", "internet2.json"}

DEGREE_KM = 3.141592653589793 * 6371 / 180


@pytest.fixture
def data(tmp_path):
    """Networks along the equator."""
    folder = tmp_path / "data"
    folder.mkdir()
    ring = [(i, (i + 1) % 12) for i in range(12)]
    both = [{"source": s, "target": t, "capacity": 9} for a, b in ring for s, t in ((a, b), (b, a))]
    nodes = [{"id": i} for i in reversed(range(12))]
    (folder / "b4_12.json").write_text(json.dumps({"nodes": nodes, "links": both}))
    sites = ['%d,x,"a, b",0,%d' % (i, i * (i + 1) // 2) for i in range(12)]  # 1, 2, ... degrees.
    (folder / "b4_12_sites_assumed.csv").write_text(
        "\n".join(["id,continent,assumed_site,lat,lon", *sites]) + "\n"
    )
    nodes = [{"id": name, "lat": 0, "lon": lon} for name, lon in (("B", 0), ("A", 1), ("C", 4))]
    links = [{"source": "A", "target": "B"}, {"source": "C", "target": "A"}]
    links.append({"source": "C", "target": "B"})
    (folder / "internet2_9.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    return folder


def write(data, out):
    out.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, TOOL, data, "--out", out], capture_output=True, text=True, timeout=60
    )


def written(data, out):
    done = write(data, out)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} == FILES
    return {name: json.loads((out / name).read_text()) for name in FILES}


def figures(topology):
    """Mbit/s and milliseconds by pair of names."""
    return {
        tuple(e["between"]): (float(e["rate"][: -len("mbit")]), float(e["rtt"][: -len("ms")]))
        for e in topology["links"]
    }


def test_rates_are_linear_in_distance(data, tmp_path):
    topology = written(data, tmp_path / "out")["internet2.json"]
    found = figures(topology)
    assert [region["name"] for region in topology["regions"]] == ["b", "a", "c"]
    assert list(found) == [("b", "a"), ("b", "c"), ("a", "c")]
    assert [rate for rate, _ in found.values()] == [5000, 500, 2000]
    for (_, rtt), degrees in zip(found.values(), (1, 4, 3)):
        assert rtt == pytest.approx(degrees * DEGREE_KM / 100, abs=0.0006)


def test_both_directions_are_one_link(data, tmp_path):
    topology = written(data, tmp_path / "out")["b4.json"]
    names = [region["name"] for region in topology["regions"]]
    assert (names[0], names[3], names[11]) == ("singapore", "oregon", "finland")
    assert set(figures(topology)) == {(names[i], names[i + 1]) for i in range(11)} | {
        (names[0], names[11])
    }
    assert topology["regions"][3]["longitude"] == 6


def test_what_is_assumed_is_said():
    for name in FILES:
        topology = json.loads((MAPS / name).read_text())
        said = " ".join(topology["source"])
        assert topology["duplex"] == "shared"
        assert "no formula" in said and "200,000 km/s" in said and "lan: assumed" in said
        assert ("places: assumed" in said) == (name == "b4.json")
        assert ("not facts" in said) == (name == "b4.json")


def test_a_missing_file_is_named(data, tmp_path):
    (data / "b4_12_sites_assumed.csv").unlink()
    done = write(data, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("topology-apsp: ") and "b4_12_sites_assumed.csv" in done.stderr
    assert done.stderr.rstrip().endswith("topologies/README.md says what it is")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "name, old, new, complaint",
    [
        ("b4_12.json", "links", "edges", "not a network of nodes and links"),
        ("b4_12.json", "{", "[", "not a network of nodes and links"),
        ("b4_12.json", '"source": 11', '"source": 12', "joins what is no node"),
        ("b4_12.json", '"source": 1,', '"source": 2,', "or a node with itself"),
        ("b4_12.json", '{"id": 11}, ', '{"id": 12}, {"id": 11}, ', "not 0 to 11"),
        ("b4_12_sites_assumed.csv", "lat", "latitude", "not a table of id, lat and lon"),
        ("b4_12_sites_assumed.csv", "11,x", "12,x", "not a table of id, lat and lon"),
        ("b4_12_sites_assumed.csv", '11,x,"a, b",0,66\n', "", "no place of finland"),
        ("internet2_9.json", '"lon": 1', '"lon": "east"', "not nodes with id, lat and lon"),
    ],
)
def test_what_is_not_there_is_named(data, tmp_path, name, old, new, complaint):
    text = (data / name).read_text()
    assert old in text
    (data / name).write_text(text.replace(old, new))
    done = write(data, tmp_path / "out")
    assert done.returncode == 1
    assert f"{data / name}: " in done.stderr and complaint in done.stderr


def test_the_maps_are_what_the_tool_writes(tmp_path):
    folder = os.environ.get("STRAIT_DATA")
    if not folder:
        pytest.skip("STRAIT_DATA does not name a folder with the networks in topologies/")
    done = write(Path(folder) / "topologies", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "out" / name).read_text() == (MAPS / name).read_text(), name

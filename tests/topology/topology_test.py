"""tools/topology-ec2 and the maps it wrote: the method on made-up measurements, its complaints,
and, where the measurements are, that the files of the tree are just what it writes."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
TOOL = TOP / "tools" / "topology-ec2"
MAPS = TOP / "topologies"
FILES = {
    "ec2-11.json",
    "ec2-11-parallel.json",
    "virginia-california.json",
    "singapore-sao-paulo.json",
    "three-regions.json",
}

# In the order of the map.
PROVIDER = [
    "us-east-1", "us-west-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1",
    "ap-northeast-2", "ap-southeast-1", "ap-southeast-2", "ap-south-1", "sa-east-1",
]  # fmt: skip
READ = [0, 2, 4, 6, 8, 10]  # Whom there are readings between.
WINDOW = 12000


def rtt_ms(i, j):
    return 4 if {i, j} == {0, 1} else 20 * abs(i - j) + 20


def pairs():
    return [(i, j) for i in range(11) for j in range(11) if i != j]


@pytest.fixture
def data(tmp_path):
    """Measurements of a world where rate times round trip is WINDOW for everybody."""
    folder = tmp_path / "data"
    folder.mkdir()

    def table(name, head, rows):
        text = "\n".join([head, *rows]) + "\n"
        (folder / (name + ".gz")).write_bytes(gzip.compress(text.encode()))

    ends = [(i, j, f"aws:{PROVIDER[i]},aws:{PROVIDER[j]}") for i, j in pairs()]
    table(
        "skyplane_latency_2022-04.csv",
        "src_region,dst_region,avg_rtt",
        [f"{names},{rtt_ms(i, j)}" for i, j, names in ends] + ["gcp:here,aws:us-east-1,1"],
    )
    table(
        "skyplane_throughput_2022-01.csv",
        "src_region,dst_region,throughput_received",
        [f"{names},4000000000.7" for _, _, names in ends],
    )
    table("skyplane_egress_cost_2022-05.csv", "src,dest,cost", [f"{e[2]},0.02" for e in ends])
    readings = []
    for i, j in pairs():
        if i in READ and j in READ:
            rate = WINDOW / rtt_ms(i, j)
            spread = 0.9 if i < j else 1.1  # One direction is slower; both runs are off too.
            readings += [
                f"dynamic,2,{PROVIDER[i]},{PROVIDER[j]},{rate * spread + off}" for off in (-1, 1)
            ]
        readings.append(f"dynamic,8,{PROVIDER[i]},{PROVIDER[j]},1")
        readings.append(f"snapshot,2,{PROVIDER[i]},{PROVIDER[j]},1")
    table("wanify_aws8_readings.csv", "kind,num_dcs,src_region,dst_region,received", readings)
    (folder / "aws_region_coords.txt").write_text(
        "".join(f"{name};x;{i}.5;-{i}\n" for i, name in enumerate(PROVIDER)) + "eu-west-9;y;1;1\n"
    )

    def machine(name, price, regions):
        pricing = {r: {"linux": {"ondemand": str(price)}} for r in regions}
        return {"instance_type": name, "pricing": pricing}

    machines = [
        machine("c4.4xlarge", 1, PROVIDER),
        machine("m4.xlarge", 0.25, PROVIDER),
        machine("g2.8xlarge", 3.5, PROVIDER[:10]),
    ]
    (folder / "ec2_instances_2017-01-23.json").write_text(json.dumps(machines))
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


def rates(topology):
    """Mbit/s by pair of names."""
    return {(e["from"], e["to"]): float(e["rate"].removesuffix("mbit")) for e in topology["links"]}


def names(topology):
    return [region["name"] for region in topology["regions"]]


def test_what_was_not_read_follows_from_the_round_trip(data, tmp_path):
    topology = written(data, tmp_path / "out")["ec2-11.json"]
    order, found = names(topology), rates(topology)
    for i, j in pairs():
        expected = WINDOW / rtt_ms(i, j)
        if {i, j} == {0, 1}:  # Nearer than all that was read.
            expected = 12 * round(WINDOW / rtt_ms(0, 10), 1)
        assert found[order[i], order[j]] == pytest.approx(expected, abs=0.06), (i, j)


def test_the_lan_misses_both_statements_alike(data, tmp_path):
    topology = written(data, tmp_path / "out")["ec2-11.json"]
    found = rates(topology).values()
    lan = float(topology["lan"]["rate"].removesuffix("mbit"))
    assert lan / (15 * mean(found)) == pytest.approx(60 * min(found) / lan, rel=0.02)


def test_a_machine_that_was_not_offered_has_the_mean_ratio(data, tmp_path):
    files = written(data, tmp_path / "out")
    prices = {r["name"]: r["usd_per_hour"] for r in files["ec2-11.json"]["regions"]}
    assert all(price == {"cpu": 1, "gpu": 3.5, "small": 0.25} for price in prices.values())
    told = {name: "not offered in sao-paulo" in str(files[name]["source"]) for name in FILES}
    assert told == {name: "sao-paulo" in names(files[name]) for name in FILES}


def test_a_missing_file_is_named(data, tmp_path):
    (data / "aws_region_coords.txt").unlink()
    done = write(data, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("topology-ec2: ") and "aws_region_coords.txt" in done.stderr
    assert done.stderr.rstrip().endswith("topologies/README.md says what it is")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    "name, old, new, complaint",
    [
        ("skyplane_latency_2022-04.csv", "us-west-1,aws:us-east-1,", "x,y,", "california to virg"),
        ("skyplane_throughput_2022-01.csv", "4000000000.7", "fast", "throughput_received"),
        ("skyplane_egress_cost_2022-05.csv", "cost", "price", "column cost"),
        ("wanify_aws8_readings.csv", "dynamic,2", "dynamic,3", "no reading"),
        ("aws_region_coords.txt", "us-west-2;", "us-west-3;", "no place of oregon"),
        ("aws_region_coords.txt", "eu-west-9;y", "eu-west-9", "not a place: 'eu-west-9;1;1'"),
        ("ec2_instances_2017-01-23.json", "m4.xlarge", "m9", "no price of m4.xlarge in virginia"),
        ("ec2_instances_2017-01-23.json", "pricing", "price", "not a list of machines"),
        ("ec2_instances_2017-01-23.json", "[{", "[[{", "not a list of machines"),
    ],
)
def test_what_is_not_there_is_named(data, tmp_path, name, old, new, complaint):
    packed = data / (name + ".gz")
    if packed.exists():
        (data / name).write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    text = (data / name).read_text()
    assert old in text
    (data / name).write_text(text.replace(old, new))
    done = write(data, tmp_path / "out")
    assert done.returncode == 1
    assert f"{data / name}: " in done.stderr and complaint in done.stderr


def test_the_table_of_checks_has_the_figures_of_the_map():
    topology = json.loads((MAPS / "ec2-11.json").read_text())
    page = (MAPS / "README.md").read_text()
    found = rates(topology)
    lan = float(topology["lan"]["rate"].removesuffix("mbit"))
    worst, average = min(found.values()), mean(found.values())
    assert found["singapore", "sao-paulo"] == worst
    for row in (
        f"| Singapore - Sao Paulo, {worst} Mbit/s |",
        f"| LAN by mean pair | 15 | {lan / average:.1f} | {lan:.0f} by {average:.1f} Mbit/s; "
        f"{100 * (lan / average / 15 - 1):.0f} % above |",
        f"| LAN by worst pair | 60 | {lan / worst:.1f} | "
        f"{100 * (1 - lan / worst / 60):.0f} % below |",
        f"| up to 12 | {found['oregon', 'california'] / worst:.1f} | by step 3",
        f"| up to 12 | {found['tokyo', 'seoul'] / worst:.1f} | by step 2",
    ):
        assert row in page, row


def test_every_map_is_on_the_page():
    page = (MAPS / "README.md").read_text()
    names = {path.name for path in MAPS.glob("*.json")}
    assert names == FILES | {"b4.json", "internet2.json"}
    assert all(f"| `{name}` |" in page for name in names)


def test_the_maps_are_what_the_tool_writes(tmp_path):
    folder = os.environ.get("STRAIT_DATA")
    if not folder:
        pytest.skip("STRAIT_DATA does not name a folder with the measurements in wan/")
    done = write(Path(folder) / "wan", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name in FILES:
        assert (tmp_path / "out" / name).read_text() == (MAPS / name).read_text(), name

"""The same run file in the simulator, on this machine and in a lab: the same clocks and bytes, and
times that are shown beside each other. No time of a real run is asserted: machines are shared.

    STRAIT_BIN=build/release/strait python3 -m pytest -s tests/e2e/grounds_test.py
"""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from site_of import until

RUNS = pathlib.Path(__file__).resolve().parents[2] / "runs"
GROUNDS = ["sim", "local", "lab"]


def lab_lacks():
    """Why there can be no lab here, or None."""
    if os.geteuid() != 0:
        return "a lab needs root"
    for tool in ("ip", "tc", "nft"):
        if shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            return f"a lab needs {tool}"
    return None if os.path.exists("/dev/net/tun") else "a lab needs /dev/net/tun"


def run_on(strait, ground, name, *args):
    if ground == "lab" and lab_lacks():
        pytest.skip(lab_lacks())
    summary = strait.json("run", str(RUNS / name), "--on", ground, "-o", f"{name}-{ground}", *args)
    with open(strait.folder / f"{name}-{ground}" / "scalars.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    return summary, rows


def show(name, results):
    print(f"\n{name:30} {'time':>8} {'of sim':>8} {'WAN bytes':>12}")
    for ground, (summary, _) in results.items():
        print(f"  {ground:28} {summary['time_s']:7.2f}s "
              f"{summary['time_s'] / results['sim'][0]['time_s']:8.3f} {summary['wan_bytes']:12}")


def test_a_job_that_moves_bytes_takes_what_one_computes_by_hand_and_is_the_same_everywhere(strait):
    args = ["--set", "stop.clocks=4"]
    results = {g: run_on(strait, g, "four-sites-synthetic.yaml", *args) for g in GROUNDS}
    show("four-sites-synthetic", results)
    times = [float(row["time_s"]) for row in results["sim"][1]]
    # 0.16 + 0.15 + 0.16 + 0.15 + 0.5 s: see the file.
    assert times[-1] - times[-2] == pytest.approx(1.12, rel=0.05)
    for summary, rows in results.values():
        assert summary["end"] == "clocks" and summary["clocks"] == 4 and len(rows) == 4
        # Only heartbeats and acknowledgements depend on when things happen.
        assert summary["wan_bytes"] == pytest.approx(results["sim"][0]["wan_bytes"], rel=0.002)


def test_sites_that_share_what_is_significant_do_the_same_everywhere(strait):
    args = ["--set", "stop.clocks=20", "--set", "evaluate.every=10"]
    results = {g: run_on(strait, g, "four-sites.yaml", *args) for g in GROUNDS}
    show("four-sites", results)
    sim = results["sim"][0]
    for ground, (summary, rows) in results.items():
        assert summary["end"] == "clocks" and summary["clocks"] == 20 and len(rows) == 20
        assert summary["objective"] == pytest.approx(sim["objective"], rel=0.02)
        assert summary["wan_bytes"] == pytest.approx(sim["wan_bytes"], rel=0.05)
        for site, twin in zip(summary["sites"], sim["sites"]):
            assert site["shared"]["elements_sent"] == pytest.approx(
                twin["shared"]["elements_sent"], rel=0.03)
        if ground != "sim":
            # The prediction is of the same run, with the steps that were measured.
            predicted = summary["predicted"]
            assert predicted["clocks"] == 20
            assert predicted["compute_s"] >= 0.2
            assert predicted["time_s"] == pytest.approx(sim["time_s"], rel=0.15)
    if not lab_lacks():
        assert results["lab"][0]["network"]["emulated_by"] == "lab"


def test_faults_of_links_happen_in_a_lab(strait):
    summary, _ = run_on(strait, "lab", "four-sites.yaml", "--set", "stop.clocks=10", "--set",
                        'faults=["at 500ms cut frankfurt tokyo for 300ms", '
                        '"at 600ms loss virginia oregon 5% for 500ms", "at 700ms flip"]',
                        "--no-prediction")
    assert summary["end"] == "clocks" and summary["predicted"] is None
    events = [json.loads(line) for line in
              (strait.folder / "four-sites.yaml-lab" / "events.jsonl").read_text().splitlines()]
    assert [e["text"] for e in events if e["event"] == "fault"] == ["cut", "loss"]
    assert [e["text"] for e in events if e["event"] == "left out"] == [
        "the fault 'flip' is not to be had here"]


def test_a_lab_without_root_is_refused_and_nothing_is_left(strait):
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv, to try it without")
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*nobody, strait.bin, "version"], capture_output=True).returncode != 0:
        pytest.skip("the program is closed to others")
    with tempfile.TemporaryDirectory(prefix="strait-nobody-") as folder:
        os.chmod(folder, 0o777)
        shutil.copy(RUNS / "four-sites.yaml", folder)
        done = subprocess.run([*nobody, strait.bin, "run", "four-sites.yaml", "--on", "lab", "-o",
                               "r"], capture_output=True, text=True, timeout=60, cwd=folder)
        assert done.returncode == 77, done.stderr
        assert "STRAIT-0411" in done.stderr and "a lab needs root" in done.stderr
        assert os.listdir(folder) == ["four-sites.yaml"]
    left = subprocess.run(["pgrep", "-u", "65534", "-f", "strait"], capture_output=True, text=True)
    assert left.stdout == ""


def test_a_lab_that_is_killed_ends_the_run_and_takes_all_with_it(strait):
    if lab_lacks():
        pytest.skip(lab_lacks())
    child = subprocess.Popen(
        [strait.bin, "run", str(RUNS / "four-sites.yaml"), "--on", "lab", "-o",
         str(strait.folder / "r"), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    try:
        until(lambda: (strait.folder / "r" / "scalars.csv").exists() and
              (strait.folder / "r" / "scalars.csv").read_text().count("\n") > 2)
        keeper = [int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(child.pid), "-f", "lab keep"], capture_output=True,
            text=True).stdout.split()]
        members = [int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(child.pid)], capture_output=True, text=True).stdout.split()]
        assert len(keeper) == 1 and len(members) == 9
        os.kill(keeper[0], 9)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 1, err
    assert "the lab was ended by signal 9" in json.loads(out)["why"]
    for pid in members:
        until(lambda p=pid: not os.path.exists(f"/proc/{p}"))

"""Network cards and other people's traffic in runs: what is said of them beforehand, what is kept
of them, and who refuses them. In a lab the same with real packets, as root."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from site_of import until

FILE = """
run: shared
topology: {regions: [here]}
links: {card: 20mbit}
servers: [{region: here}]
workers: [{region: here, count: 2}]
background: [{name: shuffle, flows: 3, on: 500ms, off: 500ms, steady: true}]
job: {name: synthetic, options: {mb: 0.5}}
compute: {time: 10ms}
evaluate: {every: 0}
stop: {clocks: 5}
"""


@pytest.fixture
def shared(strait):
    (strait.folder / "shared.yaml").write_text(FILE)
    return strait


def events_of(strait, record, kind):
    lines = (strait.folder / record / "events.jsonl").read_text().splitlines()
    return [e for e in map(json.loads, lines) if e["event"] == kind]


def test_a_dry_run_and_an_estimate_tell_of_it(shared):
    printed = shared.ok("run", "shared.yaml", "--dry-run")
    assert "card: 20mbit" in printed
    assert ("  - {name: shuffle, flows: 3, on: 500ms, off: 500ms, steady: true, among: all, after: "
            "0ns}\n") in printed
    told = shared.ok("run", "shared.yaml", "--estimate")
    assert "shuffle: 3 flows among all, 500 ms on, 500 ms off" in told


def test_a_record_has_its_bytes_apart_and_its_phases(shared):
    summary = shared.json("run", "shared.yaml", "-o", "r")
    alone = shared.json("run", "shared.yaml", "-o", "alone", "--set", "links.card=20mbit", "--set",
                        "background=[{flows: 1, on: 1s, after: 1h}]")
    assert summary["end"] == "clocks"
    assert summary["time_s"] > alone["time_s"] * 1.05
    assert summary["wan_bytes"] == 0 and alone["background_bytes"] == 0
    assert summary["background_bytes"] > 1e6
    events = events_of(shared, "r", "background")
    assert [e["who"] for e in events] == ["shuffle"] * len(events)
    assert [e["time_s"] for e in events] == [i * 0.5 for i in range(len(events))]
    assert events[0]["text"] == "on, 3 flows" and events[1]["text"].endswith(" bytes")


def test_a_run_without_it_has_none(shared):
    (shared.folder / "plain.yaml").write_text(
        "".join(line + "\n" for line in FILE.splitlines() if not line.startswith("background")))
    assert shared.json("run", "plain.yaml", "-o", "r")["background_bytes"] is None
    assert "background" not in (shared.folder / "r" / "run.yaml").read_text()


def test_grounds_without_cards_refuse_them_before_there_is_a_record(shared):
    said = shared.fails(78, "STRAIT-0403", "run", "shared.yaml", "--on", "local", "-o", "r")
    assert "shared.yaml: links.card is not there with --on local: leave it out, or use " in said
    assert not (shared.folder / "r").exists()


# In a lab.

def lab_lacks():
    """Why there can be no lab here, or None."""
    if os.geteuid() != 0:
        return "a lab needs root"
    for tool in ("ip", "tc", "nft"):
        if shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            return f"a lab needs {tool}"
    return None if os.path.exists("/dev/net/tun") else "a lab needs /dev/net/tun"


needs_lab = pytest.mark.skipif(lab_lacks() is not None, reason=str(lab_lacks()))

CARDS = """
run: cards
topology: {regions: [here]}
links: {card: 100mbit}
servers: [{region: here}]
workers: [{region: here, count: COUNT}]
sync: {delivery: DELIVERY}
job: {name: synthetic, options: {mb: 4}}
compute: {time: 10ms}
evaluate: {every: 0}
stop: {clocks: 3}
"""


@needs_lab
@pytest.mark.parametrize("delivery", ["pull", "broadcast"])
def test_workers_of_a_lab_share_the_card_of_their_server(strait, delivery):
    took = {}
    for count in (1, 8):
        (strait.folder / f"{count}.yaml").write_text(
            CARDS.replace("COUNT", str(count)).replace("DELIVERY", delivery))
        took[count] = strait.json("run", f"{count}.yaml", "--on", "lab", "-o", f"r{count}")
        print(f"\n{delivery} to {count}: {took[count]['time_s']:.2f} s, simulated "
              f"{took[count]['predicted']['time_s']:.2f} s")
        assert took[count]["network"]["emulated_by"] == "lab"
    # 4 MB of updates from each of them come through one card of 12.5 MB/s in each clock. That the
    # machine is not slower than the card is not for a test to say.
    assert took[1]["time_s"] > 3 * 0.32 * 0.95
    assert took[8]["time_s"] > 3 * 8 * 0.32 * 0.95


@needs_lab
def test_in_a_lab_it_is_real_traffic_by_the_same_draw(shared):
    on_lab = shared.json("run", "shared.yaml", "--on", "lab", "-o", "lab")
    on_sim = shared.json("run", "shared.yaml", "-o", "sim")
    for name, summary in (("lab", on_lab), ("sim", on_sim)):
        print(f"\nbeside others: {name} {summary['time_s']:.2f} s, of theirs "
              f"{summary['background_bytes'] / 1e6:.1f} MB")
    assert on_lab["end"] == "clocks"
    assert on_lab["background_bytes"] > 1e6
    # Three flows of the three cards, half of the time, and what goes before they begin and after.
    assert on_lab["background_bytes"] < 3 * 2.5e6 * (on_lab["time_s"] / 2 + 1)
    told = [(e["who"], e["text"].split()[0]) for e in events_of(shared, "lab", "background")]
    assert told[:3] == [("shuffle", "on,"), ("shuffle", "off,"), ("shuffle", "on,")]
    times = [e["time_s"] for e in events_of(shared, "lab", "background")][:-1]
    assert times == pytest.approx([i * 0.5 for i in range(len(times))], abs=0.2)


@needs_lab
def test_a_filler_that_dies_ends_the_run(shared):
    child = subprocess.Popen(
        [shared.bin, "run", "shared.yaml", "--on", "lab", "-o", "r", "--set", "stop.clocks=1000",
         "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=shared.env,
        cwd=shared.folder)
    events = shared.folder / "r" / "events.jsonl"
    until(lambda: events.exists() and "background" in events.read_text(), 30)
    fillers = subprocess.run(["pgrep", "-P", str(child.pid), "-f", "lab fill --listen"],
                             capture_output=True, text=True).stdout.split()
    assert len(fillers) == 3
    os.kill(int(fillers[0]), signal.SIGKILL)
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 1
    assert "the background traffic of " in json.loads(said)["why"]

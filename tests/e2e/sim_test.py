"""The simulated world and the benchmarks as people run them."""

import os
import subprocess

import pytest

SCRIPT = """
region eu
region us
link eu us rate=8mbit delay=10ms price=0.02
server s1 eu
client w1 us server=s1 updates=5 gap=10ms
at 100ms kill s1 for 300ms
run 30s
"""


@pytest.fixture
def script(strait):
    path = strait.folder / "a.sim"
    path.write_text(SCRIPT)
    return path


def test_the_builtin_scenario_holds(strait):
    text = strait.ok("sim")
    assert text.startswith("seed 1  ")
    assert "acknowledged" in text and "transcript " in text


def test_one_run_as_json(strait, script):
    answer = strait.json("sim", script, "--seed", "9")
    assert answer["seed"] == 9 and answer["held"] is True and answer["verdict"] == ""
    assert answer["totals"]["updates_counted"] == 5
    assert answer["faults"]["kill"] == 1
    assert {(link["from"], link["to"]) for link in answer["links"]} == {("eu", "us"), ("us", "eu")}
    assert all(link["usd"] == pytest.approx(link["bytes"] * 0.02e-9, rel=0.01, abs=1e-8)
               for link in answer["links"])


def test_the_same_seed_is_the_same_transcript_and_another_is_not(strait, script):
    one = strait.ok("sim", script, "--seed", "3", "--transcript")
    assert one == strait.ok("sim", script, "--seed", "3", "--transcript")
    assert one != strait.ok("sim", script, "--seed", "4", "--transcript")
    assert "s1: is killed" in one and "w1: s1 is up, restarted" in one


def test_many_seeds(strait):
    answer = strait.json("sim", "--runs", "20", "--seed", "100")
    assert answer["runs"] == 20 and answer["held"] is True
    assert answer["faults"]["cut"] > 0
    text = strait.ok("sim", "--runs", "3")
    assert text.startswith("all 3 runs held  seeds 1 to 3, ")


def test_for_a_time(strait, script):
    assert strait.json("sim", script, "--for", "300ms")["runs"] > 0


def test_a_script_from_standard_input(strait):
    done = strait.run("sim", "-", "--json", stdin=None, input=SCRIPT)
    assert done.returncode == 0, done.stderr


def test_what_the_builtin_prints_can_be_run(strait):
    (strait.folder / "b.sim").write_text(strait.ok("sim", "--builtin"))
    built_in = strait.json("sim")
    assert strait.json("sim", "b.sim")["transcript_hash"] == built_in["transcript_hash"]


def test_the_kinds_of_faults_are_listed(strait):
    assert "cut-one" in strait.json("sim", "--faults")["faults"]
    assert "kill         HOST for TIME" in strait.ok("sim", "--faults")


def test_a_bad_script_is_told_with_its_line(strait):
    (strait.folder / "bad.sim").write_text("region eu\nregoin us\n")
    text = strait.fails(78, "STRAIT-0401", "sim", "bad.sim")
    assert "bad.sim:2: 'regoin' is no statement" in text
    strait.fails(1, "STRAIT-0101", "sim", "missing.sim")


def test_work_that_is_not_done_fails_and_says_how_to_see_it_again(strait):
    (strait.folder / "cut.sim").write_text(
        SCRIPT.replace("at 100ms kill s1 for 300ms", "at 0 cut eu us for 100s"))
    done = strait.run("sim", "cut.sim", "--runs", "2")
    assert done.returncode == 1
    assert "error[STRAIT-0402]: seed 1: w1: 0 of 5 acknowledged" in done.stderr
    assert "strait sim cut.sim --seed 1 --transcript" in done.stderr


def check_stream(stream):
    assert stream["gb_per_s"] > 0 and stream["floor_gb_per_s"] > 0
    assert stream["ratio"] == pytest.approx(stream["gb_per_s"] / stream["floor_gb_per_s"])


def test_the_transport_is_measured_on_every_carrier(strait):
    answer = strait.json("bench", "net", "--rounds", "1", "--bytes", "4MiB", "--frame", "256KiB")
    for carrier in ("tcp", "unix", "tls"):
        (stream,) = answer[carrier]["streams"]
        assert stream["frame_bytes"] == 262144
        check_stream(stream)
    assert not [name for name in os.listdir("/tmp") if name.startswith("strait-bench-")
                and os.stat(f"/tmp/{name}").st_mtime > os.stat(strait.folder).st_mtime]


def test_all_of_one_carrier(strait):
    tcp = strait.json("bench", "net", "--over", "tcp", "--rounds", "1", "--bytes", "8MiB")["tcp"]
    sizes = [stream["frame_bytes"] for stream in tcp["streams"]]
    assert sizes == [4096, 16384, 65536, 262144, 1048576, 4194304]
    for stream in tcp["streams"]:
        check_stream(stream)
    assert tcp["frames_64"]["million_per_s"] > 0
    assert 0 < tcp["round_trip"]["p50_us"] <= tcp["round_trip"]["p99_us"]
    assert tcp["round_trip"]["floor_p50_us"] > 0


def test_the_simulator_is_measured(strait):
    workloads = strait.json("bench", "sim", "--rounds", "1")["workloads"]
    assert [w["name"] for w in workloads] == ["echo", "shared", "storm"]
    assert all(w["events_per_s"] > 0 and w["events"] > 1000 for w in workloads)


def test_a_benchmark_for_people(strait):
    text = strait.ok("bench", "net", "--over", "unix", "--rounds", "1", "--bytes", "4MiB",
                     "--frame", "64KiB")
    assert "65536-byte frames" in text and "ratio" in text


def test_bad_values_are_usage_errors(strait):
    for args in (("bench", "net", "--over", "carrier-pigeon"), ("bench", "net", "--rounds", "0"),
                 ("sim", "--runs", "none")):
        done = strait.run(*args)
        assert done.returncode == 2 and "STRAIT-0003" in done.stderr, done.stderr
    assert subprocess.run([strait.bin, "bench"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE).returncode == 2

"""The simulated world and the benchmarks as people run them."""

import os
import re
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

SITE = """
site barrier=bsp delivery=pull checkpoints=2 clocks=4 tables=1
region eu
region us
link eu us rate=8mbit delay=10ms price=0.02
server s0 eu
worker w0 eu compute=50ms
worker w1 us compute=80ms
at 500ms kill s0 for 300ms
expect updates=8 rebases=0
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


@pytest.fixture
def site_script(strait):
    path = strait.folder / "site.sim"
    path.write_text(SITE)
    return path


def test_a_site_for_people(strait, site_script):
    text = strait.ok("sim", site_script, "--seed", "2")
    assert text.startswith("seed 2  ")
    assert "site       bsp pull, lanes 1, workers 2, clocks 4, a checkpoint every 2\n" in text
    assert "updates    8 counted, " in text
    assert "recovery   0 rebases, " in text
    assert "faults     kill 1\n" in text
    assert "verdict    every invariant held\n" in text


def test_a_site_as_json(strait, site_script):
    answer = strait.json("sim", site_script)
    assert answer["kind"] == "site" and answer["held"] is True and answer["verdict"] == ""
    assert (answer["barrier"], answer["delivery"]) == ("bsp", "pull")
    assert answer["totals"]["updates_counted"] == 8 and answer["totals"]["rebases"] == 0
    assert answer["faults"]["kill"] == 1 and answer["lost_all"] is False
    assert {(link["from"], link["to"]) for link in answer["links"]} == {("eu", "us"), ("us", "eu")}
    many = strait.json("sim", site_script, "--runs", "5")
    assert many["runs"] == 5 and many["totals"]["updates_counted"] == 40
    assert many["sites"]["bsp"] == {"pull": 5, "broadcast": 0}


def test_the_transcript_of_a_site_says_what_happens_in_it(strait, site_script):
    done = strait.run("sim", site_script, "--transcript")
    assert done.returncode == 0 and done.stderr == ""
    for line in ("w0: is in, from clock 1", "w1: computes clock 2 with round 1",
                 "w1: pushes clock 2", "s0: dense round 2 = w0@2 + w1@2", "world: kill s0",
                 "s0: dense is restored to round ", "w0: has left"):
        assert f"] {line}" in done.stdout, line
    assert done.stdout == strait.ok("sim", site_script, "--transcript")


def test_sites_drawn_by_seed(strait):
    answer = strait.json("sim", "--site", "--runs", "30", "--seed", "7")
    assert answer["kind"] == "site" and answer["runs"] == 30 and answer["held"] is True
    assert sum(sum(kind.values()) for kind in answer["sites"].values()) == 30
    assert answer["faults"]["kill"] > 0 and answer["totals"]["updates_counted"] > 1000
    done = strait.run("sim", "--site", "--runs", "30", "--seed", "7")
    assert done.stdout.startswith("all 30 runs held  seeds 7 to 36, ")
    assert "  sites      " in done.stdout and "rebases" in done.stdout
    assert re.fullmatch(r"(\d+ of 30 runs\s*)*", done.stderr)  # On a slow machine.


def test_one_site_drawn_by_seed(strait):
    one = strait.json("sim", "--site", "--seed", "12")
    assert one["kind"] == "site" and one["seed"] == 12
    assert one["barrier"] in one["site"] and one["delivery"] in one["site"]
    transcript = strait.ok("sim", "--site", "--seed", "12", "--transcript")
    assert "w0: computes clock 1 with round" in transcript
    assert strait.json("sim", "--site")["seed"] == 1


def test_what_the_builtin_prints_of_a_site_can_be_run(strait):
    (strait.folder / "b.sim").write_text(strait.ok("sim", "--site", "--builtin"))
    answer = strait.json("sim", "b.sim")
    assert answer["kind"] == "site" and answer["held"] is True and answer["faults"]["kill"] > 0


def test_a_count_that_was_not_expected_fails_and_says_how_to_see_it_again(strait, site_script):
    site_script.write_text(SITE.replace("updates=8", "updates=9"))
    done = strait.run("sim", "site.sim", "--runs", "3")
    assert done.returncode == 1
    assert "error[STRAIT-0402]: seed 1: line 10 expects updates=9, but it is 8" in done.stderr
    assert "strait sim site.sim --seed 1 --transcript" in done.stderr


def test_a_site_that_does_not_get_done_says_who_is_stuck(strait, site_script):
    site_script.write_text(SITE.replace("run 30s", "run 100ms"))
    done = strait.run("sim", "site.sim")
    assert done.returncode == 1 and "does not get beyond clock" in done.stderr


def test_what_does_not_go_together_in_a_site_is_told_with_its_line(strait, site_script):
    site_script.write_text(SITE + "client w2 us server=s0\n")
    text = strait.fails(78, "STRAIT-0401", "sim", "site.sim")
    assert "site.sim:12: a client is of an echo cluster, but line 2 describes a site" in text
    text = strait.fails(2, "STRAIT-0010", "sim", "--site", "site.sim")
    assert "--site draws a site by seed and takes no script" in text


def test_fleets_are_drawn_by_seed_and_judged(strait):
    answer = strait.json("sim", "--fleet", "--runs", "10", "--seed", "3")
    assert answer["kind"] == "fleet" and answer["runs"] == 10 and answer["ok"]
    assert answer["totals"]["taken"] > answer["totals"]["made"] > 0
    assert sum(answer["totals"]["faults"].values()) > 10
    assert "10 fleets from seed 3" in strait.ok("sim", "--fleet", "--runs", "10", "--seed", "3")
    transcript = strait.ok("sim", "--fleet", "--seed", "4", "--transcript")
    assert "site a is up" in transcript and "world: " in transcript
    assert transcript == strait.ok("sim", "--fleet", "--seed", "4", "--transcript")
    text = strait.fails(2, "STRAIT-0010", "sim", "--fleet", "--site")
    assert "--fleet draws several sites by seed" in text


def test_feeds_are_drawn_by_seed_and_judged(strait):
    answer = strait.json("sim", "--feed", "--runs", "5", "--seed", "3")
    assert answer["kind"] == "feed" and answer["runs"] == 5 and answer["seed"] == 3 and answer["ok"]
    assert answer["virtual_s"] > 0 and answer["events"] > 1000
    totals = answer["totals"]
    assert totals["pushed"] >= totals["taken"] > 100 and totals["copies"] > 0
    assert 0 < totals["tightest"] <= 1.000001 and totals["bounds"] > 0
    assert sum(totals["faults"].values()) > 5
    text = strait.ok("sim", "--feed", "--runs", "5", "--seed", "3")
    assert text.startswith("ok  5 feeds from seed 3, ") and "\n  feed " not in text
    assert f"  updates    {totals['pushed']} pushed, {totals['taken']} taken; " in text
    assert " of what is allowed, in " in text and " passed on by workers, " in text
    one = strait.ok("sim", "--feed", "--seed", "4")
    assert "ok  1 feeds from seed 4, " in one and "\n  feed       " in one and " push " in one
    assert strait.json("sim", "--feed", "--for", "300ms")["runs"] > 0
    transcript = strait.ok("sim", "--feed", "--seed", "4", "--transcript")
    assert "w0: " in transcript and "world: " in transcript
    assert transcript == strait.ok("sim", "--feed", "--seed", "4", "--transcript")


def test_feeds_are_drawn_and_nothing_else_beside_them(strait):
    for other in "--site", "a.sim":
        text = strait.fails(2, "STRAIT-0010", "sim", "--feed", other)
        assert "--feed draws a site that holds back what is small, by seed" in text
    text = strait.fails(2, "STRAIT-0010", "sim", "--fleet", "--feed")
    assert "it takes no script, and not --feed" in text
    assert "--feed" in strait.ok("help", "sim")


def test_convoys_are_drawn_by_seed_and_judged(strait):
    answer = strait.json("sim", "--convoy", "--runs", "6", "--seed", "3")
    assert answer["kind"] == "convoy" and answer["runs"] == 6 and answer["ok"]
    totals = answer["totals"]
    assert totals["rounds"] > 60 and totals["plans"] >= 6 and totals["sums"] > 100
    assert totals["refused"] == 0 and sum(totals["faults"].values()) > 6
    text = strait.ok("sim", "--convoy", "--runs", "6", "--seed", "3")
    assert text.startswith("ok  6 convoys from seed 3, ")
    assert f"of chunks, by {totals['plans']} plans" in text
    one = strait.ok("sim", "--convoy", "--seed", "4")
    assert "\n  convoy     " in one and " sites" in one
    transcript = strait.ok("sim", "--convoy", "--seed", "4", "--transcript")
    assert "is the centre" in transcript and "world: " in transcript
    assert transcript == strait.ok("sim", "--convoy", "--seed", "4", "--transcript")
    text = strait.fails(2, "STRAIT-0010", "sim", "--convoy", "--site")
    assert "--convoy draws several sites around a centre, by seed: it takes no script" in text
    text = strait.fails(2, "STRAIT-0010", "sim", "--convoy", "a.sim")
    assert "--convoy draws several sites around a centre, by seed and takes no script" in text


def test_hosts_log_only_if_asked(strait, site_script):
    site_script.write_text(SITE.replace("clocks=4", "clocks=4 deadline=1ms").replace(
        " rebases=0", "").replace("updates=8", "restores=0"))
    assert "WARN" not in strait.run("sim", "site.sim").stderr
    assert "missed the deadline" in strait.run("sim", "site.sim", "--log", "warn").stderr
    assert "missed the deadline" in strait.run("sim", "site.sim", env={"STRAIT_LOG": "warn"}).stderr


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


def test_the_codec_is_measured_with_each_kind_of_loops(strait):
    answer = strait.json("bench", "codec", "--mb", "1", "--turns", "1")
    assert answer["chunks"] == 3
    cases = [(s["significant"], s["whole"]) for s in answer["shares"]]
    assert cases == [(s, False) for s in (0.01, 0.02, 0.05, 0.2, 1)] + [(0.02, True), (0.2, True)]
    for share in answer["shares"]:
        done = [(r["what"], r["loops"]) for r in share["results"]]
        kinds = [loops for what, loops in done if what == "select"]
        assert kinds[0] == "plain" and done[-1] == ("merge", kinds[-1])
        assert done[:-1] == [(what, k) for what in ("select", "add") for k in kinds]
        ratio = share["payload_share"] / share["significant"]
        assert 1.5 < share["bytes_per_element"] < 3.2 if share["whole"] else ratio >= 1
        assert share["bytes_per_element"] == pytest.approx(ratio * 4, rel=0.05)
        for result in share["results"]:
            assert result["gb_per_s"] > 0
            assert result["ratio"] == pytest.approx(result["gb_per_s"] / share["memcpy_gb_per_s"])
    assert [z["zeros"] for z in answer["ways"]] == [0.8, 0.95]
    for zeros in answer["ways"]:
        ways = {w["what"]: w for w in zeros["results"]}
        snappy = ways["snappy, all floats"]
        assert snappy["times_snappy"] == 1 and snappy["chain"] is None
        assert ways["paper: indexes, snappy"]["chain"].endswith("sparse | snappy")
        assert ways["bitmap"]["ratio"] > snappy["ratio"]
        assert ways["bitmap, halves"]["ratio"] > ways["bitmap"]["ratio"] > 1
        assert ways["filter and bitmap"]["ratio"] == pytest.approx(ways["bitmap"]["ratio"], rel=0.1)
        for way in ways.values():
            assert way["gb_per_s"] > 0 and way["read_gb_per_s"] > 0
            assert way["times_snappy"] == pytest.approx(way["gb_per_s"] / snappy["gb_per_s"])
    costs = answer["costs_ps"]
    assert len(costs["write"]) == len(costs["read"]) == 11 and min(costs["cut"]) > 0
    assert costs["squeeze"][0] == 0 and min(costs["squeeze"][1:] + costs["unsqueeze"][1:]) > 0
    text = strait.ok("bench", "codec", "--mb", "1", "--turns", "1")
    assert "select" in text and "95 % zeros" in text and "paper: indexes, snappy" in text


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

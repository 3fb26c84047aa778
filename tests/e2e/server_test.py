"""`strait server`, `strait why` and `strait top` as people use them: real processes, real sockets,
signals, kills and restarts."""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from port_of import free_port
from site_of import LIMIT_S, until


def everybody(workers, line):
    for w in workers:
        w.begin(line)
    return [w.end() for w in workers]


# Starting.


def test_it_says_how_to_join_and_for_whom_it_waits(site):
    child = site.run("server", "--site", "home", "--workers", "3", "--insecure", "--listen",
                     "tcp://127.0.0.1:0")
    lines = []
    while not lines or not lines[-1].startswith("join with"):
        lines.append(child.lines.next())
    join = re.fullmatch(r"join with +strait worker --join (tcp://127.0.0.1:(\d+)) --insecure",
                        lines[-1])
    assert join and int(join.group(2)) != 0
    assert re.search(r"^site +home: bsp, pull, 1 shard on 1 lane$", "\n".join(lines), re.M)
    assert any(line.startswith("listening    " + join.group(1)) for line in lines)
    child.says(r"^Waiting for 3 workers\.")
    child.says(r"^Only this machine can reach that address\.$")
    child.says(rf"next: strait why --join {join.group(1)} --insecure$")
    child.child.send_signal(signal.SIGINT)
    assert child.child.wait(LIMIT_S) == 0
    assert child.said().endswith("stopped at clock 0\n")


def test_ready_is_one_line_of_json(site):
    server = site.server("--lanes", "3", "--servers", "2", "--workers", "4")
    ready = server.ready
    assert ready["site"] == "home" and ready["server"] == "s0" and ready["workers"] == 4
    assert len(set(ready["addresses"])) == 3 and ready["listening"] == ready["addresses"]
    assert ready["join"] == f"strait worker --join {server.first} --insecure"
    assert ready["servers"] == [
        f"strait server --first {server.first} --servers 2 --index 1 --lanes 3 "
        "--listen tcp://127.0.0.1:0 --insecure"
    ]
    assert ready["checkpoint"] is None
    assert server.stop()["clock"] == 0


def test_lanes_have_ports_that_follow_each_other(site):
    port = free_port()
    server = site.server("--lanes", "2", listen=f"tcp://127.0.0.1:{port}")
    assert server.addresses == [f"tcp://127.0.0.1:{port}", f"tcp://127.0.0.1:{port + 1}"]


@pytest.mark.parametrize(
    "status, error, options",
    [
        (2, "STRAIT-0004", ["--insecure"]),
        (2, "STRAIT-0004", ["--site", "home"]),
        (2, "STRAIT-0009", ["--site", "home", "--listen", "tcp://127.0.0.1:0"]),
        (2, "STRAIT-0009", ["--site", "home", "--insecure", "--listen", "tcp://0.0.0.0:0"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--listen", "unix:/tmp/x"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--barrier", "bps"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--lanes", "0"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--lanes", "1,x"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--stop-accuracy", "90"]),
        (2, "STRAIT-0003", ["--site", "home", "--insecure", "--in-flight", "1MB"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--lanes", "1,2"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--index", "1"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--servers", "2", "--index", "1"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--first", "127.0.0.1:1"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--staleness", "3"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--lanes", "4", "--shards", "2"]),
        (2, "STRAIT-0010", ["--site", "home", "--insecure", "--checkpoint-every", "5"]),
        (2, "STRAIT-0112", ["--site", "a/b", "--insecure"]),
        (2, "STRAIT-0112", ["--site", "home", "--insecure", "--name", "a b"]),
        (1, "STRAIT-0127", ["--site", "home", "--insecure", "--store", "/dev/null/x"]),
        (1, "STRAIT-0127", ["--site", "home", "--insecure", "--store", "/no/such/store"]),
    ],
)
def test_what_cannot_be_is_refused(strait, status, error, options):
    listen = [] if "--listen" in options else ["--listen", "127.0.0.1:0"]
    strait.fails(status, error, "server", *options, *listen)


def test_a_disk_without_space_is_tried_again(strait):
    script = ('mount -t tmpfs -o size=64k none full && mkdir full/ck && '
              '! head -c 99999 /dev/zero > full/ballast && "$@"')
    (strait.folder / "full").mkdir()
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", strait.bin, "server", "--site", "home",
         "--insecure", "--listen", "127.0.0.1:0", "--store", "full/ck"],
        cwd=strait.folder, env=strait.env, capture_output=True, text=True, timeout=60)
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        pytest.skip("no disk of our own: " + done.stderr)
    assert done.returncode == 75 and "error[STRAIT-0128]" in done.stderr, done.stderr
    assert "cannot write to the folder full/ck: No space left on device" in done.stderr


def test_a_port_in_use_is_named(strait, site):
    server = site.server()
    text = strait.fails(1, "STRAIT-0202", "server", "--site", "home", "--insecure", "--listen",
                        server.first)
    assert server.first.split("//")[1] in text and "in use" in text


def test_loopback_is_not_advertised(strait, site):
    text = strait.fails(2, "STRAIT-0003", "server", "--site", "home", "--insecure", "--insecure",
                        "--listen", "tcp://0.0.0.0:0", "--advertise", "127.0.0.1")
    assert "another machine" in text
    server = site.server("--insecure", "--advertise", "s0.example.org",
                         listen="tcp://0.0.0.0:0")
    assert re.fullmatch(r"tcp://s0\.example\.org:\d+", server.first)
    assert server.ready["join"].endswith("--insecure --insecure")


# Training.


def test_little_room_for_frames_is_enough(site):
    server = site.server("--lanes", "2", "--workers", "3", "--barrier", "tap", "--delivery",
                         "broadcast", "--in-flight", "16MiB")
    workers = site.crew(server.first, 3, rows=3000, width=1000)
    everybody(workers, "rounds 12 model 1")
    everybody(workers, "leave")
    late = site.worker(server.first, "w9", 9)
    late.join(rows=3000, width=1000)
    assert late.do("read model") == [36, 36]
    server.stop()


def test_workers_come_train_and_go(site):
    server = site.server("--lanes", "2", "--workers", "2", "--barrier", "bsp")
    workers = site.crew(server.first, 2, rows=900, width=100)
    assert everybody(workers, "rounds 5 model 1") == [[6], [6]]
    assert everybody(workers, "read model") == [[10, 10], [10, 10]]
    server.says(r"^worker w0 \(rank 0\) is in")
    server.says(r"^worker w1 \(rank 1\) is in")
    everybody(workers, "leave")
    server.says(r"^worker w1 \(rank 1\) is out")
    assert server.stop()["clock"] == 5


def test_unequal_servers_make_one_site(strait, site):
    options = ["--servers", "3", "--lanes", "1,2,1", "--shards", "8", "--workers", "2",
               "--barrier", "ssp", "--staleness", "1", "--delivery", "broadcast"]
    first = site.server(*options)
    reasons = site.reasons(first.first)
    assert reasons["servers_missing"]["lanes"] == [1, 2, 3]
    further = ["--first", first.first, "--servers", "3", "--lanes", "1,2,1"]
    text = strait.fails(78, "STRAIT-0207", "server", "--insecure", *further, "--index", "1",
                        "--barrier", "bsp", "--listen", "127.0.0.1:0", "-q")
    assert "barrier" in text
    strait.fails(78, "STRAIT-0207", "server", "--insecure", "--first", first.first, "--servers",
                 "2", "--index", "1", "--listen", "127.0.0.1:0", "-q")
    second = site.server(*further, "--index", "1")
    third = site.server(*further, "--index", "2")
    assert second.ready["server"] == "s1" and len(second.addresses) == 2
    until(lambda: "servers_missing" not in site.reasons(first.first))
    workers = site.crew(first.first, 2, rows=1000, width=1000)
    everybody(workers, "rounds 3 model 2")
    assert len(site.why(first.first)["lanes"]) == 4
    everybody(workers, "leave")
    for server in (third, second, first):
        assert server.stop()["clock"] == 3


def test_a_further_server_waits_for_the_first(site):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    further = site.run("server", "--first", address, "--servers", "2", "--index", "1", "--insecure",
                       "--listen", "tcp://127.0.0.1:0")
    further.says(rf"^waiting for the first server at {address}: ")
    first = site.server("--servers", "2", listen=address)
    while not further.lines.next().startswith("join with"):
        pass
    until(lambda: "servers_missing" not in site.reasons(first.first))
    further.child.send_signal(signal.SIGTERM)
    assert further.child.wait(LIMIT_S) == 0


def test_a_further_server_can_be_interrupted_while_it_waits(site):
    further = site.run("server", "--first", "tcp://127.0.0.1:1", "--servers", "2", "--index", "1",
                       "--insecure", "--listen", "tcp://127.0.0.1:0")
    further.says("^waiting for the first server")
    further.child.send_signal(signal.SIGINT)
    assert further.child.wait(LIMIT_S) == 130


def test_it_says_so_when_nothing_moves(site):
    server = site.server("--workers", "2")
    server.says(r"^the site waits for 2 more workers to start: 0 of 2 have joined")


# Ends and new beginnings.


def test_a_signal_makes_a_checkpoint_and_a_restart_goes_on(strait, site):
    options = ["--lanes", "2", "--shards", "4", "--workers", "2", "--store", "ck",
               "--checkpoint-every", "1000"]
    server = site.server(*options)
    workers = site.crew(server.first, 2, rows=1000, width=300)
    everybody(workers, "rounds 7 model 1")
    everybody(workers, "read model")  # Which waits until all of it is in.
    assert server.stop()["clock"] == 7
    listed = strait.json("store", "ls", "--store", "ck")["checkpoints"]
    assert len(listed) == 4 and all(c["whole"] and c["clock"] == 7 for c in listed)
    for w in workers:
        w.kill()
    server = site.server(*options)
    assert server.ready["checkpoint"] == {"number": 1, "clock": 7, "saving": False}
    workers = site.crew(server.first, 2, rows=1000, width=300)
    everybody(workers, "rounds 1 model 1")
    assert workers[0].do("read model") == [16, 16]


def test_a_server_that_waits_for_its_workers_can_be_stopped(strait, site):
    server = site.server("--store", "ck")
    worker = site.crew(server.first, 1)[0]
    worker.do("rounds 3 model 1")
    worker.do("read model")
    server.stop()
    worker.kill()
    again = site.server("--store", "ck")
    assert "restoring" in site.reasons(again.first)
    assert again.stop()["clock"] == 3
    listed = strait.json("store", "ls", "--store", "ck")["checkpoints"]
    assert [c["number"] for c in listed] == [1]  # There was nothing new.


@pytest.mark.parametrize("delivery", ["pull", "broadcast"])
def test_a_killed_server_loses_nothing(site, delivery):
    port = free_port()
    options = ["--workers", "2", "--store", "ck", "--checkpoint-every", "2", "--delivery", delivery]
    server = site.server(*options, listen=f"tcp://127.0.0.1:{port}")
    workers = site.crew(server.first, 2)
    everybody(workers, "rounds 5 model 1")
    until(lambda: site.why(server.first)["lanes"][0]["status"]["checkpoint"]["number"] > 0)
    for w in workers:
        w.begin("rounds 20 model 1")
    server.kill()
    again = site.server(*options, listen=f"tcp://127.0.0.1:{port}")
    for w in workers:
        w.end()
    # Every update counts once: 25 clocks of two workers, unless one was left out and rebased.
    low, high = workers[0].do("read model")
    assert low == high == 50
    assert again.ready["checkpoint"]["clock"] >= 2
    everybody(workers, "leave")
    again.stop()


def test_the_second_signal_ends_it_at_once(site):
    server = site.server("--workers", "1")
    worker = site.crew(server.first, 1)[0]
    worker.child.send_signal(signal.SIGSTOP)  # It will not hang up: the good-bye takes its time.
    server.child.send_signal(signal.SIGTERM)
    server.says("^stopping: ")
    server.child.send_signal(signal.SIGTERM)
    assert server.child.wait(LIMIT_S) == 143
    worker.child.send_signal(signal.SIGCONT)


def test_a_failed_last_checkpoint_is_told(site):
    server = site.server("--workers", "1", "--store", "ck", "--checkpoint-every", "100")
    worker = site.crew(server.first, 1)[0]
    worker.do("rounds 2 model 1")
    store = site.strait.folder / "ck"
    os.rename(store, site.strait.folder / "moved")
    store.write_text("in the way")
    (site.strait.folder / "moved" / "home").mkdir(exist_ok=True)
    (site.strait.folder / "moved" / "home" / "shard-0000").write_text("in the way")
    server.child.send_signal(signal.SIGTERM)
    assert server.child.wait(LIMIT_S) == 1
    assert "STRAIT-0124" in server.said()


def test_another_number_of_shards_does_not_fit(strait, site):
    server = site.server("--store", "ck", "--shards", "4")
    site.crew(server.first, 1)[0].do("rounds 1 model 1")
    server.stop()
    text = strait.fails(78, "STRAIT-0123", "server", "--site", "home", "--insecure", "--listen",
                        "127.0.0.1:0", "--store", "ck", "--shards", "2")
    assert "shards" in text


# With certificates.


@pytest.fixture
def certs(strait):
    strait.ok("cert", "init", "ca")
    for member in ("server/home/s0", "server/home/s1", "worker/home/w0", "operator/home/me",
                   "server/away/s0x"):
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    return "certs"


def test_tls_and_certificates(strait, site, certs):
    tls = {"insecure": False, "listen": "tls://127.0.0.1:0"}
    server = site.server("--cert", certs, "--name", "s0", "--servers", "2", **tls)
    assert server.ready["site"] == "home"  # As the certificate says.
    assert server.ready["join"] == f"strait worker --join {server.first} --cert DIR"
    assert "--cert DIR" in server.ready["servers"][0]
    second = site.server("--cert", certs, "--name", "s1", "--servers", "2", "--index", "1",
                         "--first", server.first, **tls)
    worker = site.worker(server.first, "w0", certs=strait.folder / certs)
    worker.join()
    worker.do("rounds 3 model 1")
    operator = ["--join", server.first, "--cert", certs, "--name", "me", "-q"]
    assert strait.json("why", *operator)["site"] == "home"
    assert strait.json("top", *operator, "--once", "--interval", "100ms")["clock"] == 3
    text = strait.fails(2, "STRAIT-0112", "why", "--join", server.first, "--cert", certs, "--name",
                        "w0", "-q")
    assert "operator" in text
    text = strait.fails(69, "STRAIT-0201", "why", "--join", server.first.replace("tls", "tcp"),
                        "--insecure", "-q")
    assert "is it tls:// or tcp:// there?" in text
    second.stop()
    server.stop()


def test_the_wrong_certificate_is_refused(strait, certs):
    listen = ["--listen", "tls://127.0.0.1:0", "--cert", certs]
    text = strait.fails(2, "STRAIT-0112", "server", "--site", "home", "--name", "s0x", *listen)
    assert "server/away/s0x" in text
    text = strait.fails(2, "STRAIT-0112", "server", "--site", "home", "--name", "w0", *listen)
    assert "worker/home/w0" in text
    strait.fails(2, "STRAIT-0004", "server", "--site", "home", *listen)  # Which of them?


def test_a_revocation_list_needs_no_restart(strait, site, certs):
    """Not even where there was none when the server began."""
    folder = strait.folder / "server"
    folder.mkdir()
    for leaf in ("ca.crt", "s0.crt", "s0.key"):
        shutil.copy(strait.folder / certs / leaf, folder / leaf)
    server = site.server("--cert", folder, "--log", "info", "--servers", "1",
                         listen="tls://127.0.0.1:0", insecure=False)
    operator = ["--join", server.first, "--cert", certs, "--name", "me", "-q"]
    site.worker(server.first, "w0", certs=strait.folder / certs).join()
    strait.ok("cert", "revoke", "ca", "worker/home/w0")
    strait.ok("cert", "revoke", "ca", "operator/home/me")
    shutil.copy(strait.folder / "ca" / "revoked.crl", folder / "revoked.crl")
    server.says("revocation list .* read")
    server.says("certificate was revoked")
    strait.fails(77, "STRAIT-0206", "why", *operator)


def test_a_server_loads_no_linear_algebra(site):
    server = site.server("--job", "mlp", "--workers", "1")
    loaded = Path(f"/proc/{server.child.pid}/maps").read_text()
    assert "libcrypto" in loaded
    assert not re.search("blas|lapack|libCbc|libClp|gfortran", loaded)
    server.stop()


def test_a_server_with_little_memory_ends_when_told(strait):
    if b"__asan_init" in Path(strait.bin).read_bytes():
        pytest.skip("the address sanitizer takes more")
    argv = [strait.bin, "server", "--json", "--listen", "tcp://127.0.0.1:0", "--insecure",
            "--site", "home"]
    server = subprocess.Popen(["bash", "-c", 'ulimit -v 200000; exec "$@"', "-", *argv],
                              cwd=strait.folder, env=strait.env, stdout=subprocess.PIPE)
    try:
        assert json.loads(server.stdout.readline())["event"] == "ready"
        server.terminate()
        assert server.wait(LIMIT_S) == 0
    finally:
        server.kill()
        server.communicate()


# Why.


def test_why_names_who_is_missing(site):
    server = site.server("--workers", "3")
    worker = site.worker(server.first, "w0")
    worker.do("table model 4 100")
    worker.begin("join")
    reason = until(lambda: site.reasons(server.first).get("workers_missing"))
    until(lambda: site.reasons(server.first)["workers_missing"]["joined"] == 1)
    assert site.reasons(server.first)["workers_missing"]["text"] == (
        "the site waits for 2 more workers to start: 1 of 3 have joined"
    )
    assert reason["wanted"] == 3


def test_why_names_whom_a_clock_waits_for(strait, site):
    server = site.server("--workers", "3", "--lanes", "2", "--deadline", "100s")
    workers = site.crew(server.first, 3, rows=900, width=100)
    assert site.why(server.first)["waiting"] is False
    text = strait.ok("why", "--join", server.first, "--insecure", "-q")
    assert "nobody waits: 3 workers compute clock 1 or later" in text
    for w in workers[:2]:
        w.do("push model 1")
        w.do("tick")
    reason = until(lambda: site.reasons(server.first).get("clock"))
    assert reason["clock"] == 1 and reason["ranks"] == [2] and reason["lanes"] == [0, 1]
    assert re.fullmatch(
        r"clock 1 waits for worker w2 \(rank 2\): last heard \d\.\d s ago, computes or is slow; "
        r"2 others are done; begun \d+ s ago, deadline in (99|100) s",
        reason["text"],
    )
    text = strait.ok("why", "--join", server.first, "--insecure", "-q")
    assert text.startswith(
        "site home: clock 0, 3 workers, 2 lanes, bsp, pull\n- clock 1 waits for "
    )
    workers[2].do("push model 1")
    workers[2].do("clock")
    for w in workers[:2]:
        w.do("tock")
    until(lambda: not site.why(server.first)["waiting"])


def test_why_sees_a_worker_that_is_stopped_or_gone(site):
    server = site.server("--workers", "2")
    workers = site.crew(server.first, 2)
    workers[0].do("push model 1")
    workers[0].do("tick")
    workers[1].child.send_signal(signal.SIGSTOP)
    until(lambda: "silent for" in site.reasons(server.first).get("clock", {}).get("text", "")
          or "connection is down" in site.reasons(server.first).get("clock", {}).get("text", ""))
    workers[1].child.send_signal(signal.SIGCONT)
    workers[1].kill()
    server.says(r"^worker w1 \(rank 1\) is out")
    workers[0].do("tock")  # Nobody waits for the dead.


def test_why_names_a_lane_that_cannot_be_reached(strait, site):
    first = site.server("--servers", "2")
    second = site.server("--first", first.first, "--servers", "2", "--index", "1")
    until(lambda: "servers_missing" not in site.reasons(first.first))
    second.kill()
    reason = site.reasons(first.first)["unreachable"]
    assert reason["lanes"] == [1] and second.addresses[0] in reason["text"]


def test_why_says_when_all_have_left(site):
    server = site.server()
    worker = site.crew(server.first, 1)[0]
    worker.do("rounds 2 model 1")
    worker.do("leave")
    assert "all have left after clock 2" in site.reasons(server.first)["no_workers"]["text"]


def test_nobody_is_there(strait):
    address = f"127.0.0.1:{free_port()}"
    for command in (["why"], ["top", "--once"]):
        text = strait.fails(69, "STRAIT-0201", *command, "--join", address, "--insecure", "-q")
        assert address in text


def test_a_silent_address_is_given_up(strait):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "127.0.0.1:%d" % silent.getsockname()[1]
        strait.fails(69, "STRAIT-0201", "why", "--join", address, "--insecure", "-q", "--timeout",
                     "300ms")


def test_a_worker_gives_up_when_nobody_answers_for_long(strait):
    address = f"127.0.0.1:{free_port()}"
    text = strait.fails(69, "STRAIT-0201", "worker", "--join", address, "--insecure", "--patience",
                        "1s", "-q")
    assert "gave up after" in text and address in text


# Top.


def test_top_shows_a_picture_once(strait, site):
    server = site.server("--lanes", "2", "--workers", "2", "--store", "ck")
    workers = site.crew(server.first, 2, rows=900, width=100)
    everybody(workers, "rounds 3 model 1")
    everybody(workers, "report 3 0.25 0.5 0.875")
    top = ["top", "--join", server.first, "--insecure", "-q", "--once", "--interval", "100ms"]
    text = strait.ok(*top)
    assert re.search(r"^home  clock 3 ", text)
    assert "loss 0.25" in text and "accuracy 87.50 %" in text
    assert re.search(r"^w0 +0 +3  computes ", text, re.M)
    assert re.search(rf"^ +1 s0 .*{server.addresses[1]}$", text, re.M)
    assert "nobody waits: 2 workers compute clock 4 or later" in text
    answer = strait.json(*top)
    assert answer["clock"] == 3 and answer["workers"] == 2 and answer["updates"] == 12
    assert answer["clocks_per_s"] == 0 and answer["progress"]["accuracy"] == 0.875
    assert [m["name"] for m in answer["members"]] == ["w0", "w1"]


def test_top_prints_a_line_per_interval_without_a_terminal(site):
    server = site.server()
    worker = site.crew(server.first, 1)[0]
    top = site.run("top", "--join", server.first, "--insecure", "-q", "--interval", "100ms")
    first = top.lines.next()
    assert re.match(r"\d\d:\d\d:\d\dZ  clock 0  - clocks/s ", first)
    worker.do("rounds 40 model 1")
    line = until(lambda: re.match(r"\S+  clock 40 ", top.lines.next()))
    assert line
    top.child.send_signal(signal.SIGTERM)
    assert top.child.wait(LIMIT_S) == 143


def test_top_goes_on_when_the_server_is_restarted(site):
    server = site.server()
    top = site.run("top", "--join", server.first, "--insecure", "--json", "--interval", "100ms",
                   "--timeout", "500ms")
    assert json.loads(top.lines.next())["clock"] == 0
    server.kill()
    top.says("^the first server cannot be reached: ")
    site.server(listen=server.first)
    until(lambda: json.loads(top.lines.next())["reasons"])
    top.child.send_signal(signal.SIGINT)
    assert top.child.wait(LIMIT_S) == 130


def read_terminal(fd, pattern, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    text = ""
    while not re.search(pattern, text):
        ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
        assert ready, text
        text += os.read(fd, 65536).decode(errors="replace")
    return text


def test_top_on_a_terminal_is_renewed_in_place_until_q(strait, site):
    server = site.server()
    site.crew(server.first, 1)
    try:
        outer, inner = pty.openpty()
    except OSError:
        pytest.skip("no pseudo-terminal here")
    child = subprocess.Popen(
        [strait.bin, "top", "--join", server.first, "--insecure", "-q", "--interval", "100ms"],
        stdin=inner, stdout=inner, stderr=inner, env={**strait.env, "TERM": "xterm"},
    )
    os.close(inner)
    text = read_terminal(outer, r"nobody waits(?s:.*)nobody waits")
    assert "\033[?1049h" in text and "\033[H" in text and "\033[K" in text
    os.write(outer, b"q")
    assert "\033[?1049l" in read_terminal(outer, r"\033\[\?1049l")
    assert child.wait(LIMIT_S) == 0
    os.close(outer)

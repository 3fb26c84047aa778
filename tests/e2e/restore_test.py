"""What a server starts from: shards that belong together, or not at all (I11). And what it does
while its store fails: it goes on by itself when the store does (I13)."""

import re
import resource
import shutil
import signal

import pytest

from site_of import until
from store_test import flip, load_npy, objects


def train(site, clocks, *options, expect=None, stop=True):
    """Go on for so many clocks, add 1 in each, and stop. Returns the values then."""
    server = site.server("--shards", "4", "--workers", "1", "--store", "ck",
                         "--checkpoint-every", "1000", *options)
    worker = site.worker(server.first, f"w{len(site.children)}", 0)
    worker.join(rows=1000, width=400, table="big")
    if expect is not None:
        assert set(worker.do("read big")[:4]) == {expect}
    for part in (clocks - 10, 10) if clocks > 10 else (clocks,):
        worker.do(f"rounds {part} big 1")
        values = worker.do("read big")
        worker.do("save")
    server.stop() if stop else server.kill()
    worker.kill()
    return values


@pytest.fixture
def trained(strait, site):
    """A folder of a site with one lane and four shards, stopped at clock 50."""
    train(site, 50)
    return strait.folder / "ck"


def refused(strait, *options):
    """The error of a server that does not start."""
    text = strait.fails(78, "STRAIT-0123", "server", "--site", "home", "--insecure", "--listen",
                        "tcp://127.0.0.1:0", "--shards", "4", "--store", "ck", *options)
    return " ".join(text.split())


def test_a_shard_whose_files_are_all_damaged_stops_the_server(strait, trained):
    for name in objects(trained):
        if "shard-0002" in name:
            flip(trained / name, 5000)
    text = refused(strait)
    assert "shard 2 of site home has lost its checkpoint of clock 50: " in text
    assert "home/shard-0002/" in text and "--restore none" in text
    assert "--restore 40" not in text  # That one is damaged too.


def test_a_shard_whose_folder_is_gone_stops_the_server(strait, site, trained):
    shutil.rmtree(trained / "home" / "shard-0002")
    text = refused(strait)
    assert "shard 2 of site home has lost its checkpoint of clock 50: " in text
    assert "not there" in text
    assert train(site, 1, "--restore", "none", expect=0.0)[0] == 1.0  # All shards begin anew,
    assert train(site, 1, expect=1.0)[-1] == 2.0  # and belong together from then on.


def test_an_older_checkpoint_is_used_only_if_the_operator_says_so(strait, site, trained):
    newest = [n for n in objects(trained) if "shard-0002" in n][-1]
    flip(trained / newest, 5000)
    text = refused(strait)
    assert "with --restore 40, which loses clocks 41 to 50" in text
    assert newest in text
    train(site, 1, "--restore", "40", expect=40.0)
    train(site, 1, expect=41.0)  # It was given up for good.


def test_shards_of_two_trainings_are_refused(strait, site):
    trained = strait.folder / "ck"
    train(site, 4, stop=False)  # So little that both end with checkpoint 1.
    shutil.copytree(trained, strait.folder / "first")
    shutil.rmtree(trained)
    train(site, 4, stop=False)
    shutil.rmtree(trained / "home" / "shard-0001")
    shutil.copytree(strait.folder / "first/home/shard-0001", trained / "home" / "shard-0001")
    assert "it is of another training" in refused(strait)


def test_a_manifest_that_is_gone_or_damaged_stops_the_server(strait, trained):
    manifest = trained / "home/lane-0000-of-0001.manifest"
    whole = manifest.read_bytes()
    flip(manifest, 30)
    assert "home/lane-0000-of-0001.manifest is damaged" in refused(strait)
    manifest.unlink()
    assert "it cannot be told which checkpoints belong together" in refused(strait)
    manifest.write_bytes(whole)


def test_a_lane_that_lost_all_its_files_is_found_by_the_others(strait, site):
    train(site, 20, "--lanes", "2")
    kept = strait.folder / "ck" / "home"
    for path in (kept / "shard-0001", kept / "shard-0003"):
        shutil.rmtree(path)
    (kept / "lane-0001-of-0002.manifest").unlink()
    text = refused(strait, "--lanes", "2")
    assert "lane 0 of site home has checkpoints, of clock 20, and lane 1 has none" in text


def test_the_number_of_lanes_may_change(site):
    train(site, 12, "--lanes", "2")
    train(site, 5, "--lanes", "4", expect=12.0)
    train(site, 5, "--lanes", "1", expect=17.0)
    train(site, 5, "--lanes", "2", expect=22.0)


def test_a_further_server_without_its_folder_is_refused(strait, site):
    def servers(*further):
        first = site.server("--workers", "1", "--servers", "2", "--store", "ck0",
                            "--checkpoint-every", "10")
        return first, ("--first", first.first, "--servers", "2", "--index", "1", "--store", "ck1",
                       *further)

    first, options = servers()
    second = site.server(*options)
    worker = site.worker(first.first, "w0", 0)
    worker.join(rows=1000, width=400, table="big")
    worker.do("rounds 20 big 1")
    worker.do("read big")
    second.stop()
    first.stop()
    worker.kill()
    shutil.move(strait.folder / "ck1", strait.folder / "away")
    first, options = servers()
    done = strait.run("server", "--insecure", "--listen", "tcp://127.0.0.1:0", *options)
    assert done.returncode == 78
    assert "site home has parameters at its first server, and lane 1 has none" in done.stderr
    shutil.rmtree(strait.folder / "ck1")
    shutil.move(strait.folder / "away", strait.folder / "ck1")
    site.server(*options)
    worker = site.worker(first.first, "w1", 0)
    worker.join(rows=1000, width=400, table="big")
    assert set(worker.do("read big")) == {20.0}


@pytest.mark.parametrize("servers", [1, 2])
def test_a_first_server_that_lost_its_folder_is_refused_while_workers_live(strait, site, servers):
    def first(listen="tcp://127.0.0.1:0"):
        return site.server("--workers", "1", "--servers", str(servers), "--store", "ck0",
                           "--checkpoint-every", "1000", listen=listen)

    server = first()
    for i in range(1, servers):
        site.server("--first", server.first, "--servers", "2", "--index", i, "--store", "ck1")
    worker = site.worker(server.first, "w0", 0)
    worker.join(rows=1000, width=400, table="big")
    worker.do("rounds 20 big 1")
    worker.do("read big")
    worker.do("save")
    worker.do("rounds 5 big 1")
    server.kill()
    shutil.move(strait.folder / "ck0", strait.folder / "away")
    lost = first(server.first)  # It cannot know yet,
    worker.begin("rounds 5 big 1")
    assert lost.child.wait(60) == 78  # but those who are at work do.
    assert re.search("lane 0 of site home goes on from clock 0, and worker w0 was told that clock "
                     "20 is in a checkpoint|site home has parameters at lane 1, and its first "
                     "server has none", lost.said()), lost.said()
    assert "put the missing files back" in lost.said()
    shutil.rmtree(strait.folder / "ck0")
    shutil.move(strait.folder / "away", strait.folder / "ck0")
    first(server.first)
    worker.end()
    assert set(worker.do("read big")) == {30.0}  # Nothing is lost.


def test_a_server_whose_checkpoints_are_discarded_begins_anew_with_old_workers(strait, site):
    options = ("--workers", "1", "--store", "ck", "--checkpoint-every", "1000")
    server = site.server(*options)
    worker = site.worker(server.first, "w0", 0)
    worker.join()
    worker.do("rounds 20 model 1")
    worker.do("save")
    server.kill()
    site.server(*options, "--restore", "none", listen=server.first)
    worker.do("rounds 1 model 1")
    left = worker.do("read model")[0]
    assert left <= 21 - 10  # Ten clocks at least were acknowledged, and are discarded.
    assert worker.do("lost") == [1.0]
    worker.do("rounds 5 model 1")
    assert set(worker.do("read model")) == {left + 5}


def test_an_older_copy_of_the_store_is_refused_while_workers_live(strait, site):
    options = ("--workers", "1", "--store", "ck", "--checkpoint-every", "1000")
    server = site.server(*options)
    worker = site.worker(server.first, "w0", 0)
    worker.join()
    worker.do("rounds 20 model 1")
    worker.do("read model")
    worker.do("save")
    shutil.copytree(strait.folder / "ck", strait.folder / "backup")
    worker.do("rounds 20 model 1")
    worker.do("read model")
    worker.do("save")
    server.kill()
    shutil.move(strait.folder / "ck", strait.folder / "newest")
    shutil.move(strait.folder / "backup", strait.folder / "ck")
    old = site.server(*options, listen=server.first)
    worker.begin("rounds 5 model 1")
    assert old.child.wait(60) == 78
    assert "goes on from clock 20, and worker w0 was told that clock 40 is in" in old.said()
    shutil.rmtree(strait.folder / "ck")
    shutil.move(strait.folder / "newest", strait.folder / "ck")
    site.server(*options, listen=server.first)
    worker.end()
    assert set(worker.do("read model")) == {45.0}


def test_export_takes_shards_of_one_checkpoint(strait, trained):
    newest = [n for n in objects(trained) if "shard-0001" in n][-1]
    flip(trained / newest, 5000)
    text = strait.fails(1, "STRAIT-0121", "store", "export", "big", "--store", "ck", "-o", "x.npy")
    assert newest in text
    assert not list(strait.folder.glob("x.npy*"))
    strait.ok("store", "export", "big", "--store", "ck", "-o", "x.npy", "--clock", "49")
    _, values = load_npy((strait.folder / "x.npy").read_bytes())
    assert set(values) == {40.0}


def stuck(site):
    """A server with pull and checkpoints, and a worker that has trained and shall train on."""
    server = site.server("--workers", "1", "--store", "ck", "--checkpoint-every", "10")
    worker = site.worker(server.first, "w0", 0)
    worker.join(rows=4, width=100, table="big")
    worker.do("rounds 20 big 1")
    worker.do("save")
    return server, worker


def test_a_store_that_fails_for_a_while_does_not_stop_training_for_good(strait, site):
    server, worker = stuck(site)
    shard = strait.folder / "ck/home/shard-0000"
    shutil.move(shard, strait.folder / "away")
    shard.write_text("in the way")
    worker.begin("rounds 6000 big 1")  # The worker's window is full after some of them.

    def waits():
        text = site.reasons(server.first).get("store_fails", {}).get("text", "")
        return text if "updates of these workers wait for one: w0 (rank 0)" in text else ""

    text = until(waits)
    assert "cannot write checkpoints: the store fails since " in text
    assert "Not a directory" in text, text
    server.says("checkpoints cannot be written: Not a directory")
    shard.unlink()
    shutil.move(strait.folder / "away", shard)
    worker.end()
    assert set(worker.do("read big")) == {6020.0}
    server.says("checkpoints are written again")
    attempts = server.said().count(" of lane 0 failed: ")
    assert attempts < 20, server.said()  # By time, not by frame.


def test_descriptors_that_run_out_for_a_while_do_not_stop_training(site):
    server, worker = stuck(site)
    limits = resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    worker.begin("rounds 6000 big 1")
    server.says("checkpoints cannot be written: Too many open files")
    resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, limits)
    worker.end()
    assert set(worker.do("read big")) == {6020.0}
    server.stop()


def resumed(site, folder, *, first, restart):
    """Values after 30 clocks of two workers with a fixed order; with a restart of all after 20."""
    options = ("--workers", "2", "--order", "fixed", "--store", folder, "--checkpoint-every", "5")
    server = site.server(*options)
    workers = site.crew(server.first, 2)

    def rounds(count):
        for i, w in enumerate(workers):
            w.begin(f"rounds {count} model {0.1 + i * 1e-6}")
        for w in workers:
            w.end()
        return workers[0].do("read model")  # When all of it is in.

    rounds(20 if restart else 30)
    if restart:
        server.stop()
        for w in workers:
            w.kill()
        server = site.server(*options)
        workers = [site.worker(server.first, f"new{i}", i) for i in range(2)]
        for w in workers:
            w.do("table model 4 100")
        workers[first].begin("join")
        missing = f"missing ranks: {1 - first}"
        until(lambda: missing in site.reasons(server.first)["restoring"]["text"])
        workers[1 - first].begin("join")
        for w in workers:
            w.end()
        rounds(10)
    values = workers[0].do("read model")
    server.stop()
    return values


def test_a_site_that_is_started_again_waits_for_all_workers_and_is_reproducible(site):
    plain = resumed(site, "plain", first=0, restart=False)
    assert resumed(site, "one", first=0, restart=True) == plain
    assert resumed(site, "two", first=1, restart=True) == plain


def frozen(site, *, alone):
    """A worker that is frozen while its server is killed and started again, after clock 30 with a
    checkpoint of clock 20, and wakes up later than a server waits for those who are not there."""
    options = ("--workers", "1" if alone else "2", "--store", "ck", "--checkpoint-every", "1000")
    server = site.server(*options)
    workers = site.crew(server.first, 1 if alone else 2)

    def rounds(count, some=workers):
        for w in some:
            w.begin(f"rounds {count} model 1")
        for w in some:
            w.end()

    rounds(20)
    workers[0].do("read model")  # All of it is in,
    workers[0].do("save")  # and in the checkpoint.
    rounds(10)
    workers[0].do("read model")
    workers[-1].child.send_signal(signal.SIGSTOP)
    server.kill()
    server = site.server(*options, listen=server.first)
    return server, workers, rounds


def test_a_worker_that_is_frozen_for_long_brings_back_what_the_server_lost(site):
    server, (worker,), rounds = frozen(site, alone=True)
    until(lambda: "missing ranks: 0" in site.reasons(server.first)["restoring"]["text"])
    until(lambda: " 1" in site.reasons(server.first)["restoring"]["text"].split(",")[1])  # 120 s.
    worker.child.send_signal(signal.SIGCONT)
    rounds(1)
    assert set(worker.do("read model")) == {31.0}
    assert worker.do("lost") == [0.0]


def test_a_worker_that_comes_too_late_says_which_clocks_are_lost(site):
    server, workers, rounds = frozen(site, alone=False)
    rounds(5, workers[:1])  # The other one goes on alone, after 5 s.
    values = workers[0].do("read model")
    assert set(values) == {55.0}, values  # 20 x 2, its own 10 again, 5.
    workers[1].child.send_signal(signal.SIGCONT)
    rounds(1)
    workers[1].do("read model")
    assert workers[1].do("lost") == [21.0]
    assert workers[0].do("lost") == [0.0]
    assert workers[0].do("read model")[0] in (56.0, 57.0)  # That one may be lost too.

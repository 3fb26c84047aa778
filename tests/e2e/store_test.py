"""`strait store`: what servers have kept, listed, described, damaged, exported."""

import ast
import json
import os
import resource
import signal
import struct
import time

import pytest

from site_of import until


def load_npy(data):
    """A .npy of float32, read by hand: shape and values."""
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (size,) = struct.unpack("<H", data[8:10])
    head = ast.literal_eval(data[10 : 10 + size].decode())
    assert head["descr"] == "<f4" and head["fortran_order"] is False
    rows, width = head["shape"]
    values = struct.unpack(f"<{rows * width}f", data[10 + size :])
    return (rows, width), values


@pytest.fixture
def kept(strait, site):
    """A folder with checkpoints 1 and 2 of four shards; two tables, the second one small."""
    server = site.server("--lanes", "2", "--shards", "4", "--workers", "1", "--store", "ck",
                         "--checkpoint-every", "1000")
    worker = site.worker(server.first, "w0", 0)
    worker.do("table small 3 5")
    worker.join(rows=1000, width=400, table="big")
    worker.do("rounds 3 big 0.5")
    worker.do("read big")
    assert worker.do("save") == [1]
    worker.do("push small 2")
    worker.do("rounds 1 big 0.5")
    worker.do("read big")
    server.stop()
    return strait.folder / "ck"


def objects(kept):
    return sorted(p.relative_to(kept).as_posix() for p in kept.rglob("*.ckpt"))


def test_ls_lists_all_of_them(strait, kept):
    listed = strait.json("store", "ls", "--store", kept)
    assert listed["damaged"] == 0
    assert [c["name"] for c in listed["checkpoints"]] == objects(kept)
    assert len(listed["checkpoints"]) == 8
    for c in listed["checkpoints"]:
        assert c["site"] == "home" and c["whole"] and c["shards"] == 4
        assert c["clock"] == (3 if c["number"] == 1 else 4)
        assert c["bytes"] == os.stat(kept / c["name"]).st_size
    text = strait.ok("store", "ls", "--store", kept)
    assert len(text.splitlines()) == 9 and text.count(" whole") == 8
    quick = strait.json("store", "ls", "--store", kept, "--quick")["checkpoints"]
    assert all("whole" not in c and "clock" not in c for c in quick)
    assert strait.json("store", "ls", "--store", kept, "--site", "other")["checkpoints"] == []


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(bytes(data))


def test_ls_says_what_is_damaged_and_why(strait, kept):
    names = objects(kept)
    flip(kept / names[1], 5000)
    (kept / names[3]).write_bytes((kept / names[3]).read_bytes()[:1000])
    (kept / names[5]).write_bytes((kept / names[7]).read_bytes())  # Another's.
    done = strait.run("store", "ls", "--store", kept, "--json")
    listed = json.loads(done.stdout)
    assert listed["damaged"] == 3
    assert done.returncode == 1 and json.loads(done.stderr)["error"]["id"] == "STRAIT-0121"
    damaged = {c["name"]: c for c in listed["checkpoints"] if not c["whole"]}
    assert set(damaged) == {names[1], names[3], names[5]}
    assert "its name says" in damaged[names[5]]["why"]
    done = strait.run("store", "ls", "--store", kept)
    assert done.stdout.count("is damaged") == 3
    assert done.returncode == 1
    assert "of 8 checkpoints 3 cannot be used, and 0 files are lost" in done.stderr
    strait.ok("store", "ls", "--store", kept, "--quick")


def test_ls_says_what_is_lost(strait, kept):
    names = objects(kept)
    os.remove(kept / names[7])
    done = strait.run("store", "ls", "--store", kept)
    assert done.returncode == 1 and f"\n{names[7]} is missing\n" in done.stdout
    assert "of 7 checkpoints 0 cannot be used, and 1 file is lost" in done.stderr
    done = strait.run("store", "ls", "--store", kept, "--json")
    assert json.loads(done.stdout)["lost"] == [f"{names[7]} is missing"]
    flip(kept / "home" / "lane-0000-of-0002.manifest", 20)
    done = strait.run("store", "ls", "--store", kept)
    assert done.returncode == 1 and "lane-0000-of-0002.manifest" in done.stdout, done.stdout


def test_cat_describes_one(strait, kept):
    answer = strait.json("store", "cat", "--store", kept)
    assert answer["name"] == "home/shard-0000/00000000000000000002.ckpt"
    assert answer["clock"] == 4 and answer["shard"] == 0 and answer["shards"] == 4
    tables = {t["name"]: t for t in answer["tables"]}
    assert tables["big"]["rows"] == 1000 and tables["big"]["width"] == 400
    assert tables["big"]["apply"] == "add"
    assert tables["big"]["here"]["version_max"] == 4
    (member,) = answer["members"]
    assert member["rank"] == 0 and member["clock_max"] == 4
    assert answer["settings"]["barrier"] == "bsp" and "tables" not in answer["settings"]
    old = strait.json("store", "cat", "--store", kept, "--shard", "1", "--number", "1")
    assert old["clock"] == 3 and old["shard"] == 1
    assert strait.json("store", "cat", "--store", kept, old["name"]) == old
    text = strait.ok("store", "cat", "--store", kept)
    assert "  big: 1000 x 400, init zeros, apply add, combine sum; here " in text
    assert "rank 0: counted up to clock 4" in text


def test_cat_passes_over_the_damaged(strait, kept):
    flip(kept / "home/shard-0000/00000000000000000002.ckpt", 5000)
    done = strait.run("store", "cat", "--store", kept)
    assert done.returncode == 0 and "number       1\n" in done.stdout
    assert "1 newer one is damaged: " in done.stderr
    strait.fails(1, "STRAIT-0121", "store", "cat", "--store", kept, "--number", "2")


def test_what_is_not_there(strait, kept):
    strait.fails(1, "STRAIT-0127", "store", "ls", "--store", "nowhere")
    strait.fails(1, "STRAIT-0120", "store", "cat", "--store", kept, "--number", "9")
    strait.fails(1, "STRAIT-0120", "store", "cat", "--store", kept, "--shard", "9")
    strait.fails(1, "STRAIT-0120", "store", "cat", "--store", kept, "--site", "other")
    strait.fails(2, "STRAIT-0003", "store", "cat", "--store", kept, "home/2.ckpt")
    strait.fails(1, "STRAIT-0122", "store", "export", "other", "--store", kept, "-o", "x.npy")
    (strait.folder / "empty").mkdir()
    assert strait.json("store", "ls", "--store", "empty")["checkpoints"] == []
    strait.fails(1, "STRAIT-0120", "store", "export", "big", "--store", "empty", "-o", "x.npy")
    assert not (strait.folder / "x.npy").exists()


def test_a_table_is_exported_whole(strait, kept):
    answer = strait.json("store", "export", "big", "--store", kept, "-o", "big.npy", "-q")
    assert answer["rows"] == 1000 and answer["width"] == 400
    assert {s["clock"] for s in answer["shards"]} == {4}
    shape, values = load_npy((strait.folder / "big.npy").read_bytes())
    assert shape == (1000, 400) and set(values) == {2.0}
    done = strait.run("store", "export", "small", "--store", kept, "-o", "small.npy")
    assert done.stderr == "small: 3 x 5, clock 4, written to small.npy\n"
    shape, values = load_npy((strait.folder / "small.npy").read_bytes())
    assert shape == (3, 5) and set(values) == {2.0}
    assert [p.name for p in strait.folder.glob("*.npy*")] == ["big.npy", "small.npy"] or sorted(
        p.name for p in strait.folder.glob("*.npy*")) == ["big.npy", "small.npy"]


def test_a_table_goes_to_a_pipe(strait, kept):
    path = strait.folder / "out"
    with path.open("wb") as out:
        done = strait.run("store", "export", "big", "--store", kept, "-o", "-", "-q", stdout=out)
    assert done.returncode == 0, done.stderr
    assert load_npy(path.read_bytes())[0] == (1000, 400)
    strait.fails(1, "STRAIT-0101", "store", "export", "big", "--store", kept, "-o", "no/such/x.npy")


def test_missing_shards_are_named(strait, kept):
    for name in objects(kept):
        if "shard-0001" in name or "shard-0003" in name:
            (kept / name).unlink()
    (kept / "home/lane-0001-of-0002.manifest").unlink()  # As in another server's folder.
    text = strait.fails(1, "STRAIT-0120", "store", "export", "big", "--store", kept, "-o", "x.npy")
    assert "1, 3" in text
    assert not list(strait.folder.glob("x.npy*"))


def test_several_sites_in_one_folder(strait, site, kept):
    server = site.server("--site", "away", "--store", "ck")
    worker = site.worker(server.first, "w0", 0, site="away")
    worker.join(table="other")
    worker.do("rounds 1 other 1")
    worker.do("read other")
    server.stop()
    text = strait.fails(2, "STRAIT-0004", "store", "cat", "--store", kept)
    assert "away" in text and "home" in text
    assert strait.json("store", "cat", "--store", kept, "--site", "away")["site"] == "away"


def test_checkpoints_are_made_while_training_goes_on(strait, site):
    server = site.server("--store", "ck", "--checkpoint-every", "3", "--keep", "2")
    worker = site.crew(server.first, 1)[0]
    for _ in range(6):
        worker.do("rounds 3 model 1")
        worker.do("read model")

    def newest():
        listed = strait.json("store", "ls", "--store", "ck")["checkpoints"]
        return listed and listed[-1]["clock"] >= 15 and listed

    listed = until(newest)
    assert len(listed) <= 3 and all(c["whole"] for c in listed)
    server.stop()


def without_descriptors(server):
    """It can open nothing any more; returns what undoes that."""
    before = resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, (5, before[1]))
    return lambda: resource.prlimit(server.child.pid, resource.RLIMIT_NOFILE, before)


def test_the_last_checkpoint_is_tried_again_while_the_store_fails(strait, site):
    server = site.server("--workers", "1", "--store", "ck", "--checkpoint-every", "1000")
    worker = site.worker(server.first, "w0", 0)
    worker.join()
    worker.do("rounds 3 model 1")
    worker.do("read model")
    mend = without_descriptors(server)
    server.child.send_signal(signal.SIGTERM)
    server.says("checkpoint .* failed: Too many open files; attempt 2")
    mend()
    assert server.event() == {"schema": 1, "event": "stopped", "clock": 3}
    assert server.child.wait(30) == 0
    strait.ok("store", "export", "model", "--store", "ck", "-o", "m.npy")
    _, values = load_npy((strait.folder / "m.npy").read_bytes())
    assert set(values) == {3.0}


def test_a_last_checkpoint_that_cannot_be_written_is_an_error(site):
    server = site.server("--workers", "1", "--store", "ck", "--checkpoint-every", "1000")
    worker = site.worker(server.first, "w0", 0)
    worker.join()
    worker.do("rounds 3 model 1")
    without_descriptors(server)
    started = time.monotonic()
    server.child.send_signal(signal.SIGTERM)
    assert server.child.wait(60) == 1
    assert time.monotonic() - started > 10
    assert "STRAIT-0124" in server.said() and "Too many open files" in server.said()

"""`strait codec`: updates, recorded or made by hand, through chains. NumPy computes the same."""

import json
import resource
import shutil
import subprocess

import numpy as np
import pytest

CHUNK = 65536


def made(clocks=5, elements=3000, seed=1):
    r = np.random.default_rng(seed)
    spread = r.standard_normal((clocks, elements)) * np.exp(r.standard_normal(elements))
    return (0.01 * spread).astype("<f4")


@pytest.fixture
def updates(strait):
    a = made()
    np.save(strait.folder / "a.npy", a)
    return a


def thresholds(delta, clocks):
    """As codec_threshold() has them."""
    delta = np.float64(np.float32(delta))
    return [np.float32(delta / np.sqrt(np.float64(t))) for t in clocks]


def filtered(a, delta, clocks=None):
    """What dvf sends at each clock, in floats, and what it holds."""
    held = np.zeros(a.shape[1], np.float32)
    for update, threshold in zip(a, thresholds(delta, clocks or range(1, len(a) + 1))):
        held = held + update
        goes = np.abs(held) > threshold
        sent = np.where(goes, held, np.float32(0))
        held = np.where(goes, np.float32(0), held)
        yield sent, held, threshold


def norm(x):
    return np.sqrt(np.sum(np.square(x.astype(np.float64))))


def check_dvf(answer, a, delta, clocks=None):
    """Counts, norms and bounds are those of NumPy."""
    sums = np.cumsum(a.astype(np.float64), axis=0)
    assert len(answer["clocks"]) == len(a)
    for got, update, total, (sent, held, threshold) in zip(
        answer["clocks"], a, sums, filtered(a, delta, clocks)
    ):
        assert got["elements"] == a.shape[1]
        assert got["sent_elements"] == np.count_nonzero(sent)
        near = {
            "update_norm": norm(update),
            "error_norm": norm(sent.astype(np.float64) - update),
            "residual_norm": norm(held),
            "sum_norm": norm(total),
            "threshold": float(threshold),
            "bound": float(threshold) * np.sqrt(a.shape[1]),
        }
        assert {k: got[k] for k in near} == pytest.approx(near, rel=1e-5, abs=1e-9)
        assert got["residual_norm"] <= got["bound"]
    assert answer["total"]["sent_elements"] == sum(c["sent_elements"] for c in answer["clocks"])
    assert answer["total"]["bytes"] == sum(c["bytes"] for c in answer["clocks"])


def test_figures_are_those_of_numpy(strait, updates):
    answer = strait.json("codec", "try", "dvf:delta=0.01 | sparse", "a.npy")
    assert answer["chain"] == "dvf:delta=0.01 | sparse"
    check_dvf(answer, updates, 0.01)
    for c in answer["clocks"]:
        indexes = (2 * c["sent_elements"] + 3) // 4 * 4
        assert c["bytes"] == 4 + indexes + 4 * c["sent_elements"]
        assert c["as"] == {"list": 1}
        assert c["encode_mb_s"] > 0 and c["decode_mb_s"] > 0
    assert [c["clock"] for c in answer["clocks"]] == [1, 2, 3, 4, 5]
    total = answer["total"]
    assert total["clocks"] == 5 and total["chunks"] == 5
    assert total["elements"] == updates.size and total["dense_bytes"] == updates.size * 4
    assert total["sent_share"] == pytest.approx(total["sent_elements"] / updates.size)
    assert total["bytes_share"] == pytest.approx(total["bytes"] / updates.size / 4)
    assert total["link_bit_s"] == 10**9
    assert total["dense_clock_seconds"] == pytest.approx(3000 * 32 / 1e9)
    assert total["clock_seconds"] >= total["bytes"] * 8 / 1e9 / 5


def test_the_norm_bound_is_kept_with_fewer_entries(strait, updates):
    dvf = strait.json("codec", "try", "dvf:delta=0.01 | bitmap", "a.npy")["total"]
    answer = strait.json("codec", "try", "norm:delta=0.01 | bitmap", "a.npy", "--chunk", 1000)
    held = np.zeros(3000, np.float32)
    for got, update, threshold in zip(
        answer["clocks"], updates, thresholds(0.01, range(1, 6))
    ):
        held = held + update
        kept = 0
        for i in range(0, 3000, 1000):
            # The smallest are dropped while the sum of their squares is within the bound.
            part = held[i : i + 1000]
            order = np.argsort(np.abs(part), kind="stable")
            squares = np.cumsum(np.square(part[order].astype(np.float64)))
            drop = np.searchsorted(squares, np.float64(threshold) ** 2 * 1000, side="right")
            kept += 1000 - drop
            part[order[drop:]] = 0
        assert got["sent_elements"] == kept
        assert got["residual_norm"] == pytest.approx(norm(held), rel=1e-5)
        assert got["residual_norm"] <= got["bound"]
    assert answer["total"]["sent_elements"] < dvf["sent_elements"]
    assert answer["total"]["chunks"] == 15


def test_all_ways_to_write_updates_hold_the_same(strait, updates):
    """The form and the squeezer change bytes, not what goes."""
    want = None
    for form in ["dense", "sparse", "bitmap", "gaps", "paper", "auto"]:
        for squeeze in ["plain", "snappy", "lz4", "zstd"]:
            chain = f"dvf:delta=0.02 | {form} | {squeeze}"
            total = strait.json("codec", "try", chain, "a.npy", "--total")["total"]
            same = (total["sent_elements"], total["residual_norm"])
            want = want or same
            assert same == want, chain
            assert total["bytes"] <= total["dense_bytes"]


def test_everything_goes_without_a_cut(strait, updates):
    total = strait.json("codec", "try", "dense", "a.npy")["total"]
    assert total["sent_elements"] == np.count_nonzero(updates)
    assert total["bytes"] == updates.size * 4 and total["residual_norm"] == 0


def test_lines_arrays_and_folders_are_the_same(strait, updates):
    want = strait.json("codec", "try", "dvf:delta=0.01 | gaps", "a.npy")
    folder = strait.folder / "clocks"
    folder.mkdir()
    lines = []
    for t, row in enumerate(updates):
        np.save(folder / f"{t:03}.npy", row)
        lines.append(json.dumps({"clock": t + 1, "values": [float(x) for x in row]}))
    (strait.folder / "a.jsonl").write_text("\n".join(lines) + "\n")
    for files in [
        ["a.jsonl"],
        ["clocks"],
        sorted(p for p in folder.iterdir()),
    ]:
        got = strait.json("codec", "try", "dvf:delta=0.01 | gaps", *files)
        for answer in [got, want]:
            for c in [*answer["clocks"], answer["total"]]:
                for key in ["encode_mb_s", "decode_mb_s", "clock_seconds"]:
                    c.pop(key, None)
        assert got == want


def test_some_clocks_only(strait, updates):
    answer = strait.json("codec", "try", "dvf:delta=0.01", "a.npy", "--clocks", "2-4")
    check_dvf(answer, updates[1:4], 0.01, [2, 3, 4])
    assert len(strait.json("codec", "try", "all", "a.npy", "--clocks", "5")["clocks"]) == 1
    for bad in ["0", "4-2", "1-", "-3", "x", "1-2-3", "", "7"]:
        strait.fails(2, "STRAIT-0003", "codec", "try", "all", "a.npy", f"--clocks={bad}")


def test_two_thresholds_are_both_tried(strait, updates):
    chain = "dvf:low=0.01,up=0.05 | bitmap"
    answer = strait.json("codec", "try", chain, "a.npy")
    low, up = answer["tries"]
    assert [low["threshold"], up["threshold"]] == ["low", "up"]
    check_dvf(low, updates, 0.01)
    check_dvf(up, updates, 0.05)
    alone = strait.json("codec", "try", chain, "a.npy", "--threshold", "up")
    check_dvf(alone, updates, 0.05)
    text = strait.ok("codec", "try", chain, "a.npy")
    assert text.count("CLOCK   ENTRIES") == 2
    assert f"{chain} at low" in text and f"{chain} at up" in text


def test_chains_are_compared(strait, updates):
    answer = strait.json(
        "codec", "try", "all | dense", "--and", "dvf:delta=0.01 | bitmap",
        "--and", "dvf:delta=0.01 | bitmap | f16", "a.npy",
    )
    totals = [t["total"] for t in answer["tries"]]
    assert totals[0]["bytes"] > totals[1]["bytes"] > totals[2]["bytes"]
    lines = strait.ok(
        "codec", "try", "all | dense", "--and", "dvf:delta=0.01 | bitmap", "a.npy"
    ).splitlines()
    assert len(lines) == 3 and "1.000x" in lines[1]
    assert f"{totals[1]['bytes'] / totals[0]['bytes']:.3f}x" in lines[2]


def test_people_get_a_table_and_a_sentence(strait, updates):
    text = strait.ok("codec", "try", "dvf:delta=0.01 | sparse", "a.npy", "--link", "100Mbit")
    total = strait.json("codec", "try", "dvf:delta=0.01 | sparse", "a.npy")["total"]
    lines = text.splitlines()
    assert lines[0] == "dvf:delta=0.01 | sparse" and lines[1].split()[0] == "CLOCK"
    assert [line.split()[0] for line in lines[2:7]] == ["1", "2", "3", "4", "5"]
    assert lines[2].endswith(" list") and "█" in lines[6]
    said = " ".join(lines[7:])
    assert said.startswith(
        f"sends {100 * total['sent_share']:.1f} % of the entries in "
        f"{100 * total['bytes_share']:.1f} % of the bytes, 5 clocks of 3000 elements; "
        "at 100Mbit/s a clock takes "
    )
    plain = strait.ok("codec", "try", "all", "a.npy", env={"LC_ALL": "C"})
    assert plain.isascii()
    short = strait.ok("codec", "try", "all", "a.npy", "--total")
    assert short.startswith("sends ") and len(short.splitlines()) <= 5


def test_the_same_command_writes_the_same_bytes(strait):
    np.save(strait.folder / "big.npy", made(clocks=3, elements=3 * CHUNK))
    want = None
    for _ in range(3):
        answer = strait.json("codec", "try", "dvf:delta=0.02", "big.npy", "--link", "10Mbit")
        total = answer["total"]
        want = want or total["bytes"]
        assert total["bytes"] == want and sum(total["as"].values()) == 9
    strait.ok("codec", "try", "dvf:delta=0.02", "big.npy", "--measure")


def test_bad_files_are_named(strait, updates):
    def refused(name, text, *more):
        assert text in strait.fails(78, "STRAIT-0126", "codec", "try", "all", name, *more)

    folder = strait.folder
    np.save(folder / "nan.npy", np.array([[1, 2], [3, np.nan]], "<f4"))
    np.save(folder / "double.npy", np.zeros((2, 2)))
    np.save(folder / "fortran.npy", np.asfortranarray(np.zeros((2, 3), "<f4")))
    np.save(folder / "axes.npy", np.zeros((2, 2, 2), "<f4"))
    np.save(folder / "none.npy", np.zeros((0, 2), "<f4"))
    np.save(folder / "other.npy", np.zeros((1, 7), "<f4"))
    (folder / "cut.npy").write_bytes((folder / "a.npy").read_bytes()[:-1])
    (folder / "empty").write_bytes(b"")
    (folder / "bad.jsonl").write_text("[1, 2]\n[1, 2, 3]\n")
    (folder / "folder").mkdir()
    refused("double.npy", "double.npy: its elements are not float32")
    refused("fortran.npy", "fortran.npy: it is in the order of Fortran")
    refused("axes.npy", "axes.npy: it has 3 axes; one axis is one clock")
    refused("none.npy", "none.npy: it is empty: there is no clock in it")
    refused("cut.npy", "cut.npy: it is cut short")
    refused("empty", "empty: it is empty")
    refused("folder", "folder: there is no .npy or .jsonl file in it")
    done = strait.run("codec", "try", "all", "nan.npy")
    assert done.returncode == 78
    assert "nan.npy: element 1 of row 1 is NaN, and must be finite" in done.stderr
    done = strait.run("codec", "try", "all", "bad.jsonl")
    assert done.returncode == 78 and "bad.jsonl:2: more than 2 values" in done.stderr
    done = strait.run("codec", "try", "all", "a.npy", "other.npy")
    assert done.returncode == 78
    assert "other.npy: a clock has 7 elements, but the clocks before have 3000" in done.stderr
    assert "No such file" in strait.fails(1, "STRAIT-0101", "codec", "try", "all", "gone.npy")


def test_bad_chains_are_explained(strait, updates):
    text = strait.fails(2, "STRAIT-0003", "codec", "try", "dvf:delta=0.1 | zip", "a.npy")
    assert "'zip' is unknown" in text and "strait codec ls" in text
    text = strait.fails(2, "STRAIT-0003", "codec", "try", "all", "--and", "dvf", "a.npy")
    assert "dvf needs a threshold" in text


def test_the_stages_are_listed(strait):
    words = strait.json("codec", "ls")["words"]
    text = strait.ok("codec", "ls")
    assert [w["name"] for w in words if w["stage"] == "cut"] == ["all", "dvf", "norm"]
    assert {w["stage"] for w in words} == {"cut", "form", "f16", "squeeze"}
    for w in words:
        assert w["written"] in text and w["meaning"].split()[0] in text


# Recorded runs.

RUNS = {
    "logreg": "{samples: 3000, features: 300, batch: 50}",
    "mf": "{users: 100, items: 60, ratings: 3000, batch: 50, rank: 4}",
}

RUN = """
run: small
topology: {{regions: [{{name: a}}]}}
servers: [{{region: a}}]
workers: [{{region: a, count: 2}}]
job: {{name: {job}, options: {options}}}
stop: {{clocks: 12}}
"""


def write_run(strait, job, more=""):
    (strait.folder / "a.yaml").write_text(RUN.format(job=job, options=RUNS[job]) + more)


def record(strait, folder, *more):
    strait.ok("run", "a.yaml", "--no-record", "--record-updates", folder, *more)
    meta = json.loads((strait.folder / folder / "updates.json").read_text())
    assert meta["schema"] == 1 and meta["run"] == "small"
    return meta


def load(strait, folder, meta):
    return [np.load(strait.folder / folder / u["file"]) for u in meta["updates"]]


@pytest.mark.parametrize("job", RUNS)
def test_a_simulated_run_is_recorded(strait, job):
    write_run(strait, job)
    meta = record(strait, "u", "--record-worker", "all")
    arrays = load(strait, "u", meta)
    assert [u["worker"] for u in meta["updates"]] == ["w0", "w1"]
    for u, a in zip(meta["updates"], arrays):
        assert u["file"] == f"{u['worker']}-{u['table']}.npy"
        assert a.dtype == "<f4" and a.shape == (12, u["elements"])
        assert u["elements"] == u["rows"] * u["width"] and u["clocks"] == 12
        assert u["apply"] and u["combine"] in ("sum", "mean", "samples")
        assert np.all(np.isfinite(a)) and np.all(np.any(a != 0, axis=1))
    assert not np.array_equal(arrays[0], arrays[1])
    delta = float(np.median(np.abs(arrays[0][arrays[0] != 0])))
    whole = strait.json("codec", "try", f"dvf:delta={delta:.3g} | bitmap", "u")
    parts = [
        strait.json("codec", "try", f"dvf:delta={delta:.3g} | bitmap", f"u/{u['file']}")
        for u in meta["updates"]
    ]
    for part, a in zip(parts, arrays):
        check_dvf(part, a, float(f"{delta:.3g}"))
        assert 0 < part["total"]["sent_share"] < 1
    # The folder is all of them side by side.
    for i, c in enumerate(whole["clocks"]):
        these = [p["clocks"][i] for p in parts]
        for key in ["sent_elements", "bytes", "elements"]:
            assert c[key] == sum(t[key] for t in these)
        for key in ["residual_norm", "error_norm", "bound"]:
            assert c[key] == pytest.approx(np.hypot(*[t[key] for t in these]), rel=1e-6)


def test_one_worker_is_recorded_unless_all_are_asked_for(strait):
    write_run(strait, "logreg")
    assert [u["worker"] for u in record(strait, "u")["updates"]] == ["w0"]
    meta = record(strait, "v", "--record-worker", "1")
    assert [u["worker"] for u in meta["updates"]] == ["w1"]
    assert len(list((strait.folder / "v").iterdir())) == 2


def test_lines_have_the_same_floats(strait):
    write_run(strait, "mf")
    (array,) = load(strait, "u", record(strait, "u"))
    meta = record(strait, "v", "--record-format", "jsonl")
    assert meta["format"] == "jsonl" and meta["updates"][0]["clocks"] == 12
    lines = (strait.folder / "v" / meta["updates"][0]["file"]).read_text().splitlines()
    for t, line in enumerate(lines):
        line = json.loads(line)
        assert line["clock"] == t + 1
        assert np.array_equal(np.array(line["values"], np.float32), array[t])
    a, b = (strait.json("codec", "try", "norm:delta=0.01 | gaps", d)["total"] for d in "uv")
    assert (a["sent_elements"], a["bytes"]) == (b["sent_elements"], b["bytes"])


def test_not_every_clock_need_be_recorded(strait):
    write_run(strait, "logreg")
    (whole,) = load(strait, "u", record(strait, "u"))
    for form in ["npy", "jsonl"]:
        meta = record(strait, form, "--record-every", 5, "--record-format", form)
        assert meta["every"] == 5 and meta["updates"][0]["clocks"] == 3
        for files in [form, f"{form}/{meta['updates'][0]['file']}"]:
            answer = strait.json("codec", "try", "dvf:delta=0.01", files)
            assert [c["clock"] for c in answer["clocks"]] == [1, 6, 11]
            check_dvf(answer, whole[::5], 0.01, [1, 6, 11])


def test_what_is_held_back_is_recorded_too(strait):
    write_run(strait, "logreg", "sync: {push: 'dvf:delta=0.05 | bitmap', order: fixed}\n")
    (held,) = load(strait, "u", record(strait, "u"))
    write_run(strait, "logreg", "sync: {order: fixed}\n")
    (plain,) = load(strait, "v", record(strait, "v"))
    assert np.array_equal(held[0], plain[0])  # Both begin with the same parameters.
    assert not np.array_equal(held[1], plain[1])


def test_recording_changes_nothing(strait):
    write_run(strait, "logreg")
    a = strait.json("run", "a.yaml", "--no-record")
    b = strait.json("run", "a.yaml", "--no-record", "--record-updates", "u")
    for answer in [a, b]:
        answer.pop("real_s")
    assert a == b


def test_processes_record_what_becomes_of_the_tables(strait):
    """The start plus all recorded updates is what the last checkpoint holds."""

    def end(clocks):
        folder = f"r{clocks}"
        strait.ok("run", "a.yaml", "-o", folder, "--on", "local", "--no-prediction", "--set",
                  f"stop.clocks={clocks}", "--record-updates", f"u{clocks}", "--record-worker",
                  "all")
        meta = json.loads((strait.folder / f"u{clocks}" / "updates.json").read_text())
        strait.ok("store", "export", "r", "--store", f"{folder}/checkpoints/s0", "-o", "r.npy")
        arrays = load(strait, f"u{clocks}", meta)
        assert [len(a) for a in arrays] == [clocks, clocks]
        made = sum(a.astype(np.float64).sum(axis=0) for a in arrays)
        return np.load(strait.folder / "r.npy").reshape(-1) - made

    write_run(strait, "mf", "checkpoint: {every: 1}\n")
    assert end(1) == pytest.approx(end(12), abs=1e-5)


def test_a_killed_worker_goes_on_with_its_files(strait):
    write_run(strait, "logreg", "compute: {time: 30ms}\nfaults: [at 300ms kill w0 for 100ms]\n")
    for on in ["sim", "local"]:
        for form in ["npy", "jsonl"]:
            folder = f"{on}-{form}"
            meta = record(strait, folder, "--on", on, "--record-format", form, "--set",
                          "stop.clocks=30", *(["--no-prediction"] if on == "local" else []))
            assert meta["updates"][0]["clocks"] >= 20
            answer = strait.json("codec", "try", "dvf:delta=0.01", folder)
            assert answer["clocks"][-1]["clock"] == 30
            if form == "npy":
                assert len(np.load(strait.folder / folder / "w0-w.npy")) == 30


def test_what_cannot_be_recorded_is_refused_before_the_run(strait):
    write_run(strait, "logreg")
    record(strait, "u")
    for status, error, args, text in [
        (1, "STRAIT-0102", ["--record-updates", "u"], "u holds updates of a run"),
        (2, "STRAIT-0003", ["--record-updates", "v", "--record-worker", "2"],
         "all, or a number from 0 to 1: the run has 2 workers"),
        (2, "STRAIT-0010", ["--record-updates", "v", "--set", "stop.clocks=10000000"],
         "that would be 12.2 GB; record every so many clocks"),
        (2, "STRAIT-0010", ["--record-updates", "v", "--on", "slurm"], "not with --on slurm"),
        (2, "STRAIT-0010", ["--record-updates", "v", "--on", "hosts"], "not with --on hosts"),
        (2, "STRAIT-0010", ["--record-every", "3"], "where to? Say --record-updates DIR"),
        (2, "STRAIT-0003", ["--record-updates", "v", "--record-every", "0"], "record-every"),
        (1, "STRAIT-0101", ["--record-updates", "a.yaml/v"], "Not a directory"),
    ]:
        said = strait.fails(status, error, "run", "a.yaml", "-o", "r", *args)
        assert text in said
        assert not (strait.folder / "r").exists()
    done = strait.run("run", "a.yaml", "--no-record", "--record-updates", "w")
    assert "records the updates of 1 worker and 1 table: " in done.stderr
    assert " for 12 clocks, in w" in done.stderr


GROUNDS = {"sim": [], "local": ["--on", "local", "--no-prediction"]}


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("form", ["npy", "jsonl"])
def test_what_cannot_be_written_ends_the_recording_and_not_the_run(strait, ground, form):
    """Files may not have more than 16 kB: the updates of thirteen clocks, or of four as text."""

    def narrow():
        resource.setrlimit(resource.RLIMIT_FSIZE, (16000, resource.RLIM_INFINITY))

    write_run(strait, "logreg")
    args = ["run", "a.yaml", "--no-record", "--json", "--set", "stop.clocks=30", *GROUNDS[ground],
            "--record-updates", "u", "--record-worker", "all", "--record-format", form]
    done = strait.run(*args, preexec_fn=narrow)
    assert done.returncode == 1
    answer = json.loads(done.stdout)
    assert answer["clocks"] == 30 and answer["end"] == "clocks" and answer["objective"] > 0
    meta = json.loads((strait.folder / "u" / "updates.json").read_text())
    clocks = [u["clocks"] for u in meta["updates"]]
    assert all(3 <= n < 30 for n in clocks) and len(clocks) == 2
    for u in meta["updates"]:
        said = (f"{u['worker']}: updates are recorded up to clock {u['clocks']}: "
                f"{strait.folder}/u/{u['file']}: File too large")
        assert said in done.stderr
    assert '"STRAIT-0101"' in done.stderr and "--record-updates: w" in done.stderr
    assert "; others too" in done.stderr
    replayed = strait.json("codec", "try", "dvf:delta=0.01", "u")["clocks"]
    assert [c["clock"] for c in replayed] == list(range(1, max(clocks) + 1))


FULL = """
mount -t tmpfs -o size={size} none full && "$@"
echo "status $?"
cp full/u/updates.json . && {strait} codec try dvf:delta=0.01 full/u --total --json
"""


def on_a_small_disk(strait, size, *args):
    (strait.folder / "full").mkdir(exist_ok=True)
    script = FULL.format(size=size, strait=strait.bin)
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", strait.bin, "run", "a.yaml", "-o", "r",
         "--set", "stop.clocks=60", "--record-updates", "full/u", "--record-worker", "all", *args],
        cwd=strait.folder, env=strait.env, capture_output=True, text=True, timeout=60)
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        pytest.skip("no disk of our own: " + done.stderr)
    return done


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_full_disk_is_told_and_the_run_is_kept(strait, ground):
    write_run(strait, "logreg")
    done = on_a_small_disk(strait, "64k", *GROUNDS[ground])
    assert "status 1\n" in done.stdout and "all 60 clocks" in done.stdout
    assert done.stderr.count("error[STRAIT-0101]: --record-updates: w") == 1
    assert ("No space left on device; make room there, or record less (--record-every)"
            in done.stderr)
    summary = json.loads((strait.folder / "r" / "summary.json").read_text())
    assert summary["clocks"] == 60 and (strait.folder / "r" / "report.html").exists()
    lines = (strait.folder / "r" / "events.jsonl").read_text().splitlines()
    events = [e for e in map(json.loads, lines) if e["event"] == "unrecorded"]
    assert sorted(e["who"] for e in events) == ["w0", "w1"]
    kept = json.loads(done.stdout[done.stdout.index("status 1\n") + 9:])
    assert kept["total"]["elements"] > 2000


def test_a_disk_that_is_full_from_the_start(strait):
    write_run(strait, "logreg")
    done = on_a_small_disk(strait, "4k")  # Room for updates.json and nothing else.
    assert "status 1\n" in done.stdout and "all 60 clocks" in done.stdout
    assert "w0: no updates are recorded: " in done.stderr
    shutil.rmtree(strait.folder / "r")
    done = on_a_small_disk(strait, "4k,nr_inodes=2")
    assert "status 1\n" in done.stdout and not (strait.folder / "r").exists()
    assert "updates.json: No space left on device; make room there, or choose another folder" \
        in done.stderr


@pytest.mark.parametrize("job", RUNS)
@pytest.mark.parametrize("chain", ["dvf:delta=0.02 | bitmap | f16", "norm:delta=0.01 | gaps"])
def test_a_replay_is_what_the_run_did(strait, job, chain):
    """The updates of a run with a filter, through its own chain: entries and bytes to the last."""
    write_run(strait, job, f"sync: {{push: '{chain}'}}\n")
    answer = strait.json("run", "a.yaml", "--no-record", "--record-updates", "u",
                         "--record-worker", "all")
    total = strait.json("codec", "try", chain, "u", "--total")["total"]
    assert 0 < total["sent_elements"] < total["elements"]
    for key in ["sent_elements", "bytes"]:
        assert total[key] == answer["sparsified"][key]

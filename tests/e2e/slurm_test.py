"""`strait run --on slurm` in a real Slurm of several nodes: a training, Ctrl-C, a job that is
cancelled, and what is refused."""

import csv
import json
import os
import signal
import subprocess

import pytest

from site_of import LIMIT_S, until
from slurm_of import Slurm, why_not

RUN = """
run: small
seed: 3
topology:
  regions: [eu, us, ap]
  links:
    - {between: [eu, us], rate: 400mbit, rtt: 2ms, price: 0.02}
    - {between: [eu, ap], rate: 400mbit, rtt: 2ms, price: 0.02}
    - {between: [us, ap], rate: 400mbit, rtt: 2ms, price: 0.02}
sites: [{region: eu, workers: 2}, {name: west, region: us}, {name: east, region: ap}]
between: {staleness: 2}
job: {name: mf, options: {users: 60, items: 40, ratings: 900, rank: 4, batch: 100, lr: 0.05}}
evaluate: {every: 10}
stop: {clocks: 30}
"""

LONG = ["--set", "job={name: synthetic, options: {elements: 2000, compute_ms: 5}}", "--set",
        "stop.clocks=3000", "--set", "evaluate.every=250"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    slurm = Slurm(tmp_path_factory.mktemp("slurm") / "c", 3)
    yield slurm
    slurm.close()


class Job:
    """Runs of the program in the namespace of the cluster."""

    def __init__(self, strait, cluster):
        self.strait = strait
        self.cluster = cluster
        self.record = strait.folder / "record"
        self.env = {**strait.env, **cluster.env, "TMPDIR": str(strait.folder / "tmp")}
        (strait.folder / "tmp").mkdir()
        self.started = []
        (strait.folder / "a.yaml").write_text(RUN)

    def words(self, *args):
        return self.cluster.inside(self.strait.bin, "run", "a.yaml", "--on", "slurm", "-o",
                                   "record", *args)

    def run(self, *args):
        return subprocess.run(self.words(*args), cwd=self.strait.folder, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                              check=False)

    def start(self, *args):
        child = subprocess.Popen(self.words(*args), cwd=self.strait.folder, env=self.env, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.started.append(child)
        return child

    def reach(self, clock):
        def there():
            try:
                with open(self.record / "scalars.csv", encoding="utf-8") as f:
                    return any(int(row["clock"]) >= clock for row in csv.DictReader(f))
            except OSError:
                return False
        until(there)

    def members(self):
        """Servers and workers that run on the nodes."""
        found = []
        for pid in self.cluster.pids():
            try:
                words = open(f"/proc/{pid}/cmdline", encoding="utf-8").read().split("\0")
            except OSError:
                continue
            if words[0] == self.strait.bin and words[1] in ("server", "worker"):
                found.append(words[1])
        return found

    def all_is_over(self):
        until(lambda: not self.cluster.jobs() and not self.members(), 40)

    def close(self):
        for child in self.started:
            if child.poll() is None:
                child.kill()
                child.communicate()
        self.cluster.say("scancel", "--user=root")
        self.all_is_over()


@pytest.fixture
def job(strait, cluster):
    j = Job(strait, cluster)
    yield j
    j.close()


def test_a_run_trains_on_three_nodes(job):
    done = job.run("--json")
    assert done.returncode == 0, (done.stdout, done.stderr)
    answer = json.loads(done.stdout)
    assert answer["end"] == "clocks" and answer["clocks"] == 30 and answer["job"] >= 1
    assert answer["record"] == str(job.record) and answer["wan_bytes"] > 0
    assert "is submitted; to watch it: squeue -j" in done.stderr
    assert json.loads((job.record / "env.json").read_text())["backend"] == "slurm"
    # Each site is on a node of its own, and they talk over TLS.
    between = (job.record / "between-eu.yaml").read_text()
    assert all(f"tls://10.81.0.{i}:" in between for i in (1, 2, 3))
    assert not list(job.record.rglob("*.key"))
    assert "#SBATCH --nodes=3" in (job.record / "job.sbatch").read_text()
    assert os.listdir(job.strait.folder / "tmp") == []
    job.all_is_over()


def test_a_script_can_be_written_and_submitted_by_hand(job):
    done = job.run("--submit", "no", "--time", "90m", "--partition", "all")
    assert done.returncode == 0 and done.stdout == f"{job.record}/job.sbatch\n", done
    script = (job.record / "job.sbatch").read_text()
    assert "#SBATCH --time=90\n" in script and "#SBATCH --partition=all\n" in script
    assert job.cluster.jobs() == []
    subprocess.run(["bash", "-n", job.record / "job.sbatch"], check=True)
    job.cluster.say("sbatch", "--wait", job.record / "job.sbatch")
    assert json.loads((job.record / "summary.json").read_text())["clocks"] == 30
    again = job.run()
    assert again.returncode == 1 and "holds another run" in again.stderr


def test_ctrl_c_ends_the_job_with_a_whole_record(job):
    child = job.start(*LONG)
    job.reach(20)
    assert len(job.members()) == 7
    # "ip netns exec" becomes the command itself.
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130, (out, err)
    assert "is told to end" in err
    summary = json.loads((job.record / "summary.json").read_text())
    assert summary["end"] == "interrupted" and summary["clocks"] >= 20
    job.all_is_over()


def test_a_job_that_somebody_cancels_is_told_and_leaves_nobody(job):
    child = job.start(*LONG)
    job.reach(20)
    job.cluster.say("scancel", "--user=root")
    out, err = child.communicate(timeout=LIMIT_S)
    assert child.returncode == 1, (out, err)
    assert "was cancelled; what there is is in" in err
    job.all_is_over()
    assert not list((job.strait.folder / "tmp").rglob("*.key"))


def test_a_run_may_be_left_to_itself(job):
    done = job.run("--detach", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["record"] == str(job.record)
    until(lambda: (job.record / "summary.json").exists())
    job.all_is_over()


def test_what_slurm_refuses_is_told_in_its_words(job):
    done = job.run("--partition", "nowhere")
    assert done.returncode == 78 and done.stderr.startswith("error[STRAIT-0404]: sbatch refuses")
    assert "invalid partition" in done.stderr


def test_too_few_nodes_are_told(job):
    done = job.run("--submit", "no")
    assert done.returncode == 0
    script = job.record / "job.sbatch"
    script.write_text(script.read_text().replace("--nodes=3", "--nodes=2"))
    job.cluster.say("sbatch", "--wait", script)
    (said,) = job.record.glob("slurm-*.err")
    assert "the job has 2 nodes, and the run needs 3: one for each site" in said.read_text()


def test_a_job_that_waits_says_why_and_goes_at_ctrl_c(job):
    child = job.start("--sbatch", "--nodes=9")
    until(lambda: [line for line in job.cluster.jobs() if "PENDING" in line])
    assert "waits: " in child.stderr.readline() + child.stderr.readline()
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=LIMIT_S)
    assert child.returncode == 130
    assert job.cluster.jobs() == [] and not (job.record / "run.yaml").exists()


# Without any Slurm.


def test_without_sbatch_it_is_told_where_the_script_is(strait):
    (strait.folder / "a.yaml").write_text(RUN)
    err = strait.fails(78, "STRAIT-0404", "run", "a.yaml", "--on", "slurm", "-o", "r",
                       env={"PATH": "/nowhere"})
    assert "there is no sbatch on this machine" in err and "r/job.sbatch" in err
    assert os.path.exists(strait.folder / "r" / "job.sbatch")


def test_inside_is_for_jobs(strait):
    (strait.folder / "a.yaml").write_text(RUN)
    err = strait.fails(2, "STRAIT-0010", "run", "a.yaml", "--on", "slurm", "--inside")
    assert "--inside is for jobs of Slurm" in err
    err = strait.fails(2, "STRAIT-0010", "run", "a.yaml", "--detach")
    assert "--detach is of no use with --on sim" in err
    err = strait.fails(2, "STRAIT-0003", "run", "a.yaml", "--on", "slurm", "-o", "a b")
    assert "the path stands in a batch script" in err
    for wrong in (["--sbatch", "--x\nrm -r"], ["--sbatch", "x"], ["--partition", "a b"]):
        strait.fails(2, "STRAIT-0003", "run", "a.yaml", "--on", "slurm", "-o", "r", *wrong)
    strait.fails(2, "STRAIT-0010", "run", "a.yaml", "--on", "slurm", "--no-record")
    assert not (strait.folder / "r").exists()

"""`strait run --on hosts`: members kept by `strait hold`, on this machine and through a real sshd;
killed, interrupted, cut off and refused."""

import csv
import getpass
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

from port_of import free_port
from site_of import LIMIT_S, until

RUN = """
run: small
seed: 3
topology:
  regions: [{name: eu, usd_per_hour: 0.9}, {name: us, usd_per_hour: 0.8}]
  links: [{between: [eu, us], rate: 400mbit, rtt: 2ms, price: 0.02}]
sites: [{region: eu, workers: 2}, {name: west, region: us}]
between: {staleness: 2}
job: {name: mf, options: {users: 60, items: 40, ratings: 900, rank: 4, batch: 100, lr: 0.05}}
evaluate: {every: 10}
stop: {clocks: 30}
"""

# Long enough to be disturbed.
LONG = ["--set", "job={name: synthetic, options: {elements: 2000, compute_ms: 5}}", "--set",
        "stop.clocks=1000", "--set", "evaluate.every=250", "--set", "checkpoint.every=20"]

STARTED = []


def below(folder):
    """pid -> words of all processes that work in a folder, or below it."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                cwd = os.readlink(f"/proc/{name}/cwd")
                words = pathlib.Path(f"/proc/{name}/cmdline").read_text().split("\0")
            except OSError:
                continue
            if cwd.startswith(str(folder) + "/"):
                found[int(name)] = words
    return found


class Far:
    """Hosts in a folder, and runs on them."""

    def __init__(self, strait, port):
        self.strait = strait
        self.folder = strait.folder
        self.there = strait.folder / "there"
        self.port = port
        self.options = []
        (self.folder / "a.yaml").write_text(RUN)
        self.hosts([{"name": "a", "region": "eu"}, {"name": "b", "region": "us"}])

    def hosts(self, hosts):
        for index, host in enumerate(hosts):
            host.setdefault("dir", str(self.there))
            host.setdefault("port", self.port + 10 * index)
        (self.folder / "hosts.yaml").write_text(json.dumps({"hosts": hosts}))

    def args(self, *args):
        return ["run", "a.yaml", "--on", "hosts", "--hosts", "hosts.yaml", "-o", "record",
                *self.options, *args]

    def start(self, *args):
        child = subprocess.Popen(
            [self.strait.bin, *self.args("--json", *args)], cwd=self.folder, env=self.strait.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        STARTED.append(child)
        return child

    def events(self, kind=None):
        try:
            lines = (self.folder / "record" / "events.jsonl").read_text().splitlines()
        except OSError:
            return []
        events = [json.loads(line) for line in lines]
        return [e for e in events if kind is None or e["event"] == kind]

    def reach(self, clock):
        def there():
            try:
                with open(self.folder / "record" / "scalars.csv", encoding="utf-8") as f:
                    return any(int(row["clock"]) >= clock for row in csv.DictReader(f))
            except OSError:
                return False
        until(there)

    def member(self, name):
        def found():
            for pid, words in below(self.there).items():
                if "tied" not in words and "--name" in words:
                    if words[words.index("--name") + 1] == name:
                        return pid
            return None
        return until(found)

    def end(self, child, status=0):
        out, err = child.communicate(timeout=LIMIT_S)
        assert child.returncode == status, (out, err)
        assert "Sanitizer" not in err
        return json.loads(out) if out else None

    def nobody_is_there(self):
        until(lambda: not below(self.there), 30)

    def no_keys(self):
        """No secret is left: not with us, and not there."""
        for folder in (self.folder / "record", self.there):
            assert [p for p in folder.rglob("*.key")] == []


@pytest.fixture(autouse=True)
def nobody_is_left():
    yield
    while STARTED:
        child = STARTED.pop()
        if child.poll() is None:
            child.kill()
            child.communicate()


@pytest.fixture
def far(strait):
    f = Far(strait, free_port(50))
    yield f
    f.nobody_is_there()


# Without ssh: hosts that are this machine.


def test_a_run_on_hosts_trains_with_certificates_and_leaves_nothing(far):
    answer = far.strait.json(*far.args())
    assert answer["end"] == "clocks" and answer["clocks"] == 30
    assert answer["network"]["encrypted"] is True
    assert [(h["name"], h["members"]) for h in answer["network"]["hosts"]] == [
        ("a", ["eu-s0", "w0", "w1"]), ("b", ["west-s0", "w2"])]
    record = far.folder / "record"
    assert json.loads((record / "env.json").read_text())["backend"] == "hosts"
    assert json.loads((record / "summary.json").read_text())["wan_bytes"] > 0
    assert "tls://127.0.0.1" in (record / "between-eu.yaml").read_text()
    assert (record / "ca" / "ca.crt").exists() and (record / "report.html").exists()
    assert os.listdir(far.there) == []
    far.no_keys()
    far.nobody_is_there()


def test_checkpoints_stay_where_they_were_made_unless_it_is_to_be_tidy(far):
    done = far.strait.run(*far.args("--set", "checkpoint.every=10"))
    assert done.returncode == 0, done.stderr
    assert "checkpoints are on host a in" in done.stderr
    (run,) = os.listdir(far.there)
    assert list((far.there / run / "eu-s0" / "checkpoints").rglob("*.ckpt"))
    far.no_keys()
    shutil.rmtree(far.there)
    shutil.rmtree(far.folder / "record")
    far.strait.ok(*far.args("--set", "checkpoint.every=10", "--tidy"))
    assert os.listdir(far.there) == []


def test_in_the_clear_only_if_somebody_says_so(far):
    answer = far.strait.json(*far.args("--insecure"))
    assert answer["network"]["encrypted"] is False
    assert not (far.folder / "record" / "ca").exists()
    shutil.rmtree(far.folder / "record")
    far.hosts([{"name": "a", "region": "eu", "address": "192.0.2.1"},
               {"name": "b", "region": "us"}])
    err = far.strait.fails(2, "STRAIT-0009", *far.args("--insecure"))
    assert "host a is at 192.0.2.1" in err and "twice" in err
    assert not (far.folder / "record").exists()


def test_a_member_that_is_killed_is_back(far):
    child = far.start(*LONG, "--set", "stop.clocks=300")
    far.reach(30)
    for name in ("w0", "eu-s0"):
        os.kill(far.member(name), signal.SIGKILL)
        until(lambda: [e for e in far.events("killed") if e["who"] == name])
    answer = far.end(child)
    assert answer["end"] == "clocks" and answer["clocks"] == 300
    assert answer["kills"] == 2 and answer["restarts"] == 2
    far.no_keys()


def test_faults_of_the_file_reach_processes(far):
    child = far.start(*LONG, "--set", "stop.clocks=200", "--set",
                      "faults=[at 300ms kill w1 for 200ms, at 500ms pause w2 for 300ms]")
    answer = far.end(child)
    assert answer["end"] == "clocks" and answer["kills"] == 1
    assert {e["text"] for e in far.events("fault")} == {"kill", "pause"}


def test_ctrl_c_leaves_a_valid_record_and_nobody_behind(far):
    child = far.start(*LONG)
    far.reach(20)
    child.send_signal(signal.SIGINT)
    answer = far.end(child, 130)
    assert answer["end"] == "interrupted" and answer["clocks"] >= 20
    assert json.loads((far.folder / "record" / "summary.json").read_text())["clocks"] >= 20
    far.nobody_is_there()
    far.no_keys()


def test_nobody_outlives_a_run_that_was_killed(far):
    child = far.start(*LONG)
    far.reach(20)
    child.kill()
    child.communicate()
    far.nobody_is_there()
    assert list(far.there.rglob("*.key")) == []


def test_a_region_without_a_host_is_told_before_anything_starts(far):
    far.hosts([{"name": "a", "region": "eu"}])
    err = far.strait.fails(78, "STRAIT-0404", *far.args())
    assert "hosts.yaml: no host is in region us, where west-s0 is to be: add one" in err
    assert not (far.folder / "record").exists()
    (far.folder / "hosts.yaml").write_text("hosts:\n  - {regin: eu}\n")
    err = far.strait.fails(78, "STRAIT-0404", *far.args())
    assert "hosts.yaml:2:13: hosts[0].regin: no such key; did you mean 'region'?" in err


def test_options_that_are_of_no_use_are_told(far):
    assert "--hosts FILE" in far.strait.fails(2, "STRAIT-0004", "run", "a.yaml", "--on", "hosts")
    err = far.strait.fails(2, "STRAIT-0010", "run", "a.yaml", "--hosts", "hosts.yaml")
    assert "--hosts is of no use with --on sim" in err
    assert "absent.yaml" in far.strait.fails(1, "STRAIT-0101", "run", "a.yaml", "--on", "hosts",
                                             "--hosts", "absent.yaml")


def test_a_port_that_was_said_and_is_taken_is_the_end(far):
    with socket.socket() as s:
        s.bind(("127.0.0.1", far.port))
        s.listen()
        err = far.strait.run(*far.args()).stderr
    assert "eu-s0 ended with status 1" in err and "in use" in err


def test_other_versions_and_what_is_missing_are_told_of_all_hosts_at_once(far):
    fake = far.folder / "fake"
    fake.write_text("#!/bin/sh\nread line\necho "
                    "'{\"event\":\"host\",\"version\":\"9.9\",\"wire\":{\"min\":90,\"max\":99}}'\n")
    fake.chmod(0o755)
    far.hosts([{"name": "a", "region": "eu", "strait": str(fake)},
               {"name": "b", "region": "us", "strait": str(fake)}])
    err = far.strait.fails(77, "STRAIT-0206", *far.args())
    assert "hosts.yaml: 2 of 2 hosts cannot be used:" in err
    assert err.count("strait 9.9 there speaks versions 90 to 99 of the wire") == 2
    fake.write_text("#!/bin/sh\necho no such thing >&2; exit 3\n")
    err = far.strait.fails(69, "STRAIT-0201", *far.args())
    assert err.count("(this machine): no such thing") == 2
    far.hosts([{"name": "a", "region": "eu", "dir": "/proc/nowhere"},
               {"name": "b", "region": "us"}])
    err = far.strait.fails(78, "STRAIT-0404", *far.args())
    assert "1 of 2 hosts" in err and "a (this machine): /proc/nowhere cannot be written" in err


def test_data_has_to_be_on_all_hosts(far):
    err = far.strait.fails(78, "STRAIT-0404", *far.args("--set", "job={name: mf, data: absent}"))
    assert "2 of 2 hosts cannot be used" in err
    assert err.count("/absent: No such file or directory; it has to be there") == 2


# strait hold by itself.


def hold(strait, line, **options):
    return strait.run("hold", stdin=None, input=line, **options)


def test_hold_refuses_what_it_does_not_understand(strait):
    for line in ("", "x\n", "{}\n", '{"do":"hold","dir":"/d","member":"m","argv":["sh","-c"]}\n'):
        done = hold(strait, line)
        assert done.returncode == 2 and "hold: " in done.stderr, done


def test_hold_uses_no_folder_that_others_may_have_made(strait):
    parcel = {"do": "hold", "member": "w0", "argv": ["strait", "version"], "files": {},
              "folders": ["state"]}
    line = json.dumps({**parcel, "dir": "~/strait/run"}) + "\n"
    done = hold(strait, line, env={"HOME": ""})
    assert done.returncode == 2 and "HOME is not set" in done.stderr, done
    elsewhere = strait.folder / "elsewhere"
    elsewhere.mkdir()
    (strait.folder / "link").symlink_to(elsewhere)
    done = hold(strait, json.dumps({**parcel, "dir": str(strait.folder / "link")}) + "\n")
    assert done.returncode == 1 and "it is a link or a file" in done.stderr, done
    assert list(elsewhere.iterdir()) == []


def test_hold_removes_only_what_it_made(strait):
    (strait.folder / "mine").mkdir(mode=0o700)
    (strait.folder / "mine" / "file").write_text("precious")
    done = hold(strait, json.dumps({"do": "remove", "dir": str(strait.folder / "mine")}) + "\n")
    assert done.returncode == 1 and "stays: it is not the folder of a run" in done.stderr
    assert (strait.folder / "mine" / "file").exists()


def test_hold_puts_nothing_into_a_folder_that_others_can_read(strait):
    (strait.folder / "open").mkdir()
    (strait.folder / "open").chmod(0o755)
    line = {"do": "hold", "dir": str(strait.folder / "open"), "member": "m",
            "files": {"m.key": {"text": "secret", "mode": "0600"}}, "argv": ["strait", "version"]}
    done = hold(strait, json.dumps(line) + "\n")
    assert done.returncode == 1 and "open to others" in done.stderr
    assert not list(strait.folder.rglob("*.key"))


def test_hold_says_how_it_ended_and_forgets_the_key(strait):
    line = {"do": "hold", "dir": "~/x", "member": "m", "folders": ["state"],
            "files": {"m.key": {"text": "secret", "mode": "0600"},
                      "m.crt": {"text": "open", "mode": "0644"}},
            "argv": ["strait", "worker", "--what"]}
    child = subprocess.Popen([strait.bin, "hold"], cwd=strait.folder, env=strait.env, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    STARTED.append(child)
    child.stdin.write(json.dumps(line) + "\n")
    child.stdin.flush()
    assert child.wait(LIMIT_S) == 2
    assert "--what" in child.stderr.read()
    assert json.loads(child.stdout.read()) == {"event": "held-end", "status": 2, "signal": 0}
    there = strait.folder / "x" / "m"
    assert sorted(os.listdir(there)) == ["m.crt", "state"]
    assert (there.stat().st_mode & 0o777) == 0o700


# Through a real sshd.


class Sshd:
    """A server of its own: keys, configuration, port; nothing of anybody's ~/.ssh."""

    def __init__(self, folder, binary):
        self.folder = folder
        folder.mkdir()
        self.port = free_port()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name],
                           check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        (folder / "config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\n"
            f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nPidFile none\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
            "MaxStartups 100\nPrintMotd no\n")
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.child = subprocess.Popen([binary, "-f", folder / "config", "-D", "-e"], stderr=log,
                                          stdin=subprocess.DEVNULL)
        until(self.answers)
        self.command = (f"ssh -F /dev/null -p {self.port} -i {folder}/user -o IdentitiesOnly=yes "
                        f"-o UserKnownHostsFile={folder}/known -o StrictHostKeyChecking=accept-new "
                        "-o LogLevel=ERROR")

    def answers(self):
        assert self.child.poll() is None, (self.folder / "log").read_text()
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def close(self):
        self.child.terminate()
        self.child.wait(LIMIT_S)


@pytest.fixture
def ssh(far):
    binary = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if binary is None or shutil.which("ssh") is None:
        pytest.skip("there is no sshd: openssh-server is not installed")
    made = os.geteuid() == 0 and not os.path.isdir("/run/sshd")
    if made:
        os.mkdir("/run/sshd", 0o755)
    server = Sshd(far.folder / "sshd", binary)
    user = getpass.getuser()
    far.hosts([{"name": "a", "ssh": f"{user}@127.0.0.1", "region": "eu", "address": "127.0.0.1",
                "strait": far.strait.bin},
               {"name": "b", "ssh": f"{user}@127.0.0.2", "region": "us", "address": "127.0.0.2",
                "strait": far.strait.bin}])
    far.options = ["--ssh", server.command]
    far.user = user
    yield far
    server.close()
    if made:
        os.rmdir("/run/sshd")


def test_ssh_two_hosts_train_a_member_is_killed_and_is_back(ssh):
    child = ssh.start(*LONG, "--set", "stop.clocks=300", "--tidy")
    ssh.reach(30)
    os.kill(ssh.member("w2"), signal.SIGKILL)
    answer = ssh.end(child)
    assert answer["end"] == "clocks" and answer["clocks"] == 300
    assert answer["kills"] == 1 and answer["restarts"] == 1
    assert answer["network"]["encrypted"] is True
    assert "tls://127.0.0.2" in (ssh.folder / "record" / "between-eu.yaml").read_text()
    assert os.listdir(ssh.there) == []
    ssh.no_keys()


def test_ssh_a_connection_that_is_lost_is_told_and_made_again(ssh):
    child = ssh.start(*LONG, "--set", "stop.clocks=300")
    ssh.reach(30)
    parent = int(pathlib.Path(f"/proc/{ssh.member('w0')}/stat").read_text().rsplit(")", 1)[1]
                 .split()[1])  # The hold that keeps it; above it is the sshd of its connection.
    shell = parent
    while "sshd" not in pathlib.Path(f"/proc/{shell}/comm").read_text():
        shell = int(pathlib.Path(f"/proc/{shell}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(shell, signal.SIGKILL)
    until(lambda: [e for e in ssh.events("lost") if e["who"] == "w0"])
    assert "the connection to a was lost" in ssh.events("lost")[0]["text"]
    answer = ssh.end(child)
    assert answer["end"] == "clocks" and answer["clocks"] == 300 and answer["kills"] == 1


def test_ssh_ctrl_c_leaves_nobody_behind(ssh):
    child = ssh.start(*LONG)
    ssh.reach(20)
    child.send_signal(signal.SIGINT)
    assert ssh.end(child, 130)["end"] == "interrupted"
    ssh.nobody_is_there()
    ssh.no_keys()


def test_ssh_hosts_that_do_not_answer_are_told_all_at_once(ssh):
    ssh.hosts([{"name": "a", "ssh": f"{ssh.user}@127.0.0.1", "region": "eu",
                "strait": ssh.strait.bin},
               {"name": "b", "ssh": f"{ssh.user}@127.0.0.3", "region": "us"},
               {"name": "c", "ssh": f"{ssh.user}@127.0.0.1", "region": "us", "strait": "/no/such"}])
    err = ssh.strait.fails(69, "STRAIT-0201", *ssh.args())
    assert "2 of 3 hosts cannot be used" in err
    assert f"b (ssh {ssh.user}@127.0.0.3): ssh: connect to host 127.0.0.3" in err
    assert f"c (ssh {ssh.user}@127.0.0.1): " in err and "/no/such" in err
    assert not (ssh.folder / "record").exists()

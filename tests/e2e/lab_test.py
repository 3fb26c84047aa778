"""Labs: regions as network namespaces. Root only, and nothing may be left behind."""

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
THREE = TOP / "topologies" / "three-regions.json"
RUN_FOLDER = Path("/run/strait")
WAIT_S = 30

TWO = {
    "strait_topology": 1,
    "regions": [{"name": "near"}, {"name": "far"}],
    "links": [
        {"from": "near", "to": "far", "rate": "100mbit", "rtt": "20ms"},
        {"from": "far", "to": "near", "rate": "100mbit", "rtt": "20ms"},
    ],
}

ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    data, who = s.recvfrom(2000)
    s.sendto(data, who)
"""

# Prints how many came back, and the least round trip in milliseconds.
CALL = """
import socket, sys, time
address, count, wait_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(wait_s)
back, least = 0, float("inf")
for i in range(count):
    number = b"%d" % i
    start = time.monotonic()
    s.sendto(number, (address, 7000))
    try:
        while s.recv(2000) != number:
            pass
        back += 1
        least = min(least, time.monotonic() - start)
    except TimeoutError:
        pass
print(back, least * 1e3)
"""


def reason_to_skip():
    if os.geteuid() != 0:
        return "not root"
    for tool in ("ip", "tc", "nft"):
        if shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            return f"{tool} is not installed"
    if not os.path.exists("/dev/net/tun"):
        return "no /dev/net/tun"
    return None


pytestmark = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def holders(numbers):
    """Processes that are in one of these namespaces, or have a descriptor of one."""
    found = set()
    wanted = {f"net:[{n}]" for n in numbers}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            links = [folder / "ns/net", *(folder / "fd").iterdir()]
        except OSError:
            continue
        for link in links:
            try:
                if os.readlink(link) in wanted:
                    found.add(int(folder.name))
            except OSError:
                pass
    return found


def devices():
    return set(os.listdir("/sys/class/net"))


def is_free(lock):
    """Nobody holds it."""
    with open(lock) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def wait_for(what):
    """What must become true, and how soon does not matter."""
    until = time.monotonic() + WAIT_S
    while not what():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


class Lab:
    """A lab with a name of its own, so that others are left alone."""

    def __init__(self, strait):
        self.strait = strait
        self.name = f"test-{os.getpid()}"
        self.children = []
        self.before = devices()

    def run(self, command, *args, **options):
        return self.strait.run("lab", command, "--name", self.name, *args, **options)

    def ok(self, command, *args):
        done = self.run(command, *args)
        assert done.returncode == 0, done.stderr
        return done

    def up(self, file, *args):
        return json.loads(self.ok("up", file, "--json", *args).stdout)

    def show(self):
        return json.loads(self.ok("show", "--json").stdout)

    def numbers(self):
        show = self.show()
        return [p["number"] for p in show["hosts"] + show["routers"]]

    def exec(self, where, *command):
        return self.run("exec", where, "--", *command)

    def start(self, where, *command):
        """Run in the background; the first line is awaited."""
        child = subprocess.Popen(
            [self.strait.bin, "lab", "exec", "--name", self.name, where, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.strait.env,
        )
        self.children.append(child)
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        return child

    def echo(self, where):
        return self.start(where, sys.executable, "-c", ECHO)

    def call(self, where, address, count=20, wait_s=WAIT_S):
        """Round trips to an echo: how many came back, and the least in ms."""
        done = self.exec(where, sys.executable, "-c", CALL, address, str(count), str(wait_s))
        assert done.returncode == 0, done.stderr
        back, least = done.stdout.split()
        return int(back), float(least)

    def link(self, start, end):
        (found,) = [k for k in self.show()["links"] if (k["from"], k["to"]) == (start, end)]
        return found

    def nothing_left(self, numbers, *pids):
        wait_for(lambda: not holders(numbers) and not any(map(alive, pids)))
        assert devices() == self.before

    def close(self):
        self.run("down")
        for child in self.children:
            child.kill()
            child.communicate()


@pytest.fixture
def lab(strait):
    made = Lab(strait)
    yield made
    made.close()


@pytest.fixture
def two(lab, tmp_path):
    """Two regions, 20 ms of round trip, with an echo in the far one."""
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO))
    lab.up(file)
    lab.echo("far")
    return lab


def near(measured_ms, wanted_ms):
    return wanted_ms <= measured_ms <= wanted_ms * 1.25 + 2


def test_a_lab_comes_up_with_the_links_of_its_topology_and_goes_down(lab):
    show = lab.up(THREE, "--hosts", "2")
    assert [(h["region"], h["index"], h["address"]) for h in show["hosts"]] == [
        ("frankfurt", 0, "10.64.0.2"),
        ("frankfurt", 1, "10.64.0.3"),
        ("virginia", 0, "10.65.0.2"),
        ("virginia", 1, "10.65.0.3"),
        ("singapore", 0, "10.66.0.2"),
        ("singapore", 1, "10.66.0.3"),
    ]
    assert len(show["links"]) == 6
    assert lab.link("virginia", "singapore")["rate_bps"] == 3026000000
    assert lab.link("virginia", "singapore")["delay_us"] == pytest.approx(118305, abs=0.1)
    assert show["valid"] is True
    assert any("Gbit/s in all" in note for note in show["notes"])
    folder = RUN_FOLDER / f"lab-{lab.name}"
    state = json.loads((folder / "state.json").read_text())
    assert state["pid"] == show["pid"] and alive(show["pid"])
    numbers = lab.numbers()
    assert holders(numbers)
    text = lab.ok("show").stdout
    assert "10.66.0.3" in text and "118.3ms" in text and "valid" in text
    assert "is down" in lab.ok("down").stderr
    lab.nothing_left(numbers, show["pid"])
    assert not folder.exists()
    assert "no lab to take down" in lab.ok("down").stderr


def test_round_trips_are_those_of_the_matrix(lab):
    lab.up(THREE)
    for region, address in (("virginia", "10.65.0.2"), ("singapore", "10.66.0.2")):
        lab.echo(region)
        there = lab.link("frankfurt", region)["delay_us"] / 1e3
        back = lab.link(region, "frankfurt")["delay_us"] / 1e3
        count, least = lab.call("frankfurt", address)
        assert count == 20
        assert near(least, there + back), (region, least, there + back)
    assert lab.link("frankfurt", "virginia")["packets"] >= 20


def test_set_changes_a_running_link_both_ways_or_one(two):
    assert near(two.call("near", "10.65.0.2")[1], 20)
    two.ok("set", "near", "far", "delay=40ms", "jitter=1ms", "rate=50mbit")
    assert near(two.call("near", "10.65.0.2")[1], 80)
    two.ok("set", "near", "far", "delay=5ms", "--one-way")
    assert near(two.call("near", "10.65.0.2")[1], 45)
    assert two.link("near", "far")["rate_bps"] == 50e6
    assert two.link("near", "far")["delay_us"] == 5000
    assert two.link("far", "near")["delay_us"] == 40000
    classes = two.exec("near/router", "tc", "class", "show", "dev", "wan0").stdout
    assert "rate 50Mbit" in classes


def test_a_cut_stops_one_way_until_it_is_healed(two):
    two.ok("set", "near", "far", "cut", "--one-way")
    before = two.link("far", "near")["packets"]
    assert two.call("near", "10.65.0.2", 3, 0.2)[0] == 0
    assert two.link("near", "far")["cut"] and not two.link("far", "near")["cut"]
    assert two.link("far", "near")["packets"] == before  # Nothing was there to be answered.
    two.ok("set", "near", "far", "heal")
    assert two.call("near", "10.65.0.2", 3)[0] == 3
    two.ok("set", "far", "near", "cut", "--one-way")
    before = two.link("near", "far")["packets"]
    assert two.call("near", "10.65.0.2", 3, 0.2)[0] == 0
    assert two.link("near", "far")["packets"] == before + 3  # They came, the answers did not.


def test_loss_loses_some_and_each_packet_for_itself(two):
    two.ok("set", "near", "far", "loss=30%", "--one-way")
    back, _ = two.call("near", "10.65.0.2", 200, 0.1)
    assert 80 <= back <= 195
    shown = two.exec("near", "ip", "-d", "link", "show", "eth0").stdout
    assert re.search(r"gso_max_segs 1\b", shown)
    two.ok("set", "near", "far", "loss=0%")
    assert two.call("near", "10.65.0.2", 20)[0] == 20
    shown = two.exec("near", "ip", "-d", "link", "show", "eth0").stdout
    assert re.search(r"gso_max_segs 65535\b", shown)


def test_exec_has_the_status_and_the_signals_of_its_program(two):
    assert two.exec("near", "sh", "-c", "exit 7").returncode == 7
    assert two.exec("near", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert two.exec("near", "/no/such/program").returncode == 127
    assert two.exec("near", "sh", "-c", "echo $STRAIT_LAB").stdout == two.name + "\n"
    assert "10.64.0.2" in two.exec("near", "ip", "address").stdout
    assert "wan0" in two.exec("near/router", "ip", "address").stdout
    child = two.start("near", "sh", "-c", "trap 'exit 5' TERM; echo ready; while :; do :; done")
    child.send_signal(signal.SIGTERM)
    assert child.wait(WAIT_S) == 5


def test_a_killed_keeper_leaves_nothing_and_the_next_lab_comes_up(two, tmp_path):
    show, numbers = two.show(), two.numbers()
    inside = two.exec("near", "sh", "-c", "setsid sleep 1000 > /dev/null 2>&1 & echo $!")
    stray = int(inside.stdout)
    assert alive(stray) and stray in holders(numbers)
    os.kill(show["pid"], signal.SIGKILL)
    two.nothing_left(numbers, show["pid"], stray)
    assert two.children[0].wait(WAIT_S) in (128 + signal.SIGTERM, 128 + signal.SIGKILL)
    error = two.run("show").stderr
    assert "STRAIT-0413" in error and "strait lab down" in error
    done = two.run("up", tmp_path / "two.json", "--json")
    assert done.returncode == 0 and "its keeper is dead: cleared" in done.stderr
    assert json.loads(done.stdout)["pid"] != show["pid"]
    two.echo("far")
    assert two.call("near", "10.65.0.2", 3)[0] == 3


def test_a_killed_relay_ends_the_lab(two):
    show, numbers = two.show(), two.numbers()
    children = Path(f"/proc/{show['pid']}/task/{show['pid']}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    two.nothing_left(numbers, show["pid"])


def test_down_also_clears_a_dead_lab_with_damaged_state(two):
    show, numbers = two.show(), two.numbers()
    os.kill(show["pid"], signal.SIGKILL)
    folder = RUN_FOLDER / f"lab-{two.name}"
    (folder / "state.json").write_bytes(b"\0{")
    two.nothing_left(numbers, show["pid"])
    wait_for(lambda: is_free(folder / "lock"))
    assert "dead already" in two.ok("down").stderr
    assert not folder.exists()


def test_down_ends_a_keeper_that_does_not_hear(two):
    show, numbers = two.show(), two.numbers()
    (RUN_FOLDER / f"lab-{two.name}" / "control").unlink()
    os.kill(show["pid"], signal.SIGSTOP)
    two.ok("down")
    two.nothing_left(numbers, show["pid"])


def test_a_second_lab_of_that_name_is_refused_and_one_of_another_is_not(two, tmp_path):
    error = two.run("up", tmp_path / "two.json").stderr
    assert "STRAIT-0412" in error and "strait lab show" in error
    other = Lab(two.strait)
    other.name = two.name + "-b"
    try:
        other.up(tmp_path / "two.json")
        assert set(other.numbers()).isdisjoint(two.numbers())
    finally:
        other.close()
    assert two.call("near", "10.65.0.2", 3)[0] == 3


def test_bad_orders_are_refused_and_change_nothing(two):
    before = two.show()["links"]
    for words, said in (
        (("near", "fra", "rate=1mbit"), "no region 'fra': did you mean 'far'?"),
        (("near", "far", "rate=1kbit"), "rate 1kbit: a lab does 64kbit"),
        (("near", "far", "rate=fast"), "rate: "),
        (("near", "far", "loss=101%"), "loss: "),
        (("near", "far", "dealy=1ms"), "did you mean 'delay'?"),
        (("near", "near", "cut"), "from near to itself there is no link"),
    ):
        done = two.run("set", *words)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    done = two.exec("atlantis", "true")
    assert done.returncode == 2 and "no host in a region 'atlantis'" in done.stderr
    done = two.exec("near/5", "true")
    assert done.returncode == 2 and "near has 1 host: there is no number 5" in done.stderr
    keys = ("rate_bps", "delay_us", "jitter_us", "loss", "cut")
    assert [[k[i] for i in keys] for k in two.show()["links"]] == [
        [k[i] for i in keys] for k in before
    ]


def test_bad_files_are_refused_with_their_place(lab, tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"strait_topology": 1,\n "regions": [{"name": "a"}],\n "links": 7}\n')
    done = lab.run("up", file)
    assert done.returncode == 78 and "bad.json:3:" in done.stderr
    slow = json.loads(json.dumps(TWO))
    slow["links"][0]["rate"] = "1kbit"
    file.write_text(json.dumps(slow))
    done = lab.run("up", file)
    assert done.returncode == 78 and "link near to far: rate 1kbit" in done.stderr
    done = lab.run("up", tmp_path / "none.json")
    assert done.returncode == 1 and "none.json" in done.stderr
    run = tmp_path / "run.yaml"
    run.write_text("name: [\n")
    done = lab.run("up", run)
    assert done.returncode == 78 and "run.yaml:" in done.stderr
    assert not (RUN_FOLDER / f"lab-{lab.name}").exists()


def test_a_run_file_gives_its_scaled_links(lab):
    lab.up(TOP / "runs" / "gaia-mf-3.yaml")
    full = json.loads(THREE.read_text())["links"]
    assert len(lab.show()["links"]) == len(full)


class Nobody:
    """The program as somebody runs it who is not root, with a file that they can read."""

    def __init__(self, strait, file):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)
        self.strait = strait
        self.bin = shutil.copy(strait.bin, self.folder.name)
        self.file = shutil.copy(file, self.folder.name)

    def status(self, *words):
        done = subprocess.run(
            [self.bin, "lab", *words],
            capture_output=True,
            text=True,
            env=self.strait.env,
            cwd="/",
            user=65534,
            group=65534,
            extra_groups=[],
            timeout=60,
        )
        return done.returncode, done.stderr

    def close(self):
        self.folder.cleanup()


@pytest.fixture
def nobody(strait, tmp_path):
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO))
    made = Nobody(strait, file)
    yield made
    made.close()


def test_who_is_not_root_makes_no_lab_and_touches_none(nobody, lab):
    name = ("--name", lab.name)
    status, said = nobody.status("up", nobody.file, *name)
    assert status == 77 and "STRAIT-0411" in said and "needs root" in said
    assert nobody.status("show", *name)[0] == 1
    assert nobody.status("down", *name)[0] == 0
    pid = lab.up(nobody.file)["pid"]
    assert nobody.status("up", nobody.file, *name)[0] == 77
    for words in (("show",), ("exec", "near", "true"), ("set", "near", "far", "cut"), ("down",)):
        status, said = nobody.status(*words, *name)
        assert status == 77 and "labs are root's" in said, (words, said)
    assert lab.show()["pid"] == pid


def test_without_capabilities_a_lab_is_refused_and_nothing_is_left(lab, tmp_path):
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO))
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    command = [lab.strait.bin, "lab", "up", str(file), "--name", lab.name]
    done = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command],
        capture_output=True,
        text=True,
        env=lab.strait.env,
        timeout=60,
    )
    assert done.returncode == 77, done.stderr
    assert "STRAIT-0411" in done.stderr and "needs root" in done.stderr
    assert not (RUN_FOLDER / f"lab-{lab.name}").exists()
    assert devices() == lab.before


@pytest.mark.parametrize(
    "hide, said",
    [
        ("mount --bind /dev/null {nft}", "nft is not installed: install the package nftables"),
        ("mount --bind /dev/null {tc}", "tc is not installed: install the package iproute2"),
        ("mount --bind /bin/false {tc}", "rates cannot be emulated"),
        ("mount --bind /bin/false {nft}", "loss and cuts cannot be emulated"),
        ("mount -t tmpfs none /dev/net", "/dev/net/tun: No such file or directory; load the"),
    ],
)
def test_what_a_machine_lacks_is_named_and_nothing_is_left(lab, tmp_path, hide, said):
    """In a mount namespace of its own the machine lacks something."""
    file = tmp_path / "two.json"
    file.write_text(json.dumps(TWO))
    where = "/usr/sbin:/sbin:/usr/bin:/bin"
    paths = {tool: os.path.realpath(shutil.which(tool, path=where)) for tool in ("tc", "nft")}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", hide.format(**paths) + ' && exec "$@"', "sh"]
        + [lab.strait.bin, "lab", "up", str(file), "--name", lab.name],
        capture_output=True,
        text=True,
        env=lab.strait.env,
        timeout=60,
    )
    assert done.returncode == 77 and said in done.stderr, done.stderr
    assert not (RUN_FOLDER / f"lab-{lab.name}").exists()
    assert devices() == lab.before


class Keeper:
    """The keeper as a run has it: lines of JSON in and out."""

    def __init__(self, strait, request):
        self.process = subprocess.Popen(
            [strait.bin, "lab", "keep", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=strait.env,
        )
        self.say(request)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self, *events):
        while True:
            line = self.process.stdout.readline()
            assert line, "it ended"
            said = json.loads(line)
            if said["event"] in events:
                return said

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def keep(strait):
    made = []

    def start(request):
        made.append(Keeper(strait, request))
        return made[-1]

    yield start
    for keeper in made:
        keeper.close()


def test_a_keeper_is_told_by_its_input_and_ends_with_it(keep, lab):
    keeper = keep(json.dumps({"topology": TWO, "hosts": [1, 2], "mtu": 1500}))
    ready = keeper.hear("ready", "error")
    assert ready["event"] == "ready", ready
    numbers = [p["number"] for p in ready["hosts"] + ready["routers"]]
    assert [h["address"] for h in ready["hosts"]] == ["10.64.0.2", "10.65.0.2", "10.65.0.3"]
    assert re.fullmatch(r"/proc/\d+/fd/\d+", ready["hosts"][0]["ns"])
    status = keeper.hear("status")
    assert status["valid"] is True and len(status["links"]) == 2
    keeper.say("set near far rate=10mbit loss=1%")
    assert keeper.hear("done", "error")["command"] == "set near far both rate=10mbit loss=1%"
    keeper.say("cut near far there")
    keeper.say("leap near far")
    keeper.say("reset")
    assert keeper.hear("done", "error")["event"] == "done"
    assert "no command 'leap'" in keeper.hear("error")["text"]
    assert keeper.hear("done", "error")["command"] == "reset"
    links = {(k["from"], k["to"]): k for k in keeper.hear("status")["links"]}
    assert links["near", "far"]["cut"] and links["near", "far"]["rate_bps"] == 10e6
    assert links["far", "near"]["loss"] == 0.01
    inside = subprocess.run(
        [lab.strait.bin, "lab", "enter", ready["hosts"][2]["ns"], "--", "ip", "address"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "10.65.0.3" in inside.stdout
    keeper.process.stdin.close()
    assert keeper.process.wait(WAIT_S) == 0
    lab.nothing_left(numbers)


@pytest.mark.parametrize(
    "request_line, said",
    [
        ("nonsense", "not an object of JSON"),
        ('{"topology": 5}', "topology: an object is wanted"),
        (json.dumps({"topology": TWO, "hosts": [1]}), "hosts: 1 counts for 2 regions"),
    ],
)
def test_a_keeper_that_cannot_be_says_why(keep, request_line, said):
    keeper = keep(request_line)
    assert said in keeper.hear("ready", "error")["text"]
    assert keeper.process.wait(WAIT_S) == 1


def test_orders_do_not_keep_the_relay_from_its_packets(two):
    """Tools run beside it: hundreds of changes, and packets stay in time."""
    call = two.start(
        "near",
        sys.executable,
        "-c",
        "print('ready', flush=True)\n" + CALL,
        "10.65.0.2",
        "100",
        str(WAIT_S),
    )
    for i in range(10):
        two.ok("set", "near", "far", f"rate={100 + i}mbit", "loss=0.0001%")
    out, _ = call.communicate(timeout=WAIT_S)
    assert int(out.split()[0]) >= 99
    show = two.show()
    assert show["lateness_us"]["count"] >= 198
    assert two.link("near", "far")["rate_bps"] == 109e6


def test_what_a_lab_may_not_reach_is_unreachable(lab, tmp_path):
    split = json.loads(json.dumps(TWO))
    split["regions"].append({"name": "island"})
    file = tmp_path / "split.json"
    file.write_text(json.dumps(split))
    lab.up(file)
    code = (
        "import socket\n"
        "try:\n    socket.create_connection(('10.66.0.2', 80), 20)\n"
        "except OSError as e:\n    print(e.errno)\n"
    )
    done = lab.exec("near", sys.executable, "-c", code)
    assert int(done.stdout) in (socket.errno.EHOSTUNREACH, socket.errno.ENETUNREACH)

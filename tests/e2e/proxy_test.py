"""`strait proxy` as people and runs use it: a link as a process, its commands, its faults, and
training through all of them."""

import json
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from site_of import Child, LIMIT_S, until


class Proxy(Child):
    """A `strait proxy --json` that is told what to do."""

    def __init__(self, strait, *args):
        argv = [strait.bin, "proxy", "--json", *args]
        super().__init__(strait, "proxy", argv, stdin=subprocess.PIPE)
        self.ready = self.event()
        assert self.ready["event"] == "ready"

    def event(self):
        event = json.loads(self.lines.next())
        assert event["schema"] == 1
        return event

    def answer(self, line):
        """Tell it something, and return what it says to that."""
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()
        while (event := self.event())["event"] == "status":
            pass
        return event

    def do(self, line):
        assert self.answer(line) == {"schema": 1, "event": "done", "command": line}

    def show(self):
        event = self.answer("show")
        assert event["event"] == "show"
        return event

    def address(self, index=0):
        host, port = self.ready["routes"][index]["listen"].rsplit(":", 1)
        return host, int(port)

    def end(self):
        """Close its standard input; return its last event."""
        self.child.stdin.close()
        while (event := self.event())["event"] != "stopped":
            pass
        assert self.child.wait(LIMIT_S) == 0, self.said()
        return event


class Echo:
    """A target that says what it hears."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            while chunk := conn.recv(65536):
                conn.sendall(chunk)
            conn.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        conn.close()


@pytest.fixture
def echo():
    e = Echo()
    yield e
    e.socket.close()


@pytest.fixture
def proxy(strait, echo):
    """Proxies in front of the echo."""
    started = []

    def start(*args, route="127.0.0.1:0=127.0.0.1:{port}"):
        started.append(Proxy(strait, route.format(port=echo.port), *args))
        return started[-1]

    yield start
    for p in started:
        p.close()


def exchange(address, data):
    """Say it, hear it again, and see the end of it."""
    heard, failed = bytearray(), []
    with socket.create_connection(address, timeout=LIMIT_S) as conn:

        def say():
            try:
                conn.sendall(data)
                conn.shutdown(socket.SHUT_WR)
            except OSError as error:
                failed.append(error)

        speaker = threading.Thread(target=say)
        speaker.start()
        while chunk := conn.recv(65536):
            heard += chunk
        speaker.join()
    if failed:
        raise failed[0]
    assert bytes(heard) == data


DATA = bytes(range(256)) * 4000


# The command.


def test_it_says_where_it_listens_and_carries_what_comes(proxy, echo):
    p = proxy("--rate", "400mbit", "--delay", "2ms", "--every", "0")
    (route,) = p.ready["routes"]
    assert route["way"] == "there" and route["target"] == f"127.0.0.1:{echo.port}"
    assert re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", route["listen"])
    exchange(p.address(), DATA)
    last = p.end()
    for way in ("there", "back"):
        assert last[way]["accepted_bytes"] == last[way]["delivered_bytes"] == len(DATA)
        assert last[way]["queued_bytes"] == 0 and last[way]["bit_per_s"] == 400_000_000
        # The link says itself how long it was busy: as long as the rate says.
        assert abs(last[way]["busy_s"] - len(DATA) * 8 / 400e6) < 1e-6 * last[way]["pieces"]
        assert 0 <= last[way]["late_mean_us"] <= last[way]["late_max_us"]
    assert last["flows"] == {"open": 0, "total": 1, "turned_away": 0, "unreachable": 0}


def test_it_says_what_was_spent_where_it_knows_the_price(proxy):
    p = proxy("--price", "0.02", "--back-price", "0.09", "--every", "0")
    exchange(p.address(), DATA)
    last = p.end()
    assert last["there"]["usd_per_gb"] == 0.02 and last["back"]["usd_per_gb"] == 0.09
    assert abs(last["there"]["usd"] - len(DATA) * 0.02e-9) < 1e-15
    assert abs(last["back"]["usd"] - len(DATA) * 0.09e-9) < 1e-15
    p = proxy("--every", "0")
    assert "usd" not in p.end()["there"]


def test_it_is_not_faster_than_its_rate(proxy):
    p = proxy("--rate", "16mbit", "--every", "0")
    begin = time.monotonic()
    exchange(p.address(), DATA)  # Half a second each way.
    assert time.monotonic() - begin > 0.75 * len(DATA) * 8 / 16e6
    p.end()


def test_it_says_how_it_stands_from_time_to_time(proxy):
    p = proxy("--every", "20ms")
    before = p.event()
    exchange(p.address(), DATA)
    while (after := p.event())["there"]["delivered_bytes"] < len(DATA):
        assert after["event"] == "status"
    assert after["elapsed_s"] > before["elapsed_s"]
    p.end()


def test_both_directions_may_differ(proxy):
    p = proxy("--rate", "100M", "--delay", "1ms", "--back-rate", "50M", "--back-delay", "3ms",
              "--back-jitter", "1ms", "--stream-rate", "80M", "--every", "0",
              route="back:127.0.0.1:0=127.0.0.1:{port}")
    exchange(p.address(), b"x" * 1000)
    s = p.end()
    assert (s["there"]["bit_per_s"], s["there"]["delay_ms"]) == (100_000_000, 1)
    assert (s["back"]["bit_per_s"], s["back"]["delay_ms"]) == (50_000_000, 3)
    assert s["there"]["stream_bit_per_s"] == s["back"]["stream_bit_per_s"] == 80_000_000
    assert (s["there"]["jitter_ms"], s["back"]["jitter_ms"]) == (0, 1)


def test_routes_may_come_from_a_file(strait, proxy, echo):
    lines = [f"127.0.0.1:0=127.0.0.1:{echo.port}  # number {i}" for i in range(300)]
    (strait.folder / "routes").write_text("\n".join(lines))
    p = proxy("--routes", "routes", "--every", "0")
    assert len(p.ready["routes"]) == 301
    assert len({r["listen"] for r in p.ready["routes"]}) == 301
    exchange(p.address(300), b"x" * 1000)
    p.end()


@pytest.mark.parametrize(
    "status, error, args",
    [
        (2, "STRAIT-0004", []),
        (2, "STRAIT-0003", ["127.0.0.1:0"]),
        (2, "STRAIT-0003", ["127.0.0.1:0=127.0.0.1:0"]),
        (2, "STRAIT-0003", ["127.0.0.1:0=127.0.0.1:1", "--rate", "fast"]),
        (2, "STRAIT-0003", ["127.0.0.1:0=127.0.0.1:1", "--delay", "2h"]),
        (2, "STRAIT-0003", ["127.0.0.1:0=127.0.0.1:1", "--connections", "0"]),
        (2, "STRAIT-0003", ["127.0.0.1:0=127.0.0.1:1", "--price", "-0.01"]),
        (2, "STRAIT-0003", ["--routes", "-"]),
        (1, "STRAIT-0101", ["--routes", "nowhere"]),
        (1, "STRAIT-0202", ["192.0.2.1:1=127.0.0.1:1"]),
    ],
)
def test_what_cannot_be_is_refused(strait, status, error, args):
    strait.fails(status, error, "proxy", *args)


def test_a_mistake_in_a_file_of_routes_is_found(strait):
    (strait.folder / "routes").write_text("127.0.0.1:0=127.0.0.1:1\n\nnonsense\n")
    text = strait.fails(2, "STRAIT-0003", "proxy", "--routes", "routes")
    assert "routes:3: " in text


def test_commands_are_answered_and_wrong_ones_change_nothing(proxy):
    p = proxy("--rate", "100mbit", "--every", "0")
    p.do("rate 20mbit there")
    p.do("delay 5ms")
    before = p.show()
    assert before["there"]["bit_per_s"] == 20_000_000 and before["back"]["delay_ms"] == 5
    assert before["back"]["bit_per_s"] == 100_000_000
    for line, why in (("cutt", "did you mean 'cut'?"), ("rate", "write: rate 20mbit"),
                      ("cut sideways", "'sideways'"), ("x" * 1000, "at most")):
        answer = p.answer(line)
        assert answer["event"] == "wrong" and why in answer["error"], answer
    after = p.show()
    for s in (before, after):
        s.pop("elapsed_s")
    assert before == after
    p.do("quit")
    assert p.event()["event"] == "stopped"
    assert p.child.wait(LIMIT_S) == 0


def test_people_get_lines_they_can_read(site, echo):
    child = site.run("proxy", f"127.0.0.1:0=127.0.0.1:{echo.port}", "--rate", "1gbit", "--every",
                     "10ms")
    route = re.fullmatch(rf"there  127\.0\.0\.1:(\d+) -> 127\.0\.0\.1:{echo.port}",
                         child.lines.next())
    # Its standard input has ended, but nobody said --json: it goes on.
    exchange(("127.0.0.1", int(route.group(1))), DATA)
    while "1 connections open" not in (line := child.lines.next()) and "0 of 1 " not in line:
        pass
    assert re.search(r"there [\d.]+ Mbit/s \(\d+ %\), .* on the way, late by \d+ us; back", line)
    child.child.send_signal(signal.SIGTERM)
    assert child.child.wait(LIMIT_S) == 0, child.said()


def test_commands_may_be_a_file(strait, echo):
    (strait.folder / "orders").write_text("# first\ndelay 3ms\ncutt\nshow\nquit\n")
    with open(strait.folder / "orders", encoding="utf-8") as orders:
        out = strait.ok("proxy", f"127.0.0.1:0=127.0.0.1:{echo.port}", stdin=orders)
    assert "done: delay 3ms\n" in out and "wrong: unknown command 'cutt'" in out
    assert "delay 3ms" in out.split("show")[0] and out.count("done: ") == 2


# Faults, as a client sees them; what they do inside is tested in src/emu.


def test_every_fault_is_counted(proxy):
    p = proxy("--every", "0")
    p.do("fragments on")
    exchange(p.address(), b"x" * 2000)
    p.do("fragments off")
    p.do("cut for 50ms")
    exchange(p.address(), b"x" * 2000)
    p.do("stall there for 50ms")
    exchange(p.address(), b"x" * 2000)
    p.do("drain 1mbit back for 1h")
    exchange(p.address(), b"x" * 2000)
    p.do("drain off back")
    p.do("flip 1 there")
    with pytest.raises(AssertionError):
        exchange(p.address(), b"x" * 2000)
    p.do("reset")  # Nobody is there.
    exchange(p.address(), b"x" * 2000)
    p.do("reset for 1h")
    with pytest.raises(OSError):
        exchange(p.address(), b"x" * 2000)
    p.do("refuse")
    with pytest.raises(OSError):
        exchange(p.address(), b"x" * 2000)
    assert set(p.show()["active"]) == {"reset there", "reset back", "refuse there", "refuse back"}
    p.do("heal")
    exchange(p.address(), b"x" * 2000)
    last = p.end()
    assert last["active"] == []
    assert last["faults"] == {"rate": 0, "delay": 0, "jitter": 0, "cut": 2, "stall": 1, "drain": 1,
                              "flip": 1, "fragments": 4000, "reset": 1, "refuse": 1}


# Training through it.

JOB = ["--job", "mf", "--option", "users=400", "--option", "items=200", "--option",
       "ratings=8000", "--option", "batch=100", "--option", "rank=8"]
CLOCKS = 400


class Crew:
    """A server, and two workers who reach it by a link only."""

    def __init__(self, site, folder, mode, *link):
        self.site = site
        self.store = folder
        self.server = site.server(
            "--workers", "2", "--barrier", "bsp", "--order", "fixed", "--delivery", mode,
            "--deadline", "600s",
            "--store", folder, "--checkpoint-every", "0", "--advertise", "127.0.0.2", *JOB,
            "--clocks", CLOCKS)
        host, port = self.server.first.removeprefix("tcp://").split(":")
        assert host == "127.0.0.2"
        self.proxy = Proxy(site.strait, f"127.0.0.2:{port}=127.0.0.1:{port}", "--every", "0",
                           *link)
        site.children.append(self.proxy)
        self.workers = [
            site.run("worker", "--join", self.server.first, "--insecure", "--name", f"w{i}")
            for i in range(2)
        ]

    def carried(self):
        s = self.proxy.show()
        return s["there"]["delivered_bytes"] + s["back"]["delivered_bytes"]

    def moves_on(self, bytes_):
        """So much more has been carried."""
        goal = self.carried() + bytes_
        until(lambda: self.carried() >= goal)

    def result(self):
        for w in self.workers:
            assert w.child.wait(LIMIT_S) == 0, w.said()
        self.server.stop()
        path = self.site.strait.folder / f"{self.store}.npy"
        self.site.strait.ok("store", "export", "r", "--store", self.store, "-o", path)
        return path.read_bytes(), self.proxy.end()


CHAOS = [
    ("cut for 300ms", "cut"),
    ("cut there for 300ms", "cut"),
    ("cut back for 300ms", "cut"),
    ("stall for 300ms", "stall"),
    ("reset", "reset"),
    ("fragments on for 300ms", "fragments"),
    ("flip 3", "flip"),
    ("drain 200kbit for 500ms", "drain"),
    ("refuse for 400ms\nreset", "refuse"),
    ("reset for 200ms", "reset"),
    ("cut for 4500ms", "cut"),  # Longer than members are patient with a silent connection.
    ("flip every 40kB for 500ms", "flip"),
    ("rate 2mbit for 300ms", "rate"),
    ("delay 30ms for 300ms", "delay"),
    ("jitter 20ms for 300ms", "jitter"),
]


@pytest.mark.parametrize("mode", ["pull", "broadcast"])
def test_chaos_on_the_link_does_not_change_what_is_learnt(site, mode):
    calm, seen = Crew(site, "calm", mode).result()
    assert set(seen["faults"].values()) == {0}
    # Far enough for a clock to take some 20 ms: there is time for everything.
    crew = Crew(site, "chaos", mode, "--rate", "60mbit", "--delay", "4ms", "--jitter", "2ms")
    crew.moves_on(1)
    for lines, fault in CHAOS:
        fired = crew.proxy.show()["faults"]
        for order in lines.split("\n"):
            crew.proxy.do(order)
        until(lambda: crew.proxy.show()["faults"][fault] > fired[fault])
        until(lambda: not crew.proxy.show()["active"])
        crew.moves_on(20_000)
    chaos, seen = crew.result()
    assert chaos == calm
    assert min(seen["faults"].values()) > 0
    assert seen["flows"]["total"] > 2  # Connections were made anew.

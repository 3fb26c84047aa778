"""Lies of all kinds. What comes of each is said by docs/PROTOCOL.md; honest workers go on."""

import socket
import struct
import time

import peer
import pytest
import wire
from attack import WIDTH, Scene

NOTHING = [0.0] * 4 * WIDTH


# Frames.

HEADERS = {
    "magic": dict(magic=b"STRS"),
    "header_check": dict(header_check=1),
    "body_check": dict(body_check=1),
    "type": dict(type=200),
    "flags": dict(flags=0x8000),
    "length": dict(body_bytes=1 << 31),
    "version": dict(version=9),
}


@pytest.mark.parametrize("reason", HEADERS)
def test_a_header_that_lies_ends_the_connection_and_is_counted(site, reason):
    scene = Scene(site)
    liar = scene.liar(join=False)
    fields = {"sequence": liar.sequence + 1, **HEADERS[reason]}
    liar.raw(wire.frame("control", b"\0" * 64, **fields))
    assert liar.ended() is not None
    assert scene.counted("refused_frames", reason) == 1
    scene.train()


@pytest.mark.parametrize("claimed", [0, 8, 17, 65536])
def test_lengths_within_a_body_that_lie(site, claimed):
    """A control frame whose field says that it is longer or shorter than it is."""
    scene = Scene(site)
    liar = scene.liar(join=False)
    body = bytearray(wire.control(wire.OPERATIONS["status"], 1, {"a": "b"}))
    struct.pack_into("<H", body, 10, claimed & 0xFFFF)
    liar.send("control", bytes(body))
    assert liar.ended()[0] == wire.REFUSALS["busy"]
    scene.blames("liar", "it sent a frame control that no correct worker sends")
    scene.train()


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"a":1,"a":2}', b'{"a":' * 5000, b"\xff\xfe",
                                  b'{"a":' + b"9" * 5000 + b"}"],
                         ids=["half", "list", "twice", "deep", "bytes", "long"])
def test_requests_that_are_no_json(site, text):
    scene = Scene(site)
    liar = scene.liar(join=False)
    liar.begin("status", raw=text)
    assert liar.ended()[0] == wire.REFUSALS["busy"]
    scene.train()


def test_an_acknowledgement_of_what_was_never_sent(site):
    scene = Scene(site)
    liar = scene.liar()
    liar.raw(wire.frame("ack", wire.window(10**6)))
    assert liar.ended()[0] == wire.REFUSALS["busy"]
    scene.train()
    scene.blames("liar", "it sent a frame ack that no correct worker sends")
    assert scene.counted("expelled", "protocol") == 1


def test_a_number_beyond_the_window(site):
    scene = Scene(site)
    liar = scene.liar()
    liar.push(NOTHING, sequence=liar.sequence + 5000)
    assert liar.ended()[0] == wire.REFUSALS["busy"]
    scene.train()
    scene.blames("liar", "push")


def test_what_is_replayed_or_comes_in_another_order_counts_once(site):
    scene = Scene(site)
    ours, liar = scene.honest[0], scene.liar()
    clock, n = liar.clock, liar.sequence
    one = [1.0] * 4 * WIDTH
    liar.send("clock", clock=clock, sequence=n + 2)  # Behind its update in number, not in time:
    liar.push(one, clock=clock + 1, sequence=n + 3)  # the clock says that there is nothing.
    for _ in range(5):
        liar.push(one, clock=clock + 1, sequence=n + 3)
    liar.push(one, clock=clock, sequence=n + 1)  # Before one that is known: known.
    liar.send("clock", clock=clock + 1, sequence=n + 4)
    liar.sequence, liar.clock = n + 4, clock + 2
    assert clock == 4 and ours.do("read model")[0] == 3
    ours.do("clock")
    ours.do("clock")
    assert ours.do("read model")[0] == 3 + 1
    liar.settled()
    liar.leave()
    scene.train()


def test_each_squeezer_gets_a_bomb(site):
    scene = Scene(site, "--push", "dvf:delta=0.0001 | auto")
    liar = scene.liar()
    run = b"\xff" * 60000
    bombs = {
        # Length 2^32 - 1; a literal of one byte, then copies of 64 bytes from one byte back.
        0x0100: b"\xff\xff\xff\xff\x0f\x00\x00" + b"\xfe\x01\x00" * 20000,
        # A literal of one byte, then a match at offset 1 of 15 + 60000 x 255 bytes.
        0x0200: b"\x1f\x00\x01\x00" + run + b"\x00",
        # One segment that says 2^31 bytes, as a run of one byte.
        0x0300: b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1 << 31)
                + (1 | 1 << 1 | 1 << 20).to_bytes(3, "little") + b"\x00",
    }
    for codec, bomb in bombs.items():
        for kind in range(11):
            liar.push(None, codec=codec | kind, payload=bomb)
            assert wire.read_late(liar.hear("late").body)[0] == "shape"
    assert scene.counted("refused_updates", "shape") == 33
    liar.leave()
    scene.train()


# Roles.

WORKERS = {"hello", "welcome", "refuse", "heartbeat", "probe", "probe_report", "ack", "control",
           "push", "pull", "rows_push", "rows_pull", "broadcast", "clock", "feed", "want",
           "snapshot_chunk", "offer", "bye"}
OPERATORS = {"hello", "refuse", "heartbeat", "probe", "probe_report", "ack", "control", "bye"}


@pytest.mark.parametrize("role, may", [("worker", WORKERS), ("operator", OPERATORS)],
                         ids=["worker", "operator"])
def test_types_that_a_role_may_not_send(site, role, may):
    scene = Scene(site)
    wrong = sorted(set(wire.TYPES) - may)
    for kind in wrong:
        with peer.Peer(scene.first, role, name=f"{role}-{kind}") as liar:
            liar.raw(wire.frame(kind, b"", sequence=1))
            code, text = liar.ended()
            assert code == wire.REFUSALS["busy"], (kind, text)
            assert f"it sent a frame {kind} that no correct {role} sends" in text
    assert scene.counted("refused_frames", "role") == len(wrong)
    scene.train()


@pytest.mark.parametrize("operation", ["join", "report", "lane"])
def test_an_operator_does_not_work(site, operation):
    scene = Scene(site)
    with peer.Peer(scene.first, "operator", name="ada") as ada:
        call = ada.begin(operation, rank=0, places=[{"lane": 0, "address": "tcp://127.0.0.1:1"}])
        assert ada.end(call)["error"] == -31
    scene.train()


def test_two_workers_cannot_have_one_rank(site):
    scene = Scene(site)
    liar = scene.liar(join=False)
    answer = liar.ask("join", rank=0, tables=list(liar.tables.values()))
    assert answer["error"] == -14 and "belongs to worker w0" in answer["text"]
    scene.train()


def test_a_table_of_another_shape_is_refused(site):
    scene = Scene(site)
    liar = scene.liar(join=False)
    for shape in (dict(rows=5, width=WIDTH), dict(rows=4, width=WIDTH, apply="sgd lr=1")):
        assert liar.ask("table", name="model", **shape)["error"] == -14
    for shape in (dict(rows=0, width=1), dict(rows=1 << 40, width=1 << 20), dict(rows=1)):
        assert liar.ask("table", name="other", **shape)["error"] in (-10, -12)
    scene.train()


# Sessions.


def test_a_stale_process_is_refused_where_a_newer_one_is(site):
    scene = Scene(site)
    first = scene.liar("twin")
    second = scene.liar("twin")
    with pytest.raises(peer.Ended) as e:
        peer.Peer(scene.first, name="twin", incarnation=first.incarnation)
    assert e.value.code == 4
    second.leave()
    scene.train()


def test_half_a_hello_and_then_silence(site):
    scene = Scene(site)
    whole = wire.frame("hello", wire.hello("worker", "home", "half", 7))
    halves = []
    for cut in (0, 1, 63, 64, 65, len(whole) - 1):
        halves.append(peer.dial(scene.first))
        halves[-1].sendall(whole[:cut])
    scene.train()
    for s in halves:
        s.settimeout(10)
        try:
            assert s.recv(1) == b""  # It had 2 s.
        except ConnectionResetError:
            pass
        s.close()
    scene.train()


def test_thousands_of_connections_cost_nobody_else_a_turn(site):
    scene = Scene(site)
    host, port = scene.first.removeprefix("tcp://").split(":")
    began, count = time.monotonic(), 0
    while time.monotonic() - began < 2 or count < 700:  # 20,000 a minute.
        s = socket.socket()
        s.bind(("127.0.0.2", 0))
        try:
            s.connect((host, int(port)))
        except ConnectionResetError:
            pass  # Refused already.
        s.close()
        count += 1
    scene.train()
    assert scene.status()["site"] == "home"  # From another address.
    assert scene.counted("refused_peers", "strangers") > 100


def rss(server):
    with open(f"/proc/{server.child.pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1]) * 1024


def test_who_asks_and_never_reads_costs_no_more_than_a_window(site):
    scene = Scene(site)
    liar = scene.liar(join=False)
    liar.table("big", rows=1, width=60 * 65536)
    liar.join()
    big = liar.tables["big"]["id"]
    before = rss(scene.server)
    liar.send("clock", clock=liar.clock + 100)  # Nobody has to wait for it.
    liar.sock.setblocking(False)
    for _ in range(200):  # 3 GB would be the answer.
        liar.sequence += 1
        request = wire.frame("pull", wire.pull(list(range(60))), sequence=liar.sequence, table=big,
                             clock=liar.clock)
        try:
            liar.sock.send(request)
        except BlockingIOError:
            break
    scene.train(20)
    assert rss(scene.server) - before < 200 << 20
    liar.close()


# Certificates.


@pytest.fixture
def certs(strait):
    strait.ok("cert", "init", "ca")
    for member in ("server/home/s0", "worker/home/w0", "worker/home/liar", "worker/far/away",
                   "operator/home/ada"):
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    return strait.folder / "certs"


@pytest.fixture
def secure(site, certs):
    return site.server("--cert", certs, "--name", "s0", "--workers", "1",
                       listen="tls://127.0.0.1:0", insecure=False).first


def test_a_worker_of_another_site_is_refused(secure, certs):
    with peer.Peer(secure, site="far", name="away", cert=certs) as away:
        for operation in ("site", "join"):
            answer = away.ask(operation, rank=0, tables=[])
            assert answer["error"] == -31 and "is for site far" in answer["text"]


@pytest.mark.parametrize("claims", [("worker", "home", "w0"), ("operator", "home", "liar"),
                                    ("server", "home", "s0"), ("worker", "far", "liar")], ids=str)
def test_a_hello_that_says_something_else_than_the_certificate(secure, certs, claims):
    with pytest.raises(peer.Ended) as e:
        peer.Peer(secure, name="liar", cert=certs, claims=claims)
    assert e.value.code == 3


def test_no_certificate_no_protocol(secure, certs):
    with pytest.raises((peer.Ended, OSError)):
        peer.Peer("tcp://" + secure.removeprefix("tls://"), name="liar")
    s = peer.dial(secure, certs, "liar", alpn=None)
    s.settimeout(10)
    with pytest.raises((peer.Ended, OSError, AssertionError)):
        assert s.recv(1)
    with peer.Peer(secure, "operator", name="ada", cert=certs) as ada:
        assert ada.ok("status")["site"] == "home"



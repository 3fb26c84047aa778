"""Too many frames that cost more than they carry: the session ends, and honest workers go on."""

import threading
import time

import peer
import pytest
import wire
from attack import Scene


def beats(liar):
    return [wire.frame("heartbeat", wire.heartbeat(time.monotonic_ns()))] * 1000


def probes(liar):
    body = b"\1\0\0\0" + b"\0\0" + b"\1\0" + b"\0" * 8 + b"\0" * 8
    return [wire.frame("probe", body)] * 1000


def acks(liar):
    return [wire.frame("ack", wire.window(liar.received_base))] * 1000


def operations(liar):
    def ask():
        liar.sequence += 1
        return wire.frame("control", wire.control(wire.OPERATIONS["status"], liar.sequence, {}),
                          sequence=liar.sequence)

    return [ask() for _ in range(100)]


FLOODS = [("heartbeats", beats), ("probes", probes), ("acknowledgements", acks),
          ("operations", operations)]


def flood(liar, make):
    """Until the server has had enough of it; returns what it said."""
    def drown():
        try:
            while True:
                liar.raw(b"".join(make(liar)))
        except (OSError, ValueError, peer.Ended):
            pass

    liar.mute = True
    thread = threading.Thread(target=drown, daemon=True)
    thread.start()
    try:
        while True:
            f = wire.read_frame(liar.read)
            if f.type == "bye":
                return wire.read_refuse(f.body)
    finally:
        liar.close()
        thread.join()


@pytest.mark.parametrize("kind, make", FLOODS, ids=[k for k, _ in FLOODS])
@pytest.mark.parametrize("role", ["worker", "operator"])
def test_a_flood_ends_the_session_and_nobody_else_suffers(site, role, kind, make):
    scene = Scene(site)
    liar = peer.Peer(scene.first, role, name="liar")
    code, text = flood(liar, make)
    assert code == wire.REFUSALS["busy"] and f"it sent too many {kind}" in text
    scene.train()
    scene.blames("liar", f"too many {kind}")
    assert scene.counted("expelled", kind) == 1
    with pytest.raises(peer.Ended, match="come back in"):
        peer.Peer(scene.first, role, name="liar")


def test_floods_again_and_again_keep_nobody_from_training(site):
    scene = Scene(site, honest=2)
    over = threading.Event()
    ended = []

    def drown(number):
        while not over.is_set():
            try:
                liar = peer.Peer(scene.first, name=f"liar{number}")
                ended.append(flood(liar, beats))
            except (peer.Ended, OSError):
                time.sleep(0.01)

    threads = [threading.Thread(target=drown, args=(n,), daemon=True) for n in range(3)]
    for t in threads:
        t.start()
    began = time.monotonic()
    scene.train(300)
    over.set()
    for t in threads:
        t.join()
    assert len(ended) >= 3
    assert len(ended) <= 3 * (2 + time.monotonic() - began)  # They had to wait in between.

"""Clocks that no correct worker can have reached, and updates that are not what they say."""

import math
import struct

import peer
import pytest
import wire
from attack import WIDTH, Scene
from site_of import until

BARRIERS = [("bsp", []), ("ssp", ["--staleness", "2"]), ("tap", [])]
NAN = math.nan


@pytest.mark.parametrize("barrier, more", BARRIERS, ids=[b for b, _ in BARRIERS])
@pytest.mark.parametrize("what", ["clock", "push", "pull"])
def test_a_million_clocks_ahead_is_refused_and_locks_nobody_out(site, barrier, more, what):
    scene = Scene(site, "--barrier", barrier, *more)
    liar = scene.liar()
    if what == "clock":
        liar.end_clock(10**6)
    elif what == "push":
        liar.push([1] * 4 * WIDTH, clock=10**6)
    else:
        liar.send("pull", wire.pull([0]), clock=10**6)
    code, text = liar.ended()
    assert code == wire.REFUSALS["busy"]
    assert "clock 1000000" in text and f"{barrier} allows clock " in text
    late = [f for f in liar.frames if f.type == "late"]
    assert [wire.read_late(f.body)[0] for f in late] in ([], ["ahead"])  # The farewell overtakes.
    scene.train()
    scene.blames("liar", "clock 1000000")
    assert scene.counted("refused_updates", "ahead") == 1
    assert scene.counted("expelled", "ahead") == 1
    # Whoever comes now enters where the others are.
    clock = scene.status()["version"]
    newcomer = scene.liar("newcomer")
    assert newcomer.clock <= clock + 4
    newcomer.leave()


def test_who_was_ended_must_wait_and_may_come_back(site):
    scene = Scene(site)
    liar = scene.liar()
    liar.end_clock(10**6)
    liar.ended()
    with pytest.raises(peer.Ended) as e:
        peer.Peer(scene.first, name="liar")
    assert e.value.code == wire.REFUSALS["busy"] and "come back in" in e.value.text
    assert scene.liar("other").leave()["in"] is True

    def back():
        try:
            return scene.liar("liar")
        except peer.Ended as ended:
            assert ended.code == wire.REFUSALS["busy"]

    reformed = until(back)
    assert reformed.leave()["in"] is True
    scene.train()


def test_clocks_of_a_run_of_nobodys_count_one_after_the_other(site):
    """As far ahead as a correct worker may be: it is believed step by step."""
    scene = Scene(site)
    fast = scene.liar("fast")
    fast.end_clock(fast.clock + 1000)
    fast.settled()
    scene.train()
    assert scene.status()["version"] < 20
    newcomer = scene.liar("newcomer")
    assert newcomer.clock < 20
    newcomer.leave()
    fast.leave()
    scene.train()


def encoded(codec, value):
    """One element, as each codec with floats writes it."""
    f32, f16 = struct.pack("<f", value), struct.pack("<e", value)
    bitmap = bytes([1] + [0] * 55)
    return {
        0: f32 * 4 * WIDTH,
        1: bitmap + f32,
        2: struct.pack("<IHH", 1, 0, 0) + f32,
        5: bitmap + f16 + b"\0\0",
        6: struct.pack("<IHH", 1, 0, 0) + f16 + b"\0\0",
        7: f16 * 4 * WIDTH,
        8: struct.pack("<HH4B", 0, 0, 0, 0, 0, 0) + f32,
        9: struct.pack("<HH4B", 0, 0, 0, 0, 0, 0) + f16 + b"\0\0",
    }[codec]


@pytest.mark.parametrize("codec", [0, 1, 2, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("value", [NAN, math.inf])
def test_what_is_not_finite_is_refused_as_such_and_names_the_open_clock(site, codec, value):
    scene = Scene(site, "--push", "dvf:delta=0.0001 | auto")
    liar = scene.liar()
    payload = encoded(codec, value)
    liar.push(None, codec=codec, payload=payload)
    late = liar.hear("late")
    assert wire.read_late(late.body) == ("not finite", liar.clock)
    assert late.clock == liar.clock
    assert scene.counted("refused_updates", "not_finite") == 1
    liar.push(None, codec=codec, payload=encoded(codec, 0.5))  # What is right is still taken.
    liar.settled()
    liar.leave()


@pytest.mark.parametrize(
    "fields",
    [dict(chunk=1), dict(table=7), dict(codec=3), dict(codec=7),
     dict(payload=b"\0" * 4), dict(payload=b"\0" * 4 * (4 * WIDTH + 1))],
    ids=str,
)
def test_an_update_of_another_shape_is_refused_and_names_the_open_clock(site, fields):
    scene = Scene(site, "--push", "dvf:delta=0.0001 | auto")
    liar = scene.liar()
    liar.push([0] * 4 * WIDTH, **fields)
    assert wire.read_late(liar.hear("late").body) == ("shape", liar.clock)
    assert scene.counted("refused_updates", "shape") == 1
    liar.leave()
    scene.train()

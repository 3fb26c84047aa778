"""Requests that make no sense."""

import peer
import pytest
from attack import Scene
from site_of import until

WRONG = [
    ("site", "rank", {"rank": "0"}),
    ("table", "rows", {"name": "x", "rows": "4", "width": 1}),
    ("table", "want", {"name": "x", "rows": 4, "width": 1, "want": 1}),
    ("join", "clock", {"rank": 0, "clock": 1.5}),
    ("join", "resume", {"rank": 0, "resume": "no"}),
    ("join", "id", {"rank": 0, "tables": [{"name": "x", "rows": 4, "width": 1, "id": "7"}]}),
    ("join", "members", {"rank": 0, "members": 3}),
    ("report", "samples", {"clock": 1, "loss_sum": 1, "samples": "1"}),
    ("drop", "name", {"name": 1}),
    ("drop", "check", {"name": "model", "check": 1}),
]


@pytest.mark.parametrize("operation, key, fields", WRONG, ids=[f"{o}-{k}" for o, k, *_ in WRONG])
def test_a_value_of_the_wrong_type_is_refused_by_its_key(site, operation, key, fields):
    scene = Scene(site)
    liar = scene.liar(join=False)
    answer = liar.ask(operation, **fields)
    assert answer["error"] == -10 and f'"{key}" must be ' in answer["text"], answer
    liar.join()  # The session goes on.
    liar.leave()
    scene.train()


def test_who_asks_in_the_wrong_type_whether_a_table_can_be_dropped_drops_none(site):
    scene = Scene(site)
    with peer.Peer(scene.first, "operator", name="ada") as ada:
        assert ada.ask("drop", name="model", check=True)["error"] == -31  # It is used.
        scene.honest[0].kill()
        until(lambda: "error" not in ada.ask("drop", name="model", check=True))
        answer = ada.ask("drop", name="model", check=1)
        assert answer["error"] == -10 and '"check" must be true or false' in answer["text"]
        assert ada.ok("drop", name="model", check=True)["dropped"] is True  # It would be.
        assert [ada.ok("drop", name="model")["dropped"] for _ in range(2)] == [True, False]

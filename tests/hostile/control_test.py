"""Requests that make no sense."""

import pytest
from attack import Scene

WRONG = [
    ("site", "rank", {"rank": "0"}),
    ("table", "rows", {"name": "x", "rows": "4", "width": 1}),
    ("table", "want", {"name": "x", "rows": 4, "width": 1, "want": 1}),
    ("join", "clock", {"rank": 0, "clock": 1.5}),
    ("join", "resume", {"rank": 0, "resume": "no"}),
    ("join", "id", {"rank": 0, "tables": [{"name": "x", "rows": 4, "width": 1, "id": "7"}]}),
    ("join", "members", {"rank": 0, "members": 3}),
    ("report", "samples", {"clock": 1, "loss_sum": 1, "samples": "1"}),
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

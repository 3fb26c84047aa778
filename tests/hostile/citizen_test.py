"""Good citizens: docs/PROTOCOL.md is enough to take part."""

import peer
import pytest

WIDTH = 100


@pytest.fixture
def certs(strait):
    strait.ok("cert", "init", "ca")
    for member in ("server/home/s0", "worker/home/w0", "worker/home/p0", "operator/home/ada"):
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    return strait.folder / "certs"


@pytest.fixture(params=["tcp", "tls"])
def place(request, strait, site):
    """A server, and what one needs to join it."""
    options = ["--workers", "2", "--lanes", "1"]
    if request.param == "tcp":
        return site.server(*options), None
    certs = request.getfixturevalue("certs")
    return (
        site.server("--cert", certs, "--name", "s0", *options, listen="tls://127.0.0.1:0",
                    insecure=False),
        certs,
    )


def test_a_worker_from_the_document_trains_beside_ours(site, place):
    server, certs = place
    ours = site.worker(server.first, "w0", 0, certs=certs)
    ours.do(f"table model 4 {WIDTH}")
    theirs = peer.Worker(server.first, "p0", rank=1, cert=certs)
    assert theirs.about["site"] == "home" and theirs.about["barrier"] == "bsp"
    assert theirs.table() == 0
    ours.begin("join")
    assert theirs.join() == 1
    assert ours.end() == [1]
    for clock in (1, 2, 3):
        theirs.push([clock] * 4 * WIDTH)
        theirs.end_clock()
        ours.do("push model 10")
        ours.do("clock")
        total = sum(range(1, clock + 1)) + 10 * clock
        assert theirs.pull()[0] == (total,) * 4 * WIDTH
        assert ours.do("read model")[0] == total
    theirs.settled()
    assert theirs.leave()["in"] is True
    theirs.close()


def test_an_operator_from_the_document_asks_for_the_status(place):
    server, certs = place
    with peer.Peer(server.first, "operator", name="ada", cert=certs) as ada:
        assert ada.ok("status")["site"] == "home"
        refused = ada.ask("join", rank=0)
        assert refused["error"] < 0 and refused["text"]

"""Private keys are in no core dump of a live process."""

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from core_of import found, memory, secrets
from port_of import free_port
from site_of import LIMIT_S, until

TLS = {"insecure": False, "listen": "tls://127.0.0.1:0"}


@pytest.fixture
def certs(strait):
    strait.ok("cert", "init", "ca")
    for member in ("server/home/s0", "worker/home/w0", "operator/home/me"):
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    return strait.folder / "certs"


def core_limit(pid):
    return resource.prlimit(pid, resource.RLIMIT_CORE)[0]


def test_the_search_finds_a_key_where_there_is_one(certs):
    code = "import sys; key = open(sys.argv[1]).read(); print('read', flush=True); input()"
    holder = subprocess.Popen([sys.executable, "-c", code, str(certs / "s0.key")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"read\n"
        assert found(memory(holder.pid), secrets(certs / "s0.key")) == {"text"}
    finally:
        holder.communicate()


def test_members_dump_no_key(strait, site, certs):
    server = site.server("--cert", certs, "--name", "s0", "--workers", "1", "--job", "mf",
                         "--clocks", "1000000", **TLS)
    worker = site.run("worker", "--join", server.first, "--cert", certs, "--name", "w0")
    until(lambda: strait.json("top", "--join", server.first, "--cert", certs, "--name", "me", "-q",
                              "--once", "--interval", "100ms")["clock"] > 3)
    for name, member in (("s0", server), ("w0", worker)):
        assert found(memory(member.child.pid), secrets(certs / f"{name}.key")) == set(), name
        assert core_limit(member.child.pid) == 0


def test_an_authority_that_serves_dumps_no_key(strait, site):
    strait.ok("cert", "init", "ca")
    address = f"tls://127.0.0.1:{free_port()}"
    serve = site.run("cert", "serve", "ca", "--listen", address)
    token = strait.json("cert", "token", "ca", "worker/home/w0")["token"]
    (strait.folder / "token").write_text(token)
    until(lambda: strait.run("cert", "join", address, "--token-file", "token", "-o", "certs")
          .returncode == 0)
    keys = [p for p in (strait.folder / "ca").rglob("*.key")]
    assert keys
    for key in keys:
        assert found(memory(serve.child.pid), secrets(key)) == set(), key
    assert core_limit(serve.child.pid) == 0


def test_a_real_core_has_no_key(strait, site, certs):
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        pytest.skip(f"cores go elsewhere: {pattern}")
    server = site.server("--cert", certs, "--name", "s0", **TLS)
    site.worker(server.first, "w0", certs=certs).join()
    hard = resource.prlimit(server.child.pid, resource.RLIMIT_CORE)[1]
    if hard != resource.RLIM_INFINITY:
        pytest.skip("cores are limited here")
    resource.prlimit(server.child.pid, resource.RLIMIT_CORE, (hard, hard))
    server.child.send_signal(signal.SIGABRT)
    assert server.child.wait(LIMIT_S) == -signal.SIGABRT
    cores = list(strait.folder.glob("core*"))
    assert len(cores) == 1
    with cores[0].open("rb") as core:
        content = iter(lambda: core.read(1 << 20), b"")
        tail, pieces = b"", []
        for piece in content:
            pieces.append(tail + piece)
            tail = piece[-128:]
    assert found(pieces, secrets(certs / "s0.key")) == set()
    cores[0].unlink()

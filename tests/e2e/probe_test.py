"""strait doctor --peer and --listen: reaching another member, over TLS and in the clear."""

import json
import os
import shlex
import signal
import socket
import subprocess

import pytest

from port_of import free_port

WAIT_S = 30


class Listener:
    """A doctor that listens, until the test is over."""

    def __init__(self, strait, *args):
        self.process = subprocess.Popen(
            [strait.bin, "doctor", "--listen", "127.0.0.1:0", "--json", *args],
            cwd=strait.folder,
            env=strait.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        text = ""
        while not text.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, self.process.stderr.read()
            text += line
        self.told = json.loads(text)
        self.address = self.told["listening"]

    def end(self, signum=signal.SIGTERM):
        """(exit status, what it said on stderr)"""
        self.process.send_signal(signum)
        try:
            _, said = self.process.communicate(timeout=WAIT_S)
        finally:
            self.process.kill()
        return self.process.returncode, said


@pytest.fixture
def listen(strait):
    listeners = []

    def start(*args):
        listeners.append(Listener(strait, *args))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.process.kill()
        listener.process.communicate()


@pytest.fixture
def certs(strait):
    strait.ok("cert", "init", "ca")
    strait.ok("cert", "issue", "ca", "server/eu/s1", "-o", "server")
    strait.ok("cert", "issue", "ca", "operator/eu/o1", "-o", "operator")


def checks(answer):
    return {c["check"]: c for c in answer["checks"]}


def test_insecure(strait, listen):
    listener = listen("--insecure")
    assert listener.address.startswith("tcp://127.0.0.1:")
    words = shlex.split(listener.told["command"])
    assert words == ["strait", "doctor", "--peer", listener.address, "--insecure"]
    answer = strait.json(*words[1:])
    peer = answer["peer"]
    assert answer["ready"] and answer["fail"] == 0
    assert peer["identity"] == listener.told["identity"]
    assert peer["identity"].startswith("server/none/doctor-")
    assert not peer["authenticated"] and peer["tls_version"] is None and not peer["ktls"]
    assert peer["wire_version"] == strait.json("version")["wire"]["max"]
    assert 0 < peer["rtt_ms"] < 1000
    assert 0 <= peer["bandwidth"]["low_bits_per_s"] <= peer["bandwidth"]["high_bits_per_s"]
    assert checks(answer)["encryption"]["verdict"] == "warn"
    status, said = listener.end(signal.SIGINT)
    assert status == 0
    assert "is here" in said and "is gone: the doctor is done" in said


def test_tls(strait, listen, certs):
    listener = listen("--cert", "server")
    assert listener.address.startswith("tls://127.0.0.1:")
    assert listener.told["identity"] == "server/eu/s1"
    assert listener.told["command"] == f"strait doctor --peer {listener.address} --cert server"
    bare = listener.address.removeprefix("tls://")
    answer = strait.json("doctor", "--peer", bare, "--cert", "operator", "--name", "o1")
    peer = answer["peer"]
    assert peer["identity"] == "server/eu/s1" and peer["authenticated"]
    assert peer["tls_version"] == "TLSv1.3" and peer["tls_cipher"].startswith("TLS_")
    assert {c["verdict"] for c in answer["checks"]} == {"ok"}
    text = strait.ok("doctor", "--peer", listener.address, "--cert", "operator")
    assert "server/eu/s1, by its certificate" in text and "TLSv1.3" in text
    assert "Mbit/s free" in " ".join(text.split())


def test_a_certificate_of_another_authority_is_refused(strait, listen, certs):
    strait.ok("cert", "init", "other")
    strait.ok("cert", "issue", "other", "operator/eu/o1", "-o", "stranger")
    listener = listen("--cert", "server")
    text = strait.fails(
        77, "STRAIT-0206", "doctor", "--peer", listener.address, "--cert", "stranger"
    )
    assert "certificate" in text


def test_a_revoked_operator_is_refused(strait, listen, certs):
    strait.ok("cert", "revoke", "ca", "operator/eu/o1")
    crl = (strait.folder / "ca" / "revoked.crl").read_bytes()
    (strait.folder / "server" / "revoked.crl").write_bytes(crl)
    listener = listen("--cert", "server")
    strait.fails(77, "STRAIT-0206", "doctor", "--peer", listener.address, "--cert", "operator")


def test_the_roles_of_both_sides_are_checked(strait, listen, certs):
    listener = listen("--cert", "server")
    text = strait.fails(
        2, "STRAIT-0112", "doctor", "--peer", listener.address, "--cert", "server"
    )
    assert "operator" in text
    strait.fails(
        2, "STRAIT-0112", "doctor", "--listen", "127.0.0.1:0", "--cert", "operator"
    )


def test_plain_and_tls_do_not_mix(strait, listen, certs):
    tls = listen("--cert", "server")
    plain = listen("--insecure")
    address = plain.address.replace("tcp", "tls")
    done = strait.run("doctor", "--peer", address, "--cert", "operator", "--timeout", "3s")
    assert done.returncode in (69, 77) and done.stdout == ""
    address = tls.address.replace("tls", "tcp")
    done = strait.run("doctor", "--peer", address, "--insecure", "--timeout", "3s")
    assert done.returncode in (69, 77) and done.stdout == ""


def test_nobody_there(strait):
    address = f"127.0.0.1:{free_port()}"
    text = strait.fails(69, "STRAIT-0201", "doctor", "--peer", address, "--insecure")
    assert address in text and "refused" in text.lower()
    done = strait.run("doctor", "--peer", address, "--insecure", "--json")
    assert done.returncode == 69 and json.loads(done.stderr)["error"]["id"] == "STRAIT-0201"


def test_somebody_who_says_nothing(strait):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        address = f"127.0.0.1:{s.getsockname()[1]}"
        text = strait.fails(
            69, "STRAIT-0201", "doctor", "--peer", address, "--insecure", "--timeout", "500ms"
        )
    assert "timed out" in text


@pytest.mark.parametrize(
    "args",
    [
        ["--peer", "tcp://127.0.0.1:1"],
        ["--listen", "tcp://127.0.0.1:0"],
        ["--listen", "unix:sock"],
        ["--peer", "tcp://192.0.2.1:1", "--insecure"],
        ["--listen", "0.0.0.0:0", "--insecure"],
        ["--listen", "[::]:0", "--insecure"],
        ["--peer", "tls://127.0.0.1:1", "--insecure"],
    ],
)
def test_plain_connections_must_be_asked_for(strait, args):
    strait.fails(2, "STRAIT-0009", "doctor", *args)


def test_usage(strait, certs):
    strait.fails(2, "STRAIT-0003", "doctor", "--peer", "x", "--insecure")
    strait.fails(2, "STRAIT-0003", "doctor", "--peer", "a:1", "--listen", "b:1")
    strait.fails(2, "STRAIT-0004", "doctor", "--peer", "127.0.0.1:1")
    strait.fails(1, "STRAIT-0101", "doctor", "--peer", "127.0.0.1:1", "--cert", "nowhere")
    (strait.folder / "empty").mkdir()
    strait.fails(78, "STRAIT-0111", "doctor", "--peer", "127.0.0.1:1", "--cert", "empty")
    strait.ok("cert", "issue", "ca", "operator/eu/o2", "-o", "operator")
    strait.fails(2, "STRAIT-0004", "doctor", "--peer", "127.0.0.1:1", "--cert", "operator")
    strait.fails(
        78, "STRAIT-0111",
        "doctor", "--peer", "127.0.0.1:1", "--cert", "operator", "--name", "o3",
    )


def test_listening_ends_by_itself(strait):
    text = strait.ok("doctor", "--listen", "127.0.0.1:0", "--insecure", "--for", "100ms")
    assert "listens at tcp://127.0.0.1:" in text


def test_a_port_that_is_taken(strait, listen):
    listener = listen("--insecure")
    address = listener.address.removeprefix("tcp://")
    strait.fails(1, "STRAIT-0202", "doctor", "--listen", address, "--insecure")


def test_unix_sockets(strait):
    path = os.path.join(strait.folder, "sock")
    process = subprocess.Popen(
        [strait.bin, "doctor", "--listen", f"unix:{path}", "--insecure", "--for", "20s"],
        env=strait.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert "listens at unix:" in process.stdout.readline()
        assert "round trip" in strait.ok("doctor", "--peer", f"unix:{path}", "--insecure")
    finally:
        process.terminate()
        process.communicate()

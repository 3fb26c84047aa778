"""Joining over the network: `cert serve` hands out certificates to who has a token, `cert join`
gets one. Checked by OpenSSL's own program, and by strangers who mean no good."""

import json
import os
import random
import re
import select
import signal
import socket
import subprocess
import time

import pytest

from site_of import LIMIT_S, until


class Server:
    """A `cert serve` and what it says, event by event."""

    def __init__(self, strait, *options, listen="tls://127.0.0.1:0"):
        self.errors = strait.folder / f"serve.{id(self)}.err"
        self.buffer = b""
        with self.errors.open("w") as errors:
            self.child = subprocess.Popen(
                [strait.bin, "cert", "serve", "ca", "--json", "--listen", listen, *options],
                cwd=strait.folder,
                env=strait.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self.first = self.event()
        assert self.first["event"] == "listening"
        self.address = self.first["advertised"] or self.first["address"]
        self.port = int(self.address.rsplit(":", 1)[1])
        assert self.port != 0

    def event(self):
        """The next line of its output."""
        end = time.monotonic() + LIMIT_S
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.child.stdout], [], [], end - time.monotonic())
            assert ready, "the server says nothing"
            chunk = os.read(self.child.stdout.fileno(), 65536)
            assert chunk, self.errors.read_text()
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        event = json.loads(line)
        assert event["schema"] == 1
        return event

    def expect(self, name):
        event = self.event()
        assert event["event"] == name, event
        return event

    def stop(self, signum=signal.SIGINT):
        """End it as a person would; return its last event."""
        self.child.send_signal(signum)
        event = self.event()
        while event["event"] != "stopped":
            event = self.event()
        assert self.child.wait(LIMIT_S) == 0, self.errors.read_text()
        return event

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT_S)


@pytest.fixture
def ca(strait):
    strait.ok("cert", "init", "ca")
    return strait.folder / "ca"


@pytest.fixture
def serve(strait, ca):
    servers = []

    def start(*options, **named):
        servers.append(Server(strait, *options, **named))
        return servers[-1]

    yield start
    for server in servers:
        if server.child.poll() is None:
            server.child.kill()
            server.child.wait()
        server.child.stdout.close()
        assert "Sanitizer" not in server.errors.read_text()


@pytest.fixture
def server(serve):
    return serve()


def make_token(strait, identity="worker/eu/*", *options, folder="ca"):
    """Make a token; return the path of its file."""
    path = strait.folder / f"token.{random.randrange(1 << 60):x}"
    strait.ok("cert", "token", folder, identity, "-o", path, *options)
    return path


def join(server, token, *options):
    return ["cert", "join", server.address, "-q", "--token-file", token, *options]


def test_join_gets_a_certificate(strait, server):
    answer = strait.json(*join(server, make_token(strait), "--name", "w1"))
    assert answer["identity"] == "worker/eu/w1" and answer["state"] == "valid"
    files = answer["files"]
    done = subprocess.run(
        ["openssl", "verify", "-CAfile", files["authority"], files["certificate"]],
        cwd=strait.folder,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0 and done.stdout.endswith("OK\n")
    assert (os.stat(strait.folder / files["key"]).st_mode & 0o777) == 0o600
    event = server.expect("enrolled")
    assert event["identity"] == "worker/eu/w1" and event["serial"] == answer["serial"]
    assert event["source"] == "127.0.0.1" and event["not_after"] == answer["not_after"]
    listed = strait.json("cert", "list", "ca")["certificates"]
    assert {"worker/eu/w1", "server/ca/enrol"} == {c["identity"] for c in listed}
    doctor = strait.run("doctor", "--cert", "certs")
    assert "worker/eu/w1, until" in " ".join(doctor.stdout.split())
    assert server.stop() == {"schema": 1, "event": "stopped", "enrolled": 1, "refused": 0}


def test_join_speaks_to_people(strait, server):
    token = make_token(strait, "server/eu/s1")
    done = strait.run("cert", "join", server.address, "--token-file", token, "-o", "mine")
    assert done.returncode == 0
    assert re.search(r"^identity +server/eu/s1$", done.stdout, re.M)
    assert re.search(r"^key +mine/s1.key$", done.stdout, re.M)
    assert done.stderr.startswith(f"Asking {server.address} for a certificate")
    assert "next: strait doctor --cert mine" in done.stderr
    server.stop()
    said = server.errors.read_text()
    assert re.search(r"^enrolled server/eu/s1 from 127.0.0.1: serial [0-9a-f]+, valid", said, re.M)
    assert said.endswith("stopped: 1 enrolled, 0 refused\n")
    secret = token.read_text().split(".")[2]
    assert secret not in said + done.stdout + done.stderr


def test_the_token_may_come_from_standard_input(strait, server):
    text = make_token(strait, "worker/eu/w1").read_text()
    (strait.folder / "blanks").write_text(f"\r\n  {text}\r\n\n")
    with (strait.folder / "blanks").open() as stdin:
        assert strait.json("cert", "join", server.address, stdin=stdin)["identity"]


def test_a_token_is_good_once(strait, server):
    token = make_token(strait, "worker/eu/w1")
    strait.ok(*join(server, token))
    text = strait.fails(77, "STRAIT-0204", *join(server, token, "-o", "again"))
    assert "token refused" in text and "new token" in text and "15 minutes" in text
    server.expect("enrolled")
    event = server.expect("refused")
    assert event["reason"] == "used" and event["source"] == "127.0.0.1"
    assert not (strait.folder / "again" / "w1.key").exists()


def test_an_expired_token_is_refused(strait, server, ca):
    token = make_token(strait, "worker/eu/w1", "--lifetime", "1s")
    kept = json.loads(next((ca / "tokens").glob("*.json")).read_text())
    until(lambda: time.time() >= kept["expires"])
    text = strait.fails(77, "STRAIT-0204", *join(server, token))
    assert "token refused" in text
    assert server.expect("refused")["reason"] == "expired"


def test_another_name_is_refused(strait, server):
    token = make_token(strait, "worker/eu/w1")
    assert "name" in strait.fails(77, "STRAIT-0204", *join(server, token, "--name", "w2"))
    assert server.expect("refused")["reason"] == "name"
    strait.ok(*join(server, token))


def test_another_authority_is_refused_before_the_secret_is_sent(strait, server):
    strait.ok("cert", "init", "other")
    token = make_token(strait, "worker/eu/w1", folder="other")
    text = strait.fails(78, "STRAIT-0203", *join(server, token))
    assert "not the authority of the token" in text
    assert server.stop() == {"schema": 1, "event": "stopped", "enrolled": 0, "refused": 0}


def test_what_is_no_token(strait, server):
    path = strait.folder / "token"
    for text in ("", "\n", "hello\n", make_token(strait).read_text()[:-5], "x" * 1000):
        path.write_text(text)
        said = strait.fails(78, "STRAIT-0115", *join(server, path))
        assert "copy all of it" in said
    strait.fails(1, "STRAIT-0101", *join(server, "nowhere"))


def test_usage(strait, ca):
    token = make_token(strait)
    for address in ("127.0.0.1", "tcp://127.0.0.1:1", "http://x:1", ""):
        strait.fails(2, "STRAIT-0003", "cert", "join", address, "--token-file", token)
    there = ["cert", "join", "127.0.0.1:1", "--token-file", token]
    strait.fails(2, "STRAIT-0112", *there, "--name", "a/b")
    strait.fails(2, "STRAIT-0005", *there, token.read_text().strip())
    strait.fails(2, "STRAIT-0003", "cert", "serve", "ca", "--listen", "tcp://127.0.0.1:0")
    strait.fails(78, "STRAIT-0110", "cert", "serve", "nowhere")


def test_nobody_is_there(strait, server):
    token = make_token(strait, "worker/eu/w1")
    server.stop()
    text = strait.fails(69, "STRAIT-0201", *join(server, token))
    assert server.address in text and "cert serve" in text


def test_a_silent_server_is_given_up(strait, ca):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        args = ["cert", "join", address, "-q", "--token-file", make_token(strait)]
        text = strait.fails(69, "STRAIT-0201", *args, "--timeout", "200ms")
    assert "no answer within 200 ms" in text


def test_files_in_the_way_do_not_cost_the_token(strait, server):
    token = make_token(strait)
    strait.ok("cert", "issue", "ca", "worker/eu/w1")
    strait.fails(1, "STRAIT-0102", *join(server, token, "--name", "w1"))
    strait.ok(*join(server, token, "--name", "w2"))


def test_several_join_at_once(strait, server):
    tokens = [make_token(strait) for _ in range(6)]
    children = [
        subprocess.Popen(
            [strait.bin, *map(str, join(server, token, "--name", f"w{i}", "-o", f"certs{i}"))],
            cwd=strait.folder,
            env=strait.env,
            stdout=subprocess.DEVNULL,
        )
        for i, token in enumerate(tokens)
    ]
    assert [child.wait(LIMIT_S) for child in children] == [0] * len(tokens)
    assert server.stop()["enrolled"] == len(tokens)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_cleanly(server, signum):
    with server.connect():  # Somebody is half-way in.
        assert server.stop(signum)["enrolled"] == 0


def test_once_means_once(strait, serve):
    server = serve("--once")
    token = make_token(strait, "worker/eu/w1")
    strait.fails(77, "STRAIT-0204", *join(server, token, "--name", "w2"))
    server.expect("refused")
    strait.ok(*join(server, token))
    server.expect("enrolled")
    server.expect("stopped")
    assert server.child.wait(LIMIT_S) == 0


def test_it_serves_for_a_time(serve):
    server = serve("--for", "200ms")
    server.expect("stopped")
    assert server.child.wait(LIMIT_S) == 0


def test_it_stops_when_nobody_reads(strait, serve):
    server = serve()
    server.child.stdout.close()
    strait.ok(*join(server, make_token(strait), "--name", "w1"))
    assert server.child.wait(LIMIT_S) == 1
    assert "STRAIT-0103" in server.errors.read_text()
    server.child.stdout = open(os.devnull)


def test_a_flood_does_not_keep_others_out(strait, server):
    token = make_token(strait, "worker/eu/w1")
    crowd = []
    for _ in range(100):
        try:
            crowd.append(server.connect())
        except ConnectionError:
            pass  # Turned away at the door.

    def joined():
        done = strait.run(*join(server, token))
        assert done.returncode in (0, 69), done.stderr
        return done.returncode == 0

    until(joined)
    for stranger in crowd:
        stranger.close()
    assert server.stop()["enrolled"] == 1


def test_garbage_does_no_harm(strait, server):
    noise = random.Random(7)
    hello = bytes.fromhex("160301002f0100002b0303") + noise.randbytes(32)
    hello += bytes.fromhex("00000213010100")
    lines = [b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"STRT" + bytes(60), hello, hello[:20]]
    lines += [noise.randbytes(size) for size in (1, 5, 100, 20000)]
    for line in lines:
        with server.connect() as stranger:
            try:
                stranger.sendall(line)
                stranger.shutdown(socket.SHUT_WR)
                while stranger.recv(65536):
                    pass
            except OSError:
                pass  # It hung up on us: just as well.
    strait.ok(*join(server, make_token(strait, "worker/eu/w1")))
    assert server.stop()["enrolled"] == 1


def openssl_client(server, alpn, text):
    """Talk to the server through TLS as anybody can."""
    return subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-alpn", alpn, "-quiet"],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
    )


def test_garbage_inside_tls_does_no_harm(strait, server):
    noise = random.Random(8)
    for alpn in ("strait-join/1", "strait/1", "h2"):
        openssl_client(server, alpn, noise.randbytes(5000))
    openssl_client(server, "strait-join/1", b"STRT" + bytes(60))
    strait.ok(*join(server, make_token(strait, "worker/eu/w1")))
    assert server.stop() == {"schema": 1, "event": "stopped", "enrolled": 1, "refused": 0}


def test_members_have_no_business_there(strait, server):
    strait.ok("cert", "issue", "ca", "server/eu/s1")
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-alpn", "strait/1",
         "-cert", "certs/s1.crt", "-key", "certs/s1.key", "-quiet"],
        cwd=strait.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
    )
    assert b"STRT" not in done.stdout
    server.stop()


def test_what_others_are_told(strait, serve):
    server = serve()
    assert server.first["join"] == f"strait cert join {server.address} --token-file FILE"
    assert server.address.startswith("tls://127.0.0.1:")  # Bound to loopback, so nothing else.
    server.stop()
    server = serve("--advertise", "ca.example.org", listen="tls://0.0.0.0:0")
    assert server.address.startswith("tls://ca.example.org:")
    server.stop()
    server = serve("--advertise", "2001:db8::7", listen="tls://0.0.0.0:0")
    assert server.address.startswith("tls://[2001:db8::7]:")
    server.stop()
    server = serve(listen="tls://0.0.0.0:0")
    told = server.first["advertised"] or ""
    assert "127." not in told and "0.0.0.0" not in told and "localhost" not in told
    server.stop()


def test_loopback_is_not_told_to_others(strait, ca):
    for host in ("localhost", "127.0.0.1", "::1", "0.0.0.0", "a b", "x" * 300):
        args = ["cert", "serve", "ca", "--listen", "tls://0.0.0.0:0", "--advertise", host]
        strait.fails(2, "STRAIT-0003", *args)


def test_a_port_in_use(strait, server):
    text = strait.fails(1, "STRAIT-0202", "cert", "serve", "ca", "--listen", server.address)
    assert str(server.port) in text


def test_the_command_for_others_is_printed_at_once(strait, ca):
    done = strait.run("cert", "serve", "ca", "--listen", "tls://127.0.0.1:0", "--for", "100ms")
    assert done.returncode == 0
    assert re.search(r"^join with +strait cert join tls://127\.0\.0\.1:\d+ --token-file FILE$",
                     done.stdout, re.M)
    assert "next: strait cert token ca 'worker/SITE/*' -o FILE" in done.stderr
    assert "Only this machine" in done.stderr


def test_its_own_certificate_is_kept(strait, serve):
    serve().stop()
    serve().stop()
    listed = strait.json("cert", "list", "ca")["certificates"]
    assert [c["identity"] for c in listed] == ["server/ca/enrol"]
    strait.ok("cert", "revoke", "ca", "server/ca/enrol")
    serve().stop()
    assert len(strait.json("cert", "list", "ca")["certificates"]) == 2

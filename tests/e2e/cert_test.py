"""The life of certificates: authority, issue, list, show, token, revoke; checked by OpenSSL's own
program where it has an opinion."""

import json
import os
import stat
import subprocess

import pytest


def openssl(strait, *args):
    return subprocess.run(
        ["openssl", *args],
        cwd=strait.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def ca(strait):
    strait.ok("cert", "init", "ca")
    return strait.folder / "ca"


def test_init_makes_a_private_authority(strait):
    done = strait.run("cert", "init", "ca", "--name", "hospitals", "--days", "100")
    assert done.returncode == 0
    assert "hospitals" in done.stdout and "100 days left" in done.stdout
    assert "next: strait cert issue ca server/SITE/NAME" in done.stderr
    assert mode(strait.folder / "ca" / "ca.key") == 0o600
    subject = openssl(strait, "x509", "-in", "ca/ca.crt", "-noout", "-subject").stdout
    assert "CN = hospitals" in subject


def test_init_overwrites_nothing(strait, ca):
    before = (ca / "ca.key").read_bytes()
    strait.fails(1, "STRAIT-0102", "cert", "init", "ca")
    assert (ca / "ca.key").read_bytes() == before


def test_an_issued_certificate_is_verified_by_openssl(strait, ca):
    names = ["--san", "s1.example.org", "--san", "192.0.2.7"]
    answer = strait.json("cert", "issue", "ca", "server/eu/s1", "-o", "certs", *names)
    assert answer["identity"] == "server/eu/s1"
    assert answer["state"] == "valid"
    files = answer["files"]
    done = openssl(strait, "verify", "-CAfile", files["authority"], files["certificate"])
    assert done.returncode == 0, done.stderr
    text = openssl(strait, "x509", "-in", files["certificate"], "-noout", "-text").stdout
    assert "strait://server/eu/s1" in text
    assert "DNS:s1.example.org" in text and "IP Address:192.0.2.7" in text
    assert mode(strait.folder / files["key"]) == 0o600
    done = strait.run("doctor", "--cert", "certs")
    assert "server/eu/s1, until" in " ".join(done.stdout.split())


def test_issue_overwrites_only_when_told(strait, ca):
    strait.ok("cert", "issue", "ca", "server/eu/s1")
    strait.fails(1, "STRAIT-0102", "cert", "issue", "ca", "server/eu/s1")
    strait.ok("cert", "issue", "ca", "server/eu/s1", "--replace")
    assert len(strait.json("cert", "list", "ca")["certificates"]) == 2


def test_bad_identities_are_refused(strait, ca):
    for identity in ("boss/eu/s1", "server/eu", "server//s1", "server/eu/s 1", "stranger/eu/x"):
        strait.fails(2, "STRAIT-0112", "cert", "issue", "ca", identity)
    strait.fails(2, "STRAIT-0112", "cert", "issue", "ca", "server/eu/*")
    assert strait.json("cert", "list", "ca")["certificates"] == []


def test_no_authority(strait):
    text = strait.fails(78, "STRAIT-0110", "cert", "list", "nowhere")
    assert "try:  strait cert init nowhere" in text


def test_a_key_that_others_can_read_is_refused(strait, ca):
    os.chmod(ca / "ca.key", 0o644)
    strait.fails(77, "STRAIT-0114", "cert", "issue", "ca", "server/eu/s1")


def test_show(strait, ca):
    issued = strait.json("cert", "issue", "ca", "worker/eu/w1", "--days", "30")
    shown = strait.json("cert", "show", "certs/w1.crt")
    assert shown["identity"] == "worker/eu/w1" and not shown["authority"]
    assert shown["serial"] == issued["serial"]
    with open(strait.folder / "certs" / "w1.crt") as file:
        assert strait.json("cert", "show", "-", stdin=file) == shown
    assert strait.json("cert", "show", "ca/ca.crt")["authority"]
    assert "30 days left" in strait.ok("cert", "show", "certs/w1.crt")
    options = ["-noout", "-fingerprint", "-sha256"]
    digest = openssl(strait, "x509", "-in", "certs/w1.crt", *options).stdout
    assert digest.split("=")[1].replace(":", "").strip().lower() == shown["fingerprint"]


def test_show_refuses_what_is_none(strait, ca):
    (strait.folder / "x.crt").write_text("hello\n")
    strait.fails(78, "STRAIT-0111", "cert", "show", "x.crt")
    strait.fails(1, "STRAIT-0101", "cert", "show", "nowhere.crt")


def test_revoke_by_identity_serial_and_file(strait, ca):
    serials = {}
    for name in ("w1", "w2", "w3"):
        serials[name] = strait.json("cert", "issue", "ca", f"worker/eu/{name}")["serial"]
    assert strait.json("cert", "revoke", "ca", "worker/eu/w1")["revoked"] == 1
    assert strait.json("cert", "revoke", "ca", serials["w2"])["revoked"] == 1
    assert strait.json("cert", "revoke", "ca", "certs/w3.crt")["revoked"] == 1
    assert strait.json("cert", "revoke", "ca", "worker/eu/w1")["revoked"] == 0
    states = {c["identity"]: c["state"] for c in strait.json("cert", "list", "ca")["certificates"]}
    assert set(states.values()) == {"revoked"}
    assert "w1" not in strait.ok("cert", "list", "ca")
    assert "worker/eu/w1" in strait.ok("cert", "list", "ca", "--all")
    done = openssl(strait, "verify", "-crl_check", "-CAfile", "ca/ca.crt", "-CRLfile",
                   "ca/revoked.crl", "certs/w1.crt")
    assert done.returncode != 0 and "revoked" in done.stdout + done.stderr
    strait.fails(1, "STRAIT-0113", "cert", "revoke", "ca", "worker/eu/nobody")


def test_doctor_finds_revoked_and_swapped(strait, ca):
    strait.ok("cert", "issue", "ca", "worker/eu/w1")
    strait.ok("cert", "issue", "ca", "worker/eu/w2")
    certs = strait.folder / "certs"
    strait.ok("cert", "revoke", "ca", "worker/eu/w1")
    (certs / "revoked.crl").write_bytes((ca / "revoked.crl").read_bytes())
    checks = {}

    def check():
        done = strait.run("doctor", "--json", "--cert", "certs")
        checks.clear()
        checks.update({c["check"]: c for c in json.loads(done.stdout)["checks"]})

    check()
    assert checks["w1.crt"]["verdict"] == "fail" and checks["w1.crt"]["found"] == "revoked"
    assert checks["w2.crt"]["verdict"] == "ok"
    (certs / "w2.key").write_bytes((certs / "w1.key").read_bytes())
    check()
    assert "belongs to another" in checks["w2.crt"]["found"]
    os.chmod(certs / "w2.key", 0o640)
    check()
    assert checks["w2.crt"]["verdict"] == "fail"


def test_a_token_is_alone_on_stdout(strait, ca):
    done = strait.run("cert", "token", "ca", "worker/eu/*")
    assert done.returncode == 0
    assert done.stdout.startswith("strait1.") and len(done.stdout.split()) == 1
    assert done.stdout.strip() not in done.stderr
    assert "until" in done.stderr
    assert strait.run("cert", "token", "ca", "worker/eu/w1", "-q").stderr == ""


def test_a_token_in_a_file_is_private(strait, ca):
    answer = strait.json("cert", "token", "ca", "worker/eu/w1", "-o", "token")
    assert answer["token"] is None and answer["file"] == "token"
    path = strait.folder / "token"
    assert mode(path) == 0o600
    assert path.read_text().startswith("strait1.")
    strait.fails(1, "STRAIT-0102", "cert", "token", "ca", "worker/eu/w1", "-o", "token")


def test_a_token_lives_within_limits(strait, ca):
    token = ["cert", "token", "ca", "worker/eu/w1", "--lifetime"]
    text = strait.fails(2, "STRAIT-0003", *token, "8d")
    assert "from 1s to 7d" in text
    strait.ok(*token, "7d")

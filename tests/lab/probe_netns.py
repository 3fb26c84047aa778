#!/usr/bin/env python3
"""The probe of free bandwidth on a real network: two namespaces joined by a pair of veth, shaped by
tbf, and `strait doctor` at both ends.

    STRAIT_BIN=build/debug/strait tests/lab/probe_netns.py

Needs root. Exit status 77 with a reason if that, or namespaces, or tbf, is not there. Names carry
our process id; everything is removed at the end, also after a failure or a signal.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 0.30
RATES_MBIT = (20, 50, 200)
COMMAND_TIMEOUT_S = 30
DOCTOR_TIMEOUT_S = 120
TRIES = 3


class Skip(Exception):
    """This machine cannot run the test."""


def ip(*args, check=True):
    return subprocess.run(
        ["ip", *args],
        check=check,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=COMMAND_TIMEOUT_S,
    )


class Lab:
    """Namespaces "near" and "far"; what near sends to far is shaped."""

    def __init__(self):
        self.near = f"strait-{os.getpid()}-near"
        self.far = f"strait-{os.getpid()}-far"

    def __enter__(self):
        try:
            self.build()
        except subprocess.CalledProcessError as error:
            self.remove()
            raise Skip(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from error
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def build(self):
        for name in (self.near, self.far):
            ip("netns", "add", name)
        ip("-n", self.near, "link", "add", "wan", "type", "veth", "peer", "wan", "netns", self.far)
        for name, address in ((self.near, "10.213.7.1/24"), (self.far, "10.213.7.2/24")):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "address", "add", address, "dev", "wan")
            ip("-n", name, "link", "set", "wan", "up")
        self.shape(RATES_MBIT[0])

    def shape(self, mbit):
        """Let near send at that rate: a bucket of 5 ms, a queue of 100 ms."""
        burst = max(mbit * 1_000_000 // 8 // 200, 16 * 1024)
        command = ["tc", "-n", self.near, "qdisc", "replace", "dev", "wan", "root", "tbf"]
        command += ["rate", f"{mbit}mbit", "burst", str(burst), "latency", "100ms"]
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
        )

    def remove(self):
        for name in (self.near, self.far):
            ip("netns", "delete", name, check=False)

    def inside(self, name, *command, **options):
        return subprocess.Popen(
            ["ip", "netns", "exec", name, *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            **options,
        )


def first_answer(listener):
    """The object that a listener prints when it is there."""
    text = ""
    while True:
        line = listener.stdout.readline()
        if not line:
            sys.exit("the listener ended at once")
        text += line
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            pass


def measure(lab, binary, near, far):
    """Run the doctor at both ends, with these options; what it found."""
    listener = lab.inside(lab.far, binary, "doctor", "--listen", "10.213.7.2:0", "--json", *far)
    try:
        at = first_answer(listener)["listening"]
        doctor = lab.inside(lab.near, binary, "doctor", "--peer", at, "--json", *near)
        try:
            output, _ = doctor.communicate(timeout=DOCTOR_TIMEOUT_S)
        finally:
            doctor.kill()
            doctor.wait()
        if doctor.returncode != 0:
            sys.exit(f"the doctor ended with {doctor.returncode}")
        return json.loads(output)["peer"]
    finally:
        listener.terminate()
        listener.wait(timeout=COMMAND_TIMEOUT_S)
        listener.stdout.close()


def check(lab, binary, mbit, near, far):
    """Measure once; True if the answer is good enough."""
    lab.shape(mbit)
    peer = measure(lab, binary, near, far)
    bandwidth = peer["bandwidth"]
    if bandwidth is None:
        print(f"{mbit:4} Mbit/s: not measured")
        return False
    low = bandwidth["low_bits_per_s"] / 1e6
    high = bandwidth["high_bits_per_s"] / 1e6
    good = (
        not bandwidth["at_least"]
        and low >= mbit * (1 - TOLERANCE)
        and high <= mbit * (1 + TOLERANCE)
    )
    print(
        f"{mbit:4} Mbit/s, {peer['tls_version'] or 'plain':7}: {low:6.1f} to {high:6.1f}, "
        f"{100 * ((low + high) / 2 / mbit - 1):+5.1f} %, round trip {peer['rtt_ms']:.2f} ms, "
        f"{bandwidth['trains']} trains, {bandwidth['sent_bytes'] / 1e6:.1f} MB, "
        f"{bandwidth['seconds']:.1f} s: {'ok' if good else 'WRONG'}",
        flush=True,
    )
    return good


def preconditions(binary):
    if os.geteuid() != 0:
        raise Skip("not root")
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is not installed")
    if not binary or not os.access(binary, os.X_OK):
        sys.exit("STRAIT_BIN must name the built program")


def issue(binary, folder):
    """Certificates for both ends; the options that use them, near and far."""
    options = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL, "timeout": 60}
    subprocess.run([binary, "cert", "init", "ca", "-q"], **options)
    for identity in ("operator/lab/near", "server/lab/far"):
        out = identity.split("/")[2]
        subprocess.run([binary, "cert", "issue", "ca", identity, "-o", out, "-q"], **options)
    return ["--cert", f"{folder}/near"], ["--cert", f"{folder}/far"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, action="append", metavar="MBIT")
    args = parser.parse_args()
    binary = os.path.abspath(os.environ.get("STRAIT_BIN", ""))
    preconditions(binary)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    plain = (["--insecure", "--insecure"],) * 2
    rates = args.rate or RATES_MBIT
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        cases = [(mbit, *plain) for mbit in rates] + [(rates[-1], *issue(binary, folder))]
        # A loaded machine may spoil one measurement; a wrong probe spoils all.
        good = [any(check(lab, binary, *case) for _ in range(TRIES)) for case in cases]
    return 0 if all(good) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)

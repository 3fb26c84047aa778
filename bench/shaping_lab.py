#!/usr/bin/env python3
"""How exact are the links of `strait lab`? Rates by iperf3, round trips by an echo of our own, what
`strait doctor` makes of it, how late the relay is, and how much it carries at most.

    STRAIT_BIN=build/release/strait bench/shaping_lab.py [--quick] [--json FILE]

Needs root and iperf3. Exit status 77 with a reason if something is missing. A table goes to
standard output. The goodput of TCP is compared with what the rate leaves after headers, so that
errors are those of the rate on the wire; of UDP all that arrives counts, headers too.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
RATES_MBIT = (20, 50, 100, 200, 500, 1000)
DELAYS_MS = (5, 50, 150)
MTUS = (9000, 1500)
TOTALS_GBIT = (1, 2, 3, 4, 6, 8, 20)
TCP_HEADER_BYTES = 52
UDP_HEADER_BYTES = 28
PINGS = 300
MEASURE_S = 6
SETTLE_S = 1
FAR = "10.65.0.2"

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 7000))
print("ready", flush=True)
while True:
    data, who = s.recvfrom(2000)
    s.sendto(data, who)
"""

# One every 5 ms, whether or not the one before is back.
CALL = """
import json, select, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7000))
count, took, sent, begin = int(sys.argv[2]), [], 0, time.perf_counter()
while len(took) < count and time.perf_counter() < begin + 20:
    wait = begin + sent * 0.005 - time.perf_counter() if sent < count else 1
    if wait <= 0:
        s.send(repr(time.perf_counter()).encode())
        sent += 1
    elif select.select([s], [], [], wait)[0]:
        start = float(s.recv(100))
        took.append((time.perf_counter() - start) * 1e3)
print(json.dumps(sorted(took)))
"""


# Megabits per second that come in at eth0, or go out, without headers of Ethernet.
COUNT = """
import sys, time
at = {"in": 0, "out": 8}[sys.argv[1]]
def count():
    for line in open("/proc/net/dev"):
        if line.strip().startswith("eth0:"):
            fields = [int(field) for field in line.split(":")[1].split()]
            return fields[at] - 14 * fields[at + 1], time.perf_counter()
time.sleep(float(sys.argv[2]))
first, begin = count()
time.sleep(float(sys.argv[3]))
last, end = count()
print((last - first) * 8e-6 / (end - begin))
"""


class Skip(Exception):
    """This machine cannot measure."""


class Lab:
    """Two regions, near and far, with a host each."""

    def __init__(self, binary, mtu):
        self.binary = binary
        self.mtu = mtu
        self.name = f"bench-{os.getpid()}"
        self.servers = []

    def strait(self, *words, check=True, timeout=120):
        return subprocess.run(
            [self.binary, *words],
            check=check,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=timeout,
        )

    def lab(self, command, *words, **options):
        return self.strait("lab", command, "--name", self.name, *words, **options)

    def __enter__(self):
        link = {"rate": "100mbit", "rtt": "10ms"}
        topology = {
            "strait_topology": 1,
            "lan": {"rate": "40gbit", "delay": "50us"},
            "regions": [{"name": "near"}, {"name": "far"}],
            "links": [
                {"from": "near", "to": "far", **link},
                {"from": "far", "to": "near", **link},
            ],
        }
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(topology, file)
            file.flush()
            up = self.lab("up", file.name, "--mtu", str(self.mtu), check=False)
        if up.returncode == SKIPPED:
            raise Skip(up.stderr.strip())
        if up.returncode != 0:
            sys.exit(up.stderr)
        self.serve("far", sys.executable, "-c", ECHO).stdout.readline()
        for port in ("5201", "5202"):
            self.serve("far", "iperf3", "-s", "-J", "-p", port, out=subprocess.DEVNULL)
        time.sleep(0.5)
        return self

    def __exit__(self, *_):
        self.lab("down", check=False)
        for server in self.servers:
            server.kill()
            server.communicate()

    def serve(self, where, *command, out=subprocess.PIPE):
        server = subprocess.Popen(
            [self.binary, "lab", "exec", "--name", self.name, where, "--", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.servers.append(server)
        return server

    def link(self, rate_mbit, delay_ms):
        self.lab("set", "near", "far", f"rate={rate_mbit}mbit", f"delay={delay_ms}ms")

    def pings(self):
        """Round trips in ms: mean and p99."""
        done = self.lab("exec", "near", "--", sys.executable, "-c", CALL, FAR, str(PINGS))
        took = json.loads(done.stdout)
        return sum(took) / len(took), took[int(len(took) * 0.99)]

    def iperf(self, *words, port=5201):
        command = ("iperf3", "-c", FAR, "-p", str(port), "-J", "-t", str(MEASURE_S), *words)
        done = self.lab("exec", "near", "--", *command, check=False)
        report = json.loads(done.stdout)
        if "error" in report:
            sys.exit(f"iperf3: {report['error']}")
        return report

    def tcp(self, control, delay_ms):
        """Goodput of one connection in Mbit/s, without its beginning."""
        skip = str(2 + delay_ms // 25)
        end = self.iperf("-C", control, "-O", skip)["end"]
        return end["sum_received"]["bits_per_second"] / 1e6

    def start(self, where, *command):
        return subprocess.Popen(
            [self.binary, "lab", "exec", "--name", self.name, where, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def udp(self, rate_mbit):
        """Of a little more than the link carries: what arrives at the far host, in Mbit/s with
        headers of IP, while the queue is full. Not what a program gets: that may be too slow. None
        if the sender was too slow."""
        size = str(self.mtu - UDP_HEADER_BYTES)
        flood = ("-u", "-b", f"{rate_mbit * 1.05}M", "-l", size, "-t", str(MEASURE_S + 4))
        runs = [self.start("near", "iperf3", "-c", FAR, *flood)]
        for where, way in (("near", "out"), ("far", "in")):
            count = (sys.executable, "-c", COUNT, way, "3", str(MEASURE_S - 1))
            runs.append(self.start(where, *count))
        sent, came = [float(run.communicate(timeout=60)[0]) for run in runs[1:]]
        runs[0].communicate(timeout=60)
        return came if sent > rate_mbit else None

    def lateness(self):
        """Since the last time."""
        show = json.loads(self.lab("show", "--json").stdout)
        self.reset()
        return show["lateness_us"], show["valid"]

    def reset(self):
        path = f"/run/strait/lab-{self.name}/control"
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(path)
            control.sendall(b"reset\n")
            control.recv(1000)

    def doctor(self):
        """Bandwidth as our own probe sees it, in Mbit/s, and the round trip."""
        listener = self.serve(
            "far", self.binary, "doctor", "--listen", f"{FAR}:0", "--json", *["--insecure"] * 2
        )
        text = ""
        while not text.endswith("}\n"):
            text += listener.stdout.readline()
        at = json.loads(text)["listening"]
        done = self.lab(
            "exec", "near", "--", self.binary, "doctor", "--peer", at, "--json",
            *["--insecure"] * 2, timeout=200,
        )
        listener.terminate()
        peer = json.loads(done.stdout)["peer"]
        found = peer["bandwidth"]
        if found is None:
            return None
        return found["low_bits_per_s"] / 1e6, found["high_bits_per_s"] / 1e6, peer["rtt_ms"]


def cell(lab, rate, delay):
    """Everything about one rate and one delay."""
    lab.link(rate, delay)
    time.sleep(SETTLE_S)  # Queues may hold what was measured before.
    lab.reset()
    mean, p99 = lab.pings()
    tcp = {control: lab.tcp(control, delay) for control in ("cubic", "bbr")}
    udp = lab.udp(rate)
    late, valid = lab.lateness()
    tcp_share = (lab.mtu - TCP_HEADER_BYTES) / lab.mtu
    row = {
        "mtu": lab.mtu,
        "rate_mbit": rate,
        "delay_ms": delay,
        "cubic_mbit": tcp["cubic"],
        "bbr_mbit": tcp["bbr"],
        "udp_mbit": udp,
        "cubic_error": tcp["cubic"] / (rate * tcp_share) - 1,
        "bbr_error": tcp["bbr"] / (rate * tcp_share) - 1,
        "udp_error": None if udp is None else udp / rate - 1,
        "rtt_mean_ms": mean,
        "rtt_p99_ms": p99,
        "late_us": late,
        "valid": valid,
    }
    shown = "   slow sender  " if udp is None else f"{udp:8.2f} {row['udp_error']:+7.2%}"
    print(
        f"{lab.mtu:5} {rate:5} {delay:4} | {tcp['cubic']:8.2f} {row['cubic_error']:+7.2%} "
        f"{tcp['bbr']:8.2f} {row['bbr_error']:+7.2%} {shown} | "
        f"{mean:8.3f} {p99:8.3f} | {late['mean']:5.0f} {late['p99']:6.0f} {late['max']:7.0f} "
        f"{'yes' if valid else 'NO'}",
        flush=True,
    )
    return row


def total(lab, gbit, both):
    """Two connections each way at a rate that is to be in all: what came through."""
    lab.link(gbit * 1000 // (2 if both else 1), 5)
    lab.reset()
    command = [lab.binary, "lab", "exec", "--name", lab.name, "near", "--", "iperf3", "-c", FAR]
    command += ["-J", "-t", str(MEASURE_S), "-O", "1", "-C", "cubic", "-P", "2"]
    ways = [["-p", "5201"]] + ([["-p", "5202", "-R"]] if both else [])
    runs = [subprocess.Popen(command + way, stdout=subprocess.PIPE, text=True) for way in ways]
    came = 0
    for run in runs:
        out, _ = run.communicate(timeout=120)
        came += json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e9
    late, valid = lab.lateness()
    print(
        f"{lab.mtu:5} {gbit} Gbit/s in all, {'both ways' if both else 'one way'}: {came:.2f}, late "
        f"by {late['mean']:.0f} us in the mean, p99 {late['p99']:.0f}, {'' if valid else 'NOT '}"
        "valid",
        flush=True,
    )
    return {"mtu": lab.mtu, "wanted": gbit, "both": both, "gbit": came, "late_us": late,
            "valid": valid}


def measure(binary, quick):
    rows, totals, probes = [], [], []
    print(
        "  mtu  Mbit   ms |    cubic   error      bbr   error      udp   error | rtt mean      p99 "
        "| late us: mean, p99, max, valid"
    )
    for mtu in MTUS[:1] if quick else MTUS:
        with Lab(binary, mtu) as lab:
            for rate in (20, 200, 1000) if quick else RATES_MBIT:
                for delay in DELAYS_MS[:2] if quick else DELAYS_MS:
                    rows.append(cell(lab, rate, delay))
            for rate in (50,) if quick else RATES_MBIT[:5]:
                lab.link(rate, 5)
                found = lab.doctor()
                probes.append({"mtu": mtu, "rate_mbit": rate, "found": found})
                shown = "nothing" if found is None else "%.1f to %.1f Mbit/s, rtt %.2f ms" % found
                print(f"{mtu:5} strait doctor at {rate} Mbit/s: {shown}", flush=True)
            for gbit in (2, 20) if quick else TOTALS_GBIT:
                totals += [total(lab, gbit, False), total(lab, gbit, True)]
    return {"cells": rows, "doctor": probes, "totals": totals}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few cells only")
    parser.add_argument("--json", metavar="FILE", help="keep all figures")
    args = parser.parse_args()
    binary = os.path.abspath(os.environ.get("STRAIT_BIN", "build/release/strait"))
    if not os.access(binary, os.X_OK):
        sys.exit("STRAIT_BIN must name the built program")
    if shutil.which("iperf3") is None:
        raise Skip("iperf3 is not installed")
    found = measure(binary, args.quick)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)

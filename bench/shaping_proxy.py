#!/usr/bin/env python3
"""How exactly `strait proxy` is the link that it was asked to be.

    bench/shaping_proxy.py [--bin build/release/strait] [--rates 20,100] [--delays 0,50]

For each rate (Mbit/s) and delay (ms, one way): what iperf3 gets through it, alone and with four
streams at once (the fairest and the least fair of them); what `strait doctor` finds, the probe that
members measure their links with (from, to); how much longer than two delays a byte
takes there and back on the idle link (median of 21, less what the same takes without a link); how
late the link was by its own account; and what it costs of one core, also per Gbit/s. Needs iperf3.
"""

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
ECHOES = 21


def free_port():
    with socket.create_server((HOST, 0)) as free:
        return free.getsockname()[1]


class Echo:
    """Says each byte again at once."""

    def __init__(self):
        self.socket = socket.create_server((HOST, 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            conn, _ = self.socket.accept()
            conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with conn:
                while byte := conn.recv(1):
                    conn.sendall(byte)


def round_trip_s(port):
    """The median of some, on a connection that has been used."""
    times = []
    with socket.create_connection((HOST, port)) as conn:
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(ECHOES + 1):
            begin = time.perf_counter()
            conn.sendall(b"x")
            conn.recv(1)
            times.append(time.perf_counter() - begin)
            time.sleep(0.005)
    return statistics.median(times[1:])


class Link:
    """A proxy with one route for each target."""

    def __init__(self, binary, rate_mbit, delay_ms, targets):
        routes = [f"{HOST}:0={HOST}:{port}" for port in targets]
        shape = ["--rate", f"{rate_mbit}mbit", "--delay", f"{delay_ms}ms"]
        self.child = subprocess.Popen(
            [binary, "proxy", "--json", "--every", "0", *shape, *routes],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = json.loads(self.child.stdout.readline())
        self.ports = [int(r["listen"].rsplit(":", 1)[1]) for r in ready["routes"]]

    def cpu_s(self):
        with open(f"/proc/{self.child.pid}/schedstat", encoding="utf-8") as f:
            return int(f.read().split()[0]) * 1e-9

    def end(self):
        self.child.stdin.close()
        last = json.loads(self.child.stdout.read().splitlines()[-1])
        self.child.wait()
        return last


def iperf(server_port, client_port, seconds, streams):
    """Bits per second of each stream, as the receiver counts them, after a second."""
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "-p", str(server_port)], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    for _ in range(200):
        time.sleep(0.02)
        listening = open("/proc/net/tcp6", encoding="utf-8").read() + open(
            "/proc/net/tcp", encoding="utf-8").read()
        if f":{server_port:04X} " in listening:
            break
    done = subprocess.run(
        ["iperf3", "-c", HOST, "-p", str(client_port), "-t", str(seconds), "-O", "1", "-J", "-P",
         str(streams)],
        stdout=subprocess.PIPE, text=True, timeout=seconds + 60)
    if server.poll() is None:
        server.terminate()
    server.wait()
    answer = json.loads(done.stdout)
    if "error" in answer:
        sys.exit(f"iperf3: {answer['error']}")
    return [s["receiver"]["bits_per_second"] for s in answer["end"]["streams"]]


class Doctor:
    """A member that only answers doctors."""

    def __init__(self, binary):
        self.binary = binary
        self.child = subprocess.Popen(
            [binary, "doctor", "--listen", f"{HOST}:0", "--json", "--insecure", "--for",
             "600s"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        text = ""
        while not text.endswith("}\n"):
            text += self.child.stdout.readline()
        self.port = int(json.loads(text)["listening"].rsplit(":", 1)[1])

    def bandwidth(self, port):
        """In Mbit/s, from and to; None if it found nothing."""
        done = subprocess.run(
            [self.binary, "doctor", "--peer", f"tcp://{HOST}:{port}", "--json", "--insecure"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=300)
        found = json.loads(done.stdout)["peer"]["bandwidth"]
        return found and (found["low_bits_per_s"] * 1e-6, found["high_bits_per_s"] * 1e-6)

    def end(self):
        self.child.terminate()
        self.child.communicate()


def measure(binary, rate, delay, seconds, bare_s):
    echo, port, doctor = Echo(), free_port(), Doctor(binary)
    link = Link(binary, rate, delay, [port, echo.port, doctor.port])
    extra_s = round_trip_s(link.ports[1]) - bare_s - 2e-3 * delay
    cpu, begin = link.cpu_s(), time.monotonic()
    (alone,) = iperf(port, link.ports[0], seconds, 1)
    cpu, took = link.cpu_s() - cpu, time.monotonic() - begin
    four = iperf(port, link.ports[0], seconds, 4)
    probe = doctor.bandwidth(link.ports[2])
    doctor.end()
    last = link.end()
    gbit = alone * (seconds + 1) * 1e-9  # The second that is left out was work too.
    return {"rate": rate, "delay": delay, "alone": alone * 1e-6, "extra_us": extra_s * 1e6,
            "cpu": cpu / (seconds + 1), "cpu_per_gbit": cpu / gbit, "four": sum(four) * 1e-6,
            "fair": min(four) / max(four), "late": last["there"]["late_mean_us"],
            "late_max": last["there"]["late_max_us"], "took": took,
            "probe": "none" if probe is None else "%.1f-%.1f" % probe}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=TOP / "build" / "release" / "strait")
    parser.add_argument("--rates", default="20,50,100,200,500,1000", help="Mbit/s")
    parser.add_argument("--delays", default="0,5,50,150", help="ms, one way")
    parser.add_argument("--seconds", type=int, default=4, help="of each transfer")
    args = parser.parse_args()
    if shutil.which("iperf3") is None:
        sys.exit("shaping_proxy.py: iperf3 is missing: tools/deps test installs it")
    bare_s = round_trip_s(Echo().port)
    print(f"without a link: {bare_s * 1e6:.0f} us there and back")
    print("|  rate | delay | iperf3 | error | byte later by | late, mean | max | 4 streams "
          "| min/max | probe | core | core per Gbit/s |")
    print("| ---: " * 12 + "|")
    for rate in map(int, args.rates.split(",")):
        for delay in map(int, args.delays.split(",")):
            m = measure(args.bin, rate, delay, args.seconds, bare_s)
            print(f"| {rate:5} | {delay:3} ms | {m['alone']:6.1f} | {m['alone'] / rate - 1:+6.1%} "
                  f"| {m['extra_us']:4.0f} us | {m['late']:4.0f} us | {m['late_max']:5.0f} us "
                  f"| {m['four']:6.1f} | {m['fair']:.3f} | {m['probe']} | {m['cpu']:5.1%} "
                  f"| {m['cpu_per_gbit']:5.1%} |", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How long do sums take to eight workers, directly and by a tree, all of them and three quarters
held back? Real processes behind emulated network cards (`strait run --on lab`), and the simulator.

    STRAIT_BIN=build/release/strait bench/broadcast_lab.py [--on sim|lab] [--clocks N] [--json FILE]

The lab needs root. Exit status 77 with a reason if there cannot be one. A table goes to standard
output: seconds of a broadcast, the mean of all but those of the first two clocks (in which workers
meet), with that of what was held back to the end, and how many times as fast as directly that is.
Of runs/flow/broadcast.yaml nearly all of a clock is the broadcast.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
FILE = pathlib.Path(__file__).resolve().parent.parent / "runs" / "flow" / "broadcast.yaml"
TREE = "sync.tree={degree: 2, depth: 3}"
HELD = "sync.broadcast=dvf:delta=1e-3 | bitmap | plain"
WAYS = {
    "directly": [],
    "by trees": [TREE],
    "directly, held back": [HELD],
    "by trees, held back": [TREE, HELD],
}


def run(strait, args, on, settings, folder):
    """Seconds of a broadcast, and the part of the sums' entries that was sent."""
    command = [strait, "run", str(FILE), "--on", on, "-o", folder, "--json",
               "--set", f"stop.clocks={args.clocks}"]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    with open(os.path.join(folder, "scalars.csv"), encoding="utf-8") as file:
        times = [float(row["time_s"]) for row in csv.DictReader(file)]
    summary = json.loads(done.stdout)
    servers = summary["sparsified"]["servers"]
    sent = servers["sent_elements"] / servers["elements"] if servers["elements"] > 0 else 1
    return (summary["time_s"] - times[1]) / (len(times) - 1), sent


def measure(strait, args, on):
    rows = {}
    for way, settings in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            took, sent = run(strait, args, on, settings, os.path.join(folder, "r"))
        rows[way] = {"broadcast_s": took, "sent": sent}
        first = rows["directly"]["broadcast_s"]
        rows[way]["speed"] = first / took
        print(f"{on:4} {way:20} {took:8.3f} s {first / took:6.2f} x {100 * sent:6.1f} % sent",
              flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", choices=["sim", "lab"], help="one of them only")
    parser.add_argument("--clocks", type=int, default=11, help="of each run, 3 at least (11)")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    strait = os.environ.get("STRAIT_BIN", "strait")
    if args.on != "sim" and os.geteuid() != 0:
        print("SKIPPED: a lab needs root; --on sim does not", file=sys.stderr)
        return SKIPPED
    figures = {on: measure(strait, args, on) for on in ([args.on] if args.on else ["sim", "lab"])}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())

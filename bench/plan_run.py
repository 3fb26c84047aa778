#!/usr/bin/env python3
"""Do runs around a centre take the time that their plans say?

    STRAIT_BIN=build/release/strait bench/plan_run.py [--maps b4,internet2] [--on sim,local,lab]
        [--plans best,reserve,middling,shortest] [--clocks N] [--json]

Each run file of runs/apsp/ begins with several plans of `strait plan place`: the best one, the best
that leaves 5 % of each link, the best for a server in a middling place, and shortest paths to the
best server; simulated, as processes behind proxies, and in a lab (root). Shown are what the planner
says of that plan, what rounds take in the end (the median of the last three), and that as a part of
what it says of this plan and of the best one: sites leave a plan that is not good, after ten
seconds.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

RUNS = pathlib.Path(__file__).resolve().parent.parent / "runs" / "apsp"
MAPS = {"b4": "800MB", "internet2": "300MB"}


def strait(*args):
    done = subprocess.run([os.environ["STRAIT_BIN"], *args], text=True, capture_output=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def plans(name):
    """The best plan, and simpler ones, by what they are called."""
    ask = ["plan", "place", str(RUNS / f"../../topologies/{name}.json"), "--bytes", MAPS[name],
           "--model", "pipelined", "--duplex", "full", "--json"]
    best = json.loads(strait(*ask))
    places = sorted(best["candidates"], key=lambda c: c["time_s"])
    middling = places[len(places) // 2]["server"]
    return {"best": best,
            "reserve": json.loads(strait(*ask, "--reserve", "5%")),
            "middling": json.loads(strait(*ask, "--server", middling)),
            "shortest": json.loads(strait(*ask, "--server", best["server"], "--paths", "1"))}


def rounds(name, plan, ground, clocks, folder):
    """Seconds of a round, in the end."""
    planned = folder / "plan.json"
    planned.write_text(json.dumps(plan))
    record = tempfile.mkdtemp(dir=folder)
    strait("run", str(RUNS / f"{name}.yaml"), "--on", ground, "-o", f"{record}/r", "--quiet",
           "--set", f"between.plan={planned}", "--set", f"stop.clocks={clocks}", "--no-prediction")
    with open(f"{record}/r/scalars.csv", encoding="utf-8") as f:
        ends = [float(row["time_s"]) for row in csv.DictReader(f)]
    took = [b - a for a, b in zip(ends, ends[1:])]
    return statistics.median(took[-3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", default=",".join(MAPS))
    parser.add_argument("--on", default="sim,local,lab")
    parser.add_argument("--plans", default="best,reserve,middling,shortest")
    parser.add_argument("--clocks", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    if not args.json:
        print(f"{'map':10} {'plan':9} {'server':12} {'on':6} {'planned':>9} {'took':>9} "
              f"{'of plan':>8} {'of best':>8}")
    with tempfile.TemporaryDirectory(prefix="strait-plan-run-") as folder:
        for name in args.maps.split(","):
            best = None
            for what, plan in plans(name).items():
                best = best or plan["time_s"]
                if what not in args.plans.split(","):
                    continue
                for ground in args.on.split(","):
                    took = rounds(name, plan, ground, args.clocks, pathlib.Path(folder))
                    rows.append({"map": name, "plan": what, "server": plan["server"], "on": ground,
                                 "planned_s": plan["time_s"], "took_s": took,
                                 "of_plan": took / plan["time_s"], "of_best": took / best})
                    if not args.json:
                        print(f"{name:10} {what:9} {plan['server']:12} {ground:6} "
                              f"{plan['time_s']:7.2f} s {took:7.2f} s "
                              f"{took / plan['time_s']:8.3f} {took / best:8.3f}",
                              flush=True)
    if args.json:
        print(json.dumps({"schema": 1, "rows": rows}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How long does `strait plan tree` take, and how good is its heuristic?

    STRAIT_BIN=build/release/strait bench/plan_tree.py [PART ...] [--runs N] [--time S]

Parts, all by default: racks are clusters of equal racks; measured are random costs between all
pairs; gap is random clusters, by the heuristic and by the solver. Tables go to standard output; the
problems are the same each time.
"""

import argparse
import json
import os
import random
import subprocess
import sys

# Aggregations, racks of each, workers of each rack, degree, depth.
RACKS = [(1, 2, 3, 5, 3), (1, 2, 5, 5, 3), (2, 2, 5, 5, 3), (2, 4, 5, 5, 3), (2, 4, 10, 5, 3),
         (2, 8, 5, 5, 3), (2, 10, 5, 5, 3), (2, 4, 25, 5, 4), (4, 10, 5, 5, 4)]
LEAF_COSTS = (0, 0.2)
SERVERS = 10
SEED = 1


def places(sizes, servers, rng):
    """sizes[agg][edge] workers; servers evenly, or where @rng puts them."""
    workers = [{"id": f"w{a}.{e}.{i}", "agg": a, "edge": e}
               for a, edges in enumerate(sizes) for e, size in enumerate(edges)
               for i in range(size)]
    at = [rng.randrange(len(workers)) if rng else s * len(workers) // servers
          for s in range(servers)]
    return {"workers": workers,
            "servers": [{**workers[w], "id": f"s{s}"} for s, w in enumerate(at)]}


def plan(problem, *options):
    """The answer, or None if there is no tree."""
    done = subprocess.run([os.environ["STRAIT_BIN"], "plan", "tree", "-", "--json", *options],
                          input=json.dumps(problem), text=True, capture_output=True, check=False)
    if done.returncode == 1 and "STRAIT-0406" in done.stderr:
        return None
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def row(name, problem, limit):
    exact = plan(problem, "--time", f"{limit}s")
    grown = plan(problem, "--heuristic")
    print(f"{name:>34} {exact['seconds']:9.3f} {exact['objective']:10.4g} {exact['gap']:8.2%} "
          f"{grown['seconds']:9.3f} {grown['objective'] / exact['objective'] - 1:8.2%}", flush=True)


def head(title):
    print(f"\n{title:>34}   seconds  objective      gap heuristic    above")


def racks(args):
    head("workers, racks, T, H, leaf cost")
    for aggs, edges, each, degree, depth in RACKS:
        for leaf in LEAF_COSTS:
            problem = places([[each] * edges] * aggs, SERVERS, None)
            problem.update(degree=degree, depth=depth, leaf_cost=leaf)
            name = f"{aggs * edges * each}, {aggs}x{edges}x{each}, {degree}, {depth}, {leaf}"
            row(name, problem, args.time)


def measured(args):
    head("workers, T, H, leaf cost")
    rng = random.Random(SEED)
    for n in range(8, 21, 2):
        for leaf in (0, 0.5):
            names = [f"w{i}" for i in range(n)] + ["s"]
            problem = {"workers": [{"id": w} for w in names[:-1]], "servers": [{"id": "s"}],
                       "costs": {a: {b: round(rng.random(), 3) for b in names[:-1]} for a in names},
                       "degree": 3, "depth": 4, "leaf_cost": leaf}
            row(f"{n}, 3, 4, {leaf}", problem, args.time)


def draw(rng):
    """A cluster of up to three aggregations, five racks each, eight workers each."""
    sizes = [[rng.randint(1, 8) for _ in range(rng.randint(1, 5))]
             for _ in range(rng.randint(1, 3))]
    problem = places(sizes, rng.randint(1, 10), rng)
    problem.update(degree=rng.randint(1, 8), depth=rng.randint(1, 5),
                   leaf_cost=rng.choice((0, 0.05, 0.2, 0.5, 1)))
    return problem


def gap(args):
    rng = random.Random(SEED)
    above, unproven, seconds = [], 0, []
    while len(above) < args.runs:
        problem = draw(rng)
        exact = plan(problem, "--time", f"{args.time}s")
        if exact is None:
            continue
        grown = plan(problem, "--heuristic")
        unproven += not exact["optimal"]
        seconds.append(exact["seconds"])
        above.append(grown["objective"] / exact["objective"] - 1)
    above.sort()
    seconds.sort()
    n = len(above)
    print(f"\n{n} random clusters: the heuristic's tree is dearer than the solver's by "
          f"{sum(above) / n:.2%} in the mean, p90 {above[n * 9 // 10]:.2%}, "
          f"p99 {above[n * 99 // 100]:.2%}, at most {above[-1]:.2%}; "
          f"the same in {sum(a < 1e-9 for a in above)}.")
    print(f"The solver: median {seconds[n // 2]:.3f} s, p90 {seconds[n * 9 // 10]:.3f} s; "
          f"{unproven} not proven within {args.time} s.")


def main():
    parts = {"racks": racks, "measured": measured, "gap": gap}
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--runs", type=int, default=1000, help="clusters of gap")
    parser.add_argument("--time", type=float, default=10, help="seconds for the solver")
    args = parser.parse_args()
    if "STRAIT_BIN" not in os.environ:
        parser.error("STRAIT_BIN must name the built program")
    for name in args.parts or parts:
        if name not in parts:
            parser.error(f"there is no {name}: {', '.join(parts)}")
        parts[name](args)


if __name__ == "__main__":
    main()

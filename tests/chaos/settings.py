"""What is trained while processes are killed and worse: a run file for each preset and barrier, and
which faults it promises to survive without losing anything (docs/OPERATING.md has the tables).

The job "synthetic" adds whole numbers, so that an exact model is known beforehand: element e holds
its weight times the number of updates. "logreg" has rounding, and is compared with a run that
nobody disturbed, bit by bit."""

import dataclasses

LINKS = """
  links:
    - {between: [a, b], rate: 400mbit, rtt: 6ms}
    - {between: [a, c], rate: 400mbit, rtt: 10ms}
    - {between: [b, c], rate: 400mbit, rtt: 14ms}
"""
ONE_REGION = "topology:\n  regions: [a]\n"
THREE_REGIONS = "topology:\n  regions: [a, b, c]" + LINKS
ONE_SITE = "servers: [{region: a}, {region: a, lanes: 2}]\nworkers: [{region: a, count: 3}]\n"
STRETCHED = """\
servers: [{region: a}, {region: b}]
workers: [{region: a}, {region: b}, {region: c}]
"""
THREE_SITES = "sites: [{region: a, workers: 2}, {region: b}, {region: c}]\n"
ELEMENTS = 6000
SYNTHETIC = (
    "job: {name: synthetic, options: {elements: %d, chunk: 1000, compute_ms: 10}}\n" % ELEMENTS
)

# Faults of processes and of their machine.
SERVERS = {"kill-server"}
WORKERS = {"kill-worker", "freeze-long"}
HOSTS = {"freeze", "descriptors", "memory", "full-disk"}
LINK = {"kill-link", "cut", "cut-one", "slow", "spike"}


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    body: str
    exact: frozenset  # Nothing is lost under these ...
    hard: frozenset  # ... and under these updates may be lost, but never doubled.
    sites: tuple = ("chaos",)
    bits: bool = False  # Compare with an undisturbed run.


def setting(name, world, sync, exact, hard, job=SYNTHETIC, **rest):
    body = world + job + sync + "evaluate: {every: 0}\n"
    return Setting(name, body, frozenset(exact), frozenset(exact | hard), **rest)


ABC = ("a", "b", "c")
SETTINGS = [
    setting(
        "lan",
        ONE_REGION + ONE_SITE,
        "sync: {barrier: bsp, delivery: pull, deadline: 100s}\ncheckpoint: {every: 5}\nshards: 6\n",
        SERVERS | HOSTS,
        WORKERS,
    ),
    setting(
        "lan-broadcast",
        ONE_REGION + ONE_SITE,
        "sync: {barrier: bsp, delivery: broadcast, deadline: 100s}\ncheckpoint: {every: 50}\n",
        SERVERS | HOSTS,
        WORKERS,
    ),
    setting(
        "ssp",
        ONE_REGION + ONE_SITE,
        "sync: {barrier: ssp, staleness: 2, delivery: pull}\ncheckpoint: {every: 5}\n",
        SERVERS | HOSTS,
        WORKERS,
    ),
    setting(
        "tap",
        ONE_REGION + ONE_SITE,
        "sync: {barrier: tap, delivery: broadcast}\ncheckpoint: {every: 50}\n",
        SERVERS | HOSTS,
        WORKERS,
    ),
    setting(
        "plain",
        THREE_REGIONS + STRETCHED,
        "sync: {barrier: bsp, delivery: pull}\ncheckpoint: {every: 5}\n",
        SERVERS | HOSTS | LINK,
        WORKERS,
    ),
    setting(
        "gaia",
        THREE_REGIONS + THREE_SITES,
        "sync: {barrier: bsp, delivery: pull}\nbetween: {preset: gaia}\ncheckpoint: {every: 5}\n",
        SERVERS | HOSTS | LINK,
        WORKERS,
        sites=ABC,
    ),
    setting(
        "gaia-broadcast",
        THREE_REGIONS + THREE_SITES,
        "sync: {barrier: ssp, delivery: broadcast}\nbetween: {preset: gaia}\n"
        "checkpoint: {every: 5}\n",
        HOSTS | LINK,
        SERVERS | WORKERS,
        sites=ABC,
    ),
    setting(
        "async",
        THREE_REGIONS + THREE_SITES,
        "sync: {barrier: tap, delivery: pull}\nbetween: {preset: async}\ncheckpoint: {every: 5}\n",
        SERVERS | HOSTS | LINK,
        WORKERS,
        sites=ABC,
    ),
    setting(
        "parameter-flow",
        ONE_REGION + "servers: [{region: a}]\nworkers: [{region: a, count: 4}]\n",
        'sync: {preset: parameter-flow, filter: "dvf:delta=0.5 | auto", '
        "tree: {degree: 2, depth: 2}}\ncheckpoint: {every: 50}\n",
        HOSTS,
        SERVERS | WORKERS,
    ),
    setting(
        "central",
        THREE_REGIONS + THREE_SITES,
        "sync: {barrier: bsp, delivery: pull}\nbetween: {preset: central}\n"
        "checkpoint: {every: 5}\n",
        HOSTS | LINK,
        SERVERS | WORKERS,
        sites=ABC,
    ),
    setting(
        "bits",
        ONE_REGION + ONE_SITE,
        "sync: {barrier: bsp, delivery: pull, order: fixed}\ncheckpoint: {every: 5}\n",
        SERVERS | HOSTS,
        WORKERS,
        job="job: {name: logreg}\ncompute: {time: 10ms}\n",
        bits=True,
    ),
]


def weight(element):
    """What the job "synthetic" adds to an element with each update."""
    return 1 + element % 3

"""The log of a site's members: every line says whose it is."""

import json

from site_of import LIMIT_S

JOB = ("--job", "logreg", "--option", "samples=200", "--option", "nonzeros=5")
JSON = ("--log", "info", "--log-format", "json")


def origins(child):
    """Who is named in its log, which is on standard error; notes for people are not JSON."""
    lines = [json.loads(line) for line in child.said().splitlines() if line.startswith("{")]
    return {(line.get("site"), line.get("member")) for line in lines}


def test_lines_name_the_site_and_the_member(site):
    many = ("--servers", "2", *JSON)
    servers = [site.server("--workers", "2", *JOB, *many)]
    first = servers[0].first
    servers.append(site.server("--index", "1", "--first", first, *many))
    workers = [
        site.run("worker", "--join", first, "--insecure", "--rank", rank, *JSON)
        for rank in range(2)
    ]
    for worker in workers:
        worker.says("^joined site home")
    servers[1].kill()
    for i, worker in enumerate(workers):
        worker.says("home/s1 is down")
        # The site's name is known when it was met.
        assert origins(worker) == {(None, f"worker-{i}"), ("home", f"worker-{i}")}
    assert origins(servers[0]) == {("home", "server-0")}
    assert origins(servers[1]) == {(None, "server-1"), ("home", "server-1")}


def test_text_says_it_in_brackets(site):
    server = site.server("--workers", "1", *JOB, "--log", "info")
    worker = site.run("worker", "--join", server.first, "--insecure", "--log", "info")
    worker.says(r"INFO  net\[worker\]: home/s0 is up")  # The site gives it a rank.
    worker.says("^joined site home")
    server.says(r"INFO  net\[home/server-0\]: .* is up")
    server.kill()
    worker.says(r"INFO  net\[home/worker-0\]: home/s0 is down")

"""Tables that do not fit, and tables that are dropped, with real processes."""

import json
import resource

import pytest

from site_of import until


def limited(bytes_max):
    """In the child: as ulimit -v."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max))


def sanitized(strait):
    """AddressSanitizer needs terabytes of addresses."""
    return "address" in json.dumps(strait.json("version"))


def drop(strait, server, *options):
    return strait.run("table", "drop", "model", "--join", server.first, "--insecure", *options)


def refused(puppet, line):
    puppet.begin(line)
    answer = puppet.lines.next()
    assert answer.startswith("error "), answer
    return answer


def test_a_model_larger_than_the_limit_ends_the_worker_with_the_reason(site, strait):
    server = site.server("--lanes", "3", "--delivery", "broadcast", "--table-memory", "12MiB")
    text = strait.fails(77, "STRAIT-0208", "worker", "--join", server.first, "--insecure", "--job",
                        "mf", "--clocks", "2", "--option", "items=100000", "-q")
    assert "needs" in text and "of the 4.19 MB that tables may take" in text
    assert "--table-memory" in text
    # No lane has a part of it, so a model that fits is trained.
    strait.ok("worker", "--join", server.first, "--insecure", "--job", "mf", "--clocks", "2", "-q")
    assert server.stop()["clock"] == 2


def test_a_server_without_memory_answers_too(site, strait):
    if sanitized(strait):
        pytest.skip("ulimit -v and AddressSanitizer exclude each other")
    strait.env["OPENBLAS_NUM_THREADS"] = "1"
    server = site.server("--lanes", "2", "--delivery", "broadcast", "--table-memory", "1TiB",
                         preexec_fn=limited(400 << 20))
    w = site.worker(server.first)
    text = refused(w, "table model 4000 65536")
    assert "table model needs 1.05 GB on lane" in text and "ulimit -v" in text
    assert w.do("table model 16 65536") == [0]
    w.do("join")
    assert w.do("rounds 5 model 1") == [6]
    assert w.do("read model") == [5, 5]
    assert "away" not in server.said() and "reconnect" not in server.said()
    server.stop()


def test_a_worker_without_memory_for_its_copy_says_so(site, strait):
    if sanitized(strait):
        pytest.skip("ulimit -v and AddressSanitizer exclude each other")
    server = site.server("--delivery", "broadcast", "--workers", "1", "--table-memory", "1TiB")
    text = strait.fails(77, "STRAIT-0208", "worker", "--join", server.first, "--insecure", "--job",
                        "mf", "--clocks", "2", "--option", "items=6000000", "-q",
                        preexec_fn=limited(400 << 20))
    assert "on worker" in text and "ulimit -v" in text
    server.stop()


def test_an_operator_drops_a_table_that_nobody_uses(site, strait):
    server = site.server("--lanes", "2", "--workers", "1", "--store", "kept",
                         "--checkpoint-every", "1")
    done = drop(strait, server)
    assert done.returncode == 1 and "the site has no table model" in done.stderr
    w = site.worker(server.first, "w0", 0)
    w.join(rows=400, width=1000)
    w.do("table other 300 1000")
    w.do("rounds 3 model 1")
    done = drop(strait, server)
    assert done.returncode == 1 and "STRAIT-0209" in done.stderr
    assert "model is used by worker w0" in done.stderr
    w.kill()
    until(lambda: drop(strait, server).returncode == 0)
    assert "the site has no table model" in drop(strait, server).stderr
    # The name is free, also for another shape, and a restart does not bring the old one back.
    server.kill()
    server = site.server("--lanes", "2", "--workers", "1", "--store", "kept",
                         "--checkpoint-every", "1")
    w = site.worker(server.first, "w0", 0)
    w.do("table model 5 7")
    w.do("table other 300 1000")
    w.do("join")
    assert w.do("read model") == [0, 0]
    w.do("push model 2")
    w.do("clock")
    assert w.do("read model") == [2, 2]
    server.stop()

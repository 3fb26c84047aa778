"""A site of real processes: servers with what they say, and workers on strings (puppet.c)."""

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import time

LIMIT_S = 90
PUPPET = os.environ.get("STRAIT_PUPPET")


def until(condition, limit_s=LIMIT_S):
    """Ask until the answer is yes; return it."""
    end = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)


class Lines:
    """The lines of a child's output, as they come."""

    def __init__(self, child, errors):
        self.child = child
        self.errors = errors
        self.buffer = b""

    def next(self):
        end = time.monotonic() + LIMIT_S
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            ready, _, _ = select.select([self.child.stdout], [], [], max(left, 0))
            assert ready, "says nothing: " + self.errors.read_text()
            chunk = os.read(self.child.stdout.fileno(), 65536)
            assert chunk, "ended: " + self.errors.read_text()
            self.buffer += chunk
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()


class Child:
    """A process whose errors are kept, and who must not leave a sanitizer's report."""

    def __init__(self, strait, name, argv, **options):
        self.strait = strait
        self.errors = strait.folder / f"{name}.{id(self)}.err"
        with self.errors.open("w") as errors:
            self.child = subprocess.Popen(
                list(map(str, argv)),
                cwd=strait.folder,
                env=strait.env,
                stdout=subprocess.PIPE,
                stderr=errors,
                **options,
            )
        # Nobody reads while a test looks elsewhere, and a full pipe would stop the child.
        fcntl.fcntl(self.child.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.lines = Lines(self.child, self.errors)

    def said(self):
        return self.errors.read_text()

    def says(self, pattern):
        """Wait until that is on its standard error."""
        until(lambda: re.search(pattern, self.said(), re.M))

    def kill(self):
        self.child.kill()
        self.child.wait()

    def close(self):
        if self.child.poll() is None:
            self.kill()
        self.child.stdout.close()
        if self.child.stdin:
            self.child.stdin.close()
        assert "Sanitizer" not in self.said() and "runtime error" not in self.said(), self.said()


class Server(Child):
    """A `strait server --json` that is ready."""

    def __init__(self, strait, *options, listen="tcp://127.0.0.1:0", insecure=True, **process):
        options = ["--insecure", *options] if insecure else list(options)
        argv = [strait.bin, "server", "--json", "--listen", listen, *options]
        super().__init__(strait, "server", argv, stdin=subprocess.DEVNULL, **process)
        self.ready = self.event()
        assert self.ready["event"] == "ready"
        self.addresses = self.ready["addresses"]
        self.first = self.addresses[0]

    def event(self):
        event = json.loads(self.lines.next())
        assert event["schema"] == 1
        return event

    def stop(self, signum=signal.SIGTERM):
        """End it as a person would; return its last event."""
        self.child.send_signal(signum)
        event = self.event()
        assert event["event"] == "stopped"
        assert self.child.wait(LIMIT_S) == 0, self.said()
        return event


class Puppet(Child):
    """A worker that does what it is told."""

    def __init__(self, strait, first, name="w0", rank=-1, site="home", certs=None):
        argv = [PUPPET, first, site, name, rank] + ([certs] if certs else [])
        super().__init__(strait, name, argv, stdin=subprocess.PIPE)

    def begin(self, line):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def end(self):
        answer = self.lines.next().split()
        assert answer[0] == "ok", (answer, self.said())
        return [float(word) for word in answer[1:]]

    def do(self, line):
        self.begin(line)
        return self.end()

    def join(self, rows=4, width=100, table="model"):
        self.do(f"table {table} {rows} {width}")
        return self.do("join")


class Site:
    """All that was started, ended with the test."""

    def __init__(self, strait):
        self.strait = strait
        self.children = []

    def server(self, *options, **named):
        if "--site" not in options and named.get("insecure", True) and "--first" not in options:
            options = ("--site", "home", *options)
        self.children.append(Server(self.strait, *options, **named))
        return self.children[-1]

    def worker(self, *args, **named):
        self.children.append(Puppet(self.strait, *args, **named))
        return self.children[-1]

    def crew(self, first, count, **named):
        """Workers that have joined."""
        workers = [self.worker(first, f"w{i}", i) for i in range(count)]
        for w in workers:
            w.do("table model {rows} {width}".format(**{"rows": 4, "width": 100, **named}))
        for w in workers:
            w.begin("join")
        for w in workers:
            w.end()
        return workers

    def run(self, *args):
        """Start the program and let it run."""
        self.children.append(
            Child(self.strait, args[0], [self.strait.bin, *args], stdin=subprocess.DEVNULL)
        )
        return self.children[-1]

    def why(self, first, *options):
        return self.strait.json("why", "--join", first, "--insecure", "-q", *options)

    def reasons(self, first):
        return {r["kind"]: r for r in self.why(first)["reasons"]}

    def close(self):
        for child in reversed(self.children):
            child.close()

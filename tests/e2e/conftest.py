"""What the end-to-end tests share: the program under test, run as a person would run it."""

import json
import os
import subprocess

import pytest

BIN = os.environ.get("STRAIT_BIN")
TIMEOUT_S = 60


def pytest_configure(config):
    if not BIN or not os.access(BIN, os.X_OK):
        pytest.exit("STRAIT_BIN must name the built program", returncode=2)


class Strait:
    """Runs the program in a folder of its own, with an environment of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.bin = BIN
        self.env = {
            "PATH": os.path.dirname(BIN) + ":" + os.environ["PATH"],
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *args, env=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [self.bin, *map(str, args)],
            cwd=self.folder,
            env={**self.env, **(env or {})},
            stderr=subprocess.PIPE,
            text=True,
            timeout=TIMEOUT_S,
            **options,
        )

    def ok(self, *args, **options):
        """Run what must succeed; return its standard output."""
        done = self.run(*args, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *args, **options):
        """Run with --json what must succeed; return the object."""
        answer = json.loads(self.ok(*args, "--json", **options))
        assert answer["schema"] == 1
        return answer

    def fails(self, status, error, *args, **options):
        """Run what must fail with this status and error id; return standard error."""
        done = self.run(*args, **options)
        assert done.returncode == status, (done.stdout, done.stderr)
        assert done.stderr.startswith(f"error[{error}]: "), done.stderr
        assert done.stdout == ""
        return done.stderr


@pytest.fixture
def strait(tmp_path):
    return Strait(tmp_path)


@pytest.fixture
def site(strait):
    from site_of import Site

    s = Site(strait)
    yield s
    s.close()

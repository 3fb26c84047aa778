"""docs/OPERATING.md: every command on that page is run, in its order, with its addresses moved to
free ports of this machine."""

import re
import signal
import subprocess
from pathlib import Path

from port_of import free_port
from site_of import LIMIT_S, until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "OPERATING.md"
STOP = "<!-- test: stop -->"
FILE = "<!-- test: file "


def steps():
    """Commands, stops and files (with their text), in the order of the page."""
    code = False
    lines = iter(PAGE.read_text().splitlines())
    for line in lines:
        if line.startswith("```"):
            code = line == "```sh"
        elif code:
            while line.endswith("\\"):
                line = line[:-1] + next(lines).strip()
            yield line
        elif line == STOP:
            yield line
        elif line.startswith(FILE):
            assert next(lines).startswith("```")
            text = "".join(part + "\n" for part in iter(lambda: next(lines), "```"))
            yield line.split()[3], text


class Page:
    def __init__(self, strait):
        self.strait = strait
        self.ports = {p: str(free_port())
                      for p in ("7400", "7410", "7420", "7430", "7450", "7460")}
        self.running = []
        self.ran = []

    def here(self, command):
        """The command, for this machine."""
        command = re.sub(r"10\.[12]\.0\.5", "127.0.0.1", command)
        for port, ours in self.ports.items():
            command = command.replace(":" + port, ":" + ours)
        if "--insecure" in command and " server " in command and "--listen" not in command:
            command += f" --listen tcp://127.0.0.1:{self.ports['7400']}"
        return command

    def begin(self, command):
        name = f"{len(self.ran)}-{len(self.running)}.out"
        with (self.strait.folder / name).open("w") as out:
            child = subprocess.Popen(
                "exec " + command, shell=True, cwd=self.strait.folder, env=self.strait.env,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )
        self.running.append((command, child, self.strait.folder / name))
        if " server " in command:
            said = self.strait.folder / name
            until(lambda: child.poll() is not None or "join with" in said.read_text())
            assert child.poll() is None, said.read_text()

    def run(self, command):
        done = subprocess.run(
            command, shell=True, cwd=self.strait.folder, env=self.strait.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=3 * LIMIT_S,
        )
        assert done.returncode == 0, command + "\n" + done.stdout
        self.ran.append((command, done.stdout))

    def end(self, command, child, out):
        assert child.wait(LIMIT_S) == 0, command + "\n" + out.read_text()
        assert "Sanitizer" not in out.read_text()
        self.ran.append((command, out.read_text()))

    def stop(self):
        """Workers end by themselves, and then servers when they are told to."""
        for child in [c for c in self.running if " server " not in c[0]]:
            self.end(*child)
        for child in [c for c in self.running if " server " in c[0]]:
            child[1].send_signal(signal.SIGTERM)
            self.end(*child)
        self.running = []

    def close(self):
        for _, child, _ in self.running:
            child.kill()
            child.wait()


def test_every_command_of_the_page_works(strait):
    page = Page(strait)
    try:
        for step in steps():
            if isinstance(step, tuple):
                (strait.folder / step[0]).write_text(page.here(step[1]))
            elif step == STOP:
                page.stop()
            elif step.endswith(" &"):
                page.begin(page.here(step[:-2]))
            else:
                page.run(page.here(step))
        assert not page.running
    finally:
        page.close()
    commands = " ".join(command for command, _ in page.ran)
    for word in ("server", "worker", "why", "top", "store ls", "store cat", "store export",
                 "cert init", "cert issue"):
        assert f"strait {word} " in commands
    said = {command: text for command, text in page.ran}
    restarted = [text for command, text in said.items() if "--clocks 80" in command]
    assert "goes on from number" in restarted[0]
    assert (strait.folder / "items.npy").read_bytes().startswith(b"\x93NUMPY")


def test_the_page_names_every_state_of_a_worker():
    text = PAGE.read_text()
    view = (PAGE.parents[1] / "src" / "cli" / "status" / "view.c").read_text()
    states = re.search(r"view_state\(.*?\n}", view, re.S).group(0)
    for state in re.findall(r'"([a-z ]+)"', states):
        assert re.search(rf"^\| {state}", text, re.M), state

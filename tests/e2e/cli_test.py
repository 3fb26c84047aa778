"""The command line: help, errors, exit statuses, colour, completion, the manual page."""

import json
import os
import pty
import re
import shutil
import subprocess

import pytest

ESCAPE = "\033["


def commands(strait):
    return [c["path"] for c in strait.json("help")["commands"]]


def test_alone_prints_an_overview(strait):
    text = strait.ok()
    assert text.startswith("Strait ")
    assert "Usage: strait COMMAND" in text
    assert "doctor" in text and "cert" in text
    assert strait.ok("--help") == text
    assert strait.ok("-h") == text


def test_help_names_every_global_option(strait):
    text = strait.ok("help")
    for option in ("--help", "--version", "--quiet", "--verbose", "--json", "--no-color", "--log",
                   "--log-format"):
        assert option in text


def test_every_command_has_help(strait):
    paths = commands(strait)
    assert {"cert init", "completion", "doctor", "help", "version"} <= set(paths)
    for path in paths:
        words = path.split()
        text = strait.ok(*words, "--help")
        assert text.startswith(f"strait {path}: ")
        assert f"Usage: strait {path}" in text
        assert text == strait.ok("help", *words) == strait.ok("--help", *words)
        assert all(len(line) <= 100 for line in text.splitlines())
        described = strait.json("help", *words)
        assert described["path"] == path
        for option in described["options"]:
            assert "--" + option["name"] in text


def test_a_heading_lists_its_commands(strait):
    text = strait.ok("cert", "--help")
    for word in ("init", "issue", "list", "show", "revoke", "token"):
        assert re.search(rf"^  {word} ", text, re.M)
    assert "init, issue" in strait.fails(2, "STRAIT-0006", "cert")


def test_text_fits_eighty_columns(strait):
    for words in ([], ["help"], ["cert", "issue", "--help"], ["help", "STRAIT-0003"]):
        assert max(len(line) for line in strait.ok(*words).splitlines()) <= 80


@pytest.mark.parametrize(
    "error, args",
    [
        ("STRAIT-0001", ["frobnicate"]),
        ("STRAIT-0002", ["version", "--frobnicate"]),
        ("STRAIT-0003", ["cert", "init", "ca", "--days", "many"]),
        ("STRAIT-0004", ["completion"]),
        ("STRAIT-0005", ["version", "now"]),
        ("STRAIT-0006", ["cert"]),
        ("STRAIT-0007", ["help", "frobnicate"]),
        ("STRAIT-0007", ["help", "STRAIT-9999"]),
        ("STRAIT-0008", ["version", "--log", "loud"]),
    ],
)
def test_usage_errors(strait, error, args):
    text = strait.fails(2, error, *args)
    assert re.search(r"^  try: +strait", text, re.M)
    assert f"strait help {error}" in text
    done = strait.run(*args, "--json")
    answer = json.loads(done.stderr)
    assert done.returncode == 2 and done.stdout == ""
    assert answer["schema"] == 1
    assert answer["error"]["id"] == error
    assert answer["error"]["exit"] == 2
    assert answer["error"]["help"] == f"strait help {error}"
    assert len(done.stderr.splitlines()) == 1


def test_did_you_mean(strait):
    text = strait.fails(2, "STRAIT-0001", "vresion", "--json=x")
    assert 'did you mean "version"?' in text
    text = strait.fails(2, "STRAIT-0001", "cert", "isue", "my ca", "worker/eu/w1")
    assert "try:  strait cert issue 'my ca' worker/eu/w1\n" in text
    text = strait.fails(2, "STRAIT-0002", "version", "--jsno")
    assert "did you mean --json?" in text
    assert "did you mean" not in strait.fails(2, "STRAIT-0001", "qqqqqq")


def test_every_error_has_a_page(strait):
    errors = strait.json("help")["errors"]
    assert len(errors) >= 15
    for error in errors:
        text = strait.ok("help", error["id"])
        assert text.startswith(f"{error['id']}: {error['title']}\n")
        assert "Exit status: " in text
        assert strait.json("help", error["id"].lower())["id"] == error["id"]


def test_version(strait):
    line = strait.ok("--version")
    assert re.fullmatch(r"strait \d+\.\d+\.\d+\n", line)
    assert strait.ok("-V") == strait.ok("cert", "--version") == line
    assert strait.ok("version").startswith(line)
    answer = strait.json("version")
    assert f"strait {answer['version']}\n" == line
    assert answer["wire"]["min"] <= answer["wire"]["max"]
    assert set(answer["libraries"]) == {"OpenSSL", "libuv", "xxHash", "jansson"}
    assert isinstance(answer["features"]["ktls_kernel"], bool)


def test_doctor_reports_each_check(strait):
    done = strait.run("doctor", "--json")
    answer = json.loads(done.stdout)
    verdicts = [c["verdict"] for c in answer["checks"]]
    assert answer["schema"] == 1
    assert set(verdicts) <= {"ok", "warn", "fail"}
    assert verdicts.count("fail") == answer["fail"]
    assert done.returncode == (1 if answer["fail"] else 0)
    names = {c["check"] for c in answer["checks"]}
    assert {"cores", "memory", "open files", "clock", "congestion", "loopback"} <= names
    loopback = next(c for c in answer["checks"] if c["check"] == "loopback")
    assert loopback["verdict"] == "ok", loopback
    text = strait.run("doctor").stdout
    assert re.search(r"^\d+ ok, \d+ warnings, \d+ failures: (not )?ready$", text, re.M)


def test_doctor_fails_where_it_should(strait):
    done = strait.run("doctor", "-q", "--address", "localhost")
    assert done.returncode == 1
    assert "never advertised" in " ".join(done.stdout.split())
    assert strait.run("doctor", "--cert", "nowhere", "--json").returncode == 1


def test_doctor_sees_the_limit_of_open_files(strait):
    answer = subprocess.run(
        ["bash", "-c", "ulimit -n 128; exec strait doctor --json"],
        env=strait.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    checks = {c["check"]: c for c in json.loads(answer.stdout)["checks"]}
    assert checks["open files"]["verdict"] == "fail"
    assert "ulimit -n" in checks["open files"]["remedy"]
    assert answer.returncode == 1


def test_a_full_disk_is_a_failure(strait):
    for args in (["version"], ["help"], ["version", "--json"], ["man"]):
        with open("/dev/full", "w") as full:
            done = strait.run(*args, stdout=full)
        assert done.returncode == 1
        assert "STRAIT-0103" in done.stderr
        assert "No space left" in done.stderr


def test_a_reader_that_goes_away_is_a_failure(strait):
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = strait.run("man", stdout=write_end)
    os.close(write_end)
    assert done.returncode == 1
    assert "Broken pipe" in done.stderr


def test_a_closed_stdout_is_a_failure(strait):
    done = subprocess.run(
        ["bash", "-c", "strait version >&-"], env=strait.env, stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 1
    assert "STRAIT-0103" in done.stderr


def on_terminal(strait, *args, env=None):
    """Run with stdout and stderr on a terminal; return what appears there."""
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal: {error}")
    child = subprocess.Popen(
        [strait.bin, *args],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        cwd=strait.folder,
        env={**strait.env, "TERM": "xterm", **(env or {})},
    )
    os.close(slave)
    output = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(master)
    child.wait(timeout=60)
    return output.decode()


def test_colour_on_a_terminal_only(strait):
    assert ESCAPE in on_terminal(strait)
    assert ESCAPE in on_terminal(strait, "frobnicate")
    assert ESCAPE not in strait.ok()
    assert ESCAPE not in on_terminal(strait, "--no-color")
    assert ESCAPE not in on_terminal(strait, env={"NO_COLOR": "1"})
    assert ESCAPE not in on_terminal(strait, env={"TERM": "dumb"})
    assert ESCAPE not in on_terminal(strait, env={"STRAIT_COLOR": "never"})
    assert ESCAPE in on_terminal(strait, env={"NO_COLOR": ""})
    assert ESCAPE in strait.ok(env={"STRAIT_COLOR": "always"})
    assert ESCAPE in strait.ok(env={"STRAIT_COLOR": "always", "NO_COLOR": "1"})
    assert ESCAPE not in strait.ok("--no-color", env={"STRAIT_COLOR": "always"})


def test_the_log_filter_of_the_environment_is_checked(strait):
    done = strait.run("version", env={"STRAIT_LOG": "loud"})
    assert done.returncode == 2
    assert "STRAIT_LOG" in done.stderr
    strait.ok("version", "--log", "info,net=debug", env={"STRAIT_LOG": "loud"})
    strait.ok("version", "-vv", env={"STRAIT_LOG": "loud"})


def bash_complete(strait, line):
    """What bash offers at the end of the line."""
    script = (
        "source <(strait completion bash)\n"
        "read -ra COMP_WORDS <<< \"$1\"\n"
        "[[ $1 == *' ' ]] && COMP_WORDS+=('')\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        "COMP_LINE=$1 COMP_POINT=${#1}\n"
        "_strait\n"
        "printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", line],
        cwd=strait.folder,
        env=strait.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return set(done.stdout.split())


def test_bash_completion(strait):
    (strait.folder / "ca").mkdir()
    (strait.folder / "cafe.crt").write_text("")
    assert {"cert", "doctor", "version"} <= bash_complete(strait, "strait ")
    assert "man" not in bash_complete(strait, "strait ")
    assert bash_complete(strait, "strait vers") == {"version"}
    assert bash_complete(strait, "strait cert is") == {"issue"}
    assert bash_complete(strait, "strait -q cert is") == {"issue"}
    assert bash_complete(strait, "strait cert issue --d") == {"--days"}
    assert bash_complete(strait, "strait cert issue --js") == {"--json"}
    assert bash_complete(strait, "strait cert init c") == {"ca"}
    assert bash_complete(strait, "strait cert show c") == {"ca", "cafe.crt"}
    assert bash_complete(strait, "strait completion ") == {"bash", "zsh", "fish"}
    assert bash_complete(strait, "strait version --log-format ") == {"text", "json"}
    assert bash_complete(strait, "strait version --log-format = j") == {"json"}
    assert bash_complete(strait, "strait help cert is") == {"issue"}
    assert bash_complete(strait, "strait help cert issue ") == set()
    assert bash_complete(strait, "strait cert init --days ") == set()


def test_zsh_completion_is_sound(strait):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (strait.folder / "_strait").write_text(strait.ok("completion", "zsh"))
    subprocess.run(["zsh", "-n", "_strait"], cwd=strait.folder, check=True)
    script = "autoload -U compinit && compinit -D && source ./_strait && print $_comps[strait]"
    done = subprocess.run(
        ["zsh", "-f", "-c", script],
        cwd=strait.folder,
        env=strait.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout == "_strait\n"


def test_fish_completion(strait):
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")

    def offered(line):
        script = f"strait completion fish | source; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            cwd=strait.folder,
            env=strait.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
        assert done.stderr == ""
        return {row.split("\t")[0] for row in done.stdout.splitlines()}

    assert {"cert", "doctor", "version"} <= offered("strait ")
    assert offered("strait cert is") == {"issue"}
    assert "--days" in offered("strait cert issue ca --out x --d")
    assert offered("strait completion ") == {"bash", "zsh", "fish"}


def test_the_bash_script_passes_shellcheck(strait):
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    script = strait.folder / "strait.bash"
    script.write_text(strait.ok("completion", "bash"))
    done = subprocess.run(["shellcheck", script], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


def test_the_manual_page_renders(strait):
    page = strait.folder / "strait.1"
    page.write_text(strait.ok("man"))
    if shutil.which("mandoc"):
        done = subprocess.run(
            ["mandoc", "-Tlint", "-Wwarning", page], stdout=subprocess.PIPE, text=True
        )
        faults = [line for line in done.stdout.splitlines() if "missing date" not in line]
        assert faults == []
        text = subprocess.run(
            ["mandoc", "-Tascii", page], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    elif shutil.which("man"):
        text = subprocess.run(
            ["man", "-l", page], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    else:
        pytest.skip("neither mandoc nor man is installed")
    text = re.sub(r".\x08", "", text)
    for path in commands(strait):
        assert f"strait {path}" in text
    for heading in ("NAME", "SYNOPSIS", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "ERRORS"):
        assert re.search(rf"^{heading}$", text, re.M)
    assert "STRAIT-0003" in text and "NO_COLOR" in text

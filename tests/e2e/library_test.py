"""The library as others use it: the header alone, the shared library's face, an installed tree with
pkg-config and CMake, the example, and calls from Python by ctypes."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from core_of import found, memory, secrets

TOP = Path(__file__).resolve().parent.parent.parent
HEADER = TOP / "include" / "strait.h"
EXAMPLE = TOP / "examples" / "c"
LIBRARY = os.environ.get("STRAIT_LIBRARY", "")
SITE = os.environ.get("STRAIT_SITE", "")
BUILD = os.environ.get("STRAIT_BUILD", "")
PRELOAD = os.environ.get("STRAIT_PRELOAD", "")
LIMIT_S = 120

# The sanitizer's runtime must come first in a program that was not built with it. What Python and
# the tools leave behind is not ours.
ENVIRONMENT = {**os.environ, "LD_PRELOAD": PRELOAD, "ASAN_OPTIONS": "detect_leaks=0"}


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        **options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


class Site:
    """A server on this machine, for as long as the block runs."""

    def __init__(self, barrier="bsp", delivery="broadcast", lanes=2, workers=1):
        self.command = [SITE, barrier, delivery, str(lanes), str(workers)]

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("tcp://"), self.address
        self.options = f'{{"join": "{self.address}", "insecure": true}}'
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(LIMIT_S) == 0
        self.process.stdout.close()


def declared():
    """The functions that the header declares."""
    return set(re.findall(r"^STRAIT_API [^(]*?\b(strait_\w+)\(", HEADER.read_text(), re.M))


# The header.


@pytest.mark.parametrize(
    "compiler, language, standard",
    [
        ("gcc", "c", "c99"),
        ("gcc", "c", "c17"),
        ("clang", "c", "c99"),
        ("g++", "c++", "c++11"),
        ("clang++", "c++", "c++11"),
        ("clang++", "c++", "c++20"),
    ],
)
def test_the_header_compiles_alone(compiler, language, standard, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    source = tmp_path / "alone"
    source.write_text("#include <strait.h>\nint main(void) { return strait_version() < 0; }\n")
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"]
    run(compiler, "-x", language, f"-std={standard}", *strict, "-fsyntax-only",
        f"-I{HEADER.parent}", source)


def test_some_compiler_of_cpp_was_there():
    assert shutil.which("g++") or shutil.which("clang++")


@pytest.mark.parametrize("compiler, language", [("gcc", "c"), ("clang", "c"), ("g++", "c++")])
def test_a_library_of_significance_functions_has_the_names_that_servers_look_for(
    tmp_path, compiler, language
):
    source, library = EXAMPLE / "significance.c", tmp_path / "libsoftened.so"
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC"]
    run(compiler, "-x", language, *flags, f"-I{HEADER.parent}", source, "-o", library, "-lm")
    names = set(re.findall(r" [BDRT] (\w+)", run("nm", "-D", "--defined-only", library)))
    assert {"strait_significance_version", "strait_significance_softened"} <= names


# The shared library.


def test_only_the_functions_of_the_header_are_visible():
    lines = run("nm", "-D", "--defined-only", LIBRARY).splitlines()
    symbols = {line.split()[-1] for line in lines if " A " not in line}
    assert len(symbols) > 25
    assert all(symbol.endswith("@@STRAIT_0") for symbol in symbols), symbols
    assert {symbol.split("@")[0] for symbol in symbols} == declared()


def test_the_library_has_a_name_for_the_loader():
    dynamic = run("readelf", "-d", LIBRARY)
    assert "Library soname: [libstrait.so.0]" in dynamic
    needed = set(re.findall(r"NEEDED.*\[(\w+)", dynamic))
    # Those of the modules that it holds, and nothing of the built-in jobs or the run files.
    ours = {"libssl", "libcrypto", "libuv", "libjansson", "libxxhash", "libm", "libc", "ld"}
    ours |= {"libsnappy", "liblz4", "libzstd"}
    sanitizers = {"libasan", "libubsan", "libtsan", "libgcc_s"}
    assert needed <= ours | sanitizers, needed


# Installed.


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A tree as a package would have it: staged, with a prefix that is chosen late."""
    stage = tmp_path_factory.mktemp("stage")
    run("cmake", "--install", BUILD, "--component", "library", "--prefix", "/opt/strait",
        env={**os.environ, "DESTDIR": str(stage)})
    return stage / "opt" / "strait"


def library_dir(prefix):
    return next(prefix.rglob("libstrait.so")).parent


def fit(program, prefix, workers):
    """Run the example in so many processes; return what each says."""
    environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": str(library_dir(prefix))}
    with Site(workers=workers) as site:
        all_ = [
            subprocess.Popen(
                [program, site.options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, env=environment,
            )
            for _ in range(workers)
        ]
        texts = [p.communicate(timeout=LIMIT_S)[0] for p in all_]
        assert [p.returncode for p in all_] == [0] * workers, texts
    return sorted(texts)


def test_the_example_builds_by_pkg_config_and_fits_a_line(prefix, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_dir(prefix) / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "strait", env=environment).split()
    assert run("pkg-config", "--modversion", "strait", env=environment).strip() == version()
    program = tmp_path / "linear"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    run("cc", *strict, "-o", program, EXAMPLE / "linear.c", *flags)
    assert fit(program, prefix, 1) == ["worker 0: y = 3.00 x -2.00\n"]
    assert fit(program, prefix, 3) == [f"worker {i}: y = 3.00 x -2.00\n" for i in range(3)]


def test_the_example_builds_by_cmake_and_fits_a_line(prefix, tmp_path):
    run("cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_BUILD_RPATH={library_dir(prefix)}")
    run("cmake", "--build", tmp_path)
    assert fit(tmp_path / "linear", prefix, 2) == [
        f"worker {i}: y = 3.00 x -2.00\n" for i in range(2)
    ]


def test_the_example_says_what_is_wrong(prefix, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(library_dir(prefix) / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "strait", env=environment).split()
    program = tmp_path / "linear"
    run("cc", "-o", program, EXAMPLE / "linear.c", *flags)
    environment = {**ENVIRONMENT, "LD_LIBRARY_PATH": str(library_dir(prefix))}
    options = '{"join": "tcp://127.0.0.1:1", "insecure": true, "pol_mb": 3}'
    done = subprocess.run([program, options], env=environment, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        "linear: open: options: unknown key \"pol_mb\": did you mean 'pool_mb'? "
        "(STRAIT_E_INVALID)\n"
    )


def version():
    return re.search(r"VERSION (\d+\.\d+\.\d+)", (TOP / "CMakeLists.txt").read_text()).group(1)


# From Python, by ctypes. In processes of their own, because of the sanitizer's runtime.

PROLOGUE = """
import ctypes, os, signal, sys, threading

lib = ctypes.CDLL(os.environ["STRAIT_LIBRARY"])
lib.strait_last_error.restype = ctypes.c_char_p
lib.strait_error_name.restype = ctypes.c_char_p
lib.strait_version_text.restype = ctypes.c_char_p
P, D, U32, U64, INT = (
    ctypes.c_void_p, ctypes.c_double, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
)
F = ctypes.POINTER(ctypes.c_float)
lib.strait_last_error.argtypes = [P]
lib.strait_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(P)]
lib.strait_join.argtypes = [P, D, ctypes.POINTER(U64)]
lib.strait_leave.argtypes = [P, D]
lib.strait_close.argtypes = [P]
lib.strait_interrupt.argtypes = [P]
lib.strait_table_create.argtypes = [
    P, ctypes.c_char_p, U64, U32, ctypes.c_char_p, D, ctypes.POINTER(INT)
]
lib.strait_read.argtypes = [P, INT, U64, U64, F, D]
lib.strait_read_rows.argtypes = [P, INT, ctypes.POINTER(ctypes.c_int64), U64, F, D]
lib.strait_update_rows.argtypes = [P, INT, ctypes.POINTER(ctypes.c_int64), U64, F]
lib.strait_clock.argtypes = [P, U32, D, ctypes.POINTER(U64)]
lib.strait_exchange_begin.argtypes = [P, INT, F, U32, F, ctypes.POINTER(P)]
lib.strait_wait.argtypes = [P, D]
lib.strait_test.argtypes = [P]
lib.strait_op_free.argtypes = [P]
lib.strait_why.argtypes = [P, ctypes.c_char_p, ctypes.c_size_t]
lib.strait_metrics_json.argtypes = [P, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)]


class Info(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("clock", U64), ("rebases", U64), ("refused", U64),
        ("staleness", U64), ("rank", U32), ("lanes", U32), ("broadcast", ctypes.c_int32),
        ("barrier", ctypes.c_char * 12), ("site", ctypes.c_char * 68),
        ("lost_from", U64), ("lost_to", U64),
    ]


lib.strait_info.argtypes = [P, ctypes.POINTER(Info)]
E_TIMEOUT, E_CANCELLED, E_FORKED, E_HANDLE = -4, -5, -3, -2


def must(code):
    assert code >= 0, (lib.strait_error_name(code), lib.strait_last_error(None))
    return code


def joined():
    s = P()
    must(lib.strait_open(os.environ["OPTIONS"].encode(), ctypes.byref(s)))
    must(lib.strait_join(s, 60, None))
    return s
"""


def python(options, code):
    """Run code that calls the library; return what it prints."""
    environment = {**ENVIRONMENT, "STRAIT_LIBRARY": LIBRARY, "OPTIONS": options}
    return run(sys.executable, "-c", PROLOGUE + textwrap.dedent(code), env=environment)


def test_python_trains():
    code = """
        s, table, op, info = joined(), INT(), P(), Info(size=ctypes.sizeof(Info))
        must(lib.strait_table_create(s, b"w", 4, 2, None, 60, ctypes.byref(table)))
        rows, ones, out = (ctypes.c_int64 * 3)(3, 1, 3), (ctypes.c_float * 6)(*[1] * 6), (
            ctypes.c_float * 8)()
        must(lib.strait_update_rows(s, table, rows, 3, ones))
        next_ = U64()
        must(lib.strait_clock(s, 1, 60, ctypes.byref(next_)))
        assert next_.value == 2
        must(lib.strait_read(s, table, 0, 8, out, 60))
        assert list(out) == [0, 0, 1, 1, 0, 0, 2, 2], list(out)
        must(lib.strait_exchange_begin(s, table, out, 1, out, ctypes.byref(op)))
        must(lib.strait_wait(op, 60))
        assert lib.strait_test(op) == 1
        must(lib.strait_op_free(op))
        assert lib.strait_op_free(op) == E_HANDLE
        assert list(out) == [0, 0, 2, 2, 0, 0, 4, 4], list(out)
        must(lib.strait_info(s, ctypes.byref(info)))
        assert (info.clock, info.barrier, info.site, info.lanes) == (3, b"bsp", b"home", 2)
        size = ctypes.c_size_t(0)
        lib.strait_metrics_json(s, None, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value + 4096)
        size.value += 4096
        must(lib.strait_metrics_json(s, text, ctypes.byref(size)))
        import json
        assert json.loads(text.value)["schema"] == 1
        must(lib.strait_leave(s, 60))
        must(lib.strait_close(s))
        print(lib.strait_version_text().decode())
    """
    with Site() as site:
        assert python(site.options, code).strip() == version()


def test_python_processes_dump_no_key(strait, site):
    strait.ok("cert", "init", "ca")
    for member in ("server/home/s0", "worker/home/w0"):
        strait.ok("cert", "issue", "ca", member, "-o", "certs")
    server = site.server("--cert", "certs", "--name", "s0", "--workers", "1", insecure=False,
                         listen="tls://127.0.0.1:0")
    options = {"join": server.first, "cert": str(strait.folder / "certs"), "name": "w0"}
    code = """
        s = joined()
        print("joined", flush=True)
        sys.stdin.read()
        must(lib.strait_close(s))
    """
    worker = subprocess.Popen(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(code)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**ENVIRONMENT, "STRAIT_LIBRARY": LIBRARY, "OPTIONS": json.dumps(options)},
    )
    try:
        assert worker.stdout.readline() == b"joined\n"
        assert found(memory(worker.pid), secrets(strait.folder / "certs" / "w0.key")) == set()
    finally:
        worker.communicate()
    assert worker.returncode == 0


def test_python_interrupts_a_wait_from_another_thread():
    code = """
        s, stop = P(), threading.Event()
        must(lib.strait_open(os.environ["OPTIONS"].encode(), ctypes.byref(s)))

        def interrupt():
            while not stop.wait(0.01):
                lib.strait_interrupt(s)

        thread = threading.Thread(target=interrupt)
        thread.start()
        assert lib.strait_join(s, -1, None) == E_CANCELLED
        stop.set()
        thread.join()
        assert lib.strait_last_error(s) == b"interrupted"
        assert lib.strait_join(s, 0.01, None) == E_TIMEOUT
        assert b"127.0.0.1:1 cannot be reached" in lib.strait_last_error(s)
        must(lib.strait_close(s))
        print("done")
    """
    assert python('{"join": "tcp://127.0.0.1:1", "insecure": true}', code) == "done\n"


def test_control_c_ends_a_wait_in_c():
    """As a package for Python would do it: the signal's byte wakes a thread, which interrupts."""
    code = """
        s = P()
        must(lib.strait_open(os.environ["OPTIONS"].encode(), ctypes.byref(s)))
        readable, writable = os.pipe()
        os.set_blocking(writable, False)
        signal.set_wakeup_fd(writable)

        def interrupt():
            why = ctypes.create_string_buffer(200)
            while lib.strait_why(s, why, 200) != 1:
                pass
            print("waiting", flush=True)
            os.read(readable, 1)
            lib.strait_interrupt(None)

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            lib.strait_join(s, -1, None)
            while True:
                pass
        except KeyboardInterrupt:
            print(lib.strait_last_error(s).decode())
            must(lib.strait_leave(s, 60))
            must(lib.strait_close(s))
    """
    environment = {
        **ENVIRONMENT, "STRAIT_LIBRARY": LIBRARY,
        "OPTIONS": '{"join": "tcp://127.0.0.1:1", "insecure": true}',
    }
    process = subprocess.Popen(
        [sys.executable, "-c", PROLOGUE + textwrap.dedent(code)],
        stdout=subprocess.PIPE, text=True, env=environment,
    )
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=LIMIT_S)
    assert (process.returncode, text) == (0, "interrupted\n")


def test_python_may_fork():
    code = """
        s, table, out = joined(), INT(), (ctypes.c_float * 1)()
        must(lib.strait_table_create(s, b"w", 1, 1, None, 60, ctypes.byref(table)))
        pid = os.fork()
        if pid == 0:
            ok = lib.strait_read(s, table, 0, 1, out, -1) == E_FORKED
            ok = ok and lib.strait_close(s) == 0 and lib.strait_close(s) == E_HANDLE
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
        must(lib.strait_read(s, table, 0, 1, out, 60))
        must(lib.strait_leave(s, 60))
        must(lib.strait_close(s))
        print("done")
    """
    with Site("tap", "pull") as site:
        assert python(site.options, code) == "done\n"


def test_structures_are_laid_out_as_python_thinks(tmp_path):
    """What the fields of Info above say is what the header says."""
    source = tmp_path / "size.c"
    source.write_text(
        "#include <stdio.h>\n#include <strait.h>\n"
        'int main(void) { printf("%zu %zu\\n", sizeof(struct strait_state), '
        "offsetof(struct strait_state, site)); return 0; }\n"
    )
    run("cc", f"-I{HEADER.parent}", "-o", tmp_path / "size", source)
    scope = {}
    exec(PROLOGUE[PROLOGUE.index("P, D, U32"):PROLOGUE.index("F = ctypes")], {"ctypes": ctypes},
         scope)
    exec(
        PROLOGUE[PROLOGUE.index("class Info"):PROLOGUE.index("lib.strait_info")],
        {"ctypes": ctypes, **scope}, scope,
    )
    size, site = map(int, run(tmp_path / "size").split())
    assert ctypes.sizeof(scope["Info"]) == size
    assert scope["Info"].site.offset == site

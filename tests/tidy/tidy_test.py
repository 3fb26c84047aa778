#!/usr/bin/env python3
"""Shows that tools/tidy can fail: each case spoils a tiny good tree in one way and names the line
and the message that must come."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TIDY = Path(__file__).resolve().parent.parent.parent / "tools" / "tidy"

GOOD = {
    "src/modules.txt": "base:\nnet: base\ncli: base net\n\ngrant clock: src/base/clock.c\n"
    "grant sockets: src/net/\ngrant print: src/cli/\n",
    "src/base/CMakeLists.txt": "strait_module(base SOURCES clock.c sum.c TESTS sum_test.c)\n",
    "src/base/limits.h": "/* Limits. */\n\n#ifndef BASE_LIMITS_H\n#define BASE_LIMITS_H\n\n"
    "enum {\n    LIMIT_SUM = 4,\n};\n\n#endif\n",
    "src/base/sum.h": "/* Sums. */\n\n#ifndef BASE_SUM_H\n#define BASE_SUM_H\n\n"
    "int sum(int a, int b);\n\n#endif\n",
    "src/base/sum.c": '#include "base/sum.h"\n\n#include "base/limits.h"\n\n#include <stdio.h>\n'
    "#include <string.h>\n\n/* time() and socket() in a comment, and */\n"
    'static const char text[] = "fopen(\\"x\\") getenv(";\n\n'
    "int sum(int a, int b)\n{\n    return a + b + LIMIT_SUM + (int)sizeof(text);\n}\n",
    "src/base/clock.c": "/* The clock. */\n\n#include <time.h>\n\nlong now(void);\n\n"
    "long now(void)\n{\n    return (long)time(NULL);\n}\n",
    "src/base/sum_test.c": '/* Sums are right. */\n\n#include "base/sum.h"\n\n'
    "#include <stdio.h>\n\n"
    "#include <cmocka.h>\n\nint main(void)\n{\n    printf(\"%d\", sum(1, 2));\n    return 0;\n}\n",
    "src/net/CMakeLists.txt": "strait_module(net SOURCES wire.c)\n",
    "src/net/wire.h": "/* Wires. */\n\n#ifndef NET_WIRE_H\n#define NET_WIRE_H\n\n"
    "int wire(void);\n\n#endif\n",
    "src/net/wire.c": '#include "net/wire.h"\n\n#include <sys/socket.h>\n\nint wire(void)\n{\n'
    "    return socket(AF_INET, SOCK_STREAM, 0);\n}\n",
    "src/cli/CMakeLists.txt": "strait_module(cli SOURCES command/error.c main.c)\n",
    "src/cli/command/error.h": "/* Errors. */\n\n#ifndef CLI_COMMAND_ERROR_H\n"
    "#define CLI_COMMAND_ERROR_H\n\n"
    "enum cli_error_id {\n    CLI_ERROR_NONE = 0,\n    CLI_ERROR_ONE = 1,\n"
    "    CLI_ERROR_TWO = 2, /* reserved */\n};\n\n#endif\n",
    "src/cli/command/error.c": '#include "cli/command/error.h"\n\n'
    "int errors[][1] = {\n    {CLI_ERROR_ONE},\n    {CLI_ERROR_TWO},\n};\n",
    "src/cli/main.c": '/* See STRAIT-0001. */\n\n#include "cli/command/error.h"\n'
    '#include "net/wire.h"\n\n'
    "#include <stdio.h>\n\nint main(void)\n{\n    printf(\"%d\\n\", wire() + CLI_ERROR_ONE);\n"
    "    return 0;\n}\n",
    "tests/tool.c": '/* A tool of the tests. */\n\n#include <stdlib.h>\n\nint main(void)\n{\n'
    "    return getenv(\"HOME\") == NULL;\n}\n",
    "tests/CMakeLists.txt": "add_executable(tool tool.c)\n",
    "include/strait.h": "/* The library. */\n\n#ifndef STRAIT_H\n#define STRAIT_H\n\n"
    "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\nint strait(void);\n\n"
    "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    "examples/c/CMakeLists.txt": "add_executable(one SOURCES one.c)\n",
    "examples/c/one.c": "/* One. */\n\n#include <stdio.h>\n#include <strait.h>\n\n"
    "int main(void)\n{\n    printf(\"%d\\n\", strait());\n    return 0;\n}\n",
    "docs/GUIDE.md": "An error looks like STRAIT-0001. A rootless proxy works in /network/root.\n",
    "Makefile": "all:\n\techo\n",
}

TESTING_H = '#include "base/testing.h"\n\n'
FUNCTION = "\nint f(void);\n\nint f(void)\n{\n%s}\n"


def code(body):
    """A good C file with this line in a function."""
    return "/* A file. */\n" + FUNCTION % f"    {body}\n"


def change(path, old, new):
    """One of the good files with a part replaced."""
    assert old in GOOD[path], f"{path} has no {old}"
    return {path: GOOD[path].replace(old, new)}


def add(path, text):
    """A new source file that the CMakeLists.txt of its folder names."""
    folder, name = path.rsplit("/", 1)
    return {path: text, **change(f"{folder}/CMakeLists.txt", "SOURCES", f"SOURCES {name}")}


def power(call, grant):
    word = call.split("(")[0].split()[-1]
    message = f'src/base/bad.c:7: {word} needs the grant "{grant}"'
    return (add("src/base/bad.c", code(call)), message)


CASES = {
    "include of a module above": (
        change("src/base/sum.h", "int sum", '#include "net/wire.h"\n\nint sum'),
        'src/base/sum.h:6: base may not include "net/wire.h": see src/modules.txt',
    ),
    "include that is not rooted": (
        change("src/net/wire.c", "#include <sys", '#include "wire.h"\n\n#include <sys'),
        'src/net/wire.c:3: "wire.h" is not a file below src/',
    ),
    "module without a line": (
        {"src/odd/CMakeLists.txt": "x.c\n", "src/odd/x.c": code("return 0;")},
        'src/odd/x.c:1: module "odd" is not in src/modules.txt',
    ),
    "modules in a circle": (
        change("src/modules.txt", "base:\n", "base: net\n"),
        "src/modules.txt:1: base may include net, which is not above it",
    ),
    "unknown grant": (
        {"src/modules.txt": GOOD["src/modules.txt"] + "grant magic: src/base/\n"},
        "src/modules.txt:8: cannot be understood: grant magic: src/base/",
    ),
    "cmocka outside tests": (
        change("src/base/sum.c", "<stdio.h>", "<cmocka.h>"),
        "src/base/sum.c:5: only tests include <cmocka.h>",
    ),
    "header for tests": (
        {
            "src/base/testing.h": "/* T. */\n\n#ifndef BASE_TESTING_H\n#define BASE_TESTING_H\n\n"
            "#endif\n",
            **change("src/base/sum.c", "#include <std", TESTING_H + "#include <std"),
        },
        'src/base/sum.c:5: "base/testing.h" is for tests only',
    ),
    "threads": power("return pthread_create(0, 0, 0, 0);", "threads"),
    "clock": power("return time(NULL);", "clock"),
    "clock_gettime": power("return clock_gettime(0, NULL);", "clock"),
    "random": power("return rand();", "random"),
    "getrandom": power("return getrandom(0, 0, 0);", "random"),
    "RAND_bytes": power("return RAND_bytes(0, 0);", "random"),
    "sockets": power("return socket(1, 2, 3);", "sockets"),
    "recv": power("return recv (1, 0, 0, 0);", "sockets"),
    "files": power("return fopen(\"x\", \"r\") != 0;".replace("fopen", "open"), "files"),
    "fopen": power("return fopen(0, 0) != 0;", "files"),
    "environment": power("return getenv(0) != 0;", "env"),
    "process": power("return system(0);", "process"),
    "exit": power("return exit(0), 0;", "process"),
    "print": power("return printf(0);", "print"),
    "perror": power("return perror(0), 0;", "print"),
    "threads.h": (
        change("src/base/sum.c", "<string.h>", "<threads.h>"),
        'src/base/sum.c:6: <threads.h> needs the grant "threads"',
    ),
    "netinet": (
        change("src/base/sum.c", "<stdio.h>", "<netinet/in.h>"),
        'src/base/sum.c:5: <netinet/in.h> needs the grant "sockets"',
    ),
    "libuv's clock": (
        add("src/base/bad.c", code("return uv_now(0);")),
        "src/base/bad.c:7: only src/loop/ asks libuv for the time",
    ),
    "unsafe function": (
        add("src/base/bad.c", code("return sprintf(0, 0);")),
        "src/base/bad.c:7: sprintf is not safe enough",
    ),
    "retired word": (
        add("src/base/bad.c", code("int node_far = 0;")),
        "src/base/bad.c:7: node_far is retired: remote_site (docs/GLOSSARY.md)",
    ),
    "own header in a sub-folder": (
        {
            "src/base/more/sum.h": GOOD["src/base/sum.h"].replace("BASE_SUM_H", "BASE_MORE_SUM_H"),
            "src/base/more/sum.c": "/* Sums. */\n\n#include \"base/limits.h\"\n"
            "#include \"base/more/sum.h\"\n" + FUNCTION % "    return 0;\n",
            **change("src/base/CMakeLists.txt", "SOURCES", "SOURCES more/sum.c"),
        },
        'src/base/more/sum.c:3: first include is not "base/more/sum.h"',
    ),
    "file in a sub-folder that is not built": (
        {"src/base/more/clock.c": code("return 0;")},
        "src/base/more/clock.c:1: no CMakeLists.txt names this file",
    ),
    "no opening comment in a header": (
        change("src/base/sum.h", "/* Sums. */\n\n", ""),
        "src/base/sum.h:1: opens without a comment",
    ),
    "no opening comment and no header": (
        change("src/base/clock.c", "/* The clock. */\n\n", ""),
        "src/base/clock.c:1: opens without a comment",
    ),
    "wrong guard": (
        change("src/base/sum.h", "BASE_SUM_H", "SUM_H"),
        "src/base/sum.h:1: header guard is not BASE_SUM_H",
    ),
    "text behind the guard": (
        {"src/base/sum.h": GOOD["src/base/sum.h"] + "int x;\n"},
        "src/base/sum.h:9: does not end with the #endif of its guard",
    ),
    "own header is not first": (
        {
            "src/base/sum.c": '#include <stdio.h>\n' + GOOD["src/base/sum.c"],
        },
        'src/base/sum.c:1: first include is not "base/sum.h"',
    ),
    "project header behind system header": (
        change(
            "src/cli/main.c",
            '#include "net/wire.h"\n\n#include <stdio.h>\n',
            '#include <stdio.h>\n#include "net/wire.h"\n',
        ),
        'src/cli/main.c:5: "net/wire.h" after system headers',
    ),
    "headers out of order": (
        change("src/base/sum.c", "<stdio.h>", "<unistd.h>"),
        "src/base/sum.c:6: string.h is not in alphabetical order",
    ),
    "header twice": (
        change("src/base/sum.c", "<string.h>", "<stdio.h>"),
        "src/base/sum.c:6: stdio.h is included twice",
    ),
    "long line": (
        add("src/base/bad.c", code("/* " + "x" * 100 + " */")),
        "src/base/bad.c:7: 110 columns, 100 is the limit",
    ),
    "long line in a script": ({"tools/x": "#" * 101 + "\n"}, "tools/x:1: 101 columns"),
    "tab": (add("src/base/bad.c", code("\treturn 0;")), "src/base/bad.c:7: tab"),
    "space at the end": (
        add("src/base/bad.c", code("return 0; ")), "src/base/bad.c:7: space at the end of the line"
    ),
    "no newline at the end": ({"docs/GUIDE.md": "x"}, "docs/GUIDE.md:1: no newline at the end"),
    "long function": (
        add("src/base/bad.c", "/* A file. */\n" + FUNCTION % ("    ;\n" * 70)),
        "src/base/bad.c:6: function of 71 lines, 70 is the limit",
    ),
    "long file": (
        add("src/base/bad.c", "/* A file. */\n" + "int x;\n" * 1000),
        "src/base/bad.c:1: 1001 lines, 1000 is the limit",
    ),
    "leftover": (
        add("src/base/bad.c", code("/* FIXME: later */")), "src/base/bad.c:7: FIXME: finish it"
    ),
    "leftover in the docs": ({"docs/GUIDE.md": "TODO write\n"}, "docs/GUIDE.md:1: TODO: finish it"),
    "path of one machine": (
        {"docs/GUIDE.md": "See /work/main.\n"}, "docs/GUIDE.md:1: path of one machine: /work"
    ),
    "home of root": ({"Makefile": "X = /root\n"}, "Makefile:1: path of one machine: /root"),
    "dead source": (
        {"src/base/dead.c": code("return 0;")},
        "src/base/dead.c:1: no CMakeLists.txt names",
    ),
    "dead header": (
        {"src/base/dead.h": "/* D. */\n\n#ifndef BASE_DEAD_H\n#define BASE_DEAD_H\n\n#endif\n"},
        "src/base/dead.h:1: nobody includes this file",
    ),
    "named in a comment only": (
        {
            "src/base/CMakeLists.txt": GOOD["src/base/CMakeLists.txt"] + "# dead.c\n",
            "src/base/dead.c": code("return 0;"),
        },
        "src/base/dead.c:1: no CMakeLists.txt names",
    ),
    "dead source in tests": (
        {"tests/dead.c": code("return 0;")},
        "tests/dead.c:1: no CMakeLists.txt",
    ),
    "public header with one of ours": (
        change("include/strait.h", "<stdint.h>", '"base/sum.h"'),
        'include/strait.h:6: "base/sum.h" is not there for those who have <strait.h>',
    ),
    "public header for C only": (
        change("include/strait.h", 'extern "C" {', ""),
        'include/strait.h:1: a public header has extern "C"',
    ),
    "public header without an opening": (
        change("include/strait.h", "/* The library. */\n\n", ""),
        "include/strait.h:1: opens without a comment",
    ),
    "public header with another guard": (
        change("include/strait.h", "STRAIT_H", "INCLUDE_STRAIT_H"),
        "include/strait.h:1: header guard is not STRAIT_H",
    ),
    "public header that nobody includes": (
        change("examples/c/one.c", "#include <strait.h>\n", ""),
        "include/strait.h:1: nobody includes this file",
    ),
    "example with one of ours": (
        change("examples/c/one.c", "#include <stdio.h>", '#include "net/wire.h"'),
        'examples/c/one.c:3: "net/wire.h" is not there for those who have <strait.h>',
    ),
    "example that is not built": (
        {"examples/c/dead.c": code("return 0;")},
        "examples/c/dead.c:1: no CMakeLists.txt names",
    ),
    "example without an opening": (
        change("examples/c/one.c", "/* One. */\n\n", ""),
        "examples/c/one.c:1: opens without a comment",
    ),
    "example with headers out of order": (
        change("examples/c/one.c", "<stdio.h>", "<unistd.h>"),
        "examples/c/one.c:4: strait.h is not in alphabetical order",
    ),
    "unsafe example": (
        add("examples/c/bad.c", code("return sprintf(0, 0);")),
        "examples/c/bad.c:7: sprintf is not safe enough",
    ),
    "long example": (
        add("examples/c/bad.c", "/* A file. */\n" + "int x;\n" * 60),
        "examples/c/bad.c:1: 61 lines, 60 is the limit of an example",
    ),
    "vague name": (
        add("src/base/utils.c", code("return 0;")),
        'src/base/utils.c:1: "utils.c" says nothing',
    ),
    "vague folder": (
        {"tools/helpers/x.py": "x = 1\n"},
        'tools/helpers/x.py:1: "helpers" says nothing',
    ),
    "unknown error id": (
        {"docs/GUIDE.md": "STRAIT-0404\n"},
        "docs/GUIDE.md:1: STRAIT-0404 is not in",
    ),
    "error id twice": (
        change("src/cli/command/error.h", "TWO = 2", "TWO = 1"),
        "src/cli/command/error.h:9: STRAIT-0001 is there twice",
    ),
    "error without a page": (
        change("src/cli/command/error.c", "    {CLI_ERROR_ONE},\n", ""),
        "src/cli/command/error.h:8: CLI_ERROR_ONE has no page in src/cli/command/error.c",
    ),
    "error that nobody uses": (
        change("src/cli/command/error.h", " /* reserved */", ""),
        "src/cli/command/error.h:9: CLI_ERROR_TWO is not used, and not reserved either",
    ),
    "reserved error in use": (
        change("src/cli/main.c", "ERROR_ONE", "ERROR_TWO"),
        "src/cli/command/error.h:9: CLI_ERROR_TWO is reserved, but src/cli/main.c uses it",
    ),
    "limit that nobody uses": (
        change("src/base/sum.c", "LIMIT_SUM", "4"),
        "src/base/limits.h:7: LIMIT_SUM is not used by any code",
    ),
}


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return subprocess.run(
            [sys.executable, TIDY, "--root", folder], stdout=subprocess.PIPE, text=True
        )


class TidyTest(unittest.TestCase):
    def test_a_good_tree_passes(self):
        done = run(GOOD)
        self.assertEqual(done.stdout.splitlines()[:-1], [])
        self.assertEqual(done.returncode, 0)

    def test_each_fault_is_found(self):
        for name, (changed, message) in CASES.items():
            with self.subTest(name):
                done = run({**GOOD, **changed})
                self.assertEqual(done.returncode, 1, done.stdout)
                found = [line for line in done.stdout.splitlines() if line.startswith(message)]
                self.assertTrue(found, f"wanted {message!r} in:\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()

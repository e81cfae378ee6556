"""The figures of `tools/measure`, in a tree so small that one can count them by hand."""

import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "measure"
COPY = "".join(f"    x += step({i});\n" for i in range(6))


def function(name: str, lines: int, body: str = "") -> str:
    """A function that is so many lines long."""
    return f"static int {name}(void)\n{{\n{body}" + "    y();\n" * (lines - 3 - body.count("\n")) + "}\n"


FILES = {
    "src/a/one.c": "/* one.c - the first */\n" + function("run", 3) + function("one_stop", 5) + function("one_go", 40),
    "src/a/two.c": "/* two.c\n * - the second */\n#include <x.h>\n" + function("run", 3) + function("two_go", 10, COPY),
    "src/b/three.c": function("three_go", 12, "    a();\n" + COPY.replace("    ", "\t") + "    b();\n"),
    "src/b/three.h": "/* three.h - a\n * b */\n#pragma once\nint x; /* beside code */\n\nint y;\n",
    "src/b/three_test.c": function("run", 100) + "int z;\n" * 500,  # does not count
    "test/a.c": function("run", 100, COPY),  # neither does this
}


@pytest.fixture(name="rows")
def fixture_rows(tmp_path):
    """The table as a dictionary: row to our figure."""
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = subprocess.run([TOOL, tmp_path], capture_output=True, text=True, check=True, timeout=60)
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    assert lines[0] == ["", "ydl", "flux-core", "crun", "curl"] and len(lines) == 8
    return {row[0]: row[1] for row in lines[2:]}


def test_the_table_counts_what_it_says(rows):
    # functions: 3, 3, 5, 10, 12, 40 lines; files: 12, 16 and 49; comments: 3 of 77 lines, 2 of 5
    assert rows == {
        "function p50 / p90": "5 / 40",
        ".c file p50 / p90": "16 / 49",
        "comments in .c / .h": "3.9 / 40 %",
        "functions that share a name": "33.3 %",
        "largest folder, .c files": "2",
        "identical pairs ≥ 6 lines per 100 files": "33",
    }


def test_a_long_copy_is_one_pair_and_a_repeated_line_is_none(tmp_path):
    long = "".join(f"    x += step({i});\n" for i in range(20))
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.c").write_text("/* a */\n" + function("a", 40, long))
    (tmp_path / "src/b.c").write_text(function("b", 45, "    /* other */\n" + long))
    done = subprocess.run([TOOL, tmp_path], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1].split("|")[2].strip() == "50"


@pytest.mark.full
def test_this_tree_can_be_measured():
    done = subprocess.run([TOOL], capture_output=True, text=True, check=True, timeout=60)
    assert len(done.stdout.splitlines()) == 8

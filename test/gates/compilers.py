"""Every header compiles alone, and clang accepts, without a warning, what gcc built."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import C_DIRS, Tree

# What a compile command says about meaning; warnings come from ydl_flags, output options go.
KEEP = ("-I", "-D", "-W", "-std", "-isystem")


def check(tree: Tree):
    """One line per file and compiler that disagree."""
    commands = _commands(tree)
    jobs = [("clang", path, flags) for path, flags in commands.items()]
    # Headers have no command of their own: every flag that any file of their directory uses. That
    # clang takes them is seen where they are included.
    jobs += [("gcc", path, _flags_for(path, commands)) for path in tree.under(C_DIRS, ".h")]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for problem in pool.map(lambda job: _compile(tree.root, *job), jobs):
            if problem:
                yield problem


def _commands(tree: Tree) -> dict[str, list[str]]:
    """From our own files to the flags they are compiled with; generated code is left out."""
    found = {}
    for entry in json.loads((tree.build / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.is_relative_to(tree.root) and not path.is_relative_to(tree.build):
            words = shlex.split(entry["command"])
            found[path.relative_to(tree.root).as_posix()] = _kept(words)
    return found


def _kept(words: list[str]) -> list[str]:
    kept = []
    for i, word in enumerate(words):
        if word.startswith(KEEP) or (i and words[i - 1] in ("-I", "-isystem", "-D")):
            kept.append(word)
    return kept


def _flags_for(header: str, commands: dict[str, list[str]]) -> list[str]:
    top = os.path.dirname(header)
    near = [flags for path, flags in commands.items() if os.path.dirname(path) == top]
    merged = dict.fromkeys(flag for flags in near or commands.values() for flag in flags)
    # A header's inline helpers and tables are used by whoever includes it, not by itself.
    return list(merged) + ["-Wno-unused-function", "-Wno-unused-const-variable"]


def _compile(root: Path, compiler: str, path: str, flags: list[str]) -> str | None:
    command = [compiler, "-fsyntax-only", "-Werror", *flags, "-x", "c"]
    if path.endswith(".h"):
        # Through an including file: a header on its own warns about its #pragma once.
        done = subprocess.run([*command, f"-I{root}", "-"], cwd=root, text=True, check=False,
                              input=f'#include "{path}"\n', capture_output=True)
    else:
        done = subprocess.run([*command, path], cwd=root, text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if "error:" in line]
    return f"{path}:1: {compiler}: {(lines or ['failed: ' + done.stderr])[0]}"


def prepare(tree: Tree) -> None:
    """A compile database for a sample."""
    tree.build.mkdir()
    rows = [{"directory": str(tree.root), "file": str(tree.root / path),
             "command": f"cc -I{tree.root}/src -Wall -Wextra -c {path}"}
            for path in tree.under(C_DIRS, ".c")]
    (tree.build / "compile_commands.json").write_text(json.dumps(rows))


SAMPLES = (
    ({"src/a.h": "#pragma once\n#include <stddef.h>\nsize_t f(void);\n",
      "src/a.c": '#include "a.h"\nsize_t f(void) { return 1; }\n'}, None),
    ({"src/a.h": "#pragma once\nsize_t f(void);\n",
      "src/a.c": '#include <stddef.h>\n#include "a.h"\nsize_t f(void) { return 1; }\n'},
     "src/a.h:1: gcc: "),
    ({"src/a.c": "int f(int x);\nint f(int x) { return x = x; }\n"}, "src/a.c:1: clang: "),
)

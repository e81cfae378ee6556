"""Every header compiles alone, and clang accepts, without a warning, what gcc built.

What a compiler has accepted it accepts again: a file is compiled only when it, what it includes, its flags
or the compiler changed. Ninja knows what a file includes; accepted ones are noted in the cache.
"""

import functools
import hashlib
import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source import C_DIRS, Tree, accepted

# What a compile command says about meaning; warnings come from ydl_flags, output options go.
KEEP = ("-I", "-D", "-W", "-std", "-isystem")


def check(tree: Tree):
    """One line per file and compiler that disagree."""
    commands = _commands(tree)
    jobs = [("clang", path, flags) for path, flags in commands.items()]
    # Headers have no command of their own: every flag that any file of their directory uses. That
    # clang takes them is seen where they are included.
    jobs += [("gcc", path, _flags_for(path, commands)) for path in tree.under(C_DIRS, ".h")]
    known = Accepted(tree)
    jobs = [job for job in jobs if not known.knows(*job)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job, problem in zip(jobs, pool.map(lambda job: _compile(tree.root, *job), jobs)):
            if problem:
                yield problem
            else:
                known.note(*job)


class Accepted:
    """Which compiler has accepted which content."""

    def __init__(self, tree: Tree):
        self.root = tree.root
        self.includes = _includes(tree)
        self.headers = [str(tree.root / path) for path in tree.under(C_DIRS, ".h")]
        self.dir = accepted()

    def knows(self, compiler: str, path: str, flags: list[str]) -> bool:
        name = self._name(compiler, path, flags)
        return name is not None and name.exists()

    def note(self, compiler: str, path: str, flags: list[str]) -> None:
        name = self._name(compiler, path, flags)
        if name:
            name.touch()

    def _name(self, compiler: str, path: str, flags: list[str]) -> Path | None:
        """None where nobody knows what the file includes: it is compiled each time."""
        includes = self.headers if path.endswith(".h") else self.includes.get(path)
        if includes is None:
            return None
        # Flags name the checkout, which may be anywhere.
        words = [word.replace(str(self.root), "") for word in (compiler, path, *flags)]
        told = hashlib.sha256("\0".join([_version(compiler), *words]).encode())
        for name in sorted({str(self.root / path), *includes}):
            told.update(_digest(name))
        return self.dir / told.hexdigest()


@functools.cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True,
                          check=True).stdout


@functools.cache
def _digest(path: str) -> bytes:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except FileNotFoundError:
        return b"gone"


def _includes(tree: Tree) -> dict[str, list[str]]:
    """From a file of ours to everything that went into its object; {} where Ninja did not build it."""
    found, current = {}, []
    done = subprocess.run(["ninja", "-C", str(tree.build), "-t", "deps"], capture_output=True,
                          text=True, check=False)
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        if not line.startswith(" "):
            current = []
            continue
        name = os.path.normpath(os.path.join(tree.build, line.strip()))
        current.append(name)
        if len(current) == 1 and Path(name).is_relative_to(tree.root):
            found[Path(name).relative_to(tree.root).as_posix()] = current
    return found


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

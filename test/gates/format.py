"""clang-format would change nothing. Files that it has left alone before are not shown to it again."""

import functools
import hashlib
import re
import subprocess
from pathlib import Path

from source import C_DIRS, Tree, accepted

# The rules of the repository, for the samples too: a sample tree has no .clang-format of its own.
STYLE = Path(__file__).resolve().parents[2] / ".clang-format"


def check(tree: Tree):
    """One line per file that is not as clang-format writes it."""
    places = {path: _place(tree.root / path) for path in tree.under(C_DIRS, ".c", ".h")}
    files = [str(tree.root / path) for path, place in places.items() if not place.exists()]
    if not files:
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", f"--style=file:{STYLE}", *files],
                          capture_output=True, text=True, check=False)
    found = re.findall(r"^(\S+):(\d+):\d+: error", done.stderr, re.MULTILINE)
    first = {path: line for path, line in reversed(found)}
    for path, line in sorted(first.items()):
        yield f"{path.removeprefix(f'{tree.root}/')}:{line}: `make format` would change it"
    if done.returncode and not found:
        yield f"clang-format: exit {done.returncode}: {done.stderr}"
        return
    for path, place in places.items():
        if str(tree.root / path) not in first:
            place.touch()


def _place(file: Path) -> Path:
    """The note that this content is as this clang-format writes it."""
    return accepted() / hashlib.sha256(_rules() + file.read_bytes()).hexdigest()


@functools.cache
def _rules() -> bytes:
    version = subprocess.run(["clang-format", "--version"], capture_output=True, check=True).stdout
    return version + STYLE.read_bytes()


SAMPLES = (
    ({"src/a.c": "int f(int x)\n{\n    return x;\n}\n"}, None),
    ({"src/a.c": "int f(int x) {\n  return x;\n}\n"}, "src/a.c:1:"),
)

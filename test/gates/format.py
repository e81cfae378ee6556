"""clang-format would change nothing."""

import re
import subprocess
from pathlib import Path

from source import C_DIRS, Tree

# The rules of the repository, for the samples too: a sample tree has no .clang-format of its own.
STYLE = Path(__file__).resolve().parents[2] / ".clang-format"


def check(tree: Tree):
    """One line per file that is not as clang-format writes it."""
    files = [str(tree.root / path) for path in tree.under(C_DIRS, ".c", ".h")]
    if not files:
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", f"--style=file:{STYLE}", *files],
                          capture_output=True, text=True, check=False)
    places = re.findall(r"^(\S+):(\d+):\d+: error", done.stderr, re.MULTILINE)
    first = {path: line for path, line in reversed(places)}
    for path, line in sorted(first.items()):
        yield f"{path.removeprefix(f'{tree.root}/')}:{line}: `make format` would change it"
    if done.returncode and not places:
        yield f"clang-format: exit {done.returncode}: {done.stderr}"


SAMPLES = (
    ({"src/a.c": "int f(int x)\n{\n    return x;\n}\n"}, None),
    ({"src/a.c": "int f(int x) {\n  return x;\n}\n"}, "src/a.c:1:"),
)

"""The same tree, checked out in two places, builds to the same bytes."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from source import Tree

CONFIGURE = ("cmake", "--preset", "release")
BUILD = ("cmake", "--build", "build", "--target", "programs")


def check(tree: Tree):
    """One line per program that differs."""
    with tempfile.TemporaryDirectory(prefix="ydl-twice-") as scratch:
        # Different lengths too: a path that gets in moves everything behind it.
        places = [Path(scratch) / place for place in ("a", "some/where/else")]
        for place in places:
            _copy(tree, place)
        first, second = (_build(place) for place in places)
    if not first:
        yield "build/bin: no programs were built"
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            yield f"build/bin/{name}: {first.get(name)} in one place, {second.get(name)} in another"


def _copy(tree: Tree, place: Path) -> None:
    for path in tree.paths:
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.root / path, target)


def _build(place: Path) -> dict[str, str]:
    if (place / "CMakeLists.txt").exists():
        for command in (CONFIGURE, BUILD):
            subprocess.run(command, cwd=place, check=True, stdout=subprocess.DEVNULL)
    else:
        subprocess.run(["make", "-s", "-C", place, f"PLACE={place}"], check=True)
    programs = [p for p in (place / "build" / "bin").iterdir() if os.access(p, os.X_OK)]
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in programs if p.is_file()}


_MAKE = "all:\n\tmkdir -p build/bin\n\tcc {} -o build/bin/x x.c\n"
SAMPLES = (
    ({"x.c": "int main(void) { return 0; }\n", "Makefile": _MAKE.format("")}, None),
    ({"x.c": "const char *p = P; int main(void) { return !p; }\n",
      "Makefile": _MAKE.format("-DP='\"$(PLACE)\"'")}, "in one place"),
)

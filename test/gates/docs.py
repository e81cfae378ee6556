"""What the documents say can be typed, opened and clicked is there."""

import re

from layers import LAYERS
from source import Tree

MAKE = re.compile(r"(?:^|`|\$ )make(?: ([a-z][\w-]*))?(?=[`\s])", re.MULTILINE)
TARGET = re.compile(r"^([a-z][\w -]*):(?!=)", re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"`((?:src|test|tools|doc|fuzz|bench|man|proto|cmake)/[\w./-]*)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")  # fuzz/NAME.c
PICTURE = "doc/developer/architecture.md"
ROW = re.compile(r'\br(\d+)\["([^"]+)"\]')  # r0["base"] of its Mermaid diagram


def check(tree: Tree):
    """One line per command, link or path that leads nowhere."""
    targets = _targets(tree)
    for path in [p for p in tree.paths if p.endswith(".md")]:
        text = tree.text(path)
        for n, line in enumerate(text.splitlines(), 1):
            for m in MAKE.finditer(line + "\n"):
                if m.group(1) and m.group(1) not in targets:
                    yield f"{path}:{n}: 'make {m.group(1)}': the Makefile has no such target"
            for m in LINK.finditer(line):
                if not (tree.root / path).parent.joinpath(m.group(1)).exists():
                    yield f"{path}:{n}: link to '{m.group(1)}', which is not there"
            for m in PLACE.finditer(line):
                if not PLACEHOLDER.search(m.group(1)) and not (tree.root / m.group(1)).exists():
                    yield f"{path}:{n}: names '{m.group(1)}', which is not there"
    yield from _layers(tree)
    yield from _help(tree)
    yield from _ci(tree)


def _targets(tree: Tree) -> set[str]:
    found = set()
    for m in TARGET.finditer(tree.text("Makefile")):
        found.update(m.group(1).split())
    return found


def _layers(tree: Tree):
    """The picture of the layers has the rows of the table in layers.py."""
    drawn = dict(ROW.findall(tree.text(PICTURE))) if PICTURE in tree.paths else None
    wanted = {str(i): " · ".join(row) for i, row in enumerate(LAYERS)}
    for i in sorted(drawn.keys() | wanted.keys(), key=int) if drawn is not None else ():
        if drawn.get(i) != wanted.get(i):
            yield f"{PICTURE}:1: row r{i} of its diagram is '{drawn.get(i)}', in layers.py '{wanted.get(i)}'"


def _help(tree: Tree):
    """`make help` is the comment at the end of a target's line: every target has one."""
    for n, line in enumerate(tree.text("Makefile").splitlines(), 1):
        if TARGET.match(line) and " ## " not in line:
            yield f"Makefile:{n}: no '## …' for make help"


def _ci(tree: Tree):
    """CI runs the one test command of the README."""
    if "make check" not in tree.text("README.md"):
        yield "README.md:1: does not name the test command, 'make check'"
    last = tree.text(".ci/run").rstrip().splitlines()[-1]
    if last != "exec make check":
        yield f".ci/run:1: its last line is '{last}', not the README's test command"


_GOOD = {"Makefile": "all: ## builds\n\ttrue\ncheck: all ## tests\n\ttrue\n",
         "README.md": "`make` and `make check`, [here](doc/a.md), `doc/a.md`, `fuzz/NAME.c`\n", "doc/a.md": "x\n",
         ".ci/run": "#!/bin/sh\nexec make check\n"}
SAMPLES = (
    (_GOOD, None),
    (_GOOD | {"doc/a.md": "run `make checks`\n"}, "'make checks'"),
    (_GOOD | {"doc/a.md": "    make nothing\n"}, None),
    (_GOOD | {"doc/a.md": "```\nmake nothing\n```\n"}, "'make nothing'"),
    (_GOOD | {"doc/a.md": "[x](b.md)\n"}, "link to 'b.md'"),
    (_GOOD | {"doc/a.md": "in `src/nowhere/`\n"}, "names 'src/nowhere/'"),
    (_GOOD | {PICTURE: 'r0["cmd"]\n'}, "row r0 of its diagram is 'cmd', in layers.py 'base'"),
    (_GOOD | {".ci/run": "exec make\n"}, "not the README's test command"),
    (_GOOD | {"README.md": "nothing\n"}, "does not name the test command"),
    (_GOOD | {"Makefile": "all:\n\ttrue\ncheck: ## x\n"}, "no '## …'"),
)

"""What the documents say can be typed, opened and clicked is there."""

import re

from layers import LAYERS, RANK
from source import Tree

MAKE = re.compile(r"(?:^|`|\$ )make(?: ([a-z][\w-]*))?(?=[`\s])", re.MULTILINE)
TARGET = re.compile(r"^([a-z][\w -]*):(?!=)", re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)")
PLACE = re.compile(r"`((?:src|test|tools|doc|fuzz|bench|man|proto|cmake)/[\w./-]*)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b")  # fuzz/NAME.c
PICTURE = "doc/developer/architecture.md"
ROW = re.compile(r'\br(\d+)\["([^"]+)"\]')  # r0["base"] of its Mermaid diagram
STATES = "src/job/engine/state.c"
STATE_TABLE = re.compile(r"^static const uint8_t (task|job)_table\b.*?^};", re.MULTILINE | re.DOTALL)
STATE_CELL = re.compile(r"\[(?:TASK|JOB)_(\w+)\]\s*=\s*(?:\{|TO\((?:TASK|JOB)_(\w+)\))")
STATE_VERB = re.compile(r"\[((?:TASK|JOB)_EV_\w+)\] = \"([^\"]+)\"")
PROOFS = ("doc/developer/findings.md", "doc/developer/promises.md")  # rows, each with the tests that hold it
PROOF = re.compile(r"([\w/.-]+\.(?:c|py))\b|::(\w+)")
ARROW = re.compile(r"^\s*([A-Z]+) --> ([A-Z]+): (.+?)\s*$", re.MULTILINE)


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
    yield from _proofs(tree)
    yield from _layers(tree)
    yield from _rooms(tree)
    yield from _states(tree)
    yield from _help(tree)
    yield from _ci(tree)


def _targets(tree: Tree) -> set[str]:
    found = set()
    for m in TARGET.finditer(tree.text("Makefile")):
        found.update(m.group(1).split())
    return found


def _proofs(tree: Tree):
    """Every test that a row names is there: FILE::NAME, and further ones of that file as ::NAME. A file
    without its folder is in that of the file before."""
    for page in (p for p in PROOFS if p in tree.paths):
        for n, line in enumerate(tree.text(page).splitlines(), 1):
            file = ""
            for m in PROOF.finditer(line if line.startswith("|") else ""):
                if m.group(1):
                    file = m.group(1) if "/" in m.group(1) else f"{file.rpartition('/')[0]}/{m.group(1)}"
                    if file.split("/")[0] in ("src", "test", "fuzz") and file not in tree.paths:
                        yield f"{page}:{n}: names '{file}', which is not there"
                elif file in tree.paths and not re.search(rf"\b{m.group(2)}\b", tree.text(file)):
                    yield f"{page}:{n}: '{file}' has no test '{m.group(2)}'"


def _layers(tree: Tree):
    """The picture of the layers has the rows of the table in layers.py."""
    drawn = dict(ROW.findall(tree.text(PICTURE))) if PICTURE in tree.paths else None
    wanted = {str(i): " · ".join(row) for i, row in enumerate(LAYERS)}
    for i in sorted(drawn.keys() | wanted.keys(), key=int) if drawn is not None else ():
        if drawn.get(i) != wanted.get(i):
            yield f"{PICTURE}:1: row r{i} of its diagram is '{drawn.get(i)}', in layers.py '{wanted.get(i)}'"


def _rooms(tree: Tree):
    """Every folder with sources is a layer, a verb's, or named among the rooms."""
    text = tree.text(PICTURE) if PICTURE in tree.paths else None
    folders = {p.rpartition("/")[0] for p in tree.under(("src",), ".c")}
    for folder in sorted(folders) if text is not None else ():
        name = folder.removeprefix("src/")
        if name not in RANK and not re.fullmatch(r"cmd/[^/]+", name) and f"`{folder}/`" not in text:
            yield f"{PICTURE}:1: names no room `{folder}/`, which has sources"


def _arrows(text: str) -> set[tuple[str, str, str]]:
    """Every (state, next state, event) of the two tables in state.c."""
    verbs, found = dict(STATE_VERB.findall(text)), set()
    for table in STATE_TABLE.finditer(text):
        state = None
        for name, after in STATE_CELL.findall(table.group(0)):
            if not name.startswith("EV_"):
                state = name
            elif after:  # not LATE
                found.add((state, after, verbs[f"{table.group(1).upper()}_{name}"]))
    return found


def _states(tree: Tree):
    """The pictures of a task's and a job's states are the tables in state.c. Others are not compared."""
    if PICTURE not in tree.paths or STATES not in tree.paths:
        return
    text = tree.text(PICTURE)
    start = text.find("**A task:**")
    drawn = set(ARROW.findall(text[start:text.find("**A slot**", start)]))
    wanted = _arrows(tree.text(STATES))
    for state, after, event in sorted(wanted - drawn):
        yield f"{PICTURE}:1: no arrow '{state} --> {after}: {event}', which state.c has"
    for state, after, event in sorted(drawn - wanted):
        yield f"{PICTURE}:1: arrow '{state} --> {after}: {event}', which state.c does not have"


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
_TABLE = """\
static const char *const job_verbs[] = { [JOB_EV_END] = "ended" };
static const uint8_t job_table[JOB_STATES_][JOB_EVENTS_] = {
    [JOB_NEW] = { [JOB_EV_END] = TO(JOB_DONE), [JOB_EV_TWICE] = LATE },
};
"""
_DRAWN = "".join(f'r{i}["{" · ".join(row)}"]\n' for i, row in enumerate(LAYERS)) + "**A task:**\n"
_ROOM = "`src/job/engine/`\n"  # where its table is
SAMPLES = (
    (_GOOD, None),
    (_GOOD | {STATES: _TABLE, PICTURE: _DRAWN + _ROOM + "NEW --> DONE: ended\n**A slot**"}, None),
    (_GOOD | {STATES: _TABLE, PICTURE: _DRAWN + _ROOM + "**A slot**"}, "no arrow 'NEW --> DONE: ended'"),
    (_GOOD | {STATES: _TABLE, PICTURE: _DRAWN + _ROOM + "NEW --> DONE: ended\nDONE --> NEW: again\n**A slot**"},
     "arrow 'DONE --> NEW: again', which state.c does not"),
    (_GOOD | {"doc/a.md": "run `make checks`\n"}, "'make checks'"),
    (_GOOD | {"doc/a.md": "    make nothing\n"}, None),
    (_GOOD | {"doc/a.md": "```\nmake nothing\n```\n"}, "'make nothing'"),
    (_GOOD | {"doc/a.md": "[x](b.md)\n"}, "link to 'b.md'"),
    (_GOOD | {"doc/a.md": "in `src/nowhere/`\n"}, "names 'src/nowhere/'"),
    (_GOOD | {PICTURE: _DRAWN + "`src/base/a/`\n", "src/base/a.c": "", "src/base/a/a.c": "",
              "src/cmd/a/a.c": ""}, None),
    (_GOOD | {PICTURE: _DRAWN, "src/base/a/a.c": ""}, "names no room `src/base/a/`"),
    (_GOOD | {PICTURE: 'r0["cmd"]\n'}, "row r0 of its diagram is 'cmd', in layers.py 'base'"),
    (_GOOD | {".ci/run": "exec make\n"}, "not the README's test command"),
    (_GOOD | {"README.md": "nothing\n"}, "does not name the test command"),
    (_GOOD | {PROOFS[0]: "| A1 | x | src/a_test.c::b, ::c[d]; b_test.c |\n| A2 | y | test/none |\n",
              "src/a_test.c": "void b(void) c\n", "src/b_test.c": ""}, None),
    (_GOOD | {PROOFS[0]: "x\n| A1 | x | src/a_test.c |\n"}, "findings.md:2: names 'src/a_test.c'"),
    (_GOOD | {PROOFS[1]: "| `test/a.py::b`, `::c` |\n", "test/a.py": "def b()\n"}, "'test/a.py' has no test 'c'"),
    (_GOOD | {"Makefile": "all:\n\ttrue\ncheck: ## x\n"}, "no '## …'"),
)

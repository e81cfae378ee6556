"""A .c file that is more than a page long opens with its own idea, not with another file's name.

Folders join HELD when they are clean, and do not leave it; what is left is printed as notes.
"""

import re
from collections import Counter

from source import Tree, is_test

PAGE = 60  # lines
WORDS = 3  # fewer are a title

# Folders whose files are held to it; each stands for itself, not for those below.
HELD = (
    "src/agent", "src/agent/link", "src/agent/output", "src/agent/platform", "src/agent/socket",
    "src/agent/tasks", "src/base", "src/cli", "src/client", "src/cmd", "src/cmd/cache",
    "src/cmd/cluster", "src/cmd/doctor", "src/cmd/fs", "src/cmd/job", "src/cmd/native",
    "src/cmd/node", "src/cmd/pack", "src/cmd/slider", "src/framework", "src/framework/plan",
    "src/hadoop/conf", "src/hadoop/fs", "src/hadoop/hdfs", "src/hadoop/logs", "src/hadoop/registry",
    "src/hadoop/rpc", "src/hadoop/sasl", "src/hadoop/session", "src/hadoop/token",
    "src/hadoop/yarn", "src/job", "src/job/engine", "src/job/spec", "src/launch", "src/loop",
    "src/master", "src/master/api", "src/master/local", "src/master/yarn", "src/native",
    "src/platform/local", "src/platform/yarn", "src/pyenv", "src/rendezvous", "src/slider",
    "src/terminal", "src/uploads", "src/wire",
)

_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_SEE = re.compile(r"\bsee(?: also)?(?: \w+\(\) in)?\s[\s*]*[\w./]+(?:\.[ch]\b|\(\))(?:(?:,| and) [\w./]+\.[ch]\b)*",
                  re.IGNORECASE)


def check(tree: Tree):
    """One line per file of a folder in HELD that does not say what it is for."""
    for path in silent(tree):
        if path.rpartition("/")[0] in HELD:
            yield f"{path}:1: opens with 'see …' alone: say what it is for"


def notes(tree: Tree):
    """How many files are left, and which folders could be held to it by now."""
    left = Counter(path.rpartition("/")[0] for path in silent(tree))
    rows = [f"{folder} {n}" for folder, n in sorted(left.items()) if folder not in HELD]
    if rows:
        yield f"{sum(left.values())} files open with 'see …' alone: {', '.join(rows)}"
    clean = {path.rpartition("/")[0] for path in tree.under(("src",), ".c")} - set(left) - set(HELD)
    if clean:
        yield f"clean, and could join HELD: {', '.join(sorted(clean))}"


def silent(tree: Tree) -> list[str]:
    """The files of more than a page whose opening comment says nothing of its own."""
    return [path for path in tree.under(("src",), ".c")
            if not is_test(path) and not says_something(tree.text(path))]


def says_something(text: str) -> bool:
    """Whether the first comment has words besides the file's name and those of other files."""
    if text.count("\n") <= PAGE:
        return True
    comment = _COMMENT.match(text)
    if not comment:
        return False
    said = re.sub(r"^[\s*]*\S+ - ", "", comment.group(1))
    return len(re.findall(r"\w+", _SEE.sub("", said))) >= WORDS


_REST = "int x;\n" * PAGE
_HELD = {"src/master/ok.c": "/* ok.c - what it is for */\n" + _REST}
SAMPLES = (
    (_HELD | {"src/master/a.c": "/* a.c - a list of\n * what holds; see a.h */\n" + _REST,
              "src/master/b.c": "/* b.c - see b.h */\nint x;\n",
              "src/master/b_test.c": "/* b_test.c - see b.h */\n" + _REST,
              "src/elsewhere/c.c": "/* c.c - see c.h */\n" + _REST}, None),
    ({"src/master/a.c": "/* a.c - see a.h */\n" + _REST}, "src/master/a.c:1: opens with"),
    ({"src/master/a.c": "/* a.c - See\n * a.h, b.h and c.h. */\n" + _REST}, "src/master/a.c:1: opens with"),
    ({"src/master/a.c": "/* a.c - parser; see a_parse() in a.h. */\n" + _REST}, "say what it is for"),
    ({"src/master/a.c": "#include <a.h>\n" + _REST}, "say what it is for"),
)

"""Every source file opens with what it is for; nothing in the tree is left for later or names the
machine it was written on."""

import re
from pathlib import Path

from source import C_DIRS, Tree, line_of

TEXT = (".c", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".proto", ".ini", ".toml", ".sh", ".1",
        ".xml", ".yml", ".yaml")
# Spelled in pieces so that this file does not find itself.
LATER = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")
HOME = re.compile(r"(?<![\w.}/])/(?:home/(?!me\b|USER\b|alice\b)[\w.-]+|root|Users/[\w.-]+)/")


def check(tree: Tree):
    """One line per missing opening, mark or path."""
    own = _own_path(tree.root)
    for path in tree.paths:
        if not (path.endswith(TEXT) or _is_script(tree.root / path)):
            continue
        text = tree.text(path)
        yield from _opening(path, text)
        for m in LATER.finditer(text):
            yield f"{path}:{line_of(text, m.start())}: '{m.group()}': do it or file it"
        for pattern in (HOME, own):
            for m in pattern.finditer(text) if pattern else ():
                yield f"{path}:{line_of(text, m.start())}: '{m.group()}' is a path of one machine"


def _opening(path: str, text: str):
    top = path.split("/")[0]
    if top in C_DIRS and path.endswith((".c", ".h")):
        if not text.startswith("/* "):
            yield f"{path}:1: does not open with a comment that says what it is for"
        if path.endswith(".h") and "\n#pragma once\n" not in text:
            yield f"{path}:1: no '#pragma once'"
    elif path.endswith(".py") and text.strip() and not re.match(r'(#!.*\n)?"""', text):
        yield f"{path}:1: does not open with a docstring"


def _own_path(root: Path) -> re.Pattern | None:
    """The place of this checkout, unless it is too short a path to mean one machine."""
    if len(root.resolve().parts) < 3:
        return None
    return re.compile(r"(?<![\w.}])" + re.escape(str(root.resolve())) + r"\b")


def _is_script(path: Path) -> bool:
    if path.suffix or path.stat().st_size > 1 << 20:
        return False
    with path.open("rb") as f:
        return f.read(2) == b"#!" or path.name in ("Makefile", "LICENSE")


SAMPLES = (
    ({"src/a.c": "/* a.c - see a.h */\n", "src/a.h": "/* a.h - x\n */\n#pragma once\n",
      "doc/a.md": "/user/root/x, /home/me/x, XXXXXX\n", "test/a.py": '"""A."""\n'}, None),
    ({"src/a.c": "#include <x.h>\n"}, "src/a.c:1: does not open"),
    ({"src/a.h": "/* a.h - x */\nint x;\n"}, "pragma once"),
    ({"test/a.py": "import os\n"}, "docstring"),
    ({"doc/a.md": "one\ntwo TO" "DO three\n"}, "doc/a.md:2: "),
    ({"tools/x": "#!/bin/sh\n# FIX" "ME\n"}, "do it or file it"),
    ({"src/a.c": "/* a */\nchar *p = \"/ro" "ot/x\";\n"}, "a path of one machine"),
    ({"README.md": "see /ho" "me/bob/x\n"}, "a path of one machine"),
)

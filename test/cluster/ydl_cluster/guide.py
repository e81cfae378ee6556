"""What the pages for users say to type: the blocks between two fences, and the comments directly above them.

test/docs types all of it, and doc/README.md has the convention. What needs more than a page can have (a
cluster of its own, a directory to install into) is typed by another test, which the page names:

    <!-- run by: test/cli/test_install.py -->

That test asks for it by `blocks_of("doc/guide/operating.md", __file__)`, so what it types is what stands there.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_FENCE = re.compile(r"^( *)```\s*(\w*)\s*$")
_COMMENT = re.compile(r"^\s*<!-- (runs in|on|with|not run|run by): (.+?) -->\s*$")


@dataclass
class Block:
    """What is between two fences. `first` is the line of the opening one, from 0."""

    first: int
    language: str
    marks: dict[str, str]
    lines: list[str] = field(default_factory=list)


def blocks(text: str) -> list[Block]:
    """All blocks, with the comments directly above them."""
    found, marks, inside, indent = [], {}, None, ""
    for n, line in enumerate(text.splitlines()):
        if inside is not None:
            if line.strip() == "```":
                inside = None
            else:
                inside.lines.append(line.removeprefix(indent))
        elif fence := _FENCE.match(line):
            indent, language = fence.groups()
            inside = Block(n, language, marks)
            marks = {}
            found.append(inside)
        elif comment := _COMMENT.match(line):
            marks[comment.group(1)] = comment.group(2)
        elif line.strip():
            marks = {}
    return found


def blocks_of(page: str, test: str) -> list[str]:
    """The text of each block that a page leaves to a test, which gives its own file."""
    name = str(Path(test).resolve().relative_to(ROOT))
    found = ["\n".join(block.lines) + "\n" for block in blocks((ROOT / page).read_text())
             if block.marks.get("run by") == name]
    assert found, f"{page} leaves nothing to {name}"
    return found

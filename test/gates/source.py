"""What the gates see of the tree: its files, and C source without comments and strings."""

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path

SKIP = {".git", "build", "__pycache__", ".pytest_cache"}
C_DIRS = ("src", "test", "fuzz", "bench")

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)
_NAME = re.compile(r"(\w+)\s*\($")


def accepted() -> Path:
    """Where it is noted what slow tools have accepted, by a digest of all that they looked at."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    found = Path(os.environ.get("YDL_CACHE_DIR") or Path(home) / "ydl") / "accepted"
    found.mkdir(parents=True, exist_ok=True)
    return found


def is_test(path: str) -> bool:
    """Whether a file is only built for tests."""
    return not path.startswith("src/") or path.endswith(("_test.c", "_testing.h", "_testing.c"))


@dataclass(frozen=True)
class Tree:
    """A checkout and, where a gate needs one, its build directory."""

    root: Path
    build: Path | None = None

    @functools.cached_property
    def paths(self) -> list[str]:
        """Every file that belongs to the project, relative, sorted."""
        found = []
        todo = [self.root]
        while todo:
            for entry in todo.pop().iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    if entry.name not in SKIP:
                        todo.append(entry)
                elif entry.is_file():
                    found.append(entry.relative_to(self.root).as_posix())
        return sorted(found)

    def under(self, tops, *suffixes: str) -> list[str]:
        """The files with one of these endings below one of these directories."""
        return [p for p in self.paths if p.split("/")[0] in tops and p.endswith(suffixes)]

    def text(self, path: str) -> str:
        """A file's text; bytes that are not UTF-8 are replaced, not refused."""
        return (self.root / path).read_text(encoding="utf-8", errors="replace")


def _spaces(match: re.Match) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def blank(text: str) -> str:
    """C source with comments and literals turned into blanks: every line and column stays."""
    return TOKEN.sub(_spaces, text)


def line_of(text: str, offset: int) -> int:
    """The 1-based line of an offset."""
    return text.count("\n", 0, offset) + 1


@dataclass(frozen=True)
class Function:
    """A function's definition: lines from its name's statement to its closing brace."""

    name: str
    first: int
    last: int
    parameters: int
    types: tuple[str, ...]  # of the parameters, without their names

    @property
    def lines(self) -> int:
        """How long it is, as an editor shows it."""
        return self.last - self.first + 1


@functools.lru_cache(maxsize=None)
def functions(text: str) -> list[Function]:
    """The functions that a C file defines. Bodies of macros are not looked into."""
    code = _DIRECTIVE.sub(_spaces, blank(text))
    found = []
    depth, start, head = 0, 0, None
    for m in re.finditer(r"[{};]", code):
        c = m.group()
        if c == "{":
            if depth == 0:
                head = (start, code[start:m.start()])
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                function = _defined(code, head, m.start())
                if function:
                    found.append(function)
                start = m.end()
        elif depth == 0:
            start = m.end()
    return found


def _defined(code: str, head, end: int) -> Function | None:
    """The function whose text before the body is `head`, or None for a struct or a table."""
    start, signature = head
    plain = _without_attributes(signature)
    opening = _NAME.search(plain[:plain.find("(") + 1])
    if not opening or "=" in plain:
        return None
    first = line_of(code, start + len(signature) - len(signature.lstrip()))
    inner = plain[plain.find("(") + 1:_closing(plain, plain.find("("))].strip()
    return Function(opening.group(1), first, line_of(code, end), _count(inner), _types(inner))


def _without_attributes(signature: str) -> str:
    while (at := signature.find("__attribute__")) >= 0:
        signature = signature[:at] + signature[_closing(signature, signature.find("(", at)) + 1:]
    return signature


def _closing(text: str, opening: int) -> int:
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return len(text)


def _types(parameters: str) -> tuple[str, ...]:
    return tuple(re.sub(r"\w+$", "", p.strip()).strip() for p in parameters.split(","))


def _count(parameters: str) -> int:
    if parameters in ("", "void"):
        return 0
    depth, n = 0, 1
    for c in parameters:
        depth += (c in "([") - (c in ")]")
        n += c == "," and depth == 0
    return n

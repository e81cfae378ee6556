"""A .c file that is more than a page long opens with its own idea, not with another file's name."""

import re

from source import Tree, is_test

PAGE = 60  # lines
WORDS = 3  # fewer are a title

_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_SEE = re.compile(r"\bsee(?: also)?(?: \w+\(\) in)?\s[\s*]*[\w./]+(?:\.[ch]\b|\(\))(?:(?:,| and) [\w./]+\.[ch]\b)*",
                  re.IGNORECASE)


def check(tree: Tree):
    """One line per file that does not say what it is for."""
    for path in silent(tree):
        yield f"{path}:1: opens with 'see …' alone: say what it is for"


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
SAMPLES = (
    ({"src/master/ok.c": "/* ok.c - what it is for */\n" + _REST,
      "src/master/a.c": "/* a.c - a list of\n * what holds; see a.h */\n" + _REST,
      "src/master/b.c": "/* b.c - see b.h */\nint x;\n",
      "src/master/b_test.c": "/* b_test.c - see b.h */\n" + _REST}, None),
    ({"src/elsewhere/c.c": "/* c.c - see c.h */\n" + _REST}, "src/elsewhere/c.c:1: opens with"),
    ({"src/master/a.c": "/* a.c - see a.h */\n" + _REST}, "src/master/a.c:1: opens with"),
    ({"src/master/a.c": "/* a.c - See\n * a.h, b.h and c.h. */\n" + _REST}, "src/master/a.c:1: opens with"),
    ({"src/master/a.c": "/* a.c - parser; see a_parse() in a.h. */\n" + _REST}, "say what it is for"),
    ({"src/master/a.c": "#include <a.h>\n" + _REST}, "say what it is for"),
)

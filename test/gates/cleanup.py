"""What cleans up by itself at the end of its scope starts initialised where it is declared.

A return between a declaration and a later buf_init() would free whatever was on the stack, and the
compiler does not always see it.
"""

import re

from source import C_DIRS, Tree, blank, line_of

# AUTO_BUF b;   AUTO(log) struct log l;   AUTO_FREE char *a, *b;
DECLARED = re.compile(r"^[ \t]*AUTO(?:_[A-Z_]+)?(?:\(\w+\))?[ \t]+(?:[\w \t*,]*[ \t*])?\w+;", re.MULTILINE)


def check(tree: Tree):
    """One line per declaration without a value."""
    for path in tree.under(C_DIRS, ".c", ".h"):
        code = blank(tree.text(path))
        for m in DECLARED.finditer(code):
            yield (f"{path}:{line_of(code, m.start())}: '{m.group(0).strip()}' is not initialised: "
                   "a return before it is would free what was on the stack")


SAMPLES = (
    ({"src/a.c": "    AUTO_BUF b = { .max = 4 };\n    AUTO_FREE char *p = NULL;\n"
                 "    /* AUTO_BUF c; */\n    AUTO_DEFINE(x, struct x *, x_free);\n"}, None),
    ({"src/a.c": "\n    AUTO_BUF b;\n"}, "src/a.c:2: 'AUTO_BUF b;' is not initialised"),
    ({"src/a_test.c": "    AUTO(log) struct log l;\n"}, "is not initialised"),
    ({"src/a.c": "    AUTO_DONE(log_done) struct log l;\n"}, "is not initialised"),
    ({"src/a.c": "    AUTO_FREE char *a, *b;\n"}, "is not initialised"),
)

"""Files and functions stay small enough to be read in one go."""

import ast

from source import C_DIRS, Tree, functions

FILE_LINES = 500
FUNCTION_LINES = 60  # the hard stop
FUNCTION_AIM = 50    # longer ones are named, for whoever next works there
PARAMETERS = 6       # five, and err

# Callbacks whose parameters a library prescribes: these types, in this order.
PRESCRIBED = (
    ("nghttp2_session *", "int32_t", "uint8_t *", "size_t", "uint32_t *", "nghttp2_data_source *", "void *"),
)


def check(tree: Tree):
    """One line per file, function or parameter list that is too long."""
    for path in tree.under(C_DIRS + ("tools",), ".c", ".h", ".py"):
        text = tree.text(path)
        n = text.count("\n")
        if n > FILE_LINES:
            yield f"{path}:{FILE_LINES + 1}: {n} lines, at most {FILE_LINES}"
        if path.endswith(".py"):
            yield from _python(path, text)
        else:
            yield from _c(path, text)


def _c(path: str, text: str):
    for f in functions(text):
        if f.lines > FUNCTION_LINES:
            yield f"{path}:{f.first}: {f.name} has {f.lines} lines, at most {FUNCTION_LINES}"
        if f.parameters > PARAMETERS and f.types not in PRESCRIBED:
            yield f"{path}:{f.first}: {f.name} has {f.parameters} parameters, at most {PARAMETERS}"


def _python(path: str, text: str):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            n = node.end_lineno - node.lineno + 1
            if n > FUNCTION_LINES:
                yield f"{path}:{node.lineno}: {node.name} has {n} lines, at most {FUNCTION_LINES}"


def notes(tree: Tree):
    """Functions past the aim, which fail nothing."""
    for path in tree.under(C_DIRS, ".c", ".h"):
        for f in functions(tree.text(path)):
            if FUNCTION_AIM < f.lines <= FUNCTION_LINES:
                yield f"{path}:{f.first}: {f.name} has {f.lines} lines, the aim is {FUNCTION_AIM}"


def _function(lines: int, parameters: str = "void") -> str:
    return f"static int f({parameters})\n{{\n" + "    x();\n" * (lines - 3) + "}\n"


SAMPLES = (
    ({"src/base/a.c": _function(60) + "int t[] = {\n" + "    1,\n" * 90 + "};\n",
      "src/base/b.c": "struct s {\n" + "    int x;\n" * 80 + "};\n"
                      "#define M(x) {                 \\\n    }\n",
      "src/base/c.c": 'const char *q = "{";\n/* { */ char c = \'{\';\n' + _function(50)}, None),
    ({"src/base/a.c": "int x;\n" * 501}, "501 lines, at most 500"),
    ({"src/base/a.c": "int x;\n" + _function(61)}, "src/base/a.c:2: f has 61 lines"),
    ({"src/base/a.c": "__attribute__((format(printf, 1, 2)))\n" + _function(61)}, "f has 62 lines"),
    ({"src/base/a.h": "static inline " + _function(61)}, "f has 61 lines"),
    ({"src/base/a.c": _function(9, "int a, int b, int (*c)(int, int), int d, int e, int g, int h")},
     "f has 7 parameters"),
    ({"src/base/a.c": _function(9, "nghttp2_session *h2, int32_t id, uint8_t *p,\n    size_t cap, "
                                   "uint32_t *flags, nghttp2_data_source *source, void *user")}, None),
    ({"src/base/a.c": _function(9, "nghttp2_session *h2, int32_t id, uint8_t *p, size_t cap, "
                                   "uint32_t *flags, nghttp2_data_source *source, void *user, int x")},
     "f has 8 parameters"),
    ({"src/base/a.c": _function(9, "nghttp2_session *h2, int32_t id, uint8_t *p, size_t cap, "
                                   "uint32_t *flags, struct grpc_call *source, void *user")},
     "f has 7 parameters"),
    ({"test/a.py": "def f():\n" + "    x()\n" * 60}, "f has 61 lines"),
)

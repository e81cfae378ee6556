"""Arrows point only downward: a file includes headers of its own directory and of lower layers."""

import re

from source import Tree, is_test, line_of

# Lowest first. Directories in one row are neighbours that do not know each other.
LAYERS = (
    ("base",),
    ("loop",),
    ("cli",),
    ("proto",),  # generated codecs: any header that ends in .pb-c.h
    ("wire",),
    ("hadoop/conf",),
    ("hadoop/token",),
    ("hadoop/sasl",),
    ("hadoop/rpc",),
    ("hadoop/session",),
    ("hadoop/yarn", "hadoop/hdfs", "hadoop/registry"),
    ("hadoop/fs",),
    ("hadoop/tree", "hadoop/logs"),
    ("job",),
    ("framework",),
    ("platform", "rendezvous"),
    ("pyenv", "slider"),
    ("uploads",),
    ("model/format",),
    ("model",),
    ("master", "agent", "native", "serve", "terminal"),
    ("client",),
    ("launch",),
    ("follow",),
    ("cmd",),
)
RANK = {name: i for i, row in enumerate(LAYERS) for name in row}

# Pure logic: no loop, no files, no sockets, no clock of its own.
PURE = ("job", "framework")
IMPURE = re.compile(r"^(loop/.*|base/dl\.h|uv\.h|time\.h|fcntl\.h|sys/.*|"
                    r"netinet/.*|arpa/.*|pthread\.h|dirent\.h)$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def layer(path: str) -> str | None:
    """The layer of a path below src/, or None when the table has none for it."""
    if path.endswith(".pb-c.h"):
        return "proto"
    parts = path.split("/")[:-1]
    return next((name for name in ("/".join(parts[:2]), "/".join(parts[:1])) if name in RANK), None)


def check(tree: Tree):
    """One line per include that points up or sideways."""
    for path in tree.under(("src",), ".c", ".h"):
        own = layer(path.removeprefix("src/"))
        if own is None:
            yield f"{path}:1: its directory is in no layer (the table is in test/gates/layers.py)"
            continue
        text = tree.text(path)
        for m in INCLUDE.finditer(text):
            problem = judge(tree, path, m.group(1), m.group(2))
            if problem:
                yield f"{path}:{line_of(text, m.start())}: {problem}"


def judge(tree: Tree, path: str, quote: str, header: str) -> str | None:
    """What is wrong with one include, or None."""
    own = layer(path.removeprefix("src/"))
    if own in PURE and IMPURE.match(header) and not is_test(path):
        return f"'{own}' is pure logic and includes '{header}'"
    if quote == "<" or (is_test(path) and (tree.root / "test" / header).exists()):
        return None  # a unit test also has what test/ keeps for it
    other = layer(header)
    if other is None:
        return f"'{header}' is not named from src/ (\"base/err.h\")"
    if other != own and RANK[other] >= RANK[own]:
        return f"'{own}' includes '{header}' of '{other}', which is not below it"
    return None


SAMPLES = (
    ({"src/hadoop/rpc/a.c": '#include "base/err.h"\n#include "hadoop/ipc.pb-c.h"\n#include <uv.h>\n',
      "src/cmd/b.c": '#include "hadoop/fs/x.h"\n#include "cmd/c.h"\n',
      "src/base/c_test.c": '#include "base/c.h"\n#include "test.h"\n#include "sasl/peer.h"\n',
      "test/test.h": "", "test/sasl/peer.h": ""}, None),
    ({"src/base/a.c": '#include "hadoop/rpc/rpc.h"\n'}, "'base' includes 'hadoop/rpc/rpc.h'"),
    ({"src/hadoop/yarn/a.h": '#include "hadoop/hdfs/b.h"\n'}, "which is not below it"),
    ({"src/base/a.c": '#include "b.h"\n'}, "not named from src/"),
    ({"src/base/a.c": '#include "test.h"\n'}, "not named from src/"),
    ({"src/new/a.c": ""}, "in no layer"),
    ({"src/job/a.c": '#include "loop/loop.h"\n'}, "is pure logic"),
    ({"src/job/a.c": "#include <sys/socket.h>\n"}, "is pure logic"),
)

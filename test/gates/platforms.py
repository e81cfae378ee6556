"""The master's core does not know on which platform it runs: what differs is behind its tables."""

import re

from source import Tree, blank, is_test, line_of

CORE = re.compile(r"^src/master/(?:api/)?[^/]+\.[ch]$")
SIDES = ("master/yarn/", "master/local/")
# Where the process starts, and the table is chosen.
CHOOSER = "src/cmd/node/node_master.c"
# Headers of a platform that the core may not have either; where a job's files lie is not one's own.
PLATFORMS = ("platform/yarn/", "platform/local/", "hadoop/")
NEUTRAL = ("platform/local/local_jobs.h",)
# Properties, which tables have beside hooks.
PROPERTIES = ("apart", "followed", "files_in_place")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_HOOK = r"\bops->(?!(?:" + "|".join(PROPERTIES) + r")\b)\w+(?:->\w+)*\b"
# In code without comments and strings.
TESTS = (
    (re.compile(r"\bopt->container\b"), "asks whether there is a container"),
    (re.compile(r"\bops\s*[!=]="), "compares a table"),
    (re.compile(r"\bmaster_(?:yarn|local)\w*|\b(?:yarn|local)_of\b"), "names a platform's own"),
    (re.compile(_HOOK + r"\s*(?:&&|\|\||\?|[!=]=)"), "tests for a hook"),
    (re.compile(r"!\s*(?:\w+(?:->|\.))*" + _HOOK + r"(?!\s*\(|->)"), "tests for a hook"),
    (re.compile(r"\bstr(?:_eq|_starts|n?cmp)\([^;]*\bops->name\b"), "compares a platform's name"),
)
NAME = re.compile(r'"(?:yarn|local)"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def check(tree: Tree):
    """One line per include or test of a platform where there must be none."""
    for path in tree.under(("src",), ".c", ".h"):
        if is_test(path):
            continue  # a test chooses a table as the process does
        text = tree.text(path)
        for m in INCLUDE.finditer(text):
            problem = _include(path, m.group(1))
            if problem:
                yield f"{path}:{line_of(text, m.start())}: {problem}"
        if CORE.match(path):
            yield from _core(path, text)


def _include(path: str, header: str) -> str | None:
    """What is wrong with one include, or None."""
    if header.startswith(SIDES) and path != CHOOSER:
        side = header[:header.rfind("/") + 1]
        if not path.startswith("src/" + side):
            return f"'{header}' is for {side} and {CHOOSER} alone"
    if CORE.match(path) and header.startswith(PLATFORMS) and header not in NEUTRAL:
        return f"the master's core includes '{header}'"
    return None


def _core(path: str, text: str):
    code = blank(text)
    for pattern, what in TESTS:
        for m in pattern.finditer(code):
            yield (f"{path}:{line_of(text, m.start())}: {what}: let a hook of struct master_ops or "
                   "a function of platform.h decide")
    plain = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for m in NAME.finditer(plain):
        yield f"{path}:{line_of(text, m.start())}: {m.group()}: names a platform"


def _source(line: str) -> dict:
    return {"src/master/a.c": f"void f(void)\n{{\n    {line}\n}}\n"}


SAMPLES = (
    ({"src/master/a.c": '#include "master/master_private.h"\n#include "platform/local/local_jobs.h"\n'
                        "/* as yarn_of() and opt->container */\n"
                        "int f(struct m *m)\n{\n    if (m->ops->followed && m->ops->begin(m) < 0)\n"
                        "        return !m->ops->copy->has(m, 1) || m->platform->ops->apart;\n"
                        "    return m->opt->containers;\n}\n",
      "src/master/a_test.c": '#include "master/yarn/b.h"\n',
      "src/master/yarn/b.c": '#include "master/yarn/b.h"\n#include "hadoop/fs/fs.h"\n',
      CHOOSER: '#include "master/yarn/b.h"\n#include "master/local/c.h"\n'}, None),
    ({"src/master/a.c": '#include "master/yarn/b.h"\n'}, "is for master/yarn/"),
    ({"src/master/api/a.h": '#include "master/local/b.h"\n'}, "is for master/local/"),
    ({"src/master/yarn/a.c": '#include "master/local/b.h"\n'}, "is for master/local/"),
    ({"src/cmd/node/a.c": '#include "master/yarn/b.h"\n'}, "is for master/yarn/"),
    ({"src/master/a.c": '#include "platform/yarn/b.h"\n'}, "core includes 'platform/yarn/b.h'"),
    ({"src/master/api/a.c": '#include "hadoop/fs/fs.h"\n'}, "core includes 'hadoop/fs/fs.h'"),
    (_source("if (m->opt->container) g();"), "src/master/a.c:3: asks whether"),
    (_source("if (m->ops == x) g();"), "compares a table"),
    (_source("if (m->side == &master_yarn_x) g();"), "names a platform's own"),
    (_source("return ops->silence ? ops->silence(p) : 0;"), "tests for a hook"),
    (_source("if (p && !p->ops->avoid) g();"), "tests for a hook"),
    (_source('if (str_eq(p->ops->name, "x")) g();'), "compares a platform's name"),
    (_source('g("yarn");'), "names a platform"),
)

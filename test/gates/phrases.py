"""What users read is plain English: turns of phrase that had to be read twice do not come back.

Looked at are the string literals of product sources and the documents, not comments. A folder that
is free of a phrase is added to its list, and stays free of it.
"""

import re

from source import TOKEN, Tree, is_test, line_of

PHRASES = (  # what it was, and what to write
    ("so many", "a number: 'COUNT containers'"),
    ("so often", "a number: 'N times'"),
    ("anew", "'again'"),
    ("for who", "say for whom: 'for programs that …'"),
    ("whoever", "say who: 'the user', 'the reader'"),
    ("is told", "say who prints it: 'prints why'"),
    ("are told", "say who prints it: 'prints why'"),
    ("without it", "'(default: …)'"),
    ("of its own accord", "'automatically'"),
    ("when it was said", "'if --option was given'"),
    ("what was said", "'the options'"),
    ("story is told", "'prints why'"),
    ("the least time", "'minimum delay'"),
    ("least important", "'log level'"),
    ("one to be avoided", "'when to stop using a node'"),
    ("operand is missing", "ask for it: 'Which job?'"),
    ("has gone", "'was closed', 'has exited'"),
    ("once more", "'again'"),
    ("would rather", "'preferred'"),
    ("is no error", "'is not an error', 'ignore …'"),
)
# Folders and files whose texts are free of these; a folder stands for all below it.
SOURCES = ("src/agent", "src/base", "src/cli", "src/client", "src/cmd/cache", "src/cmd/cluster", "src/cmd/doctor",
           "src/cmd/fs", "src/cmd/job", "src/cmd/model", "src/cmd/native", "src/cmd/node", "src/cmd/pack", "src/cmd/completion.c",
           "src/cmd/help.c", "src/cmd/verbs.c", "src/cmd/version.c", "src/framework/plan", "src/hadoop/conf",
           "src/hadoop/fs", "src/hadoop/hdfs", "src/hadoop/logs", "src/hadoop/registry", "src/hadoop/sasl",
           "src/hadoop/session", "src/hadoop/token", "src/job/spec", "src/launch", "src/loop", "src/master/local", "src/model",
           "src/native", "src/platform", "src/pyenv", "src/rendezvous", "src/slider", "src/terminal", "src/uploads",
           "src/wire")
DOCUMENTS = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "doc/reference/frameworks.md", "doc/developer/third-party.md", "examples")
RECORDS = ("doc/developer/findings.md", "doc/developer/test-report.md")  # of what was found, in the words of its day

_WORDS = re.compile(r"(?<![\w-])(?:" + "|".join(r"\s+".join(map(re.escape, p.split())) for p, _ in PHRASES)
                    + r")(?![\w-])", re.IGNORECASE)
_ESCAPE = re.compile(r"\\.")
_INSTEAD = dict(PHRASES)


def check(tree: Tree):
    """One line per phrase."""
    for path in tree.under(("src",), ".c", ".h"):
        if not is_test(path) and _listed(path, SOURCES):
            yield from _problems(path, _literals(tree.text(path)))
    for path in tree.paths:
        if path.endswith(".md") and path not in RECORDS and _listed(path, DOCUMENTS):
            yield from _problems(path, tree.text(path))


def _listed(path: str, names) -> bool:
    return any(path == n or path.startswith(n + "/") for n in names)


def _problems(path: str, text: str):
    for m in _WORDS.finditer(text):
        phrase = " ".join(m.group().lower().split())
        yield f"{path}:{line_of(text, m.start())}: '{phrase}': better {_INSTEAD[phrase]}"


def _literals(text: str) -> str:
    """C source with all but the insides of its strings turned into blanks: the lines stay, and a
    sentence that goes on in the next literal can be searched. Between others a mark stands."""
    out, end = [], 0
    for m in TOKEN.finditer(text):
        between = text[end:m.start()]
        apart = between.strip() != ""
        out.append(("|" if apart else "") + re.sub(r"[^\n]", " ", between))
        end = m.end()
        token = m.group()
        if token.startswith('"'):
            out.append(" " * (token[1:2] == " ") + _ESCAPE.sub("  ", token[1:-1]))
        else:
            out.append(re.sub(r"[^\n]", " ", token))
    return "".join(out)


def _sample(name: str, text: str):
    return {f"src/cli/{name}": text}


SAMPLES = (
    (_sample("a.c", '/* so many */ const char *a = "as many as that, so to speak";\n'
                    'const char *b[] = { "so", "many" };\n// once more\n'), None),
    (_sample("a_test.c", 'const char *a = "so many";\n'), None),
    ({"doc/developer/findings.md": "told once more\n"}, None),
    (_sample("a.c", 'int x;\nconst char *a = "run so many containers";\n'), "src/cli/a.c:2: 'so many'"),
    (_sample("a.c", 'const char *a = "run so "\n    "many containers";\n'), "'so many'"),
    (_sample("a.c", 'const char *a = "is formed\\nanew, or";\n'), "'anew'"),
    (_sample("a.c", 'const char *a = "Whoever read it";\n'), "'whoever'"),
    (_sample("a.h", '#define A "the default; without it, local"\n'), "'without it'"),
    ({"README.md": "x\nIt goes on of its own\naccord.\n"}, "README.md:2: 'of its own accord'"),
)

"""What users read is plain English: turns of phrase that had to be read twice do not come back.

Looked at are the string literals of product sources and the documents, not comments. In a message a
command stands in 'quotes', or bare behind a colon at its end.
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
    ("for ever", "'forever'"),
    ("passed over", "'skipped'"),
    ("serves on", "'continues to serve'"),
)
DOCUMENTS = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "doc", "examples")
RECORDS = ("doc/developer/findings.md", "doc/developer/test-report.md")  # of what was found, in the words of its day
EXCEPT = {  # words of the programs that other texts repeat, or that mean something else there
    ("src/job/engine/state.c", "anew"), ("doc/developer/architecture.md", "anew"),  # an event of the engine
    ("src/master/api/hub_read.c", "has gone"), ("src/master/yarn/registry_tasks.c", "are told"),  # a master's log
}

_WORDS = re.compile(r"(?<![\w-])(?:" + "|".join(r"\s+".join(map(re.escape, p.split())) for p, _ in PHRASES)
                    + r")(?![\w-])", re.IGNORECASE)
_COMMAND = re.compile(r"(?<![$<])([`(])ydl(?:-\w+)? (?!needs)[a-z]")  # `ydl list`, (ydl list); not $(ydl list)
_ESCAPE = re.compile(r"\\.")
_INSTEAD = dict(PHRASES)


def check(tree: Tree):
    """One line per phrase."""
    for path in tree.under(("src",), ".c", ".h"):
        if not is_test(path):
            text = _literals(tree.text(path))
            yield from _problems(path, text)
            yield from (f"{path}:{line_of(text, m.start())}: a command behind '{m.group(1)}': better in 'quotes'"
                        for m in _COMMAND.finditer(text) if (path, m.group(1)) not in EXCEPT)
    for path in tree.paths:
        if path.endswith(".md") and path not in RECORDS and _listed(path, DOCUMENTS):
            yield from _problems(path, tree.text(path))


def _listed(path: str, names) -> bool:
    return any(path == n or path.startswith(n + "/") for n in names)


def _problems(path: str, text: str):
    for m in _WORDS.finditer(text):
        phrase = " ".join(m.group().lower().split())
        if (path, phrase) in EXCEPT:
            continue
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
    ({"doc/developer/architecture.md": "formed anew\n", "src/job/engine/state.c": 'int x;\nchar *a = "anew";\n'}, None),
    ({"doc/guide/a.md": "so many\n"}, "doc/guide/a.md:1: 'so many'"),
    ({"src/serve/a.c": 'const char *a = "for ever";\n'}, "src/serve/a.c:1: 'for ever'"),
    (_sample("a.c", 'int x;\nconst char *a = "run so many containers";\n'), "src/cli/a.c:2: 'so many'"),
    (_sample("a.c", 'const char *a = "run so "\n    "many containers";\n'), "'so many'"),
    (_sample("a.c", 'const char *a = "is formed\\nanew, or";\n'), "'anew'"),
    (_sample("a.c", 'const char *a = "Whoever read it";\n'), "'whoever'"),
    (_sample("a.c", 'const char *a = "see \'ydl list\'", *b = "try: ydl list", *c = "x=$(ydl list)";\n'), None),
    (_sample("a.c", 'const char *a = "see `ydl list`";\n'), "src/cli/a.c:1: a command behind '`'"),
    (_sample("a.c", 'const char *a = "stop it (ydl stop)";\n'), "a command behind '('"),
    (_sample("a.h", '#define A "the default; without it, local"\n'), "'without it'"),
    ({"README.md": "x\nIt goes on of its own\naccord.\n"}, "README.md:2: 'of its own accord'"),
)

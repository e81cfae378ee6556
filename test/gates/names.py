"""Few functions share their name with another one, so that a stack trace says where it was."""

from collections import defaultdict

from source import Tree, functions, is_test

SHARE = 10  # percent of all functions


def check(tree: Tree):
    """One line when too many functions share their name."""
    homes = defined(tree)
    total = sum(map(len, homes.values()))
    same = sum(len(paths) for paths in homes.values() if len(paths) > 1)
    if same * 100 > total * SHARE:
        yield (f"src: {same} of {total} functions share their name with another one, at most "
               f"{SHARE} %: let static ones carry their file's name (stop_run, not run)")


def notes(tree: Tree):
    """The names that are shared, the most frequent first."""
    homes = defined(tree)
    for name, paths in sorted(homes.items(), key=lambda row: (-len(row[1]), row[0])):
        if len(paths) > 1:
            yield f"{name} is in {len(paths)} files: {', '.join(paths)}"


def defined(tree: Tree) -> dict[str, list[str]]:
    """The files that define a function of each name. Two definitions in one file are two forms of
    one function, of which an #if takes one."""
    homes = defaultdict(list)
    for path in tree.under(("src",), ".c", ".h"):
        if not is_test(path):
            for name in sorted({f.name for f in functions(tree.text(path))}):
                homes[name].append(path)
    return homes


def _functions(*names: str) -> str:
    return "".join(f"static int {name}(void)\n{{\n    return 0;\n}}\n" for name in names)


_NINE = _functions(*(f"a_{i}" for i in range(9)))
_EIGHTEEN = _functions(*(f"a_{i}" for i in range(18)))
SAMPLES = (
    ({"src/a/a.c": _EIGHTEEN + _functions("run"), "src/a/a_test.c": _functions("run")}, None),
    ({"src/a/a.c": "#ifdef A\n" + _functions("run") + "#else\n"
      + _functions("run") + "#endif\n"}, None),
    ({"src/a/a.c": _EIGHTEEN + _functions("run"), "src/b/b.c": _functions("run")}, None),
    ({"src/a/a.c": _NINE + _functions("run"), "src/b/b.c": _functions("run")},
     "2 of 11 functions share their name"),
    ({"src/a/a.c": _NINE + _functions("run"), "src/b/b.h": _functions("run")},
     "2 of 11 functions share their name"),
)

"""A folder of src/ can be taken in at one look and says what it is, and a file is found by its name
alone."""

from collections import defaultdict

from source import Tree, is_test

FILES = 25  # .c files in one folder, without tests
SAID = ("**May be touched:**", "**Must not know:**", "**Begin with:**")  # in its README


def check(tree: Tree):
    """One line per folder that is too full or says too little, and per file whose name another one has."""
    rooms, homes = defaultdict(int), defaultdict(list)
    for path in tree.under(("src",), ".c"):
        folder, _, name = path.rpartition("/")
        rooms[folder] += not is_test(path)
        homes[name].append(path)
    for folder, n in sorted(rooms.items()):
        if n > FILES:
            yield f"{folder}: {n} .c files, at most {FILES}; move what is one idea into a folder"
        yield from _readme(tree, folder)
    for name, paths in sorted(homes.items()):
        if len(paths) > 1:
            yield f"{paths[1]}:1: {paths[0]} has the same name, '{name}'"


def _readme(tree: Tree, folder: str):
    """A stranger learns from a folder's README what lives there, and where to begin."""
    path = f"{folder}/README.md"
    if path not in tree.paths:
        yield f"{folder}: no README.md: what lives here, and {', '.join(SAID)}"
        return
    text = tree.text(path)
    for said in SAID:
        if said not in text:
            yield f"{path}:1: does not have '{said}'"


_README = "# a\n\nWhat lives here.\n\n" + "".join(f"- {said} x.\n" for said in SAID)
_FULL = {f"src/a/a{i}.c": "" for i in range(FILES)} | {"src/a/README.md": _README}
SAMPLES = (
    (_FULL | {"src/a/a0_test.c": "", "src/a/a_testing.c": "", "src/a/b/b.c": "", "src/a/a0.h": "",
              "src/a/b/README.md": _README}, None),
    ({"src/a/a.c": ""}, "src/a: no README.md"),
    ({"src/a/a.c": "", "src/a/README.md": _README.replace(SAID[2], "")}, "README.md:1: does not have '**Begin"),
    (_FULL | {"src/a/b.c": ""}, "src/a: 26 .c files, at most 25"),
    ({"src/a/words.c": "", "src/b/words.c": ""}, "src/b/words.c:1: src/a/words.c has the same name"),
    ({"src/a/x_test.c": "", "src/b/x_test.c": ""}, "the same name, 'x_test.c'"),
    ({"src/a/words.c": "", "src/b/words.h": "", "test/words.c": "", "src/a/README.md": _README}, None),
)

"""A folder of src/ can be taken in at one look, and a file is found by its name alone."""

from collections import defaultdict

from source import Tree, is_test

FILES = 25  # .c files in one folder, without tests


def check(tree: Tree):
    """One line per folder that is too full, and per file whose name another one has."""
    rooms, homes = defaultdict(int), defaultdict(list)
    for path in tree.under(("src",), ".c"):
        folder, _, name = path.rpartition("/")
        rooms[folder] += not is_test(path)
        homes[name].append(path)
    for folder, n in sorted(rooms.items()):
        if n > FILES:
            yield f"{folder}: {n} .c files, at most {FILES}; move what is one idea into a folder"
    for name, paths in sorted(homes.items()):
        if len(paths) > 1:
            yield f"{paths[1]}:1: {paths[0]} has the same name, '{name}'"


_FULL = {f"src/a/a{i}.c": "" for i in range(FILES)}
SAMPLES = (
    (_FULL | {"src/a/a0_test.c": "", "src/a/a_testing.c": "", "src/a/b/b.c": "", "src/a/a0.h": ""},
     None),
    (_FULL | {"src/a/b.c": ""}, "src/a: 26 .c files, at most 25"),
    ({"src/a/words.c": "", "src/b/words.c": ""}, "src/b/words.c:1: src/a/words.c has the same name"),
    ({"src/a/x_test.c": "", "src/b/x_test.c": ""}, "the same name, 'x_test.c'"),
    ({"src/a/words.c": "", "src/b/words.h": "", "test/words.c": ""}, None),
)

"""What the programs ask of the machine they run on: `ydl` and `ydl-native` an old enough glibc and
nothing else, `ydl-node` nothing at all."""

import re
import subprocess
from pathlib import Path

from source import Tree

FLOOR = (2, 34)  # Debian 12, Ubuntu 22.04, EL 9
NEEDED = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
NODE_BYTES = 8 << 20
DYNAMIC = ("ydl", "ydl-native")
STATIC = ("ydl-node",)


def _run(*command) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(tree: Tree):
    """One line per promise that a program breaks."""
    for name in DYNAMIC + STATIC:
        path = tree.build / "bin" / name
        if not path.exists():
            yield f"bin/{name}: not built"
        elif name in DYNAMIC:
            yield from _dynamic(name, path)
        else:
            yield from _static(name, path)


def notes(tree: Tree):
    """What the figures are, whether or not they pass."""
    for name in DYNAMIC + STATIC:
        path = tree.build / "bin" / name
        if path.exists():
            floor = f"glibc {'.'.join(map(str, _floor(path)))}, " if name in DYNAMIC else ""
            yield (f"bin/{name}: {floor}needs {' '.join(_needed(path)) or 'nothing'}, "
                   f"{_stripped(path) / 1e6:.1f} MB stripped")


def _floor(path: Path) -> tuple[int, ...]:
    versions = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", _run("objdump", "-T", path))
    return max((tuple(map(int, v.split("."))) for v in versions), default=(0,))


def _needed(path: Path) -> list[str]:
    return re.findall(r"NEEDED\s+(\S+)", _run("objdump", "-p", path))


def _stripped(path: Path) -> int:
    """Bytes of the file without what strip takes away: the last segment's end."""
    ends = re.findall(r"LOAD off\s+(0x\w+).*?filesz (0x\w+)", _run("objdump", "-p", path), re.DOTALL)
    return max(int(offset, 16) + int(size, 16) for offset, size in ends)


def _exported(path: Path) -> list[str]:
    """Symbols others could bind to; copies of glibc's own (stdout, environ) are none of ours."""
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                         check=False).stdout
    return [line.split()[-1] for line in out.splitlines() if "@GLIBC" not in line]


def _dynamic(name: str, path: Path):
    floor = _floor(path)
    if floor > FLOOR:
        yield f"bin/{name}: needs glibc {floor}, at most {FLOOR}"
    for library in set(_needed(path)) - NEEDED:
        yield f"bin/{name}: needs '{library}'; third-party libraries are linked in"
    for symbol in _exported(path):
        yield f"bin/{name}: exports '{symbol}'"


def _static(name: str, path: Path):
    if "INTERP" in _run("objdump", "-p", path) or _needed(path):
        yield f"bin/{name}: is not static (needs {' '.join(_needed(path))})"
    if _stripped(path) > NODE_BYTES:
        yield f"bin/{name}: {_stripped(path)} bytes stripped, at most {NODE_BYTES}"


def prepare(tree: Tree) -> None:
    """Builds a sample's programs; the first line of each source holds its link options."""
    (tree.build / "bin").mkdir(parents=True)
    for name in DYNAMIC + STATIC:
        source = tree.root / f"{name}.c"
        if source.exists():
            options = source.read_text().split("\n", 1)[0].strip("/ ").split()
            subprocess.run(["cc", "-o", tree.build / "bin" / name, source, *options], check=True)


_MAIN = "int main(void) { return 0; }\n"
_GOOD = {"ydl.c": "//\n" + _MAIN, "ydl-native.c": "//\n" + _MAIN,
         "ydl-node.c": "// -static\n" + _MAIN}
SAMPLES = (
    (_GOOD, None),
    ({"ydl.c": "//\n" + _MAIN, "ydl-native.c": "//\n" + _MAIN}, "bin/ydl-node: not built"),
    (_GOOD | {"ydl-node.c": "//\n" + _MAIN}, "is not static"),
    (_GOOD | {"ydl-node.c": "// -static\nchar big[9 << 20] = { 1 };\n" + _MAIN}, "bytes stripped"),
    (_GOOD | {"ydl.c": "// -rdynamic\nint mine;\n" + _MAIN}, "exports 'mine'"),
    (_GOOD | {"ydl.c": "// -Wl,--no-as-needed -lresolv\n" + _MAIN}, "needs 'libresolv.so.2'"),
    # arc4random came with glibc 2.36.
    (_GOOD | {"ydl.c": "//\nunsigned arc4random(void);\nint main(void) { return arc4random(); }\n"},
     "needs glibc (2, 36)"),
)

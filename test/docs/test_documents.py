"""Every command in README.md and in the guide works, as it stands there.

A block marked ```sh is run as written; all blocks of a page in order, in one shell that ends at the first
command that fails. Comments in the page say what is different, directly above a block:

    <!-- runs in: DIR -->        above the first block: from this directory, not from the root
    <!-- on: yarn -->            with a cluster: HADOOP_CONF_DIR leads to it; other blocks have none
    <!-- with: frameworks -->    with the Python environment that has the frameworks in PATH
    <!-- with: wheels -->        pip finds small stand-ins for the packages that it would download
    <!-- run by: TEST -->        by another test, as it stands there (ydl_cluster/guide.py)
    <!-- not run: REASON -->     only its syntax is checked

Other blocks are not commands, and one without a language must not look like one. A page is run in a copy
of what COPIED names, with build/bin on the PATH and a home of its own. What is handed to bash is the page
itself with all else blanked, so that its line numbers are those of the page.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest
from ydl_cluster import spec as specs
from ydl_cluster.guide import Block, blocks

ROOT = Path(__file__).resolve().parents[2]
sys.path.extend([str(ROOT / "test" / "frameworks"), str(ROOT / "test" / "pack")])

import environment  # noqa: E402
from pack_support import make_wheel  # noqa: E402

BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
COPIED = ("doc", "examples", "tools", "test/cluster")  # what commands in pages may name, besides build/
WHEELS = ("numpy", "onnx", "onnxruntime", "pandas")
LIMIT_S = 120  # for a page
PAGES = [Path("README.md"), *sorted(p.relative_to(ROOT) for p in (ROOT / "doc/guide").glob("*.md"))]
ELSEWHERE = {"not run", "run by"}
_TYPED = re.compile(r"(?:\$ |build/bin/)?(?:ydl|make|export|eval|tools/\w+) ")
# Ends the shell's errors with where they were; nested shells are not told.
_RC = """unset BASH_ENV
set -E
trap 'echo "$PAGE:$LINENO: \\"$BASH_COMMAND\\" ended with code $?" >&2' ERR
"""


def script(page: list[Block], cluster: dict[str, str]) -> str:
    """The blocks as one script, each line where it is in the page. Where fences are, the environment of
    a cluster comes and goes."""
    lines: list[str] = []
    for block in page:
        lines += [""] * (block.first - len(lines))
        on = block.marks.get("on") == "yarn"
        more = f"{environment.directory()}/bin:" if block.marks.get("with") == "frameworks" else ""
        before = ["export " + " ".join(f"{k}='{v}'" for k, v in cluster.items())] if on else []
        after = ["unset " + " ".join(cluster)] if on else []
        if more:
            before.append(f"PATH='{more}'$PATH")
            after.append(f"PATH=${{PATH#'{more}'}}")
        if block.marks.get("with") == "wheels":
            before.append("export PIP_NO_INDEX=1 PIP_FIND_LINKS=$WHEELS")
            after.append("unset PIP_NO_INDEX PIP_FIND_LINKS")
        lines += ["; ".join(before), *block.lines, "; ".join(after)]
    return "\n".join(lines) + "\n"


class Reader:
    """Somebody who types what a page says."""

    def __init__(self, tmp: Path):
        self.tmp, self.mark = tmp, uuid.uuid4().hex
        self.home, self.tree = tmp / "home", tmp / "ydl"
        self.home.mkdir()
        self.short = Path(tempfile.mkdtemp(prefix="yt-"))  # sockets have short paths
        (self.tree / "build").mkdir(parents=True)
        (self.tree / "build" / "bin").symlink_to(BIN)
        for path in (p for p in ROOT.iterdir() if p.is_file()):
            shutil.copy(path, self.tree)
        for name in COPIED:  # beside it other tests work in the tree
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("__pycache__", "ydl-out"))
        (tmp / "rc").write_text(_RC)
        (tmp / "wheels").mkdir()
        for name in WHEELS:
            make_wheel(tmp / "wheels", name)

    def environment(self, page: str) -> dict[str, str]:
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("YDL_", "XDG_", "HADOOP_", "YARN_", "OMP_"))}
        return keep | {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"), "PAGE": page,
                       "TMPDIR": str(self.short), "PATH": f"{self.tree}/build/bin:{keep['PATH']}", "WHEELS": str(self.tmp / "wheels"),
                       "BASH_ENV": str(self.tmp / "rc"), "YDL_TEST": self.mark}

    def bash(self, page: str, text: str, *options: str, directory: str = ".") -> str:
        """What is wrong with a script and everything that it printed; "" when it went well."""
        file = self.tmp / "page" / Path(page).name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        log = self.tmp / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(["bash", "-e", *options, file], cwd=self.tree / directory, stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, env=self.environment(page),
                                       start_new_session=True)
            try:
                code = process.wait(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = f"no end within {LIMIT_S} s"
        return f"{page}: {code}\n{log.read_text(errors='replace')}" if code else ""

    def read(self, page: str, text: str, cluster: dict[str, str] | None = None) -> str:
        """Types everything that is to be typed; "" when it went well."""
        for block in blocks(text):
            if not block.language and block.lines and _TYPED.match(block.lines[0]):
                return f"{page}:{block.first + 2}: '{block.lines[0]}': mark the block as sh, or as text"
        found = [block for block in blocks(text) if block.language == "sh"]
        left_out = [block for block in found if block.marks.keys() & ELSEWHERE]
        run = [block for block in found if not block.marks.keys() & ELSEWHERE]
        directory = next((b.marks["runs in"] for b in found if "runs in" in b.marks), ".")
        return (self.bash(page, script(left_out, {}), "-n") or
                self.bash(page, script(run, cluster or {}), directory=directory))

    def leave(self) -> None:
        """Jobs that the page left running end with it."""
        mark = f"YDL_TEST={self.mark}".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:  # ended meanwhile, or somebody else's
                pass
        shutil.rmtree(self.short, ignore_errors=True)


def on_yarn(page: Path) -> bool:
    """Whether a page needs a cluster."""
    return any(block.marks.get("on") == "yarn" for block in blocks((ROOT / page).read_text()))


@pytest.fixture(name="reader")
def fixture_reader(tmp_path):
    made = Reader(tmp_path)
    yield made
    made.leave()


@pytest.fixture(name="yarn")
def fixture_yarn(cluster):
    """The environment that leads to the plain cluster. Whatever a page leaves there goes: applications
    that run, and files at home."""
    home = f"/user/{specs.me()}"

    def running():
        rows = (cluster.rm_page("apps").get("apps") or {}).get("app") or []
        return {row["id"] for row in rows if row["state"] not in ("FINISHED", "FAILED", "KILLED")}
    apps, files = running(), set(cluster.hdfs_names(home))
    yield {key: value for key, value in cluster.env().items() if key in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")}
    for app in running() - apps:
        cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application", "-kill", app, check=False)
    left = [f"{home}/{name}" for name in set(cluster.hdfs_names(home)) - files if not name.startswith(".")]
    if left:
        cluster.fs("-rm", "-r", "-skipTrash", *left)


@pytest.mark.parametrize("page", [str(p) for p in PAGES if not on_yarn(p)])
def test_what_a_page_says_can_be_typed(reader, page):
    wrong = reader.read(page, (ROOT / page).read_text())
    assert not wrong, wrong


@pytest.mark.parametrize("page", [str(p) for p in PAGES if on_yarn(p)])
def test_what_a_page_says_can_be_typed_with_a_cluster(reader, yarn, page):
    wrong = reader.read(page, (ROOT / page).read_text(), yarn)
    assert not wrong, wrong


DOCUMENTS = sorted(p.relative_to(ROOT) for where in ("*.md", "doc/**/*.md", "examples/**/*.md") for p in ROOT.glob(where))
_VERB = re.compile(r"(?:`|^ *\$ |^)ydl (?!and\b)([a-z]+)(?: ([a-z]+))?(?![\w.])")


def verbs(*above: str) -> set[str]:
    """Those that the help of a verb lists."""
    done = subprocess.run([BIN / "ydl", *above, "--help"], capture_output=True, text=True, timeout=20, check=True)
    table = re.search(r"^Verbs:\n((?:  .*\n)+)", done.stdout, re.MULTILINE)
    return set(re.findall(r"^  (\S+)", table.group(1), re.MULTILINE)) if table else set()


@pytest.fixture(name="all_verbs", scope="module")
def fixture_all_verbs() -> dict[str, set[str]]:
    return {verb: verbs(verb) for verb in verbs()}


def unknown_verbs(text: str, known: dict[str, set[str]]) -> list[str]:
    """Commands that a page names and ydl does not have."""
    commands = [line for block in blocks(text) for line in block.lines]
    prose = [line for line in text.splitlines() if not line.startswith("ydl ")]
    found = (m.groups() for line in commands + prose for m in _VERB.finditer(line))
    return sorted({f"ydl {verb} {sub or ''}".strip() for verb, sub in found
                   if verb not in known or known[verb] and sub and sub not in known[verb]})


@pytest.mark.parametrize("page", list(map(str, DOCUMENTS)))
def test_a_page_names_no_verb_that_ydl_does_not_have(page, all_verbs):
    assert unknown_verbs((ROOT / page).read_text(), all_verbs) == []


@pytest.mark.parametrize("text, unknown", [
    ("`ydl run -n 2`, ydl itself, `ydl fs ls`", []), ("try `ydl exec JOB`", ["ydl exec"]),
    ("    $ ydl fs list\n", ["ydl fs list"]), ("`ydl help --schema`\nydl knows\n", []),
    ("```sh\nydl knows\n```\n", ["ydl knows"]), ("`ydl fs`", []),
    ("`ydl wait last` and `ydl waits`", ["ydl waits"])])
def test_a_verb_that_is_not_there_is_found(text, unknown, all_verbs):
    assert unknown_verbs(text, all_verbs) == unknown


def quoted_messages(text: str) -> list[str]:
    """What the tables of a page say one sees: of each message the longest part without names and numbers."""
    rows, inside = [], False
    for line in text.splitlines():
        inside = line.startswith("|") and (inside or line.startswith("| you see |"))
        rows += re.findall(r"`([^`]+)`", line.split("|")[1]) if inside else []
    parts = (max((part.strip(" ()") for part in re.split(r"'[^']*'|\d+|[…:,]|\b[A-Z]\b", row)), key=len) for row in rows)
    return [part for part in parts if part.count(" ") > 1 and not _VERB.match(part)]


def test_messages_that_a_page_quotes_are_ours():
    sources = (p.read_text() for p in (ROOT / "src").rglob("*.c") if not p.name.endswith("_test.c"))
    ours = re.sub(r'"\s*"', "", "\n".join(sources))
    pages = [*PAGES, Path("doc/developer/debugging.md")]
    found = {page: quoted_messages((ROOT / page).read_text()) for page in pages}
    assert sum(map(len, found.values())) > 5
    assert {message: str(page) for page in pages for message in found[page]
            if message not in ours and message != "Address already in use"} == {}


def test_a_quoted_message_is_found():
    text = "| you see | do |\n|---|---|\n| `x: there is no 'a' in it at all 5` | b |\n\n| `no message at all` | |\n"
    assert quoted_messages(text) == ["in it at all"]


def test_a_reason_names_a_test_that_is_there():
    """What cannot be run as written is often run in another way, by a test that the page names."""
    for page in PAGES:
        for block in blocks((ROOT / page).read_text()):
            for name in re.findall(r"\btest/[\w/.]+", block.marks.get("not run", "")):
                assert (ROOT / name.rstrip(".")).exists(), f"{page}:{block.first}: {name}"


def test_what_is_left_to_a_test_is_typed_by_it():
    for page in PAGES:
        for name in {block.marks["run by"] for block in blocks((ROOT / page).read_text()) if "run by" in block.marks}:
            assert f'blocks_of("{page}", __file__)' in (ROOT / name).read_text(), f"{page}: {name}"


GOOD = """# A page

<!-- runs in: examples/first -->
<!-- on: yarn -->
```sh
test -e train.py
test "$HADOOP_CONF_DIR" = /conf
x=1
```

1. In a list:

   ```sh
   test "$x" = 1 -a -z "$HADOOP_CONF_DIR" -a "$HOME" != /root
   cat > made <<END
   text
   END
   test "$(cat made)" = text
   ydl version
   ```

<!-- with: frameworks -->
```sh
python3 -c 'import numpy'
before=$PATH
```

<!-- with: wheels -->
```sh
test "$(ls $PIP_FIND_LINKS | grep -c '^numpy-')" = 1
```

```sh
test "$PATH" != "$before" -a -z "$PIP_FIND_LINKS"
```

<!-- not run: needs a cluster of one's own -->

```sh
false
```

<!-- run by: test/cluster/test_cluster.py -->
```sh
false
```
<!-- not run: words between it and the block -->
words
```sh
touch ran
```

```
false
```
"""


def test_a_page_is_read_as_it_is_meant(reader):
    assert reader.read("a.md", GOOD, {"HADOOP_CONF_DIR": "/conf"}) == ""
    directory = reader.tree / "examples" / "first"
    assert (directory / "made").exists() and (directory / "ran").exists()
    assert not (ROOT / "examples" / "first" / "made").exists()


@pytest.mark.parametrize("text, expected", [
    ("# A\n\n```sh\necho before\n\nls /nowhere\necho after\n```\n", 'doc/a.md:6: "ls /nowhere" ended with code 2'),
    ("```sh\ntrue\n```\n```sh\ny() {\n    false\n}\ny\n```\n", 'doc/a.md:6: "false" ended with code 1'),
    ("```sh\nfi\n```\n", "a.md: line 2: syntax error"),
    ("<!-- not run: x -->\n```sh\n\n(\n```\n", "a.md: line 6: syntax error"),
    ("<!-- run by: x -->\n```sh\n(\n```\n", "a.md: line 5: syntax error"),
    ("```sh\nsh -c 'echo of the command; exit 3'\n```\n", "of the command"),
    ("x\n```\nydl run -- true\n```\n", "doc/a.md:3: 'ydl run -- true': mark the block"),
    ("```sh\nydl fs ls /\n```\n", "ended with code"),  # no cluster here
], ids=["command", "function", "syntax", "not run", "run by", "output", "not marked", "cluster"])
def test_a_command_that_fails_is_shown_with_page_line_and_output(reader, text, expected):
    wrong = reader.read("doc/a.md", text)
    assert expected in wrong and wrong.startswith("doc/a.md:") and "after" not in wrong, wrong


def test_a_page_that_does_not_end_is_ended(reader, monkeypatch):
    monkeypatch.setattr(f"{__name__}.LIMIT_S", 0.5)
    assert "no end within" in reader.read("a.md", "```sh\necho begun\nsleep 600\n```\n")

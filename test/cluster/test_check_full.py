"""`tools/check-full`, in a tree that has nothing but what it calls."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "check-full"
TARGETS = ("everything", "shared", "asan", "tsan", "fuzz", "tidy", "torture")


class Tree:
    """A repository whose stages only say that they were run."""

    def __init__(self, root: Path):
        self.root, self.ran = root, root / "build" / "ran"
        note = 'echo "$0 $*" >> build/ran\n'
        self.write("tools/setup", f"#!/bin/sh\nmkdir -p build\n{note}")
        self.write("tools/python", f"#!/bin/sh\n{note}echo '===== 5 passed, 1 skipped in 2.00s ====='\n")
        self.write("bin/ctest", f"#!/bin/sh\n{note}echo '100% tests passed, 0 tests failed out of 7'\n")
        self.write("Makefile", "".join(
            f"{name}:\n\t@echo {name} >> build/ran; test ! -e fail-{name}\n"
            f"\t@test ! -e do-{name} || sh do-{name}\n" for name in TARGETS))
        self.write(".gitignore", "/build/\n/fail-*\n/do-*\n")
        shutil.copy(TOOL, root / "tools")
        for words in (("init", "-q"), ("add", "-A"), ("-c", "user.name=x", "-c", "user.email=x@x",
                                                      "commit", "-q", "-m", "x")):
            subprocess.run(["git", *words], cwd=root, check=True)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, *words: str, check: int = 0) -> str:
        env = os.environ | {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        done = subprocess.run([self.root / "tools" / "check-full", *words], env=env, text=True,
                              capture_output=True, check=False, timeout=100)
        assert done.returncode == check, done
        return done.stdout

    def stages(self) -> list[str]:
        """What was run since the last question."""
        lines = self.ran.read_text().splitlines() if self.ran.exists() else []
        self.ran.unlink(missing_ok=True)
        return lines


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_each_stage_is_run_once_for_a_commit_and_its_result_kept(tree):
    tree.run()
    assert len(tree.stages()) == 13
    result = json.loads((tree.root / "build/check-full/check.json").read_text())
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=tree.root, text=True,
                            capture_output=True, check=True).stdout.strip()
    assert (result["commit"], result["passed"], result["counts"]) == (
        commit, True, "5 passed, 1 skipped")
    assert json.loads((tree.root / "build/check-full/units.json").read_text())["counts"] == (
        "7 passed, 0 failed")
    said = tree.run()
    assert [line.split()[0] for line in tree.stages()] == ["tools/setup", "everything"]
    assert "torture    passed" in said
    tree.write("new.c", "")
    assert "another commit" in tree.run("--list")
    tree.run()
    assert len(tree.stages()) == 13


def test_a_stage_that_failed_is_the_one_that_is_run_again(tree):
    tree.write("fail-asan", "")
    assert "asan       FAILED" in tree.run(check=1)
    assert "torture" in tree.stages()
    (tree.root / "fail-asan").unlink()
    tree.run()
    assert tree.stages()[2:] == ["asan"]
    tree.run("tsan")
    assert tree.stages() == ["tsan"]
    tree.run("such", check=2)


def test_a_result_is_that_of_the_tree_that_the_stage_began_with(tree):
    tree.write("do-asan", "echo >> Makefile; ln -s /no/such new-link\n")
    tree.run()
    (tree.root / "do-asan").unlink()
    said = {line.split()[0]: line for line in tree.run("--list").splitlines()}
    assert "another commit" in said["asan"] and "another commit" not in said["tsan"]

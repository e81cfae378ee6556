"""Fixtures for the tests of the verbs."""

import uuid

import pytest
from cmd_support import Shell


@pytest.fixture
def shell(cluster):
    """ydl as the cluster's superuser, and an empty directory that is gone afterwards."""
    made = Shell(cluster, None, f"/tmp/cmd-{uuid.uuid4().hex[:12]}")
    made.ok("fs", "mkdir", made.dir)
    yield made
    made("fs", "rm", "-rf", made.dir)


@pytest.fixture
def tree(tmp_path):
    """A local tree with awkward names, empty files and directories, and files of several sizes."""
    top = tmp_path / "tree"
    for directory in ("a/b/c", "empty", "with space", "ünï"):
        (top / directory).mkdir(parents=True)
    for name, size in (("zero", 0), ("one", 1), ("a/512", 512), ("a/b/513", 513),
                       ("a/b/c/64k", 65536), ("with space/%41 #?&+[x]", 70000), ("ünï/ß", 3),
                       ("a/-dash", 5), ("a/.hidden", 7)):
        (top / name).write_bytes(bytes(i * 7 % 251 for i in range(size)))
    return top

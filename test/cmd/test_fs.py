"""`ydl fs` on a real HDFS, with Hadoop's own shell as the judge."""

import filecmp
import json
import os
import signal
import subprocess
import time

import pytest
from cmd_support import driver, program, ydl


def same_tree(a, b) -> bool:
    """Names, kinds and bytes of two local trees are equal."""
    compared = filecmp.dircmp(a, b, ignore=[])
    if compared.left_only or compared.right_only or compared.funny_files:
        return False
    _, different, errors = filecmp.cmpfiles(a, b, compared.common_files, shallow=False)
    return not different and not errors and all(
        same_tree(os.path.join(a, d), os.path.join(b, d)) for d in compared.common_dirs)


# ---- copying ----

def test_a_tree_comes_back_as_it_was(shell, tree, tmp_path):
    copied = shell.json("fs", "put", "-r", str(tree), shell.dir + "/t")["copies"]
    assert [(c["files"], c["target"]) for c in copied] == [(9, shell.dir + "/t")]
    assert copied[0]["bytes"] == sum(p.stat().st_size for p in tree.rglob("*") if p.is_file())
    shell.ok("fs", "get", "-r", shell.dir + "/t", str(tmp_path / "back"))
    assert same_tree(tree, tmp_path / "back")
    shell.cluster.fs("-get", shell.dir + "/t", str(tmp_path / "java"))
    assert same_tree(tree, tmp_path / "java")


def test_what_java_wrote_is_read(shell, tree, tmp_path):
    shell.cluster.fs("-put", str(tree), shell.dir + "/t")
    shell.ok("fs", "get", "-r", shell.dir + "/t", str(tmp_path))
    assert same_tree(tree, tmp_path / "t")


def test_put_follows_the_rules_of_cp(shell, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    shell.ok("fs", "put", one, shell.dir)                      # into a directory
    shell.ok("fs", "put", one, shell.dir + "/renamed")         # under a new name
    shell.ok("fs", "mkdir", shell.dir + "/d")
    shell.ok("fs", "put", one, two, shell.dir + "/d/")         # several
    assert shell.names() == ["d", "d/one", "d/two", "one", "renamed"]
    shell.fails(1, "fs", "put", one, two, shell.dir + "/renamed", says="is not a directory")
    shell.fails(1, "fs", "put", one, two, shell.dir + "/none", says="does not exist")
    shell.fails(1, "fs", "put", one, shell.dir + "/none/", says="does not exist")
    shell.fails(1, "fs", "put", one, shell.dir + "/none/x", says="there is no directory")
    shell.fails(1, "fs", "put", str(tmp_path), shell.dir + "/x", says="is a directory")
    shell.fails(73, "fs", "put", one, shell.dir, says="exists already")
    (tmp_path / "one").write_text("changed")
    shell.ok("fs", "put", "-f", one, shell.dir)
    assert shell.ok("fs", "cat", shell.dir + "/one") == "changed"
    assert shell.names() == ["d", "d/one", "d/two", "one", "renamed"]


def test_a_directory_that_exists_gets_what_is_new(shell, tree, tmp_path):
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    before = shell.names()
    shell.fails(73, "fs", "put", "-r", str(tree), shell.dir, says="exists already")
    (tree / "fresh").mkdir()
    (tree / "fresh" / "file").write_text("new")
    shell.ok("fs", "put", "-rf", ".", shell.dir + "/tree", cwd=tree)
    assert shell.names() == sorted(before + ["tree/fresh", "tree/fresh/file"])
    (tmp_path / "to").mkdir()
    shell.ok("fs", "get", "-r", shell.dir + "/tree", str(tmp_path / "to"))
    assert same_tree(tree, tmp_path / "to" / "tree")
    shell.fails(73, "fs", "get", "-r", shell.dir + "/tree", str(tmp_path / "to"),
                says="exists already")
    shell.ok("fs", "get", "-rf", shell.dir + "/tree", str(tmp_path / "to"))


def test_pipes_are_copied_both_ways(shell):
    data = os.urandom(300_000)
    assert shell("fs", "put", "-", shell.dir + "/p", input=data).returncode == 0
    assert shell("fs", "get", shell.dir + "/p", "-", text=False).stdout == data
    assert shell("fs", "cat", shell.dir + "/p", shell.dir + "/p", text=False).stdout == 2 * data
    shell.fails(1, "fs", "put", "-", shell.dir, says="is a directory", input="x")


def test_a_slow_pipe_is_waited_for(shell):
    script = f"(printf a; sleep 0.4; printf b) | {program()} fs put - {shell.dir}/slow"
    subprocess.run(["sh", "-c", script], env=shell.env, check=True, timeout=50)
    assert shell.ok("fs", "cat", shell.dir + "/slow") == "ab"


def test_a_closed_output_is_no_error_worth_words(shell, tmp_path):
    (tmp_path / "big").write_bytes(bytes(4 << 20))
    shell.ok("fs", "put", str(tmp_path / "big"), shell.dir)
    script = f"{program()} fs cat {shell.dir}/big | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], env=shell.env, capture_output=True, text=True,
                          timeout=30, check=True)
    assert done.stdout == "141\n" and done.stderr == ""


def test_options_of_new_files_count(shell, tmp_path):
    (tmp_path / "f").write_bytes(bytes(5000))
    shell.ok("fs", "put", "--replication", "1", "--block-size", "2k", str(tmp_path / "f"), shell.dir)
    entry = shell.json("fs", "stat", shell.dir + "/f")["entries"][0]
    assert (entry["replication"], entry["block_size"], entry["size"]) == (1, 2048, 5000)


def test_what_is_no_file_is_found_before_anything_is_sent(shell, tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_text("a")
    os.mkfifo(tmp_path / "d" / "pipe")
    shell.fails(1, "fs", "put", "-r", str(tmp_path / "d"), shell.dir, says="is not a file")
    os.unlink(tmp_path / "d" / "pipe")
    os.symlink("nowhere", tmp_path / "d" / "link")
    shell.fails(1, "fs", "put", "-r", str(tmp_path / "d"), shell.dir, says="is a broken symbolic link")
    os.unlink(tmp_path / "d" / "link")
    os.symlink("..", tmp_path / "d" / "up")
    done = shell("fs", "put", "-r", str(tmp_path / "d"), shell.dir)
    assert done.returncode == 1 and "ydl: " in done.stderr
    assert shell.names() == []


def test_one_failure_does_not_stop_the_others(shell, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    done = shell.fails(1, "fs", "put", str(tmp_path / "a"), str(tmp_path / "none"),
                       str(tmp_path / "b"), shell.dir, "--json", says="none")
    said = json.loads(done.stdout)
    assert len(said["copies"]) == 2 and len(said["errors"]) == 1
    assert said["errors"][0]["operand"] == str(tmp_path / "none")
    assert said["errors"][0]["code"] == "ENOENT" and said["errors"][0]["exit"] == 1
    assert shell.names() == ["a", "b"]
    done = shell("fs", "cat", shell.dir + "/a", shell.dir + "/x", shell.dir + "/b")
    assert (done.returncode, done.stdout) == (1, "ab")


def test_local_files_need_no_cluster(tree, tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_"))}
    assert ydl(env, "fs", "put", "-r", str(tree), f"file://{tmp_path}/copy").returncode == 0
    assert same_tree(tree, tmp_path / "copy")
    assert ydl(env, "fs", "get", "-r", f"file://{tmp_path}/copy", str(tmp_path / "again")).stderr == ""
    assert same_tree(tree, tmp_path / "again")
    done = ydl(env, "fs", "rm", "-r", f"file://{tmp_path}/copy", f"file://{tmp_path}/again")
    assert done.returncode == 0 and sorted(p.name for p in tmp_path.iterdir()) == ["tree"]


# ---- nothing is left behind ----

def interrupted(shell, sig, *words, begun=None, undo=None):
    """Starts ydl, sends the signal when it has begun (something is there), and returns how it
    ended. One that was done before is undone, and tried again."""
    begun = begun or shell.names
    for _ in range(6):
        with subprocess.Popen([program(), *words], env=shell.env, stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
            while not begun() and running.poll() is None:
                time.sleep(0.005)
            running.send_signal(sig)
            _, said = running.communicate(timeout=50)
        if running.returncode != 0 or not undo:
            return running.returncode, said
        undo()
    raise AssertionError("it was always done before the signal")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large"
    with open(path, "wb") as f:
        f.truncate(2 << 30)  # sparse, and longer than a signal takes
    return path


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_put_leaves_nothing(shell, large, sig):
    def undo():
        shell.ok("fs", "rm", f"{shell.dir}/{large.name}")
    done = interrupted(shell, sig, "fs", "put", str(large), shell.dir, undo=undo)
    assert done == (130, "ydl: interrupted\n")
    assert shell.names() == []


def test_an_interrupted_put_of_a_pipe_leaves_nothing(shell):
    code, _ = interrupted(shell, signal.SIGINT, "fs", "put", "-", shell.dir + "/x")
    assert code == 130 and shell.names() == []


def test_ctrl_c_that_ends_the_pipe_too_leaves_nothing(shell):
    """The end of the data and the signal come at the same time: it is no end of the data."""
    with subprocess.Popen([program(), "fs", "put", "-", shell.dir + "/x"], env=shell.env,
                          stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as running:
        running.stdin.write(b"half of it")
        running.stdin.flush()
        while not shell.names():
            assert running.poll() is None
            time.sleep(0.005)
        running.send_signal(signal.SIGSTOP)
        running.stdin.close()
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGCONT)
        assert running.wait(60) == 130
    assert shell.names() == []


def test_an_interrupted_put_of_a_tree_leaves_nothing(shell, tmp_path):
    for i in range(400):
        (tmp_path / "t" / str(i % 7)).mkdir(parents=True, exist_ok=True)
        (tmp_path / "t" / str(i % 7) / str(i)).write_bytes(bytes(20_000))
    code, _ = interrupted(shell, signal.SIGINT, "fs", "put", "-r", str(tmp_path / "t"), shell.dir,
                          undo=lambda: shell.ok("fs", "rm", "-r", f"{shell.dir}/t"))
    assert code == 130 and shell.names() == []


def test_an_interrupted_put_into_a_directory_leaves_no_empty_ones(shell, tmp_path):
    """What was complete stays, and so does an empty directory that was there before."""
    source = tmp_path / "t"
    for name in ("a/b/done", "new/deep/large", "there/x/y/large"):
        (source / name).parent.mkdir(parents=True)
        (source / name).touch()
        if name.endswith("large"):
            os.truncate(source / name, 2 << 30)
    (source / "new" / "empty").mkdir()
    for name in ("t/there", "t/before"):
        shell.ok("fs", "mkdir", "-p", f"{shell.dir}/{name}")

    def begun():
        names = shell.names()
        return "t/a/b/done" in names and sum(name.endswith(".tmp") for name in names) == 2

    def undo():
        shell.ok("fs", "rm", "-r", *(f"{shell.dir}/t/{name}" for name in ("a", "new", "there/x")))

    code, _ = interrupted(shell, signal.SIGINT, "fs", "put", "-r", str(source), shell.dir,
                          begun=begun, undo=undo)
    assert code == 130
    assert shell.names() == ["t", "t/a", "t/a/b", "t/a/b/done", "t/before", "t/there"]


# ---- … and what had to be left is removed by the next ----

def aged(shell, *paths: str) -> None:
    shell.cluster.fs("-touch", "-m", "-t", "20200101:000000", *(shell.dir + path for path in paths))


def killed_put(shell, name: str) -> str:
    """Kills a put in the middle; the name of what it left."""
    before = shell.names()
    interrupted(shell, signal.SIGKILL, "fs", "put", "-", f"{shell.dir}/{name}",
                begun=lambda: shell.names() != before)
    (left,) = set(shell.names()) - set(before)
    assert left.startswith(f".{name}.ydl-") and left.endswith(".tmp")
    return left


def test_what_a_killed_put_left_is_removed_by_a_later_one(shell, tmp_path):
    (tmp_path / "f").write_text("x")
    put = ("fs", "put", "-f", str(tmp_path / "f"), shell.dir)
    left = killed_put(shell, "f")
    shell.ok(*put)
    assert left in shell.names()  # too young
    aged(shell, "/" + left)
    shell.ok(*put)
    assert left in shell.names()  # for all that is known its writer is alive
    shell.cluster.run([str(driver()), "recover", f"{shell.dir}/{left}"])
    aged(shell, "/" + left)
    shell.ok(*put)
    assert shell.names() == ["f"]


def test_only_what_is_old_and_ours_is_removed(shell, tmp_path):
    noise = ".ydl-0123456789abcdef.tmp"
    (tmp_path / "t" / "in").mkdir(parents=True)
    (tmp_path / "t" / "in" / "f").write_text("x")
    put = ("fs", "put", "-rf", str(tmp_path / "t"), shell.dir)
    for name in (f".dead{noise}", f".alive{noise}"):
        shell.ok("fs", "mkdir", "-p", f"{shell.dir}/{name}/d")
        shell.ok("fs", "put", str(tmp_path / "t" / "in" / "f"), f"{shell.dir}/{name}/d/f")
    for name in (f".bobs{noise}", ".other.tmp", f"seen{noise}", f"t/in/.g{noise}"):
        shell.ok("fs", "mkdir", "-p", os.path.dirname(f"{shell.dir}/{name}"))
        shell.ok("fs", "put", "-", f"{shell.dir}/{name}", input="x")
    shell.cluster.fs("-chown", "bob", f"{shell.dir}/.bobs{noise}")
    aged(shell, *(f"/{name}" for name in shell.names() if name != f".alive{noise}/d/f"))
    shell.ok(*put)
    assert shell.names() == sorted([f".alive{noise}", f".alive{noise}/d", f".alive{noise}/d/f",
                                    f".bobs{noise}", ".other.tmp", f"seen{noise}", "t", "t/in",
                                    "t/in/f"])


def test_an_interrupted_get_leaves_nothing(shell, large, tmp_path):
    small = tmp_path / "source"
    with open(small, "wb") as f:
        f.truncate(512 << 20)
    shell.ok("fs", "put", str(small), shell.dir + "/big")
    target = tmp_path / "target"
    target.mkdir()
    code, _ = interrupted(shell, signal.SIGTERM, "fs", "get", shell.dir + "/big", str(target),
                          begun=lambda: list(target.iterdir()),
                          undo=lambda: (target / "big").unlink())
    assert code == 130 and list(target.iterdir()) == []


def test_a_put_that_fails_leaves_nothing(shell, tree):
    shell.cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setSpaceQuota", "100k", shell.dir)
    shell.fails(73, "fs", "put", "-r", str(tree), shell.dir, says="quota")
    assert shell.names() == []


def test_a_put_without_a_datanode_leaves_nothing(shell, large):
    for _ in range(6):  # until it was in the middle indeed
        with subprocess.Popen([program(), "fs", "put", str(large), shell.dir], env=shell.env,
                              stderr=subprocess.PIPE, text=True) as running:
            while not shell.names() and running.poll() is None:
                time.sleep(0.005)
            running.send_signal(signal.SIGSTOP)
            late = shell.names() == [large.name]
            for node in [] if late else shell.cluster.lay.datanodes:
                shell.cluster.kill(node)
            running.send_signal(signal.SIGCONT)
            _, said = running.communicate(timeout=120)
        if not late:
            break
        shell.ok("fs", "rm", f"{shell.dir}/{large.name}")
    assert running.returncode not in (0, 130) and said.startswith("ydl: "), said
    shell.cluster.heal()
    assert shell.names() == []


# ---- looking ----

def test_ls_shows_what_java_shows(shell, tree):
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    java = shell.cluster.fs("-ls", "-R", shell.dir).stdout.splitlines()
    ours = shell.ok("fs", "ls", "-R", shell.dir).splitlines()
    assert len(java) == len(ours)
    for theirs, mine in zip(java, ours):
        a, b = theirs.split(None, 7), mine.split(None, 7)
        assert a[:5] == b[:5] and a[5:7] == b[5:7] and a[7] == b[7]


def test_ls_in_its_forms(shell, tree):
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    top = shell.dir + "/tree"
    assert shell.ok("fs", "ls", "-d", top).split()[-1] == top
    human = shell.ok("fs", "ls", "-h", top + "/a/b/c")
    assert "64 KB" in human
    entries = shell.json("fs", "ls", top)["entries"]
    by_name = {e["path"].rsplit("/", 1)[1]: e for e in entries}
    assert sorted(by_name) == ["a", "empty", "one", "with space", "zero", "ünï"]
    assert by_name["one"]["type"] == "file" and by_name["one"]["mode"] == "0644"
    assert shell.ok("fs", "ls", f"file://{tree}/a").count("\n") == 4
    assert shell.json("fs", "ls", f"file://{tree}/one")["entries"][0]["size"] == 1


@pytest.mark.parametrize("pattern, found", [
    ("*", ["a1", "a2", "b1", "{x}"]), ("a*", ["a1", "a2"]), ("?1", ["a1", "b1"]),
    ("[^a]1", ["b1"]), ("{a,b}1", ["a1", "b1"]), ("{x}", ["{x}"]), ("\\{x\\}", ["{x}"]),
])
def test_patterns_are_expanded_on_the_cluster(shell, pattern, found):
    shell.ok("fs", "mkdir", *(f"{shell.dir}/{n}" for n in ("a1", "a2", "b1", "{x}")))
    entries = shell.json("fs", "ls", "-d", f"{shell.dir}/{pattern}")["entries"]
    assert [e["path"].rsplit("/", 1)[1] for e in entries] == found


def test_a_pattern_that_matches_nothing_is_an_error(shell):
    shell.fails(1, "fs", "ls", shell.dir + "/*.none", says="nothing matches")
    shell.ok("fs", "rm", "-f", shell.dir + "/*.none", shell.dir + "/none")


def test_du_counts_as_java_does(shell, tree):
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    java = {line.split(None, 2)[2]: line.split()[:2]
            for line in shell.cluster.fs("-du", shell.dir + "/tree").stdout.splitlines()}
    for row in shell.json("fs", "du", shell.dir + "/tree")["usage"]:
        assert java.pop(row["path"]) == [str(row["bytes"]), str(row["space"])]
    assert not java
    total = shell.json("fs", "du", "-s", shell.dir)["usage"]
    assert len(total) == 1 and total[0]["files"] == 9 and total[0]["directories"] == 8
    assert "KB" in shell.ok("fs", "du", "-sh", shell.dir)


def test_stat_tells_everything(shell, tree):
    began = time.time()
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    shell.cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setQuota", "1000", shell.dir)
    file, directory = shell.json("fs", "stat", shell.dir + "/tree/one", shell.dir)["entries"]
    assert file["uri"].startswith("hdfs://") and file["uri"].endswith(shell.dir + "/tree/one")
    assert file["size"] == 1 and file["replication"] == 2
    assert began - 1 < file["mtime_ms"] / 1000 < time.time() + 1
    assert directory["files"] == 9 and directory["quota"] == 1000
    assert directory["space_quota"] is None
    text = shell.ok("fs", "stat", shell.dir)
    assert "name quota" in text and "9 files in 8 directories" in text


# ---- changing ----

def test_mkdir(shell):
    shell.ok("fs", "mkdir", "-p", shell.dir + "/x/y", shell.dir + "/x")
    shell.ok("fs", "mkdir", "-m", "1770", shell.dir + "/m")
    assert shell.json("fs", "ls", "-d", shell.dir + "/m")["entries"][0]["mode"] == "1770"
    shell.fails(73, "fs", "mkdir", shell.dir + "/x", says="exist")
    shell.fails(1, "fs", "mkdir", shell.dir + "/no/such", says="no directory")
    shell.fails(2, "fs", "mkdir", "-m", "rw", shell.dir + "/n", says="is not a mode")


def test_rm(shell, tmp_path):
    (tmp_path / "f").write_text("x")
    shell.ok("fs", "put", str(tmp_path / "f"), shell.dir)
    shell.ok("fs", "mkdir", "-p", shell.dir + "/d/e")
    shell.fails(1, "fs", "rm", shell.dir + "/d", says="is a directory")
    assert shell.json("fs", "rm", "-r", shell.dir + "/d")["removed"] == [{"path": shell.dir + "/d"}]
    shell.fails(1, "fs", "rm", shell.dir + "/none", shell.dir + "/f", says="no such file")
    assert shell.names() == []


def test_homes_and_the_root_are_not_deleted_by_mistake(shell):
    shell.fails(77, "fs", "rm", "-rf", "/", says="'/' is not deleted")
    shell.fails(77, "fs", "rm", "-rf", "/user/alice", says="home directory")
    shell.fails(77, "fs", "rm", "-rf", "/user", says="holds home directories")
    shell.fails(77, "fs", "rm", "-r", ".", says="your home directory")
    assert "/user/alice" in shell.ok("fs", "ls", "/user")


def test_mv(shell, tmp_path):
    for name in ("f", "g"):
        (tmp_path / name).write_text(name)
    shell.ok("fs", "put", str(tmp_path / "f"), str(tmp_path / "g"), shell.dir)
    shell.ok("fs", "mkdir", shell.dir + "/d")
    shell.fails(73, "fs", "mv", shell.dir + "/f", shell.dir + "/g", says="exists already")
    shell.ok("fs", "mv", "-f", shell.dir + "/f", shell.dir + "/g")
    assert shell.ok("fs", "cat", shell.dir + "/g") == "f"
    shell.ok("fs", "mv", shell.dir + "/g", shell.dir + "/d")
    shell.fails(1, "fs", "mv", shell.dir + "/d", shell.dir + "/d/x", says="into itself")
    shell.fails(1, "fs", "mv", shell.dir + "/d/g", shell.dir + "/d/g", says="already has that name")
    shell.fails(1, "fs", "mv", shell.dir + "/d", f"file://{tmp_path}", says="different file systems")
    assert shell.names() == ["d", "d/g"]


def test_chmod(shell, tree):
    shell.ok("fs", "put", "-r", str(tree), shell.dir)
    top = shell.dir + "/tree"
    shell.ok("fs", "chmod", "u+x,go-r", top + "/one")
    assert shell.json("fs", "stat", top + "/one")["entries"][0]["mode"] == "0700"
    shell.ok("fs", "chmod", "-R", "go=rX", top)
    java = shell.cluster.fs("-ls", "-R", top).stdout
    assert all(line.startswith(("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x"))
               for line in java.splitlines())
    shell.fails(2, "fs", "chmod", "u+q", top, says="is not a mode")
    shell.ok("fs", "chmod", "-R", "000", top)
    assert {e["mode"] for e in shell.json("fs", "ls", "-R", top)["entries"]} == {"0000"}


# ---- progress ----

def test_progress_is_shown_on_a_terminal_only(shell, tmp_path):
    with open(tmp_path / "file", "wb") as f:
        f.truncate(256 << 20)
    shell.ok("fs", "put", str(tmp_path / "file"), shell.dir + "/x")
    command = f"{program()} fs put -f {tmp_path}/file {shell.dir}/x"
    shown = subprocess.run(["script", "-qec", command, "/dev/null"], env=shell.env | {"TERM": "xterm"},
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                           check=True).stdout
    assert "file" in shown and "/s" in shown and "%" in shown

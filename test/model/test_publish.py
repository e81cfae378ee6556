"""`ydl model push`, list, show and pull: what is published, and what is refused."""

import hashlib
import os
import signal
import subprocess
import time

import pytest
from model_support import Registry, handler


def test_versions_are_numbered_and_listed(registry, hello, tmp_path):
    assert registry.json("list")["models"] == []
    assert registry.json("push", hello, "hello")["version"] == 1
    handler(hello, "second")
    assert registry.json("push", hello, "hello")["version"] == 2
    assert registry.json("push", hello, "hello:7")["version"] == 7
    assert registry.json("push", hello, "hello")["version"] == 8
    assert registry.versions("hello") == [1, 2, 7, 8]
    newest, = registry.json("list")["models"]
    assert (newest["name"], newest["version"], newest["format"]) == ("hello", 8, "python")
    registry.fails(73, "push", hello, "hello:2", says="versions never change")
    registry.fails(1, "show", "hello:3", says="there is no version 3")
    registry.fails(1, "show", "nothing", says="there is no model 'nothing'")


def test_a_version_comes_back_as_it_was_and_is_read_only(registry, tmp_path):
    tree = handler(tmp_path / "tree")
    (tree / "data" / "deep").mkdir(parents=True)
    (tree / "data" / "deep" / "weights").write_bytes(os.urandom(3 << 20))
    (tree / "empty").write_text("")
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    registry.ok("push", tree, "m")
    registry.ok("pull", "m", tmp_path / "back")
    subprocess.run(["diff", "-r", tree, tmp_path / "back"], check=True)
    assert os.access(tmp_path / "back" / "run", os.X_OK)
    assert not os.access(tmp_path / "back" / "empty", os.X_OK)
    version = tmp_path / "registry" / "m" / "versions" / "1"
    for path in [version, *version.rglob("*")]:
        mode = path.stat().st_mode & 0o777
        executable = path.is_dir() or path.name == "run"
        assert mode == (0o555 if executable else 0o444), path
    registry.fails(73, "pull", "m", tmp_path / "back", says="exists already")


def test_the_manifest_tells_every_byte_and_where_it_came_from(registry, tmp_path):
    repo = tmp_path / "repo"
    model = handler(repo / "models" / "m")
    git = ["git", "-C", repo, "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "init", "-q", repo], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True,
                          text=True).stdout.strip()
    registry.env["YDL_JOB"] = "local-1234"
    registry.ok("push", model, "m", "--tag", "team=vision")
    shown = registry.json("show", "m")
    assert shown["job"] == "local-1234" and shown["git"] == head
    assert shown["tags"] == {"team": "vision"}
    content = (model / "model.py").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    assert shown["files"] == [{"path": "model/model.py", "size": len(content), "sha256": digest}]
    lines = f"{digest}  model/model.py\n".encode()
    assert shown["tree_sha256"] == hashlib.sha256(lines).hexdigest()
    subprocess.run([*git, "pack-refs", "--all"], check=True)
    registry.ok("push", model, "m")
    assert registry.json("show", "m")["git"] == head
    registry.ok("push", handler(tmp_path / "elsewhere"), "m")
    assert registry.json("show", "m")["git"] is None


@pytest.mark.parametrize("name", ["../x", "a/b", ".hidden", "-x", "", "a b", "ä", "x" * 129,
                                  "a:0", "a:-1", "a:1x", "a:99999999999999999999", "a:", "a@b"])
def test_names_that_could_lead_elsewhere_are_refused(registry, hello, tmp_path, name):
    done = registry("push", "--", hello, name) if name.startswith("-") else \
        registry("push", hello, name)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert not (tmp_path / "registry").exists()


def test_what_is_not_a_plain_file_is_refused(registry, hello, tmp_path):
    (tmp_path / "secret").write_text("secret")
    for make, says in ((lambda p: os.mkfifo(p), "is a pipe"),
                       (lambda p: p.symlink_to(tmp_path / "secret"), "outside of its directory"),
                       (lambda p: p.symlink_to("/dev/zero"), "outside of its directory"),
                       (lambda p: p.symlink_to("."), "outside of its directory"),
                       (lambda p: p.symlink_to("nowhere"), "No such file")):
        make(hello / "odd")
        registry.fails(1, "push", hello, "m", says=says)
        (hello / "odd").unlink()
    (hello / "odd").write_text("x")
    (hello / "link").symlink_to("odd")  # a link inside stands for its file
    registry.ok("push", hello, "m")
    registry.ok("pull", "m", tmp_path / "back")
    assert (tmp_path / "back" / "link").read_text() == "x"
    assert not (tmp_path / "back" / "link").is_symlink()


def test_only_a_model_is_published(registry, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    registry.fails(1, "push", other, "m", says="has no files")
    (other / "readme").write_text("text")
    registry.fails(1, "push", other, "m", says="no known model format")
    (other / "model.py").write_text("def load(dir): pass\n")
    registry.fails(1, "push", other, "m", says="does not define predict()")
    registry.fails(1, "push", tmp_path / "nothing", "m", says="no such file")
    assert registry.json("list")["models"] == []


def test_a_large_text_of_xgboost_takes_little_memory(registry, tmp_path):
    (tmp_path / "m.json").write_text('{"learner": {"gradient_booster": {"model": {"a": ['
                                     + "1," * (20 << 20) + "1]}}}}")
    push = registry.start("push", tmp_path / "m.json", "m", stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(push.pid, 0)
    push.returncode = os.waitstatus_to_exitcode(status)
    assert push.returncode == 0 and used.ru_maxrss < 500 * 1024
    assert registry.json("show", "m")["format"] == "xgboost"


def test_unchanged_files_make_no_version_when_asked(registry, hello):
    registry.ok("push", hello, "m")
    assert registry.json("push", hello, "m", "--if-changed")["unchanged"]
    handler(hello, "other")
    assert not registry.json("push", hello, "m", "--if-changed")["unchanged"]
    assert registry.versions("m") == [1, 2]


def test_unchanged_files_are_not_copied_to_find_that_out(registry, hello, tmp_path):
    """Names, sizes and bytes are compared where they are, with those of requests to warm up."""
    (tmp_path / "warm.json").write_text('{"inputs": []}')
    handler(hello, "a")
    warm = ("--warmup", tmp_path / "warm.json", "--if-changed")
    registry.ok("push", hello, "m", *warm)
    directories = [path for path in (tmp_path / "registry").rglob("*") if path.is_dir()]

    def written():
        return [path.stat().st_mtime_ns for path in directories]

    before = written()
    assert registry.json("push", hello, "m", *warm)["unchanged"]
    assert registry.json("push", hello, "m:1", *warm)["version"] == 1
    assert len(before) > 3 and written() == before
    handler(hello, "b")  # as long as before
    for words, version in ((warm, 2), (("--if-changed",), 3), (warm, 4)):
        told = registry.json("push", hello, "m", *words)
        assert not told["unchanged"] and told["version"] == version and written() != before
    (tmp_path / "warm.json").write_text('{"inputs": {}}')
    assert registry.json("push", hello, "m", *warm)["version"] == 5
    registry.fails(73, "push", hello, "m:4", *warm, says="m:4 exists already")
    registry.ok("verify", "m")


def test_the_registry_is_where_the_configuration_says(plain_env, hello, tmp_path):
    """The user's own directory, then the key model.registry, then the option."""
    own = Registry(str(tmp_path / "x"), plain_env, tmp_path)
    own.command = lambda verb, *words: [w for w in Registry.command(own, verb, *words)
                                        if w not in ("--registry", own.place)]
    own.ok("push", hello, "m")
    assert (tmp_path / "home/.local/share/ydl/models/m/versions/1/MANIFEST.json").exists()
    own.env["XDG_DATA_HOME"] = str(tmp_path / "data")
    own.ok("push", hello, "m")
    assert (tmp_path / "data/ydl/models/m/versions/1").exists()
    config = tmp_path / "home/.config/ydl/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text(f"other: 1\nmodel:\n  registry: {tmp_path}/configured\n")
    own.ok("push", hello, "m")
    assert (tmp_path / "configured/m/versions/1").exists()
    config.write_text("model:\n  registry: []\n")
    own.fails(1, "list", says="config.yaml:2: model.registry must be a path")
    given = Registry(str(tmp_path / "given"), plain_env, tmp_path)
    given.ok("push", hello, "m")
    assert (tmp_path / "given/m/versions/1").exists()


def test_warm_up_requests_lie_beside_the_model(registry, hello, tmp_path):
    requests = tmp_path / "requests"
    requests.mkdir()
    (requests / "1.json").write_text('{"instances": [1]}')
    registry.ok("push", hello, "m", "--warmup", requests)
    assert [f["path"] for f in registry.json("show", "m")["files"]] == ["model/model.py",
                                                                        "warmup/1.json"]
    registry.ok("pull", "m", tmp_path / "out")  # gives the model alone
    assert os.listdir(tmp_path / "out") == ["model.py"]
    registry.fails(1, "push", hello, "m", "--warmup", tmp_path / "none", says="no such file")
    assert registry.versions("m") == [1]


def test_a_pull_of_what_is_removed_meanwhile_leaves_nothing(registry, hello, tmp_path):
    (hello / "a").write_bytes(bytes(200 << 20))
    (hello / "z").write_text("last")
    registry.ok("push", hello, "m")
    pull = registry.start("pull", "m", tmp_path / "out", stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob(".put-*/a")):
        assert pull.poll() is None
        time.sleep(0.001)
    pull.send_signal(signal.SIGSTOP)
    registry.ok("rm", "m:1")
    pull.send_signal(signal.SIGCONT)
    assert "o such file" in pull.communicate()[1] and pull.returncode == 1
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".put-*"))

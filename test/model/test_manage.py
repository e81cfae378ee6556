"""Aliases, tags, removal, retention, verification, import and export."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from model_support import Registry, handler


@pytest.fixture(params=["here", pytest.param("hdfs", marks=pytest.mark.clusters("cluster"))])
def filled(request, tmp_path, hello):
    """A registry of each kind with hello:1 to hello:4."""
    made = request.getfixturevalue("registry" if request.param == "here" else "hdfs_registry")
    for i in range(1, 5):
        assert made.json("push", handler(hello, str(i)), "hello")["version"] == i
    return made


def write(registry: Registry, path: str, text: str, tmp_path: Path, cluster=None) -> None:
    """A file below the registry's directory, as a deployment writes one."""
    local = tmp_path / "written"
    local.write_text(text)
    for words in (["mkdir", "-p", f"{registry.place}/{os.path.dirname(path)}"],
                  ["put", "-f", str(local), f"{registry.place}/{path}"]):
        if not registry.place.startswith("hdfs:"):
            words = [w if not w.startswith("/") or w == str(local) else f"file://{w}"
                     for w in words]
        subprocess.run([registry.command("x")[0], "fs", *words], env=registry.env, check=True,
                       capture_output=True)


def test_an_alias_moves_and_keeps_its_version(filled):
    filled.fails(2, "alias", "hello", "3", says="which alias?")
    filled.fails(2, "alias", "hello@champion", says="which version?")
    filled.fails(1, "alias", "hello@champion", "9", says="there is no version 9")
    filled.fails(1, "show", "hello@champion", says="there is no alias 'champion'")
    moved = filled.json("alias", "hello@champion", "2")
    assert (moved["version"], moved["previous"]) == (2, None)
    moved = filled.json("alias", "hello@champion", "3")
    assert (moved["version"], moved["previous"]) == (3, 2)
    assert filled.json("show", "hello@champion")["version"] == 3
    by_version = {v["version"]: v["aliases"] for v in filled.json("list", "hello")["versions"]}
    assert by_version == {1: [], 2: [], 3: ["champion"], 4: []}
    filled.fails(75, "rm", "hello:3", says="is named by the alias 'champion'")
    filled.ok("alias", "hello@champion", "--remove")
    filled.fails(1, "show", "hello@champion", says="there is no alias")
    filled.ok("rm", "hello:3")
    filled.ok("alias", "hello@champion", "1")
    assert filled.json("show", "hello@champion")["version"] == 1


def test_a_removed_number_never_comes_back(filled, hello):
    filled.ok("rm", "hello:4", "hello:2")
    assert filled.versions("hello") == [1, 3]
    filled.fails(1, "show", "hello:4", says="there is no version 4")
    filled.fails(73, "push", hello, "hello:4", says="its number is not used again")
    assert filled.json("push", hello, "hello")["version"] == 5
    filled.fails(1, "rm", "hello:4", says="there is no version 4")
    filled.fails(2, "rm", "hello", says="which version?")


def test_a_deployed_version_stays(filled, tmp_path):
    write(filled, "hello/deployments/web.json", json.dumps({"versions": [1, 2]}), tmp_path)
    filled.fails(75, "rm", "hello:1", says="is used by the deployment 'web.json'")
    rows = filled.json("prune", "hello", "--keep", "1", "--dry-run")["versions"]
    assert {r["version"]: (r["removed"], r["reason"]) for r in rows} == {
        4: (False, "among the newest 1"), 3: (True, "not among the newest 1, and not in use"),
        2: (False, "deployment web.json"), 1: (False, "deployment web.json")}
    assert filled.versions("hello") == [1, 2, 3, 4]
    write(filled, "hello/deployments/odd.json", "{}", tmp_path)
    filled.fails(70, "rm", "hello:3", says="does not list its versions")


def test_prune_spares_what_is_new_and_what_is_named(filled):
    filled.ok("alias", "hello@champion", "1")
    filled.ok("prune", "--keep", "2")
    assert filled.versions("hello") == [1, 3, 4]
    filled.fails(2, "prune", "--keep", "0", says="must be at least 1")


def test_tags_change_beside_the_version(filled):
    before = filled.json("show", "hello:2")
    assert filled.json("tag", "hello:2", "accuracy=0.93", "team=vision")["tags"] == {
        "accuracy": "0.93", "team": "vision"}
    assert filled.ok("tag", "hello:2", "team=audio", "--remove", "accuracy") == "team=audio\n"
    after = filled.json("show", "hello:2")
    assert after["tags"] == {"team": "audio"}
    assert {k: v for k, v in after.items() if k != "tags"} == \
        {k: v for k, v in before.items() if k != "tags"}
    filled.fails(2, "tag", "hello:2", "x", says="write KEY=VALUE")


def test_verify_finds_what_changed(registry, tmp_path):
    tree = handler(tmp_path / "m")
    for name in ("a", "b", "c"):
        (tree / name).write_text(name * 100)
    for _ in range(3):
        registry.ok("push", tree, "m")
    assert registry.ok("verify") == "m:1 ok\nm:2 ok\nm:3 ok\n"
    model = tmp_path / "registry/m/versions/2/model"
    for path in (model, model / "a", model / "b", model.parent.parent / "3/MANIFEST.json"):
        path.chmod(0o755)
    (model / "a").write_text("b" + "a" * 99)
    (model / "b").write_text("short")
    (model / "c").unlink()
    (model / "extra").write_text("")
    (tmp_path / "registry/m/versions/3/MANIFEST.json").write_text("{")
    done = registry("verify", "m", "--json")
    assert done.returncode == 1
    rows = {r["version"]: r for r in json.loads(done.stdout)["versions"]}
    assert rows[1]["ok"] and not rows[2]["ok"] and not rows[3]["ok"]
    assert {(p["path"], p["problem"]) for p in rows[2]["problems"]} == {
        ("model/a", "changed"), ("model/b", "changed"), ("model/c", "missing"),
        ("model/extra", "not in the manifest")}
    registry.fails(70, "pull", "m:2", tmp_path / "out", says="'model/a' of m:2 is damaged")
    (model / "b").unlink()
    os.mkfifo(model / "b")  # nobody waits for its other end
    problems = json.loads(registry("verify", "m:2", "--json").stdout)["versions"][0]["problems"]
    assert {"path": "model/b", "problem": "not a file"} in problems
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".put-*"))


def test_a_base_directory_goes_in_and_comes_out(filled, tmp_path):
    base = tmp_path / "base"
    for number in ("1", "3", "12", "1700000000"):  # the last is a time, as TensorFlow numbers them
        handler(base / number, number)
    handler(base / "not-a-version")
    handler(base / "0")
    done = filled.json("import", base, "served")
    assert [v["version"] for v in done["versions"]] == [1, 3, 12, 1700000000]
    assert filled.versions("served") == [1, 3, 12, 1700000000]
    again = filled.json("import", base, "served")
    assert all(v["unchanged"] for v in again["versions"])
    out = tmp_path / "out"
    filled.ok("export", "served", out)
    for number in ("1", "3", "12"):
        subprocess.run(["diff", "-r", base / number, out / number], check=True)
    assert sorted(p.name for p in out.iterdir()) == ["1", "12", "1700000000", "3"]
    assert not any(v["written"] for v in filled.json("export", "served", out)["versions"])
    filled.ok("rm", "served:1")
    rows = filled.json("import", base, "served")["versions"]
    assert [v["version"] for v in rows if v["removed"]] == [1] and all(v["unchanged"] for v in rows)
    assert "served:1 was removed, and is left out\n" in filled.ok("import", base, "served")
    assert filled.versions("served") == [3, 12, 1700000000]
    handler(base / "3", "changed")
    filled.fails(73, "import", base, "served", says="served:3 exists already")
    filled.fails(1, "import", tmp_path / "home", "x", says="o such file")
    filled.fails(1, "import", base / "1", "x", says="has no numbered versions")


def test_a_path_is_imported_or_pushed_by_what_is_there(registry, tmp_path):
    """What a front end says of a path that only the registry's file systems reach."""
    base, one = handler(tmp_path / "base" / "3").parent, handler(tmp_path / "one" / "2026").parent
    for path, name, versions in ((f"file://{base}", "several", [3]), (f"file://{one}", "years", [2026])):
        registry.ok("import", "--or-push", path, f"{name}:7")
        assert registry.versions(name) == versions
    handler(one)  # a handler, whatever else its directory holds
    assert "single:7 published" in registry.ok("import", "--or-push", f"file://{one}", "single:7")
    assert "single:7 is there already" in registry.ok("import", "--or-push", one, "single")
    assert "single:8 published" in registry.ok("import", "--or-push", handler(tmp_path / "two", "2"), "single")
    registry.fails(1, "import", "--or-push", tmp_path / "none", "x", says="o such file")
    registry.fails(2, "import", base, "several:7", says="import keeps the numbers of the directories")


def test_versions_on_hdfs_are_seen_there(hdfs_registry, cluster, tmp_path):
    top = hdfs_registry.place.rpartition("/")[0]
    handler(tmp_path / "base" / "3")
    cluster.fs("-put", str(tmp_path / "base"), top.removeprefix("hdfs://"))
    hdfs_registry.ok("import", "--or-push", f"{top}/base", "several")
    hdfs_registry.ok("import", "--or-push", f"{top}/base/3", "single")
    assert (hdfs_registry.versions("several"), hdfs_registry.versions("single")) == ([3], [1])
    hdfs_registry.fails(1, "import", "--or-push", f"{top}/none", "x", says="o such file")


def test_verify_knows_the_versions_that_are_not_there(registry, hello):
    registry.ok("push", hello, "m")
    registry.fails(1, "verify", "m:2", says="there is no version 2 of 'm'")
    registry.fails(1, "verify", "m@none", says="there is no alias 'none'")
    registry.fails(1, "verify", "n", says="there is no model 'n'")


def test_a_damaged_version_hides_no_other_one(registry, hello):
    for name in ("a", "b"):
        registry.ok("push", hello, name)
        registry.ok("push", hello, name)
    manifest = Path(registry.place) / "a/versions/2/MANIFEST.json"
    manifest.chmod(0o644)
    manifest.write_text("{")
    done = registry("list", "--json")
    assert done.returncode == 0 and "note: a:2: " in done.stderr, done.stderr
    listed = json.loads(done.stdout)
    assert [m["name"] for m in listed["models"]] == ["b"] and listed["damaged"] == ["a"]
    versions = registry.json("list", "a")
    assert [v["version"] for v in versions["versions"]] == [1]
    assert versions["damaged"] == ["a:2"]


def test_text_of_a_manifest_does_not_command_the_terminal(registry, hello):
    registry.ok("push", hello, "m")
    path = Path(registry.place) / "m/versions/1/MANIFEST.json"
    manifest = json.loads(path.read_text())
    evil = "a\x1b[2Jb"
    manifest |= {"format": evil, "created_by": evil, "job": evil, "tags": {"k": evil},
                 "signatures": {evil: {"inputs": [
                     {"name": evil, "datatype": evil, "shape": [1]}], "outputs": []}}}
    path.chmod(0o644)
    path.write_text(json.dumps(manifest))
    for words in (["show", "m"], ["list"], ["list", "m"], ["tag", "m"]):
        assert "\x1b" not in registry.ok(*words), words


def test_tags_that_nobody_could_read_are_refused(registry, hello):
    registry.ok("push", hello, "m")
    tags = [f"k{i}={'x' * 1000}" for i in range(256)]
    registry.ok("tag", "m", *tags[:200])
    registry.fails(1, "tag", "m", *[f"{'k' * 100}{i}={'x' * 1000}" for i in range(56)],
                   says="tags of m:1 are too large")
    assert len(registry.json("show", "m")["tags"]) == 200
    registry.fails(1, "tag", "m", *tags, "one=more", says="at most 256 tags")


def test_links_lead_out_of_no_tree(registry, hello, tmp_path):
    """Neither prune nor rm changes what a link leads to, and verify does not look into it."""
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/file").write_text("x")
    for path in (outside, outside / "deep"):
        path.chmod(0o755)
    registry.ok("push", hello, "m")
    registry.ok("push", hello, "m")
    staging = Path(registry.place) / ".staging"
    left = staging / ".put-0123456789abcdef-1-1-0123456789abcdef"
    (left / "model").mkdir(parents=True)
    (left / "model/link").symlink_to(outside)
    top = staging / ".put-0123456789abcdef-2-1-0123456789abcdef"
    top.symlink_to(outside)
    model = Path(registry.place) / "m/versions/1/model"
    model.chmod(0o755)
    (model / "link").symlink_to(outside)
    problems, = registry("verify", "m:1", "--json"),
    assert json.loads(problems.stdout)["versions"][0]["problems"] == [
        {"path": "model/link", "problem": "not in the manifest"}]
    old = (time.time() - 90000,) * 2
    for path in (left / "model/link", top):
        os.utime(path, old, follow_symlinks=False)
    for path in (left / "model", left, outside):
        os.utime(path, old)
    registry.ok("rm", "m:1")
    registry.ok("prune")
    assert not list(staging.iterdir())
    assert (outside / "deep/file").read_text() == "x"
    assert [p.stat().st_mode & 0o777 for p in (outside, outside / "deep")] == [0o755, 0o755]


def test_an_upload_from_elsewhere_that_still_grows_is_not_swept(registry, hello):
    """Its own directory changed when it began, its files a moment ago."""
    registry.ok("push", hello, "m")
    left = Path(registry.place) / ".staging/.put-0123456789abcdef-1-1-0123456789abcdef"
    (left / "version/model/deep").mkdir(parents=True)
    (left / "version/model/deep/part").write_text("x")
    for path in (left / "version/model/deep", left / "version/model", left / "version", left):
        os.utime(path, (time.time() - 90000,) * 2)
    assert registry.json("prune")["staging"] == []
    assert left.exists()
    os.utime(left / "version/model/deep/part", (time.time() - 90000,) * 2)
    assert len(registry.json("prune")["staging"]) == 1
    assert not left.exists()


def test_what_another_machine_left_is_swept_after_a_day(registry, hello):
    registry.ok("push", hello, "m")
    staging = Path(registry.place) / ".staging"
    old, young, foreign = (staging / name for name in (
        ".put-0123456789abcdef-1-1-0123456789abcdef", ".put-0123456789abcdef-2-1-0123456789abcdef",
        "not-ours"))
    for path in (old, young, foreign):
        (path / "model").mkdir(parents=True)
        (path / "model/part").write_text("x")
        (path / "model").chmod(0o555)
    for top in (old, foreign):
        for path in (top / "model/part", top / "model", top):
            os.utime(path, (time.time() - 90000,) * 2)
    row, = registry.json("prune", "--dry-run")["staging"]
    assert (row["name"], row["reason"]) == (old.name, "its writer was silent for a day")
    assert old.exists()
    registry.ok("prune")
    assert sorted(p.name for p in staging.iterdir()) == sorted([young.name, foreign.name])


def test_prune_finishes_a_removal_that_was_interrupted(registry, hello):
    """As kill -9 leaves it: hidden, but with its files."""
    registry.ok("push", hello, "m")
    registry.ok("push", hello, "m")
    version = Path(registry.place) / "m/versions/1"
    version.chmod(0o755)
    (version / "MANIFEST.json").rename(version / "REMOVED.json")
    assert registry.versions("m") == [2]
    row = registry.json("prune")["versions"][-1]
    assert (row["version"], row["reason"]) == (1, "its removal was interrupted")
    assert [p.name for p in version.iterdir()] == ["REMOVED.json"]
    assert registry.json("push", hello, "m")["version"] == 3


def test_prune_deletes_no_files_of_a_version_that_is_in_use(registry, hello, tmp_path):
    """Whoever removes it hides it, finds that it is in use, and puts it back: prune comes between."""
    registry.ok("push", hello, "m")
    registry.ok("push", hello, "m")
    version = Path(registry.place) / "m/versions/1"
    write(registry, "m/deployments/web.json", json.dumps({"versions": [1]}), tmp_path)
    version.chmod(0o755)
    (version / "MANIFEST.json").rename(version / "REMOVED.json")
    for dry in (["--dry-run"], []):
        row = registry.json("prune", *dry)["versions"][-1]
        assert (row["version"], row["removed"]) == (1, False) and "in use" in row["reason"]
    (version / "REMOVED.json").rename(version / "MANIFEST.json")
    assert registry.json("verify", "m:1")["versions"][0]["ok"]


def test_a_damaged_model_keeps_prune_from_no_other_one(registry, hello, tmp_path):
    for name in ("a", "b"):
        registry.ok("push", hello, name)
        registry.ok("push", hello, name)
    write(registry, "a/deployments/odd.json", "{}", tmp_path)
    done = registry("prune", "--keep", "1")
    assert done.returncode == 0 and "does not list its versions" in done.stderr, done.stderr
    assert (registry.versions("a"), registry.versions("b")) == ([1, 2], [2])
    registry.fails(70, "prune", "a", says="does not list its versions")


def test_prunes_at_the_same_time_do_not_fail(registry, hello):
    for _ in range(12):
        registry.ok("push", hello, "m")
    prunes = [registry.start("prune", "--keep", "2", stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True) for _ in range(6)]
    says = [p.communicate()[1] for p in prunes]
    assert [p.returncode for p in prunes] == [0] * 6, says
    assert registry.versions("m") == [11, 12]

"""`slider`: Apache Slider's command, with packages of plain scripts, here and on a cluster."""

import json
import re
import shutil
import time
import zipfile

import pytest
from front_support import call, roles
from slider_front import (MINUTE, SHELL_LINE, TEXTS_LINE, _here, shell_files, texts_files,  # noqa: F401
                          write_package, write_shell)
from ydl_cluster.patience import Limit

# The text's own files as it prints them: some braces are missing.
TEXTS_METAINFO = """  "schemaVersion": "2.1",
  "application": {
    "name": "tfyarn",
"""
TEXTS_RESOURCES = """{
 "schema" : "http://example.org/specification/v2.0.0",
 "metadata" : {
},
 "global" : {
 },
 "components": {
  "slider-appmaster": {
  "ps": {
    "yarn.role.priority": "2",
    "yarn.component.instances": "2",
    "yarn.memory": "1024"
  },
  "worker": {
    "yarn.role.priority": "1",
    "yarn.component.instances": "2",
    "yarn.memory": "2056"
  }
}
}
"""


# ---- the text's own application ----

def test_the_texts_command_trains_here(here):
    write_package(here.work / "app-packages" / "tensorflow", texts_files())
    done = here.slider("create", "tfyarn1", *TEXTS_LINE, check=0)
    job = done.stdout.strip()
    assert job.startswith("local-") and "no image is named" in done.stderr
    here.run("ydl", "wait", job, check=0, timeout=MINUTE)
    logs = here.run("ydl", "logs", job, check=0).stdout
    assert sorted(re.findall(r"TRAINS worker \d", logs)) == ["TRAINS worker 0", "TRAINS worker 1"]
    status = json.loads(here.slider("status", "tfyarn1", check=0).stdout)
    assert (status["name"], status["type"], status["state"]) == ("tfyarn1", "tfyarn", 4)
    assert status["info"]["yarn.state"] == "FINISHED" and status["info"]["info.am.app.id"] == job
    assert here.slider("list", check=0).stdout.split()[:3] == ["tfyarn1", "FINISHED", job]


@pytest.mark.parametrize("place", ["local", "yarn"])
def test_its_plan_says_what_would_run(here, place):
    """No cluster has to be there, and nothing is kept."""
    write_package(here.work / "app-packages" / "tensorflow", texts_files())
    here.slider("build", "other", *TEXTS_LINE, check=0)
    plan = json.loads(here.slider("create", "tf1", *TEXTS_LINE, "--on", place, "--json", check=0,
                                  env={"YDL_PLAN": "1", "TMPDIR": str(here.run_dir)}).stdout)
    assert {role["role"]: role["count"] for role in plan["roles"]} == {"ps": 2, "worker": 2}
    assert here.kept() == ["other"] and not list(here.run_dir.iterdir())


def test_unfinished_braces_show_their_place(here):
    package = write_package(here.work / "app-packages" / "tensorflow", texts_files())
    (package / "metainfo.json").write_text(TEXTS_METAINFO)
    done = here.slider("create", "tf1", *TEXTS_LINE, check=2)
    assert done.stderr.splitlines() == [
        "slider: metainfo.json:1:3: '[' or '{' expected near '\"schemaVersion\"'",
        '      "schemaVersion": "2.1",',
        "      ^",
        "  hint: the file must begin with '{'"]
    write_package(here.work / "app-packages" / "tensorflow", texts_files())
    (package / "resources.default.json").write_text(TEXTS_RESOURCES)
    lines = here.slider("create", "tf1", *TEXTS_LINE, check=2).stderr.splitlines()
    assert lines[0] == "slider: resources.default.json:20:2: '}' expected near end of file"
    assert lines[1:3] == ["    }", "     ^"] and "not closed" in lines[3]
    assert here.kept() == []


def test_the_exit_code_of_a_script_is_the_applications(here):
    write_package(here.work / "app-packages" / "tensorflow", texts_files(),
                  trainer="import sys, time\n" "time.sleep(3 if sys.argv[1:] != ['worker', '1'] else 0)\n"
                          "sys.exit(7)\n")
    job = here.slider("create", "tf1", *TEXTS_LINE, "--resopt", "ydl.restart", "never", "-q",
                      check=0).stdout.strip()
    here.run("ydl", "wait", job, check=7, timeout=MINUTE)
    assert "FAILED" in here.slider("list", "tf1", check=0).stdout
    here.slider("exists", "tf1", "--state", "failed", check=0)


# ---- the life of an application ----

def test_an_application_lives_until_it_is_destroyed(here):
    write_shell(here.work / "sh", "echo PORT {$conf:@//site/global/listen} {rank}; sleep 3000")
    job = here.slider("create", "a1", *SHELL_LINE, "--wait", 300, check=0).stdout.strip()
    entries = json.loads(here.slider("exports", "a1", check=0).stdout)["exports"]["server"]["entries"]["url"]
    urls = [entry["value"] for entry in entries]
    assert len(urls) == 2 and all(re.fullmatch(r"http://[0-9.]+:\d+/", url) for url in urls)
    limit = Limit(MINUTE)
    while not all(f"PORT {url.rpartition(':')[2][:-1]} {{rank}}" in (
            logs := here.run("ydl", "logs", job, check=0).stdout) for url in urls):
        assert not limit.over(), logs
    status = json.loads(here.slider("status", "a1", check=0).stdout)
    assert status["state"] == 3 and len(status["instances"]["server"]) == 2
    assert status["liveness"]["allRequestsSatisfied"]
    here.slider("start", "a1", check=73)
    here.slider("create", "a1", *SHELL_LINE, check=75)
    here.slider("destroy", "a1", "--force", check=73)
    here.slider("flex", "a1", "--component", "server", "+1", check=0)
    limit = Limit(MINUTE)
    while len(json.loads(here.slider("exports", "a1", "Server").stdout or "{}").get(
            "entries", {}).get("url", [])) != 3:
        assert not limit.over(), here.slider("status", "a1").stdout
        time.sleep(0.05)
    assert here.slider("list", "--containers", check=0).stdout.count("server:") == 3
    here.slider("stop", "a1", check=0)
    here.slider("stop", "a1", check=0)
    here.slider("exports", "a1", check=70)
    here.slider("exists", "a1", "--live", check=255)
    here.slider("flex", "a1", "--component", "server", "1", check=255)
    shutil.rmtree(here.work / "sh")  # a definition needs nothing else
    again = here.slider("start", "a1", "--wait", 300, "-q", check=0).stdout.strip()
    assert again != job
    assert len(json.loads(here.slider("status", "a1", check=0).stdout)["instances"]["server"]) == 1
    here.slider("stop", "a1", "--force", check=0)
    here.slider("destroy", "a1", check=2)
    here.slider("destroy", "a1", "--force", check=0)
    here.slider("destroy", "a1", "--force", check=0)
    assert here.slider("status", "a1", check=69).stderr.startswith("slider: there is no application 'a1'\n")
    assert here.kept() == []


def test_definitions_are_private_and_as_they_were_written(here):
    files = shell_files("sleep 3000")
    files["resources.json"]["components"]["server"]["a.key.of.mine"] = "kept"
    write_shell(here.work / "sh", "sleep 3000")
    (here.work / "sh" / "resources.json").write_text(json.dumps(files["resources.json"]))
    done = here.slider("build", "b1", *SHELL_LINE, "--env", "SECRET=1", "-O", "site.global.x", "7", "--compopt",
                       "server", "site.global.y", "8", "--component", "server", 3, check=0)
    assert done.stdout == ""
    home = here.state / "ydl" / "slider" / "b1"
    assert sorted(path.name for path in home.iterdir()) == [
        "agent.tar", "app_config.json", "definition.tar", "internal.json", "metainfo.json", "resources.json"]
    assert home.stat().st_mode & 0o777 == 0o750 and all(
        (home / name).stat().st_mode & 0o777 == 0o600 for name in ("internal.json", "app_config.json"))
    server = json.loads((home / "resources.json").read_text())["components"]["server"]
    assert server["a.key.of.mine"] == "kept" and server["yarn.component.instances"] == "3"
    config = json.loads((home / "app_config.json").read_text())
    assert config["global"]["site.global.x"] == "7"
    assert config["components"]["server"] == {"site.global.y": "8"}
    assert here.slider("list", "b1", check=0).stdout.split() == ["b1", "STOPPED"]
    here.slider("list", "--live", "b1", check=255)
    here.slider("update", "b1", "--component", "server", 1, check=0)
    assert json.loads((home / "resources.json").read_text())["components"]["server"][
        "yarn.component.instances"] == "1"
    assert here.slider("registry", "--name", "b1", "--listconf", check=0).stdout == "global\nhdfs-site\n"
    xml = here.slider("registry", "--name", "b1", "--getconf", "hdfs-site", check=0).stdout
    assert "<name>dfs.a</name><value>x &amp; y</value>" in xml
    here.slider("registry", "--name", "b1", "--getconf", "hdfs-site", "--format", "json", "--out", "c.json",
                check=0)
    assert json.loads((here.work / "c.json").read_text()) == {"dfs.a": "x & y"}
    here.slider("registry", "--name", "b1", "--getconf", "nothing", check=44)


def test_a_zip_archive_is_a_package(here):
    package = write_package(here.tmp / "p", texts_files())
    with zipfile.ZipFile(here.work / "tf.zip", "w", zipfile.ZIP_DEFLATED) as pack:
        for path in package.rglob("*"):
            pack.write(path, path.relative_to(package))
    job = here.slider("create", "z1", "--appdef", "tf.zip", "--template", "appConfig-default.json", "--resources",
                      "resources.default.json", "-q", check=0).stdout.strip()
    here.run("ydl", "wait", job, check=0, timeout=MINUTE)
    assert "TRAINS worker 1" in here.run("ydl", "logs", job).stdout
    (here.work / "broken.zip").write_bytes((here.work / "tf.zip").read_bytes()[:-30])
    assert "not a readable zip archive" in here.slider("create", "z2", "--appdef", "broken.zip", "--resources",
                                           "resources.default.json", check=2).stderr


def test_a_create_that_fails_leaves_nothing(here, tmp_path):
    write_package(here.work / "app-packages" / "tensorflow", texts_files())
    empty = tmp_path / "empty"
    empty.mkdir()
    done = here.slider("create", "f1", *TEXTS_LINE, check=2, env={"PATH": str(empty)})
    assert "python3" in done.stderr and here.kept() == []


def test_definitions_of_slider_itself_are_left_alone(here):
    """They are in the same place, but lack what a start needs."""
    write_shell(here.work / "sh", "sleep 3000")
    here.slider("build", "mine", *SHELL_LINE, check=0)
    theirs = here.state / "ydl" / "slider" / "theirs"
    theirs.mkdir()
    (theirs / "resources.json").write_text("{}")
    done = here.slider("list", check=0)
    assert done.stdout.split() == ["mine", "STOPPED"] and "skipping 'theirs'" in done.stderr
    assert "was not made by ydl" in here.slider("start", "theirs", check=70).stderr
    assert here.slider("registry", "--list", check=0).stdout == ""
    here.slider("destroy", "theirs", "--force", check=0)
    assert here.kept() == ["mine"]


def test_the_job_is_shown_in_ydls_own_words(here):
    write_shell(here.work / "sh", "true")
    done = here.slider("create", "v1", *SHELL_LINE, "--env", "AWS_KEY=secret", "-v", check=0,
                       env={"YDL_PLAN": "1"})
    job = json.loads(done.stderr.partition("where JOB is: ")[2].splitlines()[0])
    assert job["framework"] == "slider" and job["roles"]["server"]["command"] == ["sh", "-c", "true"]
    assert "secret" not in done.stderr


def test_queue_label_image_and_gpus_are_those_of_the_job(here):
    write_package(here.work / "app-packages" / "tensorflow", texts_files())

    def plan_of(*words):
        return json.loads(here.slider("create", "p1", *TEXTS_LINE, "--on", "yarn", "--json", *words, check=0,
                                      env={"YDL_PLAN": "1", "TMPDIR": str(here.run_dir)}).stdout)
    plan = plan_of("--queue", "q", "--node-label", "l", "--docker-image", "i", "--rescompopt", "worker",
                   "yarn.io/gpu", 2, "--rescompopt", "ps", "yarn.label.expression", "cpu")
    assert plan["queue"] == "q"
    worker, ps = (roles(plan)[name] for name in ("worker", "ps"))
    assert (worker["gpus"], worker["label"], worker["image"]) == (2, "l", "i")
    assert (ps["gpus"], ps["label"], ps["image"]) == (0, "cpu", "i")
    assert (worker["memory"], ps["memory"]) == (2056 << 20, 1024 << 20)
    assert roles(plan_of("--gpus", 1))["worker"]["gpus"] == 1


# ---- on a cluster ----

def on_yarn(jobs, *words, check=None, env=None, timeout=2 * MINUTE):
    done = call("slider", words, jobs.env() | (env or {}), jobs.work, timeout)
    assert check is None or done.returncode == check, (
        f"slider {words}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{jobs.tell()}")
    return done


def test_an_application_lives_on_a_cluster(jobs, tmp_path):
    write_shell(jobs.work / "sh", "echo HERE; sleep 3000", instances=1)
    done = on_yarn(jobs, "create", "y1", *SHELL_LINE, "--wait", 300, check=0)
    job = done.stdout.strip()
    assert job == jobs.apps()[0] and jobs.cluster.app(job)["name"] == "y1"
    url = json.loads(on_yarn(jobs, "exports", "y1", "server", check=0).stdout)["entries"]["url"][0]
    assert re.fullmatch(r"http://[0-9.]+:\d+/", url["value"])
    row = on_yarn(jobs, "list", "y1", "--live", check=0).stdout.split()
    assert row[:3] == ["y1", "RUNNING", job]
    on_yarn(jobs, "destroy", "y1", "--force", check=73)
    on_yarn(jobs, "stop", "y1", check=0)
    jobs.ended(job)
    # Any machine can start it: nothing of it is here.
    away = tmp_path / "away"
    away.mkdir()
    shutil.rmtree(jobs.work / "sh")
    elsewhere = {"HOME": str(away), "XDG_STATE_HOME": str(away / "state")}
    again = on_yarn(jobs, "start", "y1", "--wait", 300, check=0, env=elsewhere).stdout.strip()
    assert again == jobs.apps()[1]
    on_yarn(jobs, "stop", "y1", "--force", check=0, env=elsewhere)
    on_yarn(jobs, "destroy", "y1", "--force", check=0)
    assert on_yarn(jobs, "list", check=0).stdout == ""


@pytest.mark.full
def test_the_texts_command_trains_on_a_cluster(jobs):
    files = texts_files()
    for name in ("ps", "worker"):
        files["resources.default.json"]["components"][name]["yarn.memory"] = "128"
    write_package(jobs.work / "app-packages" / "tensorflow", files)
    job = on_yarn(jobs, "create", "tfyarn1", *TEXTS_LINE, "-q", check=0).stdout.strip()
    jobs.run("wait", job, check=0)
    assert jobs.ended(job)["finalStatus"] == "SUCCEEDED"
    logs = jobs.run("logs", job, check=0).stdout
    assert sorted(re.findall(r"TRAINS worker \d", logs)) == ["TRAINS worker 0", "TRAINS worker 1"]
    assert on_yarn(jobs, "list", "tfyarn1", check=0).stdout.split()[:2] == ["tfyarn1", "FINISHED"]
    modes = {line.split()[0] for line in jobs.run("fs", "ls", ".slider/cluster/tfyarn1", check=0).stdout.splitlines()
             if "internal.json" in line}
    assert modes == {"-rw-------"}
    on_yarn(jobs, "destroy", "tfyarn1", "--force", check=0)


@pytest.mark.full
def test_a_definition_is_changed_and_scaled_on_a_cluster(jobs):
    write_shell(jobs.work / "sh", "sleep 3000", instances=1)
    on_yarn(jobs, "build", "y2", *SHELL_LINE, check=0)
    on_yarn(jobs, "update", "y2", "--rescompopt", "server", "yarn.memory", "200", check=0)
    job = on_yarn(jobs, "start", "y2", "--wait", 300, "-q", check=0).stdout.strip()
    on_yarn(jobs, "flex", "y2", "--component", "server", "2", check=0)

    def two():
        doc = json.loads(on_yarn(jobs, "status", "y2", check=0).stdout)
        return doc["roles"]["server"]["role.actual.instances"] == 2
    jobs.wait_for(two, "two instances", 60)
    on_yarn(jobs, "stop", "y2", "--force", check=0)
    jobs.ended(job)
    on_yarn(jobs, "destroy", "y2", "--force", check=0)

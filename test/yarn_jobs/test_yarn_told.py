"""What YARN is told of a job: its application, the files that nodes may keep, the command that
starts an agent; and how long it may run."""

import json
import os
import re
import signal
import time
from pathlib import Path

from ydl_cluster import spec as specs, web

RUN = ("run", "--on", "yarn")


def start_here(jobs, *words, **options):
    """A job that says `here` once it runs, and ends when it is interrupted."""
    run = jobs.start(*RUN, *words, **options)
    line = run.stdout.readline()
    assert "here" in line, line + run.stderr.read()
    return run


def settled(jobs, containers, memory, cores):
    """The first job's page, once it has so much: what YARN gave too much of goes back."""
    def page():
        found = jobs.cluster.app(jobs.apps()[0])
        has = [found.get(key) for key in ("runningContainers", "allocatedMB", "allocatedVCores")]
        return found if has == [containers, memory, cores] else None
    return jobs.wait_for(page, f"{containers} containers with {memory} MB, {cores} cores")


def interrupt(run):
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err


# ---- the application ----

def test_an_application_is_what_the_flags_say(jobs):
    (jobs.work / "job.yaml").write_text(json.dumps({
        "master": {"memory": "320m", "cpus": 2}, "acl": {"view": "alice"},
        "command": ["sh", "-c", "echo here; exec sleep 600"]}))
    began = time.monotonic()
    run = start_here(jobs, "-f", "job.yaml", "-n", 1, "--mem", "128m", "--queue", "prod",
                     "--priority", 7, "--tag", "one", "--tag", "two", "--name", "A name: ü",
                     "--timeout", "1h", "--grace", "30s")
    app = jobs.apps()[0]
    page = settled(jobs, 2, 320 + 128, 2 + 1)  # the master's and the task's
    assert (page["name"], page["applicationType"]) == ("A name: ü", "ydl")
    assert (page["queue"].rpartition(".")[2], page["priority"]) == ("prod", 7)
    assert sorted(page["applicationTags"].split(",")) == ["one", "two"]
    assert page["user"] == specs.me()
    # Its own limit comes first, and then it has an hour to save what there is.
    limit = jobs.cluster.rm_page(f"apps/{app}/timeouts/LIFETIME")["timeout"]
    assert 7229 - (time.monotonic() - began) < int(limit["remainingTimeInSeconds"]) <= 7230

    def seen_by(user, check=0):
        """What the ResourceManager tells a user of it."""
        return jobs.run("cluster", "app", "--json", app, user=user, check=check)
    assert app in seen_by("alice").stdout
    assert "does not have privilege to see this application" in seen_by("bob", 1).stderr
    denied = jobs.run("cluster", "kill", app, user="alice")
    assert denied.returncode != 0 and jobs.cluster.app(app)["state"] == "RUNNING", denied.stderr
    interrupt(run)


def test_a_master_costs_the_least_there_is_unless_told(jobs):
    """64 MB, which is also the least that this scheduler gives."""
    run = start_here(jobs, "-n", 1, "--mem", "128m", "--", "sh", "-c", "echo here; exec sleep 600")
    settled(jobs, 2, 64 + 128, 1 + 1)
    interrupt(run)


def test_a_master_has_as_many_lives_as_were_asked_for(jobs):
    run = start_here(jobs, "-n", 1, "--mem", "128m", "--attempts", 1, "--", "sh", "-c",
                     "echo here; exec sleep 600")
    os.kill(max(jobs.processes("ydl-node master")), signal.SIGKILL)
    run.communicate(timeout=60)
    assert run.returncode != 0
    page = jobs.ended()
    assert (page["state"], page["finalStatus"]) == ("FAILED", "FAILED")
    assert "failed 1 times" in page["diagnostics"], page["diagnostics"]
    assert jobs.apps()[0] not in jobs.cluster.hdfs_names(f"/user/{specs.me()}/.ydl/jobs")  # the client tidied up


# ---- files ----

WHERE = """
import os
print(os.environ["YDL_HOST"], os.stat("data.txt").st_ino, os.path.realpath("data.txt"), flush=True)
"""


def test_a_node_keeps_files_for_the_next_job(jobs):
    """They are the user's own: not anybody's, nor of one application."""
    (jobs.work / "data.txt").write_text(f"of this test {time.time_ns()}")
    (jobs.work / "where.py").write_text(WHERE)
    words = (*RUN, "--role", "worker=3,memory=128m,spread=node", "--files", "data.txt", "--no-prefix",
             "--", "python3", "where.py")
    first, second = (sorted(jobs.run(*words, check=0).stdout.splitlines()) for _ in range(2))
    assert first == second and len(first) == 3
    for line, node in zip(first, ("nm1", "nm2", "nm3")):
        assert re.search(rf"/{node}/local/usercache/{specs.me()}/filecache/\d+/", line), first


def test_what_a_job_has_in_hdfs_is_nobody_elses(jobs):
    run = start_here(jobs, "-n", 1, "--mem", "128m", "--", "sh", "-c", "echo here; exec sleep 600")
    app, base = jobs.apps()[0], f"/user/{specs.me()}/.ydl"

    def modes(path):
        url = f"{jobs.cluster.nn_http}/webhdfs/v1{path}?op=LISTSTATUS"
        rows = web.get_json(jobs.cluster.lay, url)["FileStatuses"]["FileStatus"]
        return {row["pathSuffix"]: row["permission"] for row in rows}
    assert [modes(f"{base}/jobs")[app], modes(f"{base}/logs")[app]] == ["700", "700"]
    files = modes(f"{base}/jobs/{app}") | modes(f"{base}/logs/{app}")
    assert [files[name] for name in ("key", "job.json", "spec.json")] == ["600"] * 3
    interrupt(run)


# ---- the command ----

def scripts(jobs, app):
    """What NodeManagers run for containers of an application: {path: text}."""
    found = {}
    for node in jobs.cluster.run_dir.glob("nm*"):
        for directory, _, names in os.walk(node):  # which comes and goes
            path = Path(directory) / "launch_container.sh"
            if app in directory and path.name in names:
                found[path] = path.read_bytes()
    return found


def test_a_launch_script_has_nothing_of_the_users(jobs):
    needle = "nEeDlE"
    odd = [f"{needle} {text}" for text in ("$HOME", "`id`", "'", '"', "line\nline", "$(id)", "\\", "%s",
                                           "{{PWD}}", "<LOG_DIR>", ";", "&&")]
    (jobs.work / "job.yaml").write_text(json.dumps({
        "name": needle, "tags": [needle], "env": {f"{needle}{i}": text for i, text in enumerate(odd)},
        "roles": {needle.lower(): {"count": 1, "memory": "128m", "command": [
            "sh", "-c", "echo here; exec sleep 600", *odd]}}}))
    run = start_here(jobs, "-f", "job.yaml")
    found = scripts(jobs, jobs.apps()[0])
    interrupt(run)
    agents = [text for text in found.values() if b"exec ./ydl-node agent" in text]
    masters = [text for text in found.values() if b"exec ./ydl-node master" in text]
    assert agents and masters
    for path, text in found.items():
        assert needle.lower().encode() not in text.lower(), path
    commands = {line for text in found.values() for line in text.splitlines()
                if b"./ydl-node" in line and not line.startswith((b"ln ", b"export ", b"cp ", b"ls "))}
    assert len(commands) == 2, commands


# ---- time ----

def test_a_job_that_takes_too_long_is_ended_and_says_so(jobs):
    for limit in ("15s", "1m", "4m"):  # so much that all of it runs by then
        done = jobs.run(*RUN, "-n", 2, "--mem", "128m", "--grace", "2m", "--timeout", limit, "--", "sh", "-c",
                        'trap "echo saved; exit 0" TERM; echo here; while :; do sleep 0.1; done',
                        check=124)
        if done.stdout.count("here") == 2:
            break
    assert done.stdout.count("here") == done.stdout.count("saved") == 2
    status = json.loads(jobs.run("status", "--json", jobs.apps()[-1], check=0).stdout)
    assert (status["state"], status["exit"]) == ("FAILED", 124), status
    page = jobs.ended(jobs.apps()[-1])
    assert (page["state"], page["finalStatus"]) == ("FINISHED", "FAILED")
    for text in (done.stderr, status["reason"], page["diagnostics"]):
        assert "the job's time limit was reached" in text


# ---- room ----

def test_a_job_that_does_not_fit_now_says_so_and_waits(jobs):
    """Three nodes with a gigabyte left on each, until the first job is gone."""
    first = start_here(jobs, "--role", "worker=3,memory=7g,spread=node", "--", "sh", "-c",
                       "echo here; exec sleep 600")
    second = jobs.start(*RUN, "-n", 1, "--mem", "2g", "--", "echo", "at last")
    said = second.stderr.readline()
    assert ("needs 2 containers (1 + the master); there is room for 1 now, waiting for 1 more of "
            "'worker' (2 GB") in said, said
    jobs.wait_for(lambda: len(jobs.apps()) == 2 and
                  jobs.cluster.app(jobs.apps()[1]).get("state") == "RUNNING", "its master")
    assert second.poll() is None
    interrupt(first)
    out, err = second.communicate(timeout=60)
    assert (second.returncode, out) == (0, "worker:0│ at last\n"), err

"""`ydl run --on yarn`: the same job as on one machine, on a real cluster."""

import json
import signal
import textwrap

from ydl_cluster import spec as specs, web

SHOW = """
import json, os, sys
print("JSON" + json.dumps({"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(),
                           "files": sorted(os.listdir("."))}), flush=True)
"""


def seen(done):
    """What each task of a job that ran show.py printed."""
    found = {}
    for line in done.stdout.splitlines():
        name, _, text = line.partition("│ ")
        if text.startswith("JSON"):
            found[name] = json.loads(text[4:])
    return found


def test_a_job_runs_and_its_output_comes_back(jobs):
    done = jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "sh", "-c",
                    "echo out $YDL_RANK; echo err $YDL_RANK >&2", check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ out 0", "worker:1│ out 1"]
    assert "worker:0│ err 0" in done.stderr and "worker:1│ err 1" in done.stderr
    app = jobs.ended()
    assert (app["finalStatus"], app["applicationType"]) == ("SUCCEEDED", "ydl")


def test_a_failed_task_gives_its_exit_code_and_the_story_everywhere(jobs):
    done = jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "sh", "-c",
                    'echo before; [ $YDL_RANK = 0 ] || { echo "no such layer" >&2; exit 7; }; '
                    "sleep 600", check=7)
    assert "worker:1" in done.stderr and "no such layer" in done.stderr
    app = jobs.ended()
    assert app["finalStatus"] == "FAILED"
    assert "worker:1" in app["diagnostics"] and "no such layer" in app["diagnostics"]


def test_scripts_and_what_they_need_are_found_at_the_same_place(jobs):
    (jobs.work / "src").mkdir()
    (jobs.work / "data" / "deep").mkdir(parents=True)
    (jobs.work / "src" / "train.py").write_text(textwrap.dedent("""
        import sys, helper, pack.inner
        print("SUM", helper.x + pack.inner.y, open(sys.argv[2]).read(),
              open("data/deep/b").read(), flush=True)
        open("data/new", "w").write("tasks may write beside what was sent")
    """))
    (jobs.work / "src" / "helper.py").write_text("x = 40")
    (jobs.work / "src" / "pack").mkdir()
    (jobs.work / "src" / "pack" / "__init__.py").write_text("")
    (jobs.work / "src" / "pack" / "inner.py").write_text("y = 2")
    (jobs.work / "data" / "a").write_text("A")
    (jobs.work / "data" / "deep" / "b").write_text("B")
    args = ("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "python3", "src/train.py",
            "--data=data", "data/a")
    assert "SUM 42 A B" in jobs.run(*args, check=0).stdout
    (jobs.work / "data" / "deep" / "b").write_text("changed")
    assert "SUM 42 A changed" in jobs.run(*args, check=0).stdout


def test_nothing_that_a_user_writes_is_changed_on_its_way(jobs):
    (jobs.work / "show.py").write_text(SHOW)
    odd = ["a b", "$HOME", "`id`", "\\", "\\\\n", "'", '"', "line\nline", "", "*", "{{PWD}}",
           "<LOG_DIR>", "$(id)", "ü\u2028", "%s", "x" * 100_000]
    env = {f"ODD{i}": text for i, text in enumerate(odd)}
    job = {"roles": {"worker": {"count": 1, "memory": "128m",
                                "command": ["python3", "show.py", *odd], "env": env}}}
    (jobs.work / "job.yaml").write_text(json.dumps(job))
    told = seen(jobs.run("run", "--on", "yarn", "-f", "job.yaml", check=0))["worker:0"]
    assert told["argv"] == odd
    assert {key: told["env"][key] for key in env} == env


def test_a_task_sees_its_own_environment_and_not_yarns(jobs):
    (jobs.work / "show.py").write_text(SHOW)
    told = seen(jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "python3",
                         "show.py", check=0))["worker:0"]
    env = told["env"]
    for leaked in ("MALLOC_ARENA_MAX", "CONTAINER_ID", "NM_HOST", "LOCAL_DIRS", "LOG_DIRS", "PORT"):
        assert leaked not in env
    assert env["YDL_JOB"] == jobs.apps()[0]
    assert env["CUDA_VISIBLE_DEVICES"] == ""
    assert env["HOME"].startswith(told["cwd"]) and env["TMPDIR"].startswith(told["cwd"])


# Everything that a task finds: its environment, its tokens, and all files of its container.
SEARCH = """
import os, sys
def words(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""
top = os.getcwd()
while not os.path.basename(top).startswith("container_"):
    top = os.path.dirname(top)
files = [os.path.join(d, name) for d, _, names in os.walk(top) for name in names]
found = {path: words(path) for path in [*files, os.environ["HADOOP_TOKEN_FILE_LOCATION"]]}
found["environ"] = words("/proc/self/environ")
for path, text in found.items():
    for secret in (b"YARN_AM_RM_" + b"TOKEN", b"ydl." + b"key"):
        if secret in text and os.path.basename(path) not in ("ydl", "ydl-node", "search.py"):
            print("FOUND", secret.decode(), "in", path)
print("LOOKED", len(found), "HDTS" in str(found[os.environ["HADOOP_TOKEN_FILE_LOCATION"]][:8]))
"""


def test_the_launch_command_has_no_user_text_and_tasks_no_secret(jobs):
    (jobs.work / "search.py").write_text(SEARCH)
    done = jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--name", "quiet", "--",
                    "python3", "search.py", "secret-word", check=0)
    looked = next(line for line in done.stdout.splitlines() if "LOOKED" in line).split()
    assert int(looked[-2]) > 2 and looked[-1] == "True", done.stdout
    assert "FOUND" not in done.stdout
    assert "secret-word" not in json.dumps(jobs.cluster.app(jobs.apps()[0]))


def test_ctrl_c_stops_the_job_with_grace(jobs):
    run = jobs.start("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--grace", "2m", "--", "sh",
                     "-c", 'trap "echo saved; exit 0" TERM; echo here; while :; do sleep 0.1; done')
    lines = [run.stdout.readline() for _ in range(2)]
    assert all("here" in line for line in lines)
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and out.count("saved") == 2
    assert jobs.ended()["finalStatus"] in ("KILLED", "FAILED")


def test_a_submitted_job_is_found_by_id_and_by_name(jobs):
    app = jobs.run("submit", "--on", "yarn", "-q", "-n", 1, "--mem", "128m", "--name", "found",
                   "--", "sh", "-c", "echo one; sleep 3; echo two", check=0).stdout.strip()
    assert app.startswith("application_")
    jobs.run("wait", "found", check=0)
    assert jobs.run("logs", app, check=0).stdout.splitlines() == ["worker:0│ one", "worker:0│ two"]
    status = json.loads(jobs.run("status", "--json", "found", check=0).stdout)
    assert status["state"] == "SUCCEEDED" and status["platform"] == "yarn"


def test_many_tasks_are_spread_over_all_nodes(jobs):
    """A node that says nothing for a moment is not waited for, so on a busy machine not every time."""
    tries = []
    for _ in range(8):
        done = jobs.run("run", "--on", "yarn", "-n", 12, "--mem", "64m", "--", "sh", "-c",
                        "echo at $YDL_HOST; sleep 1", check=0)
        hosts = [line.rpartition(" ")[2] for line in done.stdout.splitlines() if "at " in line]
        tries.append(sorted(hosts.count(host) for host in set(hosts)))
        assert sum(tries[-1]) == 12, hosts
        if len(tries[-1]) == len(jobs.cluster.nodes()) and tries[-1][-1] - tries[-1][0] <= 2:
            return
    raise AssertionError(f"tasks on each node, in each of the jobs: {tries}")


def test_a_job_whose_files_cannot_be_written_is_taken_back(jobs):
    """The files are written while YARN is told: when that fails, the application has to go."""
    def dfs_admin(*words):
        jobs.cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", *words)

    args = ("run", "--on", "yarn", "--staging", "/tmp/tight", "-n", 1, "--mem", "64m", "--", "true")
    jobs.run(*args, check=0)
    jobs.ended()
    jobs.wait_for(lambda: not jobs.processes() and not jobs.cluster.hdfs_names("/tmp/tight/jobs"),
                  "the master of the first to have tidied up")
    words = jobs.cluster.fs("-count", "/tmp/tight").stdout.split()
    room_for_directories = int(words[0]) + int(words[1]) + 2
    dfs_admin("-setQuota", str(room_for_directories), "/tmp/tight")
    try:
        done = jobs.run(*args)
        assert done.returncode not in (0, 2) and "quota" in done.stderr, done.stderr
        assert jobs.cluster.hdfs_names("/tmp/tight/jobs") == []
        assert all(jobs.ended(app) for app in jobs.apps())
    finally:
        dfs_admin("-clrQuota", "/tmp/tight")
        jobs.cluster.fs("-rm", "-r", "/tmp/tight")


def test_results_are_in_hdfs_whole_and_once(jobs):
    jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--output", "/tmp/yr-results", "--",
             "sh", "-c", "echo $YDL_RANK > $YDL_OUT/model-$YDL_RANK; echo $YDL_RANK > $YDL_OUT/same",
             check=0)
    names = set(jobs.cluster.hdfs_names("/tmp/yr-results"))
    assert {"model-0", "model-1", "same"} <= names
    assert not [name for name in names if name.startswith((".", "_"))]
    assert jobs.run("fs", "cat", "/tmp/yr-results/model-1", check=0).stdout == "1\n"
    jobs.run("fs", "rm", "-r", "/tmp/yr-results", check=0)


def test_results_have_their_name_when_they_are_whole(jobs):
    """Whoever looks meanwhile sees another name, and no half of a model."""
    size, made, go = 200_000_000, jobs.work / "made", jobs.work / "go"
    run = jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--output", "/tmp/yr-whole/out",
                     "--", "sh", "-c", f"head -c {size} /dev/zero > $YDL_OUT/model; touch {made}; "
                     f"until [ -e {go} ]; do sleep 0.1; done")
    names, sizes = set(), set()
    jobs.wait_for(made.exists, "its results")
    nodes = jobs.cluster.lay.datanodes
    for node in nodes:  # or they could be saved before we have looked
        jobs.cluster.pause(node)
    go.touch()
    try:
        jobs.wait_for(lambda: jobs.cluster.hdfs_names("/tmp/yr-whole"), "the beginning of the results")
    finally:
        for node in nodes:
            jobs.cluster.resume(node)

    def ended():
        over = run.poll() is not None
        names.update(jobs.cluster.hdfs_names("/tmp/yr-whole"))
        url = f"{jobs.cluster.nn_http}/webhdfs/v1/tmp/yr-whole/out?op=LISTSTATUS"
        page = web.get_json(jobs.cluster.lay, url).get("FileStatuses", {})
        sizes.update(row["length"] for row in page.get("FileStatus", []))
        return over
    jobs.wait_for(ended, "the end", 120)
    assert run.communicate() and run.returncode == 0
    app = jobs.apps()[0]
    assert (sizes, names) == ({size}, {"out", f".out.{app}.worker-0"})
    jobs.run("fs", "rm", "-r", "/tmp/yr-whole", check=0)


def test_a_second_submit_uploads_nothing(jobs):
    (jobs.work / "show.py").write_text(SHOW)
    args = ("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "python3", "show.py")
    jobs.run(*args, check=0)
    first = cached(jobs)
    assert {"cache", "ydl-node"} <= {name for _, name in first}, first
    jobs.run(*args, check=0)
    assert cached(jobs) == first


def cached(jobs):
    """The files of the cache, with what the NameNode would change if one were written again, and
    when anything was last made in it, even for a moment: {(place, name): (id, when, bytes)}."""
    base = f"/user/{specs.me()}/.ydl"
    entries = json.loads(jobs.run("cache", "list", "--json", check=0).stdout)["entries"]
    found = {}
    for place in (base, *(f"{base}/cache/{e['hash']}" for e in entries)):
        url = f"{jobs.cluster.nn_http}/webhdfs/v1{place}?op=LISTSTATUS"
        page = jobs.wait_for(lambda: web.get_json(jobs.cluster.lay, url), "the NameNode's page")
        for row in page["FileStatuses"]["FileStatus"]:
            if place != base or row["pathSuffix"] == "cache":
                found[place, row["pathSuffix"]] = (row["fileId"], row["modificationTime"],
                                                   row["length"])
    return found


def test_plan_says_what_would_be_sent_and_starts_nothing(jobs):
    (jobs.work / "show.py").write_text(SHOW)
    plan = jobs.run("plan", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "python3", "show.py",
                    check=0).stdout
    assert "show.py" in plan and "3 containers" in plan
    assert jobs.apps() == []


def test_what_a_command_names_is_sent_up_to_256_mb(jobs):
    words = ("--on", "yarn", "-n", 1, "--mem", "128m")
    with open(jobs.work / "data", "wb") as data:
        data.truncate(256 << 20)
    assert "data" in jobs.run("plan", *words, "--", "wc", "data", check=0).stdout
    (jobs.work / "one").write_bytes(b"1")
    refused = jobs.run("run", *words, "--", "wc", "data", "one", check=2).stderr
    for word in ("exceed 256 MB", "'one'", "--files", "HDFS", "--no-ship"):
        assert word in refused, refused
    jobs.run("plan", *words, "--no-ship", "--", "wc", "data", "one", check=0)
    assert jobs.apps() == []


def test_bad_jobs_are_refused_before_anything_is_written(jobs):
    cases = {
        ("--mem", "900g"): "roles.worker",
        ("--queue", "nosuch"): "queue",
        ("--label", "nosuch"): "label",
        ("--gpus", "1"): "yarn.io/gpu",
        ("--files", "nowhere.txt"): "nowhere.txt",
        ("-n", "10000"): "containers",
    }
    for extra, word in cases.items():
        done = jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", *extra, "--", "true")
        assert done.returncode == 2 and word in done.stderr, (extra, done.stderr)
    assert jobs.apps() == []

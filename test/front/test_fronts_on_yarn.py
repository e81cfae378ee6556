"""The front ends of the dmlc family on a real cluster: the scheduler beside the client, files, a task
that moves, exit codes."""

import re

from front_support import BIN, SHOW, call, seen


def run(jobs, program, *words, check=None, env=None, timeout=120):
    """A front end where `jobs` runs ydl."""
    done = call(program, words, jobs.env() | (env or {}), jobs.work, timeout)
    assert check is None or done.returncode == check, (
        f"{program} {words}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{jobs.tell()}")
    return done


# As SHOW; workers end when they have been at the scheduler's port, so it has said what it sees.
MEET = SHOW.partition("if ")[0] + """
import socket
at, role = (os.environ["DMLC_PS_ROOT_URI"], int(os.environ["DMLC_PS_ROOT_PORT"])), os.environ["DMLC_ROLE"]
if role == "scheduler":
    with socket.create_server(at) as server:
        while True:
            server.accept()
while role == "worker":
    try:
        socket.create_connection(at, 60)
        sys.exit(0)
    except OSError:
        time.sleep(0.05)
time.sleep(1200)
"""


def test_the_scheduler_runs_here_and_the_others_there(jobs):
    (jobs.work / "job.py").write_text(MEET)
    done = run(jobs, "ydl-mx", "yarn", "-n", 2, "-s", 1, "--mem", "128m", "--native", "no", "job.py", "--kv-store",
               "dist_sync", "a b", check=0)
    tasks = seen(done)
    assert {"worker:0", "worker:1", "scheduler:0"} <= set(tasks)
    for name, task in tasks.items():
        env = task["env"]
        assert (env["DMLC_ROLE"], env["DMLC_TASK_ID"]) == tuple(name.split(":"))
        assert env["DMLC_JOB_CLUSTER"] == "yarn" and task["argv"][1:] == ["--kv-store", "dist_sync", "a b"]
        assert re.fullmatch(r"[0-9.]+", env["DMLC_PS_ROOT_URI"]) and re.fullmatch(r"[0-9.]+", env["DMLC_NODE_HOST"])
    roots = {(task["env"]["DMLC_PS_ROOT_URI"], task["env"]["DMLC_PS_ROOT_PORT"]) for task in tasks.values()}
    assert len(roots) == 1
    assert tasks["scheduler:0"]["cwd"] == str(jobs.work)
    assert all(task["cwd"] != str(jobs.work) for name, task in tasks.items() if name != "scheduler:0")
    app = jobs.ended()
    assert (app["finalStatus"], app["name"]) == ("SUCCEEDED", "job")


def test_the_texts_line_of_dmlc_runs_and_its_address_is_told(jobs):
    (jobs.work / "imagenet.py").write_text(SHOW)
    done = run(jobs, "dmlc-yarn.py", "-hip", "127.0.0.77", "-n", 1, "-s", 1, "-mem", 128, "--yarn-scripts",
               "xxx/mxnet/dmlc-core/yarn/", "python3", "imagenet.py", check=0, env={"DMLC_X": "passes"})
    worker = seen(done)["worker:0"]
    assert worker["env"]["DMLC_PS_ROOT_URI"] == "127.0.0.77"
    assert worker["env"]["DMLC_X"] == "passes" and "imagenet.py" in worker["files"]
    assert jobs.ended()["name"] == "DMLC[nworker=1,nsever=1]:python3"


def test_an_address_of_another_machine_is_ignored_with_a_note(jobs):
    """The text of dmlc-core calls it the address of the ResourceManager. And the scheduler here runs the program
    by the path that it has here, whatever it is called in a container."""
    (jobs.work / "job.py").write_text(MEET)
    python = jobs.work.parent / "elsewhere" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nexec python3 "$@"\n')
    python.chmod(0o755)
    done = run(jobs, "dmlc-yarn.py", "-hip", "192.0.2.1", "-n", 1, "-s", 1, "-mem", 128, python, "job.py", check=0)
    assert "note: '192.0.2.1' is not an address of this machine" in done.stderr
    tasks = seen(done)
    assert {"worker:0", "scheduler:0"} <= set(tasks)
    assert tasks["worker:0"]["env"]["DMLC_PS_ROOT_URI"] != "192.0.2.1"


def test_a_task_that_fails_is_tried_on_another_node(jobs):
    (jobs.work / "job.sh").write_text('echo "TRY $DMLC_NUM_ATTEMPT $DMLC_NODE_HOST"; [ $DMLC_NUM_ATTEMPT = 2 ] || exit 5\n')
    done = run(jobs, "dmlc-yarn", "-n", 1, "-mem", 128, "sh", "job.sh", check=0)
    tries = re.findall(r"TRY (\d) (\S+)", done.stdout)
    assert [n for n, _ in tries] == ["0", "1", "2"]
    assert tries[0][1] != tries[1][1]
    events = jobs.run("events", "--on", "yarn", jobs.apps()[0]).stdout
    assert "is avoided from now on" in events
    (jobs.work / "job.sh").write_text("exit 5\n")
    assert run(jobs, "dmlc-yarn", "-n", 1, "-mem", 128, "--max-attempts", 2, "sh", "job.sh").returncode == 5


def test_only_the_node_of_the_task_that_failed_is_avoided(jobs):
    """The others end too, because all start again; that is not their nodes' fault."""
    (jobs.work / "job.sh").write_text("[ $DMLC_NUM_ATTEMPT = 0 ] || exit 0\n"
                                      "[ $DMLC_TASK_ID != 2 ] || { sleep 1; exit 5; }\n"
                                      "trap 'exit 3' TERM; while :; do sleep 0.1; done\n")
    run(jobs, "ydl-mx", "yarn", "-n", 3, "-s", 0, "--mem", "128m", "sh", "job.sh", check=0)
    events = jobs.run("events", "--on", "yarn", jobs.apps()[0]).stdout
    assert events.count("is avoided from now on") == 1, events


def test_archives_of_dmlc_submit_are_unpacked_in_the_container(jobs, tmp_path):
    import zipfile
    with zipfile.ZipFile(jobs.work / "b.zip", "w") as pack:
        pack.writestr("deep/y", "UNPACKED")
    done = run(jobs, "dmlc-submit", "--cluster", "yarn", "--num-workers", 1, "--worker-memory", "128m", "--archives",
               "b.zip", "cat", "deep/y", check=0)
    assert "UNPACKED" in done.stdout


def test_detached_everything_is_in_the_cluster(jobs):
    (jobs.work / "job.py").write_text(SHOW)
    done = run(jobs, "ydl-mx", "yarn", "--detach", "-q", "-n", 1, "--mem", "128m", "--native", "no", "job.py", check=0)
    app = done.stdout.strip()
    assert app.startswith("application_")
    jobs.run("wait", app, check=0)
    assert "JSON" in jobs.run("logs", app, "worker").stdout


def test_with_one_attempt_a_failure_ends_the_job_at_once(jobs):
    (jobs.work / "job.sh").write_text('echo "TRY $DMLC_NUM_ATTEMPT"; [ $DMLC_TASK_ID = 0 ] || exit 7; sleep 120\n')
    done = run(jobs, "ydl-mx", "yarn", "-n", 2, "-s", 0, "--mem", "128m", "--max-attempts", 1, "sh", "job.sh", check=7,
               timeout=100)
    assert "worker:1 on " in done.stderr and "exit code 7" in done.stderr
    assert set(re.findall(r"TRY (\d)", done.stdout)) == {"0"}
    assert jobs.ended()["finalStatus"] == "FAILED"


def test_a_label_chooses_the_nodes(jobs_on, old_cluster):
    jobs = jobs_on(old_cluster)
    done = run(jobs, "ydl-mx", "yarn", "-n", 3, "-s", 0, "--mem", "128m", "--node-label", "gpu", "sh", "-c",
               "echo at $YDL_HOST; sleep 1", check=0)  # so long that all stand at the same time
    assert [jobs.cluster.node_at(host) for host in re.findall(r"at (\S+)", done.stdout)] == ["nm1"] * 3


def test_data_in_hdfs_is_read_where_the_task_is(jobs):
    (jobs.work / "part").write_text("DATA")
    jobs.run("fs", "put", "part", "/tmp/front-data", check=0)
    (jobs.work / "job.py").write_text("import os, subprocess, sys\n"
                                      "subprocess.run([os.environ['READER'], 'fs', 'cat', sys.argv[2]], check=True)\n")
    uri = "hdfs://" + jobs.cluster.lay.address("nn") + "/tmp/front-data"
    done = run(jobs, "ydl-mx", "yarn", "-n", 1, "-s", 0, "--mem", "128m", "--env", f"READER={BIN / 'ydl'}", "--env",
               f"HADOOP_CONF_DIR={jobs.env()['HADOOP_CONF_DIR']}", "job.py", "--data-dir", uri, check=0)
    assert "worker:0│ DATA" in done.stdout
    jobs.run("fs", "rm", "/tmp/front-data", check=0)

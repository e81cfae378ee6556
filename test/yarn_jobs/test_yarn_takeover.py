"""What a job on YARN keeps when its master is replaced, and what long and ended jobs leave."""

import glob
import json
import os
import re
import signal
from pathlib import Path

import pytest
from test_yarn_faults import agent_of
from ydl_cluster.patience import end_if_late

LATE_S = 300
STORE = r"""
import os, socket, sys, time
def ask(line):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["YDL_SOCKET"])
    s.sendall(line.encode() + b"\n")
    return s.makefile().readline().split()
if os.environ["YDL_RANK"] == "0":
    ask("put greeting hello")
    ask("put old x")
    ask("del old")
    for _ in range(3):
        ask("add count 5")
print("ready", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.1)
print("got", *ask("get greeting")[1:], *ask("get count")[1:], *ask("get old"),
      *ask("add count 1")[1:], flush=True)
"""
COUNT = """
import os, sys, time
for i in range(int(sys.argv[1])):
    while i == 30000 and not os.path.exists(sys.argv[2]):
        time.sleep(0.05)
    print(f"{i:031d}", flush=i % 50 == 49)
    if i % 2000 == 1999:
        time.sleep(0.25)
"""
# The last step is for when the test has done its part, however slow it is.
STEPS = """
import os, sys, time
for i in range(int(sys.argv[1])):
    while i == int(sys.argv[1]) - 1 and not os.path.exists(sys.argv[2]):
        time.sleep(0.05)
    print("step", i, os.environ["YDL_ATTEMPT"], flush=True)
    time.sleep(0.2)
"""


def read_until(process, seen, wanted):
    for line in process.stdout:
        seen.append(line.rstrip("\n"))
        if wanted(line):
            return
    raise AssertionError(f"ended: {seen}\n{process.stderr.read()}")


def read_all(process, seen):
    """The rest of it; communicate() would leave out what is in the buffer."""
    end_if_late(process, LATE_S)
    seen += [line.rstrip("\n") for line in process.stdout]
    err = process.stderr.read()
    assert process.wait() == 0, err


def kill_master(jobs):
    pids = sorted(jobs.processes("ydl-node master"))
    os.kill(pids[-1], signal.SIGKILL)
    jobs.wait_for(lambda: (new := sorted(jobs.processes("ydl-node master"))) and new[-1] not in pids,
                  "a new master")


def test_the_store_is_what_it_was(jobs, tmp_path):
    (jobs.work / "store.py").write_text(STORE)
    go = tmp_path / "go"
    run = jobs.start("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "python3", "store.py", go)
    seen = []
    for _ in range(2):
        read_until(run, seen, lambda line: "ready" in line)
    kill_master(jobs)  # at once: what was answered is written down
    go.touch()
    read_all(run, seen)
    got = sorted(line.split("│ ")[1].split() for line in seen if "got" in line)
    assert [(words[1], words[3]) for words in got] == [("hello", "none")] * 2, got
    assert sorted(int(words[4]) for words in got) == [16, 17], got


@pytest.mark.full
def test_who_follows_a_task_that_moved_misses_nothing_after_a_takeover(jobs):
    """Its offsets begin where the other container's ended, for the next master too."""
    (jobs.work / "steps.py").write_text(STEPS)
    go = jobs.work / "go"
    run = jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--restart", "task", "--",
                     "python3", "-u", "steps.py", 120, go)
    seen = []
    read_until(run, seen, lambda line: "step 5 0" in line)
    for pid in jobs.processes("ydl-node agent"):
        os.kill(pid, signal.SIGSTOP)
    read_until(run, seen, lambda line: "step 5 1" in line)
    kill_master(jobs)
    go.touch()
    read_all(run, seen)
    steps = [tuple(map(int, m.groups())) for line in seen
             if (m := re.search(r"step (\d+) (\d+)$", line))]
    assert [n for n, attempt in steps if attempt == 1] == list(range(120))


def test_who_follows_sees_no_line_twice_when_agent_and_master_die(jobs):
    """Two who are new, in a container with files that go on."""
    (jobs.work / "steps.py").write_text(STEPS)
    go = jobs.work / "go"
    run = jobs.start("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--restart", "task", "--",
                     "python3", "-u", "steps.py", 40, go)
    seen = []
    read_until(run, seen, lambda line: "step 5 0" in line)
    agent, master = agent_of(max(jobs.processes("steps.py"))), sorted(jobs.processes("ydl-node master"))[-1]
    for number in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(agent, number)
        os.kill(master, number)
    go.touch()
    read_all(run, seen)
    steps = [tuple(map(int, m.groups())) for line in seen
             if (m := re.search(r"step (\d+) (\d+)$", line))]
    assert len(steps) == len(set(steps)), steps
    assert [n for n, attempt in steps if attempt == steps[-1][1]] == list(range(40))


def test_a_master_that_finds_no_job_ends_the_application(jobs):
    """As after a client that was killed while it submitted. Other attempts would find no more."""
    jobs.run("submit", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "sleep", "600", check=0)
    app = jobs.apps()[0]
    jobs.wait_for(lambda: jobs.processes("sleep 600"), "the task")
    jobs.run("fs", "rm", f".ydl/logs/{app}/job.json", check=0)
    kill_master(jobs)
    ended = jobs.ended()
    assert (ended["state"], ended["finalStatus"]) == ("FINISHED", "FAILED"), ended
    assert "the job's description is not in" in ended["diagnostics"]
    assert "the job's description is not in" in jobs.run("status", app).stdout


def test_a_master_that_finds_a_job_of_a_newer_ydl_ends_the_application(jobs):
    jobs.run("submit", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "sleep", "600", check=0)
    app = jobs.apps()[0]
    jobs.wait_for(lambda: jobs.processes("sleep 600"), "the task")
    kept = f".ydl/logs/{app}/job.json"
    newer = json.loads(jobs.run("fs", "cat", kept, check=0).stdout) | {"format": 99}
    (jobs.work / "job.json").write_text(json.dumps(newer))
    jobs.run("fs", "put", "-f", jobs.work / "job.json", kept, check=0)
    os.kill(max(jobs.processes("ydl-node master")), signal.SIGKILL)
    ended = jobs.ended()
    assert (ended["state"], ended["finalStatus"]) == ("FINISHED", "FAILED"), ended
    assert "version 99 is newer than this ydl understands" in ended["diagnostics"]
    assert jobs.leftovers() == []


def test_staging_that_was_left_is_swept_by_later_commands(jobs):
    jobs.run("run", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "true", check=0)
    app = jobs.ended()["id"]
    left = f".ydl/jobs/{app}"

    def leave():
        jobs.run("fs", "mkdir", "-p", left, check=0)
        jobs.run("fs", "put", "/etc/hostname", f"{left}/key", check=0)

    def is_left():
        return jobs.run("fs", "ls", left).returncode == 0

    jobs.wait_for(lambda: not is_left(), "its master has tidied up")  # after it has said good-bye
    for verb in (["list", "--on", "yarn"],
                 ["submit", "--on", "yarn", "-n", 1, "--mem", "128m", "--", "true"]):
        leave()
        assert is_left()
        jobs.run(*verb, check=0)
        assert not is_left(), verb
    unknown = ".ydl/jobs/application_1700000000000_0001"
    jobs.run("fs", "mkdir", "-p", unknown, check=0)
    jobs.run("list", "--on", "yarn", check=0)
    assert jobs.run("fs", "ls", unknown).returncode == 0  # of another cluster, perhaps
    jobs.run("fs", "rm", "-r", unknown, check=0)
    jobs.run("wait", jobs.apps()[-1], check=0)


def test_top_shows_what_tasks_on_other_machines_use(jobs):
    app = jobs.run("submit", "--on", "yarn", "--name", "busy", "-n", 1, "--mem", "128m", "--",
                   "python3", "-c", "x = bytearray(40 << 20)\nwhile True: pass",
                   check=0).stdout.strip()

    def used():
        rows = json.loads(jobs.run("top", "--json", app, check=0).stdout)["jobs"][0]["tasks"]
        return [row for row in rows if row.get("cpu", 0) > 0.02 and row.get("memory", 0) > 40 << 20]
    jobs.wait_for(used, "what it uses")

    def shown():
        rows = jobs.run("top", "--on", "yarn", check=0).stdout.splitlines()
        return [row for row in rows if app in row and re.search(r" [1-9]\d* % +\d\S*", row)]
    jobs.wait_for(shown, "the same in the table")
    jobs.run("kill", app, check=0)


def test_long_output_is_in_pieces_and_whole_everywhere(jobs, cuts):
    (jobs.work / "count.py").write_text(COUNT)
    (jobs.work / "job.yaml").write_text(
        "name: long\nlog-rotate: 64k\nroles:\n  worker:\n    count: 1\n    memory: 128m\n"
        f"command: [python3, count.py, '40000', {jobs.work / 'go'}]\n")
    run = jobs.start("run", "--on", "yarn", "-f", "job.yaml")
    seen = []
    read_until(run, seen, lambda line: f"{20000:031d}" in line)
    app = jobs.apps()[0]
    logs = jobs.cluster.run_dir / "*" / "logs" / app / "container_*" / "worker-0.stdout.*"
    jobs.wait_for(lambda: {"1", "2"} <= {path.rpartition(".")[2] for path in glob.glob(str(logs))},
                  "pieces in YARN's directory")
    now = jobs.run("logs", "--no-prefix", app, check=0).stdout.splitlines()
    assert [int(line) for line in now] == list(range(len(now))) and len(now) >= 20000
    kill_master(jobs)
    (jobs.work / "go").touch()
    read_all(run, seen)
    numbers = [int(line.split("│ ")[1]) for line in seen if "│" in line]
    assert numbers == list(range(40000))
    after = jobs.run("logs", "--no-prefix", app, check=0).stdout.splitlines()
    assert [int(line) for line in after] == list(range(40000))


MANY = r"""
import os, sys
for i in range(int(sys.argv[1])):
    with open(f"{os.environ['YDL_OUT']}/{os.environ['YDL_RANK']}-{i}", "w") as f:
        f.write(str(i))
"""


def killed_while_saving(jobs, files):
    """The id of a job whose master was killed while its results were being saved; None: they were saved
    before."""
    app = jobs.run("submit", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "python3", "many.py",
                   files, check=0).stdout.strip()
    log = f".ydl/logs/{app}/events-1.jsonl"
    jobs.wait_for(lambda: '"state":"SUCCEEDED"' in jobs.run("fs", "cat", log).stdout, "its end", LATE_S)
    for pid in sorted(jobs.cluster.processes(app), reverse=True):
        if b"ydl-node\0master" in cmdline(pid):
            os.kill(pid, signal.SIGSTOP)
            if jobs.cluster.app(app)["state"] == "RUNNING":  # it had not said good-bye
                os.kill(pid, signal.SIGKILL)
                return app
            os.kill(pid, signal.SIGCONT)
    jobs.run("wait", app, check=0)
    return None


def cmdline(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""


def test_results_that_are_being_saved_are_saved_under_the_next_master(jobs):
    """Its agents do not look for it, and it does not take their containers away."""
    (jobs.work / "many.py").write_text(MANY)
    app, files = next((app, files) for files in (800, 1600, 3200, 6400)
                      if (app := killed_while_saving(jobs, files)))
    jobs.run("wait", app, check=0, timeout=LATE_S)
    found = jobs.run("fs", "ls", "-R", f".ydl/out/{app}", check=0).stdout.split()
    assert sum(bool(re.search(r"/[01]-\d+$", name)) for name in found) == 2 * files
    assert "could not be saved" not in jobs.run("events", app, check=0).stdout

"""`ydl run` and `submit`: output, exit codes, mistakes, and what happens to who goes away."""

import json
import os
import re
import signal
import time

import pytest

ID = r"local-\d{8}-\d{6}-[0-9a-f]+"


def test_lines_carry_their_task_and_keep_their_stream(jobs):
    script = jobs.script("say", 'echo "out of $YDL_RANK"; echo "err of $YDL_RANK" >&2\n')
    done = jobs("run", "-n", "2", "--", script)
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["worker:0│ out of 0", "worker:1│ out of 1"]
    lines = done.stderr.splitlines()
    assert re.fullmatch(rf"ydl: {ID} on this machine: 2 workers", lines[0])
    assert sorted(lines[1:3]) == ["worker:0│ err of 0", "worker:1│ err of 1"]
    assert re.fullmatch(rf"ydl: job 'say' \({ID}\) succeeded in \d+ ms|.* s", lines[3])
    assert len(lines) == 4


def test_a_quiet_run_prints_what_tasks_print(jobs):
    done = jobs("run", "-q", "--", "echo", "hi")
    assert (done.returncode, done.stdout, done.stderr) == (0, "worker:0│ hi\n", "")


def test_options_end_at_the_command(jobs):
    assert jobs.ok("run", "-q", "echo", "-n", "--json") == "worker:0│ --json\n"


@pytest.mark.parametrize("end,code,words", [
    ("exit 3", 3, "exit code 3"), ("kill -9 $$", 137, "SIGKILL"), ("kill -SEGV $$", 139, "SIGSEGV"),
])
def test_a_failed_job_gives_its_tasks_code_and_story(jobs, end, code, words):
    script = jobs.script("fail", f'[ $YDL_RANK = 1 ] || exec sleep 600\necho last words\n{end}\n')
    done = jobs("run", "-n", "2", "--", script)
    assert done.returncode == code
    first = re.search(rf"^ydl: job 'fail' \(({ID})\) failed: worker:1.*{words}.*$", done.stderr,
                      re.MULTILINE)
    assert first, done.stderr
    assert "\n    last words\n" in done.stderr
    assert f"\n  logs: ydl logs {first.group(1)} worker:1 (files in " in done.stderr
    assert f"\n  next: ydl status {first.group(1)} --tasks" in done.stderr


def test_a_quiet_failure_is_still_told(jobs):
    done = jobs("run", "-q", "--", "sh", "-c", "exit 4")
    assert done.returncode == 4 and done.stdout == ""
    assert done.stderr.startswith("ydl: job 'sh' (") and "exit code 4" in done.stderr


def test_json_is_one_object_a_line(jobs):
    script = jobs.script("say", "printf 'a\\377b\\n'; echo e >&2; printf end; exit 2\n")
    done = jobs("run", "--json", "--", script)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    output = [line["output"] for line in lines if "output" in line]
    assert done.returncode == 2
    assert {(o["stream"], o["text"], o["whole"]) for o in output} == {
        ("out", "a\ufffdb", True), ("err", "e", True), ("out", "end", False)}
    job = lines[-1]["job"]
    assert job["state"] == "FAILED" and job["exit"] == 2 and job["whose"] == "worker:0"
    assert job["story"]["task"] == "worker:0" and job["story"]["code"] == 2


def test_timestamps_begin_the_lines(jobs):
    done = jobs.ok("run", "-q", "--timestamps", "--", "echo", "hi")
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} worker:0│ hi\n", done)


def test_the_same_line_from_many_tasks_comes_once(jobs):
    script = jobs.script("same", 'touch $YDL_JOB.$YDL_RANK\n'
                                 'until [ $(ls $YDL_JOB.? | wc -l) = 4 ]; do sleep 0.01; done\n'
                                 'echo same\nsleep 0.5\n[ $YDL_RANK != 2 ] || echo own\n')
    # A line waits a fifth of a second for the others, in which a busy machine may not let them run.
    jobs.until(lambda: jobs.ok("run", "-q", "-n", "4", "--collapse", "--", script).splitlines() ==
               ["worker:0-3│ same", "worker:2│ own"])


def test_a_line_without_an_end_is_shown(jobs):
    script = jobs.script("part", "printf 'no end'\nsleep 2\nprintf ' but more'\n")
    with jobs.start("run", "-q", "--", script) as run:
        assert run.stdout.read(len("worker:0│ no end")) == "worker:0│ no end"
        assert run.stdout.read() == " but more\n"
        assert run.wait() == 0


def test_ten_megabytes_without_a_newline(jobs):
    script = jobs.script("big", "head -c 10000000 /dev/zero | tr '\\0' x\n")
    done = jobs.ok("run", "-q", "--", script)
    assert len(done) == 10000000 + len("worker:0│ ") + 1 and done.endswith("x\n")


# ---- mistakes ----

MISTAKES = [
    (["--", "nothing-of-that-name"], ["there is no program 'nothing-of-that-name' in PATH"]),
    (["--", "python3", "tarin.py"], ["there is no script 'tarin.py'"]),
    (["--mem", "900t", "--", "true"], ["more than this machine has"]),
    (["--gpus", "1000", "--", "true"], ["more than this machine has"]),
    (["-n", "-3", "--", "true"], ["workers"]),
    (["--framework", "mxnt", "--", "true"], ["mxnt", "mxnet"]),
    (["-n", "x", "--mem", "y", "--grace", "z", "--", "./gone"],
     ["workers", "mem", "grace", "there is no program './gone'"]),
    (["-f", "none.yaml"], ["none.yaml"]),
    ([], ["Nothing to run"]),
]


@pytest.mark.parametrize("words,says", MISTAKES, ids=lambda v: " ".join(v))
@pytest.mark.parametrize("verb", ["run", "submit", "plan"])
def test_mistakes_are_told_all_at_once_and_nothing_is_written(jobs, verb, words, says):
    done = jobs(verb, *words)
    assert done.returncode == 2 and done.stdout == ""
    for text in says:
        assert text in done.stderr, text
    assert all(line.startswith(("ydl: ", "  hint: ")) for line in done.stderr.splitlines())
    assert not (jobs.dir / "state").exists() and not list(jobs.work.iterdir())


def test_mistakes_in_a_file_have_lines(jobs):
    (jobs.work / "job.yaml").write_text("name: x\nroles:\n  worker: {count: 2, memroy: 1g}\n"
                                        "grace: soon\ncommand: tru\n")
    done = jobs("run", "--json", "-f", "job.yaml")
    faults = json.loads(done.stdout)["error"]["faults"]
    assert done.returncode == 2 and len(faults) == 3
    assert "job.yaml:3: " in faults[0] and "did you mean 'memory'" in faults[0]
    assert "job.yaml:4: " in faults[1] and "'tru'" in faults[2]
    assert [f"ydl: {fault}" for fault in faults] == done.stderr.splitlines()


def test_a_file_and_options_make_the_job(jobs):
    (jobs.work / "job.yaml").write_text("name: mine\nroles: {worker: 1}\nenv: {A: file, B: file}\n"
                                        "command: [sh, -c, 'echo $A $B']\n")
    done = jobs("run", "-f", "job.yaml", "-n", "2", "--env", "A=option")
    assert sorted(done.stdout.splitlines()) == [f"worker:{i}│ option file" for i in range(2)]
    assert "job 'mine'" in done.stderr


def test_yarn_needs_a_configuration(jobs):
    env = {"HADOOP_CONF_DIR": "", "YARN_CONF_DIR": "", "HADOOP_HOME": ""}
    for done in (jobs("run", "--on", "yarn", "true", env=env),
                 jobs("submit", "true", env=env | {"YDL_ON": "yarn"}),
                 jobs("status", "application_1_0001", env=env),
                 jobs("list", "--on", "yarn", env=env)):
        assert done.returncode == 2 and "no Hadoop configuration" in done.stderr, done


@pytest.mark.parametrize("verb", ["run", "submit", "plan"])
def test_a_plan_says_it_and_does_nothing(jobs, verb):
    env = {} if verb == "plan" else {"YDL_PLAN": "1"}
    done = jobs(verb, "-n", "2", "--env", "A=b", "--", "echo", "hi", env=env)
    assert done.returncode == 0 and done.stderr == ""
    assert "echo hi" in done.stdout and "A=b" in done.stdout and "worker:1" in done.stdout
    plan = json.loads(jobs(verb, "-n", "2", "--json", "--", "echo", "hi", env=env).stdout)
    assert [t["argv"] for t in plan["roles"][0]["tasks"]] == [["echo", "hi"]] * 2
    assert not (jobs.dir / "state").exists()


# ---- who goes away ----

def test_a_reader_that_leaves_ends_the_job(jobs):
    with jobs.start("run", "-q", "--grace", "1s", "--", "sh", "-c", "while :; do echo y; done") as run:
        assert run.stdout.readline() == "worker:0│ y\n"
        run.stdout.close()
        assert run.wait(timeout=50) == 141
        assert run.stderr.read() == ""
    jobs.until(lambda: not jobs.processes())


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_job(jobs, signum):
    script = jobs.script("trap", 'trap "echo saved; exit 0" TERM\necho up\nwhile :; do sleep 0.1; done\n')
    with jobs.start("run", "--", script) as run:
        assert run.stdout.readline() == "worker:0│ up\n"
        run.send_signal(signum)
        assert run.stdout.read() == "worker:0│ saved\n"
        assert run.wait(timeout=50) == 130
        assert "ydl: stopping the job; press Ctrl-C again to kill it now\n" in run.stderr.read()


def test_a_second_signal_kills_it(jobs):
    script = jobs.script("deaf", 'trap "echo no" TERM\necho up\nwhile :; do sleep 0.1; done\n')
    with jobs.start("run", "--grace", "1h", "--", script) as run:
        assert run.stdout.readline() == "worker:0│ up\n"
        run.send_signal(signal.SIGINT)
        assert run.stdout.readline() == "worker:0│ no\n"
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=50) == 130
        assert "ydl: killing the job" in run.stderr.read()


def test_kill_9_of_the_client_ends_the_job(jobs):
    with jobs.start("run", "-q", "--grace", "1s", "--", "sleep", "1000") as run:
        job = jobs.until(lambda: jobs.json("list", "--running")["jobs"])[0]["job"]
        jobs.running(job)
        run.kill()
    jobs.until(lambda: not jobs.processes(), "the job goes on")


def test_a_detached_job_goes_on(jobs):
    with jobs.start("run", "--detach-on-interrupt", "--", "sleep", "1000") as run:
        job = jobs.until(lambda: jobs.json("list", "--running")["jobs"])[0]["job"]
        jobs.running(job)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=50) == 130
        assert f"ydl: {job} goes on. Follow it: ydl logs -f {job}." in run.stderr.read()
    assert jobs.json("status", job)["state"] == "RUNNING"


def test_a_killed_master_is_told(jobs):
    with jobs.start("run", "--", "sleep", "1000") as run:
        job = jobs.until(lambda: jobs.json("list", "--running")["jobs"])[0]
        jobs.running(job["job"])
        master = next(p for p in jobs.processes() if "\0master\0" in p)
        os.kill(int(master.split()[0]), signal.SIGKILL)
        assert run.wait(timeout=50) == 70
        assert "failed: its master was killed (exit code 70)" in run.stderr.read()
    status = jobs.json("status", job["job"])
    assert status["state"] == "FAILED" and status["exit"] == 70 and status["lost"]


def test_a_stopped_reader_does_not_stop_the_job(jobs):
    script = jobs.script("loud", "head -c 4000000 /dev/zero | tr '\\0' '\\n'\ntouch done\n")
    with jobs.start("run", "-q", "--", script) as run:
        jobs.until((jobs.work / "done").exists, "the task waits for the reader")
        assert len(run.stdout.read()) == 4000000 * len("worker:0│\n")
        assert run.wait(timeout=50) == 0


# ---- submit ----

def test_submit_prints_the_id_and_leaves(jobs):
    done = jobs("submit", "--", "sleep", "1000")
    job = done.stdout.strip()
    assert done.returncode == 0 and re.fullmatch(ID, job)
    assert done.stderr == f"ydl: {job} on this machine: 1 worker\n"
    assert jobs.running(job)["name"] == "sleep"
    fact = jobs.json("submit", "--", "true")
    assert re.fullmatch(ID, fact["job"]) and os.path.isdir(fact["path"])


def test_submit_can_wait(jobs):
    done = jobs("submit", "--wait", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5 and re.fullmatch(ID + "\n", done.stdout)
    assert "exit code 5" in done.stderr


def test_run_finds_its_own_way_back(jobs):
    """Two at once do not disturb each other."""
    runs = [jobs.start("run", "-q", "-n", "2", "--", "sh", "-c", f"echo {i}; exit {i}")
            for i in range(5)]
    for i, run in enumerate(runs):
        out, _ = run.communicate(timeout=50)
        assert run.returncode == i
        assert set(out.split("\n")) <= {f"worker:0│ {i}", f"worker:1│ {i}", ""}


def test_who_cannot_write_can_still_leave(jobs):
    """Nobody reads: three signals stop the job, kill it, and give up the output."""
    with jobs.start("run", "--grace", "1h", "--", "yes") as run:
        job = jobs.until(lambda: jobs.json("list", "--running")["jobs"])[0]["job"]
        jobs.running(job)
        log = jobs.dir / "state" / "ydl" / "jobs" / job / "logs" / "worker-0.out"
        jobs.until(lambda: log.stat().st_size > 4000000)
        def leaving():
            """Signals that come together are one; a fourth finds nobody."""
            if run.poll() is None:
                run.send_signal(signal.SIGINT)
                time.sleep(0.3)
            return run.poll() is not None
        jobs.until(leaving)
        assert run.returncode == 130
    jobs.until(lambda: not jobs.processes())

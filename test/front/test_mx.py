"""`ydl-mx`: MXNetOnYARN's command, in all its forms."""

import json
import os
import re
import signal
import subprocess

import pytest
from front_support import BIN, SHOW, counts, offers, roles, seen, tasks

FORMS = [  # the words of its texts, and of its scripts
    (["yarn", "-n", "2", "job.py"], (2, 2)),
    (["yarn", "-n", "2", "-s", "1", "job.py", "--kv-store", "dist_sync", "--data-dir", "D"], (2, 1)),
    (["yarn", "job.py", "--kv-store", "dist_sync"], (2, 2)),
    (["--n", "2", "--s", "1", "--jobname", "mnist", "--jar", "ydl-mx.jar", "job.py"], (2, 1)),
    (["3", "job.py", "--lr", "1"], (3, 3)),
]


@pytest.mark.parametrize("words,wanted", FORMS, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_every_form_of_the_texts_makes_a_plan_for_yarn(fronts, words, wanted):
    fronts.write("job.py", SHOW)
    plan = fronts.plan("ydl-mx", *words)
    assert counts(plan) == {"worker": wanted[0], "server": wanted[1], "scheduler": 1}
    assert (plan["framework"], plan["checked"]) == ("mxnet", False)
    assert roles(plan)["scheduler"]["place"] == "client"
    assert roles(plan)["worker"]["memory"] == 1 << 30 and roles(plan)["worker"]["cpus"] == 1
    assert roles(plan)["worker"]["restart"] == {"policy": "gang", "max": 2, "window_ms": 3600000}
    after = words[words.index("job.py"):]
    assert tasks(plan)["worker:0"]["argv"] == ["python3", *after]
    assert [row["to"] for row in plan["ship"]] == ["job.py"]


def test_a_job_runs_here_with_every_word_of_its_own(fronts):
    fronts.write("job.py", SHOW)
    own = ["--lr", "0.1", "-n", "9", "--gpus", "0,1", "--help", "a b", "--", "$HOME", ""]
    done = fronts.run("ydl-mx", "local", "-n", "2", "-s", "1", "--native", "no", "job.py", *own, check=0)
    all_ = seen(done)
    assert {"worker:0", "worker:1"} <= set(all_) <= {"worker:0", "worker:1", "server:0", "scheduler:0"}
    for name, task in all_.items():
        env = task["env"]
        assert task["argv"] == ["job.py", *own]
        assert (env["DMLC_NUM_WORKER"], env["DMLC_NUM_SERVER"]) == ("2", "1")
        assert (env["DMLC_ROLE"], env["DMLC_TASK_ID"]) == tuple(name.split(":"))
        assert env["DMLC_JOB_CLUSTER"] == "local" and env["DMLC_NUM_ATTEMPT"] == "0"
        assert re.fullmatch(r"[0-9.]+", env["DMLC_PS_ROOT_URI"]) and env["DMLC_PS_ROOT_PORT"].isdigit()
        assert re.fullmatch(r"[0-9.]+", env["DMLC_NODE_HOST"]) and "PORT" not in env


def test_a_failure_is_the_commands_exit_status(fronts):
    fronts.write("job.py", "import os, sys, time\n"
                           "sys.exit(7) if os.environ['DMLC_TASK_ID'] == '1' and "
                           "os.environ['DMLC_ROLE'] == 'worker' else time.sleep(600)")
    done = fronts.run("ydl-mx", "local", "-n", "2", "-s", "1", "--native", "no", "job.py", check=7)
    assert "worker:1" in done.stderr and "exit code 7" in done.stderr


def test_any_program_is_a_job(fronts):
    script = fronts.write("train", "#!/bin/sh\necho $DMLC_ROLE $1\n[ $DMLC_ROLE = worker ] || sleep 600\n")
    script.chmod(0o755)
    done = fronts.run("ydl-mx", "local", "-n", "1", "--native", "no", "train", "x", check=0)
    assert "worker x" in done.stdout
    fronts.write("a.jar", "")  # what becomes of it is in test_programs.py
    assert tasks(fronts.plan("ydl-mx", "yarn", "a.jar", "x"))["worker:0"]["argv"] == ["java", "-jar", "a.jar", "x"]
    assert tasks(fronts.plan("ydl-mx", "yarn", "python", "-u", "train"))["worker:0"]["argv"] == ["python", "-u", "train"]


def test_what_it_leaves_is_published(fronts):
    """As `ydl run --publish` does; the same options for all front ends."""
    handler = r"def load(dir):\n    pass\n\ndef predict(inputs):\n    return inputs\n"
    fronts.write("train", f"#!/bin/sh\n[ $DMLC_ROLE = worker ] || sleep 600\nmkdir $YDL_OUT/model\n"
                          f"printf '{handler}' > $YDL_OUT/model/model.py\n").chmod(0o755)
    done = fronts.run("ydl-mx", "local", "-n", "1", "-s", "1", "--native", "no", "--publish", "echo", "--publish-path",
                      "model", "--registry", fronts.work / "models", "./train", check=0)
    assert "published echo:1" in done.stderr, done.stderr
    assert (fronts.work / "models" / "echo" / "versions" / "1" / "MANIFEST.json").exists()


def test_the_environments_python_comes_first(fronts):
    fronts.write("job.py", "import sys; print('AT', sys.argv[0])")
    python = fronts.write("env/bin/python", "#!/bin/sh\necho MINE $1\n")
    python.chmod(0o755)
    fronts.write("env/pyvenv.cfg", "")
    done = fronts.run("ydl-mx", "local", "-n", "1", "-s", "0", "--venv", "env", "job.py", check=0)
    assert "MINE job.py" in done.stdout


def test_a_store_of_one_process_is_warned_of_and_left_alone(fronts):
    fronts.write("job.py", SHOW)
    plan = fronts.plan("ydl-mx", "yarn", "-n", "2", "-s", "1", "job.py", "--kv-store", "sync", "--data-dir", "D")
    assert "dist_sync" in plan["notes"]
    assert tasks(plan)["worker:0"]["argv"][2:4] == ["--kv-store", "sync"]
    assert fronts.plan("ydl-mx", "-q", "yarn", "job.py", "--kv-store", "sync")["notes"] == ""


def test_detached_the_scheduler_is_in_the_cluster(fronts):
    fronts.write("job.py", SHOW)
    plan = fronts.plan("ydl-mx", "yarn", "--detach", "job.py")
    assert roles(plan)["scheduler"]["place"] == "cluster"
    assert roles(fronts.plan("ydl-mx", "yarn", "--scheduler", "cluster", "job.py"))["scheduler"]["place"] == "cluster"


def test_detached_a_job_here_is_left_to_itself(fronts):
    fronts.write("job.py", "import time; time.sleep(0.2); print('LATE', flush=True)")
    done = fronts.run("ydl-mx", "local", "--detach", "-q", "-n", "1", "-s", "0", "job.py", check=0)
    job = done.stdout.strip()
    assert job.startswith("local-")
    fronts.run("ydl", "wait", job, check=0)
    assert "LATE" in fronts.run("ydl", "logs", job, check=0).stdout


def test_ctrl_c_ends_everything(fronts):
    fronts.write("job.py", "import time; print('UP', flush=True); time.sleep(600)")
    running = subprocess.Popen([BIN / "ydl-mx", "local", "-n", "2", "--native", "no", "job.py"], env=fronts.env,
                               cwd=fronts.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert "UP" in running.stdout.readline()
    os.kill(running.pid, signal.SIGINT)
    running.communicate(timeout=50)
    assert running.returncode == 130


def test_the_same_command_is_shown_in_ydls_own_words(fronts):
    fronts.write("job.py", SHOW)
    done = fronts.run("ydl-mx", "-v", "local", "-n", "1", "-s", "0", "job.py", "a b", check=0,
                      env={"AWS_SECRET_ACCESS_KEY": "hush", "YDL_PLAN": "1"})
    line = next(row for row in done.stderr.splitlines() if "equivalent command: " in row)
    same = line.partition("equivalent command: ydl ")[2]
    assert same.startswith("run --verbose --on local --framework mxnet --role worker=1 ")
    assert same.endswith(" -- python3 job.py 'a b'")
    assert "hush" not in done.stderr
    told = subprocess.run(f"ydl {same}", shell=True, env=fronts.env | {"YDL_PLAN": "1"}, cwd=fronts.work,
                          capture_output=True, text=True, check=True).stdout
    assert [x for x in told.splitlines() if "AWS" not in x] == [
        x for x in done.stdout.splitlines() if "AWS" not in x]


WRONG = [
    ([], "a job is missing"),
    (["yarn"], "a job is missing"),
    (["yarn", "-n", "0", "job.py"], "option '--num-workers': 0 is less than the minimum, 1"),
    (["0", "job.py"], "number of workers '0' is out of range"),
    (["yarn", "--worker", "2", "job.py"], "unknown option '--worker'"),
    (["yarn", "--queu", "2", "job.py"], "unknown option '--queu'; did you mean '--queue'?"),
    (["yarn", "nothing.py"], "there is no job 'nothing.py'"),
    (["local", "nothing"], "command: there is no program 'nothing' in PATH"),
    (["local", "--gpus", "many", "job.py"], "option '--gpus': 'many' is not a whole number"),
    (["local", "--env", "A", "job.py"], "--env: expected NAME=VALUE, found 'A'"),
    (["yarn", "serve", "job.py"], "'serve' must be the first word"),
]


@pytest.mark.parametrize("words,text", WRONG, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_wrong_use_gets_a_sentence_and_exit_2(fronts, words, text):
    fronts.write("job.py", SHOW)
    assert fronts.wrong("ydl-mx", *words) == text


def test_wrong_use_is_json_too(fronts):
    done = fronts.run("ydl-mx", "--json", "yarn", "nothing.py", check=2)
    assert json.loads(done.stdout)["error"]["code"] == "USAGE"


PAGES = {  # how its usage begins, a beginning of an option, and what it may be
    "ydl-mx": ("ydl-mx VERB [OPTION…] [OPERAND…]\n       ydl-mx [OPTION…] JOB", "--sched", "--scheduler"),
    "dmlc-yarn": ("dmlc-yarn [OPTION…] ", "--sched", "--scheduler"),
    "dmlc-yarn.py": ("dmlc-yarn [OPTION…] ", "--sched", "--scheduler"),
    "dmlc_yarn.py": ("dmlc-yarn [OPTION…] ", "--sched", "--scheduler"),
    "dmlc-submit": ("dmlc-submit [OPTION…] ", "--sched", "--scheduler"),
    "ydl-launch": ("ydl-launch [OPTION…] ", "--sched", "--scheduler"),
    "ydl-tf": ("ydl-tf VERB [OPTION…] [OPERAND…]\n       ydl-tf [OPTION…] [-- WORD…]\n",
               "-number", "-numberworkers -numberps"),
}


@pytest.mark.parametrize("program", PAGES)
def test_each_has_help_a_manual_page_and_completions(fronts, program):
    usage, begun, whole = PAGES[program]
    name = "dmlc-yarn" if program.endswith(".py") else program
    page = fronts.run(program, "--help", check=0).stdout
    assert page.startswith(f"usage: {usage}") and max(map(len, page.splitlines())) <= 80
    assert fronts.run(program, "help", check=0).stdout == page
    assert fronts.run(program, "--version", check=0).stdout.startswith(f"{program} ")
    fronts.run("ydl", "help", "--man-dir", "man", check=0)
    text = (fronts.work / "man" / f"{name}.1").read_text()
    assert ".Sh SYNOPSIS" in text and "docker" in text
    for shell in ("bash", "zsh", "fish"):
        assert offers(fronts, shell, f"{program} {begun}") == set(whole.split())
        if shell != "zsh" and whole == "--scheduler":
            assert offers(fronts, shell, f"{program} {whole} cl") == {"client", "cluster"}

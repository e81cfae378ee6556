"""What jobs of one machine share: GPUs and memory that were asked for; and time."""

import json
import os
import re
import signal
import time

import pytest


def _waiting(local, job):
    return json.loads(local.run("status", "--json", job, check=0).stdout).get("waiting") or ""


def test_without_gpus_a_task_sees_none(local):
    done = local.run("run", "-n", "1", "--", "sh", "-c", "echo \"<$CUDA_VISIBLE_DEVICES>\"", check=0,
                     env={"CUDA_VISIBLE_DEVICES": "0,1", "YDL_GPUS": "4"})
    assert done.stdout.decode() == "worker:0│ <>\n"


def test_two_jobs_never_share_a_gpu(local, gpus_alone):
    gpus = {"YDL_GPUS": "64"}
    hold = ("run", "-n", "2", "--gpus", "16", "--", "sh", "-c",
            "echo $CUDA_VISIBLE_DEVICES > seen.$YDL_JOB.$YDL_RANK; while [ ! -e finish ]; do sleep 0.05; done")
    jobs = [local.start(*hold, env=gpus) for _ in range(2)]
    local.wait_for(lambda: len([p for p in local.work.glob("seen.*") if p.read_text()]) == 4,
                   "both jobs run")
    seen = [set(p.read_text().strip().split(",")) for p in local.work.glob("seen.*")]
    assert all(len(s) == 16 for s in seen)
    assert len(set.union(*seen)) == 64
    # All are taken: a third job waits, and says for what.
    local.run("submit", "--name", "third", "-n", "1", "--gpus", "1", "--", "true", check=0, env=gpus)
    local.wait_for(lambda: "GPU" in _events(local, "third"), "the third says what it waits for")
    (local.work / "finish").touch()
    assert [p.wait(20) for p in jobs] == [0, 0]
    local.run("wait", "third", check=0)


def _events(local, job):
    return local.run("events", job, check=0).stdout.decode()


def test_memory_that_was_asked_for_holds_a_job_back(local):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    most = f"{total * 6 // 10}m"
    first = local.start("run", "-n", "1", "--mem", most, "--", "sh", "-c",
                        "touch up; while [ ! -e finish ]; do sleep 0.05; done")
    local.wait_for((local.work / "up").exists, "the first runs")
    local.run("submit", "--name", "second", "-n", "1", "--mem", most, "--", "true", check=0)
    local.wait_for(lambda: "memory" in _events(local, "second"), "the second says what it waits for")
    (local.work / "finish").touch()
    assert first.wait(20) == 0
    local.run("wait", "second", check=0)


def test_what_a_lost_agent_held_can_be_had_again(local, gpus_alone):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    p = local.start("run", "-n", "1", "--mem", f"{total * 6 // 10}m", "--gpus", "40", "--restart",
                    "task", "--", "sleep", "600", env={"YDL_GPUS": "64"})
    first = local.wait_for(lambda: local.tasks("sleep 600"), "it runs")
    os.kill(local.agents()[0], signal.SIGKILL)
    local.wait_for(lambda: set(local.tasks("sleep 600")) - set(first), "it runs again")
    p.terminate()
    p.wait(20)


def test_tasks_that_asked_for_nothing_are_not_held_back(local):
    done = local.run("run", "-q", "-n", "300", "--", "sh", "-c", "echo $YDL_RANK", check=0, timeout=120)
    assert len(done.stdout.splitlines()) == 300


def test_a_time_limit_ends_the_job(local):
    done = local.run("run", "-n", "2", "--timeout", "1s", "--grace", "1s", "--", "sleep", "600",
                     check=124, timeout=50)
    assert "time" in done.stderr.decode()


def test_grace_is_known_before_the_signal(local):
    text = ("import os, signal, sys, time\n"
            "def stop(*_):\n"
            "    print(open(os.environ['YDL_STOP']).read(), flush=True)\n"
            "    sys.exit(0)\n"
            "signal.signal(signal.SIGTERM, stop)\n"
            "open('up', 'w').close()\n"
            "time.sleep(600)\n")
    (local.work / "task.py").write_text(text)
    p = local.start("run", "-n", "1", "--no-prefix", "--grace", "200s", "--", "python3", "task.py")
    local.wait_for((local.work / "up").exists, "it runs")
    begin = time.time()
    p.terminate()
    out, _ = p.communicate(timeout=50)
    assert begin + 199 < int(out) / 1000 < time.time() + 201


@pytest.mark.parametrize("lines, answers", [
    (["put a hello world", "get a", "get b"], ["ok", "value hello world", "none"]),
    (["add n 2", "add n 3", "del n", "get n"], ["value 2", "value 5", "ok", "none"]),
    (["wait never 50"], ["timeout"]),
    (["progress 5 10 loss=0.5"], ["ok"]),
    (["frobnicate"], ["error"]),
])
def test_the_store_speaks_lines(local, lines, answers):
    text = ("import os, socket, sys\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "s.connect(os.environ['YDL_SOCKET'])\n"
            "f = s.makefile('rw')\n"
            "for line in sys.argv[1:]:\n"
            "    f.write(line + '\\n'); f.flush()\n"
            "    print(f.readline().strip())\n")
    (local.work / "task.py").write_text(text)
    done = local.run("run", "-n", "1", "--no-prefix", "--", "python3", "task.py", *lines, check=0)
    for got, wanted in zip(done.stdout.decode().splitlines(), answers, strict=True):
        assert got == wanted or (wanted == "error" and got.startswith("error "))


def test_progress_shows_in_the_status(local):
    text = ("import os, socket\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "s.connect(os.environ['YDL_SOCKET'])\n"
            "s.sendall(b'progress 30 120 loss=0.25\\n')\n"
            "assert s.recv(100) == b'ok\\n'\n")
    (local.work / "task.py").write_text(text)
    local.run("run", "-n", "1", "--", "python3", "task.py", check=0)
    task = json.loads(local.run("status", "--json", "last", check=0).stdout)["tasks"][0]
    assert (task["step"], task["total"], task["metrics"]["loss"]) == (30, 120, 0.25)


def test_scale_adds_and_takes_away(local):
    p = local.start("run", "-n", "2", "--name", "elastic", "--", "sleep", "600")
    local.wait_for(lambda: len(local.tasks("sleep 600")) == 2, "two run")
    local.run("scale", "elastic", "worker=4", check=0)
    local.wait_for(lambda: len(local.tasks("sleep 600")) == 4, "four run")
    local.run("scale", "elastic", "worker=1", check=0)
    local.wait_for(lambda: len(local.tasks("sleep 600")) == 1, "one runs")
    local.run("stop", "elastic", check=0)
    p.wait(20)


def test_a_task_scales_its_own_job(local):
    text = ("import os, socket, time\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            "s.connect(os.environ['YDL_SOCKET'])\n"
            "f = s.makefile('rw')\n"
            "def ask(line):\n"
            "    f.write(line + '\\n')\n"
            "    f.flush()\n"
            "    return f.readline().strip()\n"
            "print(ask('scale nobody 2'), flush=True)\n"
            "print(ask('scale worker 3'), flush=True)\n"
            "print(ask('wait third'), flush=True)\n"
            "print(ask('scale worker 0'), flush=True)\n")
    (local.work / "lead.py").write_text(text)
    (local.work / "job.yaml").write_text(
        "restart: {policy: task}\n"
        "framework: dask\n"  # elastic: the others stay as they are
        "roles:\n"
        "  client: {count: 1, command: python3 lead.py}\n"
        "  scheduler: {count: 1, command: 'python3 quiet.py {port}'}\n"
        "  worker: {count: 1, command: python3 member.py}\n")
    (local.work / "member.py").write_text(
        "import os, socket, time\n"
        "if os.environ['YDL_INDEX'] == '2':\n"
        "    s = socket.socket(socket.AF_UNIX)\n"
        "    s.connect(os.environ['YDL_SOCKET'])\n"
        "    s.sendall(b'put third here\\n')\n"
        "    s.recv(100)\n"
        "time.sleep(600)\n")
    (local.work / "quiet.py").write_text(
        "import socket, sys, time\n"
        "s = socket.create_server(('', int(sys.argv[1])), reuse_port=True)\n"
        "time.sleep(600)\n")
    done = local.run("run", "-f", "job.yaml", "--no-prefix", check=0)
    refused, *rest = done.stdout.decode().splitlines()
    assert refused.startswith("error scale: ") and "nobody" in refused
    assert rest == ["ok", "value here", "ok"]
    events = [json.loads(line) for line in local.run("events", "--json", "last", check=0).stdout.splitlines()]
    assert [(e["role"], e["count"], e["who"]) for e in events if e["event"] == "request"] == [
        ("worker", 3, "client:0"), ("worker", 0, "client:0")]


def test_processes_of_a_container_share_its_memory(local):
    (local.work / "hold.py").write_text(
        "import os, sys, time\n"
        "rank, full = int(os.environ['YDL_RANK']), os.environ['YDL_JOB'] + '.full'\n"
        "while rank == 1 and not os.path.exists(full): time.sleep(0.02)\n"  # which one has more is sure
        "x = bytearray(int(sys.argv[1 + rank]) << 20)\n"
        "open(full, 'w').close()\n"
        "time.sleep(int(sys.argv[3]))\n")
    pair = ("run", "-n", 1, "--procs", 2, "--mem", "140m", "--", "python3", "hold.py")
    local.run(*pair, 80, 1, 1, check=0)
    done = local.run(*pair, 80, 70, 600, check=137)
    assert re.search(r"worker:0.*its container \d+ MB of 140 MB", done.stderr.decode()), local.tell(done)

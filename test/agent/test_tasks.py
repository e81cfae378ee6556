"""Tasks are started as asked, end as they do, and are told of rightly."""

import os
import re
import shutil
import signal
import subprocess

import pytest
from agent_support import (DISK, EXIT, FILES, LOG_LIMIT, MEMORY, NONE, NOT_READY, PERSON, PORT,
                           READY_FILE, READY_HTTP, READY_LOG, READY_PORT, SIGNAL, START, alive,
                           command, resident, unb64, wait_until)


def test_a_task_runs_and_its_end_is_told(bench):
    b = bench()
    pid = b.launch(0, "echo out; echo err >&2; exit 3", attempt=2, generation=5)
    end = b.exited(0)
    assert (end["fail"], end["code"], end["signal"]) == (EXIT, 3, 0)
    assert (end["attempt"], end["generation"]) == (2, 5)
    assert end["lines"] == "err\nout\n" and (end["out_bytes"], end["err_bytes"]) == (4, 4)
    assert end["memory_peak"] > 100_000
    assert not alive(pid) and b.output(0) == b"out\n" and b.output(0, "err") == b"err\n"
    b.shutdown()


def test_how_long_a_task_lived_is_told_apart_from_the_clock(bench):
    b = bench()
    b.launch(0, "sleep 0.3")
    b.launch(1, "no-such-program || kill -9 $$")
    assert b.exited(0)["lived_ms"] >= 290 and b.exited(1)["lived_ms"] > 0
    b.prepare({"task": 2, "name": "worker:2"})
    b.start(command(2, ["/no/such/program"]))
    assert b.exited(2)["lived_ms"] == 0  # it never did
    b.shutdown()


@pytest.mark.parametrize("script, fail, code, number", [
    ("true", NONE, 0, 0), ("exit 255", EXIT, 255, 0),
    ("kill -SEGV $$", SIGNAL, 139, 11), ("kill -9 $$", SIGNAL, 137, 9)])
def test_ends(bench, script, fail, code, number):
    b = bench()
    b.launch(0, script)
    end = b.exited(0)
    assert (end["fail"], end["code"], end["signal"]) == (fail, code, number), end
    assert ("SIG" in end["text"]) == (fail == SIGNAL)


def test_what_a_task_gets(bench, tmp_path):
    b = bench(cwd=str(tmp_path))
    ready = b.prepare({"task": 7, "name": "worker:7", "ports_wanted": 2, "gpus": [1, 3]})[0]
    assert len(ready["ports"]) == 2
    script = "env | sort; pwd; cat $YDL_SPEC; ls -ld $TMPDIR; umask; ls /proc/self/fd"
    b.start(command(7, script, env=["A=task's", "B=\u00fc x"], error_file=True))
    b.exited(7)
    out = b.output(7).decode()
    tasks = b.run / "tasks"
    for line in (f"YDL_SOCKET={tasks}/worker-7.sock", f"YDL_SPEC={tasks}/spec-0-0.json",
                 f"TMPDIR={tasks}/tmp-0", f"YDL_STOP={tasks}/worker-7.stop", "CUDA_VISIBLE_DEVICES=1,3",
                 f"TORCHELASTIC_ERROR_FILE={tasks}/worker-7.error", "A=task's", "B=\u00fc x",
                 f"PWD={tmp_path}", str(tmp_path)):
        assert line in out.splitlines(), line
    assert '{"roles": {}}' in out and "drwx------" in out
    assert out.endswith("0\n1\n2\n3\n")  # the last one is ls's own
    for name in ("PMI_FD", "OLDPWD"):
        assert name not in out
    assert oct((b.logs / "worker-7.out").stat().st_mode) == "0o100640"
    b.shutdown()


def test_a_start_without_a_specification_means_the_last_one(bench):
    b = bench()
    b.prepare(*({"task": i, "name": f"worker:{i}"} for i in range(2)))
    b.start(command(0, "cat $YDL_SPEC"))
    b.exited(0)
    b.start(command(1, "cat $YDL_SPEC"), spec="")  # as when one task of many is started again
    b.exited(1)
    assert b.output(0) == b.output(1) == b'{"roles": {}}'
    b.shutdown()


def test_a_specification_that_somebody_removed_is_written_again(bench):
    b = bench(1)
    tasks = b.run / "tasks"
    b.prepare({"task": 0, "name": "worker:0"}, {"task": 1, "name": "worker:1"})
    b.start(command(0, "cat $YDL_SPEC"), spec='{"roles": {"a": 1}}')
    b.exited(0)
    for path in tasks.glob("spec-*"):
        path.unlink()
    b.start(command(1, "cat $YDL_SPEC"), spec="")
    assert b.exited(1)["code"] == 0 and b.output(1) == b'{"roles": {"a": 1}}'
    b.prepare({"task": 0, "name": "worker:0"})
    shutil.rmtree(tasks)
    b.start(command(0, "true"), spec='{"roles": {"b": 2}}')
    assert "spec-" not in b.exited(0)["text"]  # the rest of it was prepared there, too



def test_without_gpus_none_are_seen(bench):
    b = bench()
    b.launch(0, "echo \"<$CUDA_VISIBLE_DEVICES>\"; pwd")
    b.exited(0)
    assert b.output(0).decode() == f"<>\n{b.run}/tasks/worker-0.work\n"


@pytest.mark.parametrize("argv, code, says", [
    (["no-such-command"], 127, "there is no command 'no-such-command'"),
    (["/no/such/file"], 127, "there is no file '/no/such/file'"),
    (["/etc/passwd"], 126, "'/etc/passwd' may not be executed: chmod +x"),
    (["/tmp"], 126, "'/tmp' is a directory"),
    (["true", "x" * 200_000], 126, "too large for this system"),
    ([], 126, "it has no command")])
def test_what_cannot_be_started_is_explained(bench, argv, code, says):
    b = bench()
    b.prepare({"task": 0, "name": "worker:0"})
    b.start(command(0, argv))
    end = b.exited(0)
    assert (end["fail"], end["code"], end["signal"]) == (START, code, 0)
    assert says in end["text"]
    b.launch(0, "true")  # nothing is stuck
    assert b.exited(0)["fail"] == NONE


def test_a_bad_interpreter_is_named(bench, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("#!/no/python3\n")
    script.chmod(0o755)
    b = bench()
    b.prepare({"task": 0, "name": "worker:0"})
    b.start(command(0, [str(script)]))
    end = b.exited(0)
    assert (end["fail"], end["code"]) == (START, 126)
    assert "needs the interpreter '/no/python3', which does not exist" in end["text"]


def test_a_missing_directory_is_named(bench):
    b = bench(cwd="/no/such/place")
    b.prepare({"task": 0, "name": "worker:0"})
    b.start(command(0, "true"))
    end = b.exited(0)
    assert end["fail"] == START and "'/no/such/place': No such file" in end["text"]


def test_output_is_exact_whatever_it_is(bench):
    b = bench()
    data = os.urandom(1 << 20)
    source = b.run / "data"
    source.write_bytes(data)
    b.launch(0, f"cat {source}; head -c 10000000 /dev/zero | tr '\\0' x; kill -9 $$")
    b.launch(1, f"cat {source} >&2")
    assert b.exited(0)["fail"] == SIGNAL
    b.exited(1)
    assert b.output(0) == data + b"x" * 10_000_000 and b.output(1, "err") == data
    b.launch(0, "echo again")  # appended, nothing between
    b.exited(0)
    assert b.output(0) == data + b"x" * 10_000_000 + b"again\n"


def test_followed_output_is_exact_and_ends(bench):
    b = bench()
    b.prepare(*[{"task": i, "name": f"worker:{i}"} for i in range(10)])
    b.tell(follow={"tasks": [{"task": i} for i in range(10)], "credit": 1 << 30})
    b.start(*[command(i, "i=0; while [ $i -lt 200 ]; do echo line $i; echo err $i >&2; "
                         "i=$((i+1)); done; head -c 100000 /dev/zero") for i in range(10)])
    got = b.followed(list(range(10)))
    for i in range(10):
        assert got[i, False] == b.output(i) and len(got[i, False]) > 101_000
        assert got[i, True] == b.output(i, "err")


def test_a_slow_reader_slows_nobody(bench):
    b = bench()
    b.prepare({"task": 0, "name": "worker:0"})
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1000})
    b.start(command(0, "head -c 5000000 /dev/zero"))
    assert b.exited(0)["fail"] == NONE
    got = 0
    while got < 1000:
        event = b.take(lambda e: "output" in e.get("from", {}))
        got += sum(len(unb64(p["data"])) for p in event["from"]["output"]["pieces"])
    assert got == 1000
    b.tell(follow={"tasks": [], "credit": 5_000_000})
    while got < 5_000_000:
        event = b.take(lambda e: "output" in e.get("from", {}))
        got += sum(len(unb64(p["data"])) for p in event["from"]["output"]["pieces"])
    b.take(lambda e: any(p["end"] and not p["err"] for p in
                         e.get("from", {}).get("output", {}).get("pieces", ())) or
           any(p["end"] and not p["err"] for p in event["from"]["output"]["pieces"]))


def test_following_starts_at_an_offset(bench):
    b = bench()
    b.launch(0, "echo 0123456789")
    b.exited(0)
    b.tell(follow={"tasks": [{"task": 0, "out_offset": 5}], "credit": 100})
    event = b.take(lambda e: "output" in e.get("from", {}))
    piece = next(p for p in event["from"]["output"]["pieces"] if not p["err"])
    assert (piece["offset"], unb64(piece["data"])) == (5, b"56789\n")


def test_a_task_beyond_its_memory_is_ended_and_the_story_told(bench):
    b = bench()
    hog = ("python3 -c 'import os, time\n"
           "pid = os.fork()\n"
           "x = bytearray(60 << 20)\n"  # the two of them
           "time.sleep(600)'")
    b.launch(0, hog, prepare={"memory": 100 << 20})
    b.launch(1, "sleep 2", prepare={"memory": 100 << 20})
    end = b.exited(0)
    assert end["fail"] == MEMORY and end["code"] == 137, end
    assert end["text"].startswith("used 1") and end["text"].endswith("MB of 100 MB")
    assert end["memory_peak"] > 100 << 20
    assert b.exited(1)["fail"] == NONE
    b.shutdown()


def test_a_task_that_shares_its_memory_is_not_counted_twice(bench):
    b = bench()
    forks = ("python3 -c 'import os, time\n"
             "x = bytearray(60 << 20)\n"
             "for i in range(4):\n"
             "    if os.fork() == 0: break\n"
             "time.sleep(1)'")
    b.launch(0, forks, prepare={"memory": 120 << 20})
    assert b.exited(0)["fail"] == NONE


def test_tasks_of_a_container_share_its_memory(bench):
    """One may have more than its part; when all of them have too much, the one with the most goes."""
    b = bench()
    hold = "python3 -c 'import time; x = bytearray({} << 20); time.sleep({})'"
    shared = {"memory": 160 << 20, "memory_shared": True}
    b.launch(0, hold.format(100, 1), prepare=shared | {"slot": 1})
    b.launch(1, hold.format(5, 1), prepare=shared | {"slot": 1})
    assert [b.exited(i)["fail"] for i in range(2)] == [NONE, NONE]
    b.launch(2, hold.format(70, 60), prepare=shared | {"slot": 2})
    b.launch(3, hold.format(90, 60), prepare=shared | {"slot": 2})
    b.launch(4, hold.format(70, 2), prepare=shared | {"slot": 3})  # of another container
    end = b.exited(3)
    assert end["fail"] == MEMORY and end["code"] == 137, end
    assert re.fullmatch(r"used \d+ MB, its container 1[6-9]\d MB of 160 MB", end["text"]), end
    assert b.exited(4)["fail"] == NONE
    b.shutdown()


def test_too_much_output_ends_a_task(bench):
    b = bench(log_limit=1_000_000)
    b.launch(0, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done")
    end = b.exited(0)
    assert end["fail"] == LOG_LIMIT and "of output, " in end["text"], end


def test_readiness(bench, tmp_path):
    b = bench(cwd=str(tmp_path))
    serve = ("python3 -c 'import http.server, sys, time\n"
             "time.sleep(0.3)\n"
             "http.server.HTTPServer((\"\", int(sys.argv[1])), "
             "http.server.SimpleHTTPRequestHandler).serve_forever()' ")
    held = b.prepare(*[{"task": i, "name": f"worker:{i}", "ports_wanted": 1, "share_ports": True}
                       for i in range(4)])
    ports = [t["ports"][0] for t in held]
    b.start(command(0, serve + str(ports[0]), ready={"kind": READY_PORT, "timeout_ms": 600_000}),
            command(1, serve + str(ports[1]),
                    ready={"kind": READY_HTTP, "what": "/", "timeout_ms": 600_000}),
            command(2, "sleep 0.3; touch here; sleep 600",
                    ready={"kind": READY_FILE, "what": "here", "timeout_ms": 600_000}),
            command(3, "echo noise; sleep 0.3; echo it is up; sleep 600",
                    ready={"kind": READY_LOG, "what": "is up", "timeout_ms": 600_000}))
    for i in range(4):
        b.ready(i)
    b.shutdown(0)


@pytest.mark.parametrize("kind, what", [(READY_PORT, ""), (READY_HTTP, "/"), (READY_FILE, "x"),
                                        (READY_LOG, "never")])
def test_a_task_that_never_gets_ready_is_ended(bench, kind, what):
    b = bench()
    b.launch(0, "echo so far; sleep 600", prepare={"ports_wanted": 1},
             ready={"kind": kind, "what": what, "timeout_ms": 400})
    end = b.exited(0)
    assert end["fail"] == NOT_READY and end["text"].startswith("not ready within 0.4 s"), end
    assert end["lines"].encode() == b.output(0)  # so far; a slow machine may not have come to it
    assert b.gone(agents=False)


def test_a_full_disk_is_the_disks_fault(bench):
    b = bench()
    b.launch(0, "echo 'cp: No space left on device' >&2; exit 1")
    end = b.exited(0)
    assert end["fail"] == DISK and end["code"] == 1, end


def test_files_are_put_in_place(bench, tmp_path):
    (tmp_path / "data.txt").write_text("data\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_text("packed\n")
    for name, make in (("a.tar.gz", f"tar -czf {tmp_path}/a.tar.gz -C {tmp_path}/in ."),
                       ("a.zip", f"cd {tmp_path}/in && python3 -m zipfile -c ../a.zip x")):
        assert os.system(make) == 0, name
    b = bench()
    files = [{"from": f"{tmp_path}/data.txt", "to": "sub/d.txt"},
             {"from": f"{tmp_path}/a.tar.gz", "to": "tgz", "archive": True},
             {"from": f"{tmp_path}/a.zip", "to": "zip", "archive": True}]
    for task in (0, 1):
        b.launch(task, "cat sub/d.txt tgz/x zip/x", prepare={"files": files})
        assert b.exited(task)["fail"] == NONE
        assert b.output(task) == b"data\npacked\npacked\n"
    for link, says in (({"from": "/no/such", "to": "x"}, "use '/no/such'"),
                       ({"from": "/etc/passwd", "to": "../x"}, "is not a valid name for a file"),
                       ({"from": "/etc/passwd", "to": "x", "archive": True}, "is not an archive"),
                       ({"from": f"{tmp_path}/bad.tar", "to": "x", "archive": True}, "unpack")):
        (tmp_path / "bad.tar").write_text("this is no archive")
        got = b.prepare({"task": 9, "name": "worker:9", "files": [link]})[0]
        assert got["fail"] == FILES and says in got["text"], got
    b.shutdown()
    assert not list(b.run.glob("unpacked*"))


def test_an_archive_that_could_not_be_unpacked_is_tried_again(bench, tmp_path):
    (tmp_path / "in").write_text("inside")
    bad = tmp_path / "a.tar"
    bad.write_text("half an archive, as a full disk leaves it")
    b = bench()
    task = {"name": "worker:0", "task": 0,
            "files": [{"from": str(bad), "to": "a", "archive": True}]}
    assert b.prepare(task)[0]["fail"] == FILES
    subprocess.run(["tar", "-cf", bad, "-C", tmp_path, "in"], check=True)
    assert b.prepare(task)[0]["fail"] == NONE
    b.start(command(0, "cat a/in"))
    assert b.exited(0)["fail"] == NONE and b.output(0) == b"inside"
    b.shutdown()


def test_who_leaves_does_not_wait_for_an_archive(bench, tmp_path):
    """Nor for the next one: a job that has ended gives back what it had."""
    tar = tmp_path / "bin" / "tar"
    tar.parent.mkdir()
    tar.write_text(f"#!/bin/sh\necho x >> {tmp_path}/begun\nexec sleep 600\n")
    tar.chmod(0o755)
    archives = [tmp_path / f"{i}.tar" for i in range(3)]
    for path in archives:
        path.touch()
    b = bench(agents=0)
    b.agents = [b.start_agent(0, env=os.environ | {"PATH": f"{tar.parent}:{os.environ['PATH']}"})]
    b.take(lambda e: "hello" in e.get("from", {}))
    b.tell(prepare={"tasks": [{"task": i, "name": f"worker:{i}", "files": [
        {"from": str(path), "to": "a", "archive": True}]} for i, path in enumerate(archives)]})
    wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").read_text())
    b.shutdown()
    assert (tmp_path / "begun").read_text() == "x\n"


def test_an_error_file_is_sent(bench):
    b = bench()
    b.launch(0, "echo '{\"message\": 1}' > $TORCHELASTIC_ERROR_FILE; exit 1", error_file=True)
    assert unb64(b.exited(0)["error_file"]) == b'{"message": 1}\n'
    b.launch(0, "exit 1", error_file=True)  # the old one is gone
    assert b.exited(0)["error_file"] == ""


def test_a_thousand_tasks_on_one_agent(bench):
    b = bench()
    b.prepare(*[{"task": i, "name": f"worker:{i}", "ports_wanted": 1} for i in range(1000)])
    b.start(*[command(i, ["sh", "-c", "ulimit -n"]) for i in range(1000)])
    for i in range(1000):
        assert b.exited(i)["fail"] == NONE
    assert {b.output(i) for i in range(1000)} == {b"%d\n" % soft_limit()}
    b.shutdown()


def soft_limit() -> int:
    import resource
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_an_agent_is_small(bench):
    b = bench()
    for i in range(4):
        b.launch(i, "sleep 600")
    wait_until(lambda: resident(b.agents[0].pid) <= 4096)


def test_a_port_that_is_taken_is_told_with_who_has_it(bench):
    import socket
    b = bench()
    with socket.create_server(("", 0)) as s:
        got = b.prepare({"task": 0, "name": "worker:0", "ports": [s.getsockname()[1]]})[0]
    assert got["fail"] == PORT and f"in use by process {os.getpid()} (" in got["text"], got


def test_a_restarted_task_has_the_same_port(bench):
    b = bench()
    first = b.prepare({"task": 0, "name": "worker:0", "ports_wanted": 2})[0]["ports"]
    for attempt in range(3):
        b.start(command(0, "exit 1", attempt=attempt))
        assert b.exited(0)["attempt"] == attempt
        assert b.prepare({"task": 0, "name": "worker:0", "ports": first})[0]["ports"] == first


def test_a_stop_before_the_start_is_heard(bench):
    b = bench()
    b.prepare({"task": 0, "name": "worker:0"})
    b.stop(0)  # does nothing
    b.launch(0, "exec sleep 600")
    b.stop(0)
    end = b.exited(0)
    assert (end["fail"], end["signal"]) == (PERSON, signal.SIGTERM)


def test_drop_gives_everything_up(bench):
    b = bench()
    port = b.prepare({"task": 0, "name": "worker:0", "ports_wanted": 1})[0]["ports"][0]
    assert (b.run / "tasks" / "worker-0.sock").is_socket()
    b.tell(drop={"tasks": [0]})
    wait_until(lambda: not (b.run / "tasks" / "worker-0.sock").exists())
    assert b.prepare({"task": 1, "name": "worker:1", "ports": [port]})[0]["fail"] == NONE

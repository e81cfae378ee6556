"""Sentences that tasks write into the events of their job."""

import json

ASK = """import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["YDL_SOCKET"])
f = s.makefile("rw")


def ask(line):
    f.write(line + "\\n")
    f.flush()
    return f.readline().strip()


"""


def job(local, text: str, tasks: int = 1) -> list[str]:
    """What the tasks print, and nothing else."""
    (local.work / "task.py").write_text(ASK + text)
    done = local.run("run", "-q", "-n", str(tasks), "--no-prefix", "--", "python3", "task.py", check=0)
    return done.stdout.decode().splitlines()


def notes(local) -> list[tuple[str, str]]:
    lines = local.run("events", "--json", "last", check=0).stdout.splitlines()
    return [(e["task"], e["text"]) for e in map(json.loads, lines) if e["event"] == "task-note"]


def test_a_task_writes_into_the_events(local):
    said = job(local, """print(ask(f"note task {os.environ['YDL_INDEX']} says grün  →"), flush=True)
print(ask("barrier all"), flush=True)
if os.environ["YDL_INDEX"] == "0":
    print(ask("note a\\x1b[2Jb"), flush=True)
    print(ask("note " + 1025 * "x"), flush=True)
    print(os.popen("curl -sS --unix-socket $YDL_SOCKET -d 'by HTTP' http://task/v1/note && echo done").read(),
          end="", flush=True)
""", tasks=2)
    assert sorted(said) == ["done"] + 2 * ["error note: TEXT is a line of at most 1024 bytes of UTF-8 without "
                                           "control characters"] + 4 * ["ok"]
    assert sorted(notes(local)) == [("worker:0", "by HTTP"), ("worker:0", "task 0 says grün  →"),
                                    ("worker:1", "task 1 says grün  →")]
    shown = local.run("events", "last", check=0).stdout.decode()
    assert "worker:1: task 1 says grün  →" in shown and "worker:0: by HTTP" in shown
    assert local.run("status", "last", "--json").returncode == 0


def test_a_task_cannot_fill_the_events(local):
    said = job(local, """for i in range(1000):
    print(ask(f"note {i}"), flush=True)
""")
    assert said[:50] == 50 * ["ok"] and len(said) == 1000
    assert all(line.startswith("error note: the task writes too many notes; the next one may come in ")
               for line in said[51:])  # a slow machine may let one more pass
    assert 50 <= len(notes(local)) < 60

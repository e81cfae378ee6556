"""`--tensorboard`: the real TensorBoard beside a job, found through status and through YARN's link."""

import json
import shlex
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from ydl_cluster.guide import blocks_of
from ydl_cluster.patience import Limit

WRITE = """
import sys, time, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # it imports TensorFlow without
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter(sys.argv[1])
for step in range(*map(int, sys.argv[2:] or [3])):
    value = summary_pb2.Summary.Value(tag="loss", simple_value=1.0 / (step + 1))
    writer.add_event(event_pb2.Event(step=step, wall_time=time.time(),
                                     summary=summary_pb2.Summary(value=[value])))
writer.flush()
"""
SERIES = b"requests=" + urllib.parse.quote('[{"plugin":"scalars","tag":"loss"}]').encode()
STAY = "while [ ! -e stop-now ]; do sleep 0.1; done"
SOON_S = 180


def fetch(url: str, data: bytes | None = None) -> str:
    """A page; by POST when there is something to send."""
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=120) as answer:
        return answer.read().decode()


def wait_for(condition, what: str):
    """The first true value."""
    limit, last = Limit(SOON_S), None
    while not limit.over():
        try:
            value = condition()
        except (OSError, ValueError) as e:
            last, value = e, None
        if value:
            return value
        time.sleep(0.2)
    raise AssertionError(f"not within {SOON_S} s: {what} ({last})")


def losses(base: str) -> list[float]:
    """The values that TensorBoard at `base` shows."""
    found = json.loads(fetch(f"{base}data/plugin/scalars/scalars?run=.&tag=loss"))
    return [round(row[2], 2) for row in found]


def series(answer: str) -> list[dict]:
    """The steps of the only run in an answer to `SERIES`."""
    [one] = json.loads(answer)
    [steps] = one["runToSeries"].values()
    return steps


def test_status_says_where_it_is_and_it_ends_with_the_job(local):
    (local.work / "write.py").write_text(WRITE)
    job = local.start("run", "-n", 1, "--tensorboard", "logs", "--", "sh", "-c",
                      f"python write.py logs; {STAY}")
    try:
        def url():
            text = local.run("status", "--json", "last").stdout
            return json.loads(text).get("tensorboard")
        base = wait_for(url, "its address in status")
        wait_for(lambda: losses(base) == [1.0, 0.5, 0.33], "values")
        assert base in local.run("status", "last").stdout.decode()
    finally:
        (local.work / "stop-now").touch()
        job.communicate(timeout=60)
    assert job.returncode == 0
    assert b"tensorboard" not in local.run("status", "--json", "last").stdout.split(b'"roles"')[0]


def test_what_the_guide_types_shows_what_tasks_write(local):
    """TensorBoard is not waited for when they end; their files stay."""
    block, _ = blocks_of("doc/guide/tensorboard.md", __file__)
    (local.work / "train.py").write_text(WRITE.replace("sys.argv[", "sys.argv[1:]["))
    done = local.command("bash", "-ec", block)
    assert done.returncode == 0 and b"succeeded" in done.stdout, (done.stdout, done.stderr)
    assert len(list((local.work / "logs").glob("events.out.*"))) == 2


def grows(jobs, venv):
    """Two steps more at the end of the event file in HDFS: they, and nothing twice, come to the copy beside
    TensorBoard, which would hide a step that stands there twice."""
    row, = json.loads(jobs.run("fs", "ls", "--json", "/tmp/board/run", check=0).stdout)["entries"]
    subprocess.run([venv / "bin" / "python", "write.py", "more", "3", "5"], cwd=jobs.work, check=True)
    more, = (jobs.work / "more").iterdir()
    board, = jobs.processes("--logdir tensorboard-logs")
    copy = Path(f"/proc/{board}/cwd/tensorboard-logs/run/{Path(row['path']).name}")
    whole = row["size"] + more.stat().st_size
    assert copy.stat().st_size == row["size"]
    jobs.cluster.fs("-appendToFile", str(more), row["path"])
    wait_for(lambda: copy.stat().st_size >= whole, f"{whole} bytes in the copy")
    assert copy.stat().st_size == whole


def test_yarns_link_leads_to_it_and_a_directory_in_hdfs_is_shown(jobs, venv):
    (jobs.work / "write.py").write_text(WRITE)
    env = {"PATH": f"{venv}/bin:{jobs.env()['PATH']}"}
    jobs.cluster.fs("-mkdir", "-p", "/tmp/board/run")
    (jobs.work / "job.json").write_text(json.dumps({
        "tensorboard": {"logdir": "hdfs:///tmp/board", "tracking": True},
        "roles": {"worker": {"count": 1, "memory": "768m"},
                  "tensorboard": {"memory": "768m"}},
        "env": {"PATH": env["PATH"]},
        "command": ["sh", "-c",
                    "python write.py logs && ydl fs put logs/* /tmp/board/run/ && sleep 600"]}))
    job = jobs.start("run", "--on", "yarn", "-f", "job.json", env=env)
    try:
        app = jobs.wait_for(jobs.apps, "the application")[0]
        link = f"{jobs.cluster.rm_http}/proxy/{app}/"

        def shown():
            found = json.loads(fetch(f"{link}tensorboard/data/plugin/scalars/scalars?run=run&tag=loss"))
            return [round(row[2], 2) for row in found]
        wait_for(lambda: shown() == [1.0, 0.5, 0.33], "values through YARN's proxy")
        grows(jobs, venv)
        wait_for(lambda: shown() == [1.0, 0.5, 0.33, 0.25, 0.2], "more values")
        wait_for(lambda: "tensorboard/?tensorboardColab=true" in fetch(link), "the link in the page")
        wait_for(lambda: "<td>worker:0" in fetch(f"{link}job"), "the task in the page")
        # YARN's proxy passes GET and PUT and nothing else: who can, asks the master itself.
        path = "tensorboard/data/plugin/timeseries/timeSeries"
        with pytest.raises(urllib.error.HTTPError) as refused:
            fetch(f"{link}{path}", SERIES)
        assert refused.value.code == 405
        assert [round(row["value"], 2) for row in series(fetch(jobs.tracking_url() + path, SERIES))
                ] == [1.0, 0.5, 0.33, 0.25, 0.2]
    finally:
        jobs.run("kill", "--on", "yarn", jobs.apps()[0])
        job.communicate(timeout=60)
        jobs.cluster.fs("-rm", "-r", "/tmp/board")


SAVE = "import subprocess\nsubprocess.run('ydl fs put logs/* /user/me/logs/', shell=True, check=True)\n"


@pytest.mark.full
def test_what_the_guide_types_on_yarn_has_tensorboard_in_its_environment(jobs, venv):
    """An environment that leads to the packages of another one, which is large."""
    _, block = blocks_of("doc/guide/tensorboard.md", __file__)
    subprocess.run([venv / "bin" / "python", "-m", "venv", "--without-pip", "env"], cwd=jobs.work, check=True)
    packages, = (venv / "lib").glob("python3*/site-packages")
    (jobs.work / "env" / packages.relative_to(venv) / "more.pth").write_text(f"{packages}\n")
    (jobs.work / "env/bin/tensorboard").symlink_to(venv / "bin" / "tensorboard")
    (jobs.work / "train.py").write_text(WRITE.replace("sys.argv[1]", "'logs'").replace("sys.argv[2:]", "[]") + SAVE)
    jobs.cluster.fs("-mkdir", "-p", "/user/me/logs")
    ydl, *words = shlex.split(block)
    try:
        done = jobs.run(*words)
        assert (ydl, done.returncode) == ("ydl", 0), (done.stdout, done.stderr)
        names = [row["path"] for row in
                 json.loads(jobs.run("fs", "ls", "--json", "/user/me/logs", check=0).stdout)["entries"]]
        assert len(names) == 2 and all("events.out." in name for name in names), names
        started = [json.loads(line) for line in jobs.run("events", "--json", jobs.apps()[0], check=0).stdout.splitlines()]
        assert [row for row in started if row.get("task") == "tensorboard:0" and row.get("state") == "RUNNING"]
    finally:
        jobs.cluster.fs("-rm", "-r", "/user/me")

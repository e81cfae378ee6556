"""Who scores a table with a deployment on YARN does not notice that its model is updated: Spark, and Java."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import environment
import pytest
import spark_table
from ydl_cluster.guide import blocks_of

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "serving"
SCRIPT = Path(spark_table.__file__)
LIMIT_S = 300
# Many small requests, many tasks, and a story of each task.
CONF = {"spark.sql.execution.arrow.maxRecordsPerBatch": 50, "spark.sql.files.maxPartitionBytes": "2m",
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.eventLog.enabled": "true"}


@pytest.fixture(scope="module", name="flowers")
def fixture_flowers(tmp_path_factory):
    """What spark_table.py makes."""
    found = tmp_path_factory.mktemp("flowers")
    for python, what in ((environment.directory(), "models"), (spark_table.environment(), "write")):
        subprocess.run([python / "bin" / "python", SCRIPT, what, found], check=True, timeout=LIMIT_S)
    return found


@pytest.fixture(name="shop")
def fixture_shop(serving, flowers):
    """Version 1 of two is deployed with two replicas, and the table is in HDFS."""
    for name in ("one", "two"):
        serving.run("model", "push", flowers / f"{name}.onnx", "flowers", check=0)
    serving.url = serving.deploy("flowers:1", "--replicas", 2)
    serving.cluster.fs("-put", str(flowers / "table"), serving.top)
    return serving


def command_of_the_guide(example, top):
    """What follows spark-submit there, with other tables."""
    block, = blocks_of("doc/guide/serving.md", __file__)
    line = next(line for line in block.splitlines() if line.startswith(f"spark-submit {example} "))
    tables = {"hdfs:///tables/flowers": f"hdfs://{top}/table", "hdfs:///tables/kinds": f"hdfs://{top}/scored"}
    return [tables.pop(word, word) for word in shlex.split(line)[1:]]


class Spark:
    """`spark-submit` of an example, in local mode: two tasks at once, and one that fails ends the job."""

    def __init__(self, shop, example, tmp):
        self.shop, self.log, self.events = shop, tmp / "spark.log", tmp / "events"
        self.events.mkdir()
        conf = CONF | {"spark.eventLog.dir": f"file://{self.events}", "spark.local.dir": tmp / "local"}
        home = spark_table.environment()
        env = shop.env() | {"PYSPARK_PYTHON": str(home / "bin" / "python")}
        env["PATH"] = f"{home / 'bin'}:{env['PATH']}"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [home / "bin" / "spark-submit", "--master", "local[2]",
                 *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
                 *command_of_the_guide(example, shop.top)],
                env=env, cwd=EXAMPLES, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def asking(self):
        """A worker that is connected to the gateway."""
        assert self.process.poll() is None, self.told()
        port, found = urlsplit(self.shop.url).port, family(self.process.pid)
        return next((pid for pid, parent in found.items() if parent in found and connected(pid, port)), None)

    def told(self):
        """What it wrote, without stacks of Java."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if not line.lstrip().startswith(("at ", "..."))][-100:])

    def end(self):
        """The reasons for which tasks ended."""
        code = self.process.wait(LIMIT_S)
        assert code == 0, self.told()
        story, = self.events.iterdir()
        return [event["Task End Reason"]["Reason"] for event in map(json.loads, story.read_text().splitlines())
                if event["Event"] == "SparkListenerTaskEnd"]

    def kill(self):
        """Also workers that were stopped, and the daemon, which is in a process group of its own."""
        for pid in [*family(self.process.pid), *([] if self.process.poll() is not None else [self.process.pid])]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(name="spark")
def fixture_spark(shop, tmp_path):
    """`spark(example)` begins it."""
    begun = []

    def begin(example):
        begun.append(Spark(shop, example, tmp_path))
        return begun[-1]
    yield begin
    for one in begun:
        one.kill()


def stat(pid):
    """Parent and session of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1]), int(fields[3])


def family(session):
    """{pid: parent} of PySpark's daemon and the workers that run Python for tasks, its children."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended meanwhile
            parent, its_session = stat(entry.name)
            if its_session == session and b"pyspark.daemon" in (entry / "cmdline").read_bytes():
                found[int(entry.name)] = parent
    return found


def connected(pid, port):
    try:
        sockets = {os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()}
        rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    except OSError:  # ended meanwhile, or a descriptor was closed
        return False
    return any(row[2].endswith(f":{port:04X}") and row[3] == "01" and f"socket:[{row[9]}]" in sockets for row in rows)


def update_and_kill_the_gateway(shop):
    """To version 2; afterwards every connection of before is dead."""
    shop.run("serve", "update", "flowers", "--to", 2, "--watch", "1s", check=0)
    assert shop.model("flowers", "flowers")["version"] == 2
    pid = shop.pids("haproxy -db")[0]
    os.kill(pid, signal.SIGKILL)
    shop.wait_for(lambda: not Path(f"/proc/{pid}/exe").exists(), "its death")


def assert_answers_of_both(flowers, scored):
    """Every row has its answer, from one of the versions, and both versions answered."""
    told = json.loads(subprocess.run([spark_table.environment() / "bin" / "python", SCRIPT, "compare", flowers, scored],
                                     check=True, stdout=subprocess.PIPE, timeout=LIMIT_S).stdout)
    assert told["whole"] and not told["both"] and not told["wrong"], told
    assert told["one"] and told["two"] and told["one"] + told["two"] == spark_table.ROWS, told


@pytest.mark.full
@pytest.mark.parametrize("example", ["spark_udf.py", "spark_map_partitions.py"])
def test_no_task_fails_while_a_model_is_updated(shop, spark, flowers, example, tmp_path):
    """One of the two tasks that run at a time is held from its first request until the update is over, so that
    both versions answer however long either takes; the others go on meanwhile."""
    job = spark(example)
    held = shop.wait_for(job.asking, "a task that asks")
    os.kill(held, signal.SIGSTOP)
    shop.wait_for(lambda: shop.answered("flowers") > 20, "answers to the other one")
    update_and_kill_the_gateway(shop)
    os.kill(held, signal.SIGCONT)
    ends = job.end()
    assert len(ends) >= spark_table.FILES and set(ends) == {"Success"}, ends
    shop.cluster.fs("-get", f"{shop.top}/scored", str(tmp_path))
    assert_answers_of_both(flowers, tmp_path / "scored")


@pytest.mark.full
def test_a_program_in_java_gets_right_answers_while_a_model_is_updated(shop, flowers, tmp_path):
    """It stops to ask while nobody reads what it prints: in the middle of its first answer."""
    with subprocess.Popen(["java", EXAMPLES / "Client.java", "flowers", "flowers", "flower", flowers / "rows.csv"],
                          env=shop.env(), cwd=shop.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as program:
        first = program.stdout.readline()
        update_and_kill_the_gateway(shop)
        (tmp_path / "scored.txt").write_bytes(first + program.stdout.read())
    assert program.returncode == 0
    assert_answers_of_both(flowers, tmp_path / "scored.txt")

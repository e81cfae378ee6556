"""The clients in examples/serving, as they stand there, against a real deployment."""

import contextlib
import json
import os
import runpy
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock
from urllib.parse import urlsplit

import environment
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "serving"
PYTHON = environment.directory() / "bin" / "python"
KEY = "0123456789abcdef"
ROWS = 600

CLIENTS = {
    "python": lambda where, rows: [sys.executable, "-S", EXAMPLES / "client.py", where, "flowers", rows],
    "requests": lambda where, rows: [PYTHON, EXAMPLES / "client_requests.py", where, "flowers", rows],
    "numpy": lambda where, rows: [PYTHON, EXAMPLES / "client_numpy.py", where, "flowers", rows],
    "curl": lambda where, rows: [EXAMPLES / "client.sh", where, "flowers", rows],
    "java": lambda where, rows: ["java", EXAMPLES / "Client.java", where, "flowers", "flower", rows],
}
# Those that are not here say the same with other libraries, and the first test runs them too.
every_client = pytest.mark.parametrize("client", [
    pytest.param(name, marks=() if name in ("python", "curl") else pytest.mark.full) for name in CLIENTS])


@pytest.fixture(scope="module", name="flowers")
def fixture_flowers(tmp_path_factory):
    """What train.py writes."""
    found = tmp_path_factory.mktemp("flowers")
    said = subprocess.run([PYTHON, EXAMPLES / "train.py", found], check=True, stdout=subprocess.PIPE, timeout=300)
    assert int(said.stdout.split(b"%")[0]) > 90
    return found


@pytest.fixture(scope="module", name="shop")
def fixture_shop(shared, flowers):
    """The model, a key, and the rows in the working directory, and a deployment that wants the key."""
    serving = shared
    serving.run("model", "push", flowers / "flowers.onnx", "flowers", check=0)
    rows = (flowers / "flowers.csv").read_text().splitlines()[1:]
    assert len(rows) == ROWS
    (serving.work / "rows.csv").write_text("\n".join(rows) + "\n")
    (serving.work / "keys").write_text(f"# of the shop\n{KEY}\n")
    (serving.work / "keys").chmod(stat.S_IRUSR | stat.S_IWUSR)
    serving.guarded = serving.deploy("flowers", "--name", "guarded", "--cpus", 1, "--key-file", serving.work / "keys")
    return serving


@pytest.fixture(scope="module", name="url")
def fixture_url(shop):
    """A deployment `shop` that wants none."""
    return shop.deploy("flowers", "--name", "shop", "--cpus", 1)


def answers(client, done):
    """A list of numbers for each row."""
    text = done.stdout.decode()
    assert done.returncode == 0, text + done.stderr.decode()
    if client == "curl":
        return json.loads(text)["predictions"]
    return [json.loads(line) for line in text.splitlines()]


def near(got, wanted):
    return len(got) == len(wanted) and all(
        abs(a - b) < 1e-5 for g, w in zip(got, wanted) for a, b in zip(g, w, strict=True))


def wanted_of(shop, name, *words):
    """What `ydl predict` says to the same rows."""
    done = shop.run("predict", name, "--csv", "rows.csv", *words, check=0)
    return [json.loads(line)["kind"] for line in done.stdout.splitlines()]


def test_java_counts_in_the_digits_of_json_in_every_country(shop):
    """Egypt's are others."""
    wanted = wanted_of(shop, "guarded", "--key-file", "keys")
    done = shop.command(*CLIENTS["java"](shop.guarded, "rows.csv"),
                        env={"SERVE_KEY_FILE": "keys", "JAVA_TOOL_OPTIONS": "-Duser.language=ar -Duser.country=EG"})
    assert near(answers("java", done), wanted)


def test_null_of_spark_is_nan_to_the_model(monkeypatch):
    """Also without pandas, which does that by itself. Spark is not there: what tasks run does not need it."""
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.types"):
        monkeypatch.setitem(sys.modules, name, mock.MagicMock())
    example = runpy.run_path(str(EXAMPLES / "spark_map_partitions.py"), run_name="example")
    deployment = mock.Mock()
    deployment.predict.return_value = [[1], [2]]
    rows = [("a", 1.5, None), ("b", None, 2.5)]
    assert list(example["scorer"](deployment, [1, 2])(iter(rows))) == [(*rows[0], [1.0]), (*rows[1], [2.0])]
    (sent,), _ = deployment.predict.call_args
    assert json.dumps(sent) == "[[1.5, NaN], [NaN, 2.5]]"


def test_all_clients_get_the_same_answers(shop):
    wanted = wanted_of(shop, "guarded", "--key-file", "keys")
    assert len(wanted) == ROWS and all(abs(sum(row) - 1) < 1e-5 for row in wanted)
    for client, command in CLIENTS.items():
        for where in (shop.guarded, "guarded"):
            done = shop.command(*command(where, "rows.csv"), env={"SERVE_KEY_FILE": "keys"})
            assert near(answers(client, done), wanted), (client, where)


@every_client
def test_a_request_that_is_wrong_is_not_repeated(shop, client):
    url = shop.guarded
    done = shop.command(*CLIENTS[client](url, "rows.csv"), timeout=30)
    assert done.returncode != 0 and b"401" in done.stdout + done.stderr and b"key" in done.stdout + done.stderr
    (shop.work / "short.csv").write_text("1,2\n")
    done = shop.command(*CLIENTS[client](url, "short.csv"), env={"SERVE_KEY_FILE": "keys"}, timeout=30)
    assert done.returncode != 0 and b"400" in done.stdout + done.stderr and b"[1, 2]" in done.stdout + done.stderr


@every_client
def test_a_replica_that_is_restarted_is_waited_for(shop, url, client):
    wanted = wanted_of(shop, "shop")
    port = next(t["ports"][0] for t in shop.status("shop")["tasks"] if t["role"] == "a")
    os.kill(shop.find(f"ydl-native serve --host 127.0.0.1 --port {port}")[0], signal.SIGKILL)
    assert near(answers(client, shop.command(*CLIENTS[client](url, "rows.csv"))), wanted)


class Slow(threading.Thread):
    """A way to `url` whose first request is answered as one that came too slowly."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.at, self.server, self.refused = urlsplit(url), socket.create_server(("127.0.0.1", 0)), 0
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        self.start()

    def run(self):
        connection, _ = self.server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 17\r\n\r\n"
                               b'{"error": "slow"}')
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        self.refused += 1
        while True:
            client, _ = self.server.accept()
            server = socket.create_connection((self.at.hostname, self.at.port))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.forward, args=ends, daemon=True).start()

    @staticmethod
    def forward(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@every_client
def test_a_request_that_came_too_slowly_is_sent_again(shop, url, client):
    """As the gateway and the replicas say to a program that was paused while it sent."""
    wanted, slow = wanted_of(shop, "shop"), Slow(url)
    assert near(answers(client, shop.command(*CLIENTS[client](slow.url, "rows.csv"))), wanted) and slow.refused == 1


@every_client
@pytest.mark.usefixtures("url")
def test_a_deployment_that_moved_is_found_again(shop, client, tmp_path):
    """The first address that `ydl` tells is one where nobody listens; then there is none for a while."""
    wanted = wanted_of(shop, "shop")
    stale = tmp_path / "bin" / "ydl"
    stale.parent.mkdir()
    stale.write_text(f"""#!/bin/sh
if mkdir {tmp_path}/told 2>/dev/null; then
    echo http://127.0.0.1:1
elif mkdir {tmp_path}/moving 2>/dev/null; then
    exit 75
else
    exec {shop.bin}/ydl "$@"
fi
""")
    stale.chmod(0o755)
    done = shop.command(*CLIENTS[client]("shop", "rows.csv"),
                        env={"PATH": f"{stale.parent}:{shop.env['PATH']}"})
    assert (tmp_path / "moving").exists() and near(answers(client, done), wanted)

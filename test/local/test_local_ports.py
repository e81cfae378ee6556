"""Ports: announced ones are the task's alone."""

import concurrent.futures
import random
import socket

import pytest

LISTEN = r"""
import os, socket, sys
s = socket.socket()
if len(sys.argv) > 1:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", int(os.environ["YDL_PORT"])))
s.listen()
print(os.environ["YDL_PORT"], flush=True)
# Every port of the job is taken before anybody leaves.
k = socket.socket(socket.AF_UNIX)
k.connect(os.environ["YDL_SOCKET"])
k.sendall(b"barrier up\n")
assert k.recv(100) == b"ok\n"
"""


OWN = (24000, 24199)  # a range that half of the launches ask for


def _launch(local, tasks, own=False):
    words = ["-f", "own.yaml"] if own else []
    done = local.run("run", *words, "--role", f"worker={tasks},ports=1", "--", "python3",
                     "listen.py", check=0, timeout=120)
    return [int(line.split("│ ")[1]) for line in done.stdout.decode().splitlines()]


def _campaign(local, launches, tasks):
    (local.work / "listen.py").write_text(LISTEN)
    (local.work / "own.yaml").write_text(f"port-range: {OWN[0]}-{OWN[1]}\n")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, ports in enumerate(pool.map(lambda i: _launch(local, tasks, i % 2 == 1),
                                           range(launches))):
            low, high = OWN if i % 2 == 1 else (10000, 32767)
            assert len(set(ports)) == tasks
            assert all(low <= p <= high for p in ports)


def test_launches_side_by_side_never_collide(local):
    _campaign(local, launches=12, tasks=4)


@pytest.mark.full
def test_a_thousand_launches_never_collide(local):
    _campaign(local, launches=1000, tasks=2)


def test_ports_come_from_the_range_asked_for(local):
    (local.work / "job.yaml").write_text(
        "port-range: 21000-21049\ncommand: sh -c 'echo $YDL_PORT'\nroles: {worker: {count: 20, ports: 1}}\n")
    done = local.run("run", "-f", "job.yaml", check=0)
    ports = [int(line.split("│ ")[1]) for line in done.stdout.decode().splitlines()]
    assert len(set(ports)) == 20 and all(21000 <= p <= 21049 for p in ports)


SLOW = r"""
import os, pathlib, socket, time
pathlib.Path("waits").touch()
while not os.path.exists("go"):
    time.sleep(0.02)
s = socket.socket()
s.bind(("0.0.0.0", int(os.environ["YDL_PORT"])))
s.listen()
"""


def _free_port():
    """A port of nobody, and none that jobs or clusters of other tests take by themselves, nor one from
    2000 to 5999, where tests of the agent look for a range of their own: from here to its use nobody
    holds it."""
    for number in random.sample(range(1100, 2000), 100):
        with socket.socket() as s:
            try:
                s.bind(("0.0.0.0", number))
                return number
            except OSError:
                continue
    raise AssertionError("no port is free")


def test_a_port_is_the_tasks_alone_before_it_binds_it(local):
    """A program needs seconds to its own bind: until then the port is nobody's for the kernel."""
    (local.work / "slow.py").write_text(SLOW)
    number = _free_port()
    (local.work / "job.yaml").write_text(
        f"port-range: {number}-{number}\nroles: {{worker: {{count: 1, ports: 1}}}}\n")
    first = local.start("run", "-f", "job.yaml", "--", "python3", "slow.py")
    local.wait_for((local.work / "waits").exists, "the task runs and has not bound its port")
    other = local.run("run", "-f", "job.yaml", "--", "true")
    (local.work / "go").touch()
    _, said = first.communicate(timeout=50)
    assert other.returncode not in (0, 2), local.tell(other)
    assert f"no port from {number} to {number} is free" in other.stderr.decode()
    assert first.returncode == 0, said.decode()

"""Every framework, with a small program that speaks its side: environment, ports, rendezvous.

Real packages have tests of their own; here it is what the launcher promises to each of them.
"""

import json
import sys
from pathlib import Path

import pytest

RENDEZVOUS = Path(__file__).resolve().parents[1] / "rendezvous"
CLUSTER = RENDEZVOUS.with_name("cluster")

# What several programs need: a server on an address, a barrier of the whole job, a connection.
COMMON = r"""
import json, os, socket, sys, time
E = os.environ

def serve(host, port, reuse=True):
    s = socket.socket()
    if reuse:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, int(port)))
    s.listen()
    return s

def ask(line):
    with socket.socket(socket.AF_UNIX) as k:
        k.connect(E["YDL_SOCKET"])
        k.sendall(line.encode() + b"\n")
        return k.makefile().readline().strip()

def barrier(name, count):
    assert ask(f"barrier {name} {count} 200000") == "ok"

def reach(address):
    host, port = address.rsplit(":", 1)
    socket.create_connection((host, int(port)), 300).close()

def reach_when_up(address):
    while True:
        try:
            return reach(address)
        except ConnectionRefusedError:
            time.sleep(0.05)
"""


def _run(local, text, *args, check=0, python="python3", **kw):
    (local.work / "common.py").write_text(COMMON)
    (local.work / "task.py").write_text("from common import *\n" + text)
    return local.run("run", *args, "--", python, "task.py", check=check, **kw)


def _lines(done):
    return sorted(line.split("│ ", 1)[1] for line in done.stdout.decode().splitlines())


def test_pytorch_ranks_meet_at_the_first_one(local):
    done = _run(local, """
rank, world = int(E["RANK"]), int(E["WORLD_SIZE"])
if rank == 0:
    s = serve("0.0.0.0", E["MASTER_PORT"])
    for _ in range(world - 1):
        s.accept()
else:
    reach_when_up(E["MASTER_ADDR"] + ":" + E["MASTER_PORT"])
print(rank, world, E["LOCAL_RANK"], E["LOCAL_WORLD_SIZE"], E["GROUP_RANK"], E["GROUP_WORLD_SIZE"],
      E["TORCHELASTIC_RESTART_COUNT"])
""", "-n", "2", "--procs", "2", "--framework", "pytorch")
    assert _lines(done) == ["0 4 0 2 0 2 0", "1 4 1 2 0 2 0", "2 4 0 2 1 2 0", "3 4 1 2 1 2 0"]


def test_pytorch_processes_that_share_a_machine_share_its_cores(local):
    """As torchrun does, also where each has a container of its own. TonY's names are there too."""
    done = _run(local, """
print(E.get("OMP_NUM_THREADS"), E["WORLD"], E["INIT_METHOD"] == "tcp://%s:%s" % (E["MASTER_ADDR"], E["MASTER_PORT"]))
""", "-n", "4", "--framework", "pytorch", env={"OMP_NUM_THREADS": ""})
    assert _lines(done) == [" 4 True"] * 4, "what the user has set stays, even if it is nothing"
    local.env.pop("OMP_NUM_THREADS", None)
    for words, threads in ((["-n", "4"], "1"), (["-n", "2", "--cpus", "3"], "3"), (["-n", "1"], "None")):
        done = _run(local, "print(E.get('OMP_NUM_THREADS'))", *words, "--framework", "pytorch")
        assert set(_lines(done)) == {threads}, words


def test_pytorch_error_file_becomes_the_story(local):
    _run(local, """
import time
if E["RANK"] == "1":
    json.dump({"message": {"message": "RuntimeError: bad gradient", "extraInfo":
               {"py_callstack": "…", "timestamp": str(int(time.time()))}}},
              open(E["TORCHELASTIC_ERROR_FILE"], "w"))
    sys.exit(1)
time.sleep(600)
""", "-n", "2", "--framework", "pytorch", check=1)
    story = json.loads(local.run("status", "--json", "last", check=0).stdout)["story"]
    assert story["task"] == "worker:1" and "bad gradient" in story["text"]


def test_tensorflow_tasks_listen_where_the_others_look(local):
    (local.work / "job.yaml").write_text(
        "framework: tensorflow\ncommand: python3 task.py\n"
        "roles: {chief: 1, worker: 2, ps: 1, evaluator: 1}\n")
    (local.work / "common.py").write_text(COMMON)
    (local.work / "task.py").write_text("""from common import *
c = json.loads(E["TF_CONFIG"])
kind, index = c["task"]["type"], c["task"]["index"]
assert "evaluator" not in c["cluster"]
all_of_them = [a for role in c["cluster"].values() for a in role]
if kind != "evaluator":
    host, port = c["cluster"][kind][index].rsplit(":", 1)
    s = serve(host, port)
    barrier("up", len(all_of_them))
    for a in all_of_them:
        reach(a)
    barrier("met", len(all_of_them))
print(kind, index, len(all_of_them))
if kind in ("ps", "evaluator"):
    import time
    time.sleep(600)          # never ends by itself
""")
    done = local.run("run", "-f", "job.yaml", check=0)
    assert {"chief 0 4", "worker 0 4", "worker 1 4"} <= set(_lines(done))


def test_tensorflow_flags_for_old_scripts(local):
    done = _run(local, """
words = dict(w.lstrip("-").split("=", 1) for w in sys.argv[1:])
assert len(words["worker_hosts"].split(",")) == 2 and len(words["ps_hosts"].split(",")) == 1
print(words["job_name"], words["task_index"])
if words["job_name"] == "ps":
    import time
    time.sleep(600)
""", "-n", "2", "-s", "1", "--framework", "tensorflow-flags")
    assert {"worker 0", "worker 1"} <= set(_lines(done))


def test_mxnet_roles_find_the_scheduler(local):
    done = _run(local, """
role = E["DMLC_ROLE"]
assert E["DMLC_NUM_WORKER"] == "2" and E["DMLC_NUM_SERVER"] == "1"
if role == "scheduler":
    s = serve(E["DMLC_PS_ROOT_URI"], E["DMLC_PS_ROOT_PORT"])
    barrier("up", 4)
    for _ in range(3):
        s.accept()
else:
    barrier("up", 4)
    reach(E["DMLC_PS_ROOT_URI"] + ":" + E["DMLC_PS_ROOT_PORT"])
print(role)
""", "-n", "2", "-s", "1", "--framework", "mxnet")
    assert {"worker"} <= set(_lines(done))


@pytest.mark.parametrize("framework", ["rabit", "xgboost"])
def test_trackers_give_everybody_a_rank(local, framework):
    module = {"rabit": "rabit_worker", "xgboost": "test_xgboost"}[framework]
    done = _run(local, f"""
sys.path[:0] = [{str(RENDEZVOUS)!r}, {str(CLUSTER)!r}]
from {module} import Worker
from served import Wire, PATIENCE
class Tracker:
    def dial(self):
        return Wire(socket.create_connection((E["DMLC_TRACKER_URI"], int(E["DMLC_TRACKER_PORT"])),
                                             PATIENCE))
w = Worker(Tracker(), E["DMLC_TASK_ID"]).join()
print(w.rank, w.world)
barrier("met", 3)
w.shutdown() if hasattr(w, "shutdown") else w.say(cmd=2)
""", "-n", "3", "--framework", framework, python=sys.executable)  # its modules need what tests need
    assert _lines(done) == ["0 3", "1 3", "2 3"]


def test_horovod_store_serves_all_ranks(local):
    done = _run(local, """
import http.client, time
def call(method, path, body=None):
    c = http.client.HTTPConnection(E["HOROVOD_GLOO_RENDEZVOUS_ADDR"],
                                   int(E["HOROVOD_GLOO_RENDEZVOUS_PORT"]), timeout=120)
    c.request(method, path, body)
    r = c.getresponse()
    return r.status, r.read()
rank, size = int(E["HOROVOD_RANK"]), int(E["HOROVOD_SIZE"])
assert call("PUT", f"/global/{rank}", f"address of {rank}")[0] == 200
for other in range(size):
    while True:
        status, value = call("GET", f"/global/{other}")
        if status == 200:
            break
        time.sleep(0.01)
    assert value.decode() == f"address of {other}"
barrier("read", size)
call("DELETE", f"/global/{rank}")
print(rank, size, E["HOROVOD_LOCAL_RANK"], E["HOROVOD_CROSS_SIZE"])
""", "-n", "3", "--framework", "horovod")
    assert [line.split()[:2] for line in _lines(done)] == [["0", "3"], ["1", "3"], ["2", "3"]]


def test_mpi_processes_exchange_through_pmi(local):
    program = local.bin.parent / "unit" / "agent_pmi_client"
    done = local.run("run", "-n", "4", "--framework", "mpi", "--", program, check=0)
    assert len(done.stdout.decode().splitlines()) >= 4


def test_jax_processes_meet_at_the_coordinator(local):
    done = _run(local, """
if E["JAX_PROCESS_ID"] == "0":
    s = serve("0.0.0.0", E["JAX_COORDINATOR_ADDRESS"].rsplit(":", 1)[1])
barrier("up", 3)
reach(E["JAX_COORDINATOR_ADDRESS"])
barrier("met", 3)
print(E["JAX_PROCESS_ID"], E["JAX_NUM_PROCESSES"])
""", "-n", "3", "--framework", "jax")
    assert _lines(done) == ["0 3", "1 3", "2 3"]


def test_lightgbm_machines_listen_without_reuse(local):
    done = _run(local, """
machines = E["LIGHTGBM_MACHINES"].split(",")
s = serve("0.0.0.0", E["LIGHTGBM_LOCAL_LISTEN_PORT"], reuse=False)
barrier("up", len(machines))
for m in machines:
    reach(m)
barrier("met", len(machines))
print(len(machines))
""", "-n", "3", "--framework", "lightgbm")
    assert _lines(done) == ["3", "3", "3"]


def test_deepspeed_has_what_torch_has_and_more(local):
    done = _run(local, """
print(E["RANK"], E["WORLD_SIZE"], E["LOCAL_RANK"], E["MASTER_ADDR"], E["CROSS_SIZE"], E["LOCAL_SIZE"])
""", "-n", "2", "--framework", "deepspeed")
    assert _lines(done) == ["0 2 0 127.0.0.1 2 1", "1 2 0 127.0.0.1 2 1"]


@pytest.mark.parametrize("framework, program, variable", [
    ("dask", "dask", "DASK_SCHEDULER_ADDRESS"), ("ray", "ray", "RAY_ADDRESS")])
def test_clusters_within_the_job_serve_the_users_command(local, framework, program, variable):
    # A stand-in for the package's own command: listens where it is told to, and stays.
    stand_in = local.work / "bin" / program
    stand_in.parent.mkdir()
    stand_in.write_text(r"""#!/usr/bin/env python3
import os, re, socket, sys, time
words = " ".join(sys.argv)
port = re.search(r"--port[= ](\d+)", words)
head = "scheduler" in words or "--head" in words
if head and port:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", int(port.group(1))))
    s.listen()
time.sleep(600)
""")
    stand_in.chmod(0o755)
    done = _run(local, f"""
reach_when_up(E["{variable}"].removeprefix("tcp://"))
print("met")
""", "-n", "2", "--framework", framework,
                env={"PATH": f"{stand_in.parent}:{local.env['PATH']}"})
    assert "met" in _lines(done)

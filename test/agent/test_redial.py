"""A master that is lost, comes back, or is followed by another: tasks go on."""

import json
import os
import shutil
import signal
import socket
import time

import pytest
from agent_support import EXIT, NONE, PATIENCE, alive, command, wait_until
from container_support import JOB


def test_a_lost_connection_is_made_again_with_everything_told(container):
    b = container()
    port = b.prepare({"task": 0, "name": "worker:0", "ports_wanted": 1, "slot": 7,
                      "out_base": 100, "err_base": 20})[0]["ports"]
    b.start(command(0, "echo hello; sleep 600", generation=2, attempt=3))
    pid = b.take_task("started", 0)["pid"]
    b.launch(1, "echo why >&2; exit 3", attempt=1)
    end = b.exited(1)
    wait_until(lambda: (b.logs / "worker-0.stdout").read_text() == "hello\n")
    b.prepare({"task": 2, "name": "worker:2"})
    b.hang_up()
    hello = b.next_hello()
    assert hello["again"] and hello["container"]
    held = {t["task"]: t for t in hello["tasks"]}
    assert held[0] == {"task": 0, "generation": 2, "attempt": 3, "pid": pid, "ports": port,
                       "ready": False, "ended": False, "slot": 7, "out_base": 100,
                       "err_base": 20, "out_size": 6, "err_size": 0, "log_began": 4,
                       "out_saved": 0, "err_saved": 0}
    assert (held[1]["ended"], held[1]["pid"], held[2]["ended"], held[2]["pid"]) == (True, 0, False, 0)
    assert b.exited(1) == end  # told again, just so
    assert alive(pid)
    b.launch(1, "exit 4")  # and forgotten with the next start
    b.exited(1)
    b.tell(drop={"tasks": [1]})
    wait_until(lambda: not (b.run / ".ydl" / "tasks" / "worker-1.sock").exists())
    b.hang_up()
    assert {t["task"] for t in b.next_hello()["tasks"]} == {0, 2}
    b.leave()


def test_what_happens_without_a_master_is_not_lost(container):
    b = container()
    pid = b.launch(0, "until [ -e go ]; do sleep 0.01; done; touch ready; sleep 0.1; exit 5")
    b.prepare({"task": 1, "name": "worker:1"})
    b.start(command(1, "sleep 600", ready={"kind": 3, "what": "ready", "timeout_ms": 60000}))
    b.take_task("started", 1)
    b.driver.kill()
    b.driver.wait()
    (b.run / "go").touch()
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))  # somebody knows of its end
    b.new_master()
    b.announce()
    held = {t["task"]: t for t in b.next_hello()["tasks"]}
    assert held[1]["pid"] and b.exited(0)["code"] == 5
    if not held[1]["ready"]:  # it may not have looked yet
        b.ready(1)
    b.launch(0, "exit 6", attempt=1)
    assert b.exited(0)["code"] == 6
    b.leave()


def test_another_master_is_found_by_its_file(container):
    b = container()
    pid = b.launch(0, "i=0; while :; do echo $i; i=$((i+1)); sleep 0.02; done")
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 20})
    b.take(lambda e: "output" in e.get("from", {}))
    b.announce("tcp:127.0.0.1:9")  # of nobody: it goes on looking
    b.driver.kill()
    b.driver.wait()
    b.new_master()
    time.sleep(0.5)
    b.announce()
    hello = b.next_hello()
    assert hello["again"] and hello["tasks"][0]["pid"] == pid and alive(pid)
    time.sleep(0.3)
    assert not any("output" in e.get("from", {}) for e in list(b.events.queue))  # nobody reads yet
    b.tell(follow={"tasks": [{"task": 0}], "credit": 1 << 20})
    piece = b.take(lambda e: "output" in e.get("from", {}))["from"]["output"]["pieces"][0]
    assert piece["offset"] == 0
    b.leave()


def test_questions_that_were_asked_are_asked_again(container):
    b = container()
    b.launch(0, "curl -sS --unix-socket $YDL_SOCKET 'http://x/v1/kv/key?wait=600000'")
    wait_until(lambda: b.kv.waits)
    b.driver.kill()
    b.driver.wait()
    b.new_master()
    b.announce()
    b.next_hello()
    wait_until(lambda: b.kv.waits)
    agent, request = b.kv.waits.pop()
    b.kv.reply(agent, request, "value", "here")
    assert b.exited(0)["fail"] == NONE and b.output(0) == b"here"
    b.leave()


def test_a_question_keeps_its_number_and_another_agents_has_another(container):
    """By its number a master that only lost the connection knows what it has done already."""
    b = container()
    ask = "curl -sS --unix-socket $YDL_SOCKET 'http://x/v1/kv/key?wait=600000'"
    b.launch(0, ask)
    wait_until(lambda: b.kv.waits)
    b.hang_up()
    b.next_hello()
    wait_until(lambda: len(b.kv.waits) == 2)
    first, again = (request["id"] for _, request in b.kv.waits)
    assert first == again
    b.agents[0].kill()
    b.agents[0].wait()
    b.new_agent()
    b.launch(0, ask, attempt=1)
    wait_until(lambda: len(b.kv.waits) == 3)
    assert b.kv.waits[2][1]["id"] != first
    b.leave()


def test_the_lease_ends_and_everything_with_it(container):
    b = container(lease=6500)
    b.launch(0, "sleep 600")
    b.driver.kill()
    began = time.monotonic()
    assert b.gone()
    assert time.monotonic() - began > 3 and b.agents[0].returncode not in (0, None)
    assert "has been lost for 6 s" in (b.logs / "agent.log").read_text()


def test_a_silent_master_is_left_for_one_that_speaks(container):
    b = container(lease=600_000, heartbeat=200)
    b.launch(0, "sleep 600")
    silent = b.driver
    os.kill(silent.pid, 19)
    b.new_master()
    b.announce()
    assert b.next_hello()["again"]
    b.leave()


def test_a_master_that_the_resource_manager_does_not_answer_is_left_for_a_newer_one(container):
    b = container()
    pid = b.launch(0, "sleep 600")
    b.announce()
    old = b.driver
    alone = {"agent": 0, "to": {"ping": {"seq": 1, "alone_ms": 20000}}}
    b.new_master()
    b.announce()
    old.stdin.write(json.dumps(alone) + "\n")
    old.stdin.flush()
    hello = b.next_hello()
    assert hello["again"] and hello["tasks"][0]["pid"] == pid and alive(pid)
    assert old.poll() is None  # it was there all the time
    b.leave()


def test_a_master_is_not_left_for_an_older_one(container):
    b = container()
    b.launch(0, "sleep 600")
    first = b.address
    b.driver.kill()
    b.driver.wait()
    b.new_master()
    b.announce()
    b.next_hello()
    b.announce(first, attempt=1)
    b.tell(ping={"seq": 1, "alone_ms": 20000})
    b.tell(ping={"seq": 2, "alone_ms": 20000})
    b.exited(b.launch(1, "exit 3") and 1)  # it still obeys
    assert "newer master" not in (b.logs / "agent.log").read_text()
    b.leave()


def test_when_the_jobs_directory_is_gone_so_is_the_job(container):
    b = container(lease=900_000)
    b.launch(0, "trap '' TERM; setsid sleep 600 & while :; do sleep 0.1; done")
    shutil.rmtree(b.top / "hdfs" / "jobs" / JOB)
    b.hang_up()
    assert b.next_hello()["again"]  # as long as there is a master, it is believed
    b.driver.kill()
    b.driver.wait()
    assert b.gone() and b.agents[0].returncode not in (0, None)
    assert "the job is over" in (b.logs / "agent.log").read_text()


def test_a_directory_that_cannot_be_seen_says_nothing(container):
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        b = container(base=f"hdfs://127.0.0.1:{dumb.getsockname()[1]}/x")
        b.launch(0, "sleep 600")
        b.hang_up()
        assert b.next_hello()["again"] and b.processes()
        b.leave()


def test_a_stranger_at_the_address_is_no_master(container):
    b = container()
    b.launch(0, "sleep 600")
    b.driver.kill()
    b.driver.wait()
    with socket.create_server(("127.0.0.1", 0)) as s:
        b.announce(f"tcp:127.0.0.1:{s.getsockname()[1]}")
        conn, _ = s.accept()
        conn.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        conn.close()
        time.sleep(0.5)
        assert b.agents[0].poll() is None and b.processes()  # it goes on looking
    b.new_master()
    b.announce()
    assert b.next_hello()["again"]
    b.leave()


def test_a_master_that_refuses_is_believed(container):
    b = container()
    b.launch(0, "sleep 600")
    b.driver.kill()
    b.driver.wait()
    b.new_master(refuses="it is over")
    b.announce()
    b.next_hello()
    assert b.gone() and b.agents[0].returncode not in (0, None)
    assert "refuses us: it is over" in (b.logs / "agent.log").read_text()


def test_a_new_container_finds_a_master_that_has_moved(container):
    b = container()
    b.agents[0].kill()
    b.agents[0].wait()
    b.announce()
    assert not b.new_agent("tcp:127.0.0.1:9")["again"]
    b.launch(0, "exit 3")
    assert b.exited(0)["fail"] == EXIT
    b.leave()


@pytest.mark.parametrize("removed", [False, True])
def test_the_next_agent_goes_on_in_the_files_of_one_that_was_killed(container, removed):
    """Under a master that is new as well: who follows the task must not be shown them again."""
    b = container()
    b.prepare({"task": 0, "name": "worker:0", "out_base": 100, "err_base": 20})
    b.start(command(0, "echo hello; sleep 600", attempt=3))
    first = b.take_task("started", 0)
    assert (first["log_began"], first["out_base"], first["err_base"]) == (4, 100, 20)
    os.kill(b.pid, signal.SIGKILL)
    b.agents[0].wait()
    if removed:  # as the directory of a container is, when somebody cleans up
        shutil.rmtree(b.run / ".ydl")
    b.new_master()
    b.new_agent()
    b.prepare({"task": 0, "name": "worker:0"}, {"task": 1, "name": "worker:1"})
    b.start(command(0, "sleep 600", attempt=5), command(1, "sleep 600", attempt=5))
    again, other = b.take_task("started", 0), b.take_task("started", 1)
    assert (again["log_began"], again["out_base"], again["err_base"]) == (4, 100, 20)
    assert (other["log_began"], other["out_base"], other["err_base"]) == (6, 0, 0)
    b.leave()


# ---- a node that is cut off ----

@pytest.fixture
def silence():
    """An HDFS to which no connection comes about, as from a node that is cut off: its queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        filled = [socket.socket() for _ in range(4)]
        for s in filled:
            s.setblocking(False)
            s.connect_ex(server.getsockname())
        yield f"hdfs://127.0.0.1:{server.getsockname()[1]}/user/nobody"
        for s in filled:
            s.close()


def test_tasks_on_a_node_that_is_cut_off_end_before_others_take_their_place(container, silence):
    """Neither the master nor HDFS: YARN will give the node up, long before the lease is over."""
    b = container(lease=600000, base=silence, cut=4000, heartbeat=200)
    pid = b.launch(0, "sleep 600")
    b.driver.kill()
    wait_until(lambda: not alive(pid))
    assert b.gone()
    assert "this node is cut off" in (b.logs / "agent.log").read_text()


def test_a_master_that_is_cut_off_with_its_agent_keeps_no_task(container, silence):
    """It is on the same node, and says that the ResourceManager does not answer it. That it answers
    an agent which comes again says nothing."""
    b = container(lease=600000, base=silence, cut=4000, heartbeat=0)
    pid = b.launch(0, "sleep 600")
    began = time.monotonic()
    b.hang_up()
    b.next_hello()

    def is_ended():
        b.tell(ping={"seq": 1, "alone_ms": 100 + int(1000 * (time.monotonic() - began))})
        return not alive(pid)

    wait_until(is_ended)
    assert b.gone()
    assert "tasks end before they are started elsewhere" in (b.logs / "agent.log").read_text()


def test_a_node_that_its_master_can_reach_is_not_cut_off(container, silence, monkeypatch):
    monkeypatch.setenv("DRIVER_PONGS", "1")
    b = container(lease=600000, base=silence, cut=8000, heartbeat=200)
    pid = b.launch(0, "sleep 600")
    for _ in range(60):  # in 12 s
        b.take(lambda e: "pong" in e.get("from", {}))
    assert alive(pid)
    b.signal(signal.SIGTERM)


def test_a_node_that_reaches_hdfs_is_not_cut_off(container):
    """A machine that refuses connections is there. The master is being restarted as well."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # nobody listens
        b = container(lease=600000, base=f"hdfs://127.0.0.1:{held.getsockname()[1]}/user/nobody",
                      cut=6000, heartbeat=200)
        pid = b.launch(0, "sleep 600")
        os.kill(b.driver.pid, signal.SIGSTOP)
        time.sleep(12)  # longer than the limit, and the look at its end
        os.kill(b.driver.pid, signal.SIGCONT)
        assert b.next_hello()["tasks"][0]["pid"] == pid and alive(pid)
        b.signal(signal.SIGTERM)


def test_a_node_that_reaches_the_resource_manager_is_not_cut_off(container, silence):
    """HDFS and the master are away for everybody: YARN has no reason to give the node up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        conf = "<configuration><property><name>yarn.resourcemanager.address</name><value>" \
               f"127.0.0.1:{server.getsockname()[1]}</value></property></configuration>"
        b = container(lease=600000, base=silence, cut=6000, conf=conf, heartbeat=200)
        server.settimeout(10 * PATIENCE)
        pid = b.launch(0, "sleep 600")
        os.kill(b.driver.pid, signal.SIGSTOP)
        for _ in range(2):  # each is a look that would have been the last
            server.accept()[0].close()
        os.kill(b.driver.pid, signal.SIGCONT)
        assert b.next_hello()["tasks"][0]["pid"] == pid and alive(pid)
        b.signal(signal.SIGTERM)


def test_an_agent_that_stood_still_looks_before_it_ends_its_tasks(container):
    b = container(lease=600000, cut=4000, heartbeat=200)
    pid = b.launch(0, "sleep 600")
    os.kill(b.pid, signal.SIGSTOP)
    b.driver.kill()
    b.driver.wait()
    b.new_master()
    b.announce()
    time.sleep(5)  # longer than the limit
    os.kill(b.pid, signal.SIGCONT)
    assert b.next_hello()["tasks"][0]["pid"] == pid and alive(pid)
    b.leave()

"""Ports: held by one agent only, from the promise to the end."""

import collections
import contextlib
import os
import random
import socket

from agent_support import NONE, command
from flooding import NOBODY, as_user

LISTEN = ("python3 -c 'import socket, sys, time\n"
          "s = socket.socket()\n"
          "{option}\n"
          "s.bind((\"\", int(sys.argv[1]))); s.listen()\n"
          "print(\"up\", flush=True); time.sleep(0.3)' ")
REUSE = "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)"


def free_range(count: int) -> tuple[int, int]:
    """A range of `count` ports that nobody on this machine has, another run of this suite neither; and
    none that a job or a cluster of another test might take (ydl_cluster.ports)."""
    first, end = (2000, 4400) if count > 100 else (4400, 6000)  # tests side by side do not meet
    for low in random.sample(range(first, end, count), (end - first) // count):
        with contextlib.ExitStack() as all_of_them, contextlib.suppress(OSError):
            for port in range(low, low + count):
                all_of_them.enter_context(socket.socket()).bind(("", port))
            return low, low + count - 1
    raise AssertionError(f"no {count} free ports in a row")


def test_eight_agents_never_hold_the_same_port(bench):
    # A range so small that they are bound to try the same ones.
    low, high = free_range(400)
    b = bench(agents=8, port_low=low, port_high=high)
    for i in range(8):
        b.tell(i, prepare={"tasks": [{"task": n, "name": f"worker:{n}", "ports_wanted": 2}
                                     for n in range(i * 20, i * 20 + 20)]})
    got = collections.Counter()
    for i in range(8):
        for n in range(i * 20, i * 20 + 20):
            ready = b.take_task("prepared", n, agent=i)
            assert ready["fail"] == NONE
            got.update(ready["ports"])
    assert len(got) == 320 and max(got.values()) == 1
    assert all(low <= port <= high for port in got)


def test_released_ports_are_the_tasks_own(bench):
    low, high = free_range(20)
    b = bench(agents=2, port_low=low, port_high=high)
    held = [b.prepare({"task": i, "name": f"worker:{i}", "ports_wanted": 1, "share_ports": i % 2},
                      agent=i % 2)[0]["ports"][0] for i in range(10)]
    assert len(set(held)) == 10
    for i, port in enumerate(held):
        option = REUSE if i % 2 else ""  # neither option: the port must have been let go
        b.start(command(i, LISTEN.replace("{option}", option) + str(port)), agent=i % 2)
    for i in range(10):
        b.take_task("started", i, agent=i % 2)
    more = [b.prepare({"task": 100 + i, "name": f"other:{i}", "ports_wanted": 1},
                      agent=i % 2)[0]["ports"][0] for i in range(10)]
    assert not set(more) & set(held) and len(set(more)) == 10
    full = b.prepare({"task": 200, "name": "other:200", "ports_wanted": 1})[0]
    assert full["fail"] and full["text"] == f"no port from {low} to {high} is free"
    for i in range(10):
        end = b.exited(i, agent=i % 2)
        assert end["fail"] == NONE and b.output(i) == b"up\n", end
    for i, port in enumerate(held):  # held again after the end, for the next attempt
        with socket.socket() as s:
            try:
                s.bind(("", port))
                raise AssertionError(f"{port} is free")
            except OSError:
                pass
        again = b.prepare({"task": i, "name": f"worker:{i}", "ports": [port]}, agent=i % 2)[0]
        assert again["ports"] == [port]
    b.shutdown()
    for port in held:  # and nobody's afterwards
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("", port))


def test_ports_stay_below_the_ephemeral_range(bench):
    b = bench()
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first = int(f.read().split()[0])
    ports = [p for t in b.prepare(*[{"task": i, "name": f"worker:{i}", "ports_wanted": 4}
                                    for i in range(50)]) for p in t["ports"]]
    assert len(set(ports)) == 200 and all(10000 <= p < min(first, 32768) for p in ports)


def test_the_agent_knows_a_connection_of_our_own(bench):
    _ask_whose(bench, os.geteuid(), True)


def test_the_agent_knows_a_connection_of_another_user(bench, needs_root):
    _ask_whose(bench, NOBODY, False)


def _ask_whose(bench, user, ours):
    b = bench()
    with socket.create_server(("127.0.0.1", 0)) as tracker:
        tracker.settimeout(120)
        child = as_user(user, *tracker.getsockname(), lambda s: s.recv(1))  # until it is let go
        with tracker.accept()[0] as s:
            (here, port), (there, from_port) = s.getsockname(), s.getpeername()
            b.tell(whose={"id": 1, "from": there, "from_port": from_port, "to": here,
                          "to_port": port})
            b.tell(whose={"id": 2, "from": there, "from_port": from_port, "to": here,
                          "to_port": 1})
            b.tell(whose={"id": 3, "from": "elsewhere", "from_port": 70000, "to": "", "to_port": 1})
            answers = [b.take(lambda e: "owner" in e.get("from", {}))["from"]["owner"]
                       for _ in range(3)]
        os.waitpid(child, 0)
    assert [a["id"] for a in answers] == [1, 2, 3]
    assert [a.get("ours", False) for a in answers] == [ours, False, False]

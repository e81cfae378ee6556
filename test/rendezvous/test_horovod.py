"""The key-value server of Horovod's gloo, met by clients that ask as its workers do."""

import http.client
import socket
import time

import pytest
from served import HOST, PATIENCE, Server, together
from ydl_cluster.patience import stretched


def ask(server, method, path, body=None):
    """One request on a connection of its own, as the C++ client makes them."""
    c = http.client.HTTPConnection(HOST, server.port, timeout=PATIENCE)
    try:
        c.request(method, path, body)
        answer = c.getresponse()
        return answer.status, answer.read()
    finally:
        c.close()


def wait_for(server, path):
    end = time.monotonic() + stretched(PATIENCE)
    while time.monotonic() < end:
        status, value = ask(server, "GET", path)
        if status == 200:
            return value
        assert status == 404
        time.sleep(0.01)
    raise TimeoutError(path)


def rendezvous(server, scope, rank, size):
    """What gloo does: everybody's name and addresses, then done."""
    ask(server, "PUT", f"/{scope}/rank_{rank}", b"host")
    assert ask(server, "PUT", f"/{scope}/{rank}", b"address of %d" % rank) == (200, b"")
    got = [wait_for(server, f"/{scope}/{r}") for r in range(size)]
    return got


def test_all_learn_of_all_again_and_again():
    with Server("horovod", 4) as server:
        for _ in range(2):
            everybody = [b"address of %d" % r for r in range(4)]
            got = together(lambda r=r: rendezvous(server, "global", r, 4) for r in range(4))
            assert got == [everybody] * 4
            together(lambda r=r: ask(server, "DELETE", f"/global/{r}") for r in range(4))
            assert ask(server, "GET", "/global/0") == (404, b"")


def test_scopes_are_apart():
    with Server("horovod", 2) as server:
        ask(server, "PUT", "/local_h%20x/0", b"a")
        ask(server, "PUT", "/cross_0/0", b"\0\xff" * 5000)
        assert ask(server, "GET", "/local_h%20x/0") == (200, b"a")
        assert ask(server, "GET", "/cross_0/0") == (200, b"\0\xff" * 5000)
        assert ask(server, "GET", "/cross_1/0")[0] == 404
        ask(server, "DELETE", "/cross_0/0")
        assert ask(server, "GET", "/cross_0/0")[0] == 404


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/", 400), ("GET", "/nokey", 400), ("PUT", "/scope/", 400), ("PUT", "//key", 400),
    ("PUT", f"/{'s' * 300}/k", 400), ("POST", "/scope/key", 405),
])
def test_other_requests_are_refused(method, path, status):
    with Server("horovod", 2) as server:
        assert ask(server, method, path, b"x" if method != "GET" else None)[0] == status
        assert ask(server, "PUT", "/global/0", b"v")[0] == 200


def test_a_value_too_long_is_refused_and_the_job_goes_on():
    with Server("horovod", 2) as server:
        with socket.create_connection((HOST, server.port), PATIENCE) as s:
            s.sendall(b"PUT /global/0 HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            assert b"413" in s.recv(1000).split(b"\r\n")[0]
        together(lambda r=r: rendezvous(server, "global", r, 2) for r in range(2))


def test_silent_guests_do_not_disturb():
    with Server("horovod", 2) as server:
        silent = [socket.create_connection((HOST, server.port)) for _ in range(40)]
        for s in silent[::2]:
            s.sendall(b"PUT /global/0 HTTP/1.1\r\n")
        together(lambda r=r: rendezvous(server, "global", r, 2) for r in range(2))
        for s in silent:
            s.close()

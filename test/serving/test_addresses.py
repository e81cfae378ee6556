"""Where a deployment is: `ydl serve address`, and clients that find one which has moved."""

import contextlib
import json
import os
import signal
import socket
from pathlib import Path
from urllib.parse import urlsplit


def lines(path):
    """Whole lines of a file that a program still writes."""
    return [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def gateway_agent(serving):
    """The agent that looks after the gateway's task."""
    pid = serving.find("ydl-native deployment")[0]
    while "ydl-node agent" not in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid


@contextlib.contextmanager
def taken(serving, url):
    """The gateway is killed, and somebody else has its port before the next one comes."""
    master, holder = serving.find("ydl-node master")[0], socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def bound():
        with contextlib.suppress(OSError):
            holder.bind(("127.0.0.1", urlsplit(url).port))
            holder.listen()
            return True
    os.kill(master, signal.SIGSTOP)
    os.kill(gateway_agent(serving), signal.SIGKILL)
    serving.wait_for(bound, "the port is free")
    os.kill(master, signal.SIGCONT)
    with holder:
        yield


def test_an_address_is_printed_and_followed_until_the_end(serving):
    url = serving.deploy("mlp", "--cpus", 1)
    assert serving.run("serve", "address", "mlp", check=0).stdout.decode() == url + "\n"
    told = json.loads(serving.run("serve", "address", "mlp", "--json", check=0).stdout)
    assert (told["name"], told["url"], told["urls"]) == ("mlp", url, [url])
    assert "'nobody'" in serving.run("serve", "address", "nobody", check=1).stderr.decode()
    wanted = serving.predict()

    with open(serving.work / "lines", "wb") as out, open(serving.work / "json", "wb") as docs:
        watches = [serving.start("serve", "address", "mlp", "--watch", stdout=out),
                   serving.start("serve", "address", "mlp", "--watch", "--json", stdout=docs)]
    said = serving.work / "lines"
    serving.wait_for(lambda: lines(said), "the first line")
    os.kill(gateway_agent(serving), signal.SIGKILL)
    # The replica went with the same agent, and needs longer than the gateway.
    serving.wait_for(lambda: serving.predict(check=None) == wanted, "an answer at its address")
    assert serving.run("serve", "address", "mlp", check=0).stdout.decode().strip() == url
    with taken(serving, url):
        serving.wait_for(lambda: len(lines(said)) == 2, "the gateway at another address")
    moved = lines(said)[1].strip()
    assert lines(said)[0].strip() == url != moved
    serving.wait_for(lambda: serving.predict(check=None) == wanted, "an answer where it is now")
    assert serving.run("serve", "address", "mlp", check=0).stdout.decode().strip() == moved

    serving.run("serve", "stop", "mlp", check=0)
    for watch in watches:
        _, complaints = watch.communicate(timeout=60)
        assert watch.returncode == 0 and b"has ended" in complaints, complaints
    assert [json.loads(line)["urls"] for line in lines(serving.work / "json")] == [[url], [moved]]


def test_who_watches_a_deployment_whose_job_dies_is_told(serving):
    serving.deploy("mlp", "--cpus", 1)
    with open(serving.work / "lines", "wb") as out:
        watch = serving.start("serve", "address", "mlp", "--watch", stdout=out)
    serving.wait_for(lambda: lines(serving.work / "lines"), "the first line")
    for pid in serving.find("ydl-node master"):
        os.kill(pid, signal.SIGKILL)
    _, complaints = watch.communicate(timeout=120)
    assert watch.returncode not in (0, 130) and complaints, complaints


def test_who_deploys_chooses_the_port(serving):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = serving.deploy("mlp", "--cpus", 1, "--gateway-port", port)
    assert url == f"http://127.0.0.1:{port}" and serving.predict()["predictions"]
    done = serving.run("serve", "deploy", "mlp", "--name", "second", "--gateway-port", "none")
    assert done.returncode == 2 and "port: expected a number, found 'none'" in done.stderr.decode(), done


def test_a_gateway_that_listens_on_one_address_is_found_there(serving):
    for host, shown in (("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"), ("[::1]", "[::1]"), ("::", "127.0.0.1")):
        url = serving.deploy("mlp", "--cpus", 1, "--host", host)
        assert url.rpartition(":")[0] == f"http://{shown}" and serving.predict()["predictions"], url
        assert serving.run("serve", "address", "mlp", check=0).stdout.decode().strip() == serving.status()["url"] == url
        listed = json.loads(serving.run("serve", "list", "--json", check=0).stdout)["deployments"]
        assert [one["url"] for one in listed] == [url]
        targets = json.loads(serving.run("serve", "targets", "mlp", check=0).stdout)
        assert [t["targets"] for t in targets if t["labels"]["role"] == "gateway"] == [[urlsplit(url).netloc]]
        serving.run("serve", "stop", "mlp", check=0)

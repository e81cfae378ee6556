"""Several gateways of one deployment: on nodes of their own, in YARN's registry, and one of them lost."""

import json
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

from serving_load import Load, ask
from test_survival import answers, parent
from ydl_cluster import registry_dns, spec as specs

REGISTERED = f"/users/{specs.me()}/services/ydl/mlp/components"


def registered(serving):
    """The addresses of the gateways that have a record: {HOST:PORT}."""
    found = set()
    for name in json.loads(serving.run("cluster", "registry", "--json", REGISTERED, check=0).stdout)["below"]:
        record = json.loads(serving.run("cluster", "registry", "--json", f"{REGISTERED}/{name}", check=0).stdout)["record"]
        if record and record.get("yarn:component") == "gateway":
            found |= {f"{at['host']}:{at['port']}" for end in record["external"] for at in end["addresses"]}
    return found


def gateways(serving):
    """The job's gateways, in their order."""
    tasks = json.loads(serving.run("status", "--json", "--tasks", serving.apps()[-1], check=0).stdout)["tasks"]
    return [task for task in tasks if task["role"] == "gateway"]


def test_gateways_are_spread_registered_and_not_missed(on, ha_cluster):
    serving = on(ha_cluster)
    urls = serving.deploy("mlp", "--replicas", 2, "--gateways", 2).split()
    tasks = gateways(serving)
    assert len({task["node"] for task in tasks}) == 2, tasks
    assert urls == serving.run("serve", "address", "mlp", check=0).stdout.split()
    assert [urlsplit(url).port for url in urls] == [task["ports"][0] for task in tasks]
    places = {f"{task['host']}:{task['ports'][0]}" for task in tasks}
    serving.wait_for(lambda: registered(serving) == places, "both in the registry")
    lay = ha_cluster.lay
    dns = registry_dns.RegistryDNS(lay.port("dns", "dns"), None, str(lay.logs / "dns.log"), lay.host_of("dns"))
    name = f"gateway.mlp.{specs.me()}.{registry_dns.DOMAIN}"
    hosts = sorted(task["host"] for task in tasks)
    serving.wait_for(lambda: sorted(dns.ask(name)) == hosts, "both in RegistryDNS")

    one = serving.predict()
    serving.wait_ready(2)
    for index in (1, 0):
        load = Load(urls[1 - index], one)
        running = [pid for pid in serving.pids("ydl-native deployment")
                   if f"YDL_INDEX={index}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")]
        agent = parent(running[0])
        os.kill(agent, signal.SIGKILL)
        serving.wait_for(lambda agent=agent: not Path(f"/proc/{agent}/exe").exists(), "its death")
        assert serving.predict() == one
        serving.wait_for(lambda index=index: answers(urls[index]), "an answer at its address")
        n, bad, wrong = load.end()
        assert n > 0 and not bad and not wrong
    serving.wait_for(lambda: registered(serving) == places, "both in the registry again")

    serving.push("mlp2")
    load = [Load(url, one, None) for url in urls]
    serving.run("serve", "update", "mlp", "--watch", "1s", check=0)
    two = ask(urls[0])[1]
    assert two != one and ask(urls[1]) == (200, two)
    ends = [x.end() for x in load]
    assert [bad for _, bad, _ in ends] == [[], []]
    assert all(answer == two for _, _, wrong in ends for answer in wrong)
    serving.run("serve", "stop", "mlp", check=0)

"""Runs on a real cluster, which several runs share; what one breaks is healed before the next."""

import json
import os
import random
import re
import time
import uuid
from pathlib import Path
from urllib import error as errors, request

from ydl_cluster import apart, private
from ydl_cluster.cluster import Cluster
from ydl_cluster.patience import Limit
from ydl_cluster.places import ClusterError

from .scenario import Scenario
from .world import World, marked

_OVER = ("FINISHED", "FAILED", "KILLED")
SEEDS_PER_CLUSTER = 25
_NO_RECOVERY = "yarn:yarn.nodemanager.recovery.enabled=false"
_UNCHANGED, _NO_QUOTA = 2**63 - 1, -1  # what HDFS calls so
_EMPTY_S = 60  # until a cluster has nothing to do
_DISKS = ["nm2:256"]
# YARN gives up what is silent for so long: the longest cut takes longer.
_SOON = [f"yarn:yarn.{who}.liveness-monitor.expiry-interval-ms=20000" for who in ("nm", "am")]
_FORGETS = ("nm.kill", "nm.restart", "rm.kill", "rm.restart")
_MASTER_MISSED_S = 30.0  # _SOON, which the ResourceManager looks at every third of that time
_NODE_AWAY_S = 180.0  # a NodeManager waits so long for an answer that a cut has swallowed
_DROPPED = re.compile(r"RMNodeImpl: .* Transitioned from RUNNING to (?:REBOOTED|LOST)$", re.MULTILINE)
_ATTEMPTS = 20  # of masters: they are killed more often than Hadoop's default of two allows


def keeps_containers(seed: int) -> bool:
    """Do NodeManagers of this run's cluster know their containers after a restart? Hadoop's default
    is that they do not; both are tried, in turns long enough to be worth a new cluster."""
    return seed // SEEDS_PER_CLUSTER % 2 == 0


def cluster_for(seed: int, number: int) -> Cluster:
    """`number` makes its name its own, also where an earlier one could not be ended."""
    keeps = keeps_containers(seed)
    settings = [f"yarn:yarn.resourcemanager.am.max-attempts={_ATTEMPTS}", *_SOON]
    return Cluster.up(name=f"chaos-{os.getpid()}-{number}-{'keep' if keeps else 'lose'}",
                      apart=apart.has_own_network(),
                      disks=_DISKS if private.missing() == "" else [],
                      settings=settings if keeps else [*settings, _NO_RECOVERY])


def _me() -> str:
    return os.environ.get("USER", "root")


class YarnWorld(World):
    """`cluster` is borrowed."""

    ended_in_s = 150.0
    gone_in_s = 20.0

    def __init__(self, scenario: Scenario, directory: Path, cluster: Cluster):
        super().__init__(scenario, directory)
        self.cluster = cluster
        self.mark = uuid.uuid4().hex
        self.before = set(self._apps())
        self.broken: set[str] = set()
        self.cut_off: set[str] = set()  # nodes without a network
        self.dropped = len(_DROPPED.findall(cluster.log("rm")))

    def _apps(self) -> dict[str, str]:
        """Every application's state."""
        page = self.cluster.rm_page("apps")
        if "apps" not in page:
            raise ClusterError("the ResourceManager does not say which applications there are")
        return {row["id"]: row["state"] for row in (page["apps"] or {}).get("app") or []}

    def env(self) -> dict[str, str]:
        keep = {key: value for key, value in self.cluster.env().items()
                if not key.startswith(("YDL_", "XDG_", "PYTHON"))}
        return keep | {"HOME": str(self.dir), "XDG_STATE_HOME": str(self.dir / "state"),
                       "TMPDIR": str(self.dir), "LC_ALL": "C.UTF-8",
                       "YDL_TEST": self.mark}

    def words(self) -> list[str]:
        return ["--on", "yarn", "--mem", "256m", "--no-ship", "--attempts", str(_ATTEMPTS)]

    def find_job(self) -> str:
        if "rm" in self.away():
            return ""  # who asks a paused one waits longer than it is to be paused
        try:
            found = [app for app in sorted(self._apps()) if app not in self.before]
        except (ClusterError, OSError, ValueError):
            return ""  # the ResourceManager is being killed
        return found[0] if found else ""

    def nodes_dropped(self) -> bool:
        """A ResourceManager that hears a late heartbeat of a NodeManager that an earlier run started
        again takes the node for restarted once more, and gives its containers up."""
        return len(_DROPPED.findall(self.cluster.log("rm"))) > self.dropped

    def target(self) -> str:
        return f"hdfs:///chaos-{self.mark}"

    def results(self) -> list[str]:
        return sorted(self.cluster.hdfs_names(f"/chaos-{self.mark}"))

    def processes(self) -> dict[int, str]:
        found = marked(f"YDL_TEST={self.mark}".encode())  # agents beside the client
        if self.job:
            found |= self.cluster.processes(self.job)
        return self.without_clients(found)

    def over(self) -> bool:
        if self.scenario.job.attached:
            return self.client.poll() is not None
        if self.client.poll() not in (None, 0):
            return True
        if not self.job or "rm" in self.away():
            return False
        try:
            return self.cluster.app(self.job).get("state") in _OVER
        except (ClusterError, OSError, ValueError):
            return False

    def wait_gone(self) -> list[str]:
        """What YARN itself keeps for a while is waited for as long as it does."""
        most = self.gone_in_s + self.scenario.job.grace_s
        master, node, limit = Limit(most + _MASTER_MISSED_S), Limit(most + _NODE_AWAY_S), Limit(most)
        while (left := self.leftovers()) and not limit.over():
            if (self._misses_master(left) and not master.over()) or \
                    (self._misses_node(left) and not node.over()):
                limit = Limit(most)
            time.sleep(0.1)
        return left

    def _misses_node(self, left: list[str]) -> bool:
        """A NodeManager that was cut off waits for an answer that was lost with the network, long after
        that is whole again: ResourceManager and NodeManager hear nothing of each other meanwhile, and it
        removes an application's directories when they do."""
        if "network.cut" not in self.outcome.happened or \
                not all(line.startswith("directory ") for line in left):
            return False
        active = self.cluster.rm_page("metrics").get("clusterMetrics", {}).get("activeNodes")
        return active is not None and active < len(self.cluster.lay.nodemanagers)

    def _misses_master(self, left: list[str]) -> bool:
        """A NodeManager without recovery that is started again does not know its containers, nor does
        a ResourceManager that was started again before that node was back. When the master ran there,
        nobody reports its end: the application is FINISHED for clients, but the ResourceManager waits
        for the master's container (the attempt is FINISHING) as long as for a lost master, and tells
        the other nodes only then to clean up. One that knows the containers of the lost node starts
        another master at once. No process is left meanwhile, nor anything in HDFS."""
        lost = {kind.split(".")[0] for kind in self.outcome.happened if kind in _FORGETS}
        if lost != {"nm", "rm"} or keeps_containers(self.scenario.seed) or \
                not all(line.startswith("directory ") for line in left):
            return False
        page = self.cluster.rm_page(f"apps/{self.job}/appattempts").get("appAttempts") or {}
        return any(row.get("appAttemptState") == "FINISHING" for row in page.get("appAttempt", []))

    def leftovers(self) -> list[str]:
        if not self.job:
            return []
        left = self.cluster.leftovers(self.job, 0)
        names = self.cluster.hdfs_names(f"/user/{_me()}/.ydl/jobs")
        return left + [f"hdfs .ydl/jobs/{name}" for name in names if name == self.job]

    def daemon(self, action: str, kind: str, rng: random.Random, hold: float) -> bool:
        """kill and pause are undone after `hold` seconds; restart at once."""
        lay = self.cluster.lay
        names = {"nm": lay.nodemanagers, "rm": lay.resourcemanagers, "nn": lay.namenodes,
                 "dn": [name for name in lay.daemons if name.startswith("dn")]}[kind]
        name = rng.choice(sorted(names))
        if name in self.broken or (action == "restart" and self._alone(name)):
            return False
        self.broken.add(name)
        if action == "restart":
            self.cluster.restart(name)
            self.broken.discard(name)
            return True
        getattr(self.cluster, action)(name)
        back = self.cluster.start if action == "kill" else self.cluster.resume

        def mend() -> None:
            if action == "kill" and self._alone(name):
                self.later(0.5, mend)
                return
            back(name)
            self.broken.discard(name)
        self.later(hold, mend)
        return True

    def away(self) -> set[str]:
        lay = self.cluster.lay
        servers = {"nn": lay.namenodes, "rm": lay.resourcemanagers}
        return {kind for kind, names in servers.items() if not self.broken.isdisjoint(names)}

    def _alone(self, name: str) -> bool:
        """Would it, started now, wait for others that are away?"""
        lay = self.cluster.lay
        needs = lay.resourcemanagers if name in lay.nodemanagers else \
            lay.namenodes if name.startswith("dn") else []
        return name in self.cut_off or not self.broken.isdisjoint(needs)

    def cut(self, rng: random.Random, seconds: float) -> bool:
        if not apart.has_own_network():
            return False
        node = rng.choice(sorted(self.cluster.lay.nodemanagers))
        self.cluster.cut(node)
        self.cut_off.add(node)

        def join() -> None:
            self.cluster.join(node)
            self.cut_off.discard(node)
        self.later(seconds, join)
        return True

    def set_clock(self, rng: random.Random, ahead_s: int) -> bool:
        if not apart.has_own_network():
            return False
        self.cluster.set_clock(rng.choice(sorted(self.cluster.lay.nodemanagers)), ahead_s)
        return True

    def fill_disk(self, rng: random.Random, seconds: float) -> bool:
        nodes = sorted(self.cluster.lay.disks())
        if not nodes:
            return False
        node = rng.choice(nodes)
        self.cluster.fill_disk(node)
        self.later(seconds, lambda: self.cluster.empty_disk(node))
        return True

    def quota(self, seconds: float) -> bool:
        """On the user's home, where all files of ydl are. A paused NameNode would read of it when it goes
        on, long after we have given up waiting for its answer."""
        if "nn" in self.away():
            return False
        self.later(seconds, self._lift_quota)
        try:
            self._set_quota(1)
        except OSError:
            pass  # it may have come into effect nevertheless
        return True

    def _webhdfs(self, method: str, path: str, query: str) -> dict:
        url = f"{self.cluster.nn_http}/webhdfs/v1{path}?user.name={_me()}&{query}"
        opener = request.build_opener(request.ProxyHandler({}))
        with opener.open(request.Request(url, method=method), timeout=5) as answer:
            return json.loads(answer.read() or "{}")

    def _set_quota(self, most: int) -> None:
        self._webhdfs("PUT", f"/user/{_me()}", f"op=SETQUOTA&namespacequota={_UNCHANGED}"
                      f"&storagespacequota={most}")

    def _lift_quota(self) -> None:
        try:
            self._set_quota(_NO_QUOTA)
        except OSError:  # the NameNode is away, and comes back by another of these
            self.later(0.5, self._lift_quota)

    def _has_quota(self) -> bool:
        told = self._webhdfs("GET", f"/user/{_me()}", "op=GETCONTENTSUMMARY")
        return told["ContentSummary"]["spaceQuota"] != _NO_QUOTA

    def yarn_kill(self) -> bool:
        if not self.job or "rm" in self.away():  # Hadoop's command waits for one that is away, and it for us
            return False
        self._kill_app(self.job)
        return True

    def _kill_app(self, app: str) -> None:
        self.cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application",
                          "-kill", app, check=False, timeout=120)

    def look(self) -> None:
        self.cluster.heal()
        super().look()
        if self.job:
            self.outcome.yarn = self.cluster.app(self.job)

    def clear(self) -> None:
        try:
            self.cluster.heal()
        finally:
            super().clear()
        self.hand_back()

    def hand_back(self) -> None:
        """The cluster becomes what it was before this run. A ClusterError when it does not."""
        self._until("a quota is not lifted", self._without_quota)
        self._until("applications are not ended", self._without_work)
        try:
            self._until("memory of containers is still taken", self._without_memory)
        except ClusterError:
            if not self._miscounts():
                raise
            self.spoiled = True
        self._until("files of earlier jobs are not removed", self._without_files)

    def _until(self, otherwise: str, come_true) -> None:
        """A server that is just back may refuse for a moment."""
        limit, why = Limit(_EMPTY_S), ""
        while True:
            try:
                if come_true():
                    return
            except (ClusterError, OSError) as error:
                why = f": {error}"
            if limit.over():
                raise ClusterError(f"{otherwise}{why}")
            time.sleep(0.1)

    def _without_quota(self) -> bool:
        try:
            if self._has_quota():
                self._set_quota(_NO_QUOTA)
            return not self._has_quota()
        except errors.HTTPError as error:
            if error.code == 404:
                return True  # no home yet
            raise

    def _without_work(self) -> bool:
        """Nothing runs."""
        for app, state in self._apps().items():
            if state not in _OVER:
                self._kill_app(app)
        return all(state in _OVER for state in self._apps().values())

    def _without_memory(self) -> bool:
        return self.cluster.rm_page("metrics").get("clusterMetrics", {}).get("allocatedMB") == 0

    def _miscounts(self) -> bool:
        """Hadoop's own mistake: containers of an application that is killed while their nodes register
        with a ResourceManager that is just back count for ever, although nothing of them is left."""
        return any(kind.startswith("rm.") for kind in self.outcome.happened) and \
            not any(self.cluster.leftovers(app, 0) for app in self._apps())

    def _without_files(self) -> bool:
        """What is kept of jobs that nobody asks about any more; programs that were sent stay."""
        for path in (f"/user/{_me()}/.ydl/jobs", f"/user/{_me()}/.ydl/logs", f"/chaos-{self.mark}"):
            self._webhdfs("DELETE", path, "op=DELETE&recursive=true")
        return True

"""Fixtures for jobs on YARN.

Clusters, each shared by all tests that name it and started when the first one needs it:

    cluster, krb_cluster, ha_cluster, old_cluster   as everywhere (`test/conftest.py`)
    rich_cluster    four nodes of 1 GB: label gpu on nm1, GPUs on nm1 and nm2, two queues with
                    preemption, memory limits, ZooKeeper and RegistryDNS, a small disk under nm4
                    (root only), one NodeManager more to add
    lce_cluster     containers run as alice, bob or carol; with docker where there is a daemon
    secure_cluster  the same under Kerberos
    brief_cluster   Kerberos, with tokens that have to be renewed after 30 s and end after 120 s
    names_cluster   three nodes that look names up at RegistryDNS (root only)
    big_cluster     four nodes of 64 GB; slow_cluster is the same at Hadoop's default pace
    docker_host     no Hadoop, just docker

`own_cluster(**fields)` makes one for a single test. `jobs_on(a_cluster)` runs `ydl` there and fails
the test when an application of it leaves anything behind; `jobs` is that for `cluster`.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ydl_cluster import dockerd, spec as specs, story
from ydl_cluster.cluster import Cluster
from ydl_cluster.patience import Limit
from ydl_cluster.pool import POOL, Handle, missing

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
GONE_S = 60  # YARN's own cleaning included
LAST_WORD_S = 60  # the client may be gone before YARN has heard the end
_OVER = ("FINISHED", "FAILED", "KILLED")


def _fixture(kind: str):
    @pytest.fixture(scope="session", name=kind)
    def give():
        reason = missing(kind)
        if reason:
            pytest.skip(reason)
        return Handle(POOL, kind)
    return give


rich_cluster = _fixture("rich_cluster")
lce_cluster = _fixture("lce_cluster")
secure_cluster = _fixture("secure_cluster")
brief_cluster = _fixture("brief_cluster")
names_cluster = _fixture("names_cluster")
big_cluster = _fixture("big_cluster")
slow_cluster = _fixture("slow_cluster")
docker_host = _fixture("docker_host")


@pytest.fixture(scope="session")
def image():
    """The name of the image that every docker daemon of the tests has: bash, coreutils, Python."""
    if dockerd.missing():
        pytest.skip(dockerd.missing())
    return dockerd.IMAGE


@pytest.fixture
def own_cluster():
    """`own_cluster(nodes=1, heartbeat_ms=1000, …)`: fields of `ydl_cluster.spec.Spec`."""
    made = []

    def give(**fields) -> Cluster:
        name = f"own-{os.getpid()}-{len(made)}"
        made.append(Cluster.up(name=name, **fields))
        return made[-1]

    yield give
    for cluster in made:
        cluster.down()


@pytest.fixture
def open_dir():
    """A directory that every user can write in; pytest's own are closed to alice and bob."""
    path = Path(tempfile.mkdtemp(prefix="ydl-open-", dir="/tmp"))
    path.chmod(0o1777)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def _listening(pid: int) -> list[int]:
    """Ports of a process."""
    held = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            held.add(os.readlink(fd))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows
            if row[3] == "0A" and f"socket:[{row[9]}]" in held]


def _speaks_http(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=120) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        try:
            return connection.recv(5) == b"HTTP/"
        except ConnectionError:
            return False


class Jobs:
    """One person's shell on a machine that reaches a cluster. Applications that were submitted
    since it was made are its own."""

    bin = BIN

    def __init__(self, cluster, tmp: Path):
        self.cluster, self.work, self.home = cluster, tmp / "work", tmp / "home"
        for directory in (self.work, self.home):
            directory.mkdir(exist_ok=True)
        self.seen: set[str] = set()
        self.before = set(self.wait_for(self._listed, "the ResourceManager's page"))
        story.ON_YARN.append(self)

    def env(self, user: str | None = None) -> dict[str, str]:
        keep = {key: value for key, value in self.cluster.env(user).items()
                if not key.startswith(("YDL_", "XDG_"))}
        return keep | {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state"),
                       "TMPDIR": str(self.home),
                       "PATH": f"{BIN}:{keep.get('PATH', '')}"}

    def start(self, *args, user: str | None = None, **options) -> subprocess.Popen:
        """`ydl ARGS` with pipes, in a session of its own, like a shell's job."""
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("stdin", subprocess.DEVNULL)
        env = self.env(user) | options.pop("env", {})
        return subprocess.Popen([str(BIN / "ydl"), *map(str, args)], env=env, cwd=self.work,
                                text=True, start_new_session=True, **options)

    def run(self, *args, user: str | None = None, check: int | None = None, timeout: float = 300,
            **options) -> subprocess.CompletedProcess:
        """`ydl ARGS` to its end; with `check` the exit code has to be that."""
        process = self.start(*args, user=user, **options)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"ydl {args}: not ended in {timeout} s\n{out}\n{err}") from None
        done = subprocess.CompletedProcess(args, process.returncode, out or "", err or "")
        assert check is None or done.returncode == check, (
            f"ydl {args}: {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.tell()}")
        return done

    def _listed(self) -> list[str]:
        """What the ResourceManager's page lists, and "" before it; [] when it does not answer."""
        page = self.cluster.rm_page("apps")
        rows = (page.get("apps") or {}).get("app") or []
        return ["", *(row["id"] for row in rows)] if "apps" in page else []

    def apps(self) -> list[str]:
        """Ids of the applications submitted since this object was made, oldest first; those that were
        seen once also while no ResourceManager answers."""
        self.seen.update(app for app in self._listed() if app not in self.before)
        return sorted(self.seen)

    def ended(self, app: str | None = None, timeout: float = 120) -> dict:
        """What YARN says of an application (the first) once it is over for YARN too."""
        app = app or self.wait_for(self.apps, "an application", timeout)[0]

        def over():
            page = self.cluster.app(app)
            return page if page.get("state") in _OVER else None
        return self.wait_for(over, f"the end of {app}", timeout)

    def tell(self) -> str:
        """What YARN says about them, for messages."""
        pages = [self.cluster.app(app) for app in self.apps()]
        return "\n".join(f"{page.get('id')} {page.get('state')} {page.get('finalStatus')}: "
                         f"{page.get('diagnostics')}" for page in pages)

    def wait_for(self, condition, what: str, timeout: float = 120):
        """The first true value of `condition()`."""
        limit = Limit(timeout)
        while not limit.over():
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"waited in vain: {what}\n{self.tell()}")

    def processes(self, text: str = "") -> dict[int, str]:
        """Living processes of all these applications with `text` in their command line."""
        return {pid: line for app in self.apps()
                for pid, line in self.cluster.processes(app).items() if text in line}

    def node_of(self, pid: int) -> str:
        """The NodeManager (nm1 …) whose container a process is in."""
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        host = next(row for row in environ
                    if row.startswith((b"NM_HOST=", b"YDL_HOST="))).partition(b"=")[2]
        return self.cluster.node_at(host.decode())

    def tracking_url(self, app: str | None = None) -> str:
        """Where the master of an application (the first) serves its page itself, without YARN's
        proxy: of the ports that it listens on the one without TLS."""
        app = app or self.apps()[0]
        pid = next(pid for pid, line in self.cluster.processes(app).items()
                   if "ydl-node master" in line)
        host = self.cluster.app(app)["amRPCAddress"].split(":")[0]
        found = [port for port in _listening(pid) if _speaks_http(host, port)]
        assert len(found) == 1, found
        return f"http://{host}:{found[0]}/"

    def leftovers(self, timeout: float = GONE_S) -> list[str]:
        """Everything that ended applications left: on the nodes, and their staging in HDFS."""
        limit = Limit(timeout)
        while (left := self._left()) and not limit.over():
            time.sleep(0.1)
        return left

    def _left(self) -> list[str]:
        left = [line for app in self.apps() for line in self.cluster.leftovers(app, 0)]
        staging = [(user, app) for user in specs.users()
                   for app in self.cluster.hdfs_names(f"/user/{user}/.ydl/jobs")]
        return left + [f"hdfs /user/{user}/.ydl/jobs/{app}" for user, app in staging
                       if app in self.apps()]

    def stop_all(self) -> list[str]:
        """Kills what still runs; its ids."""
        def still():
            return [app for app in self.apps() if self.cluster.app(app).get("state") not in _OVER]
        limit = Limit(LAST_WORD_S)
        while (running := still()) and not limit.over():
            time.sleep(0.1)
        for app in running:
            self.cluster.java("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application",
                              "-kill", app, check=False)
        return running


@pytest.fixture
def jobs_on(tmp_path):
    """`jobs_on(a_cluster)` is a `Jobs`; at the end nothing of its applications may be left."""
    made: list[Jobs] = []

    def give(cluster) -> Jobs:
        made.append(Jobs(cluster, tmp_path))
        return made[-1]

    yield give
    for jobs in made:
        running = jobs.stop_all()
        assert not running, f"still running: {running}\n{jobs.tell()}"
        assert not (left := jobs.leftovers()), "\n".join(left)


@pytest.fixture
def jobs(jobs_on, cluster):
    """`Jobs` on the plain cluster."""
    return jobs_on(cluster)

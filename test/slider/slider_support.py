"""Packages, tasks and jobs of Slider applications for tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from ydl_cluster.patience import Limit

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "src" / "slider"
EXAMPLE = ROOT / "examples" / "slider"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# A component's script around some lines of Python for each of its methods.
SCRIPT = """
import json, os, signal, sys, time
from resource_management import *

class Component(Script):
{methods}

if __name__ == "__main__":
    Component().execute()
"""


def script(**methods: str) -> str:
    """The text of a script with these methods; `c` is the global dictionary in them."""
    parts = []
    for name, body in methods.items():
        lines = ["c = self.get_config()['configurations']['global']"] + body.splitlines()
        parts.append(f"    def {name}(self, env):\n" + "".join(f"        {x}\n" for x in lines))
    return SCRIPT.format(methods="\n".join(parts) or "    pass")


def command(component="worker", config=None, **more) -> str:
    """SLIDER_COMMAND."""
    return json.dumps({"componentName": component, "appName": "app1",
                       "configurations": {"global": config or {}},
                       "commandParams": {"script": "scripts/component.py", "script_type": "PYTHON",
                                         "command_timeout": "60"}} | more)


def ask(address: str):
    """The JSON at an address; None for what is not there."""
    try:
        with _DIRECT.open(address, timeout=120) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as err:
        assert err.code == 404, err
        return None


class Task:
    """The directory of one task, and agent.py in it."""

    def __init__(self, root: Path):
        self.root, self.mark = root, uuid.uuid4().hex
        self.package = root / "app" / "definition" / "package"
        (self.package / "scripts").mkdir(parents=True)
        (root / "slider").symlink_to(LIBRARY)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("YDL_", "SLIDER_"))}
        self.env |= {"PYTHONDONTWRITEBYTECODE": "1", "YDL_JOB": "local-1", "YDL_ROLE": "worker",
                     "YDL_RANK": "1", "YDL_HOST": "127.0.0.1", "TASK_MARK": self.mark,
                     "SLIDER_COMMAND": command(), "YDL_STOP": str(root / "stop")}

    def write(self, name: str, text: str) -> Path:
        """A file of the package."""
        path = self.package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def script(self, **methods: str):
        """The component's script."""
        self.write("scripts/component.py", script(**methods))

    def start(self, **env: str) -> subprocess.Popen:
        """agent.py with pipes."""
        return subprocess.Popen([sys.executable, "slider/agent.py"], cwd=self.root,
                                env=self.env | env, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, timeout=50, **env: str):
        """agent.py to its end: its exit code and what it printed."""
        process = self.start(**env)
        try:
            out = process.communicate(timeout=timeout)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise AssertionError(f"not ended: {process.communicate()[0]}") from None
        return process.returncode, out

    def file(self, name: str) -> Path:
        """Something below the task's directory."""
        return self.root / name

    def wait_for(self, name: str, timeout=50) -> str:
        """The text of a file once there is some."""
        limit = Limit(timeout)
        while not limit.over():
            if self.file(name).exists() and self.file(name).read_text():
                return self.file(name).read_text()
            time.sleep(0.01)
        raise AssertionError(f"waited in vain for '{name}'")

    def processes(self) -> list[int]:
        """Everything that came from here and lives."""
        found = []
        for p in Path("/proc").iterdir():
            try:
                if p.name.isdigit() and f"TASK_MARK={self.mark}".encode() in (
                        p / "environ").read_bytes().split(b"\0"):
                    found.append(int(p.name))
            except OSError:
                continue
        return found

    def close(self):
        """What is left would have been killed with a real task, but should not have been needed; the dead
        take a moment to go."""
        limit = Limit(5)
        while (left := self.processes()) and not limit.over():
            time.sleep(0.01)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert not left, left


# ---- jobs ----

def pack(path: Path, directory: Path):
    """A tar archive of what is in a directory, links followed."""
    with tarfile.open(path, "w", dereference=True) as archive:
        for entry in sorted(directory.iterdir()):
            if entry.name not in ("__pycache__", "CMakeLists.txt"):
                archive.add(entry, entry.name)


def role(name: str, config=None, **keys) -> dict:
    """A component as `slider` would write it, with one port that it publishes."""
    config = {"ps.port": "0", "worker.port": "0", f"{name}.port": "{port}"} | (config or {})
    return {"count": 1, "memory": "128m", "ports": 1, "decides": name not in ("ps", "tensorboard"),
            "command": ["python3", "slider/agent.py"],
            "env": {"SLIDER_COMMAND": command(name, config)},
            "exports": {f"{name}/host_port": "{host}:{port}"}} | keys


def write_job(work: Path, methods: dict, roles: dict, **keys) -> Path:
    """A job file and its two archives."""
    definition = work / "definition" / "package" / "scripts"
    definition.mkdir(parents=True)
    (definition / "component.py").write_text(script(**methods))
    return archives_and_job(work, work / "definition", roles, **keys)


def archives_and_job(work: Path, definition: Path, roles: dict, **keys) -> Path:
    """The same with a package that is there."""
    pack(work / "definition.tar", definition)
    pack(work / "agent.tar", LIBRARY)
    job = {"name": "app1", "framework": "slider", "tags": ["slider"],
           "archives": [{"definition.tar": "app/definition"}, {"agent.tar": "slider"}],
           "restart": {"policy": "gang", "max": 5, "window": "6h"}, "grace": "2m",
           "roles": roles} | keys
    path = work / "job.json"
    path.write_text(json.dumps(job))
    return path

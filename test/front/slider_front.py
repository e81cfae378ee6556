"""Packages for tests of `slider`, and the machine that they run on."""

import json
from pathlib import Path

import pytest

SCHEMA = "http://example.org/specification/v2.0.0"
MINUTE = 60

SCRIPT = """
import json, os, time, urllib.request
from resource_management import *

class Demo(Script):
    def install(self, env):
        self.install_packages(env)

    def start(self, env):
        config = Script.get_config()
        url = os.environ["SLIDER_REST"] + "/publisher/exports"
        while True:
            groups = json.loads(urllib.request.urlopen(url).read())["exports"]
            lists = [groups.get(name, {}).get("entries", {}).get("host_port", [])
                     for name in ("ps", "worker")]
            if [len(one) for one in lists] == [2, 2]:
                break
            time.sleep(0.05)
        settings = config["configurations"]["global"]
        name = config["componentName"]
        port = settings[name + ".port"]
        index = [one["value"].rpartition(":")[2] for one in lists[name == "worker"]].index(str(port))
        Execute("python3 %s/%s %s %s" % (settings["app_root"], settings["user.scripts.entry"],
                                               name, index), logoutput=True)

    def stop(self, env):
        print("STOP")

    def status(self, env):
        raise ComponentIsNotRunning()

if __name__ == "__main__":
    Demo().execute()
"""
TRAINER = """
import sys, time
print("TRAINS", sys.argv[1], sys.argv[2], flush=True)
while sys.argv[1] == "ps":
    time.sleep(1)
"""


def component(name: str, **more) -> dict:
    return {"name": name, "compExports": f"{name}-host_port",
            "commandScript": {"script": "scripts/tensorflow.py", "scriptType": "PYTHON"}} | more


def texts_files(entry="trainer.py") -> dict[str, dict]:
    """The three files of the text, whole."""
    names = ("ps", "worker")
    return {
        "metainfo.json": {"schemaVersion": "2.1", "application": {
            "name": "tfyarn",
            "exportGroups": [{"name": name, "exports": [{
                "name": "host_port", "value": f"${{{name}_HOST}}:${{site.global.{name}.port}}"}]}
                for name in names],
            "components": [component(name) for name in names],
            "packages": [{"type": "folder", "name": "files"}]}},
        "appConfig-default.json": {"schema": SCHEMA, "metadata": {}, "global": {
            "site.global.ps.port": "${ps.ALLOCATED_PORT}{PER_CONTAINER}",
            "site.global.worker.port": "${worker.ALLOCATED_PORT}{PER_CONTAINER}",
            "site.global.run.mode": "docker", "site.global.user.scripts.entry": entry}},
        "resources.default.json": {"schema": SCHEMA, "metadata": {}, "global": {}, "components": {
            "slider-appmaster": {},
            "ps": {"yarn.role.priority": "2", "yarn.component.instances": "2", "yarn.memory": "1024"},
            "worker": {"yarn.role.priority": "1", "yarn.component.instances": "2",
                       "yarn.memory": "2056"}}},
    }


def write_package(directory: Path, files: dict[str, dict], script=SCRIPT, trainer=TRAINER) -> Path:
    for name, text in (("package/scripts/tensorflow.py", script), ("package/files/trainer.py", trainer)):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, doc in files.items():
        (directory / name).write_text(json.dumps(doc))
    return directory


def shell_files(command: str, instances=2, **resources) -> dict[str, dict]:
    """An application without Python: one component that is a command."""
    return {
        "metainfo.json": {"schemaVersion": "2.1", "application": {
            "name": "sh", "version": "1",
            "exportGroups": [{"name": "Server", "exports": [{
                "name": "url", "value": "http://${server_HOST}:${site.global.listen}/"}]}],
            "components": [{"name": "server", "commands": [{"exec": command}]}]}},
        "appConfig.json": {"schema": SCHEMA, "global": {
            "site.global.listen": "${server.ALLOCATED_PORT}{PER_CONTAINER}",
            "site.hdfs-site.dfs.a": "x & y"}},
        "resources.json": {"schema": SCHEMA, "components": {"server": {
            "yarn.role.priority": 1, "yarn.component.instances": instances,
            "yarn.memory": 128} | resources}},
    }


def write_shell(directory: Path, command: str, **more) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, doc in shell_files(command, **more).items():
        (directory / name).write_text(json.dumps(doc))
    return directory


TEXTS_LINE = ["--appdef", "app-packages/tensorflow", "--template", "appConfig-default.json",
              "--resources", "resources.default.json"]
SHELL_LINE = ["--appdef", "sh", "--template", "appConfig.json", "--resources", "resources.json"]


@pytest.fixture(name="here")
def _here(fronts):
    """A machine where `slider` means this one."""
    fronts.env["YDL_ON"] = "local"
    fronts.slider = lambda *words, **more: fronts.run("slider", *words, **more)
    fronts.kept = lambda: sorted(path.name for path in (fronts.state / "ydl" / "slider").glob("*"))
    yield fronts
    fronts.env["YDL_ON"] = "local"
    for name in fronts.kept():
        fronts.slider("stop", name, "--force")

"""The script of every component of a TensorFlow cluster: waits until all instances have published
their addresses, and runs the user's program with all of them.

    between-graph   ps and worker run the program, each with its job_name and task_index
    in-graph        (replication = in_graph) ps and worker are bare servers, and the one instance of
                    the component `client` runs the program
"""

import json
import os
import sys
import time
import urllib.request

from resource_management import (
    Execute, Fail, File, Script, check_process_status, default, is_empty)

POLL_S = 0.5
WAIT_S = 600
ASK_S = 10
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(path):
    """What the application's master says at a path."""
    with _DIRECT.open(os.environ["SLIDER_REST"] + "/" + path, timeout=ASK_S) as answer:
        return json.load(answer)


def published(component):
    """HOST:PORT of each instance that has one, in order."""
    entries = ask("publisher/exports/" + component)["entries"]
    return [entry["value"] for entry in entries.get("host_port", [])]


def cluster():
    """The addresses of all, by component, once there are as many as are wanted."""
    end = time.time() + WAIT_S
    while time.time() < end:
        wanted = ask("application/live/resources")["components"]
        counts = {name: int(wanted[name]["yarn.component.instances"])
                  for name in ("ps", "worker") if name in wanted}
        found = {name: published(name) for name in counts}
        if all(len(found[name]) >= counts[name] for name in counts):
            return found
        time.sleep(POLL_S)
    raise Fail("not all addresses were published within %d s" % WAIT_S)


class Tensorflow(Script):
    """start, stop, status."""

    def start(self, env):
        """Runs until the program ends; its exit code is the component's."""
        config = self.get_config()
        settings = config["configurations"]["global"]
        component = config["componentName"]
        File(settings["pid_file"], content=str(os.getpid()))
        servers = cluster()
        words = ["--%s_hosts=%s" % (name, ",".join(all_)) for name, all_ in servers.items()]
        in_graph = default("/configurations/global/replication", "") == "in_graph"
        if component in servers:
            own = "%s:%s" % (config["hostname"], settings[component + ".port"])
            words += ["--job_name=" + component, "--task_index=%d" % servers[component].index(own)]
        program = settings["user.scripts.entry"]
        if in_graph and component in servers:
            program = "server.py"
        elif in_graph:
            words += ["--replication=in_graph"]
        Execute([sys.executable, os.path.join(settings["app_root"], program)] + words +
                self.directories(config, settings), cwd=settings["app_root"])

    @staticmethod
    def directories(config, settings):
        """Where checkpoints are, and where the program's own files are."""
        prefix = settings["user.checkpoint.prefix"]
        if is_empty(prefix):
            checkpoints = os.path.join(os.path.dirname(settings["app_root"]), "checkpoints")
        else:
            checkpoints = "%s/%s/checkpoints" % (prefix, config["appName"])
        return ["--ckp_dir=" + checkpoints, "--work_dir=" + settings["app_root"]]

    def stop(self, env):
        """The program has been told already, with everything else that the task runs."""

    def status(self, env):
        """While start is there, the program is."""
        check_process_status(self.get_config()["configurations"]["global"]["pid_file"])


if __name__ == "__main__":
    Tensorflow().execute()

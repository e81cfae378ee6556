"""The real Prometheus and its promtool, which tools/setup all installs."""

import contextlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from pathlib import Path


def program(name: str) -> str:
    """Where it is; a test that needs it fails with what to do when it is not there."""
    found = shutil.which(name)
    assert found, f"there is no {name}: run tools/setup all"
    return found


def promtool(*words, text=""):
    """Its complaints; there are none when it agrees."""
    done = subprocess.run([program("promtool"), *words], input=text, text=True, capture_output=True,
                          timeout=60, check=False)
    return (done.stdout + done.stderr).strip() if done.returncode or done.stderr else ""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Prometheus:
    """One that reads a configuration, in a directory of its own."""

    def __init__(self, place: Path, config: Path):
        self.url = f"http://127.0.0.1:{free_port()}"
        self.log = (place / "prometheus.log").open("wb")
        self.process = subprocess.Popen(
            [program("prometheus"), f"--config.file={config}", f"--storage.tsdb.path={place / 'data'}",
             f"--web.listen-address={urllib.parse.urlsplit(self.url).netloc}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=place)

    def get(self, path, **words):
        """The `data` of an answer of its API; None while it does not answer."""
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(words)}", timeout=10) as answer:
            return json.loads(answer.read())["data"]
        return None

    def targets(self):
        """What it reads: [(job, health, labels)]."""
        found = self.get("targets") or {"activeTargets": []}
        return [(one["scrapePool"], one["health"], one["labels"]) for one in found["activeTargets"]]

    def value(self, query):
        """The sum of what a query finds; None when it finds nothing."""
        found = (self.get("query", query=f"sum({query})") or {"result": []})["result"]
        return float(found[0]["value"][1]) if found else None

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()


@contextlib.contextmanager
def told_over_http(tell):
    """The address of a server that answers what `tell()` gives, as JSON: what http_sd_configs asks."""

    class Told(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            body = tell().encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Told)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()

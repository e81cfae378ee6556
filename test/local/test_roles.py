"""Roles that depend on each other, are on the side, or decide: the order, and the result."""

import pytest

PLAY = r"""
import http.server, os, pathlib, signal, socket, sys, threading, time

def say(word):
    with open("order", "a") as f:
        f.write(word + "\n")

def said():
    path = pathlib.Path("order")
    return path.read_text().split() if path.exists() else []

def wait(word, seconds=300):
    end = time.monotonic() + seconds
    while word not in said() and time.monotonic() < end:
        time.sleep(0.02)
    return word in said()

class Health(http.server.BaseHTTPRequestHandler):
    code = 503
    def do_GET(self):
        self.send_response(self.code if self.path == "/health" else 200)
        self.end_headers()
    def log_message(self, *_):
        pass

def listen():
    s = socket.socket()
    s.bind(("0.0.0.0", int(os.environ["YDL_PORT"])))
    s.listen()
    return s

def answer():
    Health.code = 200

# What each kind does to be ready.
kinds = {"port": listen, "http": answer, "file": lambda: pathlib.Path("up").touch(),
         "log": lambda: print("now listening on a port", flush=True)}

def first(kind):
    say("first")
    if kind == "http":
        server = http.server.HTTPServer(("0.0.0.0", int(os.environ["YDL_PORT"])), Health)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    if wait("second", 0.7):
        say("too-early")
    say("ready")
    kept = kinds[kind]()
    time.sleep(600)  # it is on the side: it is ended

def stopped(*_):
    say("stopped")
    sys.exit(0)

def pool():
    signal.signal(signal.SIGTERM, stopped)
    say("pool")
    time.sleep(600)

def born(name):
    with open("/proc/self/stat") as f:
        pathlib.Path(f"born.{name}").write_text(f.read().rsplit(")", 1)[1].split()[19])

def step(name, slow="", beside=""):
    born(name)
    say(name)
    if slow and wait(slow, 0.7):
        say("too-early")
    if beside:
        wait(beside)
    say(name + "-end")

globals()[sys.argv[1]](*sys.argv[2:])
"""


@pytest.fixture
def play(local):
    """Runs a job file whose commands are `python3 play.py …`; what was said, in order."""
    (local.work / "play.py").write_text(PLAY)

    def run(text, check=0):
        (local.work / "job.yaml").write_text(text.replace("PLAY", "python3 -S -E play.py"))
        (local.work / "order").touch()
        done = local.run("run", "-f", "job.yaml", check=check)
        return (local.work / "order").read_text().split(), done.stderr.decode()

    return run


@pytest.mark.parametrize("kind, ready", [("port", "port"), ("http", "{http: /health}"),
                                         ("file", "{file: up}"), ("log", "{log: listening on}")])
def test_who_comes_after_ready_waits_for_it(play, kind, ready):
    order, _ = play(f"""
roles:
  first: {{command: PLAY first {kind}, ports: 1, ready: {ready}, side: true}}
  second: {{command: PLAY say second, after: {{first: ready}}}}
""")
    assert order == ["first", "ready", "second"]


def test_who_is_never_ready_fails_the_job(play):
    order, text = play("""
roles:
  first: {command: "sh -c 'echo first >> order; sleep 600'", ready: {file: up, timeout: 1s}}
  second: {command: PLAY say second, after: {first: ready}}
""", check=124)
    assert order in (["first"], [])  # a second may be short
    assert "first:0" in text and "not ready within 1.0 s" in text


def test_steps_come_one_after_the_other(local, play):
    order, _ = play("""
roles:
  prepare: {count: 2, command: PLAY step prepare train}
  train: {count: 2, command: PLAY step train report watch, after: prepare finished}
  watch: {command: PLAY step watch, after: train started}
  report: {command: PLAY step report, after: [{train: finished}]}
""")
    assert "too-early" not in order
    assert order.index("train") > max(i for i, w in enumerate(order) if w == "prepare-end")
    assert order.index("report") > max(i for i, w in enumerate(order) if w == "train-end")
    born = {n: int((local.work / f"born.{n}").read_text()) for n in ("train", "watch", "report")}
    assert born["train"] <= born["watch"] <= born["report"]
    assert order.index("watch") < order.index("train-end")


def test_a_step_that_fails_keeps_those_behind_it_from_starting(play):
    order, text = play("""
roles:
  prepare: {command: "sh -c 'echo prepare >> order; exit 9'"}
  train: {command: PLAY step train, after: prepare finished}
""", check=9)
    assert order == ["prepare"] and "prepare:0" in text


def test_what_is_on_the_side_may_fail(play):
    order, text = play("""
roles:
  helper: {command: "sh -c 'echo helper >> order; exit 3'", side: true}
  worker: {command: PLAY wait helper}
""")
    assert order == ["helper"] and "helper:0" not in text


@pytest.mark.parametrize("code", [0, 5])
def test_the_role_that_decides_ends_the_job(play, code):
    order, _ = play(f"""
roles:
  driver: {{command: "sh -c 'until [ $(grep -c pool order) = 2 ]; do sleep 0.05; done; exit {code}'", decides: true}}
  pool: {{count: 2, command: PLAY pool}}
""", check=code)
    assert order == ["pool", "pool", "stopped", "stopped"]

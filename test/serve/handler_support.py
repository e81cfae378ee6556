"""What the tests of Python handlers share: handlers, and a look at the workers of a server."""

from pathlib import Path

PREDICT = "/v1/models/m:predict"
INFER = "/v2/models/m/infer"
WHO = """
    import os
    def load(dir):
        return None
    def predict(inputs):
        x = inputs["x"]
        return {"y": x * 2, "pid": x * 0 + os.getpid()}
"""
ECHO = """
    def load(dir):
        pass
    def predict(inputs):
        return dict(inputs)
"""


def children(server):
    """Its workers' process ids."""
    text = Path(f"/proc/{server.process.pid}/task")
    found = []
    for task in text.iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def gone(pid):
    """Has it ended? Whoever is left unreaped has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True

"""What the tests of the verbs share: running ydl, configurations, places on HDFS."""

import json
import os
import subprocess
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]


def program(name: str = "ydl") -> str:
    """A program of the directory YDL_BIN, or of build/bin."""
    return str(Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin") / name)


def driver() -> Path:
    """hdfs_driver of the directory YDL_TEST_BIN, or of build/unit."""
    return Path(os.environ.get("YDL_TEST_BIN") or ROOT / "build" / "unit") / "hdfs_driver"


def ydl(env: dict[str, str], *words: str, **options) -> subprocess.CompletedProcess:
    """ydl with these words in this environment; output as text unless the input is bytes."""
    options.setdefault("timeout", 180)
    options.setdefault("cwd", "/")
    if options.get("input") is None:
        options["stdin"] = subprocess.DEVNULL
    text = options.pop("text", not isinstance(options.get("input"), bytes))
    return subprocess.run([program(), *words], env=env, capture_output=True, text=text,
                          check=False, **options)


class Shell:
    """ydl as one user of a cluster, with a directory of its own on HDFS."""

    def __init__(self, cluster, user: str | None, directory: str):
        self.cluster, self.dir = cluster, directory
        self.env = cluster.env(user)

    def __call__(self, *words: str, **options) -> subprocess.CompletedProcess:
        return ydl(self.env, *words, **options)

    def ok(self, *words: str, **options) -> str:
        """The same where nothing may go wrong; what it printed."""
        done = self(*words, **options)
        assert done.returncode == 0, (words, done.stderr)
        assert not done.stderr, (words, done.stderr)
        return done.stdout

    def json(self, *words: str, **options):
        return json.loads(self.ok(*words, "--json", **options))

    def fails(self, code: int, *words: str, says: str, **options) -> subprocess.CompletedProcess:
        """It ends with this code and says so in words: no trace, no silence."""
        done = self(*words, **options)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert says in done.stderr, (words, done.stderr)
        assert done.stderr.startswith("ydl: "), done.stderr
        assert "Traceback" not in done.stderr and "\tat " not in done.stderr
        return done

    def names(self, path: str = "") -> list[str]:
        """Everything below the directory, as paths from there; temporary names too."""
        top = self.dir + path
        found = json.loads(self("fs", "ls", "-R", "--json", top).stdout)["entries"]
        return sorted(e["path"].removeprefix(top + "/") for e in found)


def write_conf(directory: Path, **files: dict[str, str]) -> dict[str, str]:
    """A configuration directory: core={key: value}, yarn={…}, hdfs={…}. Returns an environment in
    which nothing else leads to a cluster."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, values in files.items():
        rows = "".join(f"<property><name>{escape(k)}</name><value>{escape(str(v))}</value></property>\n"
                       for k, v in values.items())
        (directory / f"{name}-site.xml").write_text(f"<configuration>\n{rows}</configuration>\n")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_", "KRB5"))}
    return env | {"HADOOP_CONF_DIR": str(directory)}

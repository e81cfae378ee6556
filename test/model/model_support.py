"""What the tests of the model registry share: a registry on this machine or on HDFS, and models."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HANDLER = "def load(dir):\n    return dir\n\n\ndef predict(inputs):\n    return inputs\n"


def ydl() -> str:
    """The program of the directory YDL_BIN, or of build/bin."""
    return str(Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin") / "ydl")


def handler(directory: Path, text: str = "") -> Path:
    """A Python handler, the smallest model; `text` makes it another one."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.py").write_text(HANDLER + f"# {text}\n")
    return directory


class Registry:
    """`ydl model` with a registry: `place` is a directory or an hdfs:// name."""

    def __init__(self, place: str, env: dict[str, str], cwd: Path):
        self.place, self.env, self.cwd = place, env, cwd

    def command(self, verb: str, *words) -> list[str]:
        return [ydl(), "model", verb, *map(str, words), "--registry", self.place]

    def __call__(self, verb: str, *words, **options) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(verb, *words), capture_output=True, text=True,
                              check=False, timeout=180, stdin=subprocess.DEVNULL,
                              env=self.env, cwd=self.cwd, **options)

    def ok(self, verb: str, *words, **options) -> str:
        done = self(verb, *words, **options)
        assert done.returncode == 0, (verb, words, done.stdout, done.stderr)
        return done.stdout

    def json(self, verb: str, *words, **options):
        return json.loads(self.ok(verb, *words, "--json", **options))

    def fails(self, code: int, verb: str, *words, says: str, **options):
        """It ends with this code and a sentence."""
        done = self(verb, *words, **options)
        assert done.returncode == code, (verb, words, done.returncode, done.stdout, done.stderr)
        assert says in done.stderr, (verb, words, done.stderr)
        return done

    def start(self, verb: str, *words, **options) -> subprocess.Popen:
        return subprocess.Popen(self.command(verb, *words), stdin=subprocess.DEVNULL,
                                env=self.env, cwd=self.cwd, **options)

    def versions(self, name: str) -> list[int]:
        """Those that readers see, the oldest first."""
        return sorted(v["version"] for v in self.json("list", name)["versions"])

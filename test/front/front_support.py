"""Running front ends: on this machine with a home of their own, and on a cluster."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from ydl_cluster.patience import Limit

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
GONE_S = 5

# What a task sees; servers and schedulers would stay.
SHOW = """
import json, os, sys, time
print("JSON" + json.dumps({"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(),
                           "files": sorted(os.listdir("."))}), flush=True)
if os.environ.get("DMLC_ROLE", "worker") != "worker":
    time.sleep(1200)
"""


def seen(done) -> dict[str, dict]:
    """What each task of a job that ran SHOW printed."""
    found = {}
    for line in done.stdout.splitlines():
        name, _, text = line.partition("│ ")
        if text.startswith("JSON"):
            found[name.strip()] = json.loads(text[4:])
    return found


def call(program, words, env, cwd, timeout=180) -> subprocess.CompletedProcess:
    """A program of ours to its end."""
    return subprocess.run([str(BIN / program), *map(str, words)], env=env, cwd=cwd, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout,
                          check=False)


class Fronts:
    """One person's machine without a cluster."""

    def __init__(self, tmp: Path):
        self.tmp, self.work, self.state = tmp, tmp / "work", tmp / "state"
        self.work.mkdir()
        self.run_dir = Path(tempfile.mkdtemp(prefix="yf-"))
        self.mark = uuid.uuid4().hex
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("YDL_", "XDG_", "HADOOP_", "DMLC_", "AWS_", "rabit_"))}
        self.env = keep | {"HOME": str(tmp), "XDG_STATE_HOME": str(self.state),
                           "TMPDIR": str(self.run_dir), "YDL_TEST": self.mark,
                           "PATH": f"{BIN}:{keep['PATH']}"}

    def write(self, name: str, text: str) -> Path:
        """A file where commands run."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run(self, program, *words, check=None, env=None, timeout=180):
        """A front end, or `ydl`, to its end; with `check` the exit code has to be that."""
        done = call(program, words, self.env | (env or {}), self.work, timeout)
        assert check is None or done.returncode == check, (
            f"{program} {words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def plan(self, program, *words, env=None) -> dict:
        """What it would do, as the document of `ydl plan --json`, and its notes as `notes`."""
        done = self.run(program, "--json", *words, check=0, env={"YDL_PLAN": "1"} | (env or {}))
        return json.loads(done.stdout) | {"notes": done.stderr}

    def wrong(self, program, *words, env=None) -> str:
        """Its sentence about wrong use; nothing may have been started."""
        done = self.run(program, *words, check=2, env=env)
        assert done.stdout == "" and done.stderr.startswith(f"{Path(program).name}: ")
        assert not list(self.state.glob("ydl/jobs/*"))
        return done.stderr.splitlines()[0].partition(": ")[2]

    def processes(self) -> dict[int, str]:
        """Every living process that came from here."""
        found = {}
        for p in Path("/proc").iterdir():
            try:
                if p.name.isdigit() and f"YDL_TEST={self.mark}".encode() in (
                        p / "environ").read_bytes().split(b"\0"):
                    found[int(p.name)] = (p / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def close(self):
        """Nothing may be left."""
        limit = Limit(GONE_S)
        while not limit.over() and (self.processes() or list(self.run_dir.iterdir())):
            time.sleep(0.05)
        left = self.processes()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        files = list(self.run_dir.iterdir())
        shutil.rmtree(self.run_dir, ignore_errors=True)
        assert not left and not files, f"{left} {files}"


def tasks(plan: dict) -> dict[str, dict]:
    """The tasks of a plan by name."""
    return {task["task"]: task for role in plan["roles"] for task in role["tasks"]}


def roles(plan: dict) -> dict[str, dict]:
    """Its roles by name."""
    return {role["role"]: role for role in plan["roles"]}


def counts(plan: dict) -> dict[str, int]:
    """How many there are of each role."""
    return {name: role["count"] for name, role in roles(plan).items()}


# What each shell offers where `line` ends, when it has read our script; zsh's own part is left out.
_OFFERS = {
    "bash": 'source ydl.bash; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
            'set -- $(complete -p {program}); shift 2; $1; printf "%s\n" "${{COMPREPLY[@]}}"',
    "zsh": 'compdef() {{ [[ " $* " != *" {program} "* ]] || it=$1; }}; '
           '_arguments() {{ print -rl -- "$@"; state=rest; line=({before}); }}; '
           'source ./ydl.zsh; $it | sed "s/^[*]//; s/\\[.*//" | grep -e "^{last}"',
    "fish": "source ydl.fish; complete -C '{line}'",
}


def offers(fronts, shell: str, line: str) -> set[str]:
    """The words, without what is said of them."""
    fronts.write(f"ydl.{shell}", fronts.run("ydl", "completion", shell, check=0).stdout)
    text = _OFFERS[shell].format(line=line, program=line.split()[0], last=line.split()[-1],
                                before=" ".join(line.split()[1:-1]))
    done = subprocess.run([shell, "-c", text], cwd=fronts.work, env=fronts.env, capture_output=True, text=True,
                          check=True)
    return {row.partition("\t")[0] for row in done.stdout.splitlines()}

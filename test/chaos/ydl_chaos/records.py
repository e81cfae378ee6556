"""The results of a campaign: one line of JSON for each run, so that it can be gone on with."""

import json
import subprocess
from collections import Counter
from pathlib import Path

from .world import ROOT

# What decides how a job ends. A change here begins the count again.
_CODE = ("src", "proto")


def code() -> str:
    """The commit that last changed the product."""
    done = subprocess.run(["git", "log", "-1", "--format=%h", "--", *_CODE], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def load(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def add(path: Path, row: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def done(path: Path, place: str, commit: str) -> set[int]:
    """Seeds that were run with this code."""
    return {row["seed"] for row in load(path)
            if row["place"] == place and row["code"] == commit}


def table(rows: list[dict]) -> str:
    """For a person, and for doc/developer/test-report.md."""
    lines = ["| place | code | seeds | runs | faults | succeeded | violations |",
             "|---|---|---|---|---|---|---|"]
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in rows:
        groups.setdefault((row["place"], row["code"]), []).append(row)
    for (place, commit), runs in groups.items():
        seeds = sorted({run["seed"] for run in runs})
        lines.append(f"| {place} | {commit} | {seeds[0]} to {seeds[-1]} | {len(runs)} | "
                     f"{sum(len(run['happened']) for run in runs)} | "
                     f"{sum(run['state'] == 'SUCCEEDED' for run in runs)} | "
                     f"{sum(bool(run['broken']) for run in runs)} |")
    faults = Counter(kind for row in rows for kind in row["happened"])
    lines += ["", "Faults: " + ", ".join(f"{kind} {n}" for kind, n in faults.most_common())]
    return "\n".join(lines)

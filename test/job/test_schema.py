"""The JSON Schema that `ydl help --schema` prints, in the hands of a real validator."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
YDL = Path(os.environ.get("YDL_BIN", ROOT / "build" / "bin")) / "ydl"
GOOD = sorted([*(ROOT / "test/job/files").glob("*.yaml"), *(ROOT / "test/job/plans").glob("*.yaml")])


def _ydl(*words):
    return subprocess.run([YDL, *words], capture_output=True, text=True, timeout=20, check=False)


@pytest.fixture(scope="module")
def validator():
    done = _ydl("help", "--schema")
    assert done.returncode == 0, done.stderr
    schema = json.loads(done.stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_there_are_files_to_check():
    assert len(GOOD) > 80


@pytest.mark.parametrize("path", GOOD, ids=[f"{p.parent.name}/{p.stem}" for p in GOOD])
def test_a_file_that_ydl_takes_is_valid(validator, path):
    validator.validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("word, same", [("true", "yes"), ("on", "'yes'"), ("false", "no"),
                                        ("off", "'no'")])
def test_yes_and_no_are_taken_as_words_and_as_truth(validator, tmp_path, word, same):
    said = []
    for text in (f"hadoop: {word}\n", f"hadoop: {same}\n"):
        validator.validate(yaml.safe_load(text))
        (tmp_path / "job.yaml").write_text(text)
        done = _ydl("plan", "--json", "-f", str(tmp_path / "job.yaml"), "--", "true")
        said.append((done.returncode, done.stdout, done.stderr))
    assert said[0] == said[1] and "is not one of" not in said[0][2]


# What a schema can say of the mistakes in src/job/spec/spec_bad_test.c: where it is, by its path.
BAD = [
    ("roles: {worker: {count: 1, memroy: 1g}}", ["roles", "worker"]),
    ("nmae: x", []),
    ("memory: 1g", []),
    ("roles: {w: {queue: x}}", ["roles", "w"]),
    ("restart: {policy: task, maximum: 3}", ["restart"]),
    ("gang: {x: 1}", ["gang"]),
    ("roles: {w: {ready: {htpp: /}}}", ["roles", "w"]),
    ("roles: {w: {count: [1]}}", ["roles", "w"]),
    ("roles: {w: {count: two}}", ["roles", "w"]),
    ("roles: {w: 1.5}", ["roles", "w"]),
    ("roles: {w: {memory: lots}}", ["roles", "w"]),
    ("grace: soon", ["grace"]),
    ("gang: {retry: always}", ["gang"]),
    ("roles: {w: {side: maybe}}", ["roles", "w"]),
    ("name: [a]", ["name"]),
    ("roles: [w]", ["roles"]),
    ("env: [A=1]", ["env"]),
    ("env: {A: }", ["env"]),
    ("tags: {a: b}", ["tags"]),
    ("command: {a: b}", ["command"]),
    ("files: [a, [b]]", ["files"]),
    ("files: [{a: b, c: d, e: f}]", ["files"]),
    ("port-range: 10000", ["port-range"]),
    ("roles: {w: {after: [[x]]}}", ["roles", "w"]),
    ("roles: {w: {count: -1}}", ["roles", "w"]),
    ("roles: {w: {procs: 0}}", ["roles", "w"]),
    ("roles: {w: {ports: 5}}", ["roles", "w"]),
    ("restart: tsak", ["restart"]),
    ("avoid: yes", ["avoid"]),
    ("hadoop: maybe", ["hadoop"]),
    ("roles: {w: {place: clinet}}", ["roles", "w"]),
    ("roles: {w: {after: {x: raedy}}}", ["roles", "w"]),
    ("roles: {W: 1}", ["roles"]),
    ("- a", []),
]


@pytest.mark.parametrize("text, where", BAD, ids=[b[0] for b in BAD])
def test_a_mistake_is_found_where_it_is(validator, tmp_path, text, where):
    errors = [list(e.path) for e in validator.iter_errors(yaml.safe_load(text))]
    assert errors == [where]
    (tmp_path / "job.yaml").write_text(text)  # and ydl itself finds it as well
    assert _ydl("plan", "-f", str(tmp_path / "job.yaml"), "--", "true").returncode == 2


def test_it_stands_alone_and_belongs_to_programs_that_take_a_file():
    for words in (["run"], ["--man"], ["--man-dir", "/nowhere"]):
        done = _ydl("help", "--schema", *words)
        assert done.returncode == 2 and "--schema cannot be combined" in done.stderr
    done = subprocess.run([YDL.with_name("ydl-node"), "help", "--schema"], capture_output=True,
                          text=True, timeout=20, check=False)
    assert done.returncode == 2 and "ydl-node has no files with a schema" in done.stderr

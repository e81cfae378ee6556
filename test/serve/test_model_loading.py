"""What a server does before it is ready: damaged files, libraries that crash or hang."""

import json
import shutil
import signal
import subprocess
from pathlib import Path

import made
import pytest

from serve_support import BIN, Server, infer, refused

HERE = Path(__file__).resolve().parent
# As much of XGBoost's interface as is asked for, and what it does wrong.
LIBRARY = """
#include <stdint.h>
#include <unistd.h>
#include <stdlib.h>
void XGBoostVersion(int *a, int *b, int *c) { *a = 3; *b = 9; *c = 0; }
const char *XGBGetLastError(void) { return ""; }
int XGBoosterCreate(const void **m, uint64_t n, void **r) { (void)m; (void)n; *r = r; return 0; }
int XGBoosterLoadModelFromBuffer(void *b, const void *p, uint64_t n) { (void)b; (void)p; (void)n; AT_LOAD; return 0; }
int XGBoosterSetParam(void *b, const char *n, const char *v) { (void)b; (void)n; (void)v; return 0; }
int XGBoosterGetNumFeature(void *b, uint64_t *r) { (void)b; *r = 2; return 0; }
int XGBoosterPredictFromDense(void *b, const char *a, const char *c, void *m, const uint64_t **d,
                              uint64_t *n, const float **v)
{
    static const uint64_t dims[] = { 1 };
    static const float one[] = { 1 };
    static int runs;
    (void)b; (void)a; (void)c; (void)m;
    *d = dims; *n = 1; *v = one;
    if (runs++ > 0) { AT_RUN; }
    return 0;
}
int XGBoosterFree(void *b) { (void)b; return 0; }
__attribute__((constructor)) static void start(void) { AT_START; }
__attribute__((destructor)) static void end(void) { AT_END; }
"""


@pytest.fixture
def faulty(tmp_path):
    """faulty(AT_LOAD="abort()"): a library that does that, and a model for it."""
    def make(**does):
        source = tmp_path / "faulty.c"
        source.write_text(LIBRARY)
        flags = [f"-D{name}={does.get(name, '')}" for name in ("AT_LOAD", "AT_RUN", "AT_START", "AT_END")]
        subprocess.run(["cc", "-shared", "-fPIC", "-w", *flags, "-o", tmp_path / "libxgboost.so", source],
                       check=True, timeout=60)
        model = tmp_path / "m.json"
        model.write_text('{"learner": {}, "version": [3, 9, 0]}')
        return tmp_path, model
    return make


@pytest.fixture
def pushed(trees_model, tmp_path):
    """A version of a registry, whose files may be changed."""
    subprocess.run([BIN / "ydl", "model", "push", "--registry", tmp_path / "registry", trees_model,
                    "cat"], check=True, timeout=60)
    version = tmp_path / "version"
    shutil.copytree(tmp_path / "registry" / "cat" / "versions" / "1", version)
    for path in (version, *version.rglob("*")):
        path.chmod(0o755)
    return version


@pytest.fixture(scope="module")
def trees_model(tmp_path_factory):
    """What ubj_model.py makes."""
    return made.copy(tmp_path_factory.mktemp("ubj"), HERE / "ubj_model.py") / "three.ubj"


# ---- damaged files ----

@pytest.mark.parametrize("at", [0, 500, 5000, 20000, -1])
def test_a_damaged_file_of_a_version_is_named_before_the_library_reads_it(pushed, library, at):
    model = next((pushed / "model").iterdir())
    data = bytearray(model.read_bytes())
    data[at] ^= 0x40
    model.write_bytes(data)
    said = refused(pushed, "--lib", library)
    assert f"'{model}' is damaged: its SHA-256 is not that of the manifest" in said


def test_a_cut_or_missing_file_of_a_version_is_named(pushed, library):
    model = next((pushed / "model").iterdir())
    model.write_bytes(model.read_bytes()[:-1])
    assert "is damaged: it has" in refused(pushed, "--lib", library)
    model.unlink()
    assert "is missing" in refused(pushed, "--lib", library)


def test_an_undamaged_version_is_served(serve, pushed):
    server = serve(pushed)
    assert server.post("/v2/models/cat/infer", infer("input", [1, 2, 3, 4], [1, 4])).status == 200


def test_a_file_that_is_no_whole_document_is_refused(trees_model, library, tmp_path):
    data = trees_model.read_bytes()
    cut = tmp_path / "cut.ubj"
    cut.write_bytes(data[:len(data) // 2])
    assert "is damaged: it is no whole UBJSON" in refused(cut, "--lib", library)


# ---- libraries that do not come back ----

def dies(library, model, *args):
    """What it says before it dies of SIGSEGV or SIGABRT."""
    done = subprocess.run([BIN / "ydl-native", "serve", "--port", "0", "--lib", library, *args, model],
                          capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": "/usr/bin:/bin"})
    assert done.returncode in (-signal.SIGSEGV, -signal.SIGABRT), done.stderr
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("crash, name", [("*(volatile int*)0=1", "SIGSEGV"), ("abort()", "SIGABRT")])
def test_a_library_that_crashes_is_named(faulty, crash, name):
    library, model = faulty(AT_START=crash)
    assert dies(library, model) == (f"ydl-native: the library '{library}/libxgboost.so' crashed while "
                                    f"it was loaded ({name})")
    library, model = faulty(AT_LOAD=crash)
    said = dies(library, model)
    assert f"'{library}/libxgboost.so' (version 3.9.0) crashed while it loaded the model '{model}'" in said
    assert said.endswith(f"({name})")


def test_a_library_that_crashes_while_it_runs_is_named(faulty):
    library, model = faulty(AT_RUN="abort()")
    warmup = library / "warm"
    warmup.mkdir()
    (warmup / "one.json").write_text('{"instances": [[1, 2]]}')
    assert f"crashed while it ran the model '{model}'" in dies(library, model, "--warmup", warmup)


@pytest.mark.parametrize("at_end", ["abort()", "pause()"])
def test_what_a_library_does_at_the_very_end_changes_nothing(faulty, at_end):
    library, model = faulty(AT_END=at_end)
    server = Server(library, model)
    try:
        assert server.end() == 0, server.complaints()
    finally:
        server.kill()


@pytest.mark.parametrize("hangs, text", [("AT_LOAD", "was not loaded within"),
                                         ("AT_RUN", "was not warm within")])
def test_what_takes_too_long_is_given_up(faulty, hangs, text):
    library, model = faulty(**{hangs: "pause()"})
    warmup = library / "warm"
    warmup.mkdir()
    (warmup / "one.json").write_text('{"instances": [[1, 2]]}')
    for limit in ("300 ms", "2 s", "8 s", "32 s"):  # in the first, a busy machine may not even have loaded it
        said = refused(model, "--lib", library, "--warmup", warmup, "--load-timeout", limit.replace(" ", ""))
        if text in said:
            break
    assert f"{text} {limit}" in said and "--load-timeout" in said


# ---- warm-up with expected answers ----

def rows(*numbers, **more):
    """A stored request to the model `small`, and what is expected."""
    return json.dumps({"request": {"instances": [[1, 2, 3, 4]]},
                       "expected": {"predictions": [list(numbers)]}, **more})


@pytest.fixture
def right(serve):
    """What the model `small` answers."""
    answer = serve("small").post("/v1/models/small:predict", {"instances": [[1, 2, 3, 4]]})
    return answer.json["predictions"][0]


def test_a_version_that_answers_as_expected_becomes_ready(serve, models, right, tmp_path):
    (tmp_path / "a.json").write_text(rows(*right))
    (tmp_path / "b.json").write_text(rows(*[n + .01 for n in right], atol=.02))
    (tmp_path / "c.json").write_text(json.dumps(
        {"request": infer("x", [1, 2, 3, 4], [1, 4]),
         "expected": {"outputs": [{"name": "y", "shape": [1, 3], "data": [right]}]}}))
    assert serve(models / "small.onnx", "--warmup", tmp_path).ready["warmup_requests"] == 3


def test_a_version_that_answers_something_else_never_becomes_ready(models, library, right, tmp_path):
    (tmp_path / "a.json").write_text(rows(right[0], right[1] + .01, right[2]))
    said = refused(models / "small.onnx", "--lib", library, "--warmup", tmp_path)
    assert "the warm-up request 'a.json' failed: the model's answer is wrong: predictions[0][1] is " in said
    assert "ready:" not in said


def test_a_stored_request_that_is_wrong_is_named(models, library, tmp_path):
    (tmp_path / "a.json").write_text(rows(1, 2, 3, rtoll=1))
    said = refused(models / "small.onnx", "--lib", library, "--warmup", tmp_path)
    assert "'a.json' failed: there is no 'rtoll'" in said


def test_expectations_are_pushed_with_a_model(models, library, right, tmp_path):
    (tmp_path / "bad.json").write_text(rows(*[n + 1 for n in right]))
    subprocess.run([BIN / "ydl", "model", "push", "--registry", tmp_path / "registry",
                    models / "small.onnx", "cat", "--warmup", tmp_path / "bad.json"],
                   check=True, timeout=60)
    version = tmp_path / "registry" / "cat" / "versions" / "1"
    assert "the model's answer is wrong" in refused(version, "--lib", library)

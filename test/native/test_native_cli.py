"""What `ydl-native` says to wrong use. Needs no framework."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("YDL_BIN") or ROOT / "build" / "bin")
PLACE = {"DMLC_ROLE": "server", "DMLC_NUM_WORKER": "1", "DMLC_NUM_SERVER": "1",
         "DMLC_PS_ROOT_URI": "127.0.0.1", "DMLC_PS_ROOT_PORT": "9091"}
CLUSTER = ("--job", "ps=127.0.0.1:2222", "--job-name", "ps", "--task-index", "0")


def native(*args, env=None, cwd=None):
    """`ydl-native ARGS` with hardly any environment."""
    return subprocess.run([BIN / "ydl-native", *args], env={"PATH": "/usr/bin:/bin"} | (env or {}),
                          cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("args, env, code, text", [
    ((), {}, 0, ""),
    (("torch",), {}, 2, "torch"),
    (("mxnet", "--lib", "/nowhere"), PLACE, 1, "there is no libmxnet.so in '/nowhere'"),
    (("mxnet",), PLACE | {"MXNET_LIBRARY_PATH": "/nowhere"}, 1, "which MXNET_LIBRARY_PATH names"),
    (("mxnet", "--lib", __file__), {}, 2, "DMLC_ROLE is not set"),
    (("mxnet", "--lib", __file__), PLACE | {"DMLC_ROLE": "worker"}, 2, "DMLC_ROLE is 'worker'"),
    (("mxnet", "--lib", __file__), PLACE | {"DMLC_PS_ROOT_URI": "localhost"}, 2,
     "no numeric address"),
    (("mxnet", "--lib", __file__), PLACE, 1, "invalid ELF header"),
    (("mxnet", "--fallback"), PLACE, 2, "--fallback needs a command"),
    (("tensorflow",), {}, 2, "neither --cluster-spec nor TF_CONFIG"),
    (("tensorflow",), {"TF_CONFIG": "{"}, 2, "TF_CONFIG"),
    (("tensorflow", "--cluster-spec", "ps|h"), {}, 2, "'h' of job 'ps' is no host:port"),
    (("tensorflow", *CLUSTER[:4]), {}, 2, "which task of the cluster"),
    (("tensorflow", *CLUSTER, "--inter-op", "1"), {}, 2, "2 or more"),
    (("tensorflow", *CLUSTER, "--lib", "/nowhere"), {}, 1, "no libtensorflow_cc.so.2 in '/nowhere'"),
    (("tensorflow", *CLUSTER), {}, 1, "libtensorflow_cc.so.2"),
])
def test_wrong_use_is_a_sentence_and_a_code(tmp_path, args, env, code, text):
    done = native(*args, env=env, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert text in done.stderr


def test_a_fallback_becomes_the_command(tmp_path):
    done = native("mxnet", "--fallback", "--", "sh", "-c", 'echo "$0 $1"; exit 7', "a b", "--lib",
                  env=PLACE, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (7, "a b --lib\n")


def test_help_says_how_servers_are_told_to_learn():
    text = native("help", "mxnet").stdout
    for word in ("update_on_kvstore=False", "_send_command_to_servers", "adam", "DMLC_ROLE"):
        assert word in text

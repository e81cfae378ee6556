"""Our schemas of the model server's messages agree with those that real clients carry."""

import subprocess
from pathlib import Path

import environment
import grpc_clients
import pytest

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parents[1] / "proto" / "serving"


def differences(schema: Path) -> list[str]:
    """What the comparison prints; its last line is how much was compared."""
    clients = grpc_clients.directory()
    ran = subprocess.run([clients / "bin" / "python", HERE / "schema.py", schema,
                          grpc_clients.site_packages(clients),
                          grpc_clients.site_packages(environment.directory())],
                         capture_output=True, text=True, timeout=120)
    assert not ran.stderr, ran.stderr
    return ran.stdout.splitlines()


@pytest.mark.parametrize("name, fields", [("oip.proto", 60), ("tfs.proto", 80)])
def test_every_field_is_the_clients(name, fields):
    *wrong, count = differences(SCHEMAS / name)
    assert not wrong
    assert int(count.split()[0]) >= fields


def test_a_wrong_number_would_be_seen(tmp_path):
    text = (SCHEMAS / "oip.proto").read_text()
    (tmp_path / "oip.proto").write_text(text.replace("int_contents = 2", "int_contents = 9"))
    *wrong, _ = differences(tmp_path / "oip.proto")
    assert wrong == ["InferTensorContents.int_contents: 9 is 2 in inference.InferTensorContents"]

"""Model servers as replicas: the ones that answer gRPC too."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("serve", "grpc", "frameworks")]

import environment  # noqa: E402
import made  # noqa: E402
from serve_support import Server  # noqa: E402


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A directory with what test/serve/serve_models.py makes."""
    return made.copy(tmp_path_factory.mktemp("models"), HERE.parent / "serve" / "serve_models.py")


@pytest.fixture(scope="module")
def server(models):  # pylint: disable=redefined-outer-name
    """server(MODEL, NAME, VERSION, ARGS…): one that runs, for tests that leave it as it was."""
    servers = {}

    def start(*what) -> Server:
        if what not in servers:
            model, name, version, *args = what
            servers[what] = Server(environment.directory(), models / f"{model}.onnx", "--name", name,
                                   "--model-version", version, *args)
        return servers[what]
    yield start
    for one in servers.values():
        one.kill()

"""A model server with the real ONNX Runtime, and models to serve."""

import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "frameworks")]

import environment  # noqa: E402
import made  # noqa: E402
from serve_support import Server  # noqa: E402


@pytest.fixture(scope="module")
def library() -> Path:
    """The environment that has ONNX Runtime."""
    return environment.directory()


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A directory with what serve_models.py makes."""
    return made.copy(tmp_path_factory.mktemp("models"), HERE / "serve_models.py")


@pytest.fixture
def serve(library, models):  # pylint: disable=redefined-outer-name
    """serve(MODEL, ARGS…): a server of DIR/MODEL.onnx or of a path, with options of class Server. All
    are killed at the end."""
    servers = []

    def start(model, *args, **options) -> Server:
        path = models / f"{model}.onnx" if isinstance(model, str) else model
        servers.append(Server(library, *([path] if path else []), *args, **options))
        return servers[-1]
    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def shared(library, models):  # pylint: disable=redefined-outer-name
    """The same for tests that leave a server as it was: one for all of a file that ask for the same
    model and arguments."""
    servers = {}

    def start(model, *args) -> Server:
        if (model, args) not in servers or servers[model, args].process.poll() is not None:
            path = models / f"{model}.onnx" if isinstance(model, str) else model
            servers[model, args] = Server(library, path, *args)
        return servers[model, args]
    yield start
    for server in servers.values():
        server.kill()


@pytest.fixture
def handle(serve, tmp_path):  # pylint: disable=redefined-outer-name
    """handle(CODE, ARGS…): a server of a model.py with that code, named m, with numpy."""
    def start(code, *args, python=None, **options):
        (tmp_path / "m").mkdir(exist_ok=True)
        (tmp_path / "m" / "model.py").write_text(textwrap.dedent(code))
        return serve(tmp_path / "m", "--python", python or environment.directory(), *args,
                     **options)
    return start

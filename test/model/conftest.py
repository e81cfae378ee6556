"""Fixtures for the tests of the model registry."""

import os
import uuid

import pytest
from model_support import Registry, handler


@pytest.fixture
def plain_env(tmp_path):
    """An environment that leads to no cluster and to no configuration or data of the user's."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "YARN_", "XDG_"))}
    return env | {"HOME": str(tmp_path / "home")}


@pytest.fixture
def registry(tmp_path, plain_env):
    """A registry on this machine, which is not there yet."""
    return Registry(str(tmp_path / "registry"), plain_env, tmp_path)


@pytest.fixture
def hdfs_registry(cluster, tmp_path):
    """A registry on a real HDFS, which is not there yet."""
    top = f"/tmp/models-{uuid.uuid4().hex[:12]}"
    cluster.fs("-mkdir", top)
    cluster.fs("-chown", "alice", top)  # a user with no more rights than others
    made = Registry(f"hdfs://{top}/registry", cluster.env("alice"), tmp_path)
    yield made
    cluster.fs("-rm", "-r", "-f", "-skipTrash", top)


@pytest.fixture
def hello(tmp_path):
    """A small model."""
    return handler(tmp_path / "hello")

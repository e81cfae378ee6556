"""The library that gives each DataNode's connections an address of its own."""

from pathlib import Path

from . import compiled

_SOURCE = Path(__file__).with_name("source_address.c")


def library() -> Path:
    """The shared object to preload; compiled when it is not in the cache."""
    return compiled.result("source-address-{}.so", [_SOURCE], "-shared", "-fPIC")

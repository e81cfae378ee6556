"""The libraries that make processes of one machine look as if they had machines of their own."""

from pathlib import Path

from . import compiled

_HERE = Path(__file__).parent


def source_address() -> Path:
    """Connections come from $YDL_SOURCE_ADDRESS."""
    return _shared("source-address", "source_address.c")


def own_clock() -> Path:
    """The wall clock is set by the file $NODE_CLOCK."""
    return _shared("own-clock", "own_clock.c")


def _shared(name: str, source: str) -> Path:
    """Compiled when it is not in the cache."""
    return compiled.result(name + "-{}.so", [_HERE / source], "-shared", "-fPIC")

"""Many NodeManagers in one JVM (`../many/ManyNodes.java`), for jobs of hundreds of containers."""

from pathlib import Path

from . import compiled, java
from .layout import Layout

_SOURCE = Path(__file__).resolve().parents[1] / "many" / "ManyNodes.java"
_HEAP_MB = 512
_EACH_MB = 12  # of the heap, for each NodeManager


def command(lay: Layout, arguments: list[str]) -> list[str]:
    """A later class path replaces the common one, of which it is the beginning."""
    path = ":".join([*java.jars(lay.home), str(lay.conf), str(lay.home / "web"),
                     str(compiled.classes(lay, _SOURCE))])
    return java.command(lay, _HEAP_MB + _EACH_MB * lay.spec.many, "many",
                        f"-Dydl.cluster={lay.run}", "-Dydl.daemon=many", "-Xss256k", "-cp", path,
                        "ManyNodes", str(lay.spec.many), str(lay.port("many", "rpc")),
                        str(lay.run / "many"), *arguments)


def lose(lay: Layout, number: int) -> None:
    """The machine of a node disappears with all that runs on it."""
    (lay.run / "many" / "lose" / str(number)).touch()

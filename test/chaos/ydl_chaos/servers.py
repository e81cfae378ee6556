"""How ydl says that a server cannot be reached."""

import re

UNAVAILABLE = 69  # its exit code then, see ydl(1)
_TITLES = {"nn": "NameNode", "rm": "ResourceManager"}


def cannot_be_reached(said: str, kinds: set[str]) -> bool:
    """Is it one of these kinds (nn, rm) of which this is said? `NameNode: connect to HOST:PORT: …` of one
    that does not listen, `NameNode (HOST:PORT): …` of one that does not answer."""
    titles = "|".join(title for kind, title in _TITLES.items() if kind in kinds)
    return bool(titles) and re.search(
        rf"\b(?:{titles})(?:: connect to \S+:\d+: | \(\S+:\d+\): )", said) is not None

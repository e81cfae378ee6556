"""Hadoop's *-site.xml files, from plain dictionaries."""

from pathlib import Path
from xml.sax.saxutils import escape


def write(path: Path, values: dict[str, object]) -> None:
    """Writes one configuration file; True and False become Hadoop's words for them."""
    rows = "".join(f"<property><name>{escape(key)}</name><value>{escape(_text(value))}</value>"
                   "</property>\n" for key, value in values.items())
    path.write_text(f'<?xml version="1.0"?>\n<configuration>\n{rows}</configuration>\n')


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Files of configuration."""

from xml.sax.saxutils import escape
import os

from resource_management.core.resources import File
from resource_management.core.source import Template

__all__ = ["PropertiesFile", "TemplateConfig", "XmlConfig"]

_XML = """<?xml version="1.0"?>
<configuration>
%s</configuration>
"""
_XML_ROW = "  <property>\n    <name>%s</name>\n    <value>%s</value>\n  </property>\n"


def _text(value):
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def PropertiesFile(filename, properties=None, mode=None, owner=None, group=None, dir=None,
                   **ignored):  # pylint: disable=invalid-name,redefined-builtin,too-many-arguments
    """A file of lines NAME=VALUE."""
    del ignored
    rows = ["%s=%s\n" % (key, _text(value)) for key, value in sorted((properties or {}).items())]
    return File(os.path.join(dir, filename) if dir else filename, content="".join(rows), mode=mode,
                owner=owner, group=group)


def XmlConfig(filename, conf_dir=None, configurations=None, mode=None, owner=None, group=None,
              **ignored):  # pylint: disable=invalid-name,too-many-arguments
    """A file as Hadoop reads it."""
    del ignored
    rows = [_XML_ROW % (escape(key), escape(_text(value)))
            for key, value in sorted((configurations or {}).items())]
    return File(os.path.join(conf_dir, filename) if conf_dir else filename,
                content=_XML % "".join(rows), mode=mode, owner=owner, group=group)


def TemplateConfig(name, template_tag=None, mode=None, owner=None, group=None,
                   **ignored):  # pylint: disable=invalid-name
    """A file made of the package's template of its name: `core.conf` of `core.conf.j2`, or with a tag
    `core.conf-TAG.j2`."""
    del ignored
    template = os.path.basename(name) + ("-" + template_tag if template_tag else "") + ".j2"
    return File(name, content=Template(template), mode=mode, owner=owner, group=group)

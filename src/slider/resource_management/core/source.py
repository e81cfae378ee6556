"""Where the contents of files come from: texts, files of the package, templates.

A template is given to Jinja where that is installed. Otherwise `{{name}}` is replaced, with `.key` and
`['key']` behind it, and a template that wants more is refused.
"""

import os
import re
import urllib.request

from resource_management.core.environment import Environment
from resource_management.core.exceptions import Fail

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.\w+|\[\s*['\"][^'\"]+['\"]\s*\])*)\s*\}\}")
_PART = re.compile(r"\w+|\[\s*['\"]([^'\"]+)['\"]\s*\]")
_DOWNLOAD_S = 60


def _package_file(folder, name):
    base = Environment.get_instance().basedir or "."
    path = name if os.path.isabs(name) else os.path.join(base, folder, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as err:
        raise Fail("the package has no '%s': %s" % (name, err))


def _look_up(expression, values):
    """The value of "name.key['other']"."""
    parts = [part.group(1) or part.group() for part in _PART.finditer(expression)]
    if parts[0] not in values:
        raise Fail("a template names what has no value: '%s' is undefined" % parts[0])
    value = values[parts[0]]
    for part in parts[1:]:
        value = getattr(value, part) if hasattr(value, part) else value[part]
    return str(value)


def _fill(text, values):
    try:
        import jinja2
    except ImportError:
        if "{%" in text or "{{" in _VARIABLE.sub("", text):
            raise Fail("a template needs Jinja, which is not installed: 'pip install jinja2'")
        return _VARIABLE.sub(lambda m: _look_up(m.group(1), values), text)
    try:
        return jinja2.Template(text, keep_trailing_newline=True, trim_blocks=True,
                               undefined=jinja2.StrictUndefined).render(values)
    except jinja2.UndefinedError as err:
        raise Fail("a template names what has no value: %s" % err)


class Source:
    """Bytes for a file: get_content() of the class that says where they come from."""

    def __init__(self, name):
        self.name = name

    def __call__(self):
        return self.get_content()


class StaticFile(Source):
    """A file of the package's folder `files`."""

    def get_content(self):
        return _package_file("files", self.name)


class Template(Source):
    """A template of the package's folder `templates`; `variables` come before those of the script's
    parameters."""

    def __init__(self, name, extra_imports=None, **variables):
        super().__init__(name)
        del extra_imports
        self.variables = variables

    def _text(self):
        return _package_file("templates", self.name).decode("utf-8")

    def get_content(self):
        values = dict(Environment.get_instance().params)
        values.update(self.variables)
        return _fill(self._text(), values).encode("utf-8")


class InlineTemplate(Template):
    """A template that stands in the script."""

    def _text(self):
        return str(self.name)


class DownloadSource(Source):
    """What an address gives."""

    def get_content(self):
        with urllib.request.urlopen(self.name, timeout=_DOWNLOAD_S) as answer:
            return answer.read()

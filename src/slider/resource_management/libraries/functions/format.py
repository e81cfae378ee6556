"""Text with the caller's variables in it."""

import string
import sys

from resource_management.core import shell
from resource_management.core.environment import Environment


class _Formatter(string.Formatter):
    """`{name!e}` quotes a value for a shell, `{name!p}` is the value itself."""

    def convert_field(self, value, conversion):
        if conversion == "e":
            return shell.quote_bash_args(value)
        return value if conversion in ("h", "p") else super().convert_field(value, conversion)


def format(text, *args, **kwargs):  # pylint: disable=redefined-builtin
    """`format("{app_root}/x")`: names are those of the caller, then those given to
    `env.set_params()`, and the given ones before all."""
    caller = sys._getframe(1)  # pylint: disable=protected-access
    values = dict(Environment.get_instance().params)
    for scope in (caller.f_globals, caller.f_locals, kwargs):
        values.update(scope)
    return _Formatter().vformat(text, args, values)

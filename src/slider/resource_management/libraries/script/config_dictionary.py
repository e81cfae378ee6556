"""The configuration as scripts see it: config['configurations']['global']['app_root']."""

from resource_management.core.exceptions import Fail


def _plain(value):
    """Words for yes and no, and whole numbers, are what they mean; other texts stay."""
    if not isinstance(value, str):
        return value
    if value in ("true", "false"):
        return value == "true"
    return int(value) if value.lstrip("-").isdigit() and str(int(value)) == value else value


class ConfigDictionary(dict):
    """A dictionary whose keys are attributes too, and whose missing keys complain when they are used
    and not before: a script may ask `is_empty(config['a']['b'])`."""

    def __init__(self, values):
        super().__init__({key: ConfigDictionary(value) if isinstance(value, dict) else _plain(value)
                          for key, value in values.items()})

    def __missing__(self, name):
        return UnknownConfiguration(name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def _refuse(self, *_):
        raise Fail("the configuration cannot be changed by a script")

    __setattr__ = __setitem__ = __delitem__ = _refuse


class UnknownConfiguration:
    """What stands in for a value that the configuration does not have."""

    def __init__(self, name):
        object.__setattr__(self, "_name", name)

    def _complain(self, *_):
        raise Fail("the configuration has no '%s'" % self._name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._complain()

    __str__ = __repr__ = __getitem__ = __iter__ = __len__ = __call__ = __int__ = __float__ = _complain
    __add__ = __radd__ = __contains__ = __index__ = __format__ = __fspath__ = _complain

    def __bool__(self):
        return False


def is_empty(value):
    """Whether a value is one that the configuration does not have."""
    return isinstance(value, UnknownConfiguration)

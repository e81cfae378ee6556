"""What a script's methods get as `env`."""


class Environment:
    """Where files of the package are, and the variables of templates. One is there at a time."""

    _now = None

    def __init__(self, basedir=None, tmp_dir=None, logging_level=None):
        del logging_level
        self.basedir, self.tmp_dir = basedir, tmp_dir
        self.params = {}

    def __enter__(self):
        Environment._now = self
        return self

    def __exit__(self, *_):
        Environment._now = None
        return False

    def set_params(self, params):
        """Names for templates: a module (as in `import params`), a dictionary or an object."""
        if hasattr(params, "items"):
            found = dict(params.items())
        else:
            found = {k: getattr(params, k) for k in dir(params) if not k.startswith("_")}
        self.params.update(found)

    def run(self):
        """Resources act as soon as they are made: there is nothing left to do."""

    @classmethod
    def get_instance(cls):
        """The one that is there; outside of any an empty one."""
        return cls._now or cls()

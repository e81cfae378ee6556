"""A component's life cycle.

    class Tensorflow(Script):
        def start(self, env): ...
        def stop(self, env): ...
        def status(self, env): ...

    if __name__ == "__main__":
        Tensorflow().execute()

The agent runs the file once for each command:

    script.py COMMAND command.json BASEDIR STRUCTURED-OUT [LOGLEVEL [TMPDIR]]

and COMMAND in small letters is the method that is called. It has succeeded when the method returns.
A command that the method ran, and that failed, gives the process its own exit code.
"""

import json
import os
import sys
import traceback

from resource_management.core.environment import Environment
from resource_management.core.exceptions import (
    ClientComponentHasNoStatus, ComponentIsNotRunning, Fail)
from resource_management.core.logger import Logger
from resource_management.libraries.script.config_dictionary import ConfigDictionary

_USAGE = "usage: %s COMMAND command.json BASEDIR STRUCTURED-OUT [LOGLEVEL [TMPDIR]]"
_NOT_THERE = 3  # as init scripts say: not running


class Script:
    """To be derived from."""

    config = None
    structuredOut = {}
    stroutfile = None
    basedir = tmp_dir = ""

    # ---- what scripts ask for ----

    @staticmethod
    def get_config():
        """All of command.json."""
        return Script.config if Script.config is not None else ConfigDictionary({})

    @staticmethod
    def get_tmp_dir():
        """A directory for what need not stay."""
        return Script.tmp_dir

    def put_structured_out(self, values):
        """Keeps values for whoever ran the command, in the file that it named."""
        Script.structuredOut.update(values)
        if Script.stroutfile:
            with open(Script.stroutfile, "w") as file:
                json.dump(Script.structuredOut, file)

    def install_packages(self, env, exclude_packages=None):
        """The agent has put the application's packages in place before any command runs."""

    # ---- methods that a component need not have ----

    def install(self, env):
        """INSTALL."""
        self.install_packages(env)

    def configure(self, env):
        """CONFIGURE, or called by start."""

    def restart(self, env):
        """RESTART."""
        self.stop(env)
        self.start(env)

    def start(self, env):
        """START."""
        self._fail_not_there("start")

    def stop(self, env):
        """STOP: the processes are told to end by whoever stops the task."""

    def status(self, env):
        """STATUS: without an answer of the component's own, nobody can tell."""
        raise ClientComponentHasNoStatus("%s cannot say whether it runs" % type(self).__name__)

    def _fail_not_there(self, name):
        raise Fail("class %s has no method '%s'" % (type(self).__name__, name))

    # ---- running ----

    def execute(self):
        """Does what the command line says, and ends the process."""
        if len(sys.argv) < 5:
            print(_USAGE % sys.argv[0], file=sys.stderr)
            sys.exit(2)
        command, path, Script.basedir, Script.stroutfile = sys.argv[1:5]
        level, Script.tmp_dir = (sys.argv[5:7] + ["INFO", ""][len(sys.argv[5:7]):])
        Logger.initialize_logger("script", level)
        Script.structuredOut = {}
        sys.exit(self._run(command, path))

    def _run(self, command, path):
        """The exit code."""
        try:
            with open(path) as file:
                Script.config = ConfigDictionary(json.load(file))
            method = self.choose_method_to_execute(command.lower())
            with Environment(Script.basedir, tmp_dir=Script.tmp_dir) as env:
                method(env)
        except ComponentIsNotRunning as err:
            Logger.info("%s: %s" % (command, err))
            return _NOT_THERE
        except ClientComponentHasNoStatus as err:
            Logger.info("%s: %s" % (command, err))
            return err.code
        except Fail as err:
            Logger.error("%s: %s" % (command, err))
            self._leave_error(err)
            return err.code if 0 < err.code < 256 else 1
        except (OSError, ValueError) as err:
            traceback.print_exc()
            self._leave_error(err)
            return 1
        return 0

    def _leave_error(self, err):
        """Best effort: the exit code is what counts."""
        try:
            self.put_structured_out({"errorMessage": str(err)})
        except OSError:
            Logger.debug("nothing can be written to '%s'" % Script.stroutfile)

    def choose_method_to_execute(self, name):
        """The method of a command's name."""
        method = getattr(self, name, None)
        if name.startswith("_") or not callable(method):
            self._fail_not_there(os.path.basename(name))
        return method

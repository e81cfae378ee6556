"""Files, directories, links and commands.

A resource acts when it is made. Options that need another user than the task's have no effect: a task
runs as one user, and a line in its output says so once.
"""

import os
import pwd
import shutil
import sys
import time

from resource_management.core import shell
from resource_management.core.exceptions import (
    ExecuteTimeoutException, ExecutionFailed, Fail, InvalidArgument)
from resource_management.core.logger import Logger
from resource_management.core.source import Source

_said = set()


def _note_once(text):
    if text not in _said:
        _said.add(text)
        Logger.info(text)


def _me():
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _holds(condition):
    """Whether a condition is fulfilled: a command that ends with 0, a function, or a value."""
    if callable(condition):
        return bool(condition())
    if isinstance(condition, (str, list, tuple)):
        return shell.call(condition)[0] == 0
    return bool(condition)


class Resource:
    """What all have: `not_if`, `only_if`, an action, and an owner that cannot be changed."""

    actions = ()

    def __init__(self, name, action=None, not_if=None, only_if=None, owner=None, group=None,
                 user=None, **options):
        self.name, self.options = name, options
        wanted = action or self.actions[0]
        if not isinstance(wanted, (list, tuple)):
            wanted = [wanted]
        for other in (owner, user):
            if other and str(other) != _me():
                _note_once("everything here is done as '%s', not as '%s'" % (_me(), other))
        del group
        for one in wanted:
            self._act(one, not_if, only_if)

    def _act(self, action, not_if, only_if):
        if action != "nothing" and action not in self.actions:
            raise InvalidArgument("%s has no action '%s'" % (type(self).__name__, action))
        if (action == "nothing" or (not_if is not None and _holds(not_if)) or
                (only_if is not None and not _holds(only_if))):
            return
        Logger.debug("%s %s '%s'" % (type(self).__name__, action, shell.brief(self.name)))
        getattr(self, "action_" + action)()

    def option(self, name, default=None):
        """An option's value; None counts as not said."""
        value = self.options.get(name)
        return default if value is None else value


class Execute(Resource):
    """Runs a command: a text for a shell, or a list of words. What it prints is in the task's output,
    unless `logoutput` is False; it then shows when it failed. `wait_for_finish=False` leaves it
    running. `tries` and `try_sleep` (seconds) try again, `timeout` ends it. `returns` are good codes."""

    actions = ("run",)

    def action_run(self):
        """Runs it, as often as it has to be."""
        tries = int(self.option("tries", 1))
        for attempt in range(1, tries + 1):
            try:
                return self._once()
            except Fail as err:
                if attempt == tries:
                    raise
                Logger.warning("%s; once more in %s s" % (err, self.option("try_sleep", 0)))
                time.sleep(float(self.option("try_sleep", 0)))
        return None

    def _once(self):
        command = self.option("command", self.name)
        shown = self.option("logoutput", True)
        if not self.option("wait_for_finish", True):
            left = shell.start(command, self.option("environment"), self.option("cwd"),
                               self.option("path"))
            left.returncode = 0  # whoever runs the script asks how it ended: it must not be done here
            return
        if shown:
            code, out = self._run_visibly(command), ""
        else:
            code, out = shell.call(command, cwd=self.option("cwd"), env=self.option("environment"),
                                   timeout=self.option("timeout"), path=self.option("path"))
        good = self.option("returns", [0])
        if code not in (good if isinstance(good, (list, tuple)) else [good]):
            raise ExecutionFailed("'%s' ended with %d%s" % (
                shell.brief(command), code, ": " + out[-400:] if out else ""), code, out)

    def _run_visibly(self, command):
        """Its output goes where the script's goes, as it comes."""
        process = shell.start(command, self.option("environment"), self.option("cwd"),
                              self.option("path"))
        try:
            return shell.exit_code(process.wait(self.option("timeout")))
        except Exception:
            process.kill()
            process.wait()
            if sys.exc_info()[0].__name__ == "TimeoutExpired":
                raise ExecuteTimeoutException("'%s' did not end in %s s" % (
                    shell.brief(command), self.option("timeout")))
            raise


class _Path(Resource):
    """Something in the file system."""

    @property
    def path(self):
        """Where it is."""
        return str(self.option("path", self.name))

    def _set_mode(self):
        mode = self.option("mode")
        if mode is not None:
            os.chmod(self.path, mode if isinstance(mode, int) else int(str(mode), 8))

    def action_delete(self):
        """Takes it away, with all in it."""
        if os.path.isdir(self.path) and not os.path.islink(self.path):
            shutil.rmtree(self.path)
        elif os.path.lexists(self.path):
            os.unlink(self.path)


class File(_Path):
    """A file with `content`: text, bytes or a Source. One that is as wanted is not written again;
    with `replace=False` one that is there stays as it is."""

    actions = ("create", "delete")

    def action_create(self):
        """Writes it."""
        content = self.option("content")
        if isinstance(content, Source):
            content = content.get_content()
        if content is not None and not isinstance(content, bytes):
            content = str(content).encode("utf-8")
        there = os.path.exists(self.path)
        if not there or (content is not None and self.option("replace", True)):
            self._write(content or b"")
        self._set_mode()

    def _write(self, content):
        directory = os.path.dirname(self.path)
        if directory and not os.path.isdir(directory):
            raise Fail("'%s' cannot be written: there is no directory '%s'" % (self.path, directory))
        if os.path.exists(self.path):
            with open(self.path, "rb") as file:
                if file.read() == content:
                    return
        with open(self.path, "wb") as file:
            file.write(content)


class Directory(_Path):
    """A directory; those above it are made too, as scripts of all ages expect."""

    actions = ("create", "delete")

    def action_create(self):
        """Makes it."""
        os.makedirs(self.path, exist_ok=True)
        self._set_mode()


class Link(_Path):
    """A symbolic link to `to`."""

    actions = ("create", "delete")

    def action_create(self):
        """Makes it, in place of another one."""
        if os.path.islink(self.path):
            os.unlink(self.path)
        os.symlink(str(self.option("to")), self.path)

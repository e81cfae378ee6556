"""Commands of the system.

    code, out = shell.call("ls -l")
    code, out = shell.checked_call(["ls", "-l"])     # raises unless the code is 0

A text is given to a shell, a list is run as it is.
"""

import os
import subprocess
import sys

from resource_management.core.exceptions import ExecuteTimeoutException, ExecutionFailed
from resource_management.core.logger import Logger

_SHELL = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def quote_bash_args(word):
    """A word as a shell takes it for one."""
    return "'" + str(word).replace("'", "'\\''") + "'"


def brief(command):
    """A command for messages: its beginning, as passwords may stand behind."""
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    return " ".join(words[:2] + (["..."] if len(words) > 2 else []))


def _words(command):
    if isinstance(command, str):
        return [_SHELL, "-c", command]
    return [str(word) for word in command]


def _environment(environment, path):
    """The process's own, the given variables, and directories that come first in PATH."""
    made = dict(os.environ)
    made.update({str(k): str(v) for k, v in (environment or {}).items()})
    if path:
        first = path if isinstance(path, str) else os.pathsep.join(path)
        made["PATH"] = first + os.pathsep + made.get("PATH", "")
    return made


def start(command, environment=None, cwd=None, path=None, output=None):
    """Starts a command and does not wait; a `subprocess.Popen`. Without `output` (a file or a
    descriptor) it writes where the script does."""
    sys.stdout.flush()
    return subprocess.Popen(_words(command), env=_environment(environment, path), cwd=cwd,
                            stdin=subprocess.DEVNULL, stdout=output,
                            stderr=None if output is None else subprocess.STDOUT)


def exit_code(returncode):
    """As a shell shows it: 128 and the signal's number for one that was killed."""
    return returncode if returncode >= 0 else 128 - returncode


def call(command, logoutput=False, cwd=None, env=None, timeout=None, path=None, **ignored):
    """Runs a command to its end: its code, and what it printed, which `logoutput` also shows."""
    del ignored  # user, sudo, quiet, verbose …
    process = start(command, env, cwd, path, subprocess.PIPE)
    try:
        out = process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise ExecuteTimeoutException("'%s' did not end in %s s" % (brief(command), timeout))
    out = out.decode("utf-8", "replace").rstrip("\n")
    if logoutput and out:
        Logger.info(out)
    return exit_code(process.returncode), out


def checked_call(command, **options):
    """The same, for a command that must succeed."""
    code, out = call(command, **options)
    if code:
        raise ExecutionFailed("'%s' ended with %d: %s" % (brief(command), code, out[-400:]),
                              code, out)
    return code, out

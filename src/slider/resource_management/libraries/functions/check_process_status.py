"""Does the process of a pid file live?"""

import os

from resource_management.core.exceptions import ComponentIsNotRunning
from resource_management.core.logger import Logger


def _is_zombie(pid):
    """One that has ended, and that nobody has asked about yet, does not live."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return False


def check_process_status(pid_file):
    """Raises ComponentIsNotRunning unless the file has the number of a living process in it."""
    try:
        with open(str(pid_file)) as file:
            pid = int(file.read().strip())
    except (OSError, ValueError):
        raise ComponentIsNotRunning("'%s' has no process in it" % pid_file)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        raise ComponentIsNotRunning("process %d of '%s' does not live" % (pid, pid_file))
    except PermissionError:
        pass  # it lives, and is somebody else's
    if _is_zombie(pid):
        raise ComponentIsNotRunning("process %d of '%s' has ended" % (pid, pid_file))
    Logger.debug("process %d of '%s' lives" % (pid, pid_file))

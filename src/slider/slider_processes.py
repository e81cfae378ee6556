"""The processes below a task's agent, and what its program writes into app/log. Part of agent.py."""

import os
import signal
import subprocess
import sys
import time

TICK_S = 0.25      # between two looks at app/log
FOLLOWED_MAX = 64  # files of app/log
PIECE = 1 << 16
SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}


# ---- output ----

class Follower:
    """Copies what is written into app/log to our own output."""

    def __init__(self, directory):
        self.directory, self.at = directory, {}
        for name in self._names():  # of an earlier start: has been shown
            self.at[name] = os.path.getsize(os.path.join(directory, name))

    def _names(self):
        try:
            found = sorted(os.listdir(self.directory))
        except OSError:
            return []
        return [name for name in found[:FOLLOWED_MAX]
                if os.path.isfile(os.path.join(self.directory, name)) and
                not os.path.islink(os.path.join(self.directory, name))]

    def _copy(self, name):
        path = os.path.join(self.directory, name)
        at, end = self.at.get(name, 0), os.path.getsize(path)
        if end < at:
            at = 0  # it began anew
        with open(path, "rb") as file:
            file.seek(at)
            while at < end:  # and no further: who writes without a pause must not keep us here
                piece = file.read(min(PIECE, end - at))
                if not piece:
                    break
                sys.stdout.buffer.write(piece)
                at += len(piece)
        self.at[name] = at

    def look(self):
        """What has come since the last look."""
        for name in self._names():
            try:
                self._copy(name)
            except OSError:
                continue
        sys.stdout.flush()


# ---- processes ----

def shell_code(status):
    """A wait status as a shell shows it."""
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


class Processes:
    """Everything below us: what we start, and what those leave behind."""

    def __init__(self, follower):
        self.follower = follower
        self.ended = {}      # pid: exit code
        self.stopping = False

    def start(self, words, env):
        """Starts a program with the signals that a program has; its number."""
        sys.stdout.flush()
        process = subprocess.Popen(
            words, env=env, stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS))
        process.returncode = 0  # it is waited for here, and not there
        self.ended.pop(process.pid, None)
        return process.pid

    def _reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.ended[pid] = shell_code(status)

    def wait(self, seconds):
        """Until something happened, or so long."""
        got = signal.sigtimedwait(SIGNALS, max(0.0, seconds))
        if got and got.si_signo in (signal.SIGTERM, signal.SIGINT):
            self.stopping = True
        self._reap()
        self.follower.look()

    def wait_for(self, pid, deadline=None, through_stop=False):
        """The exit code of a child; None when the time is over or we are to stop."""
        while pid not in self.ended:
            if (self.stopping and not through_stop) or (deadline and time.time() >= deadline):
                return None
            self.wait(TICK_S if not deadline else min(TICK_S, deadline - time.time()))
        return self.ended[pid]

    def tell_all(self, number):
        """A signal for every child."""
        for pid in self.children():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    @staticmethod
    def children():
        """The numbers of our children."""
        found = []
        for task in os.listdir("/proc/self/task"):
            try:
                with open("/proc/self/task/%s/children" % task) as file:
                    found += [int(word) for word in file.read().split()]
            except OSError:
                return _children_by_stat()
        return found


def _children_by_stat():
    """The same where the kernel has no list of them."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name) as file:
                if name.isdigit() and int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
        except (OSError, ValueError, IndexError):
            continue
    return found

"""What a task of a Slider application runs: it does what Slider's agent did for one component.

    environment     SLIDER_COMMAND   command.json as far as it was known when the task began
    here            app/definition   the application's package, as its author wrote it
                    slider/          this file and the package `resource_management`
    made here       app/install      the application's own files
                    app/run, app/log, app/conf, app/command.json

It puts the packages in place, runs the component's script with INSTALL and then with START, and ends
as the program does that START ran: a START that stays until the program ends hands its exit code on;
one that leaves a process behind is waited for by that process (it becomes ours, for we are its
subreaper), and where there is none, by STATUS. A program that lives, and whose STATUS says twice that
it does not run, is ended and has failed. SIGTERM is answered by STOP.

What the program writes into app/log is in the task's output too. Python 3.6 and its standard library.
"""

import ctypes
import os
import shutil
import signal
import sys
import time

import slider_python2
from slider_package import Places, Unusable, Wrong, install_packages, make_command, read_template, write_command
from slider_processes import SIGNALS, TICK_S, Follower, Processes

PR_SET_CHILD_SUBREAPER = 36
STATUS_EVERY_S = 2  # where only STATUS knows whether the program runs
CHECK_EVERY_S = 10  # where it is ours, and STATUS may know better; SLIDER_STATUS_S says otherwise
NOT_RUNNING = 3     # of STATUS, as init scripts say it; other codes: it cannot tell
PID_FILE_S = 2      # for a pid file to appear, when START has left processes
DENIED_STOP_S = 30  # for STOP of a program that STATUS has given up
LEAVE_S = 1         # of the grace, for ourselves
NEVER_RUNS = 126    # the task's exit code, as shells have it; such a task is not started again
DEFAULT_TIMEOUT_S = 600


def say(text):
    """A line of ours in the task's output."""
    print("slider-agent: " + text, flush=True)


class Component:
    """A component's script, and the program that it runs."""

    def __init__(self, places, command, processes):
        self.places, self.command, self.processes = places, command, processes
        params = command.get("commandParams", {})
        self.script = places.script(params["script"])
        self.python = str(params.get("script_type", "PYTHON")).upper() == "PYTHON"
        try:
            self.timeout = float(params.get("command_timeout") or DEFAULT_TIMEOUT_S)
        except ValueError:
            self.timeout = DEFAULT_TIMEOUT_S
        self.pid_file = command["configurations"]["global"]["pid_file"]
        self.converted = False
        self.asked, self.denied = 0.0, 0  # when STATUS was asked last, and how often it said no

    def check(self):
        """Makes a script of Python 2 one that can be run, or says what is wrong before it is run in vain."""
        err = slider_python2.fault(self.script) if self.python else None
        if not err:
            return
        copy = slider_python2.scripts_of_ours(self.script, os.path.join(self.places.app, "scripts"))
        if not copy:
            raise Unusable("'%s', line %s: %s (scripts are run by Python %d; those of Python 2 are rewritten where "
                           "Python has lib2to3, up to version 3.12, and this one is %d.%d)" % (
                               os.path.relpath(self.script, self.places.definition), err.lineno, err.msg,
                               *sys.version_info[:1], *sys.version_info[:2]))
        self.script, self.converted = copy, True

    def check_installed(self):
        """The application's own files, which are a copy of ours, and what it calls them by."""
        if not self.converted:
            return
        n = slider_python2.convert_below(slider_python2.converter(), self.places.install)
        say("the package is of Python 2: its scripts%s were rewritten for Python %d.%d" % (
            " and %d of its files" % n if n else "", *sys.version_info[:2]))
        if not shutil.which("python"):
            folder = os.path.join(self.places.run, "bin")
            os.makedirs(folder)
            os.symlink(sys.executable, os.path.join(folder, "python"))
            os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), folder])

    def _environment(self):
        paths = [self.places.library] + [p for p in [os.environ.get("PYTHONPATH")] if p]
        return dict(os.environ, PYTHONPATH=os.pathsep.join(paths),
                    AGENT_WORK_ROOT=self.places.root, AGENT_LOG_ROOT=self.places.log)

    def begin(self, name):
        """Starts the script with a command; the number of its process."""
        write_command(self.places, self.command, name)
        out = os.path.join(self.places.run, "structured-out-%s.json" % name)
        words = [sys.executable] if self.python else ["sh"]
        level = os.environ.get("SLIDER_LOG_LEVEL", "ERROR" if name == "STATUS" else "INFO")
        return self.processes.start(words + [self.script, name, self.places.command,
                                             self.places.package(), out, level, self.places.tmp],
                                    self._environment())

    def run(self, name, timeout=None, through_stop=False):
        """The exit code of a command; None when it was not waited for to its end."""
        limit = self.timeout if timeout is None else timeout
        pid = self.begin(name)
        code = self.processes.wait_for(pid, time.time() + limit, through_stop)
        if code is None:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            if not self.processes.stopping:
                raise Wrong("%s did not end in %g s" % (name, limit))
        return code

    def _daemon(self):
        """The process that the pid file names, if it is, or was, a child of ours."""
        try:
            with open(self.pid_file) as file:
                pid = int(file.read().strip())
        except (OSError, ValueError):
            return None
        return pid if pid in self.processes.ended or pid in self.processes.children() else None

    def _find_daemon(self):
        """It may write its file a moment after START has ended."""
        until = time.time() + PID_FILE_S
        while not self.processes.stopping:
            pid = self._daemon()
            if pid or not self.processes.children() or time.time() > until:
                return pid
            self.processes.wait(TICK_S)
        return None

    def _is_denied(self):
        """Has STATUS said twice that a program does not run which lives? It is asked now and then."""
        if time.time() - self.asked < check_every():
            return False
        self.denied = self.denied + 1 if self.run("STATUS") == NOT_RUNNING else 0
        self.asked = time.time()
        if self.denied < 2 or self.processes.stopping:
            return False
        say("STATUS says that the component does not run: it is ended")
        return True

    def _follow_daemon(self, pid):
        """Until it ends: its code."""
        while pid not in self.processes.ended and not self.processes.stopping:
            if self._is_denied():
                return self._end_denied()
            self.processes.wait(TICK_S)
        return self.processes.ended.get(pid)

    def _follow_children(self, before):
        """Until none is left: 0, or the code of the first of them that failed."""
        while self.processes.children() and not self.processes.stopping:
            if self._is_denied():
                return self._end_denied()
            self.processes.wait(TICK_S)
        codes = [code for pid, code in self.processes.ended.items() if pid not in before]
        return next((code for code in codes if code), 0)

    def _follow_status(self):
        """Where nothing of it is ours: for as long as STATUS says that it runs."""
        asked, first = 0.0, True
        while not self.processes.stopping:
            if time.time() - asked >= STATUS_EVERY_S:
                if self.run("STATUS") != 0:
                    break
                asked, first = time.time(), False
            self.processes.wait(TICK_S)
        if first or self.processes.stopping:
            return 0  # START has done all there was to do
        say("the component no longer runs, and nobody can say how it ended")
        return 1

    def live(self):
        """INSTALL and START, until the program has ended: its exit code; None when we are to stop."""
        code = self.run("INSTALL")
        if code or self.processes.stopping:
            return code
        before = set(self.processes.ended)
        started = self.begin("START")
        code = self.processes.wait_for(started)
        if code is None or code:
            return code
        before.add(started)
        pid = self._find_daemon()
        self.asked = time.time()
        if pid:
            code = self._follow_daemon(pid)
        elif self.processes.children() or set(self.processes.ended) - before:
            code = self._follow_children(before)
        else:
            code = self._follow_status()
        return None if self.processes.stopping else code

    def _end_denied(self):
        """STOP, and what is left then is killed with the task."""
        self.stop(time.time() + DENIED_STOP_S)
        return 1

    def stop(self, until):
        """STOP, for as long as there is time; then whatever is left is asked to end."""
        self.run("STOP", max(LEAVE_S, until - time.time()), through_stop=True)
        self.processes.tell_all(signal.SIGTERM)
        while self.processes.children() and time.time() < until:
            self.processes.wait(min(TICK_S, until - time.time()))


def check_every():
    """Seconds between two questions to STATUS."""
    try:
        return float(os.environ["SLIDER_STATUS_S"])
    except (KeyError, ValueError):
        return CHECK_EVERY_S


def deadline():
    """When we will be killed, less a moment: in the file that YDL_STOP names."""
    try:
        with open(os.environ["YDL_STOP"]) as file:
            return int(file.read()) / 1000.0 - LEAVE_S
    except (KeyError, OSError, ValueError):
        return time.time() + 10


def become_reaper():
    """What our children leave behind becomes ours, so that its exit code can be known."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (AttributeError, OSError):
        say("processes that START leaves behind cannot be waited for")


def main():
    """The task's exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    places = Places(os.getcwd())
    try:
        template = read_template()
        places.make()
        become_reaper()
        processes = Processes(Follower(places.log))
        component = Component(places, make_command(template, places), processes)
        component.check()
        install_packages(template.get("packages", []), places)
        component.check_installed()
        code = component.live()
        if processes.stopping:
            component.stop(deadline())
            code = 128 + signal.SIGTERM if code is None else code
    except Wrong as err:
        say(str(err))
        return NEVER_RUNS if isinstance(err, Unusable) else 1
    processes.follower.look()
    return code


if __name__ == "__main__":
    sys.exit(main())

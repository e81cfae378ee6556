"""agent.py: the life of a component, without a job around it."""

import json
import os
import signal
import tarfile
import time
import zipfile

import pytest
from slider_support import command

FOLDER = {"packages": [{"type": "folder", "name": "files"}]}


def test_install_then_start_and_the_programs_code_is_the_tasks(task):
    task.script(install="print('INSTALL')", start="print('START', flush=True)\nExecute('exit 7')")
    code, out = task.run()
    assert code == 7
    assert [line for line in out.splitlines() if line in ("INSTALL", "START")] == ["INSTALL", "START"]


def test_a_start_that_stays_to_the_end_ends_the_task(task):
    task.script(start="Execute('echo works')")
    assert task.run() == (0, "works\n")


def test_an_install_that_fails_ends_it_before_the_start(task):
    task.script(install="Execute('exit 3')", start="print('never')")
    code, out = task.run()
    assert code == 3 and "never" not in out


DAEMON = "Execute('({}) & echo $! > ' + c['pid_file'])"


@pytest.mark.parametrize("program, wanted", [("sleep 0.6; exit 0", 0), ("sleep 0.6; exit 9", 9),
                                             ("sleep 0.6; kill -9 $BASHPID", 137)])
def test_a_start_that_leaves_a_daemon_is_waited_for_by_its_pid_file(task, program, wanted):
    task.script(start=DAEMON.format(program))
    begun = time.monotonic()
    code, out = task.run()
    assert code == wanted, out
    assert time.monotonic() - begun > 0.6


ENDED = "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)"


@pytest.mark.parametrize("start", [
    "File(c['pid_file'], content=str(os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 6'], os.environ)))",
    "Execute('exit 6', wait_for_finish=False)"])
def test_what_has_ended_when_start_has_is_known_too(task, start):
    """A shell would have asked how, and so nobody else could."""
    task.script(start=f"{start}\n{ENDED}")
    code, out = task.run()
    assert code == 6, out


def test_a_daemon_in_a_session_of_its_own_is_waited_for(task):
    task.script(start="Execute('setsid sh -c \"sleep 0.5; exit 8\" & echo $! > ' + c['pid_file'])")
    assert task.run()[0] == 8


def test_processes_without_a_pid_file_are_waited_for(task):
    task.script(start="Execute('sleep 0.3; echo late; exit 5', wait_for_finish=False)")
    code, out = task.run()
    assert code == 5 and "late\n" in out


def test_where_nothing_is_ours_status_is_asked(task):
    """As of a program that a docker daemon runs."""
    task.script(start="File('alive', content='x')",
                status="os.path.exists('alive') or self.not_running()\nopen('asked', 'a').write('x')",
                not_running="raise ComponentIsNotRunning('gone')")
    text = task.package.joinpath("scripts/component.py").read_text()
    task.write("scripts/component.py", text.replace("def not_running(self, env)",
                                                    "def not_running(self, env=None)"))
    agent = task.start()
    task.wait_for("asked")
    assert agent.poll() is None
    task.file("alive").unlink()
    out = agent.communicate(timeout=50)[0]
    assert agent.returncode == 1 and "nobody can say how it ended" in out


LIVES_ON = "Execute('(exec sleep 600) & echo $! > ' + c['pid_file'])"


def test_status_is_asked_of_what_runs_and_its_no_ends_it(task):
    """Once is not enough: a program may just have begun."""
    task.script(start=LIVES_ON, stop="print('STOP', flush=True)\nExecute(['kill', open(c['pid_file']).read().strip()])",
                status="if os.path.exists('sick'):\n    open('denied', 'a').write('x')\n"
                       "    raise ComponentIsNotRunning('it does not answer')\n"
                       "check_process_status(c['pid_file'])\nopen('asked', 'a').write('x')")
    agent = task.start(SLIDER_STATUS_S="0.1")
    task.wait_for("asked")
    task.file("sick").touch()
    out = agent.communicate(timeout=50)[0]
    assert agent.returncode == 1 and "STATUS says that the component does not run" in out
    assert "STOP\n" in out and task.file("denied").read_text() == "xx"


@pytest.mark.parametrize("status", [
    "Execute('exit 1')", pytest.param("raise ClientComponentHasNoStatus('x')", marks=pytest.mark.full),
    pytest.param(None, marks=pytest.mark.full)])
def test_a_status_that_cannot_tell_changes_nothing(task, status):
    note = "open('asked', 'a').write('x')\n"
    task.script(start="Execute('(while [ $(wc -c < asked) -lt 3 ]; do sleep 0.05; done; exit 6) & echo $! > '"
                      " + c['pid_file'])" if status else
                      "Execute('(sleep 1; exit 6) & echo $! > ' + c['pid_file'])",
                **({"status": note + status} if status else {}))
    task.file("asked").touch()
    code, out = task.run(SLIDER_STATUS_S="0.1")
    assert code == 6, out


def test_a_term_is_answered_by_stop(task):
    task.script(start="File(c['pid_file'], content=str(os.getpid()))\nExecute('exec sleep 600')",
                stop="print('STOP', flush=True)\nExecute(['kill', open(c['pid_file']).read()])")
    agent = task.start()
    task.wait_for("app/run/component.pid")
    time.sleep(0.2)
    task.file("stop").write_text(str(int((time.time() + 40) * 1000)))
    os.kill(agent.pid, signal.SIGTERM)
    out = agent.communicate(timeout=50)[0]  # before the program's own end, after a minute
    assert agent.returncode == 143 and "STOP\n" in out


def test_a_stop_that_hangs_does_not_outlive_the_grace(task):
    task.script(start="signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                      "File(c['pid_file'], content='x')\ntime.sleep(600)",
                stop="time.sleep(600)")
    agent = task.start()
    task.wait_for("app/run/component.pid")
    task.file("stop").write_text(str(int((time.time() + 3) * 1000)))
    os.killpg(agent.pid, signal.SIGTERM)
    agent.wait(timeout=50)  # and not as long as either of them sleeps
    assert agent.returncode == 143
    os.killpg(agent.pid, signal.SIGKILL)  # as the task's own supervisor does
    while task.processes():  # the dead take a moment to go
        time.sleep(0.01)


def test_what_the_program_writes_into_its_log_is_in_the_output(task):
    task.script(start="Execute('echo in the log > %s/x.out; sleep 0.5; echo more >> %s/x.out; "
                      "echo err > %s/x.err' % ((c['app_log_dir'],) * 3))")
    code, out = task.run()
    assert code == 0 and sorted(out.splitlines()) == ["err", "in the log", "more"]


def test_scripts_find_where_everything_is(task):
    config = {"root": "${AGENT_WORK_ROOT}/x", "log": "${AGENT_LOG_ROOT}", "java": "${JAVA_HOME}",
              "ref": "<${@//site/global/root}>", "exec": "{$conf:@//site/other/k}",
              "stays": "${NOBODY} ${@//site/no/such} $HOME", "loop": "${@//site/global/loop}",
              "app_conf_dir": "/own/conf"}
    task.env["SLIDER_COMMAND"] = command(configurations={"global": config, "other": {"k": "v"}})
    task.script(start="json.dump(self.get_config(), open('seen', 'w'))")
    code, out = task.run(JAVA_HOME="/java", YDL_CONTAINER="container_7")
    assert code == 0, out
    seen = json.loads(task.file("seen").read_text())
    found, root = seen["configurations"]["global"], str(task.root)
    assert found["root"] == f"{root}/x" and found["log"] == f"{root}/app/log"
    assert found["ref"] == f"<{root}/x>" and found["exec"] == "v" and found["java"] == "/java"
    assert found["stays"] == "${NOBODY} ${@//site/no/such} $HOME" and "loop" in found["loop"]
    assert found["app_root"] == found["app_install_dir"] == f"{root}/app/install"
    assert found["app_log_dir"] == f"{root}/app/log" and found["app_pid_dir"] == f"{root}/app/run"
    assert found["pid_file"] == f"{root}/app/run/component.pid"
    assert found["app_conf_dir"] == "/own/conf"  # what the user says stays
    assert found["app_container_id"] == "container_7" and found["app_container_tag"] == 2
    assert seen["componentName"] == seen["role"] == "worker" and seen["hostname"] == "127.0.0.1"
    assert seen["clusterName"] == "app1" and seen["roleCommand"] == "START"
    assert task.file("app/command.json").stat().st_mode & 0o777 == 0o600


def test_the_programs_python_does_not_see_the_scripts_modules(task):
    """A script is often called like what it runs: tensorflow.py."""
    task.write("scripts/json_tool.py", "raise SystemExit('the wrong one')")
    task.script(start="Execute([sys.executable, '-c', 'import json_tool'])")
    code, out = task.run()
    assert code == 1 and "No module named 'json_tool'" in out


def test_packages_are_in_place_before_the_script_runs(task):
    task.write("files/trainer.py", "print('trained')")
    task.write("files/sub/data", "1")
    with tarfile.open(task.package / "more.tgz", "w:gz") as archive:
        archive.add(task.write("x", "tar"), "from-tar/x")
    with zipfile.ZipFile(task.package / "more.zip", "w") as archive:
        archive.writestr("from-zip/x", "zip")
    task.script(install="assert os.path.exists(c['app_root'] + '/trainer.py')",
                start="Execute([sys.executable, c['app_root'] + '/trainer.py'])")
    task.env["SLIDER_COMMAND"] = command(packages=[
        {"type": "folder", "name": "files"}, {"type": "archive", "name": "more.tgz"},
        {"type": "tarball", "name": "more.zip"}])
    assert task.run() == (0, "trained\n")
    assert task.file("app/install/sub/data").read_text() == "1"
    assert task.file("app/install/from-tar/x").read_text() == "tar"
    assert task.file("app/install/from-zip/x").read_text() == "zip"
    task.file("app/install/trainer.py").write_text("changed")
    assert task.file("app/definition/package/files/trainer.py").read_text() == "print('trained')"


def test_a_second_start_finds_nothing_of_the_first(task):
    task.write("files/x", "1")
    task.script(start="Execute('echo run >> app/log/l; test ! -e %s && touch %s' % "
                      "((c['app_root'] + '/left',) * 2))\n"
                      "File(c['pid_file'], content=str(os.getpid()))")
    task.env["SLIDER_COMMAND"] = command(**FOLDER)
    for _ in range(2):
        assert task.run() == (0, "run\n")


HOSTILE = {  # members of a tar archive: name, type, what it links to
    "file": [("../../out", tarfile.REGTYPE, "")],
    "absolute": [("/tmp/ydl-slider-out", tarfile.REGTYPE, "")],
    "link": [("a", tarfile.SYMTYPE, "../../..")],
    "absolute-link": [("a", tarfile.SYMTYPE, "/etc"), ("a/out", tarfile.REGTYPE, "")],
    "hard-link": [("a", tarfile.LNKTYPE, "../command.json"), ("a", tarfile.REGTYPE, "")],
    "links-of-links": [("d/e", tarfile.DIRTYPE, ""), ("a", tarfile.SYMTYPE, "d/.."),
                       ("b", tarfile.SYMTYPE, "a/.."), ("b/out", tarfile.REGTYPE, "")],
    "device": [("null", tarfile.CHRTYPE, "")],
    "pipe": [("pipe", tarfile.FIFOTYPE, "")],
}


@pytest.mark.parametrize("kind", [
    pytest.param(kind, marks=() if kind in ("file", "hard-link", "links-of-links", "device") else pytest.mark.full)
    for kind in HOSTILE])
def test_nothing_is_unpacked_outside(task, kind):
    with tarfile.open(task.package / "bad.tar", "w") as archive:
        for name, type_, link in HOSTILE[kind]:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = type_, link
            archive.addfile(member)
    task.script(start="print('never')")
    before = sorted(str(p) for p in task.root.parent.rglob("*") if "/app/" not in str(p))
    code, out = task.run(SLIDER_COMMAND=command(packages=[{"type": "archive", "name": "bad.tar"}]))
    assert code == 1 and "'bad.tar': " in out and "Traceback" not in out, out
    assert "leads out of it" in out or "neither file, directory nor link" in out
    assert sorted(str(p) for p in task.root.parent.rglob("*") if "/app/" not in str(p)) == before
    assert not task.file("app/out").exists() and not os.path.exists("/tmp/ydl-slider-out")


def test_a_zip_archive_keeps_its_programs_and_is_unpacked_inside(task):
    with zipfile.ZipFile(task.package / "x.zip", "w") as archive:
        program = zipfile.ZipInfo("bin/run")
        program.external_attr = 0o755 << 16
        archive.writestr(program, "#!/bin/sh\necho ran\n")
        archive.writestr("plain", "x")
    task.script(start="Execute([c['app_root'] + '/bin/run'])")
    task.env["SLIDER_COMMAND"] = command(packages=[{"type": "archive", "name": "x.zip"}])
    assert task.run() == (0, "ran\n")
    assert not os.access(task.file("app/install/plain"), os.X_OK)
    with zipfile.ZipFile(task.package / "x.zip", "w") as archive:
        archive.writestr("../out", "x")
    code, out = task.run()
    assert code == 1 and "leads out of it" in out and not task.file("app/out").exists()
    (task.package / "x.zip").write_bytes((task.package / "x.zip").read_bytes()[:40])
    code, out = task.run()
    assert code == 1 and "Traceback" not in out


@pytest.mark.parametrize("change, text", [
    ({"SLIDER_COMMAND": ""}, "SLIDER_COMMAND is not set"),
    ({"SLIDER_COMMAND": "{"}, "SLIDER_COMMAND is no JSON"),
    ({"SLIDER_COMMAND": "[]"}, "names no script"),
    ({"SLIDER_COMMAND": command(commandParams={"script": "scripts/lost.py"})},
     "the package has no script 'scripts/lost.py'"),
    ({"SLIDER_COMMAND": command(commandParams={"script": "../../../slider/agent.py"})},
     "the package has no script"),
    ({"SLIDER_COMMAND": command(packages=[{"type": "folder", "name": "lost"}])},
     "the package has no 'lost', which its metainfo names"),
    ({"SLIDER_COMMAND": command(packages=[{"type": "folder", "name": "../../.."}])},
     "the package has no '../../..'"),
    ({"SLIDER_COMMAND": command(packages=[{"type": "archive", "name": "scripts/component.py"}])},
     "is no archive"),
    ({"SLIDER_COMMAND": command(packages=[{"type": "archive", "name": "bad.tar"}])},
     "leads out of it"),
    ({"SLIDER_COMMAND": command(commandParams={"script": "scripts/none.py"})}, "(scripts are run by Python 3; "),
    ({"SLIDER_COMMAND": command(commandParams={"script": "scripts/slow.py",
                                               "command_timeout": "0.3"})},
     "INSTALL did not end in 0.3 s"),
])
def test_a_package_that_cannot_be_run_has_a_sentence(task, change, text):
    task.script(start="print('never')")
    task.write("scripts/none.py", "print 'old\n")
    task.write("scripts/slow.py", "import time\ntime.sleep(30)\n")
    with tarfile.open(task.package / "bad.tar", "w") as archive:
        archive.add(task.write("x", "x"), "../../../../out")
    code, out = task.run(**change)
    assert code in (1, 126) and text in out and "Traceback" not in out, out
    assert (code == 126) == ("no script 'scripts/lost" in text or "package has no script" in text or "Python" in text)
    assert out.startswith("slider-agent: ") and "never" not in out


OLD = """# -*- coding: latin-1 -*-
import ConfigParser
from resource_management import *
import old_params

class Component(Script):
    def install(self, env):
        print 'INSTALL', old_params.VALUE
    def start(self, env):
        try:
            raise ValueError, 'x'
        except ValueError, e:
            Execute('python ' + self.get_config()['configurations']['global']['app_root'] + '/program.py')

if __name__ == "__main__":
    Component().execute()
"""


def test_scripts_of_python_2_are_rewritten(task):
    """As Slider's own packages are; the package itself stays as it is, for it belongs to the node's cache."""
    task.write("scripts/old.py", OLD)
    task.write("scripts/old_params.py", "VALUE = 0777\n")
    task.write("files/program.py", "import sys\nprint 'PROGRAM', sys.version_info[0]\nsys.exit(6)\n")
    code, out = task.run(SLIDER_COMMAND=command(commandParams={"script": "scripts/old.py"}, **FOLDER),
                         PATH=os.pathsep.join(["/usr/sbin", "/bin"]))
    assert code == 6 and "INSTALL 511" in out and "PROGRAM 3" in out, out
    assert "the package is of Python 2" in out
    assert (task.package / "scripts" / "old.py").read_text() == OLD


def test_where_they_cannot_be_rewritten_a_sentence_says_so_and_it_is_not_tried_again(task, tmp_path):
    task.write("scripts/old.py", OLD)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "lib2to3.py").write_text("raise ImportError\n")
    code, out = task.run(SLIDER_COMMAND=command(commandParams={"script": "scripts/old.py"}),
                         PYTHONPATH=str(tmp_path / "lib"))
    assert code == 126 and out.count("\n") == 1, out
    assert "'package/scripts/old.py', line 8: " in out and "are rewritten where Python has lib2to3" in out


def test_a_task_without_a_package_says_so(task):
    (task.root / "app" / "definition").rename(task.root / "elsewhere")
    code, out = task.run()
    assert code == 1 and "package is not at" in out


def test_a_shell_script_can_be_a_component(task):
    task.write("scripts/run.sh", "[ $1 = START ] && echo \"$1 $(basename $2)\" && exit 4\nexit 0\n")
    task.env["SLIDER_COMMAND"] = command(commandParams={"script": "scripts/run.sh",
                                                        "script_type": "SHELL"})
    assert task.run() == (4, "START command.json\n")

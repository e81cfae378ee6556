"""`resource_management`: what scripts of Slider applications import."""

import json
import os
import subprocess
import sys

import pytest
from slider_support import LIBRARY, script

ENV = os.environ | {"PYTHONPATH": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1"}


class Ran:
    """A script that was run with one command."""

    def __init__(self, tmp, name, text, config=None):
        (tmp / "templates").mkdir(exist_ok=True)
        (tmp / "files").mkdir(exist_ok=True)
        (tmp / "script.py").write_text(text)
        conf = {"configurations": {"global": config or {}}, "componentName": "worker"}
        (tmp / "command.json").write_text(json.dumps(conf))
        done = subprocess.run([sys.executable, "script.py", name, "command.json", str(tmp), "out.json",
                               "DEBUG", str(tmp)], cwd=tmp, env=ENV, text=True, timeout=30,
                              capture_output=True, check=False)
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.left = json.loads((tmp / "out.json").read_text()) if (tmp / "out.json").exists() else {}


@pytest.fixture(name="run")
def _run(tmp_path):
    """`run("START", config, start="…")`"""
    return lambda name, config=None, **methods: Ran(tmp_path, name, script(**methods), config)


def test_every_way_to_import_leads_to_the_same():
    lines = ["from resource_management import *",
             "from resource_management.core import *",
             "from resource_management.libraries import *",
             "from resource_management.libraries.script import Script as A",
             "from resource_management.libraries.script.script import Script as B",
             "from resource_management.libraries.functions.format import format as f",
             "from resource_management.libraries.functions.default import default as d",
             "from resource_management.libraries.functions.check_process_status import *",
             "from resource_management.libraries.functions import check_process_status as e",
             "from resource_management.core.exceptions import ComponentIsNotRunning as g",
             "from resource_management.core.resources.system import Execute as h, File, Directory",
             "from resource_management.core.resources import Execute as i",
             "from resource_management.core.shell import call, checked_call",
             "from resource_management.core.source import Template, InlineTemplate, StaticFile",
             "from resource_management.core.logger import Logger",
             "from resource_management.core.environment import Environment",
             "assert Script is A is B and format is f and Execute is h is i",
             "assert default is d and ComponentIsNotRunning is g and callable(e)",
             "PropertiesFile, XmlConfig, TemplateConfig, Link, Fail, shell, is_empty, Source"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], env=ENV, check=True, timeout=50)


@pytest.mark.parametrize("name", ["INSTALL", "START", "STOP", "STATUS", "CONFIGURE"])
def test_a_command_calls_the_method_of_its_name(run, name):
    ran = run(name, **{name.lower(): f"print('did {name}')"})
    assert (ran.code, ran.out) == (0, f"did {name}\n")


def test_what_a_component_need_not_have(run):
    assert run("INSTALL").code == run("STOP").code == run("CONFIGURE").code == 0
    assert run("START").code == 1 and "no method 'start'" in run("START").out
    assert run("STATUS").code == 4  # nobody can tell
    assert run("NO_SUCH").code == 1 and run("__INIT__").code == 1


def test_restart_is_stop_and_start(run):
    ran = run("RESTART", start="print('start')", stop="print('stop')")
    assert (ran.code, ran.out) == (0, "stop\nstart\n")


def test_the_code_of_a_failed_command_is_the_scripts(run):
    for how, code in [("Execute('exit 7')", 7), ("Execute(['sh', '-c', 'kill -9 $$'])", 137),
                      ("raise Fail('x')", 1), ("Execute('true')", 0),
                      ("Execute('exit 4', returns=[4])", 0), ("raise ComponentIsNotRunning('x')", 3),
                      ("Execute('exit 9', logoutput=False)", 9), ("sys.exit(5)", 5),
                      ("Execute('sleep 9', timeout=0.2)", 124), ("open('/no/such')", 1)]:
        ran = run("START", start=how)
        assert ran.code == code, (how, ran.out, ran.err)


def test_wrong_use_of_a_script(tmp_path):
    (tmp_path / "script.py").write_text(script())
    done = subprocess.run([sys.executable, "script.py", "START"], cwd=tmp_path, env=ENV, check=False,
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "usage:" in done.stderr


def test_the_configuration_is_read_by_keys_and_attributes(run):
    ran = run("START", {"a": "x", "n": "12", "v": "1.10", "z": "007", "yes": "true", "no": "false"},
              start="g = self.get_config().configurations['global']\n"
                    "print(g['a'], g.a, g['n'] + 1, g['v'], g['z'], g['yes'], g['no'])\n"
                    "print(default('/configurations/global/a', 5), default('/a/b/c', 5),\n"
                    "      default('/configurations/global/missing', 6), is_empty(g['missing']))\n"
                    "print(sorted(g), 'a' in g, 'b' in g, bool(g['b']))")
    assert ran.out.splitlines() == ["x x 13 1.10 007 True False", "x 5 6 True",
                                    "['a', 'n', 'no', 'v', 'yes', 'z'] True False False"], ran.err


def test_a_key_that_is_missing_is_named_when_it_is_used(run):
    for use in ("str(c['lost'])", "c['lost'] + 'x'", "os.path.join(c['lost'], 'x')", "c['lost'].x",
                "format('{x}', x=c['lost'])", "int(c['lost'])", "'%s' % c['lost']"):
        ran = run("START", start=use)
        assert ran.code == 1 and "the configuration has no 'lost'" in ran.out, (use, ran.out)
    assert "cannot be changed" in run("START", start="c['a'] = 1").out


def test_format_takes_the_callers_names(run):
    ran = run("START", start="x = \"a'b\"\nenv.set_params({'p': 5})\n"
                             "print(format('{x} {p} {y} {x!e}', y=2))")
    assert ran.out == "a'b 5 2 'a'\\''b'\n", ran.out


def test_execute_has_the_options_that_scripts_use(run, tmp_path):
    ran = run("START", start="""
Execute('echo $A $PWD; echo err >&2', environment={'A': 'é'}, cwd='/')
Execute(['echo', '$A', 'x y'])
Execute('echo hidden', logoutput=False)
Execute('exit 1', not_if='true')
Execute('exit 1', only_if='false')
Execute('exit 1', action='nothing')
Execute('echo n >> tries; [ $(wc -l < tries) = 3 ]', tries=3, try_sleep=0.01)
Execute('who-am-i', path='bin')
Execute('echo once', user='somebody-else')
Execute('echo twice', user='somebody-else')
Execute('until [ -e go-on ]; do sleep 0.05; done > /dev/null 2>&1', wait_for_finish=False)
open('go-on', 'w').close()  # it would wait for this for ever
print(shell.call('echo out; exit 3'), shell.checked_call(['echo', 'b'])[1])
""".replace("'bin'", repr(str(tmp_path / "bin"))) if _bin(tmp_path) else "")
    lines = [line for line in ran.out.splitlines() if " DEBUG " not in line and " WARNING " not in line]
    assert lines[:3] == ["é /", "$A x y", "it is me"], ran.out
    assert [line.partition(" INFO ")[2] or line for line in lines[3:]] == [
        lines[3].partition(" INFO ")[2], "once", "twice", "(3, 'out') b"]
    assert "not as 'somebody-else'" in lines[3]
    assert ran.err == "err\n" and ran.code == 0
    assert (tmp_path / "tries").read_text() == "n\n" * 3


def _bin(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "who-am-i").write_text("#!/bin/sh\necho it is me\n")
    (tmp_path / "bin" / "who-am-i").chmod(0o755)
    return True


def test_messages_do_not_show_what_may_be_secret(run):
    ran = run("START", start="Execute('exit 7 # password=hunter2')\n")
    assert "hunter2" not in ran.out + ran.err + json.dumps(ran.left)
    assert ran.left == {"errorMessage": "'exit 7 ...' ended with 7"}


def test_files_directories_and_links(run, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.conf.j2").write_text("{{x}} {{ c['k'] }} {{c.k}}\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "static").write_bytes(b"\x00static")
    ran = run("START", {"k": "v"}, start="""
env.set_params({'x': 1, 'c': c})
Directory('d/e/f', mode=0o750, owner='x', group='y', recursive=True, create_parents=True)
File('d/text', content='héllo', mode=0o600)
File('d/text', content='other', replace=False)
File('d/empty')
File('d/static', content=StaticFile('static'))
File('d/inline', content=InlineTemplate('{{x}}-{{y}}', y=2))
TemplateConfig('d/a.conf')
PropertiesFile('d/p', properties={'b': 'true', 'a': 1, 'c': True})
XmlConfig('x.xml', conf_dir='d', configurations={'a<b': 'x&y'})
Link('d/link', to='text')
File('d/gone', content='x')
File('d/gone', action='delete')
Directory('d/e', action='delete')
self.put_structured_out({'port': 5})
""")
    assert ran.code == 0, ran.out + ran.err
    d = tmp_path / "d"
    assert (d / "text").read_text() == "héllo" and (d / "text").stat().st_mode & 0o777 == 0o600
    assert (d / "empty").read_text() == "" and (d / "static").read_bytes() == b"\x00static"
    assert (d / "inline").read_text() == "1-2" and (d / "a.conf").read_text() == "1 v v\n"
    assert (d / "p").read_text() == "a=1\nb=true\nc=true\n"
    assert "<name>a&lt;b</name>\n    <value>x&amp;y</value>" in (d / "x.xml").read_text()
    assert os.readlink(d / "link") == "text" and not (d / "e").exists()
    assert not (d / "gone").exists() and ran.left == {"port": 5}


def test_templates_without_jinja_have_values_only(run, tmp_path):
    """One that wants more is refused: it would come out wrong."""
    (tmp_path / "jinja2.py").write_text("raise ImportError('not installed')")
    ran = run("START", {"k": "v"}, start="env.set_params({'c': c, 'x': 'é'})\n"
              "print(InlineTemplate('{{x}} {{ c[\"k\"] }} {{c.k}} {x}').get_content().decode())")
    assert ran.out == "é v v {x}\n", ran.out + ran.err
    for text, why in [("{% if x %}{% endif %}", "needs Jinja"), ("{{x|upper}}", "needs Jinja"),
                      ("{{lost}}", "'lost' is undefined")]:
        ran = run("START", start=f"InlineTemplate('{text}').get_content()")
        assert ran.code == 1 and why in ran.out, ran.out + ran.err


def test_what_cannot_be_has_a_sentence(run):
    for how, text in [("File('no/such/dir/x', content='y')", "there is no directory 'no/such/dir'"),
                      ("File('x', action='burn')", "File has no action 'burn'"),
                      ("File('x', content=StaticFile('lost'))", "the package has no 'lost'"),
                      ("File('x', content=InlineTemplate('{{lost}}'))", "'lost' is undefined"),
                      ("check_process_status('lost.pid')", "'lost.pid' has no process in it")]:
        ran = run("START", start=how)
        assert ran.code in (1, 3) and text in ran.out, (how, ran.out, ran.err)


def test_status_by_pid_file(run, tmp_path):
    status = "check_process_status('pid')"
    (tmp_path / "pid").write_text(f"{os.getpid()}\n")
    assert run("STATUS", status=status).code == 0
    (tmp_path / "pid").write_text("4194305")  # beyond the highest number there can be
    assert run("STATUS", status=status).code == 3
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    (tmp_path / "pid").write_text(str(ended.pid))
    assert run("STATUS", status=status).code == 3
    ended.wait()

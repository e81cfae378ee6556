"""`slider`: wrong use gets a sentence and exit code 2; its help, manual page and completions."""

import json

import pytest
from front_support import offers
from slider_front import TEXTS_LINE, _here, texts_files, write_package  # noqa: F401


def wrong_files(change):
    files = texts_files()
    change(files)
    return files


WRONG = [
    ([], None, "the application's name is missing"),
    (["Tf1"], None, "'Tf1' is not a valid application name"),
    (["../x"], None, "'../x' is not a valid application name"),
    (["tf1", "other", *TEXTS_LINE], None, "unexpected 'other'"),
    (["tf1"], None, "--appdef is missing: the directory or zip archive of the application"),
    (["tf1", *TEXTS_LINE[:4]], None, "--resources is missing: the file with the number and size of instances"),
    (["tf1", *TEXTS_LINE, "--tempalte", "x"], None, "unknown option '--tempalte'; did you mean '--template'?"),
    (["tf1", "--appdef", "nowhere", *TEXTS_LINE[2:]], None, "there is no application definition 'nowhere'"),
    (["tf1", *TEXTS_LINE, "--template", "no.json"], None, "there is no file 'no.json'"),
    (["tf1", *TEXTS_LINE, "--component", "worker", "0"], None,
     "option '--component': '0' is not a positive number of instances"),
    (["tf1", *TEXTS_LINE, "--component", "worker", "-2"], None,
     "option '--component': '-2' is not a positive number of instances"),
    (["tf1", *TEXTS_LINE, "--component", "wroker", "2"], None,
     "resources.json: metainfo.json has no component 'wroker'; did you mean 'worker'?"),
    (["tf1", *TEXTS_LINE, "-D", "a=b"], None, "-D: the Hadoop configuration names the cluster"),
    (["tf1", *TEXTS_LINE, "--manager", "h:1"], None, "--manager: the Hadoop configuration names the cluster"),
    (["tf1", *TEXTS_LINE, "--name", "x"], None, "--name: the job has the application's name"),
    (["tf1", *TEXTS_LINE, "--appconf", "x"], None, "--appconf: settings are in the file that --template names"),
    (["tf1", *TEXTS_LINE, "--apphome", "x"], None, "--apphome: an application is in its package, which --appdef names"),
    (["tf1", *TEXTS_LINE, "--env", "x"], None, "option '--env': 'x' is not NAME=VALUE"),
    (["tf1", *TEXTS_LINE], lambda f: f["metainfo.json"]["application"]["components"][0].update(
        commandScript={"script": "scripts/gone.py"}), "there is no script 'scripts/gone.py' in "),
    (["tf1", *TEXTS_LINE], lambda f: f["metainfo.json"]["application"]["packages"].append(
        {"type": "folder", "name": "gone"}), "there is no package 'gone' in "),
    (["tf1", *TEXTS_LINE], lambda f: f["appConfig-default.json"]["global"].update(
        {"site.global.user.scripts.entry": "gone.py"}),
     "there is no file (site.global.user.scripts.entry) 'gone.py' in "),
    (["tf1", *TEXTS_LINE], lambda f: f["resources.default.json"].update(components={
        "slider-appmaster": f["resources.default.json"]["components"]}),
     'resources.json: "slider-appmaster" is inside "slider-appmaster"'),
    (["tf1", *TEXTS_LINE], lambda f: f["resources.default.json"].update(schema="1"),
     "resources: \"schema\" is '1'"),
]


@pytest.mark.parametrize("words, change, text", WRONG, ids=[row[2][:40] for row in WRONG])
def test_wrong_use_gets_a_sentence(here, words, change, text):
    write_package(here.work / "app-packages" / "tensorflow", wrong_files(change or (lambda files: None)))
    assert here.wrong("slider", "create", *words).startswith(text)
    assert here.kept() == []


@pytest.mark.parametrize("verb", ["create", "build", "update", "start", "stop", "status", "list", "exists",
                                  "destroy", "flex", "registry", "exports", "lookup"])
def test_unknown_options_get_a_sentence(here, verb):
    assert "before the verb" in here.wrong("slider", "--no-such-thing", verb)
    done = here.slider(verb, "--no-such-thing", "x", check=2)
    assert done.stderr.startswith("slider: ") and "--no-such-thing" in done.stderr and done.stdout == ""


def test_broken_files_get_a_sentence(here):
    package = write_package(here.work / "app-packages" / "tensorflow", texts_files())
    (package / "appConfig-default.json").write_text('{"schema": "x",\n "global": {"a": 1,}}')
    lines = here.slider("create", "tf1", *TEXTS_LINE, check=2).stderr.splitlines()
    assert lines[0].startswith("slider: appConfig-default.json:2:") and lines[2].strip() == "^"
    (package / "appConfig-default.json").write_text("")
    assert here.wrong("slider", "create", "tf1", *TEXTS_LINE).startswith("appConfig-default.json:1:1: ")
    (package / "appConfig-default.json").write_text("[1]")
    assert "an object was expected" in here.wrong("slider", "create", "tf1", *TEXTS_LINE)
    assert "there is no application definition 'gone.zip'" in here.wrong(
        "slider", "create", "tf1", "--package", "gone.zip", *TEXTS_LINE[2:])
    assert here.kept() == []


def test_it_has_help_a_manual_page_and_completions(here):
    page = here.slider("--help", check=0).stdout
    assert page.startswith("usage: slider VERB [OPTION…] [OPERAND…]\n") and max(map(len, page.splitlines())) <= 80
    assert here.slider("--version", check=0).stdout.startswith("slider ")
    assert "ydl does not use Java" in " ".join(here.slider("create", "--help", check=0).stdout.split())
    here.run("ydl", "help", "--man-dir", "man", check=0)
    text = (here.work / "man" / "slider.1").read_text()
    assert ".Sh SYNOPSIS" in text and "appdef" in text and "EXIT STATUS" in text
    for shell in ("bash", "zsh", "fish"):
        assert "--appdef" in offers(here, shell, "slider create --appd")
        assert "--component" in offers(here, shell, "slider flex --compon")
        assert shell == "zsh" or "create" in offers(here, shell, "slider cre")


def test_verbs_that_are_not_there_say_what_is(here):
    assert "ydl cluster nodes" in here.slider("nodes", "--healthy", check=51).stderr
    assert "did you mean 'create'?" in here.slider("craete", "x", check=2).stderr
    assert here.slider(check=2).stderr.startswith("slider: a verb is missing\n")
    assert here.slider("help", "flex", check=0).stdout.startswith("usage: slider flex")
    assert here.slider("version", check=0).stdout.startswith("slider ")


def test_programs_are_told_in_json(here):
    error = json.loads(here.slider("status", "x1", "--json", check=69).stdout)["error"]
    assert error["exit"] == 69 and error["text"] == "there is no application 'x1'"
    assert json.loads(here.slider("list", "--json", check=0).stdout) == {"applications": []}

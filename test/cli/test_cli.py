"""What every user of `ydl` meets first: help, version, completion, and what a mistake gets.

YDL_BIN names the directory of the programs; without it, build/bin.
"""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("YDL_BIN", ROOT / "build" / "bin"))
PROGRAMS = ["ydl", "ydl-node"]
SHELLS = ["bash", "zsh", "fish"]


def run(*words, program="ydl", **options):
    """The program with these words; its output as text."""
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([BIN / program, *words], stderr=subprocess.PIPE, text=True, timeout=20,
                          check=False, **options)


def verbs(program="ydl", *above):
    """The verbs that help lists below `above`."""
    text = run(*above, "--help", program=program).stdout
    table = re.search(r"^Verbs:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", table.group(1), re.MULTILINE) if table else []


def paths(program="ydl", *above):
    """Every verb with the words that lead to it."""
    for verb in verbs(program, *above):
        yield (*above, verb)
        yield from paths(program, *above, verb)


def fronts():
    """The other names of `ydl`; those of one front end have one page."""
    names = (p.name for p in BIN.iterdir() if p.is_symlink() and p.readlink() == pathlib.Path("ydl"))
    return sorted({name.removesuffix(".py").replace("_", "-") for name in names})


@pytest.mark.parametrize("program", PROGRAMS)
def test_alone_it_shows_its_verbs(program):
    done = run(program=program)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"usage: {program} VERB ")
    assert "\n  version " in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_verb_has_help_within_80_columns(program):
    for path in paths(program):
        brief, full = run(*path, "--help", program=program), run("help", *path, program=program)
        for done in (brief, full):
            assert done.returncode == 0 and done.stderr == "", path
            assert done.stdout.startswith(f"usage: {program} {' '.join(path)} "), path
            assert max(map(len, done.stdout.splitlines())) <= 80, path
        assert "\nOther:\n" in brief.stdout and " --help " in brief.stdout
        assert len(brief.stdout.splitlines()) <= 60, path


def options(*words):
    """The long options that a help text shows."""
    return set(re.findall(r"^  (?:-\w, |    )--(?:\[no-\])?([\w-]+)", run(*words).stdout, re.MULTILINE))


def test_all_options_are_a_word_away():
    short = run("run", "--help").stdout
    for heading in ("What to run", "Resources", "Environment", "Failure handling", "YARN and HDFS", "Output", "Other"):
        assert f"\n{heading}:\n" in short
    assert short.splitlines()[-1] == "See ydl-run(1) for all options: ydl run --help --all, man ydl-run"
    everything = options("run", "--help", "--all")
    assert options("run", "--help") < everything and {"avoid", "principal", "procs"} <= everything
    assert options("help", "-a", "run") == everything and options("help", "run") == options("run", "--help")


def test_a_verb_shows_the_options_it_has():
    of = {verb: options(verb, "--help", "--all") for verb in ("run", "submit", "plan", "version", "status")}
    assert "detach-on-interrupt" in of["run"] - of["submit"] - of["plan"]
    assert {"wait", "spec"} <= of["submit"] - of["run"] - of["plan"]
    assert {"conf", "principal"} <= of["status"] - of["version"] and "json" in of["version"]
    assert complete("version", "--pri") == [] and complete("status", "--pri") == ["--principal"]
    assert run("version", "--principal", "me").returncode == 0  # accepted, as by every verb
    assert run("plan", "--wait", "--collapse", "-n", "1", "--", "true").returncode == 0


@pytest.mark.parametrize("words,text", [
    (["run"], "Nothing to run. Try: ydl run -n 2 -- python train.py"),
    (["run", "-n", "2", "--mem", "2", "--", "true"], "--mem: '2' means 2 bytes; did you mean 2g?"),
    (["status"], "Which job? Try: ydl status last"),
    (["fs"], "'ydl fs' needs a verb: cat, chmod, du, get, ls, mkdir, mv, put, rm, stat"),
    (["fs", "mv", "a"], "'ydl fs mv' needs SOURCE… TARGET. Try: ydl fs mv /out/new.bin /models/best.bin -f"),
])
def test_a_mistake_says_what_to_type_next(words, text):
    done = run(*words)
    assert done.returncode == 2 and done.stderr.startswith(f"ydl: {text}\n")


def required(usage):
    """The operands of a usage line that have to be there."""
    rest = usage.partition("[OPTION…]")[2]
    while "[" in rest:
        rest = re.sub(r"\[[^\[\]]*\]", "", rest)
    return rest.replace("…", "").strip()


def test_who_leaves_an_operand_out_is_asked_for_it_once():
    asked = [path for path in paths() if required(run(*path, "--help").stdout.splitlines()[0])]
    assert ("serve", "stop") in asked and ("run",) not in asked
    for path in asked:
        said = run(*path).stderr.splitlines()[0]
        assert re.fullmatch(r"ydl: ([A-Z][^?]*\?|'.*' needs .*\.) (Try|Usage): .+", said), (path, said)
        assert len(re.findall(r"\b(Try|Usage): ", said)) == 1, (path, said)


@pytest.mark.parametrize("program", PROGRAMS)
def test_version_names_every_library(program):
    done = run("version", program=program)
    assert done.returncode == 0
    assert done.stdout.startswith(f"{program} {(ROOT / 'VERSION').read_text().strip()}\n")
    fact = json.loads(run("version", "--json", program=program).stdout)
    assert set(fact["libraries"]) >= {"libuv", "OpenSSL", "protobuf-c", "jansson", "expat", "c-ares",
                                     "libyaml", "llhttp", "zlib", "ZooKeeper"}
    for name, version in fact["libraries"].items():
        assert re.fullmatch(r"\d+\.\d+(\.\d+)?\w*", version), name
        assert re.search(rf"^  {re.escape(name)} +{re.escape(version)}$", done.stdout, re.MULTILINE)
    assert run("--version", program=program).stdout == done.stdout


def test_an_unknown_framework_is_told_where_the_others_are_listed():
    done = run("plan", "--framework", "tenserflow", "--", "true")
    assert done.returncode == 2 and "did you mean 'tensorflow'" in done.stderr
    assert "'ydl help run' lists all" in done.stderr
    assert "\n  pytorch " in run("help", "run").stdout.split("FRAMEWORKS\n", 1)[1]


def test_version_tells_the_glibc_that_is_needed():
    symbols = subprocess.run(["objdump", "-T", BIN / "ydl"], capture_output=True, text=True, check=True)
    found = re.findall(r"GLIBC_(\d+)\.(\d+)", symbols.stdout)
    needed = json.loads(run("--json", "version").stdout)["glibc"]["needed"]
    assert max((int(a), int(b)) for a, b in found) <= tuple(map(int, needed.split(".")))


MISTAKES = [
    (["vresion"], "unknown verb 'vresion'; did you mean 'version'?", "see 'ydl --help'"),
    (["xyzzy"], "unknown verb 'xyzzy'", "see 'ydl --help'"),
    (["version", "--jsn"], "unknown option '--jsn'; did you mean '--json'?", "see 'ydl version --help'"),
    (["version", "-Z"], "unknown option '-Z'", "see 'ydl version --help'"),
    (["version", "x"], "unexpected 'x'. Usage: ydl version [OPTION…]", "see 'ydl version --help'"),
    (["version", "--conf"], "option '--conf' needs a value (DIR)", "see 'ydl version --help'"),
    (["version", "--timeout", "soon"],
     "option '--timeout': 'soon' is not a duration such as 30s, 5m or 1h30m", None),
    (["completion"], "Which shell? Try: source <(ydl completion bash)", "see 'ydl completion --help'"),
    (["completion", "bsh"], "'bsh' is not one of bash|zsh|fish; did you mean 'bash'?",
     "see 'ydl completion --help'"),
    (["help", "verzion"], "unknown verb 'verzion'; did you mean 'version'?", "see 'ydl --help'"),
    (["a\033[2Jb"], "unknown verb 'a\\x1b[2Jb'", "see 'ydl --help'"),
]


@pytest.mark.parametrize("words,text,hint", MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else "")
def test_a_mistake_gets_a_sentence_and_exit_2(words, text, hint):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"ydl: {text}\n" + (f"  hint: {hint}\n" if hint else "")
    if "--json" not in words:
        done = run("--json", *words)
        error = json.loads(done.stdout)["error"]
        assert done.returncode == error["exit"] == 2
        assert error["code"] == "USAGE" and error["hint"] == hint
        assert error["text"].split("'")[0] == text.split("'")[0]


def test_a_configuration_without_hdfs_is_said(tmp_path):
    for name in ("core-site.xml", "yarn-site.xml"):
        (tmp_path / name).write_text("<configuration/>")
    done = run("run", "--on", "yarn", "--conf", tmp_path, "-n", "1", "--", "true")
    assert done.returncode == 1
    assert "the cluster's configuration does not name an HDFS" in done.stderr
    assert "hint: set fs.defaultFS in core-site.xml" in done.stderr


def test_output_that_cannot_be_written_is_an_error():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run("help", stdout=full)
    assert done.returncode == 73
    assert done.stderr == "ydl: write to standard output: No space left on device\n"


def test_a_reader_that_leaves_is_not_told():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        for restore in (True, False):  # SIGPIPE ends it, or is ignored as below some parents
            done = run("help", stdout=closed, restore_signals=restore)
            assert done.returncode in (-13, 141) and done.stderr == ""


def test_trace_and_log_variables_are_checked():
    done = run("version", env={"YDL_TRACE": "rcp", "YDL_LOG": "loud"})
    assert done.returncode == 0
    assert "unknown component 'rcp' (did you mean 'rpc'?), ignoring" in done.stderr
    assert "unknown level 'loud'" in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_manual_pages_are_correct_mdoc(program, tmp_path):
    done = run("help", "--man-dir", str(tmp_path / "man"), program=program)
    assert done.returncode == 0, done.stderr
    pages = sorted(p.name for p in (tmp_path / "man").iterdir())
    files = ["ydl-job.5", *(f"{name}.1" for name in fronts())] if program == "ydl" else []
    assert pages == sorted([f"{program}.1"] + [f"{program}-{v}.1" for v in verbs(program)] + files)
    assert run("help", "--man", "version").stdout.startswith('.\\" ')
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *(tmp_path / "man").iterdir()],
                          capture_output=True, text=True, check=False)
    assert lint.stdout + lint.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_a_correct_script(shell, tmp_path):
    script = run("completion", shell)
    assert script.returncode == 0
    (tmp_path / "script").write_text(script.stdout, encoding="utf-8")
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def complete(*words, where=ROOT):
    """What bash offers for the last of these words, split as bash splits them."""
    script = f"""
        source <("{BIN}/ydl" completion bash)
        COMP_WORDS=(ydl "$@")
        COMP_CWORD=$#
        _ydl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], capture_output=True,
                          text=True, cwd=where, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_verbs():
    assert complete("") == verbs()
    assert complete("vers") == ["version"]
    assert complete("--json", "--conf", "version", "vers") == ["version"]
    assert complete("help", "comp") == ["completion"]


def test_bash_completes_options_of_the_verb_and_of_all():
    assert {"--conf", "--json", "--help", "-v"} <= set(complete("-"))
    assert complete("help", "--ma") == ["--man", "--man-dir"]
    assert complete("version", "--ma") == []
    assert complete("version", "--js") == ["--json"]
    assert complete("version", "--", "--js") == []


def test_bash_completes_values(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "VERSION").touch()

    def offered(*words):
        return complete(*words, where=tmp_path)
    assert offered("completion", "") == SHELLS
    assert offered("completion", "z") == ["zsh"]
    assert offered("--conf", "tes") == ["test"]
    assert offered("--conf", "=", "tes") == ["test"]
    assert offered("--conf", "=") == offered("--conf", "") == ["test"]
    assert offered("--keytab", "VERS") == ["VERSION"]
    assert offered("--timeout", "") == []


def test_bash_knows_every_verb_and_option():
    for path in paths():
        text = run(*path, "--help").stdout
        offered = set(complete(*path, "-"))
        for option in re.findall(r"^  (?:-\w, |    )--(?:\[no-\])?([\w-]+)", text, re.MULTILINE):
            assert f"--{option}" in offered, path
        if verbs("ydl", *path):
            assert complete(*path, "") == verbs("ydl", *path)

"""What `make install` leaves works from where it lies, without the tree it was built in."""

import os
import subprocess

import pytest
from test_cli import BIN
from ydl_cluster.guide import ROOT, blocks_of

FRONTS = {"ydl-mx", "ydl-launch", "ydl-tf", "slider", "dmlc-submit", "dmlc-yarn", "dmlc-yarn.py",
          "dmlc_yarn.py"}
ASK = {
    "bash": 'source "$0/share/bash-completion/completions/$1"; COMP_WORDS=("$1" --qu); COMP_CWORD=1; '
            '"$(complete -p "$1" | sed "s/.*-F \\([^ ]*\\) .*/\\1/")"; printf "%s\\n" "${COMPREPLY[@]}"',
    "zsh": 'fpath=("$0/share/zsh/site-functions" $fpath); autoload -Uz compinit; compinit -D -u; '
           '_arguments() { print -rl -- "$@" }; service=$1; $_comps[$1]',
    "fish": 'set fish_complete_path "$argv[1]/share/fish/vendor_completions.d"; '
            'complete -C "$argv[2] --qu"',
}


@pytest.fixture(scope="module")
def usr(tmp_path_factory):
    """/opt/ydl below a DESTDIR, as a packager installs it."""
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", BIN.parent, "--strip", "--prefix", "/opt/ydl"], check=True,
                   env=os.environ | {"DESTDIR": str(root)}, capture_output=True)
    return root / "opt/ydl"


@pytest.mark.full
@pytest.mark.parametrize("block", [*blocks_of("doc/guide/first-job.md", __file__), *blocks_of("README.md", __file__),
                                   *blocks_of("doc/guide/operating.md", __file__)],
                         ids=["first job", "README", "operating"])
def test_what_the_pages_type_builds_and_installs(block, tmp_path):
    """Here, where everything is there already, and with the system's directories below a DESTDIR."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sudo").write_text('#!/bin/sh\nexec "$@"\n')  # which hides its caller's DESTDIR
    (tmp_path / "bin" / "sudo").chmod(0o755)
    env = os.environ | {"DESTDIR": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", block], cwd=ROOT, env=env, text=True, capture_output=True, timeout=1800,
                          check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (tmp_path / "usr/local/bin/ydl").exists() == ("install PREFIX" in block)


def test_a_job_runs_by_the_programs_that_were_installed(usr, tmp_path):
    env = {"PATH": f"{usr}/bin:/usr/bin:/bin", "HOME": str(tmp_path), "YDL_STATE": str(tmp_path / "s")}
    done = subprocess.run(["ydl", "run", "-n", "2", "sh", "-c", "readlink /proc/$PPID/exe"], env=env,
                          cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"{usr}/bin/ydl-node") == 2


def test_every_program_has_its_page(usr):
    found = {program.name for program in (usr / "bin").iterdir()}
    assert found == FRONTS | {"ydl", "ydl-node", "ydl-native"}
    for name in {name.removesuffix(".py").replace("_", "-") for name in found}:
        assert ".Sh NAME" in (usr / f"share/man/man1/{name}.1").read_text()
    assert ".Sh NAME" in (usr / "share/man/man5/ydl-job.5").read_text()


@pytest.mark.parametrize("program", [
    pytest.param(name, marks=() if name in ("ydl", "slider") else pytest.mark.full) for name in sorted(FRONTS | {"ydl"})])
@pytest.mark.parametrize("shell", sorted(ASK))
def test_a_shell_finds_the_completions_of_every_name(usr, tmp_path, shell, program):
    env = os.environ | {"HOME": str(tmp_path), "PATH": f"{usr}/bin:{os.environ['PATH']}"}
    done = subprocess.run([shell, "-c", ASK[shell], str(usr), program], capture_output=True, text=True,
                          env=env, cwd=tmp_path, timeout=60, check=False)
    assert "--queue" in done.stdout or "--quiet" in done.stdout, done.stdout + done.stderr

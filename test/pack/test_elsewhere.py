"""A venv that was packed works where it is unpacked, while the original is gone."""

import os
import subprocess
from pathlib import Path

import pytest

from pack_support import Ydl, unpack

SHELLS = {
    "bash": '. "{env}/bin/activate" && echo "$VIRTUAL_ENV|$(command -v tiny)" && tiny 1 && '
            'deactivate && echo "${{VIRTUAL_ENV:-left}}"; command -v tiny || echo gone',
    "zsh": '. "{env}/bin/activate" && echo "$VIRTUAL_ENV|$(command -v tiny)" && tiny 1 && '
           'deactivate && echo "${{VIRTUAL_ENV:-left}}"; command -v tiny || echo gone',
    "dash": 'cd "{env}" && . ./bin/activate && echo "$VIRTUAL_ENV|$(command -v tiny)" && tiny 1 && '
            'deactivate && echo "${{VIRTUAL_ENV:-left}}"; command -v tiny || echo gone',
    "fish": 'source "{env}/bin/activate.fish"; echo "$VIRTUAL_ENV|"(command -v tiny); tiny 1; '
            'deactivate; set -q VIRTUAL_ENV; or echo left; command -v tiny; or echo gone',
}


@pytest.fixture(scope="module")
def elsewhere(made_venv, tmp_path_factory):
    """The packed environment at another place, while the original is not where it was."""
    ydl = Ydl(tmp_path_factory.mktemp("pack"))
    name = ydl.run("pack", made_venv).stdout.strip()
    env = unpack(ydl.work / name, tmp_path_factory.mktemp("a place") / "with blanks" / "env")
    hidden = made_venv.with_name("hidden")
    made_venv.rename(hidden)
    yield env
    hidden.rename(made_venv)


def test_a_program_of_it_runs_without_the_original(elsewhere, made_venv):
    assert not made_venv.exists()
    done = subprocess.run([elsewhere / "bin" / "tiny", "a b"], capture_output=True, text=True,
                          check=True, cwd="/")
    assert done.stdout == f"tiny of {elsewhere} a b\n"
    linked = elsewhere.parent / "linked"
    linked.symlink_to(elsewhere / "bin" / "tiny")
    done = subprocess.run([linked], capture_output=True, text=True, check=True)
    assert done.stdout == f"tiny of {elsewhere}\n"


def test_its_python_and_its_pip_know_where_they_are(elsewhere):
    code = "import tiny, sys; print(sys.prefix, tiny.__file__)"
    done = subprocess.run([elsewhere / "bin" / "python", "-c", code], capture_output=True,
                          text=True, check=True)
    prefix, _, module = done.stdout.strip().rpartition(" /")
    assert Path(prefix) == elsewhere and f"/{module}".startswith(str(elsewhere))
    done = subprocess.run([elsewhere / "bin" / "pip", "list", "--disable-pip-version-check"],
                          capture_output=True, text=True, check=True)
    assert "tiny" in done.stdout


def test_nothing_in_it_says_where_it_was(elsewhere, made_venv):
    text = str(made_venv).encode()
    assert not [path for path in elsewhere.rglob("*")
                if path.is_file() and not path.is_symlink() and text in path.read_bytes()]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_activate_and_leave_it(elsewhere, shell):
    env = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    done = subprocess.run([shell, "-c", SHELLS[shell].format(env=elsewhere)], capture_output=True,
                          text=True, env=env)
    assert done.stdout.splitlines() == [f"{elsewhere}|{elsewhere}/bin/tiny",
                                        f"tiny of {elsewhere} 1", "left", "gone"], done.stderr

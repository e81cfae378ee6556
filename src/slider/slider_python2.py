"""Scripts of Python 2, which Slider's own packages are made of: rewritten for this Python by lib2to3, which
Python has up to 3.12. Part of agent.py."""

import os
import shutil
import tokenize
import warnings


def fault(path):
    """Why this Python cannot read a script: a SyntaxError, or None when it can."""
    with open(path, "rb") as file:
        text = file.read()
    try:
        compile(text, path, "exec", dont_inherit=True)
    except SyntaxError as err:
        return err
    except ValueError as err:  # a NUL in it
        return SyntaxError(str(err))
    return None


def converter():
    """What rewrites a text; None where this Python has no such thing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from lib2to3 import refactor
        return refactor.RefactoringTool(refactor.get_fixers_from_package("lib2to3.fixes"))
    except ImportError:
        return None


def convert(tool, path):
    """Rewrites a file in place; False when it is no Python 2 either."""
    try:
        with tokenize.open(path) as file:
            text = file.read()
        made = str(tool.refactor_string(text if text.endswith("\n") else text + "\n", path))
        compile(made, path, "exec", dont_inherit=True)
    except Exception:  # lib2to3 has many ways to say it
        return False
    mode = os.stat(path).st_mode
    os.unlink(path)  # it may be a link to a file that is not ours
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)
    os.chmod(path, mode & 0o777)
    return True


def convert_below(tool, folder):
    """Every script below a folder of ours that needs it; how many were rewritten."""
    n = 0
    for base, _, names in os.walk(folder):
        for path in (os.path.join(base, name) for name in names if name.endswith(".py")):
            if os.path.isfile(path) and fault(path) and convert(tool, path):
                n += 1
    return n


def scripts_of_ours(script, into):
    """A copy of the folder that a script is in, rewritten; the copy's path, or None when it cannot be."""
    tool = converter()
    if not tool:
        return None
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(os.path.dirname(script), into)
    convert_below(tool, into)
    copy = os.path.join(into, os.path.basename(script))
    return None if fault(copy) else copy

"""A formatted NameNode directory with the users' home directories in it, made once and copied.

Formatting takes a JVM, and so does every `mkdir` on a secure cluster; a copy takes nothing. The
template is made by real daemons of the same version. The journal that a pair of NameNodes shares
is made the same way, from the same directory.
"""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import conf, control, daemons, java, launch, lock, places, spec as specs, watch, web
from .layout import NAMESERVICE, Layout

_ADMIN = "org.apache.hadoop.hdfs.tools.DFSAdmin"


def install(lay: Layout) -> None:
    """Gives the NameNodes of a new cluster their directories, and the JournalNode its own."""
    cached = _cached(lay.spec.version)
    cached.mkdir(parents=True, exist_ok=True)
    with lock.held(cached / "lock"):
        _ensure(lay, cached / "namenode", _make_namenode)
        if lay.spec.ha:
            _ensure(lay, cached / "journal", _make_journal)
    for name in lay.namenodes:
        shutil.copytree(cached / "namenode", lay.run / name)
    if lay.spec.ha:
        shutil.copytree(cached / "journal", lay.run / "jn" / NAMESERVICE)


def _cached(version: str) -> Path:
    """Where the templates of a version are. Others are made when this file changes."""
    source = Path(__file__).read_bytes() + " ".join(specs.users()).encode()
    return places.cache_dir() / f"template-{version}-{hashlib.sha256(source).hexdigest()[:12]}"


def _ensure(lay: Layout, done: Path, make) -> None:
    """Makes a template, in a scratch cluster on the ports of `lay`, if it is not there."""
    if done.exists():
        return
    scratch = Path(tempfile.mkdtemp(prefix=f".{done.name}-", dir=done.parent))
    try:
        plain = specs.Spec(name="template", version=lay.spec.version, nodes=1, datanodes=1,
                           ha=make is _make_journal)
        made = make(Layout(plain, lay.base_port, scratch / "run"))
        shutil.copytree(made, scratch / "made", ignore=shutil.ignore_patterns("in_use.lock"))
        (scratch / "made").rename(done)
    finally:
        if control.is_up(scratch / "run"):
            control.ask(scratch / "run", "down", keep_logs=False)
        shutil.rmtree(scratch, ignore_errors=True)


def _prepare(lay: Layout) -> None:
    daemons.prepare(lay)
    conf.write(lay)
    java.write_options(lay)
    specs.save(lay.spec, lay.base_port, lay.run / "spec.json")


def _make_namenode(lay: Layout) -> Path:
    _prepare(lay)
    _run(lay, daemons.namenode_task(lay, "nn", "-format", "-nonInteractive", "-force",
                                    "-clusterid", "ydl"))
    launch.keeper(lay, None, [])
    control.ask(lay.run, "start", daemon="nn")
    watcher = watch.Watch(lay, 60)
    watcher.until("the NameNode", lambda: not watch.safe_mode(lay, "nn"), ["nn"])
    _make_directories(lay)
    _run(lay, java.tool(lay, _ADMIN, "-safemode", "enter"))
    _run(lay, java.tool(lay, _ADMIN, "-saveNamespace"))
    _keep_image_only(lay.run / "nn" / "current")
    return lay.run / "nn"


def _make_directories(lay: Layout) -> None:
    web.webhdfs(lay, "/tmp", op="MKDIRS", permission="1777")
    web.webhdfs(lay, "/tmp/logs", op="MKDIRS", permission="1777")
    for user in specs.users():
        web.webhdfs(lay, f"/user/{user}", op="MKDIRS", permission="755")
        web.webhdfs(lay, f"/user/{user}", op="SETOWNER", owner=user, group=user)


def _keep_image_only(current: Path) -> None:
    """An image of transaction N and `seen_txid` N are a complete directory: no edits to replay."""
    newest = max(current.glob("fsimage_" + "[0-9]" * 19))
    for entry in current.iterdir():
        if entry.name not in ("VERSION", newest.name, newest.name + ".md5"):
            entry.unlink()
    (current / "seen_txid").write_text(f"{int(newest.name.removeprefix('fsimage_'))}\n")


def _make_journal(lay: Layout) -> Path:
    _prepare(lay)
    shutil.copytree(_cached(lay.spec.version) / "namenode", lay.run / "nn1")
    launch.keeper(lay, None, [])
    control.ask(lay.run, "start", daemon="jn")
    watch.Watch(lay, 60).port("jn")
    _run(lay, daemons.namenode_task(lay, "nn1", "-initializeSharedEdits", "-nonInteractive",
                                    "-force"))
    return lay.run / "jn" / NAMESERVICE


def _run(lay: Layout, command: list[str]) -> None:
    done = subprocess.run(command, env=daemons.environment(lay), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"{' '.join(command[2:])}:\n{done.stdout[-3000:]}")

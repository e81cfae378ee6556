"""From nothing to a cluster that accepts work."""

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Callable

from . import actions, apart, compiled, conf, control, daemons, dockerd, java, kdc, launch, lock
from . import places, ports, preload, private, spec as specs, template, tls, watch
from .layout import Layout

TIMEOUT = 240  # seconds; a busy machine takes two minutes for what takes ten seconds alone
_FIRST = ("kdc", "zk", "jn")  # others do not look twice for these
_EXECUTOR = Path(__file__).resolve().parents[1] / "container-executor"
Say = Callable[[str], None]


def up(spec: specs.Spec, owner_pid: int | None, keep_logs: bool, say: Say) -> Layout:
    """Starts a cluster. When this fails, or the caller is killed, nothing of it stays but logs."""
    spec.check()
    _check_machine(spec)
    begun = time.monotonic()
    lay = _launch(spec, owner_pid, keep_logs)
    try:
        _start(lay)
    except BaseException:
        down(lay.run, keep_logs=True)  # and wait until the name is free again
        raise
    control.ask(lay.run, "complete")
    say(f"cluster '{spec.name}' is up in {time.monotonic() - begun:.1f} s")
    return lay


def _check_machine(spec: specs.Spec) -> None:
    reason = (dockerd.missing() if spec.docker else
              private.missing() if private.wanted(spec) else "")
    if reason:
        raise places.ClusterError(f"cluster '{spec.name}': {reason}")


def _launch(spec: specs.Spec, owner_pid: int | None, keep_logs: bool) -> Layout:
    """Name and ports are the keeper's from here on; this process lets go of them."""
    run = places.run_dir(spec.name)
    with contextlib.ExitStack() as stack:
        owner = _open_owner(owner_pid)
        if owner is not None:
            stack.callback(os.close, owner)
        name = lock.try_hold(places.run_lock(run))
        if name is None:
            raise places.ClusterError(f"cluster '{spec.name}' is up already")
        stack.callback(os.close, name)
        base_port, claim = ports.claim()
        stack.enter_context(claim)
        lay = Layout(spec, base_port, run)
        _prepare(lay)
        launch.keeper(lay, owner, [name, claim.fileno()], keep_logs)
    return lay


def _open_owner(pid: int | None) -> int | None:
    if pid is None:
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise places.ClusterError(f"--owner {pid}: no such process") from None


def _prepare(lay: Layout) -> None:
    shutil.rmtree(lay.run, ignore_errors=True)  # logs that an earlier cluster left
    daemons.prepare(lay)
    if private.wanted(lay.spec):
        _prepare_private(lay)
    if not lay.spec.only:
        _prepare_hadoop(lay)
    specs.save(lay.spec, lay.base_port, lay.run / "spec.json")


def _prepare_private(lay: Layout) -> None:
    private.prepare(lay)
    if lay.spec.docker:
        dockerd.prepare(lay)
    if lay.spec.lce:
        sources = sorted([*_EXECUTOR.glob("*.c"), *_EXECUTOR.glob("*.h")])
        program = compiled.result("container-executor-{}", sources, "-std=gnu11", "-D_GNU_SOURCE")
        private.install_executor(lay, program, dockerd.client() if lay.spec.docker else "none")


def _prepare_hadoop(lay: Layout) -> None:
    preload.source_address()
    template.install(lay)
    if lay.spec.kerberos:
        kdc.prepare(lay)
    conf.write(lay)
    if lay.spec.https:
        tls.prepare(lay)
    java.write_options(lay)


def _start(lay: Layout) -> None:
    """Nearly everything at once: the daemons look for each other until they find each other."""
    watcher = watch.Watch(lay, TIMEOUT)
    first = [daemon for daemon in lay.daemons if daemon in _FIRST]
    for daemon in first:
        control.ask(lay.run, "start", daemon=daemon)
    for daemon in first:
        watcher.port(daemon)
    if lay.spec.kerberos:
        kdc.login(lay, specs.me())  # to read the daemons' pages
    for daemon in lay.daemons:
        if daemon not in first:
            control.ask(lay.run, "start", daemon=daemon)
    if lay.spec.ha:
        watcher.port("nn1")
        actions.ha_admin(lay, "-transitionToActive", "nn1")
    if lay.spec.docker:
        watcher.port("docker")
        dockerd.load_image(lay)
    _wait_ready(lay, watcher)
    if lay.spec.labels:
        actions.label_first_node(lay)


def _wait_ready(lay: Layout, watcher: watch.Watch) -> None:
    if lay.spec.only:
        return
    watcher.until("HDFS to leave safe mode with all DataNodes",
                  lambda: hdfs_ready(lay), lay.namenodes + lay.datanodes)
    watcher.until("the NodeManagers to register",
                  lambda: yarn_ready(lay), lay.resourcemanagers + lay.nodemanagers)
    if lay.spec.registry:
        watcher.port("dns")


def down(run: Path, keep_logs: bool) -> None:
    """Stops a cluster and removes its directory, also one that a killed keeper left behind."""
    if control.is_up(run):
        control.ask(run, "down", keep_logs=keep_logs)
        keep_logs = True  # the keeper has removed what was to be removed
    with lock.held_within(places.run_lock(run), 120) as free:  # the guard's last look takes a moment
        if not free:
            raise places.ClusterError(f"cluster '{run.name}' is just being started or stopped")
        if not keep_logs:
            shutil.rmtree(run, ignore_errors=True)
        places.run_lock(run).unlink()


def heal(lay: Layout) -> None:
    """Makes a cluster whole again after a test has broken it."""
    known = control.ask(lay.run, "status")["daemons"]
    for node in lay.disks():
        actions.empty_disk(lay, node)
    apart.heal(lay)
    for spare in lay.spares:
        if known.get(spare, {}).get("state", "dead") != "dead":
            actions.resume(lay, spare)
            actions.stop(lay, spare)
    for daemon in lay.daemons:
        state = known.get(daemon, {}).get("state", "dead")
        if state == "paused":
            actions.resume(lay, daemon)
        elif state == "dead":
            actions.start(lay, daemon)
    if lay.spec.docker:
        dockerd.remove_containers(lay)
    if lay.spec.ha and watch.active_namenode(lay) is None:
        actions.failover(lay, "nn")
    _wait_ready(lay, watch.Watch(lay, TIMEOUT))


def hdfs_ready(lay: Layout) -> bool:
    active = watch.active_namenode(lay)
    return (active is not None and not watch.safe_mode(lay, active) and
            watch.usable_datanodes(lay, active) >= lay.spec.datanodes)


def yarn_ready(lay: Layout) -> bool:
    active = watch.active_resourcemanager(lay)
    return active is not None and watch.active_nodemanagers(lay, active) >= (
        lay.spec.nodes + lay.spec.many)

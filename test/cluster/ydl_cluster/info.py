"""What can be said about a cluster: its state, and the environment that leads a program to it."""

import os
from pathlib import Path

from . import control, java, kdc, spec as specs, watch
from .layout import Layout


def status(lay: Layout) -> dict:
    """Everything `status --json` prints."""
    up = control.is_up(lay.run)
    keeper = control.ask(lay.run, "status") if up else {"pid": None, "daemons": {}}
    return {
        "name": lay.spec.name,
        "state": ("up" if keeper["complete"] else "starting") if up else "down",
        "version": lay.spec.version,
        "kerberos": lay.spec.kerberos,
        "protection": lay.spec.protection if lay.spec.kerberos else None,
        "data_protection": lay.spec.data(),
        "ha": lay.spec.ha,
        "run_dir": str(lay.run),
        "conf_dir": str(lay.conf),
        "rm_http": lay.url(lay.resourcemanagers[0]),
        "nn_http": lay.url(lay.namenodes[0]),
        "active": _active(lay) if up and not lay.spec.only else {},
        "keeper": keeper["pid"],
        "daemons": {name: _daemon(lay, name, keeper["daemons"].get(name))
                    for name in lay.daemons + [spare for spare in lay.spares
                                               if spare in keeper["daemons"]]},
    }


def _active(lay: Layout) -> dict:
    rm = watch.active_resourcemanager(lay)
    return {"nn": watch.active_namenode(lay), "rm": rm,
            "nodemanagers": watch.active_nodemanagers(lay, rm) if rm else 0}


def _daemon(lay: Layout, name: str, known: dict | None) -> dict:
    row = known or {"pid": None, "state": "dead", "exit_code": None}
    alive = row["state"] != "dead"
    return row | {"address": lay.address(name), "log": str(lay.logs / f"{name}.log"),
                  "rss_mb": _rss_mb(row["pid"]) if alive else 0}


def _rss_mb(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // (1 << 20)


def environment(lay: Layout, user: str | None = None) -> dict[str, str]:
    """The variables that make a program a client of this cluster, as `user`."""
    env = {"DOCKER_HOST": lay.address("docker")} if lay.spec.docker else {}
    if lay.spec.only:
        return env
    env |= {"HADOOP_CONF_DIR": str(lay.conf), "YARN_CONF_DIR": str(lay.conf),
            "JAVA_HOME": str(java.home(lay.spec.version)), "YDL_CLUSTER": lay.spec.name}
    if lay.spec.kerberos:
        env |= {"KRB5_CONFIG": f"{lay.krb}/krb5.conf",
                "KRB5CCNAME": kdc.login(lay, user or specs.me())}
    elif user and user != specs.me():
        env["HADOOP_USER_NAME"] = user
    return env


def text(report: dict) -> str:
    """The same for a person."""
    lines = [f"{report['name']}: {report['state']}, Hadoop {report['version']}"
             + (f", Kerberos ({report['protection']})" if report["kerberos"] else "")
             + (", HA" if report["ha"] else ""),
             f"  conf {report['conf_dir']}", f"  rm {report['rm_http']}  nn {report['nn_http']}"]
    for name, row in report["daemons"].items():
        lines.append(f"  {name:5} {row['state']:8} {row['address']:18} pid {row['pid'] or '-':<8}"
                     f" {row['rss_mb']:5} MB")
    if report["active"]:
        lines.append("  active: {nn} and {rm}, {nodemanagers} NodeManagers".format(
            **report["active"]))
    return "\n".join(lines)

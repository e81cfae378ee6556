"""The command line of `hadoop`.

Commands that hand their arguments on (fs, java, yarn) take `--name` and `--user` before them and
look no further; all others are ordinary.
"""

import argparse
import json
import os
import shlex
import sys

from . import actions, cluster, control, info, install, java, layout, places, startup, watch
from . import spec as specs

_YARN_TOOLS = {
    "app": ("ApplicationCLI", ["application"]), "application": ("ApplicationCLI", ["application"]),
    "applicationattempt": ("ApplicationCLI", ["applicationattempt"]),
    "container": ("ApplicationCLI", ["container"]), "node": ("NodeCLI", []),
    "logs": ("LogsCLI", []), "queue": ("QueueCLI", []), "rmadmin": ("RMAdminCLI", []),
}
_FS_SHELL = "org.apache.hadoop.fs.FsShell"
_PASS_ON = ("fs", "java", "yarn")


def main(argv: list[str]) -> int:
    try:
        if argv and argv[0] in _PASS_ON:
            return pass_on(argv[0], argv[1:])
        args = _parser().parse_args(argv)
        return args.run(args) or 0
    except places.ClusterError as e:
        print(f"hadoop: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _default_name() -> str:
    return os.environ.get("YDL_CLUSTER") or "default"


def pass_on(what: str, rest: list[str]) -> int:
    """Becomes the Java program that was asked for."""
    name, user = _default_name(), None
    while len(rest) >= 2 and rest[0] in ("--name", "--user"):
        if rest[0] == "--name":
            name = rest[1]
        else:
            user = rest[1]
        rest = rest[2:]
    lay = _running(name)
    if what == "fs":
        rest = [_FS_SHELL, *rest]
    elif what == "yarn":
        rest = _yarn(rest)
    command = java.tool(lay, *rest)
    os.execve(command[0], command, cluster.Cluster(lay).env(user))
    return 127


def _yarn(rest: list[str]) -> list[str]:
    if not rest or rest[0] not in _YARN_TOOLS:
        raise places.ClusterError(f"yarn {'|'.join(_YARN_TOOLS)} ARGS")
    main_class, first = _YARN_TOOLS[rest[0]]
    return [f"org.apache.hadoop.yarn.client.cli.{main_class}", *first, *rest[1:]]


def _running(name: str) -> layout.Layout:
    run = places.run_dir(name)
    if not control.is_up(run):
        raise places.ClusterError(f"cluster '{name}' is not up")
    return layout.load(run)


def do_fetch(args) -> None:
    for version in args.version or places.VERSIONS:
        print(install.ensure(version, _say))


def do_up(args) -> None:
    fields = {key: value for key, value in vars(args).items()
              if key in specs.Spec.__dataclass_fields__}
    install.ensure(args.version, _say)
    lay = startup.up(specs.Spec(**fields), args.owner, args.keep_logs, _say)
    print(info.text(info.status(lay)))


def do_down(args) -> None:
    startup.down(places.run_dir(args.name), args.keep_logs)
    _say(f"cluster '{args.name}' is down")


def do_status(args) -> int:
    report = info.status(layout.load(places.run_dir(args.name)))
    print(json.dumps(report, indent=1) if args.json else info.text(report))
    return 0 if report["state"] == "up" else 3


def do_env(args) -> None:
    for key, value in info.environment(_running(args.name), args.user).items():
        print(f"export {key}={shlex.quote(value)}")


def do_list(args) -> None:
    parent = places.clusters_dir()
    for run in sorted(parent.iterdir()) if parent.exists() else []:
        if (run / "spec.json").exists():
            print(f"{run.name}\t{'up' if control.is_up(run) else 'down'}\t{run}")


def do_daemon(args) -> None:
    getattr(actions, args.command)(_running(args.name), args.daemon)


def do_heal(args) -> None:
    startup.heal(_running(args.name))


def do_failover(args) -> None:
    print(actions.failover(_running(args.name), args.what))


def do_logs(args) -> None:
    lay = layout.load(places.run_dir(args.name))
    print(watch.log_tail(lay, args.daemon, args.lines))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hadoop", description=__doc__.splitlines()[0],
                                     epilog="fs ARGS, java CLASS ARGS, yarn "
                                     f"{'|'.join(_YARN_TOOLS)} ARGS: Hadoop's own programs, "
                                     "each with --name NAME --user USER before ARGS.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name, run, text):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        command.add_argument("--name", default=_default_name(), help="which cluster (%(default)s)")
        return command

    _add_up(add("up", do_up, "start a cluster"))
    for name, text in (("kill", "SIGKILL"), ("stop", "SIGTERM"), ("pause", "SIGSTOP"),
                       ("resume", "SIGCONT"), ("start", "start it again"),
                       ("restart", "stop and start")):
        add(name, do_daemon, f"{text} a daemon by its name").add_argument("daemon")
    add("failover", do_failover, "make the other one active").add_argument(
        "what", choices=("nn", "rm"))
    add("heal", do_heal, "start and resume what is dead or paused, and wait until all is well")
    add("fetch", do_fetch, "download what is needed").add_argument(
        "--version", action="append", help="of Hadoop; all known ones when not given")
    add("down", do_down, "stop a cluster and remove it").add_argument(
        "--keep-logs", action="store_true")
    add("status", do_status, "which daemons run, and where").add_argument(
        "--json", action="store_true")
    add("env", do_env, "the environment of a client, for eval").add_argument("--user")
    add("list", do_list, "all clusters")
    logs = add("logs", do_logs, "path and end of a daemon's log")
    logs.add_argument("daemon")
    logs.add_argument("--lines", type=int, default=40)
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.add_argument("--version", default=places.NEWEST, help="of Hadoop (%(default)s)")
    up.add_argument("--nodes", type=int, default=3, help="NodeManagers (%(default)s)")
    up.add_argument("--datanodes", type=int, default=2, help="DataNodes (%(default)s)")
    up.add_argument("--kerberos", action="store_true", help="with a KDC of its own")
    up.add_argument("--protection", default="authentication", choices=specs.RPC_PROTECTIONS,
                    help="of calls; needs --kerberos")
    up.add_argument("--data-protection", default="", choices=specs.DATA_PROTECTIONS,
                    help="of blocks; follows --protection")
    up.add_argument("--https", action="store_true", help="all web pages over HTTPS only")
    up.add_argument("--ha", action="store_true", help="two NameNodes, two ResourceManagers")
    up.add_argument("--labels", action="store_true", help="node label gpu on nm1, queue default")
    up.add_argument("--gpus", action="store_true", help="two of yarn.io/gpu on each node")
    up.add_argument("--gpu-nodes", type=int, default=0, metavar="N", help="... on the first N only")
    _add_pace(up)
    _add_extras(up)
    up.add_argument("--owner", type=int, metavar="PID", help="go down when this process ends")
    up.add_argument("--keep-logs", action="store_true", help="leave the logs when it goes down")
    up.add_argument("--set", dest="settings", action="append", default=[],
                    metavar="FILE:KEY=VALUE", help="a setting; FILE is core, hdfs, yarn, "
                    "capacity or resources")


def _add_pace(up: argparse.ArgumentParser) -> None:
    for name, what in (("node-mb", "memory of each NodeManager"), ("node-vcores", "its cores"),
                       ("heartbeat-ms", "pause between its calls; Hadoop's default is 1000"),
                       ("locality-delay", "missed chances; Hadoop's default is 40"),
                       ("spare", "NodeManagers that are not started: `start nmN` adds one"),
                       ("many", "NodeManagers more, all in one JVM")):
        default = specs.Spec.__dataclass_fields__[name.replace("-", "_")].default
        up.add_argument(f"--{name}", type=int, default=default, help=f"{what} (%(default)s)")
    for name, what in (("renew", "have to be renewed after S seconds"),
                       ("life", "end after S seconds")):
        up.add_argument(f"--token-{name}", dest=f"token_{name}_s", type=int, default=0,
                        metavar="S", help=f"delegation tokens {what}")


def _add_extras(up: argparse.ArgumentParser) -> None:
    for name, what in (
            ("preemption", "queues take back what is theirs"),
            ("memory-limits", "containers over their memory are killed"),
            ("registry", "ZooKeeper and RegistryDNS"),
            ("names", "with --registry: the nodes look names up at RegistryDNS (root only)"),
            ("apart", "nodes can be cut off, and their clocks set, by tests"),
            ("amrmproxy", "nm1 stands between its masters and the ResourceManager"),
            ("lce", "LinuxContainerExecutor: containers run as their user (root only)"),
            ("docker", "a docker daemon; with --lce YARN's docker runtime (root only)")):
        up.add_argument(f"--{name}", action="store_true", help=what)
    up.add_argument("--disk", dest="disks", action="append", default=[], metavar="NODE:MB",
                    help="this NodeManager works on a small disk of its own (root only)")
    up.add_argument("--on", action="append", default=[], metavar="DAEMON:KEY=VALUE",
                    help="a setting for one daemon")

"""The configuration directory: one for all daemons and all clients of a cluster."""

import shutil

from . import conf_core, conf_hdfs, conf_yarn, places, sitexml
from .layout import Layout

FILES = {
    "core": ("core-site.xml", conf_core.values),
    "hdfs": ("hdfs-site.xml", conf_hdfs.values),
    "yarn": ("yarn-site.xml", conf_yarn.values),
    "capacity": ("capacity-scheduler.xml", conf_yarn.capacity),
    "resources": ("resource-types.xml", conf_yarn.resource_types),
}
LOG4J = """\
hadoop.root.logger=INFO,console
log4j.rootLogger=${hadoop.root.logger}
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.http.requests=WARN
"""


def write(lay: Layout) -> None:
    """Writes all files; `--set FILE:key=value` has the last word."""
    wanted = _overrides(lay.spec.settings)
    lay.conf.mkdir(parents=True, exist_ok=True)
    for short, (name, values) in FILES.items():
        sitexml.write(lay.conf / name, values(lay) | wanted.get(short, {}))
    (lay.conf / "log4j.properties").write_text(LOG4J)
    if lay.spec.amrmproxy:
        _write_proxied(lay, wanted.get("yarn", {}))


def _write_proxied(lay: Layout, wanted: dict[str, object]) -> None:
    """What an application master on nm1 reads: there the scheduler is the NodeManager itself."""
    own = lay.conf_of("nm1")
    shutil.copytree(lay.conf, own)
    sitexml.write(own / "yarn-site.xml", conf_yarn.values(lay) | wanted | {
        "yarn.resourcemanager.scheduler.address": lay.address("nm1", "proxy")})


def _overrides(settings: list[str]) -> dict[str, dict[str, object]]:
    wanted: dict[str, dict[str, object]] = {}
    for setting in settings:
        file, colon, rest = setting.partition(":")
        key, equals, value = rest.partition("=")
        if not colon or not equals or file not in FILES:
            raise places.ClusterError(
                f"--set '{setting}' is not FILE:key=value with FILE one of {', '.join(FILES)}")
        wanted.setdefault(file, {})[key] = value
    return wanted

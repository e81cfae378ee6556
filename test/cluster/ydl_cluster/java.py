"""Java command lines: options that every JVM of a cluster gets, daemons and tools alike."""

import time
from pathlib import Path

from . import archive, java8, places
from .layout import Layout

# Hadoop 3.3 and 3.4 reach into the JDK by reflection, which Java 17 forbids unless told.
_OPENED = ("java.io", "java.lang", "java.lang.reflect", "java.math", "java.net", "java.text",
           "java.util", "java.util.concurrent", "java.util.zip", "sun.security.util",
           "sun.security.x509")
# Small and quick to start rather than quick in the long run.
_LEAN = ("-Xss512k", archive.COLLECTOR, "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
         "-XX:MaxMetaspaceSize=160m", "-XX:ReservedCodeCacheSize=48m",
         "-Djava.net.preferIPv4Stack=true")


def is_old(version: str) -> bool:
    """Hadoop 2 runs on Java 8, which has no modules, no files of options and no class archives."""
    return version.startswith("2.")


def home(version: str) -> Path:
    """Of the Java that this Hadoop runs on."""
    return java8.home() if is_old(version) else places.java_home()


def program(version: str) -> str:
    return str(home(version) / "bin" / "java")


def jars(home: Path) -> list[str]:
    """The jars in an order that is always the same, which a class archive depends on, and Hadoop 2,
    which has two versions of asm and needs the older one."""
    return [str(jar) for jar in sorted((home / "lib").glob("*.jar"))]


def _options(lay: Layout) -> list[str]:
    old = is_old(lay.spec.version)
    lines = [] if old else [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    lines += [*_LEAN, f"-Djava.io.tmpdir={lay.run}/tmp"]
    if lay.spec.kerberos:
        lines.append(f"-Djava.security.krb5.conf={lay.krb}/krb5.conf")
    if not lay.spec.training:
        lines += archive.options(lay.spec.version)
    # The jars come first because an archive is valid for a classpath that begins with them.
    return [*lines, "-cp", ":".join([*jars(lay.home), str(lay.conf), str(lay.home / "web")])]


def write_options(lay: Layout) -> None:
    """Puts the common options into a file, so that the process list stays readable."""
    lines = _options(lay)
    options_file(lay).write_text("".join(f'"{_escape(line)}"\n' for line in lines))


def options_file(lay: Layout) -> Path:
    return lay.run / "java.options"


def _escape(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"', '\\"')


def command(lay: Layout, heap_mb: int, label: str, *rest: str) -> list[str]:
    """A JVM with the common options; `rest` is further options, a class and its arguments."""
    training = [archive.list_option(lay.run, label)] if lay.spec.training else []
    version = lay.spec.version
    options = _options(lay) if is_old(version) else [f"@{options_file(lay)}"]
    return [program(version), *options, f"-Xmx{heap_mb}m", *training, *rest]


def localizer_options(lay: Layout) -> list[str]:
    """For the JVM that fetches a container's files; its class path is the NodeManager's."""
    lean = [option for option in _LEAN if "-Xss" not in option]
    return ["-Xmx128m", *lean, *([] if lay.spec.training else archive.options(lay.spec.version))]


def tool(lay: Layout, *rest: str) -> list[str]:
    """A short-lived client; only warnings are shown."""
    label = f"tool-{time.monotonic_ns()}"
    return command(lay, 256, label, "-Dhadoop.root.logger=WARN,console", *rest)

"""The jars of a Hadoop version, assembled from Maven Central.

There is no binary release on Maven Central, only the artifacts; Maven resolves their runtime
dependencies (ZooKeeper comes along with them). A directory is complete when it has `.done` in it,
and it appears under its name only then, so nobody ever starts a daemon from half of it.
"""

import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

from . import lock, places

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
ARTIFACTS = (
    "hadoop-common", "hadoop-auth", "hadoop-annotations", "hadoop-hdfs", "hadoop-hdfs-client",
    "hadoop-yarn-api", "hadoop-yarn-common", "hadoop-yarn-client", "hadoop-yarn-server-common",
    "hadoop-yarn-server-resourcemanager", "hadoop-yarn-server-nodemanager",
    "hadoop-yarn-server-web-proxy", "hadoop-yarn-server-applicationhistoryservice",
    "hadoop-yarn-server-timelineservice", "hadoop-registry",
)
# Not in every release, or under another name.
_OTHERWISE = {
    "2.10": {"hadoop-registry": "hadoop-yarn-registry"},
    "2.7": {"hadoop-registry": "hadoop-yarn-registry", "hadoop-hdfs-client": "",
            "hadoop-yarn-server-timelineservice": ""},
}
_SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|RSA|DSA|EC)")
# The daemons refuse to start without these directories, which the jars do not carry.
WEBAPPS = ("hdfs", "datanode", "secondary", "journal", "router", "static")


def ensure(version: str, say=lambda text: None) -> Path:
    """The directory with the jars of `version`, downloaded if it is not there yet."""
    home = places.hadoop_dir(version)
    if (home / ".done").exists():
        return home
    with lock.held(places.cache_dir() / f"hadoop-{version}.lock"):
        if not (home / ".done").exists():
            say(f"assembling Hadoop {version} from Maven Central (minutes, once)")
            _assemble(version, home)
    return home


def _assemble(version: str, home: Path) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=f".hadoop-{version}-", dir=home.parent))
    try:
        (scratch / "pom.xml").write_text(_pom(version))
        _maven(scratch)
        for jar in sorted((scratch / "lib").glob("*.jar")):
            _without_signature(jar)
        (scratch / "pom.xml").unlink()
        _make_webapps(scratch / "web" / "webapps")
        (scratch / ".done").touch()
        shutil.rmtree(home, ignore_errors=True)  # what an older, unfinished attempt left
        os.chmod(scratch, 0o755)
        scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _maven(scratch: Path) -> None:
    command = [places.tool("mvn"), "-q", "-B", f"{PLUGIN}:copy-dependencies",
               "-DincludeScope=runtime", f"-DoutputDirectory={scratch / 'lib'}"]
    done = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, check=False)
    if done.returncode != 0:
        raise places.ClusterError("maven failed:\n" + done.stdout[-3000:])


def _without_signature(jar: Path) -> None:
    """The same classes in a jar that nobody signed. The JVM checks each class of a signed jar when it
    is loaded, and keeps none in its archive: a quarter of what a ResourceManager does to start."""
    with zipfile.ZipFile(jar) as whole:
        if not any(map(_SIGNATURE.fullmatch, whole.namelist())):
            return
        other = jar.with_suffix(".unsigned")
        with zipfile.ZipFile(other, "w", zipfile.ZIP_DEFLATED) as copy:
            for entry in whole.infolist():
                if not _SIGNATURE.fullmatch(entry.filename):
                    copy.writestr(entry, whole.read(entry))
    other.replace(jar)


def _artifacts(version: str) -> list[str]:
    other = _OTHERWISE.get(version.rpartition(".")[0], {})
    return [name for artifact in ARTIFACTS if (name := other.get(artifact, artifact))]


def _pom(version: str) -> str:
    rows = "".join("<dependency><groupId>org.apache.hadoop</groupId>"
                   f"<artifactId>{name}</artifactId><version>{escape(version)}</version>"
                   "</dependency>\n" for name in _artifacts(version))
    return ('<project xmlns="http://maven.apache.org/POM/4.0.0">\n'
            "<modelVersion>4.0.0</modelVersion><groupId>ydl.test</groupId>"
            "<artifactId>cluster</artifactId><version>1</version><packaging>pom</packaging>\n"
            f"<dependencies>\n{rows}</dependencies></project>\n")


def _make_webapps(base: Path) -> None:
    for name in WEBAPPS:
        inside = base / name / "WEB-INF"
        inside.mkdir(parents=True)
        (inside / "web.xml").write_text("<web-app/>\n")

"""libhdfs, the real one: a task that reads HDFS by it finds Java, Hadoop's jars and the library itself."""

import re
import shutil
from pathlib import Path

import pytest

from ydl_cluster import compiled, places

SCRIPT = Path(__file__).with_name("scripts") / "read_hdfs.py"
SOURCES = "libhdfs-2.0.0"  # tools/setup frameworks
FILES = ("exception.c", "hdfs.c", "jni_helper.c", "common/htable.c", "os/posix/mutexes.c",
         "os/posix/thread.c", "os/posix/thread_local_storage.c")


def library() -> Path:
    """Compiled with the Java that is here; it looks for its libjvm.so at run time."""
    base, java = places.cache_dir() / SOURCES, places.java_home()
    assert (base / "ready").exists(), f"{base} is not there: run tools/setup frameworks"
    return compiled.result(
        "libhdfs-{}.so", [base / name for name in FILES], "-shared", "-fPIC", "-w", f"-I{base}",
        f"-I{base}/include", f"-I{base}/include/hdfs", f"-I{base}/os/posix", f"-I{java}/include",
        f"-I{java}/include/linux", f"-L{java}/lib/server", "-Wl,--no-as-needed", "-ljvm")


@pytest.fixture
def home(cluster, tmp_path) -> Path:
    """A Hadoop as nodes have it: jars in their places, and the library."""
    made = tmp_path / "hadoop"
    for jar in (cluster.lay.home / "lib").glob("*.jar"):
        part = re.match(r"hadoop-(common|hdfs)", jar.name)
        to = made / "share/hadoop" / (part.group(1) if part else "common/lib") / jar.name
        to.parent.mkdir(parents=True, exist_ok=True)
        to.symlink_to(jar)
    (made / "lib/native").mkdir(parents=True)
    (made / "lib/native/libhdfs.so").symlink_to(library())
    return made


@pytest.mark.full
def test_a_task_reads_hdfs_with_libhdfs(jobs, home):
    (jobs.work / "data.txt").write_text("what nodes read")
    jobs.run("fs", "put", "data.txt", "/tmp/libhdfs.txt", check=0)
    shutil.copy(SCRIPT, jobs.work)
    words = ("run", "--on", "yarn", "-n", 1, "--mem", "700m", "--env", f"HADOOP_HOME={home}")
    read = ("--", "python3", "read_hdfs.py")
    uri = "hdfs://" + jobs.cluster.lay.address("nn") + "/tmp/libhdfs.txt"
    done = jobs.run(*words, *read, uri, check=0)
    assert "read: what nodes read" in done.stdout
    done = jobs.run(*words, "--hadoop", "no", *read, uri, check=1)  # it is ours that it finds
    assert "libhdfs.so" in done.stderr + done.stdout
    done = jobs.run(*words, "--hadoop", "yes", *read, "/tmp/libhdfs.txt", check=0)
    assert "read: what nodes read" in done.stdout
    jobs.run("fs", "rm", "/tmp/libhdfs.txt", check=0)

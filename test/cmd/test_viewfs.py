"""A mount table as the default file system: its own directories are there too."""

import json
import re
import shutil

import pytest
from cmd_support import ydl


@pytest.fixture
def mounted(cluster, tmp_path):
    """An environment in which `/` is a mount table's: /user and /deep/er/tmp lead to HDFS."""
    conf = tmp_path / "conf"
    shutil.copytree(cluster.conf_dir, conf)
    core = (conf / "core-site.xml").read_text()
    hdfs = re.search(r"fs\.defaultFS</name>\s*<value>(hdfs://[^<]*)</value>", core).group(1)
    rows = {"fs.defaultFS": "viewfs://all/", "fs.viewfs.mounttable.all.link./user": f"{hdfs}/user",
            "fs.viewfs.mounttable.all.link./deep/er/tmp": f"{hdfs}/tmp",
            "fs.viewfs.mounttable.all.link./gone": f"{hdfs}/there/is/none"}
    more = "".join(f"<property><name>{k}</name><value>{v}</value></property>"
                   for k, v in rows.items())
    (conf / "core-site.xml").write_text(core.replace("</configuration>", more + "</configuration>"))
    return cluster.env() | {"HADOOP_CONF_DIR": str(conf), "YARN_CONF_DIR": str(conf)}


def listed(env, *words) -> list[tuple[str, str]]:
    done = ydl(env, "fs", "ls", "--json", *words)
    assert done.returncode == 0, done.stderr
    return [(e["path"], e["type"]) for e in json.loads(done.stdout)["entries"]]


def test_its_directories_are_listed(mounted):
    assert listed(mounted, "/") == [("/deep", "directory"), ("/gone", "directory"),
                                    ("/user", "directory")]
    assert listed(mounted, "/deep") == [("/deep/er", "directory")]
    assert listed(mounted, "viewfs://all/deep/er/") == [("/deep/er/tmp", "directory")]
    assert listed(mounted, "-d", "/") == [("/", "directory")]
    assert ("/tmp/logs", "directory") in listed(mounted, "/deep/er/tmp")
    assert re.search(r"^drwx\S+ .* /user$", ydl(mounted, "fs", "ls", "/").stdout, re.MULTILINE)


def test_nothing_is_changed_in_them(mounted):
    for words in (("mkdir", "/new"), ("rm", "-r", "/deep"), ("rm", "-r", "/"), ("chmod", "700", "/")):
        done = ydl(mounted, "fs", *words)
        assert done.returncode != 0 and "mount" in done.stderr, (words, done.stderr)


def test_the_doctor_looks_behind_them(mounted):
    done = ydl(mounted, "doctor", timeout=120)
    assert done.returncode == 0, done.stdout

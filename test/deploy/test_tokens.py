"""Tokens for a job, where its results may go, and the configuration that it takes along."""

import json
import shutil

import pytest

from asking import ask
from ydl_cluster.patience import Limit


def _tokens(cluster, path, *places, **options) -> list[dict]:
    return ask(cluster, "tokens", path, *places, **options)["tokens"]


def test_without_kerberos_there_are_none(cluster, tmp_path):
    assert _tokens(cluster, tmp_path / "t", "/") == []


def test_one_token_for_each_name_service_and_it_works(krb_cluster, tmp_path):
    path = tmp_path / "t"
    tokens = _tokens(krb_cluster, path, "/", "x", "/tmp/y", user="alice")
    assert [token["kind"] for token in tokens] == ["HDFS_DELEGATION_TOKEN"]
    assert path.stat().st_mode & 0o777 == 0o600
    alone = {"HADOOP_TOKEN_FILE_LOCATION": str(path), "KRB5CCNAME": "FILE:/nonexistent"}
    assert ask(krb_cluster, "stat", "/user/alice", env=alone)["owner"] == "alice"
    del alone["HADOOP_TOKEN_FILE_LOCATION"]
    assert ask(krb_cluster, "stat", "/user/alice", env=alone, code=1)["error"]


def _with_another_service(cluster, tmp_path):
    """The cluster's configuration, with a second name for its NameNode: a name service whose other
    NameNode is not there."""
    conf = tmp_path / "conf"
    shutil.copytree(cluster.env()["HADOOP_CONF_DIR"], conf)
    site = conf / "hdfs-site.xml"
    address = cluster.lay.address("nn")
    more = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in (
        ("dfs.nameservices", "other"), ("dfs.ha.namenodes.other", "a,b"),
        ("dfs.namenode.rpc-address.other.a", address),
        ("dfs.namenode.rpc-address.other.b", "127.0.0.1:9")))
    site.write_text(site.read_text().replace("</configuration>", more + "</configuration>"))
    return {"HADOOP_CONF_DIR": str(conf)}


def test_two_name_services_have_a_token_each(krb_cluster, tmp_path):
    env = _with_another_service(krb_cluster, tmp_path)
    tokens = _tokens(krb_cluster, tmp_path / "t", "/x", "hdfs://other/x", "hdfs://other/y", user="alice",
                     env=env)
    assert [token["kind"] for token in tokens] == ["HDFS_DELEGATION_TOKEN"] * 2
    assert sorted(token["service"] for token in tokens)[1] == "ha-hdfs:other"
    alone = env | {"HADOOP_TOKEN_FILE_LOCATION": str(tmp_path / "t"), "KRB5CCNAME": "FILE:/nonexistent"}
    for place in ("/user/alice", "hdfs://other/user/alice"):
        assert ask(krb_cluster, "stat", place, env=alone)["owner"] == "alice"


def test_tokens_for_another_user_are_theirs(krb_cluster, tmp_path):
    """carol may act for bob, and for nobody else."""
    path = tmp_path / "t"
    assert len(_tokens(krb_cluster, path, "/", user="carol",
                       env={"HADOOP_PROXY_USER": "bob"})) == 1
    assert b"bob" in path.read_bytes() and b"carol" in path.read_bytes()
    refused = ask(krb_cluster, "tokens", tmp_path / "u", "/", user="carol",
                  env={"HADOOP_PROXY_USER": "alice"}, code=1)["error"]
    assert "hdfs://" in refused and "alice" in refused


def test_tokens_that_were_given_are_handed_on(krb_cluster, tmp_path):
    first, second = tmp_path / "t", tmp_path / "u"
    given = _tokens(krb_cluster, first, "/", user="alice")
    again = _tokens(krb_cluster, second, "/", user="alice",
                    env={"HADOOP_TOKEN_FILE_LOCATION": str(first)})
    assert again == given
    assert second.read_bytes() == first.read_bytes()


def test_a_service_that_cannot_be_reached_is_named(krb_cluster, tmp_path):
    said = ask(krb_cluster, "tokens", tmp_path / "t", "hdfs://127.0.0.1:9/x", code=1)
    assert "hdfs://127.0.0.1:9" in said["error"]


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "old_cluster"], indirect=True)
@pytest.mark.parametrize("how", ["look", "probe"])
def test_where_results_may_go(each_cluster, how):
    """alice may write at home, also to what is not there yet; nowhere else."""
    ask(each_cluster, how, "/user/alice/a/b/c", user="alice")
    ask(each_cluster, how, "results", user="alice")
    said = ask(each_cluster, how, "/user/bob/x", user="alice", code=1)["error"]
    assert "/user/bob/x" in said and "denied" in said.lower()
    assert "not even" not in ask(each_cluster, how, "/x/y", user="alice", code=1)["error"]


def test_a_file_is_no_directory_for_results(cluster):
    cluster.fs("-touchz", "/tmp/a-file")
    for how in ("look", "probe"):
        for uri in ("/tmp/a-file", "/tmp/a-file/below"):
            assert "directory" in ask(cluster, how, uri, code=1)["error"]


def test_a_probe_leaves_nothing_and_a_look_changes_nothing(cluster):
    cluster.fs("-mkdir", "-p", "/tmp/target")
    before = cluster.fs("-stat", "%y", "/tmp/target").stdout
    ask(cluster, "look", "/tmp/target")
    assert cluster.fs("-stat", "%y", "/tmp/target").stdout == before
    ask(cluster, "probe", "/tmp/target")
    assert cluster.fs("-ls", "/tmp/target").stdout.strip() == ""


def test_a_quota_is_found_by_a_probe(cluster):
    cluster.fs("-mkdir", "-p", "/tmp/full")
    cluster.java("org.apache.hadoop.hdfs.tools.DFSAdmin", "-setQuota", "1", "/tmp/full")
    ask(cluster, "look", "/tmp/full")
    assert "quota" in ask(cluster, "probe", "/tmp/full", code=1)["error"]


@pytest.mark.parametrize("each_cluster", ["cluster", "krb_cluster", "ha_cluster"], indirect=True)
def test_a_client_with_the_exported_configuration_sees_the_same_cluster(each_cluster, tmp_path):
    (tmp_path / "core-site.xml").write_text(ask(each_cluster, "export")["xml"])
    other = {"HADOOP_CONF_DIR": str(tmp_path), "YARN_CONF_DIR": str(tmp_path)}
    limit = Limit(60)
    while True:  # an application of before may still be on its way out
        here, there = ask(each_cluster, "facts"), ask(each_cluster, "facts", env=other)
        here.pop("counts_cores"), there.pop("counts_cores")  # that was in another file
        if json.dumps(here) == json.dumps(there) or limit.over():
            break
    assert json.dumps(here) == json.dumps(there)
    assert ask(each_cluster, "stat", "/", env=other) == ask(each_cluster, "stat", "/")

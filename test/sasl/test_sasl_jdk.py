"""The SASL library meets the JDK's own servers, and a Kerberos realm of its own.

YDL_SASL_PEER names the program sasl_peer of another build than build/.
"""

import contextlib
import errno
import os
import pathlib
import re
import shutil
import subprocess

import pytest
from kdc import DIES_WITH_US, Kdc, REALM, shifted

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("YDL_SASL_PEER", HERE.parent.parent / "build" / "unit" / "sasl_peer")
QOPS = ["auth", "auth-int", "auth-conf"]
CIPHERS = ["3des", "rc4", "des", "rc4-56", "rc4-40"]
SIZES = ["5", "1000", "70000", "200000"]


@pytest.fixture(scope="session")
def kdc(tmp_path_factory):
    with Kdc(tmp_path_factory.mktemp("kdc")) as kdc:
        for name in ("alice", "rm/localhost", "nn/localhost", "rotated"):
            kdc.add(name)
        yield kdc


@contextlib.contextmanager
def jvm(kdc, conf):
    """SaslPeer.java with the key of rm/localhost; yields its port."""
    server = subprocess.Popen(
        [*DIES_WITH_US, "java", "-XX:TieredStopAtLevel=1",
         f"-Djava.security.krb5.conf={conf}", str(HERE / "SaslPeer.java"),
         "rm/localhost", str(kdc.keytab("rm/localhost"))],
        stdout=subprocess.PIPE, text=True, env=kdc.env())
    try:
        yield server.stdout.readline().split()[1]
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def port(kdc):
    """The port of one JVM that serves nearly every test."""
    with jvm(kdc, kdc.dir / "krb5.conf") as port:
        yield port


@pytest.fixture
def ticket(kdc):
    """The KRB5CCNAME of a fresh login of alice."""
    return kdc.login("alice")


def run(kdc, verb, *args, wrapper=(), **env):
    """Runs sasl_peer; its facts as a dict of lists, with `status`."""
    done = subprocess.run([*wrapper, PROGRAM, verb, *args], env=kdc.env(**env),
                          capture_output=True, text=True, timeout=120)
    facts = {"status": done.returncode, "stderr": done.stderr}
    for line in done.stdout.splitlines():
        name, value = line.split("=", 1)
        facts.setdefault(name, []).append(value)
    assert done.returncode in (0, 1), done.stderr
    return facts


def refused(facts, code, text, hint=""):
    assert facts["status"] == 1, facts
    assert re.search(text, facts["text"][0]), facts
    assert re.search(hint, facts["hint"][0]), facts
    assert int(facts["error"][0]) == code, facts


def passed(facts, qop, rounds=None):
    assert facts["status"] == 0, facts
    assert facts["qop"] == [qop]
    assert facts["echo"] == SIZES
    if rounds:
        assert facts["rounds"] == [str(rounds)]


# --- DIGEST-MD5


@pytest.mark.parametrize("qop", ["auth", "auth-int"])
def test_digest_without_cipher(kdc, port, qop):
    passed(run(kdc, "exchange", f"port={port}", f"qops={qop}"), qop, rounds=2)


@pytest.mark.parametrize("cipher", CIPHERS)
def test_digest_with_every_cipher(kdc, port, cipher):
    facts = run(kdc, "exchange", f"port={port}", "qops=auth-conf", f"ciphers={cipher}")
    passed(facts, "auth-conf", rounds=2)


@pytest.mark.parametrize("qop", QOPS)
def test_digest_as_datanodes_speak_it(kdc, port, qop):
    facts = run(kdc, "exchange", f"port={port}", f"qops={qop}", "protocol=hdfs", "server=0")
    passed(facts, qop, rounds=2)


@pytest.mark.parametrize("qop", QOPS)
def test_digest_takes_what_the_server_asks_for(kdc, port, qop):
    passed(run(kdc, "exchange", f"port={port}", f"peer-qops={qop}"), qop)


def test_digest_where_the_client_speaks_first(kdc, port):
    passed(run(kdc, "exchange", f"port={port}", "first=client"), "auth-conf", rounds=3)


def test_digest_user_name_of_an_encryption_key(kdc, port):
    facts = run(kdc, "exchange", f"port={port}", "qops=auth-conf", "protocol=hdfs", "server=0",
                "user=-1234 BP-1-127.0.0.1-17 dGhlIG5vbmNl", "password=a2V5", "peer-password=a2V5")
    passed(facts, "auth-conf")


def test_digest_wrong_password(kdc, port):
    facts = run(kdc, "exchange", f"port={port}", "peer-password=b3RoZXI=")
    refused(facts, errno.EREMOTEIO, "Mismatched response")


def test_digest_no_common_protection(kdc, port):
    facts = run(kdc, "exchange", f"port={port}", "qops=auth-conf", "peer-qops=auth,auth-int")
    refused(facts, errno.EPERM, "allows only auth,auth-int and this client only auth-conf",
            "hadoop.rpc.protection")


@pytest.mark.parametrize("mech", ["digest", "gss"])
@pytest.mark.parametrize("qop", ["auth-int", "auth-conf"])
@pytest.mark.parametrize("fault, text", [
    ("tamper", "was damaged or forged"),
    ("replay", "came (twice|where 1 was due)"),
    ("skip", "came (twice or out of order|where 1 was due)"),
])
def test_faults_on_the_wire_are_noticed(kdc, port, ticket, mech, qop, fault, text):
    facts = run(kdc, "exchange", f"port={port}", f"mech={mech}", f"qops={qop}", f"fault={fault}",
                KRB5CCNAME=ticket)
    refused(facts, errno.EBADMSG, text)
    assert facts["echo"] == ["5"]


# --- Kerberos


@pytest.mark.parametrize("qop", QOPS)
def test_gss_with_a_ticket_cache(kdc, port, ticket, qop):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", f"qops={qop}", KRB5CCNAME=ticket)
    passed(facts, qop, rounds=3)


@pytest.mark.parametrize("qop", QOPS)
def test_gss_with_a_keytab(kdc, port, qop):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", f"peer-qops={qop}",
                "principal=alice", f"keytab={kdc.keytab('alice')}")
    passed(facts, qop, rounds=3)


def test_gss_by_the_servers_full_principal(kdc, port, ticket):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", f"realm={REALM}", KRB5CCNAME=ticket)
    passed(facts, "auth-conf")


def test_gss_no_common_protection(kdc, port, ticket):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", "qops=auth-conf",
                "peer-qops=auth,auth-int", KRB5CCNAME=ticket)
    refused(facts, errno.EPERM, "no protection level in common", "hadoop.rpc.protection")


def test_identity_of_a_ticket_cache(kdc, ticket):
    facts = run(kdc, "identity", KRB5CCNAME=ticket)
    assert facts["principal"] == [f"alice@{REALM}"]
    assert 3000 < int(facts["seconds"][0]) <= 3600


@pytest.mark.parametrize("name", ["alice", f"alice@{REALM}", None])
def test_identity_of_a_keytab(kdc, name):
    facts = run(kdc, "identity", f"keytab={kdc.keytab('alice')}",
                *([f"principal={name}"] if name else []))
    assert facts["principal"] == [f"alice@{REALM}"]
    assert 3000 < int(facts["seconds"][0]) <= 3600


@pytest.mark.parametrize("verb", ["identity", "exchange"])
def test_no_ticket_cache(kdc, port, verb):
    facts = run(kdc, verb, f"port={port}", "mech=gss")
    refused(facts, errno.ENOKEY, "No Kerberos credentials available", "run kinit")


def test_no_ticket_of_that_name(kdc, ticket):
    facts = run(kdc, "identity", "principal=bob", KRB5CCNAME=ticket)
    refused(facts, errno.ENOKEY, "bob", "run kinit")


def test_expired_ticket(kdc, port):
    with kdc.elsewhen("-2h") as conf:
        ticket = kdc.login("alice", KRB5_CONFIG=conf, **shifted("-2h"))
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", KRB5CCNAME=ticket)
    refused(facts, errno.EKEYEXPIRED, "Ticket expired", "run kinit")
    facts = run(kdc, "identity", KRB5CCNAME=ticket)
    refused(facts, errno.EKEYEXPIRED, "expired", "run kinit")


@pytest.mark.parametrize("shift", ["+10m", "-10m"])
def test_clock_skew_with_a_ticket_cache(kdc, port, ticket, shift):
    with kdc.elsewhen(shift) as conf:
        facts = run(kdc, "exchange", f"port={port}", "mech=gss", KRB5CCNAME=ticket,
                    KRB5_CONFIG=conf)
    refused(facts, errno.EKEYREJECTED, "Clock skew too great|Ticket not yet valid",
            "set this machine's time")


def test_clock_skew_with_a_keytab(kdc):
    with kdc.elsewhen("+10m") as conf:
        facts = run(kdc, "identity", "principal=alice", f"keytab={kdc.keytab('alice')}",
                    KRB5_CONFIG=conf)
    refused(facts, errno.EKEYREJECTED, "Clock skew too great", "set this machine's time")


def test_clock_skew_seen_by_the_server(kdc, ticket):
    """A server that tolerates less than nothing: Java under a shifted clock takes half a minute."""
    strict = kdc.dir / "strict.conf"
    strict.write_text((kdc.dir / "krb5.conf").read_text().replace(
        "[libdefaults]", "[libdefaults]\n    clockskew = -1"))
    with jvm(kdc, strict) as port:
        facts = run(kdc, "exchange", f"port={port}", "mech=gss", KRB5CCNAME=ticket)
    refused(facts, errno.EREMOTEIO, "Clock skew too great")


def test_unknown_server(kdc, port, ticket):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", "service=jhs", KRB5CCNAME=ticket)
    refused(facts, errno.EACCES, f"jhs/localhost@{REALM} not found in Kerberos database",
            "no such server principal")


def test_a_ticket_for_another_server(kdc, port, ticket):
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", "service=nn", KRB5CCNAME=ticket)
    assert facts["status"] == 1 and int(facts["error"][0]) == errno.EREMOTEIO, facts


def test_unknown_user(kdc):
    kdc.add("gone")
    keytab = kdc.keytab("gone")
    kdc.admin("kadmin.local", "-r", REALM, "delprinc", "-force", "gone")
    facts = run(kdc, "identity", "principal=gone", f"keytab={keytab}")
    refused(facts, errno.EACCES, "not found in Kerberos database", "no such user")


def test_keytab_of_somebody_else(kdc):
    facts = run(kdc, "identity", "principal=bob", f"keytab={kdc.keytab('alice')}")
    refused(facts, errno.ENOKEY, "has no key of 'bob'", "klist -k")


def test_keytab_that_is_out_of_date(kdc):
    old = kdc.dir / "old.keytab"
    shutil.copy(kdc.keytab("rotated"), old)
    kdc.admin("kadmin.local", "-r", REALM, "cpw", "-randkey", "rotated")
    facts = run(kdc, "identity", "principal=rotated", f"keytab={old}")
    refused(facts, errno.EKEYREJECTED, "failed", "export the keytab again")


@pytest.mark.parametrize("content, code, text", [
    (None, errno.ENOENT, "No such file"),
    (b"", errno.EINVAL, "is not a keytab"),
    (b"garbage", errno.EINVAL, "is not a keytab"),
    (b"\x05\x02", errno.ENOKEY, "has no key of 'alice'"),
])
def test_keytab_that_is_none(kdc, content, code, text):
    path = kdc.dir / "broken.keytab"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    refused(run(kdc, "identity", "principal=alice", f"keytab={path}"), code, text)


def test_keytab_that_may_not_be_read(kdc):
    path = kdc.dir / "secret.keytab"
    shutil.copy(kdc.keytab("alice"), path)
    path.chmod(0)
    # Root reads everything, unless it gives that away.
    wrapper = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    facts = run(kdc, "identity", f"keytab={path}", wrapper=wrapper if os.geteuid() == 0 else [])
    refused(facts, errno.EACCES, "Permission denied")


def test_no_kdc_answers(kdc, ticket, port):
    dead = kdc.dir / "dead.conf"
    dead.write_text((kdc.dir / "krb5.conf").read_text().replace(str(kdc.port), "1"))
    facts = run(kdc, "exchange", f"port={port}", "mech=gss", KRB5CCNAME=ticket,
                KRB5_CONFIG=str(dead))
    refused(facts, errno.EHOSTUNREACH, "Cannot contact any KDC", "krb5.conf")
    facts = run(kdc, "identity", "principal=alice", f"keytab={kdc.keytab('alice')}",
                KRB5_CONFIG=str(dead))
    refused(facts, errno.EHOSTUNREACH, "Cannot contact any KDC", "krb5.conf")


def test_no_kerberos_configuration(kdc):
    facts = run(kdc, "identity", "principal=alice", f"keytab={kdc.keytab('alice')}",
                KRB5_CONFIG="/nonexistent")
    refused(facts, errno.EINVAL, "default realm", "krb5.conf")


@pytest.mark.parametrize("verb", ["identity", "exchange"])
def test_no_kerberos_library(kdc, port, verb):
    facts = run(kdc, verb, f"port={port}", "mech=gss", YDL_GSSAPI_LIB="/nonexistent")
    refused(facts, errno.EOPNOTSUPP, "/nonexistent: cannot open shared object file", "install")

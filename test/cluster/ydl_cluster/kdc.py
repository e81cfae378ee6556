"""A Kerberos realm of the cluster's own: MIT's KDC with a private configuration and database."""

import os
import subprocess
import tempfile
from pathlib import Path

from . import conf_core, daemons, places, spec as specs
from .layout import REALM, Layout, principal

# Its tickets are good for a second: for tests of what is said about an expired login.
SHORT_LIVED = "nobody-expired"

_KRB5_CONF = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 clockskew = 30
 ticket_lifetime = 24h
 renew_lifetime = 7d
 forwardable = true
[realms]
 {realm} = {{
  kdc = {address}
 }}
[domain_realm]
 localhost = {realm}
"""
_KDC_CONF = """\
[kdcdefaults]
 kdc_listen = {address}
 kdc_tcp_listen = {address}
[realms]
 {realm} = {{
  database_name = {krb}/principal
  key_stash_file = {krb}/stash
  acl_file = {krb}/kadm5.acl
  max_renewable_life = 7d
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }}
[logging]
 kdc = FILE:{logs}/kdc.log
"""


def prepare(lay: Layout) -> None:
    """Configuration, database, principals and keytabs; the daemon itself starts with the others."""
    # Containers that run as their user may read krb5.conf; the keytabs are protected one by one.
    lay.krb.mkdir(mode=0o711 if lay.spec.lce else 0o700)
    words = {"realm": REALM, "address": f"127.0.0.1:{lay.port('kdc', 'kdc')}", "krb": lay.krb,
             "logs": lay.logs}
    (lay.krb / "krb5.conf").write_text(_KRB5_CONF.format(**words))
    (lay.krb / "kdc.conf").write_text(_KDC_CONF.format(**words))
    _run(lay, [places.tool("kdb5_util"), "create", "-s", "-r", REALM, "-P", "master"])
    _run(lay, [places.tool("kadmin.local"), "-r", REALM], "\n".join(_commands(lay)) + "\n")
    for user in users():
        if not keytab(lay, user).exists():
            raise places.ClusterError(f"kadmin.local made no keytab for {user}")


def users() -> tuple[str, ...]:
    return specs.users() + (SHORT_LIVED,)


def keytab(lay: Layout, user: str) -> Path:
    return lay.krb / f"{user}.keytab"


def _commands(lay: Layout) -> list[str]:
    services = [principal(service) for service in conf_core.SERVICES + ("HTTP",)]
    # The web pages of a node are asked for by its address.
    services += [f"HTTP/{lay.host_of(node)}"
                 for node in lay.nodemanagers + lay.spares + lay.datanodes]
    commands = [f"addprinc -randkey {name}" for name in services + list(specs.users())]
    commands.append(f'addprinc -randkey -maxlife "1 second" {SHORT_LIVED}')
    commands += [f"ktadd -k {lay.krb}/service.keytab {name}" for name in services]
    commands += [f"ktadd -k {keytab(lay, user)} {user}" for user in users()]
    return commands


def login(lay: Layout, user: str) -> str:
    """Logs `user` in from the keytab; the value for KRB5CCNAME. A cache that another process reads
    meanwhile is replaced as a whole."""
    if not keytab(lay, user).exists():
        raise places.ClusterError(f"no user '{user}': there are {', '.join(users())}")
    fd, scratch = tempfile.mkstemp(prefix=f".cc_{user}_", dir=lay.krb)
    os.close(fd)
    _run(lay, [places.tool("kinit"), "-k", "-t", str(keytab(lay, user)), "-c", f"FILE:{scratch}",
               user])
    os.rename(scratch, cache(lay, user))
    return f"FILE:{cache(lay, user)}"


def cache(lay: Layout, user: str) -> Path:
    """Where `login` leaves the tickets of a user."""
    return lay.krb / f"cc_{user}"


def _run(lay: Layout, command: list[str], script: str = "") -> None:
    done = subprocess.run(command, env=daemons.environment(lay), input=script,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180,
                          check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"{' '.join(command)}: {done.stdout[-2000:]}")

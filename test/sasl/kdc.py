"""A private MIT Kerberos realm on loopback: its own port, files and database, gone when closed."""

import contextlib
import os
import pathlib
import socket
import subprocess
import time

from ydl_cluster.patience import stretched

REALM = "SASL.TEST"
DIES_WITH_US = ["setpriv", "--pdeathsig", "KILL"]  # whatever happens to the tests

KRB5_CONF = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    kdc_timesync = 0
    ticket_lifetime = 1h
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
[domain_realm]
    localhost = {realm}
"""

KDC_CONF = """\
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {dir}/principal
        key_stash_file = {dir}/stash
        acl_file = {dir}/acl
        max_life = 1h
    }}
[logging]
    kdc = FILE:{dir}/kdc.log
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def shifted(shift: str) -> dict:
    """What a program's environment needs to see another time: "+10m", "-2h".

    The faketime command itself stays in between as a parent and shares memory with its child;
    only its library is wanted.
    """
    shown = subprocess.run(["faketime", "-f", shift, "env"], check=True, capture_output=True,
                           text=True).stdout
    lines = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    return {"LD_PRELOAD": lines["LD_PRELOAD"], "FAKETIME": lines["FAKETIME"],
            "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


def answers(process: subprocess.Popen, port: int) -> bool:
    """Whether the process comes to listen on the port."""
    end = time.monotonic() + stretched(60)
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process.poll() is None
        time.sleep(0.02)
    return False


class Kdc:
    """Started by the constructor; `with` or close() stops it."""

    def __init__(self, where: pathlib.Path):
        self.dir = where
        self.configure(where, 0)
        self.admin("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self.port, self.process = self.launch(where, {})

    def configure(self, where: pathlib.Path, port: int) -> None:
        names = {"realm": REALM, "port": port, "dir": self.dir}
        (where / "krb5.conf").write_text(KRB5_CONF.format(**names))
        (where / "kdc.conf").write_text(KDC_CONF.format(**names))

    def env(self, **more: str) -> dict:
        """The environment of a program that lives in this realm."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("KRB5")}
        env["PATH"] += ":/usr/sbin:/sbin"
        env["KRB5_CONFIG"] = str(self.dir / "krb5.conf")
        env["KRB5_KDC_PROFILE"] = str(self.dir / "kdc.conf")
        env["KRB5CCNAME"] = f"FILE:{self.dir}/no-such-cache"
        return env | more

    def admin(self, *command: str) -> None:
        subprocess.run(command, env=self.env(), check=True, capture_output=True, timeout=60)

    def add(self, name: str) -> None:
        self.admin("kadmin.local", "-r", REALM, "addprinc", "-randkey", name)

    def keytab(self, name: str) -> pathlib.Path:
        """A keytab with the principal's keys, which stay valid in other keytabs too."""
        path = self.dir / (name.replace("/", "-") + ".keytab")
        self.admin("kadmin.local", "-r", REALM, "ktadd", "-norandkey", "-k", str(path), name)
        return path

    def login(self, name: str, **env: str) -> str:
        """A ticket cache of its own for the principal, as kinit leaves it; its KRB5CCNAME."""
        cache = f"FILE:{self.dir}/cc-{name.replace('/', '-')}-{time.monotonic_ns()}"
        subprocess.run(["kinit", "-k", "-t", str(self.keytab(name)), "-c", cache, name],
                       env=self.env(**env), check=True, capture_output=True, timeout=60)
        return cache

    def launch(self, where: pathlib.Path, more: dict) -> tuple[int, subprocess.Popen]:
        """A KDC configured in `where`. Another program may snatch the port: then a new one."""
        for _ in range(3):
            port = free_port()
            self.configure(where, port)
            env = self.env(KRB5_CONFIG=f"{where}/krb5.conf", KRB5_KDC_PROFILE=f"{where}/kdc.conf")
            process = subprocess.Popen([*DIES_WITH_US, "krb5kdc", "-n", "-r", REALM],
                                       env=env | more, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            if answers(process, port):
                return port, process
            process.kill()
            process.wait()
        raise RuntimeError("krb5kdc did not start: " + (self.dir / "kdc.log").read_text()[-500:])

    @contextlib.contextmanager
    def elsewhen(self, shift: str):
        """A second KDC of the realm, whose clock is off; yields the path of its krb5.conf."""
        where = self.dir / f"clock{shift}"
        where.mkdir(exist_ok=True)
        _, process = self.launch(where, shifted(shift))
        try:
            yield str(where / "krb5.conf")
        finally:
            process.terminate()
            process.wait(10)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

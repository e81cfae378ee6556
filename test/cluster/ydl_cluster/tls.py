"""A key and a certificate for the web pages, made once and good for every cluster on loopback."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import lock, places, sitexml
from .layout import Layout
from .spec import MOST_NODES

_PASSWORD = "loopback"  # guards nothing: the key is worthless outside of this machine


def prepare(lay: Layout) -> None:
    """Puts ssl-server.xml and ssl-client.xml into the configuration directory, and the certificate
    as ca.pem for clients that are not Java."""
    made = _ensure()
    shutil.copy(made / "ca.pem", lay.conf / "ca.pem")
    store = {"location": made / "key.p12", "password": _PASSWORD, "type": "PKCS12"}
    trust = {"location": made / "trust.p12", "password": _PASSWORD, "type": "PKCS12"}
    for side in ("server", "client"):
        values = {f"ssl.{side}.truststore.{key}": value for key, value in trust.items()}
        if side == "server":
            values |= {f"ssl.server.keystore.{key}": value for key, value in store.items()}
            values["ssl.server.keystore.keypassword"] = _PASSWORD
        sitexml.write(lay.conf / f"ssl-{side}.xml", values)


def _ensure() -> Path:
    done = places.cache_dir() / "tls"
    with lock.held(places.cache_dir() / "tls.lock"):
        if not done.exists():
            scratch = Path(tempfile.mkdtemp(prefix=".tls-", dir=places.cache_dir()))
            try:
                _make(scratch)
                scratch.rename(done)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return done


def _make(where: Path) -> None:
    hosts = [1, *range(11, 11 + MOST_NODES), *range(41, 41 + MOST_NODES)]
    names = "san=dns:localhost," + ",".join(f"ip:127.0.0.{host}" for host in hosts)
    store = ["-storetype", "PKCS12", "-storepass", _PASSWORD, "-alias", "ydl"]
    _keytool("-genkeypair", "-keystore", str(where / "key.p12"), "-keyalg", "RSA", "-keysize",
             "2048", "-validity", "3650", "-dname", "CN=localhost", "-ext", names, *store)
    _keytool("-exportcert", "-rfc", "-keystore", str(where / "key.p12"), "-file",
             str(where / "ca.pem"), *store)
    _keytool("-importcert", "-noprompt", "-keystore", str(where / "trust.p12"), "-file",
             str(where / "ca.pem"), *store)


def _keytool(*arguments: str) -> None:
    keytool = places.java_home() / "bin" / "keytool"
    done = subprocess.run([os.fspath(keytool), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise places.ClusterError(f"keytool {arguments[0]}: {done.stdout}{done.stderr}")

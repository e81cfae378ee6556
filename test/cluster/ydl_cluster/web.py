"""Reading the web pages of daemons.

On a Kerberos cluster every page is behind SPNEGO, which Python's library does not speak and curl
does.
"""

import functools
import json
import subprocess
import time

from . import daemons, kdc, places, spec as specs
from .layout import Layout
from .patience import Limit, stretched

_TIMEOUT = 5  # for one of many looks
_PATIENCE = 30  # for the only one


@functools.cache
def _opener():
    """No proxy, and any certificate. The library is slow to load, and most commands need none."""
    import ssl
    import urllib.request as request
    trusting = ssl._create_unverified_context()
    return request.build_opener(request.ProxyHandler({}), request.HTTPSHandler(context=trusting))


def bean(lay: Layout, daemon: str, query: str) -> dict:
    """One JMX bean of a daemon, or {} when it does not answer."""
    try:
        answer = json.loads(_get(lay, lay.url(daemon, f"/jmx?qry={query}")))
        return (answer["beans"] or [{}])[0]
    except (OSError, ValueError, KeyError):
        return {}


def get_json(lay: Layout, url: str) -> dict:
    """A page that is JSON, as the administrator; {} when the daemon does not answer."""
    try:
        return json.loads(_get(lay, _as_administrator(lay, url), _PATIENCE))
    except (OSError, ValueError):
        return {}


def names(lay: Layout, url: str) -> list[str]:
    """What a LISTSTATUS of WebHDFS lists; [] when there is no such directory. An OSError when the
    NameNode has not answered after a while: who looks for leftovers must not take that for none."""
    limit = Limit(4 * _PATIENCE)
    while True:
        try:
            found = json.loads(_get(lay, _as_administrator(lay, url)))
            return [row["pathSuffix"] for row in found["FileStatuses"]["FileStatus"]]
        except FileNotFoundError:
            return []
        except OSError:
            if limit.over():
                raise
        time.sleep(0.2)


def _as_administrator(lay: Layout, url: str) -> str:
    mark = "&" if "?" in url else "?"
    return url if lay.spec.kerberos else f"{url}{mark}user.name={specs.me()}"


def _get(lay: Layout, url: str, seconds: float = _TIMEOUT) -> bytes:
    if lay.spec.kerberos:
        return _curl(lay, url, seconds)
    try:
        with _opener().open(url, timeout=stretched(seconds)) as response:
            return response.read()
    except OSError as error:
        if getattr(error, "code", 0) == 404:
            raise FileNotFoundError(url) from error
        raise


def _curl(lay: Layout, url: str, seconds: float) -> bytes:
    env = daemons.environment(lay) | {"KRB5CCNAME": f"FILE:{kdc.cache(lay, specs.me())}"}
    command = [places.tool("curl"), "--silent", "--show-error", "--fail", "--insecure", "--noproxy", "*",
               "--max-time", f"{stretched(seconds):.0f}", "--negotiate", "--user", ":", url]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    if b"error: 404" in done.stderr:
        raise FileNotFoundError(url)
    if done.returncode != 0:
        raise OSError(f"curl: {done.returncode}")
    return done.stdout


def webhdfs(lay: Layout, path: str, **query: str) -> None:
    """One WebHDFS operation that changes something, as the superuser of a simple cluster."""
    from urllib import parse, request
    query["user.name"] = specs.me()
    url = lay.url(lay.namenodes[0], f"/webhdfs/v1{path}?{parse.urlencode(query)}")
    _opener().open(request.Request(url, method="PUT"), timeout=120).close()

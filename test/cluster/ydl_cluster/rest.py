"""Applications of one command through the ResourceManager's REST interface, on simple clusters.

The master of such an application is a shell command that never registers, so YARN gives it up after
`yarn.am.liveness-monitor.expiry-interval-ms`; that is long enough to look at a container.
"""

import json
import urllib.error
import urllib.request

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(Exception):
    """The ResourceManager said no; the text is its own."""


def call(rm_http: str, path: str, user: str, body: dict | None = None) -> dict:
    """GET, or POST when there is a body; {} when the answer is empty."""
    mark = "&" if "?" in path else "?"
    request = urllib.request.Request(
        f"{rm_http}/ws/v1/cluster/{path}{mark}user.name={user}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"})
    try:
        with _OPENER.open(request, timeout=120) as response:
            text = response.read()
    except urllib.error.HTTPError as e:
        raise Refused(f"{e.code}: {e.read().decode(errors='replace')}") from None
    return json.loads(text) if text else {}


def submit(rm_http: str, user: str, command: str, queue: str = "default",
           env: dict[str, str] | None = None) -> str:
    """Submits an application; its id."""
    variables = [{"key": key, "value": value} for key, value in (env or {}).items()]
    new = call(rm_http, "apps/new-application", user, {})["application-id"]
    call(rm_http, "apps", user, {
        "application-id": new, "application-name": "test", "application-type": "YARN",
        "queue": queue, "max-app-attempts": 1, "resource": {"memory": 64, "vCores": 1},
        "am-container-spec": {"commands": {"command": command},
                              "environment": {"entry": variables}}})
    return new


def nodes(rm_http: str, user: str) -> dict[str, dict]:
    """The nodes by host name."""
    found = call(rm_http, "nodes", user)["nodes"] or {"node": []}
    return {node["nodeHostName"]: node for node in found["node"]}

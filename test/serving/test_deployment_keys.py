"""Replicas answer their gateway, and nobody who finds out where they listen."""

import json
import os
import signal
from pathlib import Path

from serving_load import ask


def addresses(serving, name="mlp"):
    """Where the replicas listen, as anybody may ask."""
    return [one["address"] for model in serving.status(name)["gateway"]["models"]
            for version in model["versions"] for one in version["replicas"]]


def refused(serving):
    """How many replicas send whoever asks them directly away, and how; () while one does not listen yet."""
    found = addresses(serving)
    shown = ({}, {"Authorization": "Bearer 0123456789abcdef"}, {"Authorization": "Bearer "})
    try:
        answers = [ask(f"http://{at}", headers=headers) for at in found for headers in shown]
    except OSError:
        return ()
    assert all("Authorization: Bearer KEY" in answer["error"] for _, answer in answers), answers
    return len(found), {status for status, _ in answers}


def key_of(pid):
    """The key of a replica's process, from the file that it was told."""
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    path = Path(words[words.index("--key-file") + 1])
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text()


def test_who_asks_a_replica_directly_is_refused(serving):
    # Where Unix sockets need short names, all is still in the job's own directory.
    longer = serving.run_dir / "longer-name"
    longer.mkdir()
    serving.env["TMPDIR"] = str(longer)
    url = serving.deploy("mlp", "--replicas", 2, "--cpus", 1)
    wanted = ask(url)[1]

    def both():
        serving.wait_for(lambda: list(serving.replicas().values()) == ["ready"] * 2, "both replicas")
        return serving.find("ydl-native serve --host")

    def answers():
        try:
            return ask(url, timeout=5) == (200, wanted)
        except OSError:
            return False
    before = both()
    keys = {key_of(pid) for pid in before}
    assert len(keys) == 1 and len(key := keys.pop()) >= 32
    serving.wait_for(lambda: refused(serving) == (2, {401}), "both refuse")
    assert ask(f"http://{addresses(serving)[0]}", headers={"Authorization": f"Bearer {key}"}) == (200, wanted)

    gateway = serving.find("ydl-native deployment")[0]
    place = os.readlink(f"/proc/{gateway}/cwd")
    assert place.startswith(str(longer)) and len(place) > 60, place
    old = serving.find("haproxy -")
    os.kill(gateway, signal.SIGKILL)
    serving.wait_for(lambda: not set(old) & set(serving.find("haproxy -")), "the old HAProxy has ended")
    serving.wait_for(answers, "an answer of the next gateway", 30)
    os.kill(before[0], signal.SIGKILL)
    serving.wait_for(lambda: before[0] not in serving.find("ydl-native serve --host")
                     and len(serving.find("ydl-native serve --host")) == 2, "another replica")
    assert {key_of(pid) for pid in both()} == {key}
    serving.wait_for(lambda: refused(serving) == (2, {401}), "both refuse")
    assert ask(url) == (200, wanted)
    assert ask(url, headers={"Authorization": "Bearer something-of-the-client"}) == (200, wanted)

    for pid in serving.find("ydl-native") + serving.find("haproxy"):
        for name in ("cmdline", "environ"):
            assert key.encode() not in Path(f"/proc/{pid}/{name}").read_bytes()
    assert key not in json.dumps(serving.status())
    for words in (["serve", "status", "mlp"], ["status", "mlp", "--json"], ["events", "mlp"], ["logs", "mlp"]):
        done = serving.run(*words, check=0)
        assert key.encode() not in done.stdout + done.stderr, words
    serving.run("serve", "stop", "mlp", check=0)
    serving.wait_for(lambda: not list(longer.iterdir()), "nothing is left")
    longer.rmdir()
    left = [path for path in serving.tmp.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert not left

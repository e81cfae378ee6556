"""The page that YARN's link of a job leads to: what it shows, and to whom."""

import html
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from test_yarn_kerberos import Submitted

SMALL = ("--on", "yarn", "--mem", "128m")
ROW = re.compile(r"<tr><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td><td>(.*)</td>")
LINK = re.compile(r'<a href="([^"]*)">([^<]*)</a>')
TAIL = 256 * 1024


def fetch(url: str):
    """Status, headers and text of a page, also of one that is an error."""
    try:
        with urllib.request.urlopen(url, timeout=120) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.headers, e.read().decode()


def rows(page: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Of each task in the table its state, and its links by their text."""
    return {task: (state, {text: html.unescape(to) for to, text in LINK.findall(links)})
            for task, state, _, _, links in ROW.findall(page)}


class Page:
    """A job's page through YARN's proxy. The job writes what its tasks are told, and stays."""

    def __init__(self, jobs, script: str, *options):
        self.jobs = jobs
        self.job = jobs.start("run", *SMALL, *options, "--", "sh", "-c", f"{script}; exec sleep 600")
        self.app = jobs.wait_for(jobs.apps, "the application")[0]
        self.base = f"{jobs.cluster.rm_http}/proxy/{self.app}/"

    def rows(self, n: int) -> dict[str, tuple[str, dict[str, str]]]:
        """The table, once all `n` tasks run."""
        def table():
            found = rows(fetch(self.base)[2])
            states = [state for state, _ in found.values()]
            return found if states == ["RUNNING"] * n else None
        return self.jobs.wait_for(table, "a page where all tasks run")

    def output(self, link: str, end: str) -> str:
        """What a link of the page leads to, once it has `end` as its end."""
        def text():
            status, headers, body = fetch(self.base + link)
            assert status == 200
            assert headers["Content-Type"].replace(" ", "") == "text/plain;charset=utf-8"
            assert headers["X-Content-Type-Options"] == "nosniff"
            return body if body.endswith(end) else None
        return self.jobs.wait_for(text, f"output with {end!r}")

    def stop(self):
        self.jobs.run("kill", self.app, check=0)
        self.job.communicate(timeout=60)


def test_it_shows_every_task_with_its_state_and_output(jobs):
    page = Page(jobs, 'echo "<b>out</b> of $YDL_ROLE $YDL_RANK"; echo "err of $YDL_RANK" >&2',
                "-n", 2, "-s", 1, "--name", "a <page>")
    try:
        table = page.rows(3)
        assert sorted(table) == ["server:0", "worker:0", "worker:1"]
        for task, (_, links) in table.items():
            role, _, rank = task.partition(":")
            assert page.output(links["out"], "\n") == f"<b>out</b> of {role} {rank}\n"
            assert page.output(links["err"], "\n") == f"err of {rank}\n"
        first = fetch(page.base)[2]
        assert "<h1>a &lt;page&gt;: RUNNING" in first
        for wrong, status in (("logs", 400), ("logs?task=worker:0&stream=x", 400),
                              ("logs?task=worker", 400), ("logs?task=worker:7", 404),
                              ("logs?task=nobody:0", 404), ("nothing", 404)):
            assert fetch(page.base + wrong)[0] == status, wrong
    finally:
        page.stop()


def test_of_much_output_the_end_is_shown_while_others_read_it(jobs):
    """The other reader, `ydl run` itself, must have got everything all the same."""
    page = Page(jobs, "seq 100000; echo last", "-n", 1)
    whole = "".join(f"{i}\n" for i in range(1, 100001)) + "last\n"
    try:
        links = page.rows(1)["worker:0"][1]
        for _ in range(3):
            assert page.output(links["out"], "last\n") == (
                f"[{len(whole) - TAIL} bytes before this are left out]\n{whole[-TAIL:]}")
        assert fetch(page.base + links["err"])[::2] == (200, "")
    finally:
        page.jobs.run("kill", page.app, check=0)
        out = page.job.communicate(timeout=60)[0]
    assert [line.partition("│ ")[2] for line in out.splitlines()] == whole.splitlines()


def test_the_output_of_a_task_that_has_ended_is_there_still(jobs):
    page = Page(jobs, "[ $YDL_RANK = 0 ] || { seq 100000; echo last; exit 0; }", "-n", 2)
    try:
        def ended():
            found = rows(fetch(page.base)[2])
            return found if found.get("worker:1", ("",))[0] == "DONE" else None
        links = jobs.wait_for(ended, "the end of worker:1")["worker:1"][1]
        assert len(page.output(links["out"], "last\n").partition("\n")[2]) == TAIL
    finally:
        page.stop()


def test_it_answers_however_often_it_is_asked(jobs):
    """YARN's proxy connects anew for every request, and keeps what it has no use for any more."""
    page = Page(jobs, "echo here", "-n", 1)
    try:
        links = page.rows(1)["worker:0"][1]
        page.output(links["out"], "here\n")
        answers = [fetch(page.base + path) for path in ("", links["out"]) * 100]
        assert {status for status, _, _ in answers} == {200}, answers[-1]
    finally:
        page.stop()


# ---- who may look ----

PATHS = ("", "job", "v1/job", "logs?task=worker:0&stream=out", "tensorboard/", "nothing")
SECRETS = ("krb-page", "worker", "RUNNING", "127.0.0")


@pytest.fixture
def krb(jobs_on, krb_cluster):
    return jobs_on(krb_cluster)


def curl(jobs, user: str | None, url: str, *options: str) -> tuple[int, str]:
    """Status and text; with the ticket of a user, or without one."""
    ticket = ("--negotiate", "--user", ":") if user else ()
    done = subprocess.run(["curl", "-s", "--noproxy", "*", "-m", "120", "-w", "\n%{http_code}",
                           *ticket, *options, url], env=jobs.env(user), capture_output=True,
                          text=True, check=False)
    text, _, status = done.stdout.rpartition("\n")
    return int(status), text


def assert_refused(answer: tuple[int, str], why: str) -> None:
    """A sentence, and nothing of the job."""
    assert answer[0] == 403 and why in answer[1], answer
    assert not [word for word in SECRETS if word in answer[1]], answer


def test_under_kerberos_the_proxy_shows_it_to_its_owner_alone(krb):
    job = Submitted(krb, "alice", "krb-page")
    base = f"{krb.cluster.rm_http}/proxy/{job.id}/"
    status, page = curl(krb, "alice", base)
    assert status == 200 and "krb-page: RUNNING" in page
    link = rows(page)["worker:0"][1]["out"]
    assert curl(krb, "alice", base + link) == (200, "here\n")
    assert '"RUNNING"' in curl(krb, "alice", f"{base}v1/job")[1]
    for stranger in ("bob", "carol"):
        for path in PATHS:
            assert_refused(curl(krb, stranger, base + path),
                           f"'{stranger}' may not look at this job")
    assert curl(krb, None, base)[0] == 401
    job.stop()


@pytest.mark.parametrize("view", ["bob", pytest.param("alice bob", marks=pytest.mark.full)])
def test_under_kerberos_the_view_list_says_who_else_may_look(krb, view):
    """By his name or by his group, which has the same here."""
    (krb.work / "acl.json").write_text(json.dumps({"acl": {"view": view}}))
    job = Submitted(krb, "alice", "krb-page", "-f", "acl.json")
    base = f"{krb.cluster.rm_http}/proxy/{job.id}/"
    status, page = curl(krb, "bob", base)
    assert status == 200 and "krb-page: RUNNING" in page
    assert_refused(curl(krb, "carol", base), "may not look")
    job.stop()


def test_under_kerberos_nobody_but_the_proxy_is_believed(krb):
    """Neither another machine nor another's task on the master's own; and who comes from the
    proxy's machine has to be named by it."""
    job = Submitted(krb, "alice", "krb-page")
    url = krb.tracking_url()
    own = url.split("/")[2].split(":")[0]
    forged = ("-H", "Cookie: proxy-user=alice")
    for source in (own, "127.0.0.77"):
        for options in ((), forged):
            for path in PATHS:
                answer = curl(krb, None, url + path, "--interface", source, *options)
                assert_refused(answer, "this address or user may not ask here")
    for path in PATHS:
        assert_refused(curl(krb, None, url + path), "the proxy does not say who asks")
        assert_refused(curl(krb, None, url + path, "-H", "Cookie: proxy-user=bob"), "may not look")
    job.stop()

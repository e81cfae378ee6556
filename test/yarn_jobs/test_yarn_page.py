"""The page that YARN's link of a job leads to: what it shows, and to whom."""

import subprocess

import pytest

from test_yarn_kerberos import Submitted


# ---- who may look ----

PATHS = ("", "job", "v1/job", "tensorboard/", "nothing")
SECRETS = ("krb-page", "worker", "RUNNING", "127.0.0")


@pytest.fixture
def krb(jobs_on, krb_cluster):
    return jobs_on(krb_cluster)


def curl(jobs, user: str | None, url: str, *options: str) -> tuple[int, str]:
    """Status and text; with the ticket of a user, or without one."""
    ticket = ("--negotiate", "--user", ":") if user else ()
    done = subprocess.run(["curl", "-s", "--noproxy", "*", "-m", "20", "-w", "\n%{http_code}",
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
    assert '"RUNNING"' in curl(krb, "alice", f"{base}v1/job")[1]
    for stranger in ("bob", "carol"):
        for path in PATHS:
            assert_refused(curl(krb, stranger, base + path),
                           f"'{stranger}' may not look at this job")
    assert curl(krb, None, base)[0] == 401
    job.stop()


def test_under_kerberos_the_view_list_says_who_else_may_look(krb):
    (krb.work / "acl.json").write_text('{"acl": {"view": "bob"}}')
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

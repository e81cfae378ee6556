"""Jobs on other clusters: two ResourceManagers and two NameNodes, and Hadoop 3.3.6."""

import os
import signal

import pytest
from test_yarn_faults import Run

# Where there are two of each master, the tests of their failover run a job, too.
OLD_AND_HA = pytest.mark.parametrize("each_cluster", [
    "old_cluster", pytest.param("ha_cluster", marks=pytest.mark.full)], indirect=True)


@OLD_AND_HA
def test_a_job_runs_and_leaves_its_results(jobs_on, each_cluster):
    jobs = jobs_on(each_cluster)
    (jobs.work / "a.py").write_text("import b; print(b.x)")
    (jobs.work / "b.py").write_text("x = 42")
    done = jobs.run("run", "--on", "yarn", "-n", 2, "--mem", "128m", "--", "python3", "a.py", check=0)
    assert sorted(done.stdout.splitlines()) == ["worker:0│ 42", "worker:1│ 42"]
    assert jobs.ended()["finalStatus"] == "SUCCEEDED"


@pytest.mark.full
@OLD_AND_HA
def test_a_new_master_takes_over_there_too(jobs_on, each_cluster):
    run = Run(jobs_on(each_cluster), 50)
    os.kill(run.pid("ydl-node master"), signal.SIGKILL)
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [n for n, _, a in run.steps(task)] == list(range(50))


def test_a_failover_of_the_resourcemanager_stops_nothing(jobs_on, ha_cluster):
    run = Run(jobs_on(ha_cluster), 120)
    ha_cluster.failover("rm")
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [n for n, _, a in run.steps(task)] == list(range(120))


@pytest.mark.full
def test_a_failover_of_the_namenode_stops_nothing(jobs_on, ha_cluster):
    run = Run(jobs_on(ha_cluster), 60, "--output", "/tmp/yv-results")
    ha_cluster.failover("nn")
    run.end()
    for task in ("worker:0", "worker:1"):
        assert [n for n, _, a in run.steps(task)] == list(range(60))

"""The oldest Hadoop that we promise: the same stories, and one of each fault."""

import pytest
import test_yarn_faults as faults
import test_yarn_faults_nodes as nodes
import test_yarn_faults_upload as upload
import test_yarn_same as same

pytestmark = pytest.mark.full

FAULTS = [
    faults.test_a_killed_task_is_restarted_by_its_policy,
    faults.test_a_killed_agent_comes_back_in_its_container,
    faults.test_a_nodemanager_that_restarts_stops_nothing,
    faults.test_a_resourcemanager_that_restarts_stops_nothing,
    faults.test_a_killed_client_ends_an_attached_job,
    faults.test_a_stopped_agent_is_noticed_by_us_and_its_task_moves,
    faults.test_an_application_killed_through_yarn_leaves_nothing,
    nodes.test_a_nodemanager_that_stands_still_for_a_while_stops_nothing,
    upload.test_an_upload_without_any_datanode_is_told,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__[5:])
def test_a_fault_there(jobs_on, old_cluster, fault):
    fault(jobs_on(old_cluster))


def test_a_datanode_that_dies_there(jobs_on, old_cluster):
    upload.test_an_upload_survives_the_death_of_a_datanode(jobs_on(old_cluster), "dn1")


@pytest.mark.parametrize("name", same.JOBS)
def test_a_story_there(jobs_on, old_cluster, name):
    same.test_the_same_file_has_the_same_story(jobs_on(old_cluster), name)


@pytest.mark.parametrize("name", same.SHARED)
def test_a_file_there(jobs_on, old_cluster, name):
    same.test_the_files_of_the_local_tests_run_as_they_are(jobs_on(old_cluster), name)

"""What the report of a failed test says about its jobs."""

from ydl_cluster import story


def test_a_failed_test_shows_its_jobs(local):
    local.run("run", "-n", "2", "--", "sh", "-c", "echo some output; echo a reason >&2; exit 3", check=3)
    told = story.of(local.tmp)
    job = local.jobs()[-1].name
    for text in (f"ydl status --tasks {job}", "worker:1", f"ydl events {job}", "job failed", "some output",
                 "a reason"):
        assert text in told, told


def test_what_cannot_be_told_does_not_hide_the_failure(tmp_path):
    class Lost:
        cluster = None

        def apps(self):
            raise OSError("the ResourceManager is gone")
    story.ON_YARN.append(Lost())
    assert "the ResourceManager is gone" in story.of(tmp_path)
    story.begin()
    assert story.of(None) == ""

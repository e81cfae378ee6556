"""Real frameworks, by scripts that know nothing of ydl (`scripts/`), on this machine and on YARN."""

from framework_fixtures import jobs, jobs_on, local, plain_local, venv  # noqa: F401

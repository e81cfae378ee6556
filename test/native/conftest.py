"""Jobs with the real MXNet and TensorFlow, whose servers are `ydl-native`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "frameworks"))

from framework_fixtures import jobs, jobs_on, local, plain_local, venv  # noqa: E402, F401

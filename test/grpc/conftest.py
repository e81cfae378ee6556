"""Puts this folder and test/frameworks on the path, for what their tests share."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "frameworks"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

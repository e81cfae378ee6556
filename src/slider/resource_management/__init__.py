"""What the scripts of Slider applications import: `from resource_management import *`.

The scripts were written for the library of that name which came with Slider's agent. This is another
one, with the same names for what such scripts use: `Script` and its life cycle, resources (`Execute`,
`File`, `Directory` …), the configuration, and the functions around them. Python 3.6 and its standard
library are enough.
"""

from resource_management.core import *  # noqa: F401,F403
from resource_management.libraries import *  # noqa: F401,F403

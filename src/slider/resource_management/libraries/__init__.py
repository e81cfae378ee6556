"""The script's life cycle, its configuration, and functions."""

from resource_management.libraries.functions import *  # noqa: F401,F403
from resource_management.libraries.functions import __all__ as _functions
from resource_management.libraries.resources import *  # noqa: F401,F403
from resource_management.libraries.resources import __all__ as _resources
from resource_management.libraries.script import *  # noqa: F401,F403
from resource_management.libraries.script import __all__ as _script

__all__ = _functions + _resources + _script

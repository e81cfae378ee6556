"""Resources, commands, errors and the log."""

from resource_management.core.environment import Environment
from resource_management.core.exceptions import (
    ClientComponentHasNoStatus, ComponentIsNotRunning, ExecuteTimeoutException, ExecutionFailed, Fail,
    InvalidArgument)
from resource_management.core.logger import Logger
from resource_management.core.resources import *  # noqa: F401,F403
from resource_management.core.resources import __all__ as _resources
from resource_management.core import shell
from resource_management.core.source import (
    DownloadSource, InlineTemplate, Source, StaticFile, Template)

__all__ = ["ClientComponentHasNoStatus", "ComponentIsNotRunning", "DownloadSource", "Environment",
           "ExecuteTimeoutException", "ExecutionFailed", "Fail", "InlineTemplate", "InvalidArgument",
           "Logger", "Source", "StaticFile", "Template", "shell"] + _resources

"""Functions that scripts use; most have a module of their name, too."""

from resource_management.libraries.functions.check_process_status import check_process_status
from resource_management.libraries.functions.default import default
from resource_management.libraries.functions.format import format  # pylint: disable=redefined-builtin
from resource_management.libraries.script.config_dictionary import is_empty

__all__ = ["check_process_status", "default", "format", "is_empty"]

"""What a component's script is made of."""

from resource_management.libraries.script.config_dictionary import (
    ConfigDictionary, UnknownConfiguration)
from resource_management.libraries.script.script import Script

__all__ = ["ConfigDictionary", "Script", "UnknownConfiguration"]

"""A value of the configuration, or another one where it has none."""

from resource_management.libraries.script.config_dictionary import UnknownConfiguration
from resource_management.libraries.script.script import Script


def default(name, default_value):
    """`default("/configurations/global/key", 5)`: what stands there, or 5."""
    value = Script.get_config()
    for part in name.strip("/").split("/"):
        value = value[part] if hasattr(value, "get") else UnknownConfiguration(part)
        if isinstance(value, UnknownConfiguration):
            return default_value
    return value

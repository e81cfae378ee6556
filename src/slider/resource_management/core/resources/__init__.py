"""Resources: what is to be there, or to be done, said by making an object."""

from resource_management.core.resources.system import Directory, Execute, File, Link

__all__ = ["Directory", "Execute", "File", "Link"]

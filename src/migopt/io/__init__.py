"""Instance and schedule files, the builder, generators and trace importers.

Public names are resolved on first use: reading a file loads pydantic, importing this does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migopt.io.builder import InstanceBuilder
    from migopt.io.digest import instance_digest
    from migopt.io.files import (
        instance_from_dict,
        instance_to_dict,
        read_instance,
        read_schedule,
        schedule_from_dict,
        schedule_to_dict,
        write_instance,
        write_schedule,
    )
    from migopt.io.json_schemas import json_schema
    from migopt.io.specs import load, spec_of, write_spec
    from migopt.io.validate import validate_instance

_PUBLIC = {
    "InstanceBuilder": "migopt.io.builder",
    "instance_digest": "migopt.io.digest",
    "instance_from_dict": "migopt.io.files",
    "instance_to_dict": "migopt.io.files",
    "json_schema": "migopt.io.json_schemas",
    "load": "migopt.io.specs",
    "read_instance": "migopt.io.files",
    "read_schedule": "migopt.io.files",
    "schedule_from_dict": "migopt.io.files",
    "schedule_to_dict": "migopt.io.files",
    "spec_of": "migopt.io.specs",
    "validate_instance": "migopt.io.validate",
    "write_instance": "migopt.io.files",
    "write_schedule": "migopt.io.files",
    "write_spec": "migopt.io.specs",
}

__all__ = [
    "InstanceBuilder",
    "instance_digest",
    "instance_from_dict",
    "instance_to_dict",
    "json_schema",
    "load",
    "read_instance",
    "read_schedule",
    "schedule_from_dict",
    "schedule_to_dict",
    "spec_of",
    "validate_instance",
    "write_instance",
    "write_schedule",
    "write_spec",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'migopt.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

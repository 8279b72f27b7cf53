"""The published JSON Schema, generated from the models that files are read with."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from migopt.errors import UnknownNameError
from migopt.io import schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[str, type[BaseModel]] = {
    "instance": schema.InstanceFile,
    "schedule": schema.ScheduleFile,
}


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of ``instance`` or ``schedule`` files.

    It describes form; names, fits and totals are checked on reading only. Raises UnknownNameError
    for another kind.
    """
    if kind not in _MODELS:
        raise UnknownNameError("kind of file", kind, _MODELS)
    return {"$schema": DIALECT, **_MODELS[kind].model_json_schema()}


def json_schema_text(kind: str) -> str:
    """Return the JSON Schema as the text of a file."""
    return json.dumps(json_schema(kind), indent=2, ensure_ascii=False) + "\n"

"""Options given by name (keyword or text from a command line), checked against a pydantic model."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from migopt.errors import InputError, UnknownNameError


class Options(BaseModel):
    """Base of every set of named options: unknown names and NaN are refused, values are fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


M = TypeVar("M", bound=Options)


def check_options(model: type[M], what: str, given: Mapping[str, Any]) -> M:
    """Return ``given`` as a checked ``model``; raises InputError for the first bad option."""
    for name in given:
        if name not in model.model_fields:
            raise UnknownNameError(what, name, model.model_fields)
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        where = str(first["loc"][0]) if first["loc"] else ""
        if where:
            message += f", not {first['input']!r}"
        raise InputError(message[:1].lower() + message[1:], where=where) from None


def option_table(model: type[Options]) -> list[dict[str, Any]]:
    """Return name, type, default and description of each option, in order of definition."""
    properties = model.model_json_schema()["properties"]
    rows = []
    for name, field in model.model_fields.items():
        alternatives = properties[name].get("anyOf", [properties[name]])
        kinds = [_kind(option) for option in alternatives if option.get("type") != "null"]
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        rows.append(
            {
                "name": name,
                "type": " or ".join(kinds),
                "default": default,
                "description": field.description or "",
            }
        )
    return rows


def split_list(value: Any) -> Any:
    """Let a list be written as ``2,3,4``."""
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


def rational(text: str, where: str) -> Fraction:
    """Read ``0.01`` or ``1/100`` exactly; raises InputError for anything else or below 0."""
    try:
        value = Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{text!r} is not a number; write 0.01 or 1/100", where=where) from None
    if value < 0:
        raise InputError(f"must be at least 0, not {text}", where=where)
    return value


def _kind(option: Mapping[str, Any]) -> str:
    if "enum" in option:
        return "|".join(map(str, option["enum"]))
    if option.get("type") == "array":
        return "list"
    return str(option.get("type", "value"))

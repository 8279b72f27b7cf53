"""Checks the form of a file with the models of ``schema.py``; the first fault becomes one InputError."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from migopt.errors import InputError, nearest_hint
from migopt.io import schema
from migopt.io._free import check_free_form
from migopt.io._place import path_of
from migopt.io.limits import shown

M = TypeVar("M", bound=BaseModel)

#: Unit that ends a key's name, and what it stands for.
UNITS = {"ms": "milliseconds", "mw": "milliwatts", "bytes": "bytes"}

_PATTERNS = {
    schema.FRACTION: "must be a fraction P/Q of whole numbers, for example 1/100000",
    schema.PLACEMENT: "must be a placement profile@start, for example 3g.20gb@4",
    schema.SEGMENT_PLACEMENT: "must be off or a placement profile@start, for example 3g.20gb@4",
    schema.DIGEST: "must be a SHA-256 digest, 64 hexadecimal digits",
}


def parse(model: type[M], document: Any, file_format: str) -> M:
    """Return the document as ``model``; raises InputError for the first thing wrong, with its place."""
    if not isinstance(document, dict):
        raise InputError(f"must be a JSON object, not {shown(document)}")
    _check_header(document, file_format)
    check_free_form(document.get("origin"), ("origin",))
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise _one_error(model, error, document) from None


def _check_header(document: dict[str, Any], file_format: str) -> None:
    """Refuse another kind of file before anything in it is judged by the wrong rules."""
    found = document.get("format")
    others = {schema.INSTANCE_FORMAT: "an instance", schema.SCHEDULE_FORMAT: "a schedule"}
    expected = others.pop(file_format)
    if isinstance(found, str) and found in others:
        raise InputError(f"this is {others[found]} file, not {expected} file", where="format")
    if found != file_format:
        is_or = "is missing; it must be" if "format" not in document else "must be"
        tail = "" if "format" not in document else f", not {shown(found)}"
        raise InputError(f'{is_or} "{file_format}"{tail}', where="format")
    version = document.get("version")
    if "version" not in document:
        raise InputError(f"is missing; this migopt reads version {schema.VERSION}", where="version")
    if type(version) is not int or version != schema.VERSION:
        message = f"version {shown(version)} is unknown; this migopt reads version {schema.VERSION}"
        raise InputError(message, where="version")
    kind = document.get("kind", schema.PROBLEM_KIND)
    if file_format == schema.INSTANCE_FORMAT and kind != schema.PROBLEM_KIND:
        message = f'problem kind {shown(kind)} is unknown; known: "{schema.PROBLEM_KIND}"'
        raise InputError(message, where="kind")


def _one_error(model: type[BaseModel], error: ValidationError, document: Any) -> InputError:
    faults = error.errors(include_url=False, include_context=True)
    if any(fault["type"] == "string_unicode" for fault in faults):
        # A key that is no text has no place in pydantic's report.
        check_free_form(document)
    first = faults[0]
    if first["type"] == "missing":
        # A misspelt key makes two faults, and the misspelling is the one to show.
        siblings = (f for f in faults if f["loc"][:-1] == first["loc"][:-1])
        first = next((f for f in siblings if f["type"] == "extra_forbidden"), first)
    *steps, last = first["loc"]
    unknown = first["type"] == "extra_forbidden"
    place = [part for part in steps if not _is_mark(part)]
    place += [last] if unknown or not _is_mark(last) else []
    if unknown:
        message = _unknown_key(str(place[-1]), _keys(_model_at(model, place[:-1])))
    else:
        message = _message(first, str(place[-1]) if place else "")
    return InputError(message, where=path_of(place))


def _is_mark(part: str | int) -> bool:
    """Tell the steps that pydantic adds to a place: the member of a union, and a fault of a key."""
    return part in ("<name>", "<table>", "<list>", "[key]")


def _message(fault: Any, name: str) -> str:
    context, value, kind = fault.get("ctx", {}), fault["input"], fault["type"]
    if kind == "missing":
        return "is missing"
    if kind in ("int_type", "int_from_float", "finite_number", "int_parsing_size"):
        return f"must be a whole number, not {shown(value)}"
    if kind == "literal_error":
        allowed = context["expected"].replace("'", '"')
        return f"must be {allowed}, not {shown(value)}"
    if kind == "string_type" and name == "weight_a":
        return f"{_PATTERNS[schema.FRACTION]}, in quotes, not {shown(value)}"
    if kind == "string_pattern_mismatch":
        return f"{_PATTERNS[context['pattern']]}, not {shown(value)}"
    if kind == "one_of":
        return f"{fault['msg']}, not {shown(value)}"
    if kind == "too_short":
        return "must not be empty"
    texts = {
        "greater_than_equal": "must be at least {ge}",
        "less_than_equal": "must be at most {le}",
        "string_too_long": "must have at most {max_length} characters",
        "string_type": "must be text",
        "string_unicode": "must be text without half surrogate pairs",
        "bool_type": "must be true or false",
        "list_type": "must be a list",
        "dict_type": "must be an object",
        "model_type": "must be an object",
    }
    text = texts.get(kind, fault["msg"])
    return f"{text.format(**context)}, not {shown(value)}"


def _unknown_key(key: str, known: list[str]) -> str:
    """Return the message for a key that does not exist; a known one with a unit is named as such."""
    quoted = shown(key)
    stem = key.rpartition("_")[0] if key.count("_") else key
    for name in known:
        start, _, unit = name.rpartition("_")
        if unit in UNITS and start and start in (key, stem):
            return f"unknown key {quoted}: units are part of the name, write {name} ({UNITS[unit]})"
    return f"unknown key {quoted}{nearest_hint(key, known)}"


def _keys(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)


def _model_at(model: type[BaseModel], place: list[Any]) -> type[BaseModel]:
    """Return the model of the object at ``place``."""
    for part in place:
        field = model.model_fields.get(str(part))
        if field is not None:
            model = next(_models_in(field.annotation), model)
    return model


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)

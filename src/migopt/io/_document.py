"""JSON documents as bytes: strict reading, writing in a fixed layout, files replaced in one step."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from migopt.errors import InputError
from migopt.io._place import path_of

_GZIP = b"\x1f\x8b"


def load(path: str | Path) -> Any:
    """Return the JSON document in a file; raises InputError that names the file."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None
    except ValueError as error:
        raise InputError(f"cannot be read: {error}", source=repr(path)) from None
    return parse(data)


def parse(data: bytes) -> Any:
    """Return the document in ``data``, JSON in UTF-8, gzipped or not.

    Raises InputError for anything else, and for an object in which a key occurs twice.
    """
    if data.startswith(_GZIP):
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise InputError(f"is not a whole gzip file: {error}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8: byte {error.start} is {data[error.start]:#04x}") from None
    if not text.strip():
        raise InputError("is empty")
    doubles: list[tuple[dict[str, Any], str]] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            keys = [key for key, _ in pairs]
            doubles.append((found, next(key for key in found if keys.count(key) > 1)))
        return found

    try:
        document = json.loads(text, object_pairs_hook=collect)
    except json.JSONDecodeError as error:
        message = f"is not JSON: {error.msg}, line {error.lineno}, column {error.colno}"
        raise InputError(message) from None
    except RecursionError:
        raise InputError("is not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        # Python refuses whole numbers of thousands of digits.
        raise InputError(f"is not JSON that can be read: {error}") from None
    if doubles:
        # One that lies within another that occurs twice may be gone; the last one is never.
        found = {id(culprit): key for culprit, key in doubles}
        place, key = next((p, found[id(o)]) for p, o in _objects(document) if id(o) in found)
        raise InputError("the key occurs twice", where=path_of((*place, key)))
    return document


def _objects(document: Any) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield (place, object) for every object in a document."""
    todo: list[tuple[tuple[str | int, ...], Any]] = [((), document)]
    while todo:
        place, part = todo.pop()
        if isinstance(part, dict):
            yield place, part
            todo += [((*place, key), item) for key, item in part.items()]
        elif isinstance(part, list):
            todo += [((*place, index), item) for index, item in enumerate(part)]


def dump(document: dict[str, Any]) -> str:
    """Return JSON with one line per key, and one per object within a list or object of objects."""
    lines = [f"{_compact(key)}: {_value(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(" " + _compact(item) for item in value) + "\n]"
    if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
        lines = (f" {_compact(key)}: {_compact(item)}" for key, item in value.items())
        return "{\n" + ",\n".join(lines) + "\n}"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def store(document: dict[str, Any], path: str | Path) -> None:
    """Write a document, gzipped if the name ends with ``.gz``; the same document, the same bytes.

    A regular file is replaced in one step, so that whoever reads it sees the old or the new one.
    Raises InputError where the file cannot be written.
    """
    data = dump(document).encode("utf-8")
    if str(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    try:
        _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(path)) from None


def _replace(target: Path, data: bytes) -> None:
    if target.exists() and not target.is_file():
        # A pipe or a device is written to, never replaced.
        with open(target, "wb") as stream:
            stream.write(data)
        return
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as stream:
            stream.write(data)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)

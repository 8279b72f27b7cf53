"""YAML read safely: no tags that build objects, no duplicate keys, no aliases that grow without limit."""

from __future__ import annotations

from typing import Any

from migopt.errors import InputError

#: Nodes of a document after every alias has been written out.
MOST_NODES = 1_000_000


def read_yaml(text: str, *, source: str = "") -> Any:
    """Return the one document of a YAML (or JSON) text as dicts, lists and scalars.

    Anchors, aliases and merge keys are resolved. Raises InputError with the line for text that is
    no YAML, several documents, a tag outside the safe ones, a key twice, an alias of what surrounds
    it, and aliases that would blow the document up.
    """
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(text)
    except yaml.YAMLError as error:
        raise InputError(_problem(error), source=source) from None
    try:
        node = loader.get_single_node()
        if node is None:
            raise InputError("is empty", source=source)
        if _size(node, {}, source) > MOST_NODES:
            message = f"its aliases stand for more than {MOST_NODES} values"
            raise InputError(message, source=source)
        return loader.construct_document(node)
    except yaml.YAMLError as error:
        raise InputError(_problem(error), source=source) from None
    except RecursionError:
        raise InputError("is nested too deeply", source=source) from None
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"is not YAML: {error}", source=source) from None
    finally:
        loader.dispose()


def _problem(error: Any) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"is not YAML: {what}" + (f" (line {mark.line + 1})" if mark else "")


def _size(node: Any, known: dict[int, int], source: str) -> int:
    """Return the number of nodes with aliases written out; each node is counted once and remembered."""
    import yaml

    identity = id(node)
    if identity in known:
        if known[identity] < 0:
            raise InputError(
                f"line {node.start_mark.line + 1}: an alias of what it is part of", source=source
            )
        return known[identity]
    known[identity] = -1
    total = 1
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys and key.tag != "tag:yaml.org,2002:merge":
                    message = f"line {key.start_mark.line + 1}: key {key.value!r} twice"
                    raise InputError(message, source=source)
                keys.add(key.value)
            total += _size(key, known, source) + _size(value, known, source)
    elif isinstance(node, yaml.SequenceNode):
        total += sum(_size(item, known, source) for item in node.value)
    known[identity] = total
    return total


def mapping(value: Any, where: str, source: str) -> dict[Any, Any]:
    """Return ``value`` as a mapping; raises InputError naming the place."""
    if not isinstance(value, dict):
        raise InputError(f"must be a mapping, not {_shown(value)}", where=where, source=source)
    return value


def sequence(value: Any, where: str, source: str) -> list[Any]:
    """Return ``value`` as a list; raises InputError naming the place."""
    if not isinstance(value, list):
        raise InputError(f"must be a list, not {_shown(value)}", where=where, source=source)
    return value


def whole(value: Any, where: str, source: str) -> int:
    """Return ``value`` as a count from 0 to 1000; raises InputError naming the place."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 5:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 1000:
        raise InputError(
            f"must be a count from 0 to 1000, not {_shown(value)}", where=where, source=source
        )
    return value


def only_keys(document: dict[Any, Any], known: set[str], where: str, source: str) -> None:
    """Raise InputError for a key that is not known."""
    from migopt.errors import nearest_hint

    for key in document:
        if key not in known:
            hint = nearest_hint(str(key), sorted(known))
            raise InputError(f"unknown key {key!r}{hint}", where=where, source=source)


def _shown(value: Any) -> str:
    return repr(value)[:60]

"""The format of a GPU table, strict: an unknown key or a wrong type is an error with its place.

TOML has no null: a figure that is left out is unknown, and what is unknown refuses nothing.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from migopt.errors import InputError, nearest_hint


def _whole_numbers_too(value: Any) -> Any:
    """Let 40 stand for 40.0 (fractions arrive as Decimal, and no rule takes True for a number)."""
    return Decimal(value) if type(value) is int else value


Count = Annotated[int, Field(ge=0, le=10_000)]
Positive = Annotated[int, Field(ge=1, le=10_000)]
Number = Annotated[Decimal, BeforeValidator(_whole_numbers_too), Field(gt=0, le=1_000_000)]
#: Real cards have 2 to 12 units; far more would make the number of partitions explode.
MemoryAxis = Annotated[int, Field(ge=1, le=16)]
#: A profile name may hold no character of the notation ``profile@start,profile:count``.
Name = Annotated[str, Field(pattern=r"^[^@:,\s]+$")]
Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class EngineRow(_Strict):
    """Fixed-function engines of a slice, or of the whole board."""

    decoders: Count | None = None
    encoders: Count | None = None
    jpeg: Count | None = None
    ofa: Count | None = None


class ProfileRow(_Strict):
    """One profile.

    ``confidence`` is about starts and size: ``lgipp`` (the driver's own listing was seen),
    ``secondary`` (another project's table, or a comment by the driver's authors) or ``inferred``
    (same family as a confirmed card). ``memory_gib_seen`` lists every figure the driver was seen
    to print; the smallest one counts.
    """

    name: Name
    driver_id: Count | None = None
    kind: Literal["plain", "double_memory", "me", "gfx", "me.all", "no_me"]
    compute_slices: Positive
    memory_units: Positive
    starts: Annotated[list[Count], Field(min_length=1)]
    max_count: Positive
    memory_gib_seen: list[Number] = []
    sm: Positive | None = None
    engines: EngineRow = EngineRow()
    confidence: Literal["lgipp", "secondary", "inferred"]
    source: Annotated[list[Text], Field(min_length=1)]


class DriverRow(_Strict):
    """What drivers before branch ``before`` lack: a profile, or two profiles together."""

    profiles: Annotated[list[Name], Field(min_length=1, max_length=2)]
    before: Positive
    source: Annotated[list[Text], Field(min_length=1)]


class PowerRow(_Strict):
    """Measured power in watts per number of busy compute slices, 0 to all; the first is the default."""

    name: Text
    busy_w: Annotated[list[Number], Field(min_length=2)]
    off_busy_w: Number | None = None
    source: Text


class CountRow(_Strict):
    """How many partitions a set of profiles yields; the tests recompute every figure.

    ``interval_maximal_cliques`` counts maximal cliques of the graph that knows memory units only,
    ``interval_cliques_refused`` those of them that engines or counts forbid.
    """

    valid_positional: Count
    valid_multisets: Count
    maximal_positional: Count
    interval_maximal_cliques: Count
    interval_cliques_refused: Count
    maximal_multisets: Count
    inclusion_maximal_multisets: Count
    exact_cover_positional: Count
    exact_cover_multisets: Count


class TableFile(_Strict):
    """A whole file. ``sources`` maps short ids, used in the rows, to public references."""

    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$")]
    architecture: Text
    compute_capability: str = ""
    memory_gb: Positive | None = None
    memory_units: MemoryAxis
    compute_slices: Positive
    sm: Positive | None = None
    min_driver: Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")] | None = None
    aliases: list[Text] = []
    pci_device_ids: list[Annotated[str, Field(pattern=r"^0x[0-9A-F]{8}$")]] = []
    notes: list[Text] = []
    engine_budget: EngineRow | None = None
    sources: dict[str, Text]
    driver_rules: list[DriverRow] = []
    profiles: Annotated[list[ProfileRow], Field(min_length=1)]
    power: list[PowerRow] = []
    counts: dict[str, CountRow] = {}


def parse(data: dict[str, Any], source: str) -> TableFile:
    """Validate the parsed TOML; raises InputError for the first thing wrong, with its place."""
    try:
        return TableFile.model_validate(data)
    except ValidationError as error:
        raise _one_error(error, data, source) from None


def _one_error(error: ValidationError, data: dict[str, Any], source: str) -> InputError:
    # An unknown key first: a misspelt key would otherwise be reported as a missing one.
    details = error.errors(include_url=False)
    first = next((d for d in details if d["type"] == "extra_forbidden"), details[0])
    place = list(first["loc"])
    where = ""
    for part in place:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    if first["type"] == "extra_forbidden":
        message = f"unknown key {place[-1]!r}{nearest_hint(str(place[-1]), _keys_at(place))}"
    elif first["type"] == "missing":
        message = "is missing"
    else:
        message = f"{first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}"
    return InputError(message, where=where, source=source)


def _keys_at(place: list[int | str]) -> list[str]:
    models: dict[str, type[BaseModel]] = {
        "profiles": ProfileRow,
        "engine_budget": EngineRow,
        "engines": EngineRow,
        "driver_rules": DriverRow,
        "power": PowerRow,
        "counts": CountRow,
    }
    parents = [str(part) for part in place[:-1] if str(part) in models]
    return sorted((models[parents[-1]] if parents else TableFile).model_fields)

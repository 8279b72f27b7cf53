"""Loads GPU tables by key, alias or path."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from migopt.errors import InputError, UnknownNameError
from migopt.model import DriverRule, Engines, FrozenMap, GpuModel, PowerCurve, Profile

if TYPE_CHECKING:
    from migopt.gpus.schema import EngineRow, PowerRow, ProfileRow, TableFile

_FOLDER = Path(__file__).parent
_GIB = 2**30


@dataclass(frozen=True)
class GpuTable:
    """A GPU table as read: the model that decides, and what is only told to people and tests.

    Attributes
    ----------
    model : GpuModel
        The geometry.
    power : FrozenMap
        Name to PowerCurve, the default first; empty where nothing was published.
    counts : FrozenMap
        Name of a set of profiles to a FrozenMap of counts.
    pci_device_ids : tuple of str
        Device and vendor id, as ``0x20B010DE``.
    memory_gb : int or None
        Nominal memory.
    sm : int or None
        Streaming multiprocessors of the full profile.
    sources : tuple of str
        Every public reference of the file.
    """

    model: GpuModel
    power: FrozenMap
    counts: FrozenMap
    pci_device_ids: tuple[str, ...]
    compute_capability: str
    memory_gb: int | None
    sm: int | None
    sources: tuple[str, ...]


def gpu_keys() -> list[str]:
    """Return the keys of all GPU tables, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def load_gpu(name: str) -> GpuModel:
    """Return the GPU model with this key or product name; raises UnknownNameError with the nearest.

    Case, blanks and dashes do not matter: ``a100 sxm4 40gb`` is A100-40GB.
    """
    return load_table(name).model


def load_gpu_file(path: str | Path) -> GpuModel:
    """Return the GPU model described by a TOML file of the same format.

    Raises InputError with the place in the file, also where a limit of the GPU is not pairwise
    (then partitions would not be the cliques of the placement graph).
    """
    return load_table_file(path).model


def load_table_file(path: str | Path) -> GpuTable:
    """Return the whole table in a TOML file; raises InputError as ``load_gpu_file`` does."""
    from migopt.gpus.limits import refuse_limits_that_are_not_pairwise

    table = _read(Path(path))
    refuse_limits_that_are_not_pairwise(table.model, str(path))
    return table


def load_table(name: str) -> GpuTable:
    """Return the whole table of a GPU; raises UnknownNameError as ``load_gpu`` does."""
    key = name if name in gpu_keys() else _aliases().get(normal_form(name))
    if key is None:
        known = [*gpu_keys(), *(alias for table in _all_tables() for alias in table.model.aliases)]
        raise UnknownNameError("GPU", name, known)
    return _table(key)


def power_curves(name: str) -> dict[str, PowerCurve]:
    """Return the published power curves of a GPU by name, the default first; often empty."""
    return dict(load_table(name).power)


def default_power(name: str) -> PowerCurve | None:
    """Return the published power curve of a GPU, or None where there is none (never a guess)."""
    return next(iter(load_table(name).power.values()), None)


def normal_form(name: str) -> str:
    """Return what two spellings of one GPU name have in common."""
    return re.sub(r"[^a-z0-9]", "", name.lower()).removeprefix("nvidia")


@cache
def _table(key: str) -> GpuTable:
    return _read(_FOLDER / f"{key}.toml")


def _all_tables() -> list[GpuTable]:
    return [_table(key) for key in gpu_keys()]


@cache
def _aliases() -> dict[str, str]:
    return name_index([table.model for table in _all_tables()])


def name_index(models: Iterable[GpuModel]) -> dict[str, str]:
    """Return the normal form of every key and alias with its key.

    Raises InputError where one name would stand for two GPUs.
    """
    found: dict[str, str] = {}
    for model in models:
        for alias in (model.key, *model.aliases):
            other = found.setdefault(normal_form(alias), model.key)
            if other != model.key:
                raise InputError(f"GPU name {alias!r} is in the tables of {other} and {model.key}")
    return found


def _read(path: Path) -> GpuTable:
    from migopt.gpus.schema import parse

    source = str(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=source) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not TOML: {error}", source=source) from None
    return _build(parse(data, source), source)


def _build(table: TableFile, source: str) -> GpuTable:
    _check(table, source)
    budget = None if table.engine_budget is None else _engines(table.engine_budget)
    model = GpuModel(
        key=table.key,
        memory_units=table.memory_units,
        compute_slices=table.compute_slices,
        profiles=tuple(_profile(row, table) for row in table.profiles),
        engine_budget=budget,
        aliases=tuple(table.aliases),
        architecture=table.architecture,
        notes=tuple(table.notes),
        min_driver=table.min_driver or "",
        driver_rules=tuple(
            DriverRule(tuple(row.profiles), row.before, _references(row.source, table))
            for row in table.driver_rules
        ),
    )
    return GpuTable(
        model=model,
        power=FrozenMap({row.name: _power(row, i, source) for i, row in enumerate(table.power)}),
        counts=FrozenMap({name: FrozenMap(row.model_dump()) for name, row in table.counts.items()}),
        pci_device_ids=tuple(table.pci_device_ids),
        compute_capability=table.compute_capability,
        memory_gb=table.memory_gb,
        sm=table.sm,
        sources=tuple(table.sources.values()),
    )


def _check(table: TableFile, source: str) -> None:
    """Check what one field alone cannot show; raises InputError with the place."""
    names: dict[str, int] = {}
    for i, row in enumerate(table.profiles):
        where = f"profiles[{i}]"
        if names.setdefault(row.name, i) != i:
            raise InputError(
                f"profile {row.name} is listed twice", where=f"{where}.name", source=source
            )
        if row.compute_slices > table.compute_slices:
            message = (
                f"{row.name} takes {row.compute_slices} of {table.compute_slices} compute slices"
            )
            raise InputError(message, where=f"{where}.compute_slices", source=source)
        if row.starts != sorted(set(row.starts)):
            raise InputError("starts must rise", where=f"{where}.starts", source=source)
        last = table.memory_units - row.memory_units
        if row.starts[-1] > last:
            message = f"{row.name} may start at {last} at the latest, not at {row.starts[-1]}"
            raise InputError(message, where=f"{where}.starts", source=source)
        _check_references(row.source, table, f"{where}.source", source)
    for i, rule in enumerate(table.driver_rules):
        for name in rule.profiles:
            if name not in names:
                where = f"driver_rules[{i}].profiles"
                raise UnknownNameError(
                    f"profile of {table.key}", name, names, where=where, source=source
                )
        _check_references(rule.source, table, f"driver_rules[{i}].source", source)
    for i, curve in enumerate(table.power):
        if len(curve.busy_w) != table.compute_slices + 1:
            message = f"needs {table.compute_slices + 1} values, for 0 to {table.compute_slices} busy slices"
            raise InputError(message, where=f"power[{i}].busy_w", source=source)


def _check_references(ids: list[str], table: TableFile, where: str, source: str) -> None:
    for reference in ids:
        if reference not in table.sources:
            raise UnknownNameError("source", reference, table.sources, where=where, source=source)


def _references(ids: list[str], table: TableFile) -> str:
    return "; ".join(table.sources[reference] for reference in ids)


def _engines(row: EngineRow) -> Engines:
    return Engines(row.decoders, row.encoders, row.jpeg, row.ofa)


def _profile(row: ProfileRow, table: TableFile) -> Profile:
    # Printed GiB are rounded and differ between drivers: the smallest one, floored, refuses a job
    # that might not fit.
    memory = int(min(map(Decimal, row.memory_gib_seen)) * _GIB) if row.memory_gib_seen else None
    return Profile(
        name=row.name,
        compute_slices=row.compute_slices,
        memory_units=row.memory_units,
        starts=tuple(row.starts),
        max_count=row.max_count,
        driver_id=row.driver_id,
        kind=row.kind,
        memory_bytes=memory,
        sm=row.sm,
        engines=_engines(row.engines),
        confidence=row.confidence,
        source=_references(row.source, table),
    )


def _power(row: PowerRow, index: int, source: str) -> PowerCurve:
    def milliwatts(value: Decimal | int, where: str) -> int:
        scaled = Decimal(value) * 1000
        if scaled != int(scaled):
            message = f"{value} W is no whole number of milliwatts"
            raise InputError(message, where=f"power[{index}].{where}", source=source)
        return int(scaled)

    busy = tuple(milliwatts(watts, f"busy_w[{u}]") for u, watts in enumerate(row.busy_w))
    off = None if row.off_busy_w is None else milliwatts(row.off_busy_w, "off_busy_w")
    return PowerCurve(busy_mw=busy, off_busy_mw=off, source=row.source)

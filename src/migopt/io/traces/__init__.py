"""Importers of cluster traces: one file per format, whose stem is the format's name."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import default_power, load_gpu
from migopt.io._options import check_options, option_table, rational
from migopt.io.generators import stored_weight
from migopt.io.traces._import_options import ImportOptions
from migopt.io.traces._jobs import SHORT_S, JobBuilder
from migopt.io.traces._pipeline import (
    ImportReport,
    NothingLeftError,
    Selection,
    record_table,
    select,
)
from migopt.io.traces._timelimit import limit_notes
from migopt.io.traces.common import Stated, open_lines
from migopt.model import FrozenMap, Instance, Repartition
from migopt.placement import build_catalogue
from migopt.units import MS_PER_DAY, ms_from_minutes

__all__ = [
    "ImportReport",
    "NothingLeftError",
    "check_parameters",
    "format_names",
    "format_options",
    "format_titles",
    "import_trace",
]


def format_names() -> list[str]:
    """Return the names of all trace formats."""
    stems = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(stem.replace("_", "-") for stem in stems if stem != "common" and stem[0] != "_")


def format_titles() -> dict[str, str]:
    """Return each format's name and what it reads."""
    return {name: _format(name).TITLE for name in format_names()}


def format_options(name: str) -> list[dict[str, Any]]:
    """Return name, type, default and description of every option of a format."""
    return option_table(_format(name).Options)


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Raise the InputError that ``import_trace`` would raise for these options, reading nothing."""
    check_options(_format(name).Options, f"option of {name}", dict(parameters))


def import_trace(format: str, path: str | Path, **options: Any) -> ImportReport:
    """Read a trace file and return an instance and the account of every row.

    Parameters
    ----------
    format : str
        One of ``format_names()``.
    path : str or Path
        The file, ``.gz`` accepted.
    **options
        Any of ``format_options(format)``; numbers may be given as text.

    Raises
    ------
    InputError
        For an unknown format or option, a file that cannot be read, or columns that are missing.
    NothingLeftError
        When no row became a job; it carries the counts.
    """
    with _no_collection():
        return _import(format, Path(path), options)


def _import(format: str, path: Path, options: dict[str, Any]) -> ImportReport:
    reader = _format(format)
    checked: ImportOptions = check_options(reader.Options, f"option of {format}", options)
    model = load_gpu(checked.gpu)
    builder = JobBuilder(model, checked)
    notes: list[str] = []
    try:
        items = reader.read(open_lines(path), checked, notes)
        stated = Stated(tuple(reader.OBSERVED), reader.HOUR_OF_DAY_REAL)
        selection = select(items, checked, stated)
    except InputError as error:
        # One that names a place is about an option, not about the file.
        if error.source or error.where:
            raise
        raise InputError(error.message, source=str(path)) from None
    if not selection.records:
        raise NothingLeftError(selection, str(path))
    notes.extend(limit_notes(checked, selection.records))
    instance = _instance(format, path, checked, builder, selection, notes)
    return ImportReport(
        instance=instance,
        rows=selection.rows,
        accepted=selection.accepted,
        dropped=selection.dropped_in_order(),
        arrivals_by_hour=selection.arrivals_by_hour,
        asked_by_hour=selection.asked_by_hour,
        hour_of_day_real=selection.stated.hour_of_day_real,
        observed=selection.stated.observed,
        invented=_invented(selection),
        notes=tuple(notes),
    )


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cycle collector: a million records hold no cycles, and scanning them takes a third."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _format(name: str) -> Any:
    if name not in format_names():
        raise UnknownNameError("trace format", name, format_names())
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def _invented(selection: Selection) -> tuple[str, ...]:
    """Return what no row stated: it must never pass for data."""
    fields = ("class", "memory", "deadline", "elasticity")
    return tuple(field for field in fields if field not in selection.stated.observed)


def _instance(
    format: str,
    path: Path,
    options: ImportOptions,
    builder: JobBuilder,
    selection: Selection,
    notes: list[str],
) -> Instance:
    model = builder.model
    power = default_power(model.key)
    if power is None and options.weight_a is None:
        notes.append(f"no power curve of {model.key} is known: weight a is 0, tardiness alone")
    if "class" not in selection.stated.observed:
        notes.append(f"class not stated: below {SHORT_S} s of run time inference, else training")
    if not selection.stated.hour_of_day_real:
        notes.append("hour of day not real: the trace's clock starts at an undisclosed moment")
    catalogue = options.catalogue or ("paper-12" if model.key == "A100-40GB" else "all")
    return Instance(
        name=_name(format, path, options),
        gpus=(model,) * options.gpus,
        jobs=builder.jobs(selection.records),
        catalogues=FrozenMap({model.key: build_catalogue(catalogue, model)}),
        power=FrozenMap({} if power is None else {model.key: power}),
        repartition=Repartition("gpu", ms_from_minutes(Fraction(options.tau_s) / 60)),
        weight_a=_weight(options, power is not None),
        horizon_ms=MS_PER_DAY * selection.days,
        mig_off=options.mig_off,
        origin={
            "importer": format,
            "file": path.name,
            "options": options.model_dump(mode="json"),
            "rows": selection.rows,
            "accepted": selection.accepted,
            "dropped": selection.dropped_in_order(),
            "hour_of_day_real": selection.stated.hour_of_day_real,
            "observed": list(selection.stated.observed),
            "invented": list(_invented(selection)),
            "records": record_table(selection.records),
        },
    )


def _name(format: str, path: Path, options: ImportOptions) -> str:
    """Return a name that differs where the choice of rows differs: days, thinning and its seed."""
    parts = [format, path.name.split(".")[0]]
    if options.day is not None:
        parts.append(f"day{options.day}")
    if options.window_days is not None:
        parts.append(f"days{options.window_days.strip()}")
    if rational(options.keep, "keep") != 1:
        parts.append(f"keep{options.keep.replace('/', 'of')}")
        parts.append(f"seed{options.seed}")
    return "-".join(parts)


def _weight(options: ImportOptions, has_power: bool) -> Fraction:
    if options.weight_a is not None:
        return rational(options.weight_a, "weight_a")
    return stored_weight("s0-slack") / options.gpus if has_power else Fraction(0)

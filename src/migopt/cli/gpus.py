"""``migopt gpus``: the tables that everything else rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import emit_json, json_option

if TYPE_CHECKING:
    from rich.table import Table

    from migopt.gpus import GpuTable
    from migopt.model import Engines, PowerCurve, Profile

_CONFIDENCE = {
    "lgipp": "the driver's own list of placements was seen",
    "secondary": "another project's table, or a comment by the driver's authors",
    "inferred": "same family as a confirmed card",
}


@click.group("gpus", epilog="Example: migopt gpus show A100-40GB")
def command() -> None:
    """List GPU models and show their profiles."""


@command.command("list", epilog="Example: migopt gpus list --json")
@json_option
def list_(as_json: bool) -> None:
    """List the GPU models that migopt knows."""
    from migopt.gpus import gpu_keys, load_table

    tables = [load_table(key) for key in gpu_keys()]
    if as_json:
        emit_json([_summary(table) for table in tables])
        return
    shown = _table(
        "GPU", "architecture", "compute", "memory units", "profiles", "placements", "power"
    )
    for table in tables:
        model = table.model
        shown.add_row(
            model.key,
            model.architecture,
            str(model.compute_slices),
            str(model.memory_units),
            str(len(model.profiles)),
            _confidence(table),
            ", ".join(table.power) or "–",
        )
    _print(shown)


@command.command("show", epilog="Example: migopt gpus show A100-40GB")
@click.argument("gpu")
@json_option
def show(gpu: str, as_json: bool) -> None:
    """Show the profiles of GPU (key, product name or FILE.toml), how well known, and from where."""
    from migopt.gpus import load_table, load_table_file

    table = load_table_file(gpu) if gpu.endswith(".toml") else load_table(gpu)
    if as_json:
        emit_json(_document(table))
        return
    model = table.model
    click.echo(f"{model.key}: {model.architecture}, {model.compute_slices} compute slices,")
    driver = f"driver {model.min_driver} or later" if model.min_driver else "first driver unknown"
    click.echo(f"  {model.memory_units} memory units; {driver}")
    click.echo(f"  also called {', '.join(model.aliases) or '–'}")
    _print(_profile_table(table))
    click.echo(f"engines of the board: {_engines(model.engine_budget)}")
    for name, curve in table.power.items():
        click.echo(f"power {name}: {_curve(curve)}\n  {curve.source}")
    for rule in model.driver_rules:
        click.echo(f"before driver R{rule.before}: no {' with '.join(rule.profiles)}")
    for label in dict.fromkeys(profile.confidence for profile in model.profiles):
        click.echo(f"confidence {label}: {_CONFIDENCE[label]}")
    click.echo("sources:")
    for number, source in enumerate(table.sources, 1):
        click.echo(f"  [{number}] {source}")
    for note in model.notes:
        click.echo(f"note: {note}")


def _profile_table(table: GpuTable) -> Table:
    shown = _table(
        "profile", "id", "kind", "compute", "units", "starts", "max", "GiB", "SM", "engines",
        "confidence", "source",
    )  # fmt: skip
    numbers = {source: str(number) for number, source in enumerate(table.sources, 1)}
    for profile in table.model.profiles:
        shown.add_row(
            profile.name,
            _number(profile.driver_id),
            profile.kind,
            str(profile.compute_slices),
            str(profile.memory_units),
            ",".join(map(str, profile.starts)),
            str(profile.max_count),
            "–" if profile.memory_bytes is None else f"{profile.memory_bytes / 2**30:.2f}",
            _number(profile.sm),
            _engines(profile.engines, short=True),
            profile.confidence,
            ",".join(number for source, number in numbers.items() if source in profile.source),
        )
    return shown


def _summary(table: GpuTable) -> dict[str, Any]:
    model = table.model
    return {
        "key": model.key,
        "aliases": list(model.aliases),
        "architecture": model.architecture,
        "compute_slices": model.compute_slices,
        "memory_units": model.memory_units,
        "profiles": [profile.name for profile in model.profiles],
        "confidence": _confidence(table),
        "power": list(table.power),
    }


def _document(table: GpuTable) -> dict[str, Any]:
    from migopt.placement import catalogue_names

    model = table.model
    return _summary(table) | {
        "compute_capability": table.compute_capability,
        "memory_gb": table.memory_gb,
        "pci_device_ids": list(table.pci_device_ids),
        "min_driver": model.min_driver,
        "engine_budget": _engine_object(model.engine_budget),
        "profiles": [_profile_object(profile) for profile in model.profiles],
        "driver_rules": [
            {"profiles": list(rule.profiles), "before": rule.before, "source": rule.source}
            for rule in model.driver_rules
        ],
        "power": {
            name: {
                "busy_mw": list(curve.busy_mw),
                "off_busy_mw": curve.off_busy_mw,
                "source": curve.source,
            }
            for name, curve in table.power.items()
        },
        "counts": {name: dict(counts) for name, counts in table.counts.items()},
        "catalogues": catalogue_names(model),
        "sources": list(table.sources),
        "notes": list(model.notes),
    }


def _profile_object(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "driver_id": profile.driver_id,
        "kind": profile.kind,
        "compute_slices": profile.compute_slices,
        "memory_units": profile.memory_units,
        "starts": list(profile.starts),
        "max_count": profile.max_count,
        "memory_bytes": profile.memory_bytes,
        "sm": profile.sm,
        "engines": _engine_object(profile.engines),
        "confidence": profile.confidence,
        "source": profile.source,
    }


def _engine_object(engines: Engines | None) -> dict[str, int | None] | None:
    if engines is None:
        return None
    return {name: getattr(engines, name) for name in ("decoders", "encoders", "jpeg", "ofa")}


def _engines(engines: Engines | None, *, short: bool = False) -> str:
    if engines is None:
        return "unknown"
    counts = _engine_object(engines) or {}
    if short:
        return "/".join(_number(count) for count in counts.values())
    return ", ".join(f"{_number(count)} {name}" for name, count in counts.items())


def _confidence(table: GpuTable) -> str:
    return ", ".join(dict.fromkeys(profile.confidence for profile in table.model.profiles))


def _curve(curve: PowerCurve) -> str:
    watts = ", ".join(f"{milliwatts / 1000:g}" for milliwatts in curve.busy_mw)
    off = "" if curve.off_busy_mw is None else f"; {curve.off_busy_mw / 1000:g} W busy with MIG off"
    return f"{watts} W for 0 to {len(curve.busy_mw) - 1} busy slices{off}"


def _number(value: int | None) -> str:
    return "–" if value is None else str(value)


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        shown.add_column(column, no_wrap=True)
    return shown


def _print(table: Table) -> None:
    from rich.console import Console

    # As wide as the table needs: cutting it to a guessed width would lose figures.
    width = Console(width=1000).measure(table).maximum
    Console(width=width, highlight=False).print(table)

"""``migopt certify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, Seconds, emit_json, fail, json_option, percent
from migopt.cli._live import LiveLine, cost

if TYPE_CHECKING:
    from migopt.certificates import Certificate, Verification

WORST_PERIODS = 5


@click.command(
    "certify",
    epilog="Example: migopt certify day.json --time-limit 60 -o day.cert.json && "
    "migopt certify --verify day.cert.json",
)
@click.argument("instance", required=False, type=click.Path(path_type=Path))
@click.option(
    "--verify",
    "certificate",
    type=click.Path(path_type=Path),
    help="Verify this certificate instead; INSTANCE, if given, must be its problem.",
)
@click.option(
    "--time-limit",
    type=Seconds(),
    default=60.0,
    show_default=True,
    help="Wall seconds for everything.",
)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the certificate to this file."
)
@click.option(
    "--svg",
    type=click.Path(path_type=Path),
    help="Draw the gap by busy period into this SVG file.",
)
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@json_option
def command(
    instance: Path | None,
    certificate: Path | None,
    time_limit: float,
    threads: int,
    seed: int,
    output: Path | None,
    svg: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the best schedule and lower bounds of INSTANCE within a time, with what proves them.

    Runs policies, bounds and solvers that apply, checks every schedule, and writes a certificate that
    --verify evaluates without any solver. Ctrl-C ends it with the best so far. Exit code 0: there is a
    bound or a schedule, or the certificate holds; 1: neither, or something in it disagrees; 2: unusable input.
    """
    if certificate is not None:
        _verify(certificate, instance, as_json)
        return
    if instance is None:
        fail("give an INSTANCE to certify, or --verify FILE")
    from migopt import api
    from migopt.certificates import write_certificate

    for path in (output, svg):
        if path is not None and not path.absolute().parent.is_dir():
            fail(f"{path}: there is no folder {path.parent}")
    shown = None if quiet else LiveLine()
    try:
        made = api.certify(
            instance, time_limit_s=time_limit, threads=threads, seed=seed, progress=shown
        )
    finally:
        if shown is not None:
            shown.close()
    if output is not None:
        write_certificate(made, output)
    if svg is not None:
        _draw(made, svg)
    if as_json:
        extra = {"instance": made.instance.name, "certificate_file": _name(output)}
        bounds = [
            {"by": b.by, "proof": b.proof, "lower": b.lower, "engine": b.engine}
            for b in made.bounds
        ]
        emit_json(
            {
                **made.summary(),
                **extra,
                "bounds": bounds,
                "periods": [dict(p) for p in made.periods],
            }
        )
    else:
        _print(made, output, svg)
    if made.upper is None and made.lower is None:
        sys.exit(EXIT_NEGATIVE)


def _print(made: Certificate, output: Path | None, svg: Path | None) -> None:
    best, sure = made.best, made.checkable
    rows = [
        ("instance", f"{made.instance.name}: {len(made.instance.jobs)} jobs, {made.digest[:12]}…"),
        ("cost", f"{cost(made.upper)}{f' by {made.upper_by}' if made.upper_by else ''}"),
        ("lower bound", cost(made.lower)),
        ("gap", f"{percent(made.gap)}, active {percent(made.active_gap)}"),
    ]
    if best is not None:
        claim = f" ({best.engine})" if best.engine else ""
        rows[2] = ("lower bound", f"{cost(made.lower)} by {best.by}, {best.proof}{claim}")
        if sure is not None and sure is not best:
            told = f"{cost(sure.lower)} by {sure.by}, {sure.proof}"
            rows.append(("checkable", told))
    if made.upper_energy is not None and made.upper_tardiness is not None:
        rows.append(("cost parts", _parts(made.upper_energy, made.upper_tardiness)))
    if best is not None and best.energy is not None and best.tardiness is not None:
        rows.append(("bound parts", _parts(best.energy, best.tardiness)))
    if made.infeasible:
        rows.append(("infeasible", made.infeasible))
    rows.append(("ended", f"{made.stop.replace('_', ' ')}, {made.wall_s:.1f} s"))
    for stage in made.stages:
        found = [
            f"upper {cost(stage.upper)}" if stage.upper is not None else "",
            f"lower {cost(stage.lower)}" if stage.lower is not None else "",
            stage.message,
        ]
        told = ", ".join(item for item in found if item) or stage.outcome
        rows.append((f"  {stage.name}", f"{stage.wall_s:.1f} s: {told}"))
    rows += [
        (what, str(path)) for what, path in (("certificate", output), ("drawing", svg)) if path
    ]
    for name, text in rows:
        click.echo(f"{name:<16} {text}")
    if made.periods:
        _print_periods(made)


def _print_periods(made: Certificate) -> None:
    from migopt.report.certificate import split_bound_text
    from migopt.report.periods import period_table, size_table
    from migopt.report.tables import as_text

    periods = _periods(made)
    for table in (size_table(periods), period_table(periods, WORST_PERIODS)):
        click.echo(f"\n{table.caption}\n{as_text(table)}")
    note = split_bound_text([(bound.by, bound.proof, bound.lower) for bound in made.bounds])
    if note:
        click.echo(f"\n{note}")


def _parts(energy: float, tardiness: float) -> str:
    return f"energy {cost(energy)}, tardiness {cost(tardiness)}"


def _periods(made: Certificate) -> list[Any]:
    from migopt.metrics.periods import Period

    return [Period.from_dict(row) for row in made.periods]


def _draw(made: Certificate, path: Path) -> None:
    if not made.periods:
        fail(f"{path}: gaps by busy period need one GPU, a schedule and the splitting bound")
    from migopt.report.period_svg import period_svg

    try:
        path.write_text(period_svg(_periods(made)), encoding="utf-8")
    except OSError as error:
        fail(f"{path}: cannot be written: {error.strerror}")


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _verify(path: Path, instance: Path | None, as_json: bool) -> None:
    """Verify a file; a fault is one line on standard error and exit code 1."""
    from migopt import api
    from migopt.certificates import Verification
    from migopt.errors import InputError

    if not path.is_file():
        fail(f"{path}: there is no such file")
    if instance is not None:
        from migopt.io import load

        load(instance)  # a bad instance is unusable input, not a fault of the certificate
    try:
        found = api.verify_certificate(path, instance)
    except InputError as error:
        found = Verification(
            faults=[error.message if not error.where else f"{error.where}: {error.message}"]
        )
    if as_json:
        emit_json(found.as_dict())
    elif found.ok:
        _print_verified(found)
    if not found.ok:
        more = f" (and {len(found.faults) - 1} more)" if len(found.faults) > 1 else ""
        click.echo(f"error: {path}: {found.faults[0]}{more}", err=True)
        sys.exit(EXIT_NEGATIVE)


def _print_verified(found: Verification) -> None:
    rows = [
        ("schedule", "none" if found.upper is None else f"legal, costs {found.upper!r}"),
        *(("bound", str(bound)) for bound in found.bounds),
        ("gap", f"{percent(found.gap)}, active {percent(found.active_gap)}"),
        (
            "evaluated here",
            f"lower bound {found.proven_lower!r}, active gap {percent(found.proven_active_gap)}",
        ),
    ]
    for name, text in rows:
        click.echo(f"{name:<16} {text}")
    click.echo("verified")

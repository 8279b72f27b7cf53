"""``migopt instances``: the shipped instances, built by rule, and the best bounds known for them."""

from __future__ import annotations

from pathlib import Path

import click

from migopt.cli._common import emit_json, json_option, number, percent
from migopt.registry import bundled_folder

_FOLDER = click.option(
    "-d",
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Folder of instances (the shipped one).",
)


@click.group(
    epilog="\b\nExamples:\n  migopt instances list\n  migopt instances build-small -d instances\n"
    "  migopt instances index --only 'tiny/*' --time-limit 10"
)
def command() -> None:
    """Build the shipped instances and keep the index of their best known bounds."""


@command.command("list", epilog="Example: migopt instances list")
@_FOLDER
@json_option
def list_(folder: Path | None, as_json: bool) -> None:
    """List all instances with the best known bounds and who found them."""
    from migopt.cli.instances.index import read_index

    rows = read_index(folder or bundled_folder("instances"))
    if as_json:
        emit_json(list(rows.values()))
        return
    for row in rows.values():
        click.echo(
            f"{row['file']:<28} {row['jobs']:>5} jobs  upper {number(row['upper'], 6):>12} "
            f"({row['upper_by'] or '–'})  lower {number(row['lower'], 6):>12} "
            f"({row['lower_by'] or '–'})  gap {percent(row['gap'])}, "
            f"active {percent(row['active_gap'])}"
        )


@command.command("build-small", epilog="Example: migopt instances build-small -d instances")
@_FOLDER
@json_option
def build_small(folder: Path | None, as_json: bool) -> None:
    """Write small/small-01.json to small-60.json: 5 to 12 jobs of the S0 workload at load 0.9.

    Each case is drawn anew until, at some moment, at least half of its jobs are waiting or running
    under restricted EDF-SS on partition 3.
    """
    from migopt.cli.instances.build import CASES, small_case
    from migopt.io import instance_digest, write_instance

    target = (folder or bundled_folder("instances")) / "small"
    target.mkdir(parents=True, exist_ok=True)
    rows = []
    for case in range(1, CASES + 1):
        instance = small_case(case)
        write_instance(instance, target / f"{instance.name}.json")
        digest, seed = instance_digest(instance), instance.origin["seed"]
        rows.append({"file": f"small/{instance.name}.json", "seed": seed, "digest": digest})
    _report(rows, as_json)


@command.command("build-days", epilog="Example: migopt instances build-days -d instances")
@_FOLDER
@json_option
def build_days(folder: Path | None, as_json: bool) -> None:
    """Write the specs of day/ (one GPU) and cluster/ (eight GPUs): generator, seed, digest."""
    from migopt.cli.instances.build import DAYS, day
    from migopt.io import write_spec
    from migopt.io.specs import spec_of

    base = folder or bundled_folder("instances")
    rows = []
    for file in DAYS:
        instance = day(file)
        (base / file).parent.mkdir(parents=True, exist_ok=True)
        write_spec(instance, base / file)
        spec = spec_of(instance)
        rows.append({"file": file, "seed": spec["seed"], "digest": spec["digest"]})
    _report(rows, as_json)


@command.command("index", epilog="Example: migopt instances index --only 'tiny/*' --time-limit 10")
@_FOLDER
@click.option("--only", metavar="GLOB", default="*/*", help="Files to treat, such as 'small/*'.")
@click.option(
    "--time-limit", type=float, default=10.0, show_default=True, help="Seconds per solver."
)
@click.option("--solver", "solvers", multiple=True, help="Instead of the usual ones; repeatable.")
@click.option("--fresh", is_flag=True, help="Forget the bounds found before, for a mended solver.")
@json_option
def index(
    folder: Path | None,
    only: str,
    time_limit: float,
    solvers: tuple[str, ...],
    fresh: bool,
    as_json: bool,
) -> None:
    """Run policies, bounds and solvers, and keep in INDEX.json what is better than before.

    A bound found earlier stays until a better one is found or the instance changes. Exit code 1
    when a lower bound exceeds an upper one.
    """
    from migopt.cli.instances.index import refresh

    rows = refresh(folder or bundled_folder("instances"), only, time_limit, solvers, fresh=fresh)
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        click.echo(
            f"{row['file']:<28} upper {number(row['upper'], 6):>12} ({row['upper_by'] or '–'})  "
            f"lower {number(row['lower'], 6):>12} ({row['lower_by'] or '–'})"
        )


def _report(rows: list[dict[str, object]], as_json: bool) -> None:
    if as_json:
        emit_json(rows)
        return
    for row in rows:
        click.echo(f"{row['file']}: seed {row['seed']}, digest {str(row['digest'])[:12]}…")

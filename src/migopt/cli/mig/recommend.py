"""``migopt mig recommend``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.errors import InputError

if TYPE_CHECKING:
    from migopt.mig.recommend import MixJob, Recommendation
    from migopt.model import GpuModel, PowerCurve


@click.command(
    "recommend",
    epilog='Example: migopt mig recommend --gpu A100-40GB --job "train 7g.40gb=1,3g.20gb=0.5" '
    '--job "serve 3g.20gb=0.3,1g.5gb=0.3". Exit code 0: possible, 1: impossible, 2: unusable input.',
)
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GPU",
    help="Repeat for several GPUs; or GPU:count.",
)
@click.option(
    "--gpu-listing",
    "listings",
    multiple=True,
    metavar="FILE",
    help="What cards print about themselves (nvidia-smi -L, mig -lgip, -lgipp), after those of --gpu.",
)
@click.option("--driver", metavar="VERSION", help="Judge as this driver does, for example 470.")
@click.option(
    "--mix", "mix_file", metavar="FILE", help="A job mix: migopt-mix document (YAML or JSON)."
)
@click.option(
    "--job",
    "jobs",
    multiple=True,
    metavar="JOB",
    help='A job: "name profile=speed,profile=speed", speed 1 being that of the whole GPU.',
)
@click.option(
    "--objective",
    type=click.Choice(["speed", "slowdown", "energy", "et"]),
    default="speed",
    show_default=True,
    help="Largest sum of speeds, or least mean slowdown, energy, or ET.",
)
@click.option(
    "--weight-a", default="1", show_default=True, metavar="P/Q", help="The weight of energy in ET."
)
@click.option(
    "--power",
    "powers",
    multiple=True,
    metavar="GPU=W0,W1,...",
    help="Watts of a GPU with 0, 1, ... busy compute slices, for energy and ET; with one model, "
    "W0,W1,... alone. Default: the published curve, where there is one.",
)
@click.option("--svg", "svg_file", metavar="FILE", help="Draw the partitions.")
@json_option
def command(
    gpus: tuple[str, ...],
    listings: tuple[str, ...],
    driver: str | None,
    mix_file: str | None,
    jobs: tuple[str, ...],
    objective: str,
    weight_a: str,
    powers: tuple[str, ...],
    svg_file: str | None,
    as_json: bool,
) -> None:
    """Choose the partition of each GPU that is best for a mix of jobs, every job on its own slice.

    The answer is exact, and comes with the best other choice and the difference.
    """
    models = _models(gpus, listings, driver)
    mix = _mix(models, mix_file, jobs)
    answer = _solve(models, mix, objective, weight_a, _curves(models, powers))
    if svg_file is not None and answer.possible:
        from migopt.mig.draw import write_drawing
        from migopt.model import Partition
        from migopt.placement.draw import bars_svg

        rows = [
            (model, f"GPU {i}", Partition(places), ())
            for i, (model, places) in enumerate(zip(models, answer.partitions, strict=True))
        ]
        write_drawing(svg_file, bars_svg(rows))
    if as_json:
        emit_json(_document(answer, mix, objective))
    else:
        click.echo(_text(answer, mix))
    sys.exit(0 if answer.possible else EXIT_NEGATIVE)


def _models(gpus: Sequence[str], listings: Sequence[str], driver: str | None) -> list[GpuModel]:
    from migopt.cli.mig._options import listed_models
    from migopt.mig.node import named_gpu

    models: list[GpuModel] = []
    for text in gpus:
        name, _, count = text.rpartition(":")
        if not name or not count.isdecimal() or len(count) > 9:
            name, count = text, "1"
        if not 1 <= int(count) <= 10_000:
            raise InputError(f"{text!r}: the count must be from 1 to 10000", where="--gpu")
        models += [named_gpu(name, driver)] * int(count)
    models += listed_models(listings, None, driver)
    if not models:
        raise InputError("no GPU is given; use --gpu or --gpu-listing")
    return models


def _mix(models: Sequence[GpuModel], mix_file: str | None, jobs: Sequence[str]) -> list[MixJob]:
    from migopt.mig.formats.listing import read_text
    from migopt.mig.recommend import read_mix

    if (mix_file is None) == (not jobs):
        raise InputError("give the jobs with --mix FILE or with --job, one of them")
    if mix_file is not None:
        return read_mix(read_text(mix_file), models, source=mix_file)
    rows = []
    for i, text in enumerate(jobs):
        name, _, speeds = text.strip().rpartition(" ")
        speed: dict[str, float] = {}
        for item in filter(None, (part.strip() for part in speeds.split(","))):
            profile, equals, value = item.partition("=")
            try:
                speed[profile] = float(value)
            except ValueError:
                raise InputError(f"{item!r} is no profile=speed", where="--job") from None
            if not equals:
                raise InputError(f"{item!r} is no profile=speed", where="--job")
        rows.append({"name": name.strip() or f"job {i}", "speed": speed})
    import json

    document = {"format": "migopt-mix", "version": 1, "jobs": rows}
    return read_mix(json.dumps(document), models, source="--job")


def _curves(models: Sequence[GpuModel], powers: Sequence[str]) -> dict[str, PowerCurve]:
    """Return the power curve of each GPU model: the given one, else the published one."""
    from migopt.gpus import default_power, gpu_keys
    from migopt.mig.node import named_gpu

    by_key = {model.key: model for model in models}
    found = {
        key: curve
        for key in by_key
        if key in gpu_keys() and (curve := default_power(key)) is not None
    }
    for text in powers:
        name, equals, watts = text.rpartition("=")
        key = name if equals else next(iter(by_key))
        if key not in by_key:
            key = named_gpu(key, None).key
        if key not in by_key or (not equals and len(by_key) > 1):
            known = ", ".join(by_key)
            raise InputError(f"{text!r}: name one of the GPUs, {known}", where="--power")
        found[key] = _curve(watts, by_key[key])
    return found


def _curve(text: str, model: GpuModel) -> PowerCurve:
    from migopt.model import PowerCurve
    from migopt.units import round_half_up

    levels = model.compute_slices + 1
    try:
        watts = [Fraction(part.strip()) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{text!r} is no list of watts", where="--power") from None
    if len(watts) != levels:
        raise InputError(
            f"{model.key} needs {levels} values, for 0 to {levels - 1} busy compute slices, "
            f"not {len(watts)}",
            where="--power",
        )
    if not all(0 <= w <= 100_000 for w in watts) or sorted(watts) != watts:
        raise InputError(
            f"{text!r}: watts from 0 to 100000 that do not fall as more slices are busy",
            where="--power",
        )
    return PowerCurve(tuple(round_half_up(w * 1000) for w in watts), source="--power")


def _solve(
    models: Sequence[GpuModel],
    mix: Sequence[MixJob],
    objective: str,
    weight_a: str,
    power: dict[str, PowerCurve],
) -> Recommendation:
    from migopt.mig.recommend import recommend, recommend_fleet

    try:
        weight = Fraction(weight_a)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{weight_a!r} is no number such as 1/2", where="--weight-a") from None
    if weight < 0:
        raise InputError("must not be negative", where="--weight-a")
    lacking = [model.key for model in models if model.key not in power]
    if lacking and objective in ("energy", "et"):
        raise InputError(
            f"{objective} needs the power curve of {lacking[0]}, and none is published: "
            f"--power {lacking[0]}=W0,W1,...",
            where="--power",
        )
    if len(models) > 1:
        return recommend_fleet(models, mix, objective, runner_up=True, power=power, weight_a=weight)
    curve = power.get(models[0].key)
    return recommend(models[0], mix, objective, power=curve, weight_a=weight)


def _document(answer: Recommendation, mix: Sequence[MixJob], objective: str) -> dict[str, Any]:
    second = answer.runner_up
    return {
        "possible": answer.possible,
        "objective": objective,
        "value": None if answer.value is None else float(answer.value),
        "partitions": [
            [{"profile": place.profile, "start": place.start} for place in places]
            for places in answer.partitions
        ],
        "assignment": [
            {"job": job.name, "gpu": gpu, "profile": place.profile, "start": place.start}
            for job, (gpu, place) in zip(mix, answer.assignment, strict=False)
        ],
        "runner_up": None
        if second is None
        else {
            "value": float(second.value),
            "partitions": [list(names) for names in second.profiles],
        },
        "reason": answer.reason,
        "proved": answer.proved,
    }


def _text(answer: Recommendation, mix: Sequence[MixJob]) -> str:
    if not answer.possible:
        return f"impossible: {answer.reason}"
    lines = [
        f"GPU {i}: {','.join(map(str, places)) or 'empty'}"
        for i, places in enumerate(answer.partitions)
    ]
    lines.append(answer.reason)
    for job, (gpu, place) in zip(mix, answer.assignment, strict=True):
        lines.append(f"  {job.name}: GPU {gpu} {place}")
    return "\n".join(lines)

"""``migopt calibrate``: the energy weight a of a scenario, a = t / (2 s).

t and s are the mean tardiness (min) and the mean energy (W·min) of restricted EDF-SS on partition 3
over seeds 1 to 20 of the scenario with all its defaults, on one GPU. The ratio is then cut to the
simplest fraction within a millionth, so that exact integer objectives stay small.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.errors import InputError, UnknownNameError
from migopt.io.generators import generate, generator_names, stored_weights
from migopt.metrics import measure
from migopt.schedulers import parse_policy
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

POLICY = "edf_ss_restricted+static:3"
SEEDS = range(1, 21)
#: Relative room within which the weight is cut to the simplest fraction.
PRECISION = Fraction(1, 1_000_000)
_FILE = "data/weights.json"


@dataclass(frozen=True)
class Calibration:
    """What the weight of one scenario rests on.

    Attributes
    ----------
    weight_a : Fraction
        The stored weight.
    exact_a : Fraction
        t / (2 s) before it is cut.
    tardiness_min, energy_wmin : Fraction
        t and s.
    """

    weight_a: Fraction
    exact_a: Fraction
    tardiness_min: Fraction
    energy_wmin: Fraction

    def record(self) -> dict[str, Any]:
        """Return the entry of the data file; the figures beside the weight are for people."""
        return {
            "weight_a": str(self.weight_a),
            "mean_tardiness_min": round(float(self.tardiness_min), 6),
            "mean_energy_wmin": round(float(self.energy_wmin), 3),
            "policy": POLICY,
            "seeds": [SEEDS[0], SEEDS[-1]],
        }


def calibrate(scenario: str, seeds: Iterable[int] = SEEDS) -> Calibration:
    """Derive the energy weight of a scenario; raises UnknownNameError for an unknown one."""
    policy = parse_policy(POLICY)
    tardiness, energy, count = Fraction(0), Fraction(0), 0
    for seed in seeds:
        # The weight is what is looked for: any value does, no rule here reads it.
        instance = generate(scenario, seed=seed, weight_a="1")
        metrics = measure(instance, policy.run(instance))
        jobs = metrics.total_weight * MS_PER_MINUTE
        tardiness += Fraction(metrics.weighted_tardiness_ms, jobs)
        if metrics.energy_uj is None:
            raise InputError(f"{scenario} has no power curve, so energy cannot be weighed")
        energy += Fraction(metrics.energy_uj, UJ_PER_WMIN)
        count += 1
    tardiness, energy = tardiness / count, energy / count
    exact = tardiness / (2 * energy)
    cut = simplest_between(exact * (1 - PRECISION), exact * (1 + PRECISION))
    return Calibration(cut, exact, tardiness, energy)


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator in [low, high], 0 <= low <= high.

    It is read off the continued fractions of both ends (Stern-Brocot tree).
    """
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    floor = whole - 1
    return floor + 1 / simplest_between(1 / (high - floor), 1 / (low - floor))


@click.command(
    epilog="\b\nExamples:\n  migopt calibrate s0-slack\n  migopt calibrate --all --store"
)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option("--all", "everything", is_flag=True, help="All scenarios.")
@click.option("--store", is_flag=True, help="Write the weights into the package's data file.")
@json_option
def command(scenarios: tuple[str, ...], everything: bool, store: bool, as_json: bool) -> None:
    """Derive the energy weight a = t / (2 s) of SCENARIO and compare it with the stored one.

    Exit code 1 when a stored weight differs and is not replaced.
    """
    names = list(generator_names() if everything else scenarios)
    for name in names:
        if name not in generator_names():
            raise UnknownNameError("scenario", name, generator_names())
    if not names:
        raise click.UsageError("name a scenario, or --all")
    found = {name: calibrate(name) for name in names}
    if as_json:
        emit_json({name: _row(name, result) for name, result in found.items()})
    else:
        for name, result in found.items():
            _print(name, result)
    if store:
        _store(found)
    elif not all(_is_stored(name, result) for name, result in found.items()):
        sys.exit(EXIT_NEGATIVE)


def _is_stored(name: str, result: Calibration) -> bool:
    return bool(stored_weights().get(name) == result.record())


def _row(name: str, result: Calibration) -> dict[str, Any]:
    return result.record() | {
        "exact_a": str(result.exact_a),
        "as_stored": _is_stored(name, result),
    }


def _print(name: str, result: Calibration) -> None:
    stored = stored_weights().get(name, {}).get("weight_a", "nothing")
    same = "as stored" if _is_stored(name, result) else f"stored: {stored}"
    click.echo(
        f"{name}: a = {result.weight_a} = {float(result.weight_a):.6g} ({same}); "
        f"mean tardiness {float(result.tardiness_min):.4f} min, "
        f"mean energy {float(result.energy_wmin):,.1f} W·min"
    )


def _store(found: dict[str, Calibration]) -> None:
    path = Path(str(files("migopt.io.generators").joinpath(_FILE)))
    scenarios = dict(stored_weights()) | {name: result.record() for name, result in found.items()}
    document = {
        "about": "Energy weight a of one GPU per scenario, as `migopt calibrate SCENARIO` derives it: "
        "a = t / (2 s), t and s mean tardiness and mean energy of the policy over the seeds, cut "
        "to the simplest fraction within a millionth.",
        "scenarios": dict(sorted(scenarios.items())),
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    click.echo(f"stored in {path}", err=True)

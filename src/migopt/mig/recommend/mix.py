"""Jobs of a mix, what is optimised over them, and the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from migopt.errors import InputError, UnknownNameError
from migopt.mig.formats.yaml_file import mapping, only_keys, read_yaml, sequence, whole
from migopt.mig.names import nearest_profiles, parse_bytes
from migopt.model import GpuModel, Placement
from migopt.units import FULL_RATE, MAX_RATE, MS_PER_MINUTE, ceil_div, round_half_up

#: ``speed``: the sum of speeds, to be large; ``slowdown``: the mean of 1 / speed; ``energy``: W·min above
#: idle until all jobs are done; ``et``: (a E + mean tardiness) / (a + 1).
OBJECTIVES = ("speed", "slowdown", "energy", "et")
#: Slowdowns are integers in this unit, rounded up, so that equal mixes compare equal.
SLOWDOWN_UNIT = 10**9
#: Value of a job on a profile on which it cannot run.
FORBIDDEN = -(2**60)


@dataclass(frozen=True)
class MixJob:
    """A job of a mix.

    Attributes
    ----------
    name : str
        How answers call it.
    rates : mapping
        Profile name to work per millisecond (1,000,000 is speed 1); 0 or absent: cannot run there.
    memory_bytes : int
        Memory that its slice must have.
    work : int
        Work left, for energy and ET: 1,000,000 times the milliseconds at speed 1.
    due_ms : int or None
        Milliseconds from now until it is due, for ET; None: never late.
    by_gpu : mapping
        Rates per GPU key, where one name means slices of different speed; they win over ``rates``.
    """

    name: str
    rates: Mapping[str, int]
    memory_bytes: int = 0
    work: int = MS_PER_MINUTE * FULL_RATE
    due_ms: int | None = None
    by_gpu: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def rate(self, model: GpuModel, name: str) -> int:
        """Return the rate on a profile of a GPU; 0 where the job does not fit."""
        rate = self.by_gpu.get(model.key, self.rates).get(name, 0)
        if rate > 0 and self.memory_bytes:
            have = model.profile(name).memory_bytes
            if have is not None and have < self.memory_bytes:
                return 0
        return rate


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """The best choice with other slices: profiles per GPU, and its value."""

    profiles: tuple[tuple[str, ...], ...]
    value: Fraction


@dataclass(frozen=True)
class Recommendation:
    """The answer.

    Attributes
    ----------
    possible : bool
        Whether every job gets a slice.
    partitions : tuple of tuple of Placement
        Per GPU, where slices are.
    assignment : tuple of (int, Placement)
        Per job, its GPU and slice.
    value : Fraction or None
        The objective, in the unit told in ``OBJECTIVES``.
    runner_up : RunnerUp or None
        None when nothing else is possible, or it was not asked for.
    objective : str
        What was optimised.
    note : str
        Why nothing is possible, or why there is no runner-up.
    proved : bool
        Whether the search was complete.
    """

    possible: bool
    partitions: tuple[tuple[Placement, ...], ...] = ()
    assignment: tuple[tuple[int, Placement], ...] = ()
    value: Fraction | None = None
    runner_up: RunnerUp | None = None
    objective: str = ""
    note: str = ""
    proved: bool = True

    @property
    def reason(self) -> str:
        """Why this and not the runner-up, or why nothing is possible, in a sentence."""
        if self.value is None:
            return self.note
        text = reason_for(self.objective, self.value, self.runner_up)
        return f"{text}; {self.note}" if self.note else text


def worth(objective: str, rate: int) -> int:
    """Return what one job adds to an objective that is a sum, larger being better.

    Speed counts as it is; slowdown is 1 / speed in parts of ``SLOWDOWN_UNIT``, rounded up, negative.
    """
    if rate <= 0:
        return FORBIDDEN
    return rate if objective == "speed" else -ceil_div(FULL_RATE * SLOWDOWN_UNIT, rate)


def shown(objective: str, total: int, jobs: int) -> Fraction:
    """Return the sum of ``worth`` in the unit of the objective."""
    if objective == "speed":
        return Fraction(total, FULL_RATE)
    return Fraction(-total, SLOWDOWN_UNIT * jobs)


def reason_for(objective: str, value: Fraction, runner_up: RunnerUp | None) -> str:
    """Return the reason in a sentence: the two values and their difference."""
    words = {
        "speed": ("sum of speeds", "more"),
        "slowdown": ("mean slowdown", "less"),
        "energy": ("energy above idle in W·min", "less"),
        "et": ("ET", "less"),
    }
    what, better = words[objective]
    head = f"{what} {float(value):.4g}"
    if runner_up is None:
        return head
    gap = abs(value - runner_up.value)
    cuts = Counter(counted(names) for names in runner_up.profiles)
    others = " | ".join(
        cut if len(runner_up.profiles) == 1 else f"{n} GPU{'s' * (n > 1)} {cut or 'empty'}"
        for cut, n in cuts.items()
    )
    if gap == 0:
        return f"{head}, the same as {others}, which covers no fewer memory units"
    return f"{head}, {float(gap):.4g} {better} than {others}"


def counted(names: Sequence[str]) -> str:
    """Return slices as a phrase, equal ones counted."""
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in Counter(names).items())


def check_objective(objective: str, jobs: Sequence[MixJob]) -> None:
    """Raise UnknownNameError for an objective that does not exist, InputError without a job."""
    if objective not in OBJECTIVES:
        raise UnknownNameError("objective", objective, OBJECTIVES)
    if not jobs:
        raise InputError("the mix has no job")


_KEYS = {"name", "count", "speed", "memory", "minutes", "due_minutes"}


def read_mix(text: str, models: Sequence[GpuModel], *, source: str = "") -> list[MixJob]:
    """Read a job mix: YAML or JSON with ``format: migopt-mix``, ``version: 1`` and ``jobs``.

    A job has ``speed`` (profile to speed, 1 being that of a whole reference GPU; or GPU key to such
    a mapping), and optionally ``name``, ``count``, ``memory`` (bytes, or text such as 20GiB),
    ``minutes`` (its duration at speed 1) and ``due_minutes`` (from now).

    Raises InputError with the place in the file, and for a profile that no GPU has.
    """
    document = mapping(read_yaml(text, source=source), "", source)
    only_keys(document, {"format", "version", "jobs"}, "", source)
    if document.get("format") != "migopt-mix" or document.get("version") != 1:
        raise InputError("must say format: migopt-mix and version: 1", source=source)
    jobs: list[MixJob] = []
    for i, row in enumerate(sequence(document.get("jobs"), "jobs", source)):
        jobs += _jobs(mapping(row, f"jobs[{i}]", source), i, models, source)
    if not jobs:
        raise InputError("has no job", where="jobs", source=source)
    return jobs


def _jobs(row: dict[Any, Any], i: int, models: Sequence[GpuModel], source: str) -> list[MixJob]:
    where = f"jobs[{i}]"
    only_keys(row, _KEYS, where, source)
    speed = mapping(row.get("speed"), f"{where}.speed", source)
    if not speed:
        raise InputError("has no profile", where=f"{where}.speed", source=source)
    nested = all(isinstance(value, dict) for value in speed.values())
    by_gpu: dict[str, dict[str, int]] = {}
    rates: dict[str, int] = {}
    if nested:
        known = {model.key: model for model in models}
        for key, part in speed.items():
            if key in known:
                by_gpu[key] = _rates(part, [known[key]], f"{where}.speed.{key}", source)
    else:
        rates = _rates(speed, models, f"{where}.speed", source)
    memory = row.get("memory", 0)
    minutes = _number(row.get("minutes", 1), f"{where}.minutes", source)
    due = row.get("due_minutes")
    count = whole(row.get("count", 1), f"{where}.count", source)
    name = str(row.get("name", f"job {i}"))
    return [
        MixJob(
            name if count == 1 else f"{name}#{n}",
            rates,
            parse_bytes(str(memory), where=f"{where}.memory"),
            round_half_up(minutes * MS_PER_MINUTE) * FULL_RATE,
            None
            if due is None
            else round_half_up(_number(due, f"{where}.due_minutes", source) * MS_PER_MINUTE),
            by_gpu,
        )
        for n in range(count)
    ]


def _rates(
    speed: dict[Any, Any], models: Sequence[GpuModel], where: str, source: str
) -> dict[str, int]:
    rates = {}
    for name, value in speed.items():
        if not any(model.has_profile(str(name)) for model in models):
            near = [p for model in models for p in nearest_profiles(model, str(name))]
            raise InputError(
                f"no GPU has a profile {name}; nearest: {', '.join(dict.fromkeys(near))}",
                where=where,
                source=source,
            )
        number = _number(value, f"{where}.{name}", source)
        rate = max(1, round_half_up(number * FULL_RATE)) if number > 0 else 0
        if rate > MAX_RATE:
            raise InputError("is too large", where=f"{where}.{name}", source=source)
        rates[str(name)] = rate
    return rates


def _number(value: Any, where: str, source: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**9:
        raise InputError(f"must be a number, at least 0, not {value!r}", where=where, source=source)
    return Fraction(str(value))

"""Random cases on which the compiled simulator must do exactly what the readable one does."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from typing import Any

from migopt.errors import MigoptError
from migopt.metrics import measure
from migopt.model import Instance, Schedule
from migopt.schedulers import dispatch_rules, parse_policy
from migopt.schedulers._changes import Changes
from migopt.schedulers.partition import best_fixed, look_ahead, no_mig, static, timetable
from migopt.schedulers.play import play, score
from migopt.testing.cases import random_instance
from migopt.units import MS_PER_DAY

#: Rules that the kernel can play; others run on the reference alone.
COMPILED = [
    name
    for name in dispatch_rules()
    if hasattr(parse_policy(f"{name}+static:1").dispatcher(), "compiled")
]


@dataclass(frozen=True)
class Case:
    """An instance and two rules, all by seed."""

    seed: int
    instance: Instance
    dispatch: str
    partition: str
    partitioner: Any

    def __str__(self) -> str:
        return f"case {self.seed} ({self.instance.name}, {self.dispatch}+{self.partition})"

    def dispatcher(self) -> Any:
        """Return a fresh dispatch rule."""
        return parse_policy(f"{self.dispatch}+static:1").dispatcher()


def make_case(seed: int) -> Case:
    """Return a random case; that its rules do not suit the instance is possible."""
    draw = random.Random(f"case {seed}")
    instance = random_instance(seed)
    if draw.random() < 0.1:
        instance = _later(instance, MS_PER_DAY - draw.randrange(1, 10))
    dispatch = draw.choice(COMPILED)
    if dispatch in ("llf", "lalf") and draw.random() < 0.7:
        dispatch += f":threshold_ms={draw.choice((0, 1, 3, 60_000))},max_stops={draw.randrange(4)}"
    text, rule = _partition_rule(draw, instance, dispatch, seed)
    return Case(seed, instance, dispatch, text, rule)


def _later(instance: Instance, shift: int) -> Instance:
    """Return the instance with every job later by ``shift`` ms, so that a day ends among them."""
    jobs = (
        replace(job, release_ms=job.release_ms + shift, due_ms=job.due_ms + shift)
        for job in instance.jobs
    )
    return instance.replace(jobs=tuple(jobs))


def _partition_rule(
    draw: random.Random, instance: Instance, dispatch: str, seed: int
) -> tuple[str, Any]:
    sizes = [len(instance.catalogue(gpu)) for gpu in range(len(instance.gpus))]
    kinds = ["static", "per_gpu", "best_fixed"] + ["no_mig"] * instance.mig_off
    kinds += ["timetable"] * (1 if instance.repartition.scope == "never" else 5)
    # On the reference every forecast is a simulation of its own: small cases only.
    kinds += ["look_ahead"] * (len(instance.jobs) <= 8 and len(instance.gpus) == 1)
    kind = draw.choice(kinds)
    if kind == "no_mig":
        return kind, no_mig.NoMig()
    if kind == "best_fixed":
        return kind, best_fixed.BestFixed()
    if kind == "look_ahead":
        margin, keep = draw.choice((0.0, 0.0, 0.1)), draw.random() < 0.3
        changes = Changes("look_ahead", keep=keep)
        return kind, look_ahead.LookAhead(draw.randint(1, min(sizes)), margin, changes)
    if kind == "timetable":
        first = instance.jobs[0].release_ms if instance.jobs else 0
        last = max((job.due_ms for job in instance.jobs), default=1)
        span = range(first, max(first + 10, last))
        starts = sorted({time % MS_PER_DAY for time in draw.sample(span, draw.randint(2, 9))})
        entries = tuple((start, draw.randint(1, min(sizes))) for start in starts)
        return f"timetable {entries}", timetable.Timetable(entries)
    numbers = tuple(draw.randint(1, size) for size in sizes)
    if kind == "static":
        numbers = (draw.randint(1, min(sizes)),)
    return f"static {numbers}", static.Static(numbers)


def outcome(case: Case, engine: Any, play_or_score: Any = play) -> Any:
    """Return the schedule (or figures), or the error that the run ends with, as text."""
    rule = case.partitioner
    try:
        if hasattr(rule, "resolve"):
            rule = rule.resolve(case.instance, case.dispatcher, case.seed)
        return play_or_score(case.instance, case.dispatcher(), rule, seed=case.seed, engine=engine)
    except MigoptError as error:
        return f"{type(error).__name__}: {error}"


def disagreement(case: Case) -> str | None:
    """Return where the engines, or the two ways to the figures, differ; None where nowhere."""
    expected, got = outcome(case, "reference"), outcome(case, "compiled")
    if expected != got:
        return f"{case}: reference {expected}, compiled {got}"
    if not isinstance(expected, Schedule):
        return None
    measured, figures = measure(case.instance, expected), outcome(case, "compiled", score)
    for field in fields(measured):
        wanted, found = getattr(measured, field.name), getattr(figures, field.name)
        close = isinstance(found, float) and abs(wanted - found) <= 1e-9 * abs(wanted)
        if wanted != found and not close:
            return f"{case}: {field.name} is {wanted}, not {found}"
    return None

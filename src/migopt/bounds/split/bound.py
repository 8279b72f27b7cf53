"""The variable splitting bound: ascend on a coarse grid, refine, round the prices, evaluate exactly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from migopt.bounds.busy_vectors import Case
from migopt.bounds.split.ascend import Ascent, ascend, transfer
from migopt.bounds.split.covers import cases, partitions_apart, why_not
from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.exact import evaluate_multipliers, round_down
from migopt.bounds.split.multipliers import Multipliers, round_prices
from migopt.bounds.split.problem import (
    FULL_WINDOWS,
    UNIFORM_POINTS,
    SplitProblem,
    build_problem,
)
from migopt.model import Instance

__all__ = ["SplitResult", "cases", "split_bound", "why_not"]

#: First step lengths that are tried for a moment, in units of the step scale; the best goes on.
TRIAL_STEPS = (0.003, 0.012, 0.05)
TRIAL_ROUNDS = 5
#: Power that costs less than this share of lateness brings steps of its own size.
FAR_BELOW = 0.01
#: Last step of the coarse ascent, first and last of the fine one, as fractions of the first step.
COARSE_LAST, FINE_FIRST, FINE_LAST = 1 / 25, 1 / 6, 1 / 80
#: Most rounds of each; with these a day has settled.
COARSE_ROUNDS, FINE_ROUNDS = 60, 200
#: Steps into which tau is cut while ascending, and for the last evaluation.
ASCEND_PARTS, FINAL_PARTS = 4, 32
#: Of several parts (cases, partitions) each gets a look first; then the lowest gets its turn of the time
#: until it is this much above the next.
FIRST_LOOK, TURN, ROOM = 0.5, 0.15, 0.02
MOST_TURNS = 8


@dataclass(frozen=True)
class SplitResult:
    """A bound with its proof.

    Attributes
    ----------
    lower : Fraction
        No legal schedule of the instance costs less.
    multipliers : tuple of Multipliers
        One per case that had to be looked at; ``lower`` is the least of their values.
    tardiness_part : float
        How much of the bound is tardiness, at the last prices; the rest, constant included, is energy.
    history : tuple of (seconds, bound)
        Bound of the first case as it rose.
    beyond : int
        Jobs whose cheapest way was to end beyond their window.
    problem, prices : SplitProblem, float array
        Of the case that decides, to go on from.
    """

    lower: Fraction
    multipliers: tuple[Multipliers, ...]
    tardiness_part: float
    history: tuple[tuple[float, float], ...]
    beyond: int
    problem: SplitProblem
    prices: Any = field(repr=False)
    step: float = 0.05

    @property
    def value(self) -> float:
        """The bound as a float, rounded down."""
        return round_down(self.lower)


def split_bound(
    instance: Instance,
    *,
    seconds: float = 30.0,
    threads: int = 1,
    completions_ms: Mapping[int, int] | None = None,
    rounds: tuple[int, int] = (COARSE_ROUNDS, FINE_ROUNDS),
    uniform: int | None = None,
    start: SplitResult | None = None,
    first_prices: Sequence[tuple[SplitProblem, Any]] = (),
    stop_at: float = np.inf,
    progress: Callable[[float], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SplitResult:
    """Return the best bound found in about ``seconds``.

    Parameters
    ----------
    instance : Instance
        One that ``why_not`` accepts.
    seconds, threads : float, int
        Time for the ascent (the exact evaluation comes on top), and threads.
    completions_ms : mapping, optional
        Completions by job id in a good schedule; they widen windows where jobs end late.
    rounds : (int, int)
        Most rounds of 50 steps on the coarse and on the fine grid.
    uniform : int, optional
        Uniform grid points of the fine grid.
    start : SplitResult, optional
        An earlier result to go on from.
    first_prices : sequence of (SplitProblem, prices)
        Prices to begin with, at most one per case (say, from the day LP).
    stop_at : float
        A bound that is enough, in units of cost.
    progress : callable, optional
        Called with the bound of the first case now and then, before its exact evaluation.
    should_stop : callable, optional
        Asked often; True ends the ascent with the best prices so far.
    """
    began = time.perf_counter()
    apart = partitions_apart(instance)
    parts = [
        _Part(case, partition)
        for case in cases(instance)
        for partition in (apart if case == "mig" and apart else [0])
    ]

    def work(part: _Part, share: float, enough: float, more: tuple[int, int]) -> None:
        earlier: SplitResult | _Earlier | None = part.result()
        if start is not None and start.problem.case == part.case and earlier is None:
            earlier = start if start.problem.partition == part.partition else None
        known = [
            q for q in first_prices if (q[0].case, q[0].partition) == (part.case, part.partition)
        ]
        part.problem, part.state, part.chosen = _one_case(
            instance,
            part,
            share,
            threads,
            completions_ms,
            more,
            uniform,
            began,
            enough - float(instance.constant_cost),
            earlier,
            known[0] if known else None,
            progress if len(parts) == 1 else None,
            should_stop,
        )

    if len(parts) == 1:
        work(parts[0], seconds, stop_at, rounds)
    else:
        _raise_lowest(parts, work, began + seconds, stop_at, rounds, should_stop)
    found = []
    for part in parts:
        assert part.problem is not None
        assert part.state is not None
        multipliers = round_prices(part.problem, part.state.prices, FINAL_PARTS)
        value = evaluate_multipliers(instance, multipliers)
        found.append((value, multipliers, part.problem, part.state, part.chosen))
    least = min(range(len(found)), key=lambda q: found[q][0])
    lower, _, problem, state, chosen = found[least]
    constant = float(instance.constant_cost)
    return SplitResult(
        lower,
        tuple(item[1] for item in found),
        float(chosen[0]),
        tuple((at, value + constant) for at, value in found[0][3].history),
        int(chosen[1]),
        problem,
        state.prices,
        state.step,
    )


@dataclass
class _Part:
    """A case, or one partition of it, that is bounded by prices of its own."""

    case: Case
    partition: int
    problem: SplitProblem | None = None
    state: Ascent | None = None
    chosen: tuple[float, int] = (0.0, 0)

    @property
    def value(self) -> float:
        """Bound without the constant, -inf before the first look."""
        return -np.inf if self.state is None else self.state.value

    def result(self) -> _Earlier | None:
        """Return what a later ascent goes on from."""
        if self.problem is None or self.state is None:
            return None
        return _Earlier(self.problem, self.state.prices, self.state.step)


@dataclass(frozen=True)
class _Earlier:
    problem: SplitProblem
    prices: Any
    step: float


def _raise_lowest(
    parts: list[_Part],
    work: Callable[[_Part, float, float, tuple[int, int]], None],
    deadline: float,
    stop_at: float,
    rounds: tuple[int, int],
    should_stop: Callable[[], bool] | None,
) -> None:
    """Look at every part, then raise the lowest: the bound is the least of them."""
    total = deadline - time.perf_counter()
    for number, part in enumerate(parts):
        left = FIRST_LOOK * total - (total - (deadline - time.perf_counter()))
        # The others only have to rise above the least so far.
        least = min((other.value for other in parts if other.state is not None), default=np.inf)
        enough = least if np.isfinite(least) else np.inf
        work(part, max(left, 0.0) / (len(parts) - number), _with_room(enough), rounds)
    for _ in range(MOST_TURNS * len(parts)):
        left = deadline - time.perf_counter()
        part = min(parts, key=lambda item: item.value)
        if (
            left < 0.02 * total
            or part.value > stop_at
            or (should_stop is not None and should_stop())
        ):
            break
        others = min(other.value for other in parts if other is not part)
        before = part.value
        work(part, min(left, TURN * total), _with_room(others), rounds)
        if part.value <= before * (1 + 1e-6) and left < 0.5 * total:
            break


def _with_room(value: float) -> float:
    """Return a little more than a value that another part may rise to."""
    return value + ROOM * abs(value)


def _one_case(
    instance: Instance,
    part: _Part,
    seconds: float,
    threads: int,
    completions: Mapping[int, int] | None,
    rounds: tuple[int, int],
    uniform: int | None,
    began: float,
    enough: float,
    start: SplitResult | _Earlier | None,
    first: tuple[SplitProblem, Any] | None,
    progress: Callable[[float], None] | None,
    should_stop: Callable[[], bool] | None,
) -> tuple[SplitProblem, Ascent, tuple[float, int]]:
    """Ascend in one case; ``enough`` is without the constant. Return also (tardiness, jobs beyond)."""
    until = time.perf_counter() + seconds
    constant = float(instance.constant_cost)

    def satisfied(value: float) -> bool:
        if progress is not None:
            progress(value + constant)
        return value > enough

    small = len(instance.jobs) <= FULL_WINDOWS
    if start is None:
        problem = build_problem(
            instance,
            part.case,
            uniform=40 if small else 0,
            completions_ms=completions,
            partition=part.partition,
        )
        state, chosen = _ascend(
            problem,
            Ascent(_better_start(problem, first, threads)),
            threads,
            (0.0, 0.0),
            rounds[0],
            0.4 * seconds,
            began,
            satisfied,
            should_stop,
        )
        if satisfied(state.value):
            return problem, state, chosen
    else:
        problem, state = start.problem, Ascent(start.prices, step=start.step)
        chosen = _look(problem, state.prices, threads)
    count = (160 if small else UNIFORM_POINTS) if uniform is None else uniform
    fine = build_problem(
        instance,
        part.case,
        uniform=count,
        completions_ms=completions,
        widen=_wider(problem, state.prices, threads),
        partition=part.partition,
    )
    refined = Ascent(transfer(problem, state.prices, fine), history=state.history, step=state.step)
    # Going on from an earlier result needs smaller steps: large ones lose what was reached.
    steps = (state.step * (FINE_FIRST if start is None else FINE_FIRST / 3), state.step * FINE_LAST)
    refined, new = _ascend(
        fine,
        refined,
        threads,
        steps,
        rounds[1],
        # What laying the grids took is taken off here, so that the whole keeps to its time.
        until - time.perf_counter(),
        began,
        satisfied,
        should_stop,
    )
    return (fine, refined, new) if refined.value >= state.value else (problem, state, chosen)


def _better_start(
    problem: SplitProblem, first: tuple[SplitProblem, Any] | None, threads: int
) -> Any:
    """Return the better of the given prices, the chord price of power, and none (the constant alone).

    Prices of an LP that ran out of time can be far too high.
    """
    chord = problem.start_prices()
    if first is None:
        return chord
    evaluator = Evaluator(problem, threads=threads, parts=ASCEND_PARTS)
    try:
        starts = (transfer(*first, problem), chord, np.zeros_like(chord))
        return max(starts, key=evaluator)
    finally:
        evaluator.close()


def _ascend(
    problem: SplitProblem,
    state: Ascent,
    threads: int,
    steps: tuple[float, float],
    rounds: int,
    seconds: float,
    began: float,
    satisfied: Any,
    should_stop: Callable[[], bool] | None,
) -> tuple[Ascent, tuple[float, int]]:
    evaluator = Evaluator(problem, threads=threads, parts=ASCEND_PARTS)
    try:
        state.value = max(state.value, evaluator(state.prices))
        if steps[0] == 0.0:
            steps = _try_steps(problem, evaluator, state, 0.2 * seconds, should_stop)
        ascend(
            problem,
            evaluator,
            state,
            steps=steps,
            rounds=rounds,
            seconds=max(seconds, 0.01),
            started=began,
            report=satisfied,
            should_stop=should_stop,
        )
        evaluator(state.prices)
        return state, (float(evaluator.late.sum()), int((evaluator.ending == -2).sum()))
    finally:
        evaluator.close()


def _try_steps(
    problem: SplitProblem,
    evaluator: Evaluator,
    state: Ascent,
    seconds: float,
    should_stop: Callable[[], bool] | None,
) -> tuple[float, float]:
    """Return the first and last step of the coarse ascent: power and tardiness may differ in scale."""
    best = -np.inf
    start = state.prices
    # One step before the clock runs, so that compiling takes no trial's time.
    ascend(problem, evaluator, Ascent(start), steps=(1e-9, 1e-9), rounds=1, seconds=1e-9)
    power = max((float(kind.cost.max()) for kind in problem.kinds), default=0.0)
    factor = power / max(problem.step_scale, 1e-300)
    # Where a minute of lateness costs far more than one of power, prices may be of either size.
    tried = [*TRIAL_STEPS, *(step * factor for step in TRIAL_STEPS if 0 < factor < FAR_BELOW)]
    for step in tried:
        trial = Ascent(start)
        share = max(seconds / len(tried), 0.01)
        steps = (step, step * COARSE_LAST)
        ascend(
            problem,
            evaluator,
            trial,
            steps=steps,
            rounds=TRIAL_ROUNDS,
            seconds=share,
            should_stop=should_stop,
        )
        if trial.value > best:
            best, state.step = trial.value, step
        if trial.value > state.value:
            state.value, state.prices = trial.value, trial.prices
    return state.step, state.step * COARSE_LAST


def _look(problem: SplitProblem, prices: Any, threads: int) -> tuple[float, int]:
    evaluator = Evaluator(problem, threads=threads, parts=ASCEND_PARTS)
    try:
        evaluator(prices)
        return float(evaluator.late.sum()), int((evaluator.ending == -2).sum())
    finally:
        evaluator.close()


def _wider(problem: SplitProblem, prices: Any, threads: int) -> Sequence[float]:
    """Return twice the margin for jobs that preferred to end beyond their window."""
    evaluator = Evaluator(problem, threads=threads, parts=ASCEND_PARTS)
    try:
        evaluator(prices)
        return [2.0 if end == -2 else 1.0 for end in evaluator.ending]
    finally:
        evaluator.close()

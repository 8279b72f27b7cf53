"""The steps of a run: each solver or bound with live progress, a deadline and an answer to Ctrl-C.

A step returns a result; what it needs and lacks (a package, an assumption) is the reason of a skip.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from migopt.bounds.closed_form import ClosedForm
from migopt.bounds.solver import BoundSolver
from migopt.bounds.split.solver import ascent_seconds
from migopt.certificates.board import Board
from migopt.certificates.clock import Clock
from migopt.errors import MigoptError
from migopt.model import Instance
from migopt.results import Budget, Outcome, SolveResult, StopReason, TrajectoryPoint
from migopt.schedulers import parse_policy

#: Up to this many jobs the completions of the best schedule widen the bound's windows.
FULL_PLANS = 50
#: From more jobs on a policy's best partition is looked for one by one.
MANY_JOBS = 1000
#: From so many jobs to so many the ascent begins at the prices of the day LP, in this share of the time.
LP_FROM, LP_TO, LP_SHARE = 50, 1500, 0.2
#: Policies in the order in which they are tried while their time lasts.
POLICIES = (
    "edf_ss+best_fixed",
    "edf_ss_restricted+best_fixed",
    "edf_fs+best_fixed",
    "edf_fs+no_mig",
    "edf_ss_nonpreemptive+best_fixed",
    "edf_fs_nonpreemptive+best_fixed",
    "sjf+best_fixed",
    "edf_ss_restricted+day_night",
    "edf_ss_restricted+look_ahead",
    "llf+best_fixed",
    "lalf+best_fixed",
    "fifo+best_fixed",
)
#: The same where there are several GPUs: rules that see them as such come first.
CLUSTER_POLICIES = ("edf_mp+best_fixed", "met+best_fixed", "cedf+best_fixed", *POLICIES)


def closed_form(board: Board, _seconds: float, _budget: Budget) -> SolveResult:
    """Return the closed-form bound with its parts."""
    result = BoundSolver(ClosedForm()).solve(board.instance, Budget())
    if result.lower is None:
        return result
    late = result.detail["weighted_tardiness_ms"] / (60_000 * board.instance.total_weight)
    tardiness = late / (1 + float(board.instance.weight_a))
    parts = {"tardiness_part": tardiness, "energy_part": result.lower - tardiness}
    return _with_detail(result, parts)


def policies(board: Board, seconds: float, budget: Budget) -> SolveResult:
    """Return the cheapest schedule of the policies; those that do not apply are passed over."""
    began = time.perf_counter()
    instance = board.instance
    texts = _texts(instance)
    best: tuple[Any, Any, str] | None = None
    tried, reasons, longest = 0, [], 0.0
    for text in texts:
        now = time.perf_counter()
        # The schedule that is kept is checked once more when the step is over.
        if board.clock.over() or (best and now - began + longest + board.judge_s > seconds):
            break
        try:
            schedule = parse_policy(text).run(instance, seed=budget.seed)
        except MigoptError as error:
            reasons.append(str(error))
            continue
        tried += 1
        found = board.judge(text, SolveResult(Outcome.FEASIBLE, StopReason.FINISHED, schedule))
        longest = max(longest, time.perf_counter() - now)
        if found.violations or found.metrics is None:
            reasons.append(f"{text}: {found.claim_error}")
            continue
        cost = found.metrics.cost_exact
        if best is None or cost < best[0]:
            best = (cost, schedule, text)
            board.live("policies", float(cost), None)
    wall = time.perf_counter() - began
    if best is None:
        message = reasons[0] if reasons else "no policy was tried"
        # Policies keep partitions or follow rules; that none of them ran every job proves nothing.
        return SolveResult(Outcome.NOTHING, StopReason.FINISHED, wall_s=wall, message=message)
    message = f"{best[2]}, the best of {tried} policies"
    return SolveResult(Outcome.FEASIBLE, StopReason.FINISHED, best[1], wall_s=wall, message=message)


def _texts(instance: Instance) -> list[str]:
    """Return the policies to try; with many jobs each partition is one of its own, to be able to stop."""
    texts = CLUSTER_POLICIES if len(instance.gpus) > 1 else POLICIES
    if len(instance.jobs) <= MANY_JOBS:
        return list(texts)
    catalogue = instance.catalogue(0)
    # Partitions of about three slices do well on most days.
    numbers = sorted(range(1, len(catalogue) + 1), key=lambda n: abs(len(catalogue[n]) - 3))
    found = []
    for text in texts:
        rule, _, partition = text.partition("+")
        fixed = partition == "best_fixed"
        found += [f"{rule}+static:{number}" for number in numbers] if fixed else [text]
    return found


def interval_milp(board: Board, seconds: float, budget: Budget) -> SolveResult:
    """Return the interval MILP's result, started from the best schedule in hand."""
    from migopt.exact.interval_milp import IntervalMilp

    solver = IntervalMilp(
        hint=board.schedule,
        progress=lambda p: board.live("interval_milp", p.upper, p.lower, p.note),
        should_stop=board.clock.over,
    )
    return solver.solve(board.instance, _within(budget, seconds))


def cpsat(board: Board, seconds: float, budget: Budget) -> SolveResult:
    """Return CP-SAT's result; its bound counts only where its class is the instance's."""
    from migopt.exact.cpsat import CpSat

    def tell(point: TrajectoryPoint) -> None:
        board.live("cpsat", point.upper, None)

    with board.clock.raising():
        solver = CpSat("free", hint=board.schedule, on_event=tell)
        found: SolveResult = solver.solve(board.instance, _within(budget, seconds))
        return found
    return _nothing("interrupted")


def day_plan(board: Board, seconds: float, budget: Budget) -> SolveResult:
    """Return the clairvoyant day plan."""
    from migopt.exact.day_plan import DayPlan

    with board.clock.raising():
        plan = DayPlan(progress=lambda _, cost: board.live("day_plan", cost, None))
        return plan.solve(board.instance, _within(budget, seconds))
    return _nothing("interrupted before a plan was found")


def split_bound(board: Board, seconds: float, budget: Budget) -> tuple[SolveResult, Any]:
    """Return the splitting bound, and its prices for shares of busy periods."""
    from migopt.bounds.split import split_bound as ascend

    instance, clock = board.instance, board.clock
    began = time.perf_counter()
    first = _lp_prices(board, clock, seconds)
    left = seconds - (time.perf_counter() - began)
    found = ascend(
        instance,
        seconds=ascent_seconds(instance, max(left, 0.05)),
        threads=budget.threads,
        completions_ms=board.completions_ms if len(instance.jobs) <= FULL_PLANS else None,
        first_prices=first,
        progress=lambda value: board.live("split_bound", None, value),
        should_stop=lambda: clock.interrupted,
    )
    detail = {
        "multipliers": [item.to_dict() for item in found.multipliers],
        "tardiness_part": found.tardiness_part,
        "energy_part": found.value - found.tardiness_part,
    }
    result = SolveResult(
        Outcome.BOUND_ONLY,
        StopReason.INTERRUPTED if clock.interrupted else StopReason.TIME_LIMIT,
        lower=found.value,
        proof="multipliers",
        wall_s=time.perf_counter() - began,
        engine="migopt split bound",
        detail=detail,
    )
    return result, found


def _lp_prices(board: Board, clock: Clock, seconds: float) -> tuple[Any, ...]:
    if not LP_FROM <= len(board.instance.jobs) <= LP_TO or clock.interrupted:
        return ()
    try:
        from migopt.exact.lp_bound import lp_prices

        with clock.raising():
            return tuple(lp_prices(board.instance, LP_SHARE * seconds))
    except ImportError:
        pass  # without HiGHS the ascent begins at the chord price of power
    return ()


def _within(budget: Budget, seconds: float) -> Budget:
    return Budget(max(seconds, 0.05), budget.gap, budget.threads, budget.seed)


def _nothing(message: str) -> SolveResult:
    return SolveResult(Outcome.NOTHING, StopReason.INTERRUPTED, message=message)


def _with_detail(result: SolveResult, more: dict[str, Any]) -> SolveResult:
    return replace(result, detail={**result.detail, **more})

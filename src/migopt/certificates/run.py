"""One run: which steps, in which order, with which share of the time; then the certificate.

One GPU, up to 20 jobs: the splitting bound, for a proof that anyone can check; then the interval MILP,
before it CP-SAT where jobs may not be stopped; a day plan if a gap is left. More jobs on one GPU: half
of the time for the splitting bound, the rest for the day plan. Several GPUs: CP-SAT where it covers
the case, the splitting bound, then the policies that see them as a cluster.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from migopt.certificates import steps
from migopt.certificates.board import Board, Progress
from migopt.certificates.certificate import Certificate
from migopt.certificates.clock import Clock
from migopt.errors import InfeasiblePartitionError, MigoptError, MissingExtraError
from migopt.io import instance_digest, load
from migopt.metrics.periods import gap_by_period
from migopt.model import Instance
from migopt.registry import find_entry
from migopt.results import Budget, Outcome, SolveResult

DEFAULT_SECONDS = 60.0
#: Steps that look at every partition there is: where one finds none for every job, there is no schedule.
PROVING = ("cpsat", "interval_milp", "day_plan")
#: Kept at the end for checking, scoring and gaps by period: so many seconds and so many times what checking a
#: schedule took before; at most this share of the limit.
LAST_S, LAST_TIMES, LAST_SHARE = 0.1, 4.0, 0.05


@dataclass(frozen=True)
class Step:
    """A solver, its share of what time is left, and the least seconds that are any use to it."""

    name: str
    run: Callable[[Board, float, Budget], Any]
    share: float
    least_s: float = 0.0
    #: Whether it is left out once upper and lower meet.
    only_open: bool = False


def certify(
    instance: Instance | str | Path,
    *,
    time_limit_s: float | None = DEFAULT_SECONDS,
    threads: int = 1,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Certificate:
    """Find the best schedule and lower bounds of an instance within a wall time, with their proofs.

    Ctrl-C ends the run with the best so far.

    Parameters
    ----------
    instance : Instance or path
    time_limit_s : float, optional
        Wall seconds for the whole run; 60 by default. Compiling (once per version of migopt) comes
        before and is reported as ``prepare_s``.
    threads, seed : int
    progress : callable, optional
        Called with a ``Progress`` now and then.

    Raises
    ------
    InputError
        The file or a limit cannot be used.
    CertificateError
        A solver claimed what cannot be true.
    """
    budget = Budget(time_limit_s, 0.0, threads, seed)
    problem = instance if isinstance(instance, Instance) else load(instance)
    began = time.perf_counter()
    prepared = _compile(problem)
    clock = Clock(DEFAULT_SECONDS if time_limit_s is None else time_limit_s)
    clock.began -= 0.0 if prepared else time.perf_counter() - began
    prepare_s = time.perf_counter() - began if prepared else 0.0
    board = Board(problem, clock, progress)
    bound: Any = None
    with clock.catching():
        board.infeasible = _no_schedule(problem)
        for step in _steps(problem):
            bound = _run(step, board, replace(budget, time_limit_s=None)) or bound
        periods = _periods(board, bound)
    return _certificate(board, periods, time_limit_s, prepare_s)


def _no_schedule(instance: Instance) -> str:
    """Return why no legal schedule exists, '' where that is not plain from the partitions of one GPU."""
    if len(instance.gpus) != 1 or instance.repartition.scope != "never":
        return ""
    from migopt.exact.partition_classes import why_no_partition

    return why_no_partition(instance) or ""


def _steps(instance: Instance) -> list[Step]:
    jobs = len(instance.jobs)
    bound_s = 0.3 if jobs <= 20 else 1.0 + 0.002 * jobs
    closed = Step("closed_form", steps.closed_form, 0.0)
    first = [closed, Step("policies", steps.policies, 0.15)]
    if not jobs:
        return first
    free = instance.preemption.mode == "free" and all(job.preemptible for job in instance.jobs)
    cp = Step("cpsat", steps.cpsat, 0.4, 0.5, only_open=True)
    if len(instance.gpus) > 1:
        # Simulating a cluster takes its time, and the bound is what takes most of it.
        most = Step("split_bound", steps.split_bound, 0.75, bound_s)
        return [closed, cp, most, Step("policies", steps.policies, 1.0)]
    if jobs > 20:
        half = Step("split_bound", steps.split_bound, 0.5, bound_s)
        plan = Step("day_plan", steps.day_plan, 1.0, 1.0 + 0.004 * jobs)
        return [*first, half, plan] if free else [*first, cp, half]
    # The proof that anyone can check comes first: what loading compiled code takes is then made up for.
    first.append(Step("split_bound", steps.split_bound, 0.3, bound_s))
    if free:
        return [
            *first,
            Step("interval_milp", steps.interval_milp, 0.85, 0.2, only_open=True),
            Step("day_plan", steps.day_plan, 1.0, 0.3, only_open=True),
        ]
    return [
        *first,
        Step("cpsat", steps.cpsat, 0.5, 0.2, only_open=True),
        Step("interval_milp", steps.interval_milp, 1.0, 0.2, only_open=True),
    ]


def _run(step: Step, board: Board, budget: Budget) -> Any:
    """Run one step if it applies and time is left; return the splitting bound's prices, if it is that."""
    clock = board.clock
    if board.infeasible and step.name != "closed_form":
        board.skip(step.name, str(Outcome.INFEASIBLE_PARTITION), "no schedule exists")
        return None
    reason = _why_not(step, board)
    if reason:
        board.skip(step.name, str(Outcome.NOT_APPLICABLE), reason)
        return None
    kept = min(LAST_S + LAST_TIMES * board.judge_s, LAST_SHARE * (clock.deadline - clock.began))
    seconds = max(0.0, clock.left - kept) * step.share
    if step.share and seconds < step.least_s:
        why = "interrupted" if clock.interrupted else f"{seconds:.1f} s left are too few"
        board.skip(step.name, "skipped", why)
        board.too_late = True
        return None
    if step.only_open and (board.closed or board.optimal):
        why = "upper and lower already meet" if board.closed else "proven optimal before rounding"
        board.skip(step.name, "skipped", why)
        return None
    board.live(step.name, None, None)
    began = time.perf_counter()
    try:
        found = step.run(board, seconds, budget)
    except InfeasiblePartitionError as error:
        board.skip(step.name, str(Outcome.INFEASIBLE_PARTITION), str(error))
        return None
    except KeyboardInterrupt:
        clock.interrupted = True
        board.skip(step.name, "skipped", "interrupted")
        return None
    except MigoptError as error:
        board.skip(step.name, str(Outcome.NOT_APPLICABLE), str(error))
        return None
    except Exception as error:
        # One step's fault must not lose the bounds of the others; it is told with the rest.
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        board.skip(step.name, "error", f"{type(error).__name__}: {error} ({where})")
        return None
    result, prices = found if isinstance(found, tuple) else (found, None)
    if isinstance(result, SolveResult) and not result.wall_s:
        result = replace(result, wall_s=time.perf_counter() - began)
    board.take(step.name, result)
    if step.name in PROVING and result.outcome is Outcome.INFEASIBLE_PARTITION:
        board.infeasible = result.message
    return prices


def _why_not(step: Step, board: Board) -> str:
    """Return why a step does not apply: the reason of the solver of that name, or a missing package."""
    if step.name in ("policies", "closed_form"):
        return ""
    try:
        reason: str | None = find_entry(step.name).load().applies(board.instance)
    except MissingExtraError as error:
        # Without an LP solver the ascent begins at the chord price; it needs none.
        return "" if step.name == "split_bound" else str(error)
    except MigoptError as error:
        return str(error)
    return reason or ""


#: A compiled function of each part that a run uses, by the name of its file in the cache.
COMPILED = {"bounds": "job_part.*", "exact": "search.*", "sim": "kernel.*"}


def _compile(instance: Instance) -> bool:
    """Compile what is not in the cache, by steps on three jobs, and tell whether that had to be done."""
    from migopt.compiled import cache_folder

    folders = [(Path(cache_folder(part)), name) for part, name in COMPILED.items()]
    if all(any(folder.rglob(f"{name}.nbi")) for folder, name in folders) or not instance.jobs:
        return False
    few = instance.replace(jobs=instance.jobs[:3])
    board = Board(few, Clock(600.0), None)
    for step in _steps(instance):
        if step.run is not steps.interval_milp and not _why_not(step, board):
            with contextlib.suppress(MigoptError):
                step.run(board, 0.3, Budget(0.3))
    return True


def _periods(board: Board, bound: Any) -> tuple[Any, ...]:
    """Return costs and gap by busy period, where there is one GPU and both sides are known."""
    if bound is None or board.schedule is None or len(board.instance.gpus) != 1:
        return ()
    from migopt.bounds.split import bound_shares

    shares = bound_shares(board.instance, bound.multipliers, bound.value)
    found = gap_by_period(board.instance, board.schedule, shares)
    return tuple(period.as_dict() for period in found)


def _certificate(
    board: Board, periods: tuple[Any, ...], limit: float | None, prepare_s: float
) -> Certificate:
    metrics, clock = board.metrics, board.clock
    # Steps end a little before the deadline.
    late = board.too_late or clock.left <= 2 * LAST_SHARE * (clock.deadline - clock.began)
    late = late and not board.closed and not board.optimal
    stop = "interrupted" if clock.interrupted else ("time_limit" if late else "finished")
    return Certificate(
        board.instance,
        instance_digest(board.instance),
        board.schedule,
        board.upper,
        board.upper_by,
        None if metrics is None else metrics.energy_cost,
        None if metrics is None else metrics.tardiness_cost,
        tuple(board.bounds.values()),
        tuple(board.stages),
        periods,
        stop,
        board.infeasible if board.schedule is None else "",
        limit,
        round(prepare_s, 3),
        round(clock.spent, 3),
        _versions(),
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _versions() -> dict[str, str]:
    found = {}
    for name in ("migopt", "numpy", "numba", "highspy", "ortools"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found

"""Playing rules: on the compiled simulator where both rules are built in, on the reference otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

from migopt.errors import NotApplicableError
from migopt.metrics import Metrics, measure
from migopt.model import Instance, Schedule
from migopt.sim import Dispatcher, Partitioner, simulate

Engine = Literal["auto", "reference", "compiled"]
ENGINES: tuple[Engine, ...] = ("auto", "reference", "compiled")
#: Below this many jobs the reference is done about when compiled code is loaded from disk, and long
#: before it is compiled on a machine that has not done so yet.
FEW_JOBS = 2000


def play(
    instance: Instance,
    dispatcher: Dispatcher,
    partitioner: Partitioner,
    *,
    seed: int = 0,
    engine: Engine = "auto",
) -> Schedule:
    """Simulate two rules; both engines return the same schedule.

    Parameters
    ----------
    engine : str
        ``compiled`` (NotApplicableError where a rule has no compiled body), ``reference``, or
        ``auto``: compiled where it is possible and worth loading.
    """
    run = _compiled_run(instance, dispatcher, partitioner, seed, engine, record=True)
    if run is None:
        return simulate(instance, dispatcher, partitioner, seed=seed)
    schedule: Schedule = run.play().schedule()
    return schedule


def score(
    instance: Instance,
    dispatcher: Dispatcher,
    partitioner: Partitioner,
    *,
    seed: int = 0,
    engine: Engine = "auto",
    jobs: bool = True,
) -> Metrics:
    """Simulate two rules and return only the figures of their schedule.

    Without ``jobs`` the figures that need a look at every job (``p95_jct_ms``,
    ``mean_relative_jct``, ``stp``) may be left 0, which is faster.
    """
    run = _compiled_run(instance, dispatcher, partitioner, seed, engine, record=False)
    if run is None:
        return measure(instance, simulate(instance, dispatcher, partitioner, seed=seed))
    metrics: Metrics = run.play().metrics(jobs=jobs)
    return metrics


def compiled_run(
    instance: Instance, dispatcher: Dispatcher, partitioner: Partitioner, seed: int
) -> Any:
    """Return a recorded run of the kernel, not yet played, or None where it has no such rules."""
    import migopt.sim.compiled  # noqa: F401  (loaded, it serves runs of any length)

    return _compiled_run(instance, dispatcher, partitioner, seed, "auto", record=True)


def _compiled_run(
    instance: Instance,
    dispatcher: Any,
    partitioner: Any,
    seed: int,
    engine: Engine,
    *,
    record: bool,
) -> Any:
    """Return a run of the kernel, or None where the reference shall play."""
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {ENGINES}, not {engine!r}")
    if engine == "reference":
        return None
    rule = getattr(dispatcher, "compiled", None)
    plan: Callable[[Instance], Any] | None = getattr(partitioner, "plan", None)
    if rule is None or plan is None:
        if engine == "compiled":
            which = dispatcher if rule is None else partitioner
            raise NotApplicableError(f"{type(which).__name__} has no compiled body")
        return None
    loaded = "migopt.sim.compiled" in sys.modules
    few = getattr(partitioner, "few_jobs", FEW_JOBS)
    if engine == "auto" and not loaded and len(instance.jobs) < few:
        return None
    from migopt.sim.arrays import arrays_of
    from migopt.sim.compiled import CompiledRun

    chosen = plan(instance)
    try:
        arrays = arrays_of(instance)
    except NotApplicableError:
        if engine == "compiled":
            raise
        return None
    return CompiledRun(arrays, rule, chosen, seed=seed, record=record)

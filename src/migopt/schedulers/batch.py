"""Many simulations from one call: days x seeds x policies on all cores, as arrays and as records."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from migopt.errors import (
    InfeasiblePartitionError,
    InputError,
    MigoptError,
    NotApplicableError,
    PolicyError,
)
from migopt.metrics import Metrics
from migopt.model import Instance
from migopt.schedulers.policy import Policy, parse_policy, rule_failure
from migopt.units import MS_PER_MINUTE, UJ_PER_WMIN

if TYPE_CHECKING:
    import numpy as np

#: Figures per run, in this order; those that are exact integers stay so.
FIGURES = (
    "cost",
    "energy_uj",
    "weighted_tardiness_ms",
    "total_tardiness_ms",
    "max_tardiness_ms",
    "jobs_late",
    "makespan_ms",
    "total_jct_ms",
    "preemptions",
    "repartitions",
    "jobs",
)
#: Called with (runs done, all runs).
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Day:
    """A generated instance by name, so that workers make it themselves.

    Attributes
    ----------
    scenario : str
        As ``migopt generate`` takes it.
    seed : int
    parameters : dict
    """

    scenario: str
    seed: int
    parameters: dict[str, Any] = field(default_factory=dict)

    def instance(self) -> Instance:
        """Generate the instance."""
        from migopt.io.generators import generate

        return generate(self.scenario, seed=self.seed, **self.parameters)

    @property
    def name(self) -> str:
        """Scenario and seed, for records."""
        return f"{self.scenario}:{self.seed}"


@dataclass(frozen=True)
class BatchResult:
    """What came out, one row per run: days outermost, then run seeds, then policies.

    Attributes
    ----------
    days, seeds, policies : tuple
        The axes.
    outcome : list of str
        Per run ``ok``, or why there are no figures: ``infeasible_partition``, ``not_applicable``.
    columns : dict of arrays
        ``FIGURES``, each of shape (days, seeds, policies): ``cost`` float (NaN without figures), the
        others int64 (-1 without). Times in ms, energy in microjoules.
    """

    days: tuple[str, ...]
    seeds: tuple[int, ...]
    policies: tuple[str, ...]
    outcome: list[str]
    columns: dict[str, np.ndarray[Any, Any]]

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield one flat record per run, None where there is no figure."""
        shape = (len(self.days), len(self.seeds), len(self.policies))
        flat = {name: column.reshape(-1).tolist() for name, column in self.columns.items()}
        for run, outcome in enumerate(self.outcome):
            day, rest = divmod(run, shape[1] * shape[2])
            seed, policy = divmod(rest, shape[2])
            figures = {
                name: column[run] if outcome == "ok" else None for name, column in flat.items()
            }
            names = {
                "day": self.days[day],
                "seed": self.seeds[seed],
                "policy": self.policies[policy],
            }
            yield names | {"outcome": outcome} | figures

    def means(self) -> list[dict[str, Any]]:
        """Return per policy the means over its runs with figures, and how many these are.

        ``mean_cost``; ``mean_tardiness_min``: per job; ``mean_energy_wmin``: None without power.
        """
        import numpy as np

        rows = []
        for number, policy in enumerate(self.policies):
            column = {name: values[:, :, number].ravel() for name, values in self.columns.items()}
            good = ~np.isnan(column["cost"])
            jobs = int(column["jobs"][good].sum())
            energy = column["energy_uj"][good & (column["energy_uj"] >= 0)]
            late = int(column["total_tardiness_ms"][good].sum())
            rows.append(
                {
                    "policy": policy,
                    "runs": int(good.sum()),
                    "mean_cost": float(column["cost"][good].mean()) if good.any() else None,
                    "mean_tardiness_min": late / jobs / MS_PER_MINUTE if jobs else None,
                    "mean_energy_wmin": float(energy.mean()) / UJ_PER_WMIN if len(energy) else None,
                }
            )
        return rows


def run_batch(
    days: Iterable[Day | Instance],
    policies: Sequence[str],
    *,
    seeds: Sequence[int] = (0,),
    workers: int | None = None,
    progress: Progress | None = None,
) -> BatchResult:
    """Simulate every policy on every day, with every run seed; figures only.

    Parameters
    ----------
    days : iterable of Day or Instance
    policies : sequence of str
        ``dispatch+partition``.
    seeds : sequence of int
        Seeds of rules that draw.
    workers : int, optional
        Processes; as many as there are cores by default. Results do not depend on it.
    progress : callable, optional
        Called as runs end.

    Raises
    ------
    InputError, UnknownNameError
        A policy or scenario that does not exist; raised before anything runs.
    PolicyError
        A rule decided something illegal, or failed; the message names the day.
    """
    import numpy as np

    given, texts, drawn = list(days), list(policies), list(seeds)
    if not texts or not drawn:
        raise InputError("a batch needs at least one policy and one seed")
    for text in texts:
        parse_policy(text)
    _refuse_unknown_days(given)
    each = len(texts) * len(drawn)
    flat: list[_Row] = [("", [])] * (len(given) * each)
    done = 0
    for first, rows in _all_runs(given, texts, drawn, workers or os.cpu_count() or 1):
        flat[first : first + len(rows)] = rows
        done += len(rows)
        if progress is not None:
            progress(done, len(flat))
    shape = (len(given), len(drawn), len(texts))
    columns = {
        name: np.array(
            [figures[i] for _, figures in flat], float if name == "cost" else np.int64
        ).reshape(shape)
        for i, name in enumerate(FIGURES)
    }
    names = tuple(day.name for day in given)
    return BatchResult(names, tuple(drawn), tuple(texts), [text for text, _ in flat], columns)


#: What came out of one run: its outcome and its figures.
_Row = tuple[str, list[Any]]


def _refuse_unknown_days(days: list[Day | Instance]) -> None:
    from migopt.io.generators import check_parameters

    seen = set()
    for day in days:
        if isinstance(day, Day) and (key := (day.scenario, repr(day.parameters))) not in seen:
            seen.add(key)
            check_parameters(day.scenario, day.parameters)


def _all_runs(
    days: list[Day | Instance], policies: list[str], seeds: list[int], workers: int
) -> Iterator[tuple[int, list[_Row]]]:
    """Yield (number of the first run, rows of some runs in a row) as they come."""
    each = len(policies) * len(seeds)
    # Runs of one day share its instance; a few days are cut so that every core has work.
    cuts = min(each, -(-3 * workers // max(1, len(days)))) if workers > 1 else 1
    edges = [each * cut // cuts for cut in range(cuts + 1)]
    pieces = [
        (number * each + first, day, range(first, last))
        for number, day in enumerate(days)
        for first, last in pairwise(edges)
    ]
    if min(workers, len(pieces)) <= 1:
        for first, day, some in pieces:
            yield from (
                (first + i, [row]) for i, row in enumerate(_rows(day, policies, seeds, some))
            )
        return
    # Compiled code and threads of libraries do not survive a fork everywhere.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(pieces)), context, initializer=_ignore_interrupts)
    try:
        yield from _from_workers(pool, pieces, policies, seeds, 3 * workers)
    except BrokenProcessPool:
        raise MigoptError(
            "a worker process of the batch has died, perhaps for want of memory; try fewer workers"
        ) from None
    except BaseException:
        # An error or an interrupt: what is under way is of no use to anyone.
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown()


def _from_workers(
    pool: ProcessPoolExecutor,
    pieces: list[tuple[int, Day | Instance, range]],
    policies: list[str],
    seeds: list[int],
    most: int,
) -> Iterator[tuple[int, list[_Row]]]:
    waiting: dict[Future[list[_Row]], int] = {}
    left = iter(pieces)
    while True:
        # A short queue, so that thousands of instances are not all pickled at once.
        while len(waiting) < most and (piece := next(left, None)) is not None:
            first, day, some = piece
            waiting[pool.submit(_piece, day, policies, seeds, some)] = first
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), future.result()


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent: a worker that dies of it may hold a lock that others wait for."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _piece(day: Day | Instance, policies: list[str], seeds: list[int], some: range) -> list[_Row]:
    return list(_rows(day, policies, seeds, some))


def _rows(
    day: Day | Instance, policies: list[str], seeds: list[int], some: range
) -> Iterator[_Row]:
    """Yield the rows of some runs of a day: run seeds outermost, then policies."""
    # Loaded compiled code is used for every run, however short.
    importlib.import_module("migopt.sim.compiled")
    instance = day if isinstance(day, Instance) else day.instance()
    parsed = [parse_policy(text) for text in policies]
    for run in some:
        seed, policy = divmod(run, len(parsed))
        yield _one_run(instance, parsed[policy], seeds[seed])


def _one_run(instance: Instance, policy: Policy, seed: int) -> _Row:
    nothing = [float("nan"), *[-1] * (len(FIGURES) - 1)]
    try:
        metrics = policy.score(instance, seed=seed, jobs=False)
    except InfeasiblePartitionError:
        return "infeasible_partition", nothing
    except NotApplicableError:
        return "not_applicable", nothing
    except PolicyError as error:
        raise PolicyError(f"{instance.name}, {policy.text}: {error}") from None
    except MigoptError:
        raise
    except Exception as error:
        failure = rule_failure(policy.text, error)
        raise PolicyError(f"{instance.name}: {failure}") from error
    return "ok", _figures(metrics)


def _figures(metrics: Metrics) -> list[Any]:
    values = [getattr(metrics, name) for name in FIGURES]
    return [-1 if value is None else value for value in values]

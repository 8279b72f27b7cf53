"""Many simulations from one call: days x seeds x policies on all cores, as arrays and as records."""

from __future__ import annotations

import importlib
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from migopt.errors import InfeasiblePartitionError, InputError, NotApplicableError
from migopt.metrics import Metrics
from migopt.model import Instance
from migopt.schedulers.policy import Policy, parse_policy
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
        Called as days end.

    Raises
    ------
    InputError, UnknownNameError
        A policy or scenario that does not exist.
    """
    import numpy as np

    given, texts = list(days), list(policies)
    if not texts or not seeds:
        raise InputError("a batch needs at least one policy and one seed")
    for text in texts:
        parse_policy(text)
    rows: list[list[tuple[str, list[Any]]]] = [[] for _ in given]
    each = len(texts) * len(seeds)
    for done, (number, row) in enumerate(_all_days(given, texts, list(seeds), workers), 1):
        rows[number] = row
        if progress is not None:
            progress(done * each, len(given) * each)
    shape = (len(given), len(seeds), len(texts))
    flat = [run for row in rows for run in row]
    columns = {
        name: np.array(
            [figures[i] for _, figures in flat], float if name == "cost" else np.int64
        ).reshape(shape)
        for i, name in enumerate(FIGURES)
    }
    names = tuple(day.name for day in given)
    return BatchResult(names, tuple(seeds), tuple(texts), [text for text, _ in flat], columns)


def _all_days(
    days: list[Day | Instance], policies: list[str], seeds: list[int], workers: int | None
) -> Iterator[tuple[int, list[tuple[str, list[Any]]]]]:
    """Yield (number of a day, its runs) as they come."""
    count = min(workers or os.cpu_count() or 1, len(days))
    if count <= 1:
        for number, day in enumerate(days):
            yield number, _one_day(day, policies, seeds)
        return
    # Compiled code and threads of libraries do not survive a fork everywhere.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context) as pool:
        waiting: dict[Future[list[tuple[str, list[Any]]]], int] = {}
        left = iter(enumerate(days))
        while True:
            # A short queue, so that thousands of instances are not all pickled at once.
            for number, day in left:
                waiting[pool.submit(_one_day, day, policies, seeds)] = number
                if len(waiting) >= 3 * count:
                    break
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()


def _one_day(
    day: Day | Instance, policies: list[str], seeds: list[int]
) -> list[tuple[str, list[Any]]]:
    # Loaded compiled code is used for every run, however short.
    importlib.import_module("migopt.sim.compiled")
    instance = day if isinstance(day, Instance) else day.instance()
    parsed = [parse_policy(text) for text in policies]
    return [_one_run(instance, policy, seed) for seed in seeds for policy in parsed]


def _one_run(instance: Instance, policy: Policy, seed: int) -> tuple[str, list[Any]]:
    nothing = [float("nan"), *[-1] * (len(FIGURES) - 1)]
    try:
        metrics = policy.score(instance, seed=seed, jobs=False)
    except InfeasiblePartitionError:
        return "infeasible_partition", nothing
    except NotApplicableError:
        return "not_applicable", nothing
    return "ok", _figures(metrics)


def _figures(metrics: Metrics) -> list[Any]:
    values = [getattr(metrics, name) for name in FIGURES]
    return [-1 if value is None else value for value in values]

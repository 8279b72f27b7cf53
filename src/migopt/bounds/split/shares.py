"""What each job adds to a splitting bound: a diagnosis that goes with any schedule's busy periods.

At given prices the bound is a sum over jobs (the price each pays, and its lateness) less a sum over
intervals (what the GPUs earn). A job's share is its own term less what is earned from its release to
the next one. The jobs of a busy period follow each other in order of release, so the shares of a
period add up to its jobs' terms less what is earned up to the next period, whatever the schedule is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from migopt.bounds.split.evaluate import Evaluator
from migopt.bounds.split.multipliers import Multipliers
from migopt.bounds.split.problem import Floats, problem_on
from migopt.model import Instance
from migopt.units import MS_PER_MINUTE


def bound_shares(
    instance: Instance, proofs: Sequence[Multipliers], lower: float
) -> tuple[float, ...]:
    """Return the shares of the jobs, in order of release (then of ``Instance.jobs``), in units of cost.

    Of several proofs (MIG on and off, or one per partition) the lowest is split, since it decides.
    Prices are evaluated in floats; what the exact value differs by (1e-7 of it) is spread evenly, so
    that the shares add up to ``lower`` less the constant.

    Parameters
    ----------
    instance : Instance
    proofs : sequence of Multipliers
        At least one.
    lower : float
        The bound that they prove, constant included.
    """
    if not instance.jobs:
        return ()
    _, shares = min((_one(instance, proof) for proof in proofs), key=lambda found: found[0])
    left = lower - float(instance.constant_cost) - float(shares.sum())
    return tuple((shares + left / len(shares)).tolist())


def _one(instance: Instance, proof: Multipliers) -> tuple[float, Floats]:
    """Return the value of one proof above the constant, and its shares."""
    case = proof.case
    problem = problem_on(instance, case, proof.grid_ms, proof.first, proof.last, proof.partition)  # type: ignore[arg-type]
    prices = np.ldexp(proof.prices.astype(float), -proof.exponent) * MS_PER_MINUTE
    evaluator = Evaluator(problem, parts=proof.parts)
    try:
        value = evaluator(prices)
    finally:
        evaluator.close()
    grid = problem.grid_ms
    earned = np.concatenate(([0.0], np.cumsum(evaluator.interval_value)))
    releases = np.array([job.release_ms for job in instance.jobs], dtype=np.int64)
    order = np.argsort(releases, kind="stable")
    # What is earned before the first release is the first job's, after the last the last one's.
    cuts = np.concatenate(([0], releases[order][1:], [grid[-1]]))
    upto = np.interp(np.minimum(cuts, grid[-1]), grid, earned)
    return value, evaluator.job_value[order] - np.diff(upto)

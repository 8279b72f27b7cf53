"""On random cases: every bound is at most every exact value, and that at most every policy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migopt.api import solve
from migopt.results import Budget
from migopt.testing.cases import small_instance

POLICIES = (
    "edf_fs+static:1",
    "edf_ss+static:3",
    "edf_ss_restricted+static:6",
    "sjf+static:2",
    "llf+static:4",
    "fifo+no_mig",
)
SAFETY = 1e-9


@pytest.mark.parametrize("seed", range(24))
def test_bound_exact_policy(seed: int) -> None:
    """Closed form <= bound and value of the interval MILP <= every policy, and <= CP-SAT's narrower class."""
    instance = small_instance(
        seed,
        jobs=2 + seed % 4,
        mode=("free", "none", "cost")[seed % 3 if seed % 2 else 0],
        scope=("gpu", "gpu", "never", "slices")[seed % 4],
        tau_ms=(0, 4_000, 30_000)[seed % 3],
        mig_off=seed % 5 == 0,
    )
    if seed % 3:
        instance = instance.replace(
            jobs=tuple(replace(job, preemptible=True) for job in instance.jobs)
        )
    exact = solve(instance, "interval_milp", budget=Budget(4.0, gap=1e-4))
    closed = solve(instance, "closed_form")
    assert exact.claim_error == ""
    assert exact.violations == ()
    assert exact.lower is not None
    values = [exact.upper]
    values += [solve(instance, text).upper for text in POLICIES]
    strict = solve(instance, "cpsat", budget=Budget(3.0))
    assert strict.claim_error == ""
    values.append(strict.upper)
    known = [value for value in values if value is not None]
    assert known
    room = SAFETY * max(1.0, *known)
    if closed.lower is not None:
        assert closed.lower <= min(known) + room
    assert exact.lower <= min(known) + room
    if exact.upper is not None:
        assert exact.upper <= min(known) + room + exact.result.detail.get(
            "tick_allowance", 0.0
        ) or (exact.active_gap is not None and exact.active_gap > 1e-4)

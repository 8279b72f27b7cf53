"""Options and pairs of rules that mean nothing: one clear error each."""

from __future__ import annotations

import pytest

from migopt import generate
from migopt.errors import InputError, NotApplicableError
from migopt.schedulers import parse_policy


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ("edf_fs+rollout:futures=100000", "futures must be at most 500, not 100000"),
        ("edf_fs+receding_horizon:step=1,step=2", "step is given twice"),
        ("edf_fs+look_ahead:first=1,first=2", "first is given twice"),
    ],
)
def test_options_that_mean_nothing_are_refused(policy: str, text: str) -> None:
    """More futures than anybody waits for, and an option with two values."""
    with pytest.raises(InputError, match=text):
        parse_policy(policy)


@pytest.mark.parametrize("rule", ["priced", "rollout", "receding_horizon"])
def test_dispatch_to_slices_needs_slices(rule: str) -> None:
    """Beside ``no_mig`` a joint dispatch rule says that MIG is off instead of failing inside."""
    day = generate("s0-slack", seed=1, jobs=2)
    with pytest.raises(NotApplicableError, match=f"{rule}: .* MIG is off"):
        parse_policy(f"{rule}+no_mig").run(day)

"""What a schedule costs, in integers: the unit of cost, and power split into slices and levels.

With a = P/Q and weights of sum W, the cost (a E + mean tardiness) / (a + 1) times (P + Q) W 60,000,000
is P W E + 1000 Q sum w_j T_j, with E in microjoules and T in milliseconds. Divided by the greatest common
divisor of its coefficients, that is the integer objective; the idle energy over the horizon, a constant,
is left out.

Power above idle of a busy vector n is written as  sum_k alpha_k n_k + sum_l beta_l [level(n) >= l]  with
beta >= 0. The first part is linear in the time that jobs run, known once each job has its group; only the
second needs the time for which level l is reached. alpha = 0 and beta_l = P(l) - P(l - 1) always do for a curve
that does not fall; minimising sum beta makes the part that must be modelled small: on [4g, 3g] of an A100
one level is left of seven.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from migopt.model import Instance
from migopt.units import UJ_PER_WMIN

#: Largest objective the engine's floats carry exactly, with room for its own sums.
EXACT_BELOW = 2**50

Counts = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """Units of the model.

    Attributes
    ----------
    unit_ms : int
        Milliseconds per time unit.
    per_mw : int
        Cost of a milliwatt above idle for one time unit.
    per_late : int
        Cost of a time unit of tardiness of a job of weight 1.
    cost_unit : Fraction
        What one unit of the integer objective is worth in cost.
    """

    unit_ms: int
    per_mw: int
    per_late: int
    cost_unit: Fraction

    @classmethod
    def of(cls, instance: Instance, unit_ms: int) -> Scale:
        """Return the scale of an instance whose times are multiples of ``unit_ms``."""
        energy, rest = instance.weight_a.numerator, instance.weight_a.denominator
        per_mw = energy * instance.total_weight * unit_ms
        per_late = 1000 * rest * unit_ms
        common = math.gcd(per_mw, per_late)
        whole = (energy + rest) * instance.total_weight * UJ_PER_WMIN
        return cls(unit_ms, per_mw // common, per_late // common, Fraction(common, whole))

    def cost(self, instance: Instance, objective: int) -> Fraction:
        """Return the cost of a schedule whose objective is given, idle energy included."""
        return instance.constant_cost + objective * self.cost_unit


def split_power(
    extra: Mapping[Counts, int], levels: Mapping[Counts, int]
) -> tuple[tuple[int, ...], dict[int, int]]:
    """Write power above idle as integers alpha per slice of each group and beta >= 0 per level reached.

    Parameters
    ----------
    extra, levels : Mapping
        Power above idle (in any unit) and busy level of each busy vector; the empty vector is among them.

    Returns
    -------
    alpha : tuple of int
    beta : dict of int to int
        Only the levels with beta > 0.

    Raises
    ------
    ValueError
        No such form exists: power falls where more slices get busy.
    """
    groups = len(next(iter(extra)))
    steps = sorted(set(levels.values()) - {0})
    found = _least_levels(extra, levels, steps, groups)
    if found is not None:
        return found
    at = {0: 0} | {levels[counts]: value for counts, value in extra.items()}
    if any(at[levels[counts]] != value for counts, value in extra.items()):
        raise ValueError("power depends on more than the busy level")
    beta = {}
    for below, level in zip([0, *steps], steps, strict=False):
        beta[level] = at[level] - at[below]
        if beta[level] < 0:
            raise ValueError(f"power falls from level {below} to level {level}")
    return (0,) * groups, {level: step for level, step in beta.items() if step}


def _least_levels(
    extra: Mapping[Counts, int], levels: Mapping[Counts, int], steps: list[int], groups: int
) -> tuple[tuple[int, ...], dict[int, int]] | None:
    """Propose the split by a small linear program, and keep it only if it is exact in integers."""
    import numpy as np
    from scipy.optimize import linprog

    vectors = [counts for counts in extra if any(counts)]
    if not any(extra[counts] for counts in vectors):
        return (0,) * groups, {}
    matrix = [[*counts, *(levels[counts] >= step for step in steps)] for counts in vectors]
    size = max(abs(extra[counts]) for counts in vectors)
    result = linprog(
        [0.0] * groups + [1.0] * len(steps),
        A_eq=np.array(matrix, dtype=float),
        b_eq=[extra[counts] / size for counts in vectors],
        bounds=[(None, None)] * groups + [(0, None)] * len(steps),
    )
    if result.status != 0:
        return None
    # Powers are whole milliwatts, and so is a vertex here: the objective scales them by one factor.
    factor = math.gcd(*(extra[counts] for counts in vectors))
    values = [factor * round(value * size / factor) for value in result.x]
    alpha, beta = values[:groups], dict(zip(steps, values[groups:], strict=True))
    for counts in vectors:
        linear = sum(a * n for a, n in zip(alpha, counts, strict=True))
        reached = sum(step for level, step in beta.items() if levels[counts] >= level)
        if linear + reached != extra[counts]:
            return None
    if min(beta.values()) < 0:
        return None
    return tuple(alpha), {level: step for level, step in beta.items() if step}

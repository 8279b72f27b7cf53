"""Which of the free slots a job takes, by the number of the choice; -1 where it fits on none.

``over``, ``special`` and ``special_over`` are those of ``outlook``: on the special slot the job
goes on without a new resume. Slots of one type are alike but for that one, so the single-GPU
choices look at one slot per type.
"""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.bits import clear_free, first_free, is_free, lowest_bit, next_free, set_free
from migopt.sim.layout import *
from migopt.sim.moves import ceil_div, fit_mask, rate_on
from migopt.sim.rules import CEDF, EDF_MP, MET, SLOWEST_ON_TIME
from migopt.sim.rules.draw import draw_below
from migopt.sim.rules.wide import add, product


@lean
def choose(
    D: Ints, S: Ints, choice: int, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    """Return the free slot that a job takes, -1 if it fits on none."""
    mask = fit_mask(D, job) & S[FREE_TYPES]
    if mask == 0:
        return -1
    if choice <= SLOWEST_ON_TIME:
        alone = special >= 0 and special_over != over and is_free(D, S, special)
        if alone:
            clear_free(D, S, special)
            mask = fit_mask(D, job) & S[FREE_TYPES]
        slot = -1
        if choice == SLOWEST_ON_TIME:
            slot = slowest_on_time(
                D, S, mask, job, left, over, special if alone else -1, special_over
            )
        if slot < 0:
            slot = fastest(D, S, mask, job, left, over, special if alone else -1, special_over)
        if alone:
            set_free(D, S, special)
        return slot
    if choice in (EDF_MP, CEDF):
        return by_gpu(D, S, choice, mask, job, left, over, special, special_over)
    if choice == MET:
        return least_cost(D, S, mask, job, left, over, special, special_over)
    return any_slot(D, S, mask)


@lean
def _rank(D: Ints, slot: int) -> int:
    return D[D[D_SLOT] + slot * SLOT_D + L_RANK]


@lean
def _kind(D: Ints, slot: int) -> int:
    return D[D[D_SLOT] + slot * SLOT_D + L_TYPE]


@lean
def fastest(
    D: Ints, S: Ints, mask: int, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    """Least remaining duration; of equal ones the smaller slot."""
    best, best_ms = -1, 0
    if special >= 0:
        best = special
        best_ms = special_over + ceil_div(left, rate_on(D, job, _kind(D, special)))
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        ms = over + ceil_div(left, rate_on(D, job, kind))
        if best < 0 or ms <= best_ms:
            slot = first_free(D, S, kind)
            if best < 0 or ms < best_ms or _rank(D, slot) < _rank(D, best):
                best, best_ms = slot, ms
    return best


@lean
def slowest_on_time(
    D: Ints, S: Ints, mask: int, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    """Longest remaining duration that is in time; of equal ones the smaller slot."""
    latest = D[D[D_JOB] + job * JOB_D + DUE] - S[NOW]
    best, best_ms = -1, -1
    if special >= 0:
        ms = special_over + ceil_div(left, rate_on(D, job, _kind(D, special)))
        if ms <= latest:
            best, best_ms = special, ms
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        ms = over + ceil_div(left, rate_on(D, job, kind))
        if ms <= latest and ms >= best_ms:
            slot = first_free(D, S, kind)
            if ms > best_ms or best < 0 or _rank(D, slot) < _rank(D, best):
                best, best_ms = slot, ms
    return best


@lean
def by_gpu(
    D: Ints,
    S: Ints,
    choice: int,
    mask: int,
    job: int,
    left: int,
    over: int,
    special: int,
    special_over: int,
) -> int:
    """EDF-MP and CEDF: the first GPU, in the rule's order, with a slot in time; there the slowest."""
    latest = D[D[D_JOB] + job * JOB_D + DUE] - S[NOW]
    best, best_gpu, best_ms = -1, -1, 0
    rest = mask
    while rest != 0:
        kind = lowest_bit(rest)
        rest &= rest - 1
        work_ms = ceil_div(left, rate_on(D, job, kind))
        if work_ms > latest:
            continue
        slot = next_free(D, S, kind, -1)
        while slot >= 0:
            ms = work_ms + (special_over if slot == special else over)
            if ms <= latest:
                gpu = D[D[D_SLOT] + slot * SLOT_D + L_GPU]
                if best < 0:
                    ahead = 1
                elif gpu == best_gpu:
                    ahead = ms - best_ms
                    if ahead == 0:
                        ahead = _rank(D, best) - _rank(D, slot)
                else:
                    ahead = _gpu_ahead(D, S, choice, gpu, best_gpu)
                if ahead > 0:
                    best, best_gpu, best_ms = slot, gpu, ms
            slot = next_free(D, S, kind, slot)
    return (
        best if best >= 0 else _fastest_of_all(D, S, mask, job, left, over, special, special_over)
    )


@lean
def _gpu_ahead(D: Ints, S: Ints, choice: int, gpu: int, other: int) -> int:
    """Return a positive number if ``gpu`` comes before ``other`` in the rule's order."""
    a = D[S_GPU] + gpu * GPU_S
    b = D[S_GPU] + other * GPU_S
    if choice == CEDF:
        larger = S[a + SIZE_SUM] * S[b + PRESENT] - S[b + SIZE_SUM] * S[a + PRESENT]
        if larger != 0:
            return larger
    fuller = S[a + OCCUPIED] - S[b + OCCUPIED]
    return fuller if fuller != 0 else other - gpu


@lean
def _fastest_of_all(
    D: Ints, S: Ints, mask: int, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    best = fastest(D, S, mask, job, left, over, -1, 0)
    if special >= 0 and is_free(D, S, special) and (mask >> _kind(D, special)) & 1 != 0:
        best_ms = over + ceil_div(left, rate_on(D, job, _kind(D, best)))
        ms = special_over + ceil_div(left, rate_on(D, job, _kind(D, special)))
        if (
            best == special
            or ms < best_ms
            or (ms == best_ms and _rank(D, special) < _rank(D, best))
        ):
            return special
    return best


@lean
def least_cost(
    D: Ints, S: Ints, mask: int, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    """MET: least energy weight times marginal energy, plus tardiness; of equal ones the smaller slot."""
    due = D[D[D_JOB] + job * JOB_D + DUE]
    best, best_high, best_low = -1, 0, 0
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        t = D[D_TYPE] + kind * TYPE_D
        power = D[D_POWER] + D[t + T_MODEL] * (D[LEVELS] + 1)
        work_ms = ceil_div(left, rate_on(D, job, kind))
        slot = next_free(D, S, kind, -1)
        while slot >= 0:
            ms = work_ms + (special_over if slot == special else over)
            level = S[D[S_GPU] + D[D[D_SLOT] + slot * SLOT_D + L_GPU] * GPU_S + LEVEL]
            top = D[D[D_GPU] + D[D[D_SLOT] + slot * SLOT_D + L_GPU] * GPU_D + G_COMPUTE]
            after = D[LEVELS] if D[t + T_OFF] != 0 else min(top, level + D[t + T_COMPUTE])
            rise = D[power + after] - D[power + level]
            high, low = product(D[WEIGHT_P] * rise, ms)
            high2, low2 = product(D[WEIGHT_Q] * 1000, max(0, S[NOW] + ms - due))
            high, low = add(high, low, high2, low2)
            if (
                best < 0
                or high < best_high
                or (
                    high == best_high
                    and (low < best_low or (low == best_low and _rank(D, slot) < _rank(D, best)))
                )
            ):
                best, best_high, best_low = slot, high, low
            slot = next_free(D, S, kind, slot)
    return best


@lean
def any_slot(D: Ints, S: Ints, mask: int) -> int:
    """Random: one of the free slots on which the job fits, counted in order of size, GPU, start."""
    count = 0
    rest = mask
    while rest != 0:
        count += S[D[S_TYPE] + lowest_bit(rest) * TYPE_S + T_FREE]
        rest &= rest - 1
    wanted = draw_below(S, count)
    for rank in range(D[SLOTS]):
        slot = D[D[D_RANKED] + rank]
        if (mask >> _kind(D, slot)) & 1 != 0 and is_free(D, S, slot):
            if wanted == 0:
                return slot
            wanted -= 1
    return -1

"""What happens to single jobs and slots: begin, stop, complete, wait; the compiled transition function."""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.bits import clear_free, lowest_bit, set_free
from migopt.sim.heaps import push, remove
from migopt.sim.layout import *
from migopt.sim.rules import (
    ORDER_CLASS,
    ORDER_DUE,
    ORDER_LAXITY,
    ORDER_MEAN_LAXITY,
    ORDER_RELEASE,
    ORDER_SHORTEST,
    RESTRICTED,
)


@lean
def ceil_div(left: int, rate: int) -> int:
    """Return the least integer not below left / rate (left >= 0, rate > 0)."""
    return (left + rate - 1) // rate


@lean
def rate_on(D: Ints, job: int, kind: int) -> int:
    """Return a job's work per millisecond on a type."""
    return D[D[D_RATE] + D[D[D_JOB] + job * JOB_D + CLASS] * D[TYPES] + kind]


@lean
def fit_mask(D: Ints, job: int) -> int:
    """Return the set of types on which a job fits, as bits."""
    return D[D[D_GROUP] + D[D[D_JOB] + job * JOB_D + GROUP] * GROUP_D]


@lean
def outlook(D: Ints, S: Ints, job: int) -> tuple[int, int, int, int]:
    """Return what is left of an active job now, as (work, overhead, special slot, overhead there).

    The special slot is the one on which the job goes on without a new resume, -1 if there is none.
    """
    js = D[S_JOB] + job * JOB_S
    slot = S[js + SLOT]
    left = S[js + LEFT]
    now = S[NOW]
    if slot >= 0:
        at = D[S_SLOT] + slot * SLOT_S
        served = now - S[at + SINCE]
        over = S[at + OVER]
        if served > over:
            left -= (served - over) * rate_on(D, job, D[D[D_SLOT] + slot * SLOT_D + L_TYPE])
        if D[OVERHEAD] > 0 and served > 0:
            return left, D[OVERHEAD], slot, max(0, over - served)
        # A job that began at this very tick is as if it had not begun.
    if D[OVERHEAD] == 0 or S[js + STOP_AT] < 0:
        return left, 0, -1, 0
    if S[js + STOP_AT] == now:
        return left, D[OVERHEAD], S[js + STOP_SLOT], S[js + STOP_OVER]
    return left, D[OVERHEAD], -1, 0


@lean
def overhead_on(D: Ints, S: Ints, job: int, slot: int) -> int:
    """Return the resume overhead of a job that does not run, if it begins on a slot now."""
    js = D[S_JOB] + job * JOB_S
    if D[OVERHEAD] == 0 or S[js + STOP_AT] < 0:
        return 0
    if S[js + STOP_AT] == S[NOW] and S[js + STOP_SLOT] == slot:
        return S[js + STOP_OVER]
    return D[OVERHEAD]


@lean
def change_level(D: Ints, S: Ints, slot: int, change: int) -> None:
    """Account for the time at the present busy level of a slot's GPU, then change the level."""
    ls = D[D_SLOT] + slot * SLOT_D
    gpu = D[ls + L_GPU]
    at = D[S_GPU] + gpu * GPU_S
    now = S[NOW]
    level = S[at + LEVEL]
    spent = now - S[at + LAST]
    if spent > 0:
        top = D[D[D_GPU] + gpu * GPU_D + G_COMPUTE]
        S[D[S_LEVEL] + gpu * D[LEVELS] + min(level, top)] += spent
        if level > 0 and S[at + LAST] < D[HORIZON]:
            S[at + BUSY] += min(now, D[HORIZON]) - S[at + LAST]
        S[at + LAST] = now
    S[at + LEVEL] = level + change * D[D[D_TYPE] + D[ls + L_TYPE] * TYPE_D + T_COMPUTE]
    S[at + OCCUPIED] += change


@lean
def begin(D: Ints, S: Ints, job: int, slot: int) -> None:
    """Start a job that does not run on a present slot that is in no set of free ones."""
    js = D[S_JOB] + job * JOB_S
    at = D[S_SLOT] + slot * SLOT_S
    kind = D[D[D_SLOT] + slot * SLOT_D + L_TYPE]
    over = overhead_on(D, S, job, slot)
    S[at + JOB] = job
    S[at + SINCE] = S[NOW]
    S[at + OVER] = over
    S[js + SLOT] = slot
    S[js + END] = S[NOW] + over + ceil_div(S[js + LEFT], rate_on(D, job, kind))
    push(S, D[S_ENDS], ENDS, D[S_SLOT] + ENDS_POS, SLOT_S, S[js + END], slot)
    change_level(D, S, slot, 1)
    if S[RULE_SCOPE] == RESTRICTED and D[D[D_JOB] + job * JOB_D + STOPPABLE] != 0:
        base = D[S_VICTIM] + 2 * D[D[D_TYPE] + kind * TYPE_D + T_FIRST]
        size_at = D[S_TYPE] + kind * TYPE_S + T_VICTIMS
        push(
            S, base, size_at, D[S_SLOT] + VICTIM_POS, SLOT_S, -D[D[D_JOB] + job * JOB_D + DUE], slot
        )


@lean
def vacate(D: Ints, S: Ints, slot: int) -> None:
    """End the run on a slot: segment, progress, heaps. The slot's job is then in no heap."""
    at = D[S_SLOT] + slot * SLOT_S
    job = S[at + JOB]
    js = D[S_JOB] + job * JOB_S
    kind = D[D[D_SLOT] + slot * SLOT_D + L_TYPE]
    spent = S[NOW] - S[at + SINCE]
    if spent > 0:
        since = S[at + SINCE]
        if S[js + STOP_AT] >= 0 and (S[js + STOP_AT] != since or S[js + STOP_SLOT] != slot):
            S[PREEMPTIONS] += 1
        over = S[at + OVER]
        S[js + STOP_AT] = S[NOW]
        S[js + STOP_SLOT] = slot
        S[js + STOP_OVER] = max(0, over - spent)
        if spent > over:
            S[js + LEFT] -= (spent - over) * rate_on(D, job, kind)
        S[D[S_CLASS_MS] + D[D[D_JOB] + job * JOB_D + CLASS] * D[TYPES] + kind] += spent
        if S[LOG_CAPACITY] > 0:
            line = S[LOG] + LOG_S * S[LOG_COUNT]
            S[line] = since
            S[line + 1] = S[NOW]
            S[line + 2] = slot
            S[line + 3] = job
            S[LOG_COUNT] += 1
    remove(S, D[S_ENDS], ENDS, D[S_SLOT] + ENDS_POS, SLOT_S, S[at + ENDS_POS])
    change_level(D, S, slot, -1)
    if S[RULE_SCOPE] == RESTRICTED and D[D[D_JOB] + job * JOB_D + STOPPABLE] != 0:
        base = D[S_VICTIM] + 2 * D[D[D_TYPE] + kind * TYPE_D + T_FIRST]
        size_at = D[S_TYPE] + kind * TYPE_S + T_VICTIMS
        remove(S, base, size_at, D[S_SLOT] + VICTIM_POS, SLOT_S, S[at + VICTIM_POS])
    S[at + JOB] = IDLE
    S[js + SLOT] = WAITING


# --- waiting jobs ----------------------------------------------------------------------------


@lean
def shortest_ms(D: Ints, S: Ints, job: int) -> int:
    """Return the job's remaining duration on the fastest slice that stands; -1 if it fits on none."""
    left, over, special, special_over = outlook(D, S, job)
    mask = fit_mask(D, job) & S[PRESENT_TYPES]
    fastest = 0
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        fastest = max(fastest, rate_on(D, job, kind))
    if fastest == 0:
        return -1
    best = over + ceil_div(left, fastest)
    if special >= 0 and S[D[S_SLOT] + special * SLOT_S + JOB] != ABSENT:
        kind = D[D[D_SLOT] + special * SLOT_D + L_TYPE]
        best = min(best, special_over + ceil_div(left, rate_on(D, job, kind)))
    return best


@lean
def mean_ms(D: Ints, S: Ints, job: int) -> int:
    """Return the job's mean remaining duration over the slices on which it fits, rounded up; -1 if none."""
    left, over, special, special_over = outlook(D, S, job)
    mask = fit_mask(D, job) & S[PRESENT_TYPES]
    total = count = 0
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        number = S[D[S_TYPE] + kind * TYPE_S + T_PRESENT]
        total += number * (over + ceil_div(left, rate_on(D, job, kind)))
        count += number
    if count == 0:
        return -1
    if special >= 0 and S[D[S_SLOT] + special * SLOT_S + JOB] != ABSENT:
        total += special_over - over
    return ceil_div(total, count)


@lean
def order_key(D: Ints, S: Ints, job: int) -> int:
    """Return the job's key in the order of the rule; NEVER where it fits on no slice that stands."""
    order = S[RULE_ORDER]
    jd = D[D_JOB] + job * JOB_D
    if order == ORDER_DUE:
        return job
    if order == ORDER_RELEASE:
        return D[jd + FIFO]
    if order == ORDER_CLASS:
        return D[jd + ELASTIC]
    remaining = mean_ms(D, S, job) if order == ORDER_MEAN_LAXITY else shortest_ms(D, S, job)
    if remaining < 0 or (order == ORDER_SHORTEST and remaining == 0):
        return NEVER
    return remaining if order == ORDER_SHORTEST else D[jd + DUE] - remaining


@lean
def by_laxity(S: Ints) -> bool:
    """Return whether the rule orders jobs by some laxity."""
    return S[RULE_ORDER] == ORDER_LAXITY or S[RULE_ORDER] == ORDER_MEAN_LAXITY


@lean
def by_remaining(S: Ints) -> bool:
    """Return whether the rule's keys depend on remaining durations and on the slices that stand."""
    return by_laxity(S) or S[RULE_ORDER] == ORDER_SHORTEST


@lean
def enter_group(D: Ints, S: Ints, job: int) -> None:
    """Put a job that does not run into the heap of its group."""
    group = D[D[D_JOB] + job * JOB_D + GROUP]
    js = D[S_JOB] + job * JOB_S
    key = order_key(D, S, job)
    S[js + KEY] = key
    S[js + SLOT] = WAITING
    base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
    push(S, base, D[S_WAIT_SIZE] + group, D[S_WAIT_POS], 1, key, job)
    if by_laxity(S):
        _watch(D, S, job, key)


@lean
def _watch(D: Ints, S: Ints, job: int, key: int) -> None:
    """Keep the job for a wake if its laxity has yet to fall to the threshold."""
    if key != NEVER and key - S[THRESHOLD] > S[NOW]:
        push(S, D[S_URGENT], URGENT, D[S_URGENT_POS], 1, key, job)
    else:
        S[D[S_URGENT_POS] + job] = -1


@lean
def drop_urgent(D: Ints, S: Ints, job: int) -> None:
    """Forget a job's wake."""
    place = S[D[S_URGENT_POS] + job]
    if place >= 0:
        remove(S, D[S_URGENT], URGENT, D[S_URGENT_POS], 1, place)
        S[D[S_URGENT_POS] + job] = -1


@lean
def leave_group(D: Ints, S: Ints, job: int) -> None:
    """Take a waiting job out of the heap of its group."""
    group = D[D[D_JOB] + job * JOB_D + GROUP]
    base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
    remove(S, base, D[S_WAIT_SIZE] + group, D[S_WAIT_POS], 1, S[D[S_WAIT_POS] + job])
    if by_laxity(S):
        drop_urgent(D, S, job)


@lean
def enter_pool(D: Ints, S: Ints, job: int, key: int) -> None:
    """Put a job into the pool: the fresh ones, or those a pass may move."""
    pool = D[GROUPS]
    base = D[S_WAIT] + D[D[D_GROUP] + pool * GROUP_D + 1]
    push(S, base, D[S_WAIT_SIZE] + pool, D[S_WAIT_POS], 1, key, job)


@lean
def take_first(D: Ints, S: Ints, group: int) -> int:
    """Remove and return the first job of a group (or of the pool)."""
    base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
    job = S[base + 1]
    remove(S, base, D[S_WAIT_SIZE] + group, D[S_WAIT_POS], 1, 0)
    if by_laxity(S) and group != D[GROUPS]:
        drop_urgent(D, S, job)
    return job


@lean
def enqueue(D: Ints, S: Ints, job: int) -> None:
    """Let a job wait that has just come or has just been stopped."""
    if S[RULE_SCOPE] == RESTRICTED:
        S[D[S_JOB] + job * JOB_S + SLOT] = WAITING
        enter_pool(D, S, job, job)
        return
    enter_group(D, S, job)
    if D[OVERHEAD] == 0 or not by_remaining(S):
        return
    listed = D[S_RECENT] + D[JOBS] + job
    if S[D[S_JOB] + job * JOB_S + STOP_AT] == S[NOW] and S[listed] == 0:
        # Its key may differ at the next tick: then it no longer goes on where it was.
        S[listed] = 1
        S[D[S_RECENT] + S[RECENT]] = job
        S[RECENT] += 1


@lean
def stop(D: Ints, S: Ints, slot: int) -> None:
    """Stop the job on a slot and let it wait; the slot becomes free."""
    job = S[D[S_SLOT] + slot * SLOT_S + JOB]
    vacate(D, S, slot)
    set_free(D, S, slot)
    enqueue(D, S, job)


@lean
def refresh_keys(D: Ints, S: Ints) -> None:
    """Bring keys up to date that depend on the slices that stand or on a stop at this tick."""
    if not by_remaining(S):
        return
    if S[DIRTY] != 0:
        S[DIRTY] = 0
        for group in range(D[GROUPS]):
            _refresh_group(D, S, group)
    kept = 0
    for i in range(S[RECENT]):
        job = S[D[S_RECENT] + i]
        js = D[S_JOB] + job * JOB_S
        keep = False
        if S[js + SLOT] == WAITING:
            leave_group(D, S, job)
            enter_group(D, S, job)
            keep = S[js + STOP_AT] == S[NOW]
        if keep:
            S[D[S_RECENT] + kept] = job
            kept += 1
        else:
            S[D[S_RECENT] + D[JOBS] + job] = 0
    S[RECENT] = kept


@lean
def _refresh_group(D: Ints, S: Ints, group: int) -> None:
    """Give every job of a group its key anew; a heap filled in order of places stays a heap prefix."""
    base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
    size_at = D[S_WAIT_SIZE] + group
    size = S[size_at]
    S[size_at] = 0
    for i in range(size):
        job = S[base + 2 * i + 1]
        if by_laxity(S):
            drop_urgent(D, S, job)
        enter_group(D, S, job)


# --- slices ----------------------------------------------------------------------------------


@lean
def add_slot(D: Ints, S: Ints, slot: int) -> None:
    """Make a slice available."""
    ls = D[D_SLOT] + slot * SLOT_D
    kind = D[ls + L_TYPE]
    gpu = D[S_GPU] + D[ls + L_GPU] * GPU_S
    S[D[S_SLOT] + slot * SLOT_S + JOB] = IDLE
    set_free(D, S, slot)
    S[D[S_TYPE] + kind * TYPE_S + T_PRESENT] += 1
    S[PRESENT_TYPES] |= 1 << kind
    S[gpu + PRESENT] += 1
    S[gpu + SIZE_SUM] += D[D[D_TYPE] + kind * TYPE_D + T_COMPUTE]
    S[DIRTY] = 1


@lean
def remove_slot(D: Ints, S: Ints, slot: int) -> None:
    """Take a slice away; its job, if any, is stopped."""
    ls = D[D_SLOT] + slot * SLOT_D
    kind = D[ls + L_TYPE]
    gpu = D[S_GPU] + D[ls + L_GPU] * GPU_S
    if S[D[S_SLOT] + slot * SLOT_S + JOB] >= 0:
        stop(D, S, slot)
    clear_free(D, S, slot)
    S[D[S_SLOT] + slot * SLOT_S + JOB] = ABSENT
    present = D[S_TYPE] + kind * TYPE_S + T_PRESENT
    S[present] -= 1
    if S[present] == 0:
        S[PRESENT_TYPES] &= ~(1 << kind)
    S[gpu + PRESENT] -= 1
    S[gpu + SIZE_SUM] -= D[D[D_TYPE] + kind * TYPE_D + T_COMPUTE]
    S[DIRTY] = 1

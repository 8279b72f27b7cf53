"""One dispatch: the pass of a rule over its jobs.

Why the passes may look at so few of the waiting jobs. Waiting jobs lie in one heap per set of types
on which they fit, in the rule's order. A job that fits on no free slot changes nothing in a pass of
any rule but the restricted one, and slots only become fewer during a pass; so a pass merges the
heaps whose set meets the free types, and every job it looks at gets a slot.

The restricted rule could also give a waiting job the slot of a running one. Let W wait after a pass,
and let a slot run a stoppable job due later than W. Then W is not on time on that slot: at its turn
it would have taken it (the slot's job then was due no earlier: within a pass a slot goes only to
jobs due earlier than the one they replace, and to jobs later in the order than W where W does not
fit). While W waits its remaining duration does not fall and time goes on, so this stays true, until
a slot becomes free and W fits on it: then the first such W takes it as an idle slot. So only fresh
jobs, come or stopped since the last pass, can ever take a slot from a running job.
"""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.bits import clear_free, is_free, lowest_bit, set_free
from migopt.sim.layout import *
from migopt.sim.moves import (
    begin,
    by_laxity,
    ceil_div,
    drop_urgent,
    enqueue,
    enter_group,
    enter_pool,
    fit_mask,
    order_key,
    outlook,
    rate_on,
    refresh_keys,
    stop,
    take_first,
    vacate,
)
from migopt.sim.rules import ALL_ACTIVE, RESTRICTED, SLOWEST_ON_TIME
from migopt.sim.rules.choose import choose
from migopt.sim.words import constants, words


@lean
def dispatch(D: Ints, S: Ints) -> None:
    """Decide and apply who runs where from now on."""
    D, S = constants(D), words(S)
    S[DISPATCH_WAKE] = NEVER
    refresh_keys(D, S)
    if S[RULE_SCOPE] == RESTRICTED:
        restricted_pass(D, S)
    elif S[RULE_SCOPE] == ALL_ACTIVE:
        all_active_pass(D, S)
    else:
        keep_running_pass(D, S)


@lean
def first_group(D: Ints, S: Ints, pool: int) -> int:
    """Return the group (the pool too, if asked) whose first job is next in order and may be placed; -1 if none."""
    best, best_key, best_job = -1, 0, 0
    for group in range(D[GROUPS] + pool):
        if S[D[S_WAIT_SIZE] + group] == 0:
            continue
        at = D[D_GROUP] + group * GROUP_D
        if D[at] & S[FREE_TYPES] == 0 and (group < D[GROUPS] or S[RULE_SCOPE] != RESTRICTED):
            continue
        head = D[S_WAIT] + D[at + 1]
        key, job = S[head], S[head + 1]
        if best < 0 or key < best_key or (key == best_key and job < best_job):
            best, best_key, best_job = group, key, job
    return best


@lean
def keep_running_pass(D: Ints, S: Ints) -> None:
    """Running jobs stay; waiting jobs in order, each on the slot that the rule chooses."""
    while S[FREE_TYPES] != 0:
        group = first_group(D, S, 0)
        if group < 0:
            break
        job = take_first(D, S, group)
        left, over, special, special_over = outlook(D, S, job)
        slot = choose(D, S, S[RULE_CHOICE], job, left, over, special, special_over)
        clear_free(D, S, slot)
        begin(D, S, job, slot)


# --- all active jobs take part ----------------------------------------------------------------


@lean
def _lift(D: Ints, S: Ints) -> None:
    """Free the slots of the jobs that may move, put these into the pool; list the slots."""
    pinning = S[CAUSE] == DISPATCH_WOKEN
    listed = 0
    for i in range(S[ENDS]):
        slot = S[D[S_ENDS] + 2 * i + 1]
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        if D[D[D_JOB] + job * JOB_D + STOPPABLE] == 0:
            continue
        if pinning and by_laxity(S) and S[D[S_JOB] + job * JOB_S + STOPS] >= S[MAX_STOPS]:
            continue
        S[D[S_LIST] + listed] = slot
        S[D[S_SLOT] + slot * SLOT_S + PLAN] = -1
        listed += 1
    for i in range(listed):
        slot = S[D[S_LIST] + i]
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        key = order_key(D, S, job)
        S[D[S_JOB] + job * JOB_S + KEY] = key
        set_free(D, S, slot)
        enter_pool(D, S, job, key)
    S[LISTED] = listed


@lean
def all_active_pass(D: Ints, S: Ints) -> None:
    """All active jobs in order, each on the slot that the rule chooses; who gets none stops."""
    _lift(D, S)
    lifted = S[LISTED]
    planned = 0
    plans = D[S_LIST] + D[SLOTS]
    while S[FREE_TYPES] != 0:
        group = first_group(D, S, 1)
        if group < 0:
            break
        job = take_first(D, S, group)
        left, over, special, special_over = outlook(D, S, job)
        slot = choose(D, S, S[RULE_CHOICE], job, left, over, special, special_over)
        if slot < 0:
            continue
        clear_free(D, S, slot)
        S[D[S_SLOT] + slot * SLOT_S + PLAN] = job
        S[plans + 2 * planned] = slot
        S[plans + 2 * planned + 1] = job
        planned += 1
    for i in range(planned):
        # Mark who has a slot in the plan, so that a move is not taken for a stop.
        S[D[S_WAIT_POS] + S[plans + 2 * i + 1]] = -1
    if by_laxity(S):
        S[DISPATCH_WAKE] = _next_urgent(D, S, lifted)
    S[D[S_WAIT_SIZE] + D[GROUPS]] = 0
    _apply_plan(D, S, lifted, plans, planned)


@lean
def _apply_plan(D: Ints, S: Ints, lifted: int, plans: int, planned: int) -> None:
    woken = 1 if S[CAUSE] == DISPATCH_WOKEN else 0
    for i in range(lifted):
        slot = S[D[S_LIST] + i]
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        if S[D[S_SLOT] + slot * SLOT_S + PLAN] == job:
            continue
        vacate(D, S, slot)
        S[D[S_JOB] + job * JOB_S + STOPS] += woken
        if S[D[S_WAIT_POS] + job] != -1:
            enqueue(D, S, job)
    for i in range(planned):
        slot = S[plans + 2 * i]
        job = S[plans + 2 * i + 1]
        if S[D[S_JOB] + job * JOB_S + SLOT] < 0:
            begin(D, S, job, slot)


@lean
def _next_urgent(D: Ints, S: Ints, lifted: int) -> int:
    """Return when the laxity of a job without a slot next falls to the threshold."""
    wake = NEVER
    while S[URGENT] > 0:
        job = S[D[S_URGENT] + 1]
        if S[D[S_URGENT]] - S[THRESHOLD] > S[NOW]:
            wake = S[D[S_URGENT]] - S[THRESHOLD]
            break
        drop_urgent(D, S, job)
    for i in range(lifted):
        job = S[D[S_SLOT] + S[D[S_LIST] + i] * SLOT_S + JOB]
        urgent = S[D[S_JOB] + job * JOB_S + KEY] - S[THRESHOLD]
        if S[NOW] < urgent < wake and S[D[S_WAIT_POS] + job] != -1:
            wake = urgent
    return wake


# --- restricted EDF-SS ------------------------------------------------------------------------


@lean
def restricted_pass(D: Ints, S: Ints) -> None:
    """Fresh jobs, and waiting jobs that fit on free slots, in order of due date."""
    pool = D[GROUPS]
    while True:
        group = first_group(D, S, 1)
        if group < 0:
            break
        job = take_first(D, S, group)
        left, over, special, special_over = outlook(D, S, job)
        slot = -1
        if group == pool:
            slot = _idle_on_time_or_taken(D, S, job, left, over, special, special_over)
        if slot < 0:
            slot = choose(D, S, SLOWEST_ON_TIME, job, left, over, special, special_over)
        if slot < 0:
            enter_group(D, S, job)
        else:
            clear_free(D, S, slot)
            begin(D, S, job, slot)


@lean
def _idle_on_time_or_taken(
    D: Ints, S: Ints, job: int, left: int, over: int, special: int, special_over: int
) -> int:
    """Return a slot to take from a later job, made free, if no idle one is on time; -1 otherwise."""
    mask = fit_mask(D, job) & S[FREE_TYPES]
    latest = D[D[D_JOB] + job * JOB_D + DUE] - S[NOW]
    while mask != 0:
        kind = lowest_bit(mask)
        mask &= mask - 1
        if over + ceil_div(left, rate_on(D, job, kind)) <= latest:
            return -1
    if special >= 0 and is_free(D, S, special):
        rate = rate_on(D, job, D[D[D_SLOT] + special * SLOT_D + L_TYPE])
        if special_over + ceil_div(left, rate) <= latest:
            return -1
    slot = _victim(D, S, job, left, over, special, special_over, latest)
    if slot >= 0:
        stop(D, S, slot)
    return slot


@lean
def _victim(
    D: Ints, S: Ints, job: int, left: int, over: int, special: int, special_over: int, latest: int
) -> int:
    """Slowest slot on time whose job is due later; of equal ones the latest job, then the smaller slot."""
    due = D[D[D_JOB] + job * JOB_D + DUE]
    best, best_ms, best_due = -1, -1, 0
    rest = fit_mask(D, job) & S[PRESENT_TYPES]
    while rest != 0:
        kind = lowest_bit(rest)
        rest &= rest - 1
        if S[D[S_TYPE] + kind * TYPE_S + T_VICTIMS] == 0:
            continue
        top = D[S_VICTIM] + 2 * D[D[D_TYPE] + kind * TYPE_D + T_FIRST]
        if -S[top] <= due:
            continue
        ms = over + ceil_div(left, rate_on(D, job, kind))
        if ms > latest or ms < best_ms:
            continue
        slot = S[top + 1]
        if ms > best_ms or _before(D, -S[top], slot, best_due, best):
            best, best_ms, best_due = slot, ms, -S[top]
    if special >= 0 and special_over != over and S[D[S_SLOT] + special * SLOT_S + JOB] >= 0:
        return _victim_by_scan(D, S, job, left, over, special, special_over, latest)
    return best


@lean
def _before(D: Ints, due: int, slot: int, other_due: int, other: int) -> bool:
    if due != other_due:
        return due > other_due
    return D[D[D_SLOT] + slot * SLOT_D + L_RANK] < D[D[D_SLOT] + other * SLOT_D + L_RANK]


@lean
def _victim_by_scan(
    D: Ints, S: Ints, job: int, left: int, over: int, special: int, special_over: int, latest: int
) -> int:
    """The same, slot by slot: for a job that would go on without a resume on one of them."""
    due = D[D[D_JOB] + job * JOB_D + DUE]
    mask = fit_mask(D, job)
    best, best_ms, best_due = -1, -1, 0
    for i in range(S[ENDS]):
        slot = S[D[S_ENDS] + 2 * i + 1]
        kind = D[D[D_SLOT] + slot * SLOT_D + L_TYPE]
        jd = D[D_JOB] + S[D[S_SLOT] + slot * SLOT_S + JOB] * JOB_D
        if (mask >> kind) & 1 == 0 or D[jd + STOPPABLE] == 0 or D[jd + DUE] <= due:
            continue
        ms = (special_over if slot == special else over) + ceil_div(left, rate_on(D, job, kind))
        if ms > latest or ms < best_ms:
            continue
        if ms > best_ms or _before(D, D[jd + DUE], slot, best_due, best):
            best, best_ms, best_due = slot, ms, D[jd + DUE]
    return best

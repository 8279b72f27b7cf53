"""Compiled steps: play on to the next decision, what a decider sees, many runs in one call, look ahead."""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.bits import clear_free, lowest_bit, set_free
from migopt.sim.events import advance, may_repartition, repartition
from migopt.sim.kernel import play, reset, start
from migopt.sim.layout import *
from migopt.sim.moves import (
    begin,
    ceil_div,
    enqueue,
    fit_mask,
    leave_group,
    mean_ms,
    outlook,
    rate_on,
    vacate,
)
from migopt.sim.rules import ORDER_DUE
from migopt.sim.rules.passes import dispatch
from migopt.sim.words import constants, words

# What a decider sees of a run: these, then per GPU its partition (-1: changing), then per job its row.
SEE_STATUS, SEE_NOW, SEE_CAUSE, SEE_ACTIVE, SEE_RUNNING, SEE_FINISHED = range(6)
SEE_ENERGY, SEE_DONE_LATE, SEE_LATE, SEE_REPARTITIONS, SEE_PREEMPTIONS = 6, 7, 8, 9, 10
SEEN = 12
# A job's row: index, due date, mean remaining duration over the standing slices, over all types, runs.
JOB_INDEX, JOB_DUE, JOB_MEAN, JOB_TYPE_MEAN, JOB_RUNS = range(5)
JOB_SEEN = 5


@lean
def some_gpu_decides(D: Ints, S: Ints) -> bool:
    """Return whether some GPU may be decided on: it is not changing and has not changed just now."""
    D, S = constants(D), words(S)
    for gpu in range(D[GPUS]):
        at = D[S_GPU] + gpu * GPU_S
        if S[at + UNTIL] == NEVER and S[at + CHANGED] != S[NOW]:
            return True
    return False


@lean
def next_decision(D: Ints, S: Ints, causes: int) -> int:
    """Go on, with the rule's dispatches, to an instant of one of ``causes`` with a GPU to decide on."""
    while True:
        status = advance(D, S)
        if status != DECIDE:
            return status
        if S[CAUSE] & causes != 0 and some_gpu_decides(D, S):
            return DECIDE
        S[DECISIONS] += 1
        dispatch(D, S)


@lean
def act(D: Ints, S: Ints, actions: Ints) -> None:
    """Take one partition decision per GPU: a catalogue number; what is not allowed now changes nothing."""
    D, S = constants(D), words(S)
    for gpu in range(D[GPUS]):
        at = D[S_GPU] + gpu * GPU_S
        new = D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART] + actions[gpu]
        if actions[gpu] > 0 and S[at + PARTITION] != new and may_repartition(D, S, gpu, new):
            repartition(D, S, gpu, new)


@lean
def apply_runs(D: Ints, S: Ints, runs: Ints) -> None:
    """Take a dispatch decision: rows of (slot, job); the caller has checked that it is legal."""
    D, S = constants(D), words(S)
    S[DISPATCH_WAKE] = NEVER
    woken = 1 if S[CAUSE] == DISPATCH_WOKEN else 0
    for slot in range(D[SLOTS]):
        S[D[S_SLOT] + slot * SLOT_S + PLAN] = -1
    for row in range(len(runs)):
        S[D[S_SLOT] + runs[row, 0] * SLOT_S + PLAN] = runs[row, 1]
    for slot in range(D[SLOTS]):
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        if job >= 0 and S[D[S_SLOT] + slot * SLOT_S + PLAN] != job:
            S[D[S_JOB] + job * JOB_S + STOPS] += woken
            vacate(D, S, slot)
            set_free(D, S, slot)
            enqueue(D, S, job)
    for row in range(len(runs)):
        slot, job = runs[row, 0], runs[row, 1]
        if S[D[S_JOB] + job * JOB_S + SLOT] == WAITING:
            leave_group(D, S, job)
            clear_free(D, S, slot)
            begin(D, S, job, slot)


# --- what a decider sees ---------------------------------------------------------------------


@lean
def energy_above_idle(D: Ints, S: Ints) -> int:
    """Return the integral of P(u) - P(0) over all GPUs up to now, in microjoules."""
    total = 0
    for gpu in range(D[GPUS]):
        gd = D[D_GPU] + gpu * GPU_D
        at = D[S_GPU] + gpu * GPU_S
        power = D[D_POWER] + D[gd + G_MODEL] * (D[LEVELS] + 1)
        off = S[at + PARTITION] == D[gd + G_FIRST_PART]
        for level in range(1, D[LEVELS]):
            spent = S[D[S_LEVEL] + gpu * D[LEVELS] + level]
            if min(S[at + LEVEL], D[gd + G_COMPUTE]) == level:
                spent += S[NOW] - S[at + LAST]
            total += spent * (D[power + (D[LEVELS] if off else level)] - D[power])
    return total


@lean
def type_mean_ms(D: Ints, S: Ints, job: int) -> int:
    """Return the job's remaining duration, averaged over all types on which it fits, rounded up."""
    left = outlook(D, S, job)[0]
    mask = fit_mask(D, job)
    total = count = 0
    while mask != 0:
        total += ceil_div(left, rate_on(D, job, lowest_bit(mask)))
        mask &= mask - 1
        count += 1
    return ceil_div(total, count)


@lean
def _consider(rows: Ints, first: int, most: int, count: int, job: int) -> int:
    """Keep the ``most`` lowest job numbers in ``rows``, in order; return how many there are."""
    place = min(count, most)
    if place == most and (most == 0 or rows[first + (most - 1) * JOB_SEEN] <= job):
        return count
    if place == most:
        place -= 1
    else:
        count += 1
    while place > 0 and rows[first + (place - 1) * JOB_SEEN] > job:
        rows[first + place * JOB_SEEN] = rows[first + (place - 1) * JOB_SEEN]
        place -= 1
    rows[first + place * JOB_SEEN] = job
    return count


@lean
def observe(D: Ints, S: Ints, status: int, with_running: int, most: int, out: Ints) -> None:
    """Write what a decider sees; the first ``most`` jobs in order of due date, running ones on request."""
    out[:] = -1
    late = 0
    count = waiting = 0
    first = SEEN + D[GPUS]
    for group in range(D[GROUPS] + 1):
        base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
        for i in range(S[D[S_WAIT_SIZE] + group]):
            jd = D[D_JOB] + S[base + 2 * i + 1] * JOB_D
            late += D[jd + WEIGHT] * max(0, S[NOW] - D[jd + DUE])
            waiting += 1
            # In a heap by due date the first few lie within its first levels.
            if S[RULE_ORDER] != ORDER_DUE or i < (1 << most):
                count = _consider(out, first, most, count, S[base + 2 * i + 1])
    for i in range(S[ENDS]):
        job = S[D[S_SLOT] + S[D[S_ENDS] + 2 * i + 1] * SLOT_S + JOB]
        jd = D[D_JOB] + job * JOB_D
        late += D[jd + WEIGHT] * max(0, S[NOW] - D[jd + DUE])
        if with_running != 0:
            count = _consider(out, first, most, count, job)
    for i in range(min(count, most)):
        row = first + i * JOB_SEEN
        job = out[row]
        out[row + JOB_INDEX] = D[D[D_JOB] + job * JOB_D + INDEX]
        out[row + JOB_DUE] = D[D[D_JOB] + job * JOB_D + DUE]
        out[row + JOB_MEAN] = mean_ms(D, S, job)
        out[row + JOB_TYPE_MEAN] = type_mean_ms(D, S, job)
        out[row + JOB_RUNS] = S[D[S_JOB] + job * JOB_S + SLOT] >= 0
    out[SEE_STATUS] = status
    out[SEE_NOW] = S[NOW]
    out[SEE_CAUSE] = S[CAUSE]
    out[SEE_ACTIVE] = waiting + S[ENDS]
    out[SEE_RUNNING] = S[ENDS]
    out[SEE_FINISHED] = S[FINISHED]
    out[SEE_ENERGY] = energy_above_idle(D, S)
    out[SEE_DONE_LATE] = S[TARDINESS]
    out[SEE_LATE] = S[TARDINESS] + late
    out[SEE_REPARTITIONS] = S[REPARTITIONS]
    out[SEE_PREEMPTIONS] = S[PREEMPTIONS]
    for gpu in range(D[GPUS]):
        at = D[S_GPU] + gpu * GPU_S
        part = S[at + PARTITION] - D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART]
        out[SEEN + gpu] = part if S[at + UNTIL] == NEVER else -1


# --- many runs in one call -------------------------------------------------------------------


@lean
def reset_many(
    DD: Ints,
    SS: Ints,
    where: Ints,
    rule: Ints,
    seeds: Ints,
    parts: Ints,
    causes: int,
    see: Ints,
    chosen: Ints,
    out: Ints,
) -> None:
    """Begin the runs ``chosen`` with fixed first partitions and go to their first decision."""
    for e in chosen:
        D = constants(DD[where[e, 0] :])
        S = words(SS[where[e, 2] :])
        reset(D, S, rule, seeds[e], 0)
        for gpu in range(D[GPUS]):
            parts[e, gpu] += D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART]
        start(D, S, parts[e])
        status = next_decision(D, S, causes)
        observe(D, S, status, see[0], see[1], out[e])


@lean
def step_many(
    DD: Ints,
    SS: Ints,
    where: Ints,
    actions: Ints,
    causes: int,
    see: Ints,
    first: int,
    last: int,
    out: Ints,
) -> None:
    """Take the decisions of runs first .. last - 1 and go to the next; finished runs stay as they are."""
    for e in range(first, last):
        if out[e, SEE_STATUS] != DECIDE:
            continue
        D = constants(DD[where[e, 0] :])
        S = words(SS[where[e, 2] :])
        act(D, S, words(actions[e]))
        S[DECISIONS] += 1
        dispatch(D, S)
        status = next_decision(D, S, causes)
        observe(D, S, status, see[0], see[1], out[e])


# --- look ahead ------------------------------------------------------------------------------


@lean
def look_ahead(D: Ints, S: Ints, scratch: Ints, gpu: int, candidates: Ints, out: Ints) -> None:
    """Play the jobs that are there now to their end, under each candidate partition of one GPU.

    Rows of ``out``: status (NO_REPARTITION where the change is not allowed now), energy above idle
    and weighted tardiness from now on, end, repartition time included. ``S`` stands at a decision.
    """
    size = len(scratch)
    D, S, scratch = constants(D), words(S), words(scratch)
    before = energy_above_idle(D, S)
    for i in range(len(candidates)):
        for word in range(size):
            scratch[word] = S[word]
        scratch[LOG_CAPACITY] = 0
        scratch[PART_MODE] = FIXED
        scratch[PARTITION_WAKE] = NEVER
        # Nothing else will come.
        scratch[UNFINISHED] = S[NEXT_ARRIVAL] - S[FINISHED]
        scratch[ARRIVALS_END] = S[NEXT_ARRIVAL]
        if scratch[D[S_GPU] + gpu * GPU_S + PARTITION] != candidates[i]:
            if not may_repartition(D, scratch, gpu, candidates[i]):
                out[i, 0] = NO_REPARTITION
                continue
            repartition(D, scratch, gpu, candidates[i])
        dispatch(D, scratch)
        out[i, 0] = play(D, scratch)
        out[i, 1] = energy_above_idle(D, scratch) - before
        out[i, 2] = scratch[TARDINESS] - S[TARDINESS]
        out[i, 3] = scratch[NOW]

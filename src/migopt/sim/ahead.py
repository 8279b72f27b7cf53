"""Compiled look-ahead: play with a partition decision at every arrival and completion, by forecasts.

A forecast plays the jobs that are there to their end, nothing else coming. It needs only what belongs
to active jobs, so only that is copied to the scratch state: a day has hundreds of jobs, a moment ten.
"""

from __future__ import annotations

from typing import Any

from migopt.compiled import Ints, lean
from migopt.sim.events import advance, may_repartition, repartition
from migopt.sim.kernel import play
from migopt.sim.layout import *
from migopt.sim.rules.passes import dispatch
from migopt.sim.vector import energy_above_idle
from migopt.sim.words import constants, words

# Settings of the rule: seed of the run, whether changes may stop running jobs.
SEED, KEEP = 0, 1


@lean
def _copy(S: Ints, T: Ints, first: int, end: int) -> None:
    for word in range(first, end):
        T[word] = S[word]


@lean
def _copy_job(D: Ints, S: Ints, T: Ints, job: int) -> None:
    first = D[S_JOB] + job * JOB_S
    _copy(S, T, first, first + JOB_S)
    T[D[S_WAIT_POS] + job] = S[D[S_WAIT_POS] + job]
    T[D[S_URGENT_POS] + job] = S[D[S_URGENT_POS] + job]
    T[D[S_RECENT] + D[JOBS] + job] = S[D[S_RECENT] + D[JOBS] + job]


@lean
def copy_active(D: Ints, S: Ints, T: Ints) -> None:
    """Copy a state at a decision to ``T`` as far as its active jobs go; finished jobs are left out."""
    _copy(S, T, 0, HEADER_S)
    _copy(S, T, D[S_SLOT], D[S_WAIT])
    _copy(S, T, D[S_WORD], D[S_URGENT])
    _copy(S, T, D[S_URGENT], D[S_URGENT] + 2 * S[URGENT])
    _copy(S, T, D[S_RECENT], D[S_RECENT] + S[RECENT])
    for group in range(D[GROUPS] + 1):
        base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
        size = S[D[S_WAIT_SIZE] + group]
        _copy(S, T, base, base + 2 * size)
        for i in range(size):
            _copy_job(D, S, T, S[base + 2 * i + 1])
    for i in range(S[ENDS]):
        _copy_job(D, S, T, S[D[S_SLOT] + S[D[S_ENDS] + 2 * i + 1] * SLOT_S + JOB])


@lean
def forecast(D: Ints, S: Ints, T: Ints, gpu: int, part: int, seed: int) -> None:
    """Play the active jobs to their end in ``T``, one GPU in another partition from now on."""
    copy_active(D, S, T)
    T[LOG_CAPACITY] = 0
    T[PART_MODE] = FIXED
    T[PARTITION_WAKE] = NEVER
    T[RANDOM_STATE] = seed
    # Nothing else will come.
    T[UNFINISHED] = S[NEXT_ARRIVAL] - S[FINISHED]
    T[ARRIVALS_END] = S[NEXT_ARRIVAL]
    if T[D[S_GPU] + gpu * GPU_S + PARTITION] != part:
        repartition(D, T, gpu, part)
    dispatch(D, T)
    play(D, T)


@lean
def stops_a_job(D: Ints, S: Ints, gpu: int, new: int) -> bool:
    """Return whether a slice that runs a job is not part of partition ``new``."""
    at = D[D_PART] + S[D[S_GPU] + gpu * GPU_S + PARTITION] * PART_D
    part = D[D_PART] + new * PART_D
    for item in range(D[at], D[at + 1]):
        place = D[D_ITEM] + item
        slot = D[D[D_PLACE] + gpu * D[PLACES] + D[place]]
        if S[D[S_SLOT] + slot * SLOT_S + JOB] < 0:
            continue
        kept = False
        for other in range(D[part], D[part + 1]):
            kept = kept or D[D[D_ITEM] + other] == D[place]
        if not kept:
            return True
    return False


@lean
def decide(D: Ints, S: Ints, T: Ints, gpu: int, count: int, settings: Ints, money: Any) -> None:
    """Change to the partition of least forecast cost, if it is below ``1 - margin`` times that of staying.

    Fewer jobs that can never end come before any cost; of equal costs the lower number counts.
    ``money``: cost per microjoule, per millisecond of weighted tardiness, margin.
    """
    first = D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART]
    stay = S[D[S_GPU] + gpu * GPU_S + PARTITION]
    if stay == first or S[NEXT_ARRIVAL] == S[FINISHED]:
        return
    before = energy_above_idle(D, S)
    forecast(D, S, T, gpu, stay, settings[SEED])
    left = T[UNFINISHED]
    energy = energy_above_idle(D, T) - before
    least = money[0] * energy + money[1] * (T[TARDINESS] - S[TARDINESS])
    least -= money[2] * least
    best = stay
    for number in range(1, count + 1):
        part = first + number
        if part == stay or not may_repartition(D, S, gpu, part):
            continue
        if settings[KEEP] != 0 and stops_a_job(D, S, gpu, part):
            continue
        forecast(D, S, T, gpu, part, settings[SEED])
        energy = energy_above_idle(D, T) - before
        cost = money[0] * energy + money[1] * (T[TARDINESS] - S[TARDINESS])
        if T[UNFINISHED] < left or (T[UNFINISHED] == left and cost < least):
            best, least, left = part, cost, T[UNFINISHED]
    if best != stay:
        repartition(D, S, gpu, best)


@lean
def play_ahead(D: Ints, S: Ints, T: Ints, counts: Ints, settings: Ints, money: Any) -> int:
    """Play a run as ``kernel.play`` does, with decisions; ``counts``: partitions per GPU."""
    D, S, T = constants(D), words(S), words(T)
    settings, money = constants(settings), constants(money)
    room = 3 * D[SLOTS] + D[GPUS] + 1
    while True:
        if S[LOG_CAPACITY] > 0 and S[LOG_COUNT] + room > S[LOG_CAPACITY]:
            return LOG_FULL
        status: int = advance(D, S)
        if status != DECIDE:
            return status
        if S[CAUSE] & (ARRIVAL | COMPLETION) != 0:
            for gpu in range(D[GPUS]):
                at = D[S_GPU] + gpu * GPU_S
                if S[at + UNTIL] == NEVER and S[at + CHANGED] != S[NOW]:
                    decide(D, S, T, gpu, counts[gpu], settings, money)
        S[DECISIONS] += 1
        dispatch(D, S)

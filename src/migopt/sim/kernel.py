"""The compiled simulator: reset a run, play it, sum it up."""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.events import (
    advance,
    first_partition,
    follow_timetable,
    may_repartition,
    repartition,
)
from migopt.sim.layout import *
from migopt.sim.rules import RESTRICTED
from migopt.sim.rules.passes import dispatch
from migopt.sim.words import constants, words

__all__ = [
    "RESTRICTED",
    "advance",
    "dispatch",
    "may_repartition",
    "play",
    "play_grid",
    "repartition",
    "reset",
    "start",
    "summarise",
]

# Figures of a finished run; those after them are per GPU: busy time within the horizon, then time per level.
SUM_FINISHED, SUM_LATE, SUM_TARDINESS, SUM_WEIGHTED, SUM_MOST, SUM_JCT, SUM_END = range(7)
SUM_PREEMPTIONS, SUM_REPARTITIONS, SUM_STATUS = 7, 8, 9
SUMMARY = 10


@lean
def reset(D: Ints, S: Ints, rule: Ints, seed: int, log_capacity: int) -> None:
    """Bring a state to the time before the first partitions.

    ``rule`` is scope, order, choice, threshold, stops, partition mode, then pairs of the timetable.
    """
    D, S = constants(D), words(S)
    for word in range(D[S_SIZE]):
        S[word] = 0
    S[UNFINISHED] = D[JOBS]
    S[ARRIVALS_END] = D[JOBS]
    S[DISPATCH_WAKE] = NEVER
    S[PARTITION_WAKE] = NEVER
    for i in range(5):
        S[RULE_SCOPE + i] = rule[i]
    S[RANDOM_STATE] = seed
    S[PART_MODE] = rule[5]
    S[TABLE] = D[S_SIZE]
    S[ENTRIES] = (len(rule) - 6) // 2
    for i in range(6, len(rule)):
        S[S[TABLE] + i - 6] = rule[i]
    S[LOG] = S[TABLE] + 2 * S[ENTRIES]
    S[LOG_CAPACITY] = log_capacity
    for job in range(D[JOBS]):
        js = D[S_JOB] + job * JOB_S
        S[js + LEFT] = D[D[D_JOB] + job * JOB_D + WORK]
        S[js + SLOT] = UNRELEASED
        S[js + STOP_AT] = -1
        S[D[S_URGENT_POS] + job] = -1
    for slot in range(D[SLOTS]):
        S[D[S_SLOT] + slot * SLOT_S + JOB] = ABSENT
    for gpu in range(D[GPUS]):
        S[D[S_GPU] + gpu * GPU_S + UNTIL] = NEVER
        S[D[S_GPU] + gpu * GPU_S + PARTITION] = -1
        S[D[S_GPU] + gpu * GPU_S + CHANGED] = -1


@lean
def start(D: Ints, S: Ints, parts: Ints) -> None:
    """Put the first partitions in force, one per GPU."""
    D, S = constants(D), words(S)
    for gpu in range(D[GPUS]):
        first_partition(D, S, gpu, parts[gpu])
    if S[PART_MODE] == TIMETABLE:
        S[PARTITION_WAKE] = _first_wake(S)


@lean
def _first_wake(S: Ints) -> int:
    for entry in range(S[ENTRIES]):
        if S[S[TABLE] + 2 * entry] > 0:
            return S[S[TABLE] + 2 * entry]
    return MS_PER_DAY + S[S[TABLE]]


@lean
def play(D: Ints, S: Ints) -> int:
    """Play a run until it ends, is stuck, or its log needs to be emptied."""
    D, S = constants(D), words(S)
    room = 3 * D[SLOTS] + D[GPUS] + 1
    while True:
        if S[LOG_CAPACITY] > 0 and S[LOG_COUNT] + room > S[LOG_CAPACITY]:
            return LOG_FULL
        status = advance(D, S)
        if status != DECIDE:
            return status
        if S[PART_MODE] == TIMETABLE:
            follow_timetable(D, S)
        S[DECISIONS] += 1
        dispatch(D, S)


@lean
def summarise(D: Ints, S: Ints, status: int, out: Ints) -> None:
    """Write the figures of a run, as far as it has come."""
    D, S = constants(D), words(S)
    out[:] = 0
    out[SUM_FINISHED] = S[FINISHED]
    out[SUM_PREEMPTIONS] = S[PREEMPTIONS]
    out[SUM_REPARTITIONS] = S[REPARTITIONS]
    out[SUM_STATUS] = status
    for job in range(D[JOBS]):
        js = D[S_JOB] + job * JOB_S
        jd = D[D_JOB] + job * JOB_D
        if S[js + SLOT] != DONE:
            continue
        # The end of the last segment; a job without work has none and counts as ending at once.
        end = S[js + END]
        late = max(0, end - D[jd + DUE])
        out[SUM_LATE] += late > 0
        out[SUM_TARDINESS] += late
        out[SUM_WEIGHTED] += late * D[jd + WEIGHT]
        out[SUM_MOST] = max(out[SUM_MOST], late)
        out[SUM_JCT] += end - D[jd + RELEASE]
        out[SUM_END] = max(out[SUM_END], end)
    for gpu in range(D[GPUS]):
        at = SUMMARY + gpu * (D[LEVELS] + 1)
        out[at] = S[D[S_GPU] + gpu * GPU_S + BUSY]
        for level in range(D[LEVELS]):
            out[at + 1 + level] = S[D[S_LEVEL] + gpu * D[LEVELS] + level]


@lean
def play_grid(D: Ints, S: Ints, rules: Ints, parts: Ints, seed: int, out: Ints) -> None:
    """Play every rule (rows of ``rules``) on every choice of fixed first partitions (rows of ``parts``)."""
    for r in range(len(rules)):
        for p in range(len(parts)):
            reset(D, S, rules[r], seed, 0)
            start(D, S, parts[p])
            status = play(D, S)
            summarise(D, S, status, out[r * len(parts) + p])

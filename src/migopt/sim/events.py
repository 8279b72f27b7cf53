"""The compiled order of events at one millisecond, and the partition decisions."""

from __future__ import annotations

from migopt.compiled import Ints, lean
from migopt.sim.layout import *
from migopt.sim.moves import add_slot, enqueue, remove_slot, set_free, vacate
from migopt.sim.words import constants, words


@lean
def advance(D: Ints, S: Ints) -> int:
    """Go to the next event instant; return DECIDE if decisions are due there, else how the run ended."""
    D, S = constants(D), words(S)
    if S[UNFINISHED] == 0:
        return FINISHED_RUN
    now = _next_instant(D, S)
    if now == NEVER:
        return STUCK
    S[INSTANTS_NOW] = S[INSTANTS_NOW] + 1 if now == S[NOW] else 0
    S[NOW] = now
    S[CAUSE] = 0
    _complete(D, S)
    _end_repartitions(D, S)
    _arrive(D, S)
    if S[PARTITION_WAKE] == now:
        S[PARTITION_WAKE] = NEVER
        S[CAUSE] |= PARTITION_WOKEN
        _forget_wakes(D, S)
    if S[DISPATCH_WAKE] == now:
        S[DISPATCH_WAKE] = NEVER
        S[CAUSE] |= DISPATCH_WOKEN
    return _watch_for_standstill(D, S)


@lean
def _next_instant(D: Ints, S: Ints) -> int:
    now = min(S[PARTITION_WAKE], S[DISPATCH_WAKE])
    if S[ENDS] > 0:
        now = min(now, S[D[S_ENDS]])
    if S[QUEUE_SIZE] > 0:
        gpu = S[D[S_QUEUE] + S[QUEUE_HEAD]]
        now = min(now, S[D[S_GPU] + gpu * GPU_S + UNTIL])
    if S[NEXT_ARRIVAL] < S[ARRIVALS_END]:
        job = D[D[D_ARRIVAL] + S[NEXT_ARRIVAL]]
        now = min(now, D[D[D_JOB] + job * JOB_D + RELEASE])
    return now


@lean
def _complete(D: Ints, S: Ints) -> None:
    now = S[NOW]
    while S[ENDS] > 0 and S[D[S_ENDS]] == now:
        slot = S[D[S_ENDS] + 1]
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        vacate(D, S, slot)
        set_free(D, S, slot)
        js = D[S_JOB] + job * JOB_S
        jd = D[D_JOB] + job * JOB_D
        S[js + SLOT] = DONE
        S[js + LEFT] = 0
        S[UNFINISHED] -= 1
        S[FINISHED] += 1
        S[TARDINESS] += D[jd + WEIGHT] * max(0, now - D[jd + DUE])
        S[CAUSE] |= COMPLETION


@lean
def _end_repartitions(D: Ints, S: Ints) -> None:
    while S[QUEUE_SIZE] > 0:
        gpu = S[D[S_QUEUE] + S[QUEUE_HEAD]]
        at = D[S_GPU] + gpu * GPU_S
        if S[at + UNTIL] != S[NOW]:
            break
        head = S[QUEUE_HEAD] + 1
        S[QUEUE_HEAD] = head if head < D[GPUS] else 0
        S[QUEUE_SIZE] -= 1
        S[at + UNTIL] = NEVER
        part = D[D_PART] + S[at + PARTITION] * PART_D
        for item in range(D[part], D[part + 1]):
            slot = D[D[D_PLACE] + gpu * D[PLACES] + D[D[D_ITEM] + item]]
            if S[D[S_SLOT] + slot * SLOT_S + JOB] == ABSENT:
                add_slot(D, S, slot)
        S[CAUSE] |= REPARTITION_END


@lean
def _arrive(D: Ints, S: Ints) -> None:
    while S[NEXT_ARRIVAL] < S[ARRIVALS_END]:
        job = D[D[D_ARRIVAL] + S[NEXT_ARRIVAL]]
        if D[D[D_JOB] + job * JOB_D + RELEASE] != S[NOW]:
            break
        S[NEXT_ARRIVAL] += 1
        enqueue(D, S, job)
        S[CAUSE] |= ARRIVAL


@lean
def _some_job_works(D: Ints, S: Ints) -> bool:
    """Return whether some running job has done work in its present run."""
    for i in range(S[ENDS]):
        at = D[S_SLOT] + S[D[S_ENDS] + 2 * i + 1] * SLOT_S
        if S[NOW] - S[at + SINCE] > S[at + OVER]:
            return True
    return False


@lean
def _watch_for_standstill(D: Ints, S: Ints) -> int:
    happened = S[CAUSE] & (COMPLETION | ARRIVAL) != 0
    if happened or S[NEXT_ARRIVAL] < S[ARRIVALS_END] or _some_job_works(D, S):
        S[QUIET] = 0
    else:
        S[QUIET] += 1
    if S[QUIET] > STUCK_INSTANTS:
        return STUCK
    if S[INSTANTS_NOW] > STUCK_INSTANTS:
        return ENDLESS
    return DECIDE if S[UNFINISHED] > 0 else FINISHED_RUN


# --- partitions ------------------------------------------------------------------------------


@lean
def first_partition(D: Ints, S: Ints, gpu: int, part: int) -> None:
    """Put a GPU's first partition in force; it is free."""
    S[D[S_GPU] + gpu * GPU_S + PARTITION] = part
    at = D[D_PART] + part * PART_D
    for item in range(D[at], D[at + 1]):
        add_slot(D, S, D[D[D_PLACE] + gpu * D[PLACES] + D[D[D_ITEM] + item]])


@lean
def _stands_still(D: Ints, S: Ints, slot: int, new: int) -> bool:
    """Return whether a slice of the present partition stands still during a change to ``new``."""
    if D[SCOPE] == SCOPE_GPU:
        return True
    gpu = D[D[D_SLOT] + slot * SLOT_D + L_GPU]
    at = D[D_PART] + new * PART_D
    for item in range(D[at], D[at + 1]):
        if D[D[D_PLACE] + gpu * D[PLACES] + D[D[D_ITEM] + item]] == slot:
            return False
    return True


@lean
def may_repartition(D: Ints, S: Ints, gpu: int, new: int) -> bool:
    """Return whether a GPU may start to change to another partition now."""
    D, S = constants(D), words(S)
    at = D[S_GPU] + gpu * GPU_S
    off = D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART]
    if D[SCOPE] == SCOPE_NEVER or new == off or S[at + PARTITION] == off:
        return False
    # One change per millisecond, also where it takes no time.
    if S[at + UNTIL] != NEVER or S[at + CHANGED] == S[NOW]:
        return False
    if D[PINNED] == 0:
        return True
    old = D[D_PART] + S[at + PARTITION] * PART_D
    for item in range(D[old], D[old + 1]):
        slot = D[D[D_PLACE] + gpu * D[PLACES] + D[D[D_ITEM] + item]]
        job = S[D[S_SLOT] + slot * SLOT_S + JOB]
        if (
            job >= 0
            and D[D[D_JOB] + job * JOB_D + STOPPABLE] == 0
            and _stands_still(D, S, slot, new)
        ):
            return False
    return True


@lean
def repartition(D: Ints, S: Ints, gpu: int, new: int) -> None:
    """Start to change a GPU's partition; the caller has asked ``may_repartition``."""
    D, S = constants(D), words(S)
    at = D[S_GPU] + gpu * GPU_S
    old = S[at + PARTITION]
    part = D[D_PART] + old * PART_D
    for item in range(D[part], D[part + 1]):
        slot = D[D[D_PLACE] + gpu * D[PLACES] + D[D[D_ITEM] + item]]
        if S[D[S_SLOT] + slot * SLOT_S + JOB] != ABSENT and _stands_still(D, S, slot, new):
            remove_slot(D, S, slot)
    S[at + PARTITION] = new
    S[at + CHANGED] = S[NOW]
    S[at + UNTIL] = S[NOW] + D[TAU]
    place = S[QUEUE_HEAD] + S[QUEUE_SIZE]
    S[D[S_QUEUE] + (place if place < D[GPUS] else place - D[GPUS])] = gpu
    S[QUEUE_SIZE] += 1
    S[REPARTITIONS] += 1
    S[CAUSE] |= REPARTITION_START
    if S[LOG_CAPACITY] > 0:
        line = S[LOG] + LOG_S * S[LOG_COUNT]
        S[line] = S[NOW]
        S[line + 1] = S[at + UNTIL]
        S[line + 2] = gpu
        S[line + 3] = -1 - (old * D[PARTS] + new)
        S[LOG_COUNT] += 1


# --- the timetable ---------------------------------------------------------------------------


@lean
def timetable_now(S: Ints, now: int) -> tuple[int, int]:
    """Return the partition number in force at a time, and when the next entry begins."""
    time_of_day = now % MS_PER_DAY
    count = S[ENTRIES]
    number = S[S[TABLE] + 2 * (count - 1) + 1]
    wake = now - time_of_day + MS_PER_DAY + S[S[TABLE]]
    for entry in range(count):
        start = S[S[TABLE] + 2 * entry]
        if start <= time_of_day:
            number = S[S[TABLE] + 2 * entry + 1]
        else:
            wake = now - time_of_day + start
            break
    return number, wake


@lean
def _forget_wakes(D: Ints, S: Ints) -> None:
    """At an entry of the timetable every GPU must be asked again."""
    for gpu in range(D[GPUS]):
        S[D[S_GPU] + gpu * GPU_S + ASK] = 1
    S[PENDING] = D[GPUS]


@lean
def follow_timetable(D: Ints, S: Ints) -> None:
    """Ask every GPU that has still to follow the present entry.

    A GPU that has followed it would answer "no change" until the next entry, so it is not asked;
    one that was changing when the entry began has asked for no wake yet.
    """
    if S[PENDING] == 0:
        return
    number, wake = timetable_now(S, S[NOW])
    for gpu in range(D[GPUS]):
        at = D[S_GPU] + gpu * GPU_S
        if S[at + ASK] == 0 or S[at + UNTIL] != NEVER:
            continue
        S[PARTITION_WAKE] = wake
        new = D[D[D_GPU] + gpu * GPU_D + G_FIRST_PART] + number
        if S[at + PARTITION] != new:
            if not may_repartition(D, S, gpu, new):
                continue
            repartition(D, S, gpu, new)
        S[at + ASK] = 0
        S[PENDING] -= 1

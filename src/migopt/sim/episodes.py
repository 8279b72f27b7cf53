"""Compiled episodes: what a learner sees of one GPU, its rewards, and many days stepped in one call.

An episode is a run of the kernel that stops for partition decisions. Everything here is read off the
state that the kernel keeps; nothing is simulated twice.
"""

from __future__ import annotations

from typing import Any

from migopt.compiled import Ints, lean
from migopt.sim.ahead import decide, forecast
from migopt.sim.events import advance, may_repartition
from migopt.sim.kernel import reset, start
from migopt.sim.layout import *
from migopt.sim.moves import mean_ms
from migopt.sim.rules.passes import dispatch
from migopt.sim.vector import (
    act,
    energy_above_idle,
    next_decision,
    some_gpu_decides,
    type_mean_ms,
)
from migopt.sim.words import constants, words

# Layouts of a state.
PAPER, PAPER_BINNED, QUEUE, FORECAST = range(4)
# Settings of episodes: layout, first jobs seen, instants of decisions, partitions, first partition, most steps.
LAYOUT, JOBS_SEEN, CAUSES, ACTIONS, FIRST, MOST_STEPS, DUE_EDGES, MEAN_EDGES = range(8)
SETTINGS = 8
# Units of a state: job-minutes per microjoule, then edges of the bins in minutes.
ENERGY_UNIT = 0
EDGES = 1
# Figures of an episode, exact.
STATUS, DAY, STEPS, ELAPSED, GAIN_ENERGY, GAIN_LATE, ENERGY, LATE, REPEATS = range(9)
FIGURES = 9
# Values of STATUS: a decision is due, the last job has ended, the cap on steps was met, no job can go on.
GOING, ENDED, CUT, HOPELESS = range(4)
# Rewards of a day: per microjoule, per millisecond of weighted tardiness, once.
PER_ENERGY, PER_LATE, ONCE = range(3)

MS_PER_MIN = 60_000.0
FAR_MIN = 1440.0


@lean
def width_of(layout: int, jobs: int, actions: int) -> int:
    """Return how many numbers a state has."""
    if layout <= PAPER_BINNED:
        return 2 + 2 * jobs
    if layout == QUEUE:
        return 4 + 3 * jobs
    return 4 + 3 * jobs + 3 * actions


@lean
def weighted_late_ms(D: Ints, S: Ints) -> int:
    """Return weighted tardiness up to now in ms, that of active jobs included."""
    late = S[TARDINESS]
    for group in range(D[GROUPS] + 1):
        base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
        for i in range(S[D[S_WAIT_SIZE] + group]):
            jd = D[D_JOB] + S[base + 2 * i + 1] * JOB_D
            late += D[jd + WEIGHT] * max(0, S[NOW] - D[jd + DUE])
    for i in range(S[ENDS]):
        jd = D[D_JOB] + S[D[S_SLOT] + S[D[S_ENDS] + 2 * i + 1] * SLOT_S + JOB] * JOB_D
        late += D[jd + WEIGHT] * max(0, S[NOW] - D[jd + DUE])
    return late


# --- the state ---------------------------------------------------------------------------------


@lean
def _next_due(D: Ints, S: Ints, after: int) -> int:
    """Return the first active job, in order of due date, with a number above ``after``; -1 if none.

    Numbers of jobs are their places in that order.
    """
    found = -1
    for group in range(D[GROUPS] + 1):
        base = D[S_WAIT] + D[D[D_GROUP] + group * GROUP_D + 1]
        for i in range(S[D[S_WAIT_SIZE] + group]):
            job = S[base + 2 * i + 1]
            if job > after and (found < 0 or job < found):
                found = job
    for i in range(S[ENDS]):
        job = S[D[S_SLOT] + S[D[S_ENDS] + 2 * i + 1] * SLOT_S + JOB]
        if job > after and (found < 0 or job < found):
            found = job
    return found


@lean
def _bin(value: float, units: Any, first: int, last: int) -> float:
    """Return in which bin a value lies, from 1; an edge belongs to the bin below it."""
    number = 1
    for i in range(first, last):
        if value > units[i]:
            number += 1
    return number


@lean
def write_state(D: Ints, S: Ints, scratch: Ints, settings: Ints, units: Any, out: Any) -> None:
    """Write what a learner sees at a decision; times in minutes."""
    D, S, scratch, out = constants(D), words(S), words(scratch), words(out)
    settings, units = constants(settings), constants(units)
    jobs, layout = settings[JOBS_SEEN], settings[LAYOUT]
    first = D[D[D_GPU] + G_FIRST_PART]
    out[0] = S[D[S_GPU] + PARTITION] - first
    out[1] = (S[NOW] % MS_PER_DAY) / 3_600_000.0
    if layout == PAPER_BINNED:
        out[1] = (S[NOW] % MS_PER_DAY) // 3_600_000
    at, each = 2, 2
    if layout >= QUEUE:
        out[2] = S[NEXT_ARRIVAL] - S[FINISHED]
        out[3] = S[ENDS]
        at, each = 4, 3
    job = -1
    for i in range(jobs):
        row = at + i * each
        job = _next_due(D, S, job) if job >= 0 or i == 0 else -1
        if job < 0:
            # No such job: bin 0, or due never and nothing to do.
            out[row] = 0.0 if layout == PAPER_BINNED else FAR_MIN
            for k in range(1, each):
                out[row + k] = 0.0
            continue
        due = min(FAR_MIN, (D[D[D_JOB] + job * JOB_D + DUE] - S[NOW]) / MS_PER_MIN)
        if layout >= QUEUE:
            out[row] = due
            out[row + 1] = type_mean_ms(D, S, job) / MS_PER_MIN
            out[row + 2] = 1.0 if S[D[S_JOB] + job * JOB_S + SLOT] >= 0 else 0.0
            continue
        mean = mean_ms(D, S, job)
        mean_min = (mean if mean >= 0 else type_mean_ms(D, S, job)) / MS_PER_MIN
        if layout == PAPER_BINNED:
            middle = EDGES + settings[DUE_EDGES]
            out[row] = _bin(due, units, EDGES, middle)
            out[row + 1] = _bin(mean_min, units, middle, middle + settings[MEAN_EDGES])
        else:
            out[row], out[row + 1] = due, mean_min
    if layout == FORECAST:
        _write_forecasts(D, S, scratch, settings, units, out, at + jobs * each)


@lean
def _write_forecasts(
    D: Ints, S: Ints, scratch: Ints, settings: Ints, units: Any, out: Any, at: int
) -> None:
    """Per partition: energy and tardiness to come in job-minutes, and minutes to the last end.

    Of the present jobs, nothing else coming. Where the GPU may not change now: as if it stayed.
    """
    first = D[D[D_GPU] + G_FIRST_PART]
    present = S[D[S_GPU] + PARTITION]
    energy, late = energy_above_idle(D, S), S[TARDINESS]
    for number in range(1, settings[ACTIONS] + 1):
        row = at + 3 * (number - 1)
        part = first + number
        if part != present and not may_repartition(D, S, 0, part):
            part = present
        forecast(D, S, scratch, 0, part, 0)
        out[row] = (energy_above_idle(D, scratch) - energy) * units[ENERGY_UNIT]
        # A job that can never end costs a day.
        out[row + 1] = (scratch[TARDINESS] - late) / MS_PER_MIN + scratch[UNFINISHED] * FAR_MIN
        out[row + 2] = (scratch[NOW] - S[NOW]) / MS_PER_MIN


@lean
def write_mask(D: Ints, S: Ints, actions: int, out: Any) -> None:
    """Write which partitions may be chosen now: the present one, and those the GPU may change to."""
    D, S = constants(D), words(S)
    present = S[D[S_GPU] + PARTITION] - D[D[D_GPU] + G_FIRST_PART]
    # Unless only some slices stand still, all other partitions may be changed to or none.
    every = False
    if D[SCOPE] != SCOPE_SLICES and actions > 1:
        other = 2 if present == 1 else 1
        every = may_repartition(D, S, 0, D[D[D_GPU] + G_FIRST_PART] + other)
    for number in range(1, actions + 1):
        allowed = every
        if D[SCOPE] == SCOPE_SLICES:
            allowed = may_repartition(D, S, 0, D[D[D_GPU] + G_FIRST_PART] + number)
        out[number - 1] = number == present or allowed


# --- steps ---------------------------------------------------------------------------------------


@lean
def _settle(
    D: Ints, S: Ints, status: int, before: int, settings: Ints, rates: Any, row: Ints, paid: Any
) -> None:
    """Account for what has happened since the last decision."""
    energy, late = energy_above_idle(D, S), weighted_late_ms(D, S)
    row[GAIN_ENERGY], row[GAIN_LATE] = energy - row[ENERGY], late - row[LATE]
    row[ENERGY], row[LATE] = energy, late
    row[ELAPSED] = S[NOW] - before
    row[STEPS] += 1
    reward = row[GAIN_ENERGY] * rates[PER_ENERGY] + row[GAIN_LATE] * rates[PER_LATE]
    if row[STEPS] == 1:
        reward += rates[ONCE]
    paid[0] = -reward
    row[STATUS] = HOPELESS
    if status == FINISHED_RUN:
        row[STATUS] = ENDED
    elif status == DECIDE:
        row[STATUS] = CUT if row[STEPS] == settings[MOST_STEPS] else GOING


@lean
def begin_episode(
    D: Ints, S: Ints, rule: Ints, seed: int, part: Ints, settings: Ints, row: Ints
) -> None:
    """Begin a day and go to its first decision; what has happened by then counts in the first reward."""
    reset(D, S, rule, seed, 0)
    part[0] = D[D[D_GPU] + G_FIRST_PART] + settings[FIRST]
    start(D, S, part)
    status = next_decision(D, S, settings[CAUSES])
    for i in range(STEPS, FIGURES):
        row[i] = 0
    row[STATUS] = GOING if status == DECIDE else (ENDED if status == FINISHED_RUN else HOPELESS)


@lean
def step_episode(
    D: Ints, S: Ints, action: Ints, settings: Ints, rates: Any, row: Ints, paid: Any
) -> None:
    """Take one decision (a catalogue number) and go to the next."""
    before = S[NOW]
    act(D, S, action)
    S[DECISIONS] += 1
    dispatch(D, S)
    status = next_decision(D, S, settings[CAUSES])
    _settle(D, S, status, before, settings, rates, row, paid)


@lean
def begin_many(
    DD: Ints,
    days: Ints,
    SS: Ints,
    places: Ints,
    rule: Ints,
    seed: int,
    settings: Ints,
    units: Any,
    parts: Ints,
    chosen: Ints,
    scratch: Ints,
    figures: Ints,
    states: Any,
    masks: Any,
) -> None:
    """Begin the episodes ``chosen`` on the days in their rows of figures."""
    settings, units, scratch = constants(settings), constants(units), words(scratch)
    for e in chosen:
        D = constants(DD[days[figures[e, DAY], 0] :])
        S = words(SS[places[e, 0] :])
        begin_episode(D, S, rule, seed, parts[e], settings, figures[e])
        if figures[e, STATUS] == GOING:
            write_state(D, S, scratch, settings, units, words(states[e]))
            write_mask(D, S, settings[ACTIONS], masks[e])


@lean
def first_beyond(actions: Ints, most: int) -> int:
    """Return the first row with an action that is no number of a partition; -1 if there is none."""
    for row in range(len(actions)):
        if actions[row] > most or actions[row] < 0:
            return row
    return -1


@lean
def step_many_episodes(
    DD: Ints,
    days: Ints,
    SS: Ints,
    places: Ints,
    actions: Ints,
    first: int,
    last: int,
    settings: Ints,
    units: Any,
    rates: Any,
    scratch: Ints,
    figures: Ints,
    rewards: Any,
    states: Any,
    masks: Any,
) -> None:
    """Step episodes first .. last - 1; those that are over stay as they are, with reward 0."""
    settings, units, scratch = constants(settings), constants(units), words(scratch)
    for e in range(first, last):
        if figures[e, STATUS] != GOING:
            rewards[e] = 0.0
            continue
        day = figures[e, DAY]
        D = constants(DD[days[day, 0] :])
        S = words(SS[places[e, 0] :])
        paid = words(rewards[e : e + 1])
        action, price = words(actions[e : e + 1]), constants(rates[day])
        step_episode(D, S, action, settings, price, words(figures[e]), paid)
        if figures[e, STATUS] == GOING or figures[e, STATUS] == CUT:
            write_state(D, S, scratch, settings, units, words(states[e]))
            write_mask(D, S, settings[ACTIONS], masks[e])


@lean
def _play_arrivals(
    D: Ints, S: Ints, scratch: Ints, arrivals: int, settings: Ints, ahead: Ints, prices: Any
) -> int:
    """Go on until so many more jobs have come, with decisions by look-ahead; stop before a decision."""
    last = S[NEXT_ARRIVAL] + arrivals
    while True:
        status = advance(D, S)
        if status != DECIDE or S[NEXT_ARRIVAL] >= last:
            return status
        if S[CAUSE] & settings[CAUSES] != 0 and some_gpu_decides(D, S):
            decide(D, S, scratch, 0, settings[ACTIONS], ahead, prices)
        S[DECISIONS] += 1
        dispatch(D, S)


@lean
def try_many(
    DD: Ints,
    days: Ints,
    SS: Ints,
    places: Ints,
    actions: Ints,
    arrivals: int,
    settings: Ints,
    units: Any,
    ahead: Ints,
    prices: Any,
    scratch: Ints,
    copy: Ints,
    figures: Ints,
    tried: Ints,
    states: Any,
    masks: Any,
) -> None:
    """Play on to the same arrival under several actions per episode; the episodes stay where they are.

    What arrives, and when the trial stops, is the same under every action, so that outcomes differ by
    the actions alone. ``actions``: (episodes, tries); ``tried``, ``states``, ``masks``: what each leads
    to. ``ahead`` and ``prices`` are those of ``ahead.decide``, which decides between.
    """
    settings, units, ahead = constants(settings), constants(units), constants(ahead)
    prices, scratch, copy = constants(prices), words(scratch), words(copy)
    for e in range(len(actions)):
        if figures[e, STATUS] != GOING:
            continue
        day = figures[e, DAY]
        D = constants(DD[days[day, 0] :])
        S = words(SS[places[e, 0] :])
        for k in range(actions.shape[1]):
            for word in range(D[S_SIZE]):
                copy[word] = S[word]
            for i in range(FIGURES):
                tried[e, k, i] = figures[e, i]
            before = copy[NOW]
            act(D, copy, words(actions[e, k : k + 1]))
            copy[DECISIONS] += 1
            dispatch(D, copy)
            status = _play_arrivals(D, copy, scratch, arrivals, settings, ahead, prices)
            energy, late = energy_above_idle(D, copy), weighted_late_ms(D, copy)
            row = tried[e, k]
            row[GAIN_ENERGY], row[GAIN_LATE] = energy - row[ENERGY], late - row[LATE]
            row[ELAPSED] = copy[NOW] - before
            row[STATUS] = ENDED
            if status == DECIDE:
                row[STATUS] = GOING
                write_state(D, copy, scratch, settings, units, states[e, k])
                write_mask(D, copy, settings[ACTIONS], masks[e, k])

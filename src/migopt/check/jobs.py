"""Rules of one job over time: one slice at a time, all of its work and no more, preemption."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migopt.check.form import rate
from migopt.check.rules import Rule, Violation
from migopt.model import Instance, Job, Placement, Reconfiguration, Segment


@dataclass(frozen=True, slots=True)
class Run:
    """Segments of a job that follow each other at once on one placement: one stay on a slice."""

    start_ms: int
    end_ms: int
    gpu: int
    placement: Placement
    rate: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job comes: work left in the end, completion (None if never), excess per run."""

    left: int
    completion_ms: int | None
    excess: tuple[tuple[Run, int, int], ...]


def job_violations(
    instance: Instance,
    job: Job,
    segments: Sequence[Segment],
    changes: Sequence[Sequence[Reconfiguration]],
) -> Iterator[Violation]:
    """Yield what is wrong with one job, given its segments and each GPU's repartitions in order."""
    runs = _runs(instance, segments)
    preemption = instance.preemption
    overhead = preemption.resume_overhead_ms if preemption.mode == "cost" else 0
    progress = _progress(job, runs, overhead)
    yield from _twice(job, segments)
    yield from _work(job, runs, overhead, progress)
    if not instance.is_preemptible(job):
        yield from _stops(job, runs)
        for run in runs:
            if 0 <= run.gpu < len(changes):
                slices = instance.repartition.scope == "slices"
                yield from _interrupted(job, run, changes[run.gpu], slices, progress)


def _runs(instance: Instance, segments: Sequence[Segment]) -> list[Run]:
    runs: list[Run] = []
    for segment in segments:
        start = segment.start_ms
        last = runs[-1] if runs else None
        if last is not None and (last.end_ms, last.gpu, last.placement) == (
            start,
            segment.gpu,
            segment.placement,
        ):
            start = runs.pop().start_ms
        speed = rate(instance, segment)
        runs.append(Run(start, segment.end_ms, segment.gpu, segment.placement, speed))
    return runs


def _progress(job: Job, runs: Sequence[Run], overhead: int) -> Progress:
    """Add up the work of the runs; each but the first serves ``overhead`` before work goes on.

    With ``left`` work at rate v the job is done ceil(left / v) ms later; a run cut earlier has done
    v x duration.
    """
    left = job.work
    completion = job.release_ms if left <= 0 else None
    excess = []
    for index, run in enumerate(runs):
        if completion is not None:
            excess.append((run, run.start_ms, run.end_ms - run.start_ms))
            continue
        begin = run.start_ms + (overhead if index else 0)
        needed = -(-left // run.rate) if run.rate else None
        if needed is not None and begin + needed <= run.end_ms:
            left, completion = 0, begin + needed
            if run.end_ms > completion:
                excess.append((run, completion, run.end_ms - completion))
        else:
            left -= run.rate * max(0, run.end_ms - begin)
    return Progress(left, completion, tuple(excess))


def _twice(job: Job, segments: Sequence[Segment]) -> Iterator[Violation]:
    longest: Segment | None = None
    for segment in segments:
        if longest is not None and longest.end_ms > segment.start_ms:
            amount = min(longest.end_ms, segment.end_ms) - segment.start_ms
            message = (
                f"job {job.id} runs on {segment.placement} of GPU {segment.gpu} and on "
                f"{longest.placement} of GPU {longest.gpu} at once for {amount} ms "
                f"from {segment.start_ms} ms on"
            )
            yield Violation(Rule.JOB_TWICE, segment.gpu, job.id, segment.start_ms, amount, message)
        if longest is None or segment.end_ms > longest.end_ms:
            longest = segment


def _work(job: Job, runs: Sequence[Run], overhead: int, progress: Progress) -> Iterator[Violation]:
    for run, at_ms, amount in progress.excess:
        message = (
            f"job {job.id} is done at {progress.completion_ms} ms and runs for {amount} ms more "
            f"on {run.placement} of GPU {run.gpu}, until {run.end_ms} ms"
        )
        yield Violation(Rule.AFTER_COMPLETION, run.gpu, job.id, at_ms, amount, message)
    if progress.completion_ms is not None:
        return
    at_ms = max((run.end_ms for run in runs), default=job.release_ms)
    message = f"job {job.id} never runs; all of its {job.work} units of work are left"
    gpu = None
    if runs:
        message = f"job {job.id} ends at {at_ms} ms with {progress.left} of {job.work} work left"
        gpu = runs[-1].gpu
    yield Violation(Rule.UNFINISHED, gpu, job.id, at_ms, progress.left, message)
    if overhead and len(runs) > 1 and _progress(job, runs, 0).completion_ms is not None:
        amount = overhead * (len(runs) - 1)
        message = (
            f"job {job.id} resumes {len(runs) - 1} times at {overhead} ms of overhead each; its "
            f"segments leave no time for these {amount} ms"
        )
        yield Violation(Rule.RESUME_OVERHEAD, gpu, job.id, runs[1].start_ms, amount, message)


def _stops(job: Job, runs: Sequence[Run]) -> Iterator[Violation]:
    if len(runs) > 1:
        first = runs[0]
        message = (
            f"job {job.id} may not be preempted, but leaves {first.placement} of GPU {first.gpu} "
            f"at {first.end_ms} ms and runs {len(runs) - 1} more times"
        )
        yield Violation(Rule.PREEMPTED, first.gpu, job.id, first.end_ms, len(runs) - 1, message)


def _interrupted(
    job: Job,
    run: Run,
    changes: Sequence[Reconfiguration],
    slices: bool,
    progress: Progress,
) -> Iterator[Violation]:
    """Yield repartitions of the run's GPU that begin while it runs (completing then is in time)."""
    starts = [change.start_ms for change in changes]
    for index in range(bisect_right(starts, run.start_ms), bisect_right(starts, run.end_ms)):
        change = changes[index]
        goes_on = slices and run.placement in change.old and run.placement in change.new
        if not goes_on and change.start_ms != progress.completion_ms:
            message = (
                f"job {job.id} may not be preempted and runs on {run.placement} of GPU {run.gpu} "
                f"when a repartition begins at {change.start_ms} ms"
            )
            yield Violation(
                Rule.PREEMPTED_BY_REPARTITION, run.gpu, job.id, change.start_ms, 1, message
            )

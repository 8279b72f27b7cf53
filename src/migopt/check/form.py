"""Rules that one segment or repartition can break by itself: names, times, release, fit."""

from __future__ import annotations

from collections.abc import Iterator

from migopt.check.rules import Rule, Violation
from migopt.model import Instance, Reconfiguration, Schedule, Segment
from migopt.model.gpu import OFF_PLACEMENT


def form_violations(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield what is wrong with single segments and repartitions."""
    for segment in schedule.segments:
        yield from _names(instance, segment)
        yield from _times(segment, segment.job)
        yield from _release_and_fit(instance, segment)
    for change in schedule.reconfigurations:
        if not 0 <= change.gpu < len(instance.gpus):
            yield _unknown_gpu(instance, change, None)
        yield from _times(change, None)


def exists(instance: Instance, segment: Segment) -> bool:
    """Return whether the segment's GPU has such a placement (MIG off counts as one)."""
    if not 0 <= segment.gpu < len(instance.gpus):
        return False
    model, placement = instance.gpus[segment.gpu], segment.placement
    if placement == OFF_PLACEMENT:
        return True
    if not model.has_profile(placement.profile):
        return False
    return placement.start in model.profile(placement.profile).starts


def rate(instance: Instance, segment: Segment) -> int:
    """Return the work per millisecond that the segment does; 0 where it can do none."""
    job = instance.job_by_id.get(segment.job)
    if job is None or not exists(instance, segment):
        return 0
    return instance.rate(job, instance.gpus[segment.gpu], segment.placement.profile)


def _names(instance: Instance, segment: Segment) -> Iterator[Violation]:
    if segment.job not in instance.job_by_id:
        message = f"the instance has no job {segment.job}"
        yield _at(Rule.UNKNOWN_JOB, segment, 1, message)
    if not 0 <= segment.gpu < len(instance.gpus):
        yield _unknown_gpu(instance, segment, segment.job)
    elif not exists(instance, segment):
        key = instance.gpus[segment.gpu].key
        message = f"job {segment.job} runs on {segment.placement}, which no {key} has"
        yield _at(Rule.UNKNOWN_PLACEMENT, segment, 1, message)


def _unknown_gpu(instance: Instance, item: Segment | Reconfiguration, job: int | None) -> Violation:
    message = f"there is no GPU {item.gpu}; the instance has GPUs 0 to {len(instance.gpus) - 1}"
    return Violation(Rule.UNKNOWN_GPU, item.gpu, job, item.start_ms, 1, message)


def _times(item: Segment | Reconfiguration, job: int | None) -> Iterator[Violation]:
    what = "a repartition" if job is None else f"a segment of job {job}"
    length = item.end_ms - item.start_ms
    if length < 0:
        message = f"{what} ends at {item.end_ms} ms, before it starts at {item.start_ms} ms"
        yield Violation(Rule.TIME_ORDER, item.gpu, job, item.start_ms, -length, message)
    elif length == 0 and job is not None:
        message = f"{what} starts and ends at {item.start_ms} ms"
        yield Violation(Rule.EMPTY_SEGMENT, item.gpu, job, item.start_ms, 1, message)
    if item.start_ms < 0:
        message = f"{what} starts at {item.start_ms} ms, before time 0"
        yield Violation(Rule.BEFORE_ZERO, item.gpu, job, item.start_ms, -item.start_ms, message)


def _release_and_fit(instance: Instance, segment: Segment) -> Iterator[Violation]:
    job = instance.job_by_id.get(segment.job)
    length = segment.end_ms - segment.start_ms
    if job is None or length <= 0:
        return
    early = min(segment.end_ms, job.release_ms) - segment.start_ms
    if early > 0:
        message = f"job {job.id} runs at {segment.start_ms} ms, released at {job.release_ms} ms"
        yield _at(Rule.BEFORE_RELEASE, segment, early, message)
    if exists(instance, segment) and rate(instance, segment) == 0:
        profile = segment.placement.profile
        model = instance.gpus[segment.gpu]
        why = "its rate there is 0"
        if profile != OFF_PLACEMENT.profile:
            memory = model.profile(profile).memory_bytes
            if memory is not None and job.memory_bytes > memory:
                why = f"it needs {job.memory_bytes} bytes, the profile has {memory}"
        elif not instance.mig_off:
            why = "the instance does not allow MIG off"
        message = f"job {job.id} cannot run on {profile} of {model.key}: {why}"
        yield _at(Rule.DOES_NOT_FIT, segment, length, message)


def _at(rule: Rule, segment: Segment, amount: int, message: str) -> Violation:
    return Violation(rule, segment.gpu, segment.job, segment.start_ms, amount, message)

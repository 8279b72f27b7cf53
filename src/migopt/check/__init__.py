"""Is this schedule legal; if not: which rule, where, by how much.

The checker shares no code with what makes schedules (simulator, exact models). It never steps
through events: it takes a schedule as intervals, sorts them per slice, per GPU and per job, and
compares each with what the rules allow there. All intervals are half-open: a segment may begin at
the millisecond at which another, or a repartition, ends.
"""

from __future__ import annotations

from collections import defaultdict

from migopt.check.form import exists, form_violations
from migopt.check.jobs import job_violations
from migopt.check.partitions import (
    change_violations,
    initial_violations,
    phases,
    standstill_violations,
)
from migopt.check.rules import Rule, Violation
from migopt.check.slices import conflict_violations, slice_violations
from migopt.model import Instance, Partition, Reconfiguration, Schedule, Segment

__all__ = ["Rule", "Violation", "check"]


def check(instance: Instance, schedule: Schedule) -> list[Violation]:
    """Return every violation of the rules of a legal schedule, in order of time; empty if legal.

    The rules are those of ``Rule``. A malformed segment (unknown GPU, job or placement, no
    positive length) is reported as such; where its slice or its work cannot be known it does no
    work and the other rules are judged without it.
    """
    found = [*initial_violations(instance, schedule), *form_violations(instance, schedule)]
    by_gpu: dict[int, list[Segment]] = defaultdict(list)
    by_job: dict[int, list[Segment]] = defaultdict(list)
    for segment in schedule.segments:
        if segment.end_ms > segment.start_ms:
            by_job[segment.job].append(segment)
            if exists(instance, segment):
                by_gpu[segment.gpu].append(segment)
    changes: list[list[Reconfiguration]] = [[] for _ in instance.gpus]
    for change in schedule.reconfigurations:
        if 0 <= change.gpu < len(changes):
            changes[change.gpu].append(change)

    for gpu, model in enumerate(instance.gpus):
        initial = schedule.initial[gpu] if gpu < len(schedule.initial) else Partition(())
        found += change_violations(instance, gpu, initial, changes[gpu])
        spans = phases(instance, initial, changes[gpu])
        found += standstill_violations(gpu, by_gpu[gpu], spans)
        found += slice_violations(gpu, by_gpu[gpu])
        found += conflict_violations(model, gpu, by_gpu[gpu])
    for job in instance.jobs:
        found += job_violations(instance, job, by_job[job.id], changes)
    return sorted(found, key=Violation.sort_key)

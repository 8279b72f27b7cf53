"""Rules of the partitions of one GPU over time: what is in force when, and what stands still."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migopt.check.rules import Rule, Violation
from migopt.model import Instance, Partition, Placement, Reconfiguration, Schedule, Segment
from migopt.model.gpu import OFF_PARTITION

#: Earlier than any time in a schedule.
BEGINNING = -(2**63)


@dataclass(frozen=True, slots=True)
class Phase:
    """A span of one GPU's time, from ``start_ms`` to the next phase.

    ``usable`` are the placements on which a job may run, ``still`` those that stand still for a
    repartition (every one, if ``whole_gpu_still``).
    """

    start_ms: int
    usable: frozenset[Placement]
    still: frozenset[Placement] = frozenset()
    whole_gpu_still: bool = False


def initial_violations(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield what is wrong with the first partitions."""
    have, need = len(schedule.initial), len(instance.gpus)
    if have != need:
        message = f"the schedule has {have} first partitions for {need} GPUs"
        yield Violation(Rule.INITIAL_COUNT, None, None, 0, abs(have - need), message)
    for gpu, partition in enumerate(schedule.initial[:need]):
        if not instance.allows(gpu, partition):
            name = instance.catalogue(gpu).name
            why = "MIG off is not allowed" if partition.is_off else f"not in catalogue {name}"
            message = f"GPU {gpu} starts with partition {partition}: {why}"
            yield Violation(Rule.INITIAL_PARTITION, gpu, None, 0, 1, message)


def change_violations(
    instance: Instance, gpu: int, initial: Partition, changes: Sequence[Reconfiguration]
) -> Iterator[Violation]:
    """Yield what is wrong with the repartitions of one GPU, given in order of start."""
    in_force = initial
    before: Reconfiguration | None = None
    for change in changes:
        for rule, amount, message in _one_change(instance, gpu, in_force, change):
            text = f"GPU {gpu}, repartition at {change.start_ms} ms: {message}"
            yield Violation(rule, gpu, None, change.start_ms, amount, text)
        if before is not None and (
            change.start_ms < before.end_ms or change.start_ms == before.start_ms
        ):
            amount = max(0, min(before.end_ms, change.end_ms) - change.start_ms)
            text = (
                f"GPU {gpu}, repartition at {change.start_ms} ms: the one from "
                f"{before.start_ms} ms to {before.end_ms} ms is not over"
            )
            if change.start_ms >= before.end_ms:
                text = f"GPU {gpu} decides two repartitions at {change.start_ms} ms"
            yield Violation(Rule.REPARTITION_OVERLAP, gpu, None, change.start_ms, amount, text)
        in_force = change.new
        if before is None or change.end_ms >= before.end_ms:
            before = change


def _one_change(
    instance: Instance, gpu: int, in_force: Partition, change: Reconfiguration
) -> Iterator[tuple[Rule, int, str]]:
    tau = instance.repartition.tau_ms
    length = change.end_ms - change.start_ms
    if instance.repartition.scope == "never":
        yield Rule.REPARTITION_NEVER, 1, "the instance allows no repartition"
    if length != tau:
        yield Rule.REPARTITION_LENGTH, length - tau, f"it takes {length} ms, not {tau} ms"
    if change.old != in_force:
        yield Rule.REPARTITION_OLD, 1, f"from {change.old}, but {in_force} is in force"
    if OFF_PARTITION in (in_force, change.old, change.new):
        yield Rule.REPARTITION_OFF, 1, "a GPU has MIG off from 0 to the end or never"
    if change.new != OFF_PARTITION and not instance.allows(gpu, change.new):
        name = instance.catalogue(gpu).name
        yield Rule.REPARTITION_NEW, 1, f"to {change.new}, which is not in catalogue {name}"


def phases(
    instance: Instance, initial: Partition, changes: Sequence[Reconfiguration]
) -> list[Phase]:
    """Return what one GPU offers over time, in order; ``changes`` are in order of start."""
    spans = [Phase(BEGINNING, frozenset(initial))]
    until = BEGINNING
    for change in changes:
        # Where repartitions overlap (a violation of its own) the GPU stands still for both.
        if spans[-1].start_ms > change.start_ms:
            spans.pop()
        until = max(until, change.start_ms, change.end_ms)
        old, new = frozenset(change.old), frozenset(change.new)
        if instance.repartition.scope == "slices":
            spans.append(Phase(change.start_ms, old & new, old ^ new))
        else:
            spans.append(Phase(change.start_ms, frozenset(), whole_gpu_still=True))
        spans.append(Phase(until, new))
    return spans


def standstill_violations(
    gpu: int, segments: Sequence[Segment], spans: Sequence[Phase]
) -> Iterator[Violation]:
    """Yield segments of one GPU outside the partition in force or inside a repartition."""
    starts = [phase.start_ms for phase in spans]
    for segment in segments:
        first: dict[Rule, int] = {}
        amount: dict[Rule, int] = {}
        for index in range(bisect_right(starts, segment.start_ms) - 1, len(spans)):
            phase = spans[index]
            if phase.start_ms >= segment.end_ms:
                break
            end = starts[index + 1] if index + 1 < len(spans) else segment.end_ms
            start = max(segment.start_ms, phase.start_ms)
            duration = min(segment.end_ms, end) - start
            if duration <= 0 or segment.placement in phase.usable:
                continue
            still = phase.whole_gpu_still or segment.placement in phase.still
            rule = Rule.DURING_REPARTITION if still else Rule.NOT_IN_FORCE
            first.setdefault(rule, start)
            amount[rule] = amount.get(rule, 0) + duration
        for rule, at_ms in first.items():
            why = "it is not in the partition in force"
            if rule is Rule.DURING_REPARTITION:
                why = "it stands still for a repartition"
            message = (
                f"job {segment.job} runs on {segment.placement} of GPU {gpu} for {amount[rule]} ms "
                f"from {at_ms} ms on while {why}"
            )
            yield Violation(rule, gpu, segment.job, at_ms, amount[rule], message)

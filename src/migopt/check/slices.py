"""Rules of slices: one job each at a time, and no two conflicting placements at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from migopt.check.rules import Rule, Violation
from migopt.model import GpuModel, Placement, Segment
from migopt.model.gpu import OFF_PLACEMENT


def slice_violations(gpu: int, segments: Sequence[Segment]) -> Iterator[Violation]:
    """Yield segments of one GPU that run on a slice while another job runs there.

    ``segments`` are in order of start. Each segment is compared with the one of another job that
    holds its slice longest, so that one segment gives one violation.
    """
    latest: dict[Placement, list[Segment]] = {}
    for segment in segments:
        # The two latest ends of distinct jobs suffice to find the longest overlap with another job.
        holders = latest.setdefault(segment.placement, [])
        other = next((held for held in holders if held.job != segment.job), None)
        if other is not None and other.end_ms > segment.start_ms:
            amount = min(other.end_ms, segment.end_ms) - segment.start_ms
            message = (
                f"jobs {other.job} and {segment.job} both run on {segment.placement} of GPU {gpu} "
                f"for {amount} ms from {segment.start_ms} ms on"
            )
            yield Violation(Rule.SLICE_SHARED, gpu, segment.job, segment.start_ms, amount, message)
        ranked = sorted([*holders, segment], key=lambda held: -held.end_ms)
        latest[segment.placement] = ranked[:1] + [s for s in ranked if s.job != ranked[0].job][:1]


def conflict_violations(
    model: GpuModel, gpu: int, segments: Sequence[Segment]
) -> Iterator[Violation]:
    """Yield segments of one GPU that run while a conflicting placement runs.

    ``segments`` are in order of start and on placements the GPU can have.
    """
    busy: dict[Placement, Segment] = {}
    conflicts: dict[tuple[Placement, Placement], bool] = {}
    for segment in segments:
        mine = segment.placement
        busy = {place: held for place, held in busy.items() if held.end_ms > segment.start_ms}
        for place, held in busy.items():
            if place == mine:
                continue
            if (place, mine) not in conflicts:
                off = OFF_PLACEMENT in (place, mine)
                conflicts[place, mine] = off or model.conflict(place, mine)
            if conflicts[place, mine]:
                amount = min(held.end_ms, segment.end_ms) - segment.start_ms
                message = (
                    f"job {held.job} on {place} and job {segment.job} on {mine} of GPU {gpu} run "
                    f"at once for {amount} ms from {segment.start_ms} ms on"
                )
                yield Violation(
                    Rule.PLACEMENTS_OVERLAP, gpu, segment.job, segment.start_ms, amount, message
                )
        if mine not in busy or busy[mine].end_ms < segment.end_ms:
            busy[mine] = segment

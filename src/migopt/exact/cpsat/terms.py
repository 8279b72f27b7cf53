"""What every CP-SAT problem knows of its jobs, in its own time unit."""

from __future__ import annotations

from functools import cached_property

from migopt.exact.cpsat.objective import Scale
from migopt.model import Instance


class JobTerms:
    """Releases, due dates and price of lateness of an instance's jobs, by job."""

    instance: Instance
    scale: Scale

    @cached_property
    def release(self) -> tuple[int, ...]:
        """Releases in time units."""
        return tuple(job.release_ms // self.scale.unit_ms for job in self.instance.jobs)

    @cached_property
    def due(self) -> tuple[int, ...]:
        """Due dates in time units."""
        return tuple(job.due_ms // self.scale.unit_ms for job in self.instance.jobs)

    @cached_property
    def late_cost(self) -> tuple[int, ...]:
        """Cost per time unit of tardiness, by job."""
        return tuple(self.scale.per_late * job.weight for job in self.instance.jobs)

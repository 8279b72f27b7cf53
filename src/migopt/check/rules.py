"""What a schedule can violate: the list of rules, and one violation of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Rule(StrEnum):
    """Every rule a schedule can break.

    Attributes
    ----------
    unit : str
        Unit of the amount that is reported: ``ms``, ``work`` (units of work) or ``count``.
    meaning : str
        The violation in words.
    """

    unit: str
    meaning: str

    def __new__(cls, value: str, unit: str, meaning: str) -> Rule:
        """Make a member whose value is its name in files."""
        rule = str.__new__(cls, value)
        rule._value_, rule.unit, rule.meaning = value, unit, meaning
        return rule

    # What the schedule speaks of.
    UNKNOWN_JOB = "unknown_job", "count", "a job that the instance does not have"
    UNKNOWN_GPU = "unknown_gpu", "count", "a GPU that the instance does not have"
    UNKNOWN_PLACEMENT = "unknown_placement", "count", "a placement that the GPU cannot have"
    EMPTY_SEGMENT = "empty_segment", "count", "a segment that ends where it starts"
    TIME_ORDER = "time_order", "ms", "a segment or repartition that ends before it starts"
    BEFORE_ZERO = "before_zero", "ms", "a segment or repartition that starts before time 0"

    # Partitions.
    INITIAL_COUNT = "initial_count", "count", "more or fewer first partitions than GPUs"
    INITIAL_PARTITION = (
        "initial_partition",
        "count",
        "a first partition outside the catalogue, or MIG off where it is not allowed",
    )
    REPARTITION_LENGTH = (
        "repartition_length",
        "ms",
        "a repartition that does not take tau (amount: length - tau)",
    )
    REPARTITION_OLD = "repartition_old", "count", "a repartition from a partition not in force"
    REPARTITION_NEW = "repartition_new", "count", "a repartition to one outside the catalogue"
    REPARTITION_OVERLAP = (
        "repartition_overlap",
        "ms",
        "two repartitions of one GPU at once, or begun at the same millisecond",
    )
    REPARTITION_NEVER = "repartition_never", "count", "a repartition where none is allowed"
    REPARTITION_OFF = "repartition_off", "count", "a repartition from or to MIG off"

    # Slices.
    NOT_IN_FORCE = "not_in_force", "ms", "a job on a placement outside the partition in force"
    DURING_REPARTITION = (
        "during_repartition",
        "ms",
        "a job on a slice that stands still for a repartition",
    )
    SLICE_SHARED = "slice_shared", "ms", "two jobs on one slice at once"
    PLACEMENTS_OVERLAP = "placements_overlap", "ms", "jobs at once on placements that conflict"

    # Jobs.
    JOB_TWICE = "job_twice", "ms", "a job in two segments at once"
    BEFORE_RELEASE = "before_release", "ms", "a job that runs before its release"
    AFTER_COMPLETION = "after_completion", "ms", "a job that runs on when its work is done"
    DOES_NOT_FIT = "does_not_fit", "ms", "a job where its rate is 0 or the memory too small"
    UNFINISHED = "unfinished", "work", "a job whose work is not done by its last segment"
    PREEMPTED = "preempted", "count", "a non-preemptible job that stops and runs again"
    PREEMPTED_BY_REPARTITION = (
        "preempted_by_repartition",
        "count",
        "a repartition of a slice on which a non-preemptible job runs",
    )
    RESUME_OVERHEAD = (
        "resume_overhead",
        "ms",
        "an unfinished job that would be done if its resumes were free (amount: overhead in all)",
    )


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated rule: where, when, by how much, and one sentence for people.

    ``gpu`` or ``job`` is None where the rule concerns none; ``amount`` is in ``rule.unit``.
    """

    rule: Rule
    gpu: int | None
    job: int | None
    at_ms: int
    amount: int
    message: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """Return the violation ready for JSON, the unit of ``amount`` beside it."""
        return {
            "rule": self.rule.value,
            "gpu": self.gpu,
            "job": self.job,
            "at_ms": self.at_ms,
            "amount": self.amount,
            "unit": self.rule.unit,
            "message": self.message,
        }

    def sort_key(self) -> tuple[int, str, int, int, int]:
        """Order of a report: time, rule, GPU, job, amount."""
        gpu = -1 if self.gpu is None else self.gpu
        job = -1 if self.job is None else self.job
        return self.at_ms, self.rule.value, gpu, job, self.amount

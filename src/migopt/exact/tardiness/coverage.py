"""Which instances the tardiness search covers; loads nothing numerical."""

from __future__ import annotations

from migopt.errors import InputError
from migopt.model import Instance

#: Sets of jobs are the bits of one 64-bit integer, and tables grow with jobs squared.
MOST_JOBS = 40


def class_name(partition: int | str | None) -> str:
    """Return the class in which the solver is exact."""
    if partition is None:
        return "no preemption, one partition for the whole run"
    return f"no preemption, {'MIG off' if partition == 'off' else f'partition {partition}'}"


def why_not(instance: Instance, partition: int | str | None = None) -> str | None:
    """Return why the solver does not cover an instance, or None."""
    if instance.kind != "schedule":
        return f"kind {instance.kind} is not covered"
    if len(instance.gpus) != 1:
        return f"{len(instance.gpus)} GPUs: the tardiness search covers one"
    if instance.weight_a:
        return f"energy has weight {instance.weight_a}: the tardiness search covers weight 0"
    if len(instance.jobs) > MOST_JOBS:
        return f"{len(instance.jobs)} jobs: the tardiness search covers up to {MOST_JOBS}"
    if partition == "off" and not instance.mig_off:
        return "the instance does not allow MIG off"
    if isinstance(partition, int):
        try:
            instance.catalogue(0)[partition]
        except InputError as error:
            return str(error)
    return None

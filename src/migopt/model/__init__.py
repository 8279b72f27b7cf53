"""Frozen problem data: no input or output, no algorithm."""

from migopt.model.gpu import (
    OFF_PARTITION,
    OFF_PLACEMENT,
    OFF_PROFILE,
    Catalogue,
    Conflict,
    DriverRule,
    Engines,
    GpuModel,
    Partition,
    Placement,
    Profile,
)
from migopt.model.instance import Instance, Preemption, Repartition
from migopt.model.job import FrozenMap, Job
from migopt.model.power import PowerCurve
from migopt.model.schedule import Reconfiguration, Schedule, Segment

__all__ = [
    "OFF_PARTITION",
    "OFF_PLACEMENT",
    "OFF_PROFILE",
    "Catalogue",
    "Conflict",
    "DriverRule",
    "Engines",
    "FrozenMap",
    "GpuModel",
    "Instance",
    "Job",
    "Partition",
    "Placement",
    "PowerCurve",
    "Preemption",
    "Profile",
    "Reconfiguration",
    "Repartition",
    "Schedule",
    "Segment",
]

"""Non-preemptive schedules of one GPU, exactly, by CP-SAT: partition given or chosen.

``case`` (a partition in integers), ``variables``, ``constraints``, ``objective`` and ``decode`` make the
model; ``start``, ``progress`` and ``solver`` run it. Statement and proofs: docs/exact/cpsat.md.
"""

from migopt.exact.cpsat.solver import CpSat, class_name, covers_instance, why_not

__all__ = ["CpSat", "class_name", "covers_instance", "why_not"]

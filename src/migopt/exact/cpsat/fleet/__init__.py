"""Several GPUs, and partitions that change: the model of all non-preemptive schedules.

``problem``, ``variables``, ``constraints``, ``objective`` and ``decode`` make the model; ``start``, ``model`` and
``search`` run it. Statement and proofs: docs/exact/cpsat.md.
"""

"""migopt: schedule AI jobs on NVIDIA MIG GPUs, and prove how good the schedule is.

Public names are resolved on first use, so that ``import migopt`` loads no engine.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Answer": "migopt.api",
    "Budget": "migopt.results",
    "Instance": "migopt.model",
    "InstanceBuilder": "migopt.io",
    "Job": "migopt.model",
    "MigoptError": "migopt.errors",
    "Partition": "migopt.model",
    "Placement": "migopt.model",
    "Schedule": "migopt.model",
    "Certificate": "migopt.certificates",
    "build_catalogue": "migopt.placement",
    "certify": "migopt.api",
    "generate": "migopt.io.generators",
    "gpu_keys": "migopt.gpus",
    "import_trace": "migopt.io.traces",
    "load_gpu": "migopt.gpus",
    "measure": "migopt.metrics",
    "read_instance": "migopt.io",
    "read_schedule": "migopt.io",
    "show_versions": "migopt.api",
    "simulate": "migopt.api",
    "solve": "migopt.api",
    "solvers": "migopt.api",
    "verify_certificate": "migopt.api",
    "write_instance": "migopt.io",
    "write_schedule": "migopt.io",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'migopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

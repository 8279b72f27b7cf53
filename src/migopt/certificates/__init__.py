"""Certificates: the best schedule and lower bound of an instance within a budget, with what proves them.

Making one runs rules, bounds and solvers; verifying one needs none of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migopt.certificates.certificate import Bound, Certificate
    from migopt.certificates.files import read_certificate, write_certificate
    from migopt.certificates.run import certify
    from migopt.certificates.verification import Verification, verify

_PUBLIC = {
    "Bound": "migopt.certificates.certificate",
    "Certificate": "migopt.certificates.certificate",
    "Verification": "migopt.certificates.verification",
    "certify": "migopt.certificates.run",
    "read_certificate": "migopt.certificates.files",
    "verify": "migopt.certificates.verification",
    "write_certificate": "migopt.certificates.files",
}

__all__ = [
    "Bound",
    "Certificate",
    "Verification",
    "certify",
    "read_certificate",
    "verify",
    "write_certificate",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'migopt.certificates' has no attribute {name!r}")

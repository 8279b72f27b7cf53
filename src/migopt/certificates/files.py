"""Certificate files: JSON, also gzipped, read strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from migopt.certificates.certificate import Certificate
from migopt.errors import InputError
from migopt.io import instance_to_dict, schedule_to_dict
from migopt.io._document import load, store

FORMAT = "migopt-certificate"
VERSION = 1


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class PartsEntry(_Strict):
    """Energy (constant included) and tardiness of a cost."""

    energy: float
    tardiness: float


class BoundEntry(_Strict):
    """One lower bound."""

    by: str
    proof: Literal["multipliers", "closed_form", "engine"]
    lower: float
    engine: str = ""
    multipliers: list[dict[str, Any]] = []
    energy: float | None = None
    tardiness: float | None = None


class CertificateFile(_Strict):
    """A certificate: instance, schedule, lower bounds with their proofs."""

    format: Literal["migopt-certificate"]
    version: Literal[1]
    instance_digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    upper: float | None
    lower: float | None
    gap: float | None
    active_gap: float | None
    upper_by: str
    lower_by: str
    proof: str
    checkable_lower: float | None
    checkable_gap: float | None
    checkable_active_gap: float | None
    constant: str
    upper_parts: PartsEntry | None
    lower_parts: PartsEntry | None
    infeasible: str
    stop: str
    time_limit_s: float | None
    prepare_s: float
    wall_s: float
    created_at: str
    versions: dict[str, str]
    stages: list[dict[str, Any]]
    periods: list[dict[str, Any]]
    bounds: list[BoundEntry]
    schedule: dict[str, Any] | None
    instance: dict[str, Any] | None


def certificate_to_dict(certificate: Certificate) -> dict[str, Any]:
    """Return the content of a certificate file.

    An instance that no file can describe (a GPU model of one's own) is left out; such a certificate is
    verified with the instance beside it.
    """
    instance = certificate.instance
    try:
        described: dict[str, Any] | None = instance_to_dict(instance)
    except InputError:
        described = None
    plan = certificate.schedule
    return {
        "format": FORMAT,
        "version": VERSION,
        **certificate.summary(),
        "stages": [asdict(stage) for stage in certificate.stages],
        "periods": [dict(period) for period in certificate.periods],
        "bounds": [
            {**asdict(bound), "multipliers": [dict(item) for item in bound.multipliers]}
            for bound in certificate.bounds
        ],
        "schedule": None if plan is None else schedule_to_dict(plan, instance),
        "instance": described,
    }


def write_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate file; gzipped if the name ends with ``.gz``; InputError where it cannot be."""
    store(certificate_to_dict(certificate), path)


def read_certificate(path: str | Path) -> CertificateFile:
    """Read the form of a certificate file; raises InputError for the first thing wrong with it."""
    try:
        return parse_certificate(load(path))
    except InputError as error:
        if error.source:
            raise
        raise InputError(error.message, where=error.where, source=str(path)) from None


def parse_certificate(document: Any) -> CertificateFile:
    """Return the form of a certificate document; raises InputError."""
    if not isinstance(document, Mapping):
        raise InputError("must be a JSON object")
    if document.get("format") != FORMAT:
        raise InputError(f'must be "{FORMAT}", not {document.get("format")!r}', where="format")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"version {version!r} is unknown; this migopt reads version {VERSION}", where="version"
        )
    try:
        return CertificateFile.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(first["msg"], where=where) from None

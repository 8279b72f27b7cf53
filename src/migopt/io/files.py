"""Instance and schedule files: JSON, also gzipped, read strictly and written in one step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migopt.errors import InputError
from migopt.io import _document, schema
from migopt.io._form import parse
from migopt.io._free import check_free_form
from migopt.io._place import placed
from migopt.io.convert import document_of, instance_of
from migopt.io.digest import instance_digest
from migopt.model import (
    OFF_PARTITION,
    OFF_PLACEMENT,
    OFF_PROFILE,
    Instance,
    Partition,
    Placement,
    Reconfiguration,
    Schedule,
    Segment,
)


def read_instance(path: str | Path) -> Instance:
    """Read an instance file, ``.json`` or ``.json.gz``.

    Raises InputError for the first thing wrong, naming the file and the place in it.
    """
    with placed(source=str(path)):
        return instance_from_dict(_document.load(path))


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write an instance file; gzipped if the name ends with ``.gz``.

    The same instance gives the same bytes. Raises InputError as ``instance_to_dict`` does, or where
    the file cannot be written; what was there before is then untouched.
    """
    _document.store(instance_to_dict(instance), path)


def instance_from_dict(document: Mapping[str, Any]) -> Instance:
    """Return the instance that the content of an instance file describes; InputError as above."""
    return instance_of(parse(schema.InstanceFile, document, schema.INSTANCE_FORMAT))


def instance_to_dict(instance: Instance) -> dict[str, Any]:
    """Return the content of an instance file.

    Raises InputError for an instance that is not valid, or whose GPU model is not the shipped one.
    """
    return document_of(instance)


def read_schedule(path: str | Path, instance: Instance) -> Schedule:
    """Read a schedule file of ``instance``.

    Only its form is checked: whether it keeps the rules is for the checker to say. Raises
    InputError for a bad form, and for the schedule of another problem.
    """
    with placed(source=str(path)):
        return schedule_from_dict(_document.load(path), instance)


def write_schedule(schedule: Schedule, path: str | Path, instance: Instance) -> None:
    """Write a schedule file of ``instance``; gzipped if the name ends with ``.gz``."""
    _document.store(schedule_to_dict(schedule, instance), path)


def schedule_from_dict(document: Mapping[str, Any], instance: Instance) -> Schedule:
    """Return the schedule that the content of a schedule file describes; InputError as above."""
    file = parse(schema.ScheduleFile, document, schema.SCHEDULE_FORMAT)
    if file.instance_digest and file.instance_digest != instance_digest(instance):
        message = (
            f"the schedule is one of another problem, {file.instance_digest[:12]}…, "
            f"not of {instance.name or 'this one'}, {instance_digest(instance)[:12]}…"
        )
        raise InputError(message, where="instance_digest")
    return Schedule(
        initial=tuple(map(_partition, file.initial)),
        segments=tuple(
            Segment(entry.start_ms, entry.end_ms, entry.gpu, _placement(entry.placement), entry.job)
            for entry in file.segments
        ),
        reconfigurations=tuple(
            Reconfiguration(
                entry.start_ms,
                entry.end_ms,
                entry.gpu,
                _partition(entry.old),
                _partition(entry.new),
            )
            for entry in file.reconfigurations
        ),
        origin=file.origin,
    )


def schedule_to_dict(schedule: Schedule, instance: Instance) -> dict[str, Any]:
    """Return the content of a schedule file; raises InputError for an origin that is no JSON."""
    check_free_form(dict(schedule.origin), ("origin",))
    return {
        "format": schema.SCHEDULE_FORMAT,
        "version": schema.VERSION,
        "instance_digest": instance_digest(instance),
        "initial": [_listed(partition) for partition in schedule.initial],
        "segments": [
            {
                "job": segment.job,
                "gpu": segment.gpu,
                "placement": str(segment.placement),
                "start_ms": segment.start_ms,
                "end_ms": segment.end_ms,
            }
            for segment in schedule.segments
        ],
        "reconfigurations": [
            {
                "gpu": change.gpu,
                "start_ms": change.start_ms,
                "end_ms": change.end_ms,
                "old": _listed(change.old),
                "new": _listed(change.new),
            }
            for change in schedule.reconfigurations
        ],
        "origin": dict(schedule.origin),
    }


def _placement(text: str) -> Placement:
    return OFF_PLACEMENT if text == OFF_PROFILE else Placement.parse(text)


def _partition(entry: str | list[str]) -> Partition:
    return OFF_PARTITION if isinstance(entry, str) else Partition(tuple(map(_placement, entry)))


def _listed(partition: Partition) -> str | list[str]:
    if partition.is_off:
        return OFF_PROFILE
    # A partition that no GPU has is written as it is, for the checker to name.
    return [f"{placement.profile}@{placement.start}" for placement in partition]

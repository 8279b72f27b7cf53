"""The GPU side of an instance as the kernel reads it: types of slices, slots, partitions, power."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from migopt.compiled import Ints
from migopt.errors import NotApplicableError
from migopt.model import (
    OFF_PARTITION,
    OFF_PLACEMENT,
    OFF_PROFILE,
    GpuModel,
    Instance,
    Partition,
    Placement,
)
from migopt.sim import layout as at

#: Types are bits of one word.
MOST_TYPES = 62


def slice_types(instance: Instance) -> list[tuple[GpuModel, str]]:
    """Return (GPU model, profile) of every kind of slice; NotApplicableError for more than 62."""
    types = []
    for model in instance.gpu_models:
        types += [(model, profile) for profile in instance.profiles_in_use[model.key]]
        if instance.mig_off:
            types.append((model, OFF_PROFILE))
    if len(types) > MOST_TYPES:
        raise NotApplicableError(
            f"the compiled simulator takes up to {MOST_TYPES} kinds of slices, not {len(types)}"
        )
    return types


def _placements(instance: Instance, model: GpuModel) -> list[Placement]:
    """Return every placement that a partition of the model may hold, ``off`` first if allowed."""
    used = {place for partition in instance.catalogues[model.key] for place in partition}
    return ([OFF_PLACEMENT] if instance.mig_off else []) + sorted(used)


@dataclass(frozen=True)
class Slots:
    """Slots by type, GPU, start: their rows, their order of size, and where to find them."""

    rows: Ints
    ranked: Ints
    place_of: Ints
    places: list[tuple[int, Placement]]


def slot_tables(instance: Instance, types: list[tuple[GpuModel, str]]) -> Slots:
    """Number the places where a slice can be, by type, GPU, start."""
    numbers = {(model.key, profile): number for number, (model, profile) in enumerate(types)}
    items = {model.key: _placements(instance, model) for model in instance.gpu_models}
    most = max((len(places) for places in items.values()), default=0)
    found = [
        (numbers[model.key, place.profile], gpu, place.start, item, place)
        for gpu, model in enumerate(instance.gpus)
        for item, place in enumerate(items[model.key])
    ]
    found.sort(key=lambda row: row[:3])
    place_of = np.full((len(instance.gpus), most), -1, np.int64)
    rows = np.zeros((len(found), at.SLOT_D), np.int64)
    for slot, (kind, gpu, _, item, _) in enumerate(found):
        place_of[gpu, item] = slot
        rows[slot, at.L_GPU], rows[slot, at.L_TYPE] = gpu, kind
    sizes = [_size(*types[kind]) for kind, *_ in found]
    ranked = sorted(range(len(found)), key=lambda s: (*sizes[s], found[s][1], found[s][2]))
    rows[ranked, at.L_RANK] = np.arange(len(found))
    return Slots(rows, np.array(ranked, np.int64), place_of, [(row[1], row[4]) for row in found])


def _size(model: GpuModel, profile: str) -> tuple[int, int]:
    if profile == OFF_PROFILE:
        return model.compute_slices, model.memory_units
    known = model.profile(profile)
    return known.compute_slices, known.memory_units


def type_rows(instance: Instance, types: list[tuple[GpuModel, str]], slots: Ints) -> Ints:
    """Return per type its size and where its slots and sets of free slots begin."""
    rows = np.zeros((len(types), at.TYPE_D), np.int64)
    counts = (
        np.bincount(slots[:, at.L_TYPE], minlength=len(types))
        if len(slots)
        else np.zeros(len(types))
    )
    models = [model.key for model in instance.gpu_models]
    first = word = summary = 0
    for kind, (model, profile) in enumerate(types):
        words = -(-int(counts[kind]) // 64)
        rows[kind] = [
            _size(model, profile)[0],
            first,
            word,
            summary,
            words,
            models.index(model.key),
            profile == OFF_PROFILE,
            0,
        ]
        first, word, summary = first + int(counts[kind]), word + words, summary + -(-words // 64)
    return rows


@dataclass(frozen=True)
class Partitions:
    """Partitions of all models, ``off`` first of each: rows, placements in them, first number per model."""

    parts: list[tuple[str, Partition]]
    rows: Ints
    items: Ints
    first: dict[str, int]


def partition_tables(instance: Instance) -> Partitions:
    """Number the partitions of all models."""
    parts: list[tuple[str, Partition]] = []
    rows: list[tuple[int, int]] = []
    items: list[int] = []
    first: dict[str, int] = {}
    for model in instance.gpu_models:
        first[model.key] = len(parts)
        places = {place: item for item, place in enumerate(_placements(instance, model))}
        for partition in (OFF_PARTITION, *instance.catalogues[model.key]):
            start = len(items)
            # Without mig_off the number of ``off`` stays reserved, with nothing in it.
            items += [places[place] for place in partition if place in places]
            rows.append((start, len(items)))
            parts.append((model.key, partition))
    return Partitions(parts, np.array(rows, np.int64), np.array(items, np.int64), first)


def gpu_rows(instance: Instance, first: dict[str, int]) -> Ints:
    """Return per GPU its model, the number of its first partition, and its compute slices."""
    models = [model.key for model in instance.gpu_models]
    rows = [(models.index(m.key), first[m.key], m.compute_slices, 0) for m in instance.gpus]
    return np.array(rows, np.int64)


def power_rows(instance: Instance) -> Ints:
    """Return power per model and busy level, then with MIG off; zeros where no curve is given."""
    levels = max(model.compute_slices for model in instance.gpu_models) + 1
    rows = np.zeros((len(instance.gpu_models), levels + 1), np.int64)
    for row, model in zip(rows, instance.gpu_models, strict=True):
        curve = instance.power.get(model.key)
        if curve is not None:
            row[: len(curve.busy_mw)] = curve.busy_mw
            row[levels] = curve.busy_mw[-1] if curve.off_busy_mw is None else curve.off_busy_mw
    return rows

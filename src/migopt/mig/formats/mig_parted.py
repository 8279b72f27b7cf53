"""Configuration files of ``nvidia-mig-parted`` (the MIG manager of the GPU operator)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_table
from migopt.mig.formats.yaml_file import mapping, only_keys, read_yaml, sequence, whole
from migopt.mig.state import GpuState, gpu_numbers
from migopt.model import GpuModel, Partition
from migopt.placement import PlacementIndex, placement_index

_COMPUTE = re.compile(r"^(?P<c>\d+)c\.(?P<profile>.+)$")
_KEYS = {"devices", "device-filter", "mig-enabled", "mig-devices"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a labelled configuration.

    Attributes
    ----------
    devices : tuple of int, or None
        The GPUs by number; None for ``all``.
    filters : tuple of str
        PCI ids (``0x20B010DE``: device, then vendor); empty for any.
    enabled : bool
        Whether MIG mode is on.
    slices : dict
        Profile name, as written, to count.
    where : str
        The place in the file.
    """

    devices: tuple[int, ...] | None
    filters: tuple[str, ...]
    enabled: bool
    slices: dict[str, int]
    where: str


def read_mig_parted(text: str, *, source: str = "") -> dict[str, list[Entry]]:
    """Return the configurations of a file by label; raises InputError with the place in the file."""
    document = mapping(read_yaml(text, source=source), "", source)
    only_keys(document, {"version", "mig-configs"}, "", source)
    if document.get("version") != "v1":
        raise InputError(f"version must be v1, not {document.get('version')!r}", source=source)
    if "mig-configs" not in document:
        raise InputError("has no mig-configs; is the file cut?", source=source)
    configs = mapping(document["mig-configs"], "mig-configs", source)
    if not configs:
        raise InputError("mig-configs is empty", source=source)
    found = {}
    for label, rows in configs.items():
        where = f"mig-configs.{label}"
        entries = sequence(rows, where, source)
        if not entries:
            raise InputError("has no entry", where=where, source=source)
        found[str(label)] = [
            _entry(mapping(row, f"{where}[{i}]", source), f"{where}[{i}]", source)
            for i, row in enumerate(entries)
        ]
    return found


def _entry(row: dict[Any, Any], where: str, source: str) -> Entry:
    only_keys(row, _KEYS, where, source)
    for key in ("devices", "mig-enabled"):
        if key not in row:
            raise InputError(f"has no key {key}", where=where, source=source)
    devices = row["devices"]
    if devices != "all":
        numbers = sequence(devices, f"{where}.devices", source)
        devices = tuple(whole(n, f"{where}.devices", source) for n in numbers)
    filters = row.get("device-filter") or []
    filters = [filters] if isinstance(filters, str | int) else filters
    shown = []
    for item in sequence(filters, f"{where}.device-filter", source):
        # 0x20B010DE without quotes is a number in YAML.
        text = (
            f"0x{item:08X}" if isinstance(item, int) and not isinstance(item, bool) else str(item)
        )
        if not re.fullmatch(r"0[xX][0-9A-Fa-f]{8}", text):
            raise InputError(
                f"{item!r} is no PCI id such as 0x20B010DE",
                where=f"{where}.device-filter",
                source=source,
            )
        shown.append(text)
    if not isinstance(row["mig-enabled"], bool):
        raise InputError("must be true or false", where=f"{where}.mig-enabled", source=source)
    slices = mapping(row.get("mig-devices") or {}, f"{where}.mig-devices", source)
    counts = {
        str(name): whole(n, f"{where}.mig-devices.{name}", source) for name, n in slices.items()
    }
    if counts and not row["mig-enabled"]:
        raise InputError("mig-devices beside mig-enabled: false", where=where, source=source)
    return Entry(
        None if devices == "all" else devices, tuple(shown), row["mig-enabled"], counts, where
    )


def applies(entry: Entry, number: int, model: GpuModel) -> bool:
    """Return whether an entry is meant for a GPU, by its number and PCI id."""
    if entry.devices is not None and number not in entry.devices:
        return False
    if not entry.filters:
        return True
    ids = load_table(model.key).pci_device_ids if model.key in gpu_keys() else ()
    wanted = {text.lower() for text in entry.filters}
    return any(i.lower() in wanted for i in ids)


def slices_on(entry: Entry, model: GpuModel, *, source: str = "") -> list[str]:
    """Return the slices of an entry on a GPU model; raises InputError with the list that exists.

    Compute-instance names such as ``1c.3g.20gb`` share slices: as few as hold all of them.
    """
    found: list[str] = []
    shared: Counter[str] = Counter()
    for written, count in entry.slices.items():
        match = _COMPUTE.match(written)
        name = match["profile"] if match else written
        if not model.has_profile(name):
            exist = ", ".join(profile.name for profile in model.profiles)
            error = UnknownNameError(
                f"profile of {model.key}", name, [p.name for p in model.profiles]
            )
            raise InputError(
                f"{error.message}; there are {exist}",
                where=f"{entry.where}.mig-devices",
                source=source,
            )
        if match is None:
            found += [name] * count
            continue
        size = model.profile(name).compute_slices
        if not 1 <= int(match["c"]) <= size:
            raise InputError(
                f"{written}: {name} has {size} compute slices",
                where=f"{entry.where}.mig-devices", source=source,
            )  # fmt: skip
        shared[name] += int(match["c"]) * count
    for name, compute in shared.items():
        found += [name] * -(-compute // model.profile(name).compute_slices)
    return found


def config_named(
    configs: dict[str, list[Entry]], label: str | None, *, source: str = ""
) -> tuple[str, list[Entry]]:
    """Return one configuration: the one named, or the only one there is."""
    if label is None:
        if len(configs) > 1:
            raise InputError(
                f"has the configurations {', '.join(configs)}; name one (--config)", source=source
            )
        label = next(iter(configs))
    if label not in configs:
        raise UnknownNameError("configuration", label, configs, source=source)
    return label, configs[label]


def write_mig_parted(states: Sequence[GpuState], label: str = "migopt") -> tuple[str, list[str]]:
    """Return a file with the slices of some GPUs as one configuration, and warnings.

    The format has no start: where the same slices have several places, or where a creation order
    exists that fails, a warning says so.
    """
    groups: dict[tuple[bool, str, tuple[tuple[str, int], ...]], list[int]] = {}
    warnings = []
    for number, state in zip(gpu_numbers(states), states, strict=True):
        counts = Counter(state.partition.profiles)
        groups.setdefault((state.mig, state.model.key, tuple(sorted(counts.items()))), []).append(
            number
        )
        if state.mig and counts:
            warning = order_warning(state.model, state.partition)
            if warning:
                warnings.append(f"GPU {number}: {warning}")
    lines = ["version: v1", "mig-configs:", f"  {label}:"]
    for (mig, _, counted), numbers in groups.items():
        lines.append(f"    - devices: [{', '.join(map(str, numbers))}]")
        lines.append(f"      mig-enabled: {'true' if mig else 'false'}")
        if mig:
            lines.append("      mig-devices:" + ("" if counted else " {}"))
            lines += [f'        "{name}": {count}' for name, count in counted]
    return "\n".join(lines) + "\n", warnings


def order_warning(model: GpuModel, partition: Partition) -> str:
    """Return what may go otherwise than meant when slices are created without starts."""
    index = placement_index(model)
    wanted = Counter(partition.profiles)
    forms, dead = _forms(index, wanted)
    notes = []
    if forms > 1:
        notes.append(f"these slices have {forms} arrangements and the file cannot say {partition}")
    if dead:
        notes.append("some orders of creation fail, because an early slice can block a later one")
    return "; ".join(notes)


def _forms(index: PlacementIndex, wanted: Counter[str]) -> tuple[int, bool]:
    """Return the number of arrangements, and whether a part of one can be a dead end."""
    total = sum(wanted.values())
    reached: dict[frozenset[int], bool] = {}

    def completes(chosen: frozenset[int], free: int) -> bool:
        if chosen in reached:
            return reached[chosen]
        if len(chosen) == total:
            reached[chosen] = True
            return True
        have = Counter(index.placements[i].profile for i in chosen)
        good = False
        for i, place in enumerate(index.placements):
            if free >> i & 1 and have[place.profile] < wanted[place.profile]:
                good |= completes(chosen | {i}, free & index.beside[i])
        reached[chosen] = good
        return good

    completes(frozenset(), index.mask())
    complete = sum(1 for chosen, good in reached.items() if good and len(chosen) == total)
    return complete, not all(reached.values())

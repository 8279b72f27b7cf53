"""What is wrong, or wasted, in the description of a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from migopt.errors import InputError, UnknownNameError
from migopt.gpus import gpu_keys, load_table
from migopt.mig.formats.listing import Listing
from migopt.mig.formats.mig_parted import Entry, applies, slices_on
from migopt.mig.listed import model_from_listing, states_from_listing
from migopt.mig.names import nearest_profiles
from migopt.mig.node import Node
from migopt.mig.state import STATES
from migopt.model import GpuModel, Placement, Profile
from migopt.placement import Wish, explain_misfit, find_partition, multisets, valid_partitions


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at.

    Attributes
    ----------
    rule : str
        ``no_slices`` (MIG on, nothing a job could use), ``unknown_profile``, ``impossible``,
        ``waste``, ``duplicate``, ``orphan``, ``blocked``, ``mig_off_with_slices``,
        ``never_applies`` or ``listing`` (a listing that differs from the table).
    where : str
        GPU or place in the file.
    message : str
        What is the matter, in one sentence.
    severity : str
        ``error`` or ``warning``.
    """

    rule: str
    where: str
    message: str
    severity: str = "error"


def lint_node(node: Node, gpu: GpuModel | None = None) -> list[Finding]:
    """Return the findings of a node file, in order of GPU.

    Raises InputError only where the file cannot be read at all.
    """
    if node.listing is not None:
        return _lint_listing(node.listing, gpu)
    found: list[Finding] = []
    labels = Counter(row.label for row in node.rows)
    for row in node.rows:
        where = f"{row.where} (GPU {row.label}, {row.model.key})"
        if labels[row.label] > 1:
            labels[row.label] = 0
            found.append(
                Finding("duplicate", where, f"GPU {row.label} is described more than once")
            )
        items = [item.strip() for item in row.have.split(",") if item.strip()]
        found += _lint_items(items, row.model, where, row.mig)
        if row.target is not None:
            wanted = [item.strip() for item in row.target.split(",") if item.strip()]
            found += _lint_wish(wanted, row.model, f"{where} target")
    return found


def _lint_items(items: Sequence[str], model: GpuModel, where: str, mig: bool) -> list[Finding]:
    found: list[Finding] = []
    places: list[Placement] = []
    orphans = 0
    for item in items:
        text, _, state = item.partition(":")
        if state.strip() and state.strip() not in STATES:
            raise UnknownNameError("state of a slice", state, STATES, where=where)
        place = Placement.parse(text)
        orphans += state.strip() == "orphan"
        if state.strip() == "orphan":
            message = f"{place} has no compute instance: no job can use it, and it takes room"
            found.append(Finding("orphan", where, message, "warning"))
        if not model.has_profile(place.profile):
            found.append(_unknown(model, place.profile, where))
        elif place in places:
            found.append(Finding("duplicate", where, f"{place} is listed twice"))
        else:
            places.append(place)
    if not mig:
        if items:
            message = "slices are listed, but MIG mode is off"
            found.append(Finding("mig_off_with_slices", where, message))
        return found
    if len(items) == orphans:
        found.append(_no_slices(where))
        if not items:
            return found
    return found + _lint_places(places, model, where)


def _lint_places(places: Sequence[Placement], model: GpuModel, where: str) -> list[Finding]:
    reason = model.why_invalid(places)
    if reason is not None:
        return [Finding("impossible", where, f"this layout cannot exist: {reason}")]
    return _waste([p.profile for p in places], model, where) if places else []


def _lint_wish(items: Sequence[str], model: GpuModel, where: str) -> list[Finding]:
    from migopt.mig.state import parse_request

    request = parse_request(",".join(items), where=where)
    unknown = [name for name in request.names if not model.has_profile(name)]
    if unknown:
        return [_unknown(model, name, where) for name in unknown]
    misfit = explain_misfit(model, request.wish())
    if misfit is not None:
        return [Finding("impossible", where, f"this layout cannot exist: {misfit.message}")]
    names = [*(p.profile for p in request.fixed), *request.free]
    return _waste(names, model, where) if names else []


def _unknown(model: GpuModel, name: str, where: str) -> Finding:
    nearest = ", ".join(nearest_profiles(model, name)) or "-"
    return Finding(
        "unknown_profile", where, f"{model.key} has no profile {name}; nearest: {nearest}"
    )


def _no_slices(where: str) -> Finding:
    message = "MIG is on and there is no slice a job could use: no CUDA job can run here"
    return Finding("no_slices", where, message)


def _waste(names: Sequence[str], model: GpuModel, where: str) -> list[Finding]:
    better = better_partition(model, names)
    if better is None:
        return []
    message = (
        f"{_counted(names)} leaves room unused: {_counted(better)} gives every one of these slices "
        "at least as much, and more in all"
    )
    return [Finding("waste", where, message, "warning")]


def better_partition(model: GpuModel, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the largest partition that is strictly better than some slices, or None.

    Better: each slice has a counterpart of its own of the same kind of engines with at least as many
    compute slices, memory units and bytes, and one of them has more or a further slice is there. Of
    several the one with most compute slices, then memory units, then fewest slices that change.
    """
    have = Counter(names)
    total = _totals(model, names)
    best: tuple[tuple[int, int, int], tuple[str, ...]] | None = None
    for other in _all_multisets(model):
        if len(other) < len(names):
            continue
        totals = _totals(model, other)
        if totals == total or any(a < b for a, b in zip(totals, total, strict=True)):
            continue
        if not _covers(model, other, names):
            continue
        same = sum((have & Counter(other)).values())
        key = (*totals, same)
        if best is None or key > best[0]:
            best = (key, other)
    return None if best is None else best[1]


@lru_cache(maxsize=64)
def _all_multisets(model: GpuModel) -> tuple[tuple[str, ...], ...]:
    return tuple(multisets(model, valid_partitions(model)))


def _totals(model: GpuModel, names: Sequence[str]) -> tuple[int, int]:
    profiles = [model.profile(name) for name in names]
    return sum(p.compute_slices for p in profiles), sum(p.memory_units for p in profiles)


def _covers(model: GpuModel, other: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether each of ``names`` has its own counterpart in ``other`` that is no smaller."""
    theirs = [model.profile(name) for name in other]
    mine = [model.profile(name) for name in names]
    owner: dict[int, int] = {}

    def assign(i: int, tried: set[int]) -> bool:
        for j, profile in enumerate(theirs):
            if j not in tried and _no_smaller(profile, mine[i]):
                tried.add(j)
                if j not in owner or assign(owner[j], tried):
                    owner[j] = i
                    return True
        return False

    return all(assign(i, set()) for i in range(len(mine)))


def _no_smaller(one: Profile, other: Profile) -> bool:
    ordinary = ("plain", "double_memory")
    same_kind = one.kind == other.kind or (one.kind in ordinary and other.kind in ordinary)
    return (
        same_kind
        and one.compute_slices >= other.compute_slices
        and one.memory_units >= other.memory_units
        and (one.memory_bytes or 0) >= (other.memory_bytes or 0)
    )


def _counted(names: Sequence[str]) -> str:
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in Counter(names).items())


def _lint_listing(listing: Listing, gpu: GpuModel | None) -> list[Finding]:
    found: list[Finding] = []
    if listing.mig_off and not listing.numbers:
        return found
    for number in listing.numbers:
        where = f"GPU {number}"
        model, _, notes = model_from_listing(listing, number, gpu)
        notes = [note.removeprefix(f"{where}: ") for note in notes]
        found += [Finding("listing", where, note, "warning") for note in notes]
        places = []
        for row in listing.instances or ():
            if row.gpu != number:
                continue
            profile = next((p for p in model.profiles if p.driver_id == row.driver_id), None)
            if profile is None:
                found.append(_unknown(model, row.name, f"{where}, line {row.line}"))
            elif Placement(row.start, profile.name) in places:
                message = f"{profile.name}@{row.start} is listed twice"
                found.append(Finding("duplicate", f"{where}, line {row.line}", message))
            else:
                places.append(Placement(row.start, profile.name))
        reason = model.why_invalid(places)
        if reason is not None:
            found.append(Finding("impossible", where, f"this layout cannot exist: {reason}"))
            continue
        # A row that is wrong by itself leaves no state to judge.
        rows = sum(row.gpu == number for row in listing.instances or ())
        if rows == len(places):
            found += _lint_listed_state(listing, number, gpu, where)
    return found


def _lint_listed_state(
    listing: Listing, number: int, gpu: GpuModel | None, where: str
) -> list[Finding]:
    try:
        states = states_from_listing(listing, gpu=gpu).states
    except InputError as error:
        return [Finding("impossible", where, error.message)]
    state = next(s for s in states if s.label == str(number))
    found = []
    for place in state.of_state("orphan"):
        message = f"{place} has no compute instance: no job can use it, and it takes room"
        found.append(Finding("orphan", where, message, "warning"))
    if state.blocked:
        return [*found, Finding("blocked", where, state.blocked)]
    known = listing.instances is not None or any(g.number == number for g in listing.gpus)
    usable = [held for held in state.slices if held.state != "orphan"]
    if state.mig and known and not usable:
        found.append(_no_slices(where))
    names = [place.profile for place in state.partition]
    return found + (_waste(names, state.model, where) if names else [])


def lint_configs(
    configs: Mapping[str, Sequence[Entry]], models: Sequence[GpuModel] = ()
) -> list[Finding]:
    """Return the findings of a mig-parted file.

    Parameters
    ----------
    models : sequence of GpuModel
        The GPUs of the node, in order. Without them each entry is judged on the GPUs that its
        device filter names; an entry without a filter must then suit some GPU of the tables.
    """
    found: list[Finding] = []
    for entries in configs.values():
        taken: dict[int, str] = {}
        for entry in entries:
            if entry.enabled and not sum(entry.slices.values()):
                found.append(_no_slices(entry.where))
                continue
            if models:
                found += _on_node(entry, models, taken)
            elif entry.enabled:
                found += _on_tables(entry)
        found += _same_rows(entries)
    return found


def _on_node(entry: Entry, models: Sequence[GpuModel], taken: dict[int, str]) -> list[Finding]:
    hit = [i for i, model in enumerate(models) if applies(entry, i, model)]
    if not hit:
        return [Finding("never_applies", entry.where, "matches no GPU of the node", "warning")]
    found = []
    for number in hit:
        if number in taken:
            message = f"GPU {number} already has slices from {taken[number]}; the last one wins"
            found.append(Finding("duplicate", entry.where, message))
        taken[number] = entry.where
    distinct = {models[i].key: models[i] for i in hit}
    for model in distinct.values() if entry.enabled else ():
        found += _lint_entry(entry, model)
    return found


def _on_tables(entry: Entry) -> list[Finding]:
    tables = [load_table(key) for key in gpu_keys()]
    models = [table.model for table in tables]
    if entry.filters:
        wanted = {text.lower() for text in entry.filters}
        models = [t.model for t in tables if any(i.lower() in wanted for i in t.pci_device_ids)]
        if not models:
            message = f"{', '.join(entry.filters)}: no GPU of the tables has this PCI id"
            return [Finding("never_applies", entry.where, message, "warning")]
        return [finding for model in models for finding in _lint_entry(entry, model)]
    results = [_lint_entry(entry, model) for model in models]
    if all(any(f.severity == "error" for f in result) for result in results):
        # Of all GPUs the one that comes nearest says what is wrong.
        return min(results, key=lambda result: (result[0].rule == "unknown_profile", len(result)))
    return []


def _lint_entry(entry: Entry, model: GpuModel) -> list[Finding]:
    where = f"{entry.where} ({model.key})"
    names = [name.split("c.", 1)[1] if "c." in name else name for name in entry.slices]
    unknown = [name for name in dict.fromkeys(names) if not model.has_profile(name)]
    if unknown:
        return [_unknown(model, name, where) for name in unknown]
    try:
        slices = slices_on(entry, model)
    except InputError as error:
        return [Finding("impossible", where, error.message)]
    misfit = explain_misfit(model, Wish((), tuple(slices)))
    if misfit is not None:
        return [Finding("impossible", where, f"this layout cannot exist: {misfit.message}")]
    assert find_partition(model, Wish((), tuple(slices))) is not None
    return _waste(slices, model, where)


def _same_rows(entries: Sequence[Entry]) -> list[Finding]:
    seen: dict[object, str] = {}
    found = []
    for entry in entries:
        key = (entry.devices, entry.filters)
        if key in seen:
            message = f"the same devices and filter as {seen[key]}; the last one wins"
            found.append(Finding("duplicate", entry.where, message))
        seen.setdefault(key, entry.where)
    return found

"""Named catalogues: the sets of partitions that a problem may allow, each derived by a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from migopt.errors import InputError, UnknownNameError
from migopt.model import Catalogue, GpuModel, Partition
from migopt.placement.enumerate import (
    exact_covers,
    maximal_partitions,
    multiset,
    profiles_of_kinds,
    valid_partitions,
)

PLAIN = "plain"
DOUBLE = "double_memory"


@lru_cache(maxsize=256)
def build_catalogue(name: str, model: GpuModel) -> Catalogue:
    """Return the catalogue of this name for a GPU, numbered from 1, larger slices first.

    =============== ==============================================================================
    ``paper-12``    covers every memory unit, at most one double-memory 1g, never that beside a
                    3g; of the positional forms of each the one with the larger slice first
    ``paper-17``    the same with all positional forms
    ``miso-18``     maximal partitions of the plain profiles without 4g beside 3g
    ``maximal``     partitions to which nothing can be added
    ``exact-cover`` partitions that cover every memory unit
    ``all``         everything the table accepts
    =============== ==============================================================================

    The last three take every profile, or those of some kinds: ``maximal:plain+double_memory``.
    The rule of ``paper-12`` is that of the configurations of arXiv 2606.25082; ``miso-18`` are the
    partitions drivers before R510 accept (MISO, SoCC 2022).

    Raises UnknownNameError for a name that does not exist, or not for this GPU (with the reason).
    """
    base, _, kinds = name.partition(":")
    rule = _RULES.get(base)
    reason = "" if rule is None else rule.why_not(model)
    if rule is None or reason:
        raise UnknownNameError(
            f"catalogue of {model.key}", name, catalogue_names(model), reason=reason
        )
    if kinds and not rule.takes_kinds:
        raise InputError(f"catalogue {base} has fixed profiles; write {base}, not {name}")
    profiles = profiles_of_kinds(model, kinds.split("+")) if kinds else None
    return Catalogue(name, model.key, tuple(rule.build(model, profiles)))


def catalogue_names(model: GpuModel) -> list[str]:
    """Return the names of the catalogues that exist for a GPU."""
    return [name for name, rule in _RULES.items() if not rule.why_not(model)]


def _paper_17(model: GpuModel, _profiles: list[str] | None) -> list[Partition]:
    three = _plain(model, 3)

    def keeps_the_rule(partition: Partition) -> bool:
        doubles = sum(model.profile(name).kind == DOUBLE for name in partition.profiles)
        return doubles == 0 or (doubles == 1 and three not in partition.profiles)

    return list(
        filter(keeps_the_rule, exact_covers(model, profiles_of_kinds(model, [PLAIN, DOUBLE])))
    )


def _paper_12(model: GpuModel, profiles: list[str] | None) -> list[Partition]:
    # Forms of one multiset are neighbours, the one with the larger slice first in front.
    first: dict[tuple[str, ...], Partition] = {}
    for partition in _paper_17(model, profiles):
        first.setdefault(multiset(model, partition), partition)
    return list(first.values())


def _miso_18(model: GpuModel, _profiles: list[str] | None) -> list[Partition]:
    pair = {_plain(model, 4), _plain(model, 3)}
    plain = maximal_partitions(model, profiles_of_kinds(model, [PLAIN]))
    return [partition for partition in plain if not pair <= set(partition.profiles)]


def _plain(model: GpuModel, compute_slices: int) -> str | None:
    """Return the plain profile with this many compute slices, or None."""
    found = (
        p.name for p in model.profiles if p.kind == PLAIN and p.compute_slices == compute_slices
    )
    return next(found, None)


def _always(_model: GpuModel) -> str:
    return ""


def _needs_four_and_three(model: GpuModel) -> str:
    return "" if _plain(model, 3) and _plain(model, 4) else "its rule needs a plain 3g and 4g"


def _needs_three_and_double(model: GpuModel) -> str:
    double = any(profile.kind == DOUBLE for profile in model.profiles)
    return "" if double and _plain(model, 3) else "its rule needs a 3g and a double-memory 1g"


@dataclass(frozen=True, slots=True)
class _Rule:
    build: Callable[[GpuModel, list[str] | None], list[Partition]]
    why_not: Callable[[GpuModel], str] = _always
    takes_kinds: bool = True


_RULES = {
    "paper-12": _Rule(_paper_12, _needs_three_and_double, takes_kinds=False),
    "paper-17": _Rule(_paper_17, _needs_three_and_double, takes_kinds=False),
    "miso-18": _Rule(_miso_18, _needs_four_and_three, takes_kinds=False),
    "maximal": _Rule(maximal_partitions),
    "exact-cover": _Rule(exact_covers),
    "all": _Rule(valid_partitions),
}

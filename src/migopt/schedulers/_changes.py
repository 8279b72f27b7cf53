"""Options of partition rules on how partitions may change: ``scope=`` and ``keep=``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from migopt.errors import InputError, NotApplicableError, nearest_hint
from migopt.model import Instance, Partition
from migopt.schedulers._arguments import named
from migopt.sim import SimState

#: Names and defaults, for ``named``.
OPTIONS = {"scope": "instance", "keep": "no"}
SCOPES = ("instance", "slices", "gpu")


@dataclass(frozen=True)
class Changes:
    """What a rule asks of repartitions.

    Attributes
    ----------
    rule : str
        Its name, for errors.
    scope : str
        ``instance``: as the instance says. ``slices``: partial repartition, only slices that are
        destroyed or made stand still. ``gpu``: every slice of the GPU stands still. An instance of
        another scope is refused: it would be another problem.
    keep : bool
        Only changes that stop no running job; needs scope ``slices``.
    """

    rule: str
    scope: str = "instance"
    keep: bool = False

    def refuse_other(self, instance: Instance) -> None:
        """Raise NotApplicableError for an instance that allows no such changes."""
        scope = instance.repartition.scope
        if scope == "never":
            raise NotApplicableError(
                f"{self.rule}: the instance allows no repartition (scope never)"
            )
        option = "keep=yes" if self.keep else f"scope={self.scope}"
        wanted = "slices" if self.keep else self.scope
        if wanted not in ("instance", scope):
            raise NotApplicableError(
                f"{self.rule}:{option} needs repartition scope {wanted}, not {scope}"
                f" (the instance's own; `migopt generate` takes --set repartition={wanted})"
            )

    def allows(self, state: SimState, gpu: int, target: Partition) -> bool:
        """Return whether the option lets a GPU change to a partition now."""
        return not (self.keep and stopped(state, gpu, target))


def stopped(state: SimState, gpu: int, target: Partition) -> list[int]:
    """Return the running jobs of a GPU whose slice is not in a partition."""
    return [
        job
        for job, place in state.running.items()
        if place.gpu == gpu and place.placement not in target
    ]


def changes_of(rule: str, values: Mapping[str, str]) -> Changes:
    """Read the options from the text of each; raises InputError."""
    scope, keep = values["scope"], values["keep"]
    if scope not in SCOPES:
        raise InputError(
            f"{rule}: scope is {', '.join(SCOPES[:-1])} or {SCOPES[-1]}, not {scope!r}"
            f"{nearest_hint(scope, SCOPES)}"
        )
    if keep not in ("yes", "no"):
        raise InputError(f"{rule}: keep is yes or no, not {keep!r}")
    if scope == "gpu" and keep == "yes":
        raise InputError(f"{rule}: keep=yes needs scope slices, not gpu")
    return Changes(rule, scope, keep == "yes")


def take_changes(rule: str, argument: str) -> tuple[str, Changes]:
    """Take the two options out of an argument; return what is left of it, and them."""
    mine: list[str] = []
    rest: list[str] = []
    for item in argument.split(","):
        name, equals, _ = item.partition("=")
        (mine if equals and name in OPTIONS else rest).append(item)
    return ",".join(rest), changes_of(rule, named(rule, ",".join(mine), OPTIONS))

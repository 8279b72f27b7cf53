"""What one run is: an instance to rebuild, an entry to resolve, a seed, a budget, and its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from migopt.errors import InputError
from migopt.results import Budget

_KEY_PART = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+=,:@-]*$")


def check_key_part(text: str, where: str, source: str) -> str:
    """Return ``text`` if it can stand in a run key, else raise InputError.

    A key is also a path below the results folder, so ``/``, spaces and leading dots are refused.
    """
    if not _KEY_PART.match(text):
        raise InputError(
            f"{text!r} cannot be part of a run key; "
            "set a name of letters, digits and . _ + = , : @ -",
            where=where,
            source=source,
        )
    return text


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """How a worker gets an instance.

    Attributes
    ----------
    name, instance_class : str
        Its name in run keys and the class it is reported under.
    how : str
        ``file``, ``generator`` or ``import``.
    source : str
        Generator's or trace format's name; empty for a file.
    path : str
        Absolute path of the file; empty for a generator.
    parameters : Mapping
        Parameters of the generator or importer, without the seed.
    content : str
        SHA-256 of the file, so that a resumed suite notices another content; empty when missing.
    """

    name: str
    instance_class: str
    how: str
    source: str = ""
    path: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    content: str = ""

    def definition(self) -> dict[str, Any]:
        """Return what decides the instance, wherever the files lie."""
        return {
            "how": self.how,
            "source": self.source,
            "parameters": dict(self.parameters),
            "content": self.content,
        }


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run; plain data that a worker process can be sent.

    Attributes
    ----------
    key : str
        ``instance/seed/entry/budget``.
    suite : str
        Name of the suite.
    instance : InstanceSpec
        The instance.
    seed : int
        Seed of the generator or importer, and of the entry's random draws.
    entry, spec : str
        The entry's name in tables, and what the registry resolves.
    time_limit_s, gap, threads : float, float, int
        The budget.
    keep_schedule : bool
        Whether the schedule and its instance are stored beside the records.
    figures_only : bool
        Whether a policy's figures are taken from the simulator, without a schedule to check.
    grace_s : float
        Part of the hard limit: seconds for building, checking and storing.
    """

    key: str
    suite: str
    instance: InstanceSpec
    seed: int
    entry: str
    spec: str
    time_limit_s: float
    gap: float = 0.0
    threads: int = 1
    keep_schedule: bool = True
    figures_only: bool = False
    grace_s: float = 10.0

    @property
    def hard_limit_s(self) -> float:
        """Wall seconds after which the worker is killed: budget x 1.5 + 10 s by default."""
        return self.time_limit_s * 1.5 + self.grace_s

    @property
    def budget(self) -> Budget:
        """The budget that the entry is given."""
        return Budget(self.time_limit_s, self.gap, self.threads, self.seed)

    def definition(self) -> dict[str, Any]:
        """Return what decides the answer; two runs of one key must agree on it."""
        return {"instance": self.instance.definition(), "spec": self.spec}

    def as_dict(self) -> dict[str, Any]:
        """Return the spec as JSON data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunSpec:
        """Rebuild a spec from :meth:`as_dict`."""
        return cls(**{**data, "instance": InstanceSpec(**data["instance"])})


def budget_label(time_limit_s: float, gap: float = 0.0, threads: int = 1) -> str:
    """Return the budget part of a run key: ``10s``, or ``10s,gap=0.01,threads=2``."""
    parts = [f"{time_limit_s:g}s"]
    if gap:
        parts.append(f"gap={gap:g}")
    if threads != 1:
        parts.append(f"threads={threads}")
    return ",".join(parts)


def run_key(instance: str, seed: int, entry: str, budget: str) -> str:
    """Return the readable key of a run."""
    return f"{instance}/{seed}/{entry}/{budget}"

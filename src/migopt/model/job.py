"""A job: when it comes, when it is due, how much work it is and how fast each slice does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from migopt.units import ceil_div


class FrozenMap(Mapping[str, Any]):
    """An immutable, hashable mapping; instances share one between all jobs of equal speed."""

    __slots__ = ("_data", "_hash")

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)
        self._hash: int | None = None

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._data.items()))
        return self._hash

    def __repr__(self) -> str:
        return repr(self._data)

    def __reduce__(self) -> tuple[type[FrozenMap], tuple[dict[str, Any]]]:
        return FrozenMap, (self._data,)


@dataclass(frozen=True, slots=True)
class Job:
    """One job.

    Attributes
    ----------
    id : int
        Unique, not negative; the last tie-breaker everywhere.
    release_ms, due_ms : int
        Earliest start and due date.
    work : int
        Units of work; 1,000,000 units take a millisecond at the job's own full-GPU speed.
    rates : FrozenMap
        ``rates[gpu_key][profile]`` in units of work per millisecond; a profile not listed, or 0,
        means the job may not run there. The pseudo-profile ``off`` is the GPU with MIG off.
    weight : int
        Weight of its tardiness.
    memory_bytes : int
        Memory it needs; it does not fit a profile known to have less.
    preemptible : bool
        False makes the job stricter than its instance: once started it runs to its end.
    kind, elasticity, name : str
        Labels for reports; they decide nothing.
    """

    id: int
    release_ms: int
    due_ms: int
    work: int
    rates: FrozenMap
    weight: int = 1
    memory_bytes: int = 0
    preemptible: bool = True
    kind: str = ""
    elasticity: str = ""
    name: str = field(default="", compare=False)

    def rate(self, gpu_key: str, profile: str) -> int:
        """Return the listed rate on a profile, 0 when none is listed (memory is not looked at)."""
        per_gpu = self.rates.get(gpu_key)
        return 0 if per_gpu is None else int(per_gpu.get(profile, 0))

    def duration_ms(self, rate: int) -> int:
        """Return the whole duration at a positive ``rate``, rounded up to a millisecond."""
        return ceil_div(self.work, rate)

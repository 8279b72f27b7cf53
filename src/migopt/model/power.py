"""Power of a GPU as a function of how many compute slices run a job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PowerCurve:
    """Power per busy level, in milliwatts.

    Attributes
    ----------
    busy_mw : tuple of int
        ``busy_mw[u]`` is the power with ``u`` busy compute slices, u = 0 .. C.
    off_busy_mw : int or None
        Power while a job runs with MIG off; None when not known.
    source : str
        Where the figures come from.
    """

    busy_mw: tuple[int, ...]
    off_busy_mw: int | None = None
    source: str = ""

    @property
    def idle_mw(self) -> int:
        """Power with nothing running."""
        return self.busy_mw[0]

    def holds_chord(self) -> bool:
        """Return whether P(u) >= P(0) + u (P(C) - P(0)) / C for every u (what energy bounds may use)."""
        top = len(self.busy_mw) - 1
        rise = self.busy_mw[top] - self.busy_mw[0]
        return all(
            (power - self.busy_mw[0]) * top >= u * rise for u, power in enumerate(self.busy_mw)
        )

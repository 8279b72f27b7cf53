"""What replay remembers: one row of floats per decision, in a ring."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, np.dtype[Any]]


class Replay:
    """A ring of decisions.

    A row is inputs and base of the state, then per partition tried: inputs and base of the state that
    the target bootstraps from (its base is minus infinity where a partition may not be chosen), the
    partition (from 0), return, factor.

    Parameters
    ----------
    capacity : int
    inputs, actions : int
        Widths.
    tries : int
        Partitions tried per decision.
    """

    def __init__(self, capacity: int, inputs: int, actions: int, tries: int) -> None:
        self.inputs, self.actions, self.tries = inputs, actions, tries
        width = (inputs + actions) * (1 + tries) + 3 * tries
        self.rows = torch.zeros((capacity, width))
        self.added = 0

    def __len__(self) -> int:
        return min(self.added, len(self.rows))

    def add(self, seen: Array, tried: Array) -> None:
        """Remember decisions, forgetting the oldest: (n, inputs + actions), (n, tries, the rest)."""
        places = (self.added + np.arange(len(seen))) % len(self.rows)
        rows = self.rows.numpy()
        rows[places, : seen.shape[1]] = seen
        rows[places, seen.shape[1] :] = tried.reshape(len(tried), -1)
        self.added += len(seen)

    def sample(self, count: int, generator: np.random.Generator) -> Batch:
        """Return decisions drawn uniformly, with replacement."""
        places = generator.integers(0, len(self), count)
        return Batch(self.rows[torch.from_numpy(places)], self)


class Batch:
    """Decisions by part: ``inputs``, ``base`` (n, .); of the tries (n * tries, .) or (n, tries)."""

    def __init__(self, rows: torch.Tensor, replay: Replay) -> None:
        half = replay.inputs + replay.actions
        self.inputs, self.base = rows[:, : replay.inputs], rows[:, replay.inputs : half]
        tried = rows[:, half:].reshape(len(rows) * replay.tries, half + 3)
        self.next_inputs, self.next_base = tried[:, : replay.inputs], tried[:, replay.inputs : half]
        shape = (len(rows), replay.tries)
        self.actions = tried[:, half].long().view(shape)
        self.returns, self.factors = tried[:, half + 1].view(shape), tried[:, half + 2].view(shape)

"""The network of a learned policy in plain numpy: encode a state, value every partition, choose one.

    Q(s, p) = -(forecast cost of p) / unit + N(s, p)

The first term is there for views with forecasts only: it is exact if nothing else arrives, so that
the network N learns what later arrivals add to it. Costs are in units of ``Encoder.unit`` job-minutes.
N is a multilayer perceptron: either one output per partition (``mlp``), or one output, asked once per
partition with what concerns that partition (``shared``), so that partitions learn from each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migopt.errors import InputError
from migopt.schedulers.learned.view import View

F32 = np.ndarray[Any, np.dtype[np.float32]]
HOUR = 2 * np.pi / 24
KINDS = ("mlp", "shared")


@dataclass(frozen=True)
class Encoder:
    """From states to inputs of a network.

    Inputs are time of day on two circles and the rest of the state but its forecasts, then per
    partition: whether it is the present one, and with forecasts energy, tardiness, end, and the cost
    compared with that of the present and with that of the cheapest partition. Times and costs are
    compressed by a signed logarithm.

    Attributes
    ----------
    view : View
    unit : float
        Job-minutes that count as 1, so that costs of scenarios are of one size.
    kind : str
        Of the network: ``mlp`` or ``shared``.
    slack : float
        A partition whose forecast cost is above the least by more than this is not considered.
    """

    view: View
    unit: float = 1.0
    kind: str = "mlp"
    slack: float = np.inf

    def __post_init__(self) -> None:
        """Refuse a kind that is not there."""
        if self.kind not in KINDS:
            raise InputError(f"no network {self.kind!r}; known: {', '.join(KINDS)}")

    @property
    def common(self) -> int:
        """How many inputs concern no partition in particular."""
        start = self.view.forecast_columns.start
        return 4 + (start if self.view.layout == "forecast" else self.view.width) - 2

    @property
    def each(self) -> int:
        """How many inputs concern each partition."""
        return 6 if self.view.layout == "forecast" else 1

    @property
    def width(self) -> int:
        """How many inputs there are."""
        return self.common + self.each * self.view.actions

    @property
    def row_width(self) -> int:
        """How many inputs the network itself takes: all, or those of one partition and which it is."""
        if self.kind == "mlp":
            return self.width
        return self.common + self.each + self.view.actions

    def inputs(self, states: F32) -> F32:
        """Return the inputs, one row per state."""
        view, n = self.view, self.view.actions
        out = np.zeros((len(states), self.width), np.float32)
        angle = states[:, 1] * np.float32(HOUR)
        for column, wave in enumerate((np.sin, np.cos)):
            out[:, column] = wave(angle)
            out[:, 2 + column] = wave(2 * angle)
        rest = states[:, 2 : self.common - 2]
        binned = view.layout == "paper-binned"
        out[:, 4 : self.common] = rest * np.float32(0.25) if binned else _squashed(rest)
        of_each = out[:, self.common :].reshape(-1, n, self.each)
        rows, present = np.arange(len(states)), states[:, 0].astype(np.int64) - 1
        of_each[rows, present, 0] = 1.0
        if view.layout == "forecast":
            found = states[:, view.forecast_columns].reshape(-1, n, 3)
            cost = -self.base(states)
            figures = np.empty((len(states), n, 5), np.float32)
            figures[:, :, :2] = found[:, :, :2] / np.float32(self.unit)
            figures[:, :, 2] = found[:, :, 2] * np.float32(0.1)
            figures[:, :, 3] = 2 * (cost - cost[rows, present][:, None])
            figures[:, :, 4] = 2 * (cost - cost.min(axis=1, keepdims=True))
            of_each[:, :, 1:] = _squashed(figures)
        return out

    def rows(self, inputs: F32) -> F32:
        """Return what the network takes: per state one row (``mlp``), or one per partition (``shared``)."""
        if self.kind == "mlp":
            return inputs
        n, count = self.view.actions, len(inputs)
        out = np.empty((count, n, self.row_width), np.float32)
        out[:, :, : self.common] = inputs[:, None, : self.common]
        own = self.common + self.each
        out[:, :, self.common : own] = inputs[:, self.common :].reshape(count, n, self.each)
        out[:, :, own:] = np.eye(n, dtype=np.float32)
        return out.reshape(count * n, self.row_width)

    def base(self, states: F32) -> F32:
        """Return the first term of Q, one row per state; zeros for views without forecasts."""
        n = self.view.actions
        if self.view.layout != "forecast":
            return np.zeros((len(states), n), np.float32)
        columns = states[:, self.view.forecast_columns].reshape(-1, n, 3)
        base: F32 = -(columns[:, :, 0] + columns[:, :, 1]) / np.float32(self.unit)
        return base

    def considered(self, base: F32, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return which partitions may be chosen: allowed now, and not too dear by forecast."""
        if self.view.layout != "forecast" or self.slack == np.inf:
            return masks
        least = np.where(masks, base, -np.inf).max(axis=1, keepdims=True)
        found: np.ndarray[Any, Any] = masks & (base >= least - np.float32(self.slack))
        return found

    def choose(
        self, network: Network, states: F32, masks: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Return the catalogue number of the partition that a network chooses, one per state."""
        return best_actions(self.values(network, states), self.considered(self.base(states), masks))

    def values(self, network: Network, states: F32) -> F32:
        """Return Q of every partition, one row per state."""
        outputs = network(self.rows(self.inputs(states)))
        return self.base(states) + outputs.reshape(len(states), self.view.actions)


def _squashed(values: F32) -> F32:
    out: F32 = np.copysign(np.log1p(np.abs(values)), values)
    return out


@dataclass(frozen=True)
class Network:
    """A multilayer perceptron with ReLU between its layers.

    Attributes
    ----------
    weights : tuple of arrays (outputs, inputs)
    biases : tuple of arrays (outputs,)
    """

    weights: tuple[F32, ...]
    biases: tuple[F32, ...]

    def __call__(self, inputs: F32) -> F32:
        """Return the outputs, one row per row of ``inputs``."""
        x = inputs
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if number:
                x = np.maximum(x, np.float32(0))
            x = x @ weight.T + bias
        return x


def best_actions(values: F32, masks: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return per row the catalogue number of the allowed partition of greatest value; ties to the lower."""
    chosen: np.ndarray[Any, Any] = np.where(masks, values, -np.inf).argmax(axis=1) + 1
    return chosen

"""The network of a learned policy in plain numpy: encode a state, value every partition, choose one.

    Q(s, p) = -(forecast cost of p) / unit + MLP(encoded s)[p]

The first term is there for views with forecasts only: it is exact if nothing else arrives, so that
the network learns what later arrivals add to it. Costs are in units of ``Encoder.unit`` job-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from migopt.schedulers.learned.view import View

F32 = np.ndarray[Any, np.dtype[np.float32]]
HOUR = 2 * np.pi / 24


@dataclass(frozen=True)
class Encoder:
    """From states to inputs of a network.

    Attributes
    ----------
    view : View
    unit : float
        Job-minutes that count as 1, so that costs of scenarios are of one size.
    """

    view: View
    unit: float = 1.0

    @property
    def width(self) -> int:
        """How many inputs: partition one by one, time of day on two circles, the rest of the state."""
        more = self.view.actions if self.view.layout == "forecast" else 0
        return self.view.actions + 4 + self.view.width - 2 + more

    def inputs(self, states: F32) -> F32:
        """Return inputs, one row per state; times and costs are compressed by a signed logarithm."""
        view, n = self.view, self.view.actions
        rows = np.arange(len(states))
        out = np.zeros((len(states), self.width), np.float32)
        out[rows, states[:, 0].astype(np.int64) - 1] = 1.0
        angle = states[:, 1] * np.float32(HOUR)
        for column, wave in enumerate((np.sin, np.cos)):
            out[:, n + column] = wave(angle)
            out[:, n + 2 + column] = wave(2 * angle)
        rest = out[:, n + 4 : n + 2 + view.width]
        rest[:] = states[:, 2:]
        if view.layout == "paper-binned":
            rest *= np.float32(0.25)
            return out
        if view.layout == "forecast":
            columns = states[:, view.forecast_columns].reshape(-1, n, 3)
            cost = (columns[:, :, 0] + columns[:, :, 1]) / np.float32(self.unit)
            present = cost[rows, states[:, 0].astype(np.int64) - 1]
            out[:, -n:] = cost - present[:, None]
            scaled = rest[:, view.forecast_columns.start - 2 :].reshape(-1, n, 3)
            scaled[:, :, :2] /= np.float32(self.unit)
            scaled[:, :, 2] *= np.float32(0.1)
            rest[:, view.forecast_columns.start - 2 :] = scaled.reshape(len(states), -1)
        squashed = out[:, n + 4 :]
        np.copyto(squashed, np.sign(squashed) * np.log1p(np.abs(squashed)))
        return out

    def base(self, states: F32) -> F32:
        """Return the first term of Q, one row per state; zeros for views without forecasts."""
        n = self.view.actions
        if self.view.layout != "forecast":
            return np.zeros((len(states), n), np.float32)
        columns = states[:, self.view.forecast_columns].reshape(-1, n, 3)
        base: F32 = -(columns[:, :, 0] + columns[:, :, 1]) / np.float32(self.unit)
        return base


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
        """Return one output per partition, one row per row of ``inputs``."""
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

"""The network that learns: forward, gradient and Adam on one flat tensor of parameters.

Written out because a gradient step of a network this small is mostly overhead: automatic
differentiation takes three times as long. ``tests/unit/rl/test_qnet.py`` holds it against autograd.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from migopt.schedulers.learned.network import Encoder, Network


class QNet:
    """The network N of an encoder, over flat parameters.

    Parameters
    ----------
    encoder : Encoder
        Says what the network takes, and whether it is asked once per state or once per partition.
    hidden : tuple of int
        Sizes of the hidden layers.
    dueling : bool
        The last layer of an ``mlp`` then gives a value and advantages: Q = V + A - mean A.
    """

    def __init__(self, encoder: Encoder, hidden: tuple[int, ...], *, dueling: bool) -> None:
        self.encoder, self.actions = encoder, encoder.view.actions
        self.shared = encoder.kind == "shared"
        self.dueling = dueling and not self.shared
        outputs = 1 if self.shared else self.actions + self.dueling
        self.shapes = [(o, i) for i, o in pairwise((encoder.row_width, *hidden, outputs))]
        self.flat = torch.zeros(sum(o * i + o for o, i in self.shapes))
        self.grad = torch.zeros_like(self.flat)
        self.weights, self.biases = self._views(self.flat)
        self.weight_grads, self.bias_grads = self._views(self.grad)
        self._transposed = [weight.t() for weight in self.weights]
        self._eye = torch.eye(self.actions)

    def _views(self, flat: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        weights, biases, at = [], [], 0
        for outputs, inputs in self.shapes:
            weights.append(flat[at : at + outputs * inputs].view(outputs, inputs))
            at += outputs * inputs
            biases.append(flat[at : at + outputs])
            at += outputs
        return weights, biases

    def draw(self, generator: np.random.Generator) -> None:
        """Draw weights uniformly within +-sqrt(6 / inputs) (He), 0 in the last layer; biases 0."""
        self.flat.zero_()
        for weight in self.weights[:-1]:
            bound = (6 / weight.shape[1]) ** 0.5
            values = generator.uniform(-bound, bound, tuple(weight.shape)).astype(np.float32)
            weight.copy_(torch.from_numpy(values))

    def rows(self, inputs: torch.Tensor, actions: torch.Tensor | None = None) -> torch.Tensor:
        """Return what the network takes; of a shared one for some partitions (n, k) only, or for all."""
        if not self.shared:
            return inputs
        common, each = self.encoder.common, self.encoder.each
        of_each = inputs[:, common:].reshape(len(inputs), self.actions, each)
        which = self._eye.expand(len(inputs), -1, -1)
        if actions is not None:
            picked = actions.unsqueeze(2)
            of_each = of_each.gather(1, picked.expand(-1, -1, each))
            which = self._eye[actions]
        first = inputs[:, None, :common].expand(-1, of_each.shape[1], -1)
        return torch.cat((first, of_each, which), 2).view(-1, self.encoder.row_width)

    def forward(self, rows: torch.Tensor) -> list[torch.Tensor]:
        """Return the outputs of every layer, those of hidden ones after ReLU; the last is N."""
        outputs, x = [], rows
        last = len(self.weights) - 1
        for number, weight in enumerate(self._transposed):
            x = torch.addmm(self.biases[number], x, weight)
            if number < last:
                x.relu_()
            outputs.append(x)
        if self.dueling:
            advantages = x[:, 1:]
            outputs[-1] = advantages - advantages.mean(1, keepdim=True) + x[:, :1]
        return outputs

    def values(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return N of every partition, one row per row of inputs."""
        return self.forward(self.rows(inputs))[-1].view(len(inputs), self.actions)

    def backward(
        self, rows: torch.Tensor, outputs: list[torch.Tensor], slope: torch.Tensor
    ) -> None:
        """Set ``grad`` to the gradient of a loss, given its derivative by the last output."""
        delta = slope
        if self.dueling:
            total = slope.sum(1, keepdim=True)
            delta = torch.cat((total, slope - total / self.actions), 1)
        for number in range(len(self.weights) - 1, -1, -1):
            below = outputs[number - 1] if number else rows
            torch.mm(delta.t(), below, out=self.weight_grads[number])
            torch.sum(delta, 0, out=self.bias_grads[number])
            if number:
                delta = torch.mm(delta, self.weights[number])
                delta.mul_(below > 0)

    def network(self, flat: torch.Tensor | None = None) -> Network:
        """Return the same function in numpy; a dueling head becomes an ordinary layer."""
        weights, biases = self._views(self.flat if flat is None else flat)
        w = [item.numpy().copy() for item in weights]
        b = [item.numpy().copy() for item in biases]
        if self.dueling:
            for array in (w, b):
                value, advantages = array[-1][:1].astype(float), array[-1][1:].astype(float)
                folded: Any = advantages - advantages.mean(0, keepdims=True) + value
                array[-1] = folded.astype(np.float32)
        return Network(tuple(w), tuple(b))


class Adam:
    """Adam (Kingma and Ba 2015) on one flat tensor, with the gradient's norm clipped."""

    def __init__(self, size: int, *, clip: float, beta1: float = 0.9, beta2: float = 0.999) -> None:
        self.mean, self.square = torch.zeros(size), torch.zeros(size)
        self.count, self.clip, self.beta1, self.beta2 = 0, clip, beta1, beta2

    def step(self, flat: torch.Tensor, grad: torch.Tensor, rate: float) -> None:
        """Take one step of size ``rate``."""
        if self.clip > 0:
            norm = float(grad.norm())
            if norm > self.clip:
                grad.mul_(self.clip / norm)
        self.count += 1
        self.mean.lerp_(grad, 1 - self.beta1)
        self.square.mul_(self.beta2).addcmul_(grad, grad, value=1 - self.beta2)
        # The two corrections for the start at 0 go into the size of the step and into epsilon.
        scale = (1 - self.beta2**self.count) ** 0.5
        spread = self.square.sqrt().add_(1e-8 * scale)
        flat.addcdiv_(self.mean, spread, value=-rate * scale / (1 - self.beta1**self.count))

"""One gradient step of DQN: target, loss, step; target network and average of the weights."""

from __future__ import annotations

import numpy as np
import torch

from migopt.rl.config import DqnConfig
from migopt.rl.qnet import Adam, QNet
from migopt.rl.replay import Batch
from migopt.schedulers.learned.network import Encoder


def targets(
    batch: Batch, online: QNet, target: QNet, *, double: bool, bootstrap: bool = True
) -> torch.Tensor:
    """Return what Q should be: the return, plus the factor times the value of the state it ends in.

    The factor is 0 where the episode ended there. Double DQN (van Hasselt et al. 2016): the network
    chooses the partition, the target network values it.
    """
    if not bootstrap:
        return batch.returns + batch.next_base.amax(1).view(batch.factors.shape)
    later = target.values(batch.next_inputs)
    judge = online.values(batch.next_inputs) if double else later
    chosen = (judge + batch.next_base).argmax(1, keepdim=True)
    shape = batch.factors.shape
    owed = batch.next_base.gather(1, chosen).view(shape)
    return batch.returns + owed + batch.factors * later.gather(1, chosen).view(shape)


class Learner:
    """Network, target network, average, optimiser.

    Parameters
    ----------
    config : DqnConfig
    encoder : Encoder
    generator : numpy Generator
        Draws the first weights.
    """

    def __init__(self, config: DqnConfig, encoder: Encoder, generator: np.random.Generator) -> None:
        self.config = config
        self.online = QNet(encoder, config.hidden, dueling=config.dueling)
        self.online.draw(generator)
        self.target = QNet(encoder, config.hidden, dueling=config.dueling)
        self.target.flat.copy_(self.online.flat)
        self.average = self.online.flat.clone()
        self.adam = Adam(len(self.online.flat), clip=config.clip)
        self.updates = 0

    def update(self, batch: Batch, rate: float) -> torch.Tensor:
        """Take one step on the Huber loss; return the mean absolute error."""
        config = self.config
        wanted = targets(
            batch,
            self.online,
            self.target,
            double=config.double,
            bootstrap=config.bootstraps,
        )
        online = self.online
        rows = online.rows(batch.inputs, batch.actions)
        outputs = online.forward(rows)
        found = outputs[-1].view(len(batch.inputs), -1)
        error = found if online.shared else found.gather(1, batch.actions)
        error = error + batch.base.gather(1, batch.actions) - wanted
        # The mean over the partitions tried holds the luck of arrivals, which all of them share.
        mean = error.mean(1, keepdim=True)
        pull = (error - mean).clamp_(-config.huber, config.huber)
        if pull.shape[1] > 1:
            pull -= pull.mean(1, keepdim=True)
        weight = config.value_weight if config.compare > 1 else 1.0
        pull += mean.clamp(-config.huber, config.huber) * weight
        pull.div_(len(error))
        slope = pull.view(-1, 1) if online.shared else torch.zeros_like(found)
        if not online.shared:
            slope.scatter_(1, batch.actions, pull)
        online.backward(rows, outputs, slope)
        self.adam.step(online.flat, online.grad, rate)
        self.updates += 1
        self.average.lerp_(self.online.flat, 1 - config.average)
        if self.updates % config.target_every == 0:
            self.target.flat.copy_(self.online.flat)
        return error.abs_().mean()

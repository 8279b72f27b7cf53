"""Playing a learned policy on the compiled simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from migopt.schedulers.learned.checkpoint import LearnedPolicy
from migopt.sim.state import Cause

if TYPE_CHECKING:
    from migopt.compiled import Ints

CAUSES = Cause.ARRIVAL | Cause.COMPLETION


def steer(policy: LearnedPolicy) -> Callable[[Ints, Ints, Ints], None]:
    """Return what the kernel's driver calls at every instant: it may start a repartition."""
    import numpy as np

    from migopt.sim import episodes
    from migopt.sim import layout as at
    from migopt.sim.vector import act, some_gpu_decides

    view, encoder, network = policy.encoder.view, policy.encoder, policy.network
    settings = view.settings(causes=int(CAUSES), first=policy.first, most_steps=0)
    units = view.units()
    states = np.zeros((1, view.width), np.float32)
    masks = np.zeros((1, view.actions), np.bool_)

    def take(D: Ints, S: Ints, scratch: Ints) -> None:
        if not S[at.CAUSE] & int(CAUSES) or not some_gpu_decides(D, S):
            return
        episodes.write_state(D, S, scratch, settings, units, states[0])
        episodes.write_mask(D, S, view.actions, masks[0])
        act(D, S, encoder.choose(network, states, masks))

    return take

"""``migopt train``: one file per learner, loaded when it is called."""

from __future__ import annotations

import click

from migopt.cli import LazyGroup

#: Subcommand to (module, one-line help).
COMMANDS = {
    "dqn": ("migopt.cli.train.dqn", "Train a network that chooses partitions by DQN."),
}


@click.group(
    "train",
    cls=LazyGroup,
    lazy=COMMANDS,
    epilog="Example: migopt train dqn --scenario s0-tight -o runs/tight",
)
def command() -> None:
    """Train policies that choose partitions."""

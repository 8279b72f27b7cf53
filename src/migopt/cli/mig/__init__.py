"""``migopt mig``: one file per question, loaded when it is asked."""

from __future__ import annotations

import click

from migopt.cli import LazyGroup

#: Subcommand to (module, one-line help).
COMMANDS = {
    "check": ("migopt.cli.mig.check", "Say whether slices can be together on one GPU, or why not."),
    "list": ("migopt.cli.mig.list", "List the partitions of a GPU."),
}


@click.group(
    "mig",
    cls=LazyGroup,
    lazy=COMMANDS,
    epilog='Example: migopt mig check --gpu A100-40GB "4g.20gb@0,3g.20gb@4"',
)
def command() -> None:
    """Ask which MIG partitions exist."""

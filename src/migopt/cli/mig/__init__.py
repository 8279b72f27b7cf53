"""``migopt mig``: one file per question, loaded when it is asked."""

from __future__ import annotations

import click

from migopt.cli import LazyGroup

#: Subcommand to (module, one-line help).
COMMANDS = {
    "check": ("migopt.cli.mig.check", "Say whether slices can be together on one GPU, or why not."),
    "convert": (
        "migopt.cli.mig.convert",
        "Translate partitions between the formats operators use.",
    ),
    "lint": ("migopt.cli.mig.lint", "Find what is wrong or wasted in a node or mig-parted file."),
    "list": ("migopt.cli.mig.list", "List the partitions of a GPU."),
    "place": ("migopt.cli.mig.place", "Find starts for new slices, or say why there are none."),
    "plan": ("migopt.cli.mig.plan", "Get to the wanted slices with the fewest destroys."),
    "recommend": ("migopt.cli.mig.recommend", "Choose the best partition for a mix of jobs."),
}


@click.group(
    "mig",
    cls=LazyGroup,
    lazy=COMMANDS,
    epilog='Example: migopt mig check --gpu A100-40GB "4g.20gb@0,3g.20gb@4"',
)
def command() -> None:
    """Ask which MIG partitions exist, and plan, lint and convert them."""

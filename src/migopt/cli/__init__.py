"""The ``migopt`` command: one file per subcommand, loaded only when it is called.

Exit codes everywhere: 0 success, 1 a negative answer (illegal schedule, impossible partition,
failed runs), 2 unusable input or usage, 130 interrupted.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

#: Command name to (module, one-line help); the help is here so that ``--help`` imports no command.
COMMANDS = {
    "batch": ("migopt.cli.batch", "Simulate policies on many generated days, on all cores."),
    "bench": ("migopt.cli.bench", "Run a benchmark suite and record every run."),
    "calibrate": ("migopt.cli.calibrate", "Derive the energy weight a of a scenario."),
    "certify": (
        "migopt.cli.certify",
        "Best schedule and lower bounds within a time, with proofs; verify them.",
    ),
    "check": (
        "migopt.cli.check",
        "Check a schedule against its instance; list every violated rule.",
    ),
    "generate": ("migopt.cli.generate", "Generate an instance of a named scenario."),
    "gpus": ("migopt.cli.gpus", "List GPU models and show their profiles."),
    "import": ("migopt.cli.import_", "Import a cluster trace as an instance."),
    "instances": ("migopt.cli.instances", "Build the shipped instances and refresh their index."),
    "mig": ("migopt.cli.mig", "Ask which MIG partitions exist."),
    "report": ("migopt.cli.report", "Turn recorded runs into Markdown and HTML."),
    "schema": ("migopt.cli.schema", "Print the JSON Schema of a file format."),
    "simulate": ("migopt.cli.simulate", "Run a scheduling policy on an instance."),
    "solve": ("migopt.cli.solve", "Solve an instance with a named solver, bound or policy."),
    "solvers": ("migopt.cli.solvers", "List solvers and check them with the conformance kit."),
    "train": ("migopt.cli.train", "Train policies that choose partitions."),
}


class LazyGroup(click.Group):
    """A click group whose subcommands are imported when first used."""

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all subcommands."""
        return sorted(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one subcommand, or None when there is none of that name."""
        if cmd_name not in self.lazy:
            return None
        command: click.Command = importlib.import_module(self.lazy[cmd_name][0]).command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Resolve a subcommand; an unknown one is an error that names the nearest."""
        from migopt.errors import nearest_hint

        if args and not args[0].startswith("-") and args[0] not in self.lazy:
            ctx.fail(f"no command {args[0]!r}{nearest_hint(args[0], self.lazy)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list from the table, importing nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name][1]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; migopt's own errors become one line on stderr and exit code 2."""
        from migopt.cli._common import EXIT_INTERRUPTED, fail
        from migopt.errors import MigoptError

        try:
            return super().invoke(ctx)
        except MigoptError as error:
            fail(error)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        import migopt

        click.echo(f"migopt {migopt.__version__}")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: migopt generate s0-slack --seed 1 -o day.json && migopt simulate day.json",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Show the version.",
)
def cli() -> None:
    """Schedule AI jobs on NVIDIA MIG GPUs, and prove how good the schedule is."""


def main() -> None:
    """Entry point of the console script."""
    cli(prog_name="migopt")

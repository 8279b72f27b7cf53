"""``migopt train dqn``: settings from a file and from options, progress, a policy in a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from migopt.cli._common import emit_json, json_option
from migopt.rl.config import DqnConfig

_EPILOG = """\b
Example:
  migopt train dqn --scenario s0-tight -o runs/tight
The policy is then played by --policy edf_ss_restricted+dqn:runs/tight/policy.safetensors
"""


def _sizes(_context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    try:
        return tuple(int(item) for item in text.split(","))
    except ValueError:
        raise click.BadParameter(f"write sizes as 64,64, not {text!r}", param=parameter) from None


def setting_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option per setting of DqnConfig; what is not given stays None."""
    for item in reversed(fields(DqnConfig)):
        name = "--" + item.name.replace("_", "-")
        help_text = str(item.metadata["help"])
        default = item.default
        if isinstance(default, bool):
            option = click.option(
                f"{name}/--no-{name[2:]}", item.name, default=None, help=f"{help_text} [{default}]"
            )
        elif isinstance(default, tuple):
            shown = ",".join(map(str, default))
            option = click.option(
                name, item.name, callback=_sizes, metavar="N,N", help=f"{help_text} [{shown}]"
            )
        else:
            option = click.option(
                name, item.name, type=type(default), help=f"{help_text} [{default}]"
            )
        function = option(function)
    return function


@click.command("dqn", epilog=_EPILOG)
@click.option("--config", "file", type=click.Path(path_type=Path), help="TOML file of settings.")
@setting_options
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), required=True, help="Folder of the run."
)
@click.option("--restart", is_flag=True, help="Begin anew, whatever the folder holds.")
@json_option
def command(file: Path | None, out: Path, restart: bool, as_json: bool, **settings: Any) -> None:
    """Train a network that chooses partitions; a run that was stopped goes on where it was saved.

    Settings come from --config, and options override it; their defaults are in brackets.
    """
    from rich.console import Console
    from rich.progress import Progress

    from migopt.rl.config import read_toml
    from migopt.rl.train import train_dqn

    document = read_toml(file) if file is not None else {}
    document |= {name: value for name, value in settings.items() if value is not None}
    config = DqnConfig.from_dict(document, source=str(file or ""))
    console = Console(stderr=True)
    shown = Progress(console=console, transient=True)
    bar = shown.add_task("decisions", total=config.steps)

    def progress(steps: int, point: Any) -> None:
        # Begun with the first step, so that an error before it is one line.
        shown.start()
        shown.update(bar, completed=steps)
        if point is not None:
            console.print(
                f"{point.steps:>9} decisions  validation ET {point.validation_cost:.4f}"
                f"  best {point.best_cost:.4f}  epsilon {point.epsilon:.2f}",
                highlight=False,
            )

    try:
        result = train_dqn(config, out, restart=restart, progress=progress)
    finally:
        if shown.live.is_started:
            shown.stop()
    if as_json:
        emit_json(result)
        return
    click.echo(
        f"{result['policy']}: mean ET {result['validation_cost']:.4f} on the validation days,"
        f" {result['decisions']} decisions, {result['updates']} gradient steps"
    )

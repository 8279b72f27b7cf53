"""``migopt mig convert``."""

from __future__ import annotations

import sys
from typing import Any

import click

from migopt.cli._common import emit_json, json_option
from migopt.cli.mig._node import given_node, gpu_label, node_options, warn


@click.command(
    "convert",
    epilog='Example: migopt mig convert --gpu A100-40GB --have "4g.20gb@0,3g.20gb@4" --to commands',
)
@click.argument("file", required=False)
@node_options
@click.option(
    "--to",
    "to",
    required=True,
    metavar="FORMAT",
    help="notation, node, lgip, lgipp, lgi, list, list-old, commands, mig-parted, kubernetes, "
    "kubernetes-single, slurm.",
)
@click.option("--from", "form", metavar="FORMAT", help="Default: guessed from the text.")
@click.option("--config", metavar="LABEL", help="Configuration of a mig-parted file.")
@json_option
def command(
    file: str | None, to: str, form: str | None, config: str | None, as_json: bool, **node: Any
) -> None:
    """Translate the slices in FILE (- for standard input), or of --have, into another format.

    FILE may hold nvidia-smi listings, nvidia-smi mig -cgi commands, a mig-parted file, Kubernetes
    limits, Slurm gres, a node file, or lines of this tool's notation, one per GPU. What names no GPU
    needs --gpu, once per GPU.
    """
    from migopt.mig.convert import Converted, convert, write_states
    from migopt.mig.formats.listing import read_text

    named = node["gpus"] or node["listings"] or node["node_file"]
    given = given_node(**node) if named else None
    states = given.states if given else ()
    if file is None:
        if given is None:
            raise click.UsageError("nothing to convert; give FILE, or a GPU with its slices")
        text, more = write_states(states, to, label=config or "migopt")
        done = Converted(text, tuple(states), tuple(more))
    else:
        text = sys.stdin.read() if file == "-" else read_text(file)
        source = "" if file == "-" else file
        done = convert(text, to, states, form=form, config=config, source=source)
    warn((*(given.warnings if given else ()), *done.warnings))
    if not as_json:
        click.echo(done.text, nl=False)
        return
    emit_json(
        {
            "format": to,
            "text": done.text,
            "placements": [
                {"gpu": gpu_label(state), "profile": place.profile, "start": place.start}
                for state in done.states
                for place in state.partition
            ],
            "warnings": list(done.warnings),
        }
    )

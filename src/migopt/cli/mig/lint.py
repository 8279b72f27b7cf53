"""``migopt mig lint``."""

from __future__ import annotations

import sys

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option


@click.command(
    "lint",
    epilog='Example: migopt mig lint --gpu A100-40GB --have "4g.20gb@0,3g.20gb@4". '
    "Exit code 0: nothing found, 1: findings, 2: unreadable.",
)
@click.argument("file", required=False)
@click.option(
    "--gpu", "gpus", multiple=True, metavar="GPU",
    help="The GPUs of the node, in order, where the file does not name them.",
)  # fmt: skip
@click.option(
    "--have", "haves", multiple=True, metavar="SLICES",
    help="Without FILE: the slices of each GPU, in order.",
)  # fmt: skip
@click.option("--driver", metavar="VERSION", help="Judge as this driver does, for example 470.")
@json_option
def command(
    file: str | None,
    gpus: tuple[str, ...],
    haves: tuple[str, ...],
    driver: str | None,
    as_json: bool,
) -> None:
    """Find what is wrong or wasted in FILE: a node file, listings, or a mig-parted file.

    Reported: MIG on without slices, profiles the card does not have, layouts that cannot exist,
    layouts to which a strictly better one exists, duplicate rows, orphans.
    """
    from migopt.mig.formats.listing import read_text
    from migopt.mig.formats.mig_parted import read_mig_parted
    from migopt.mig.lint import lint_configs, lint_node
    from migopt.mig.node import Node, NodeRow, named_gpu, parse_node

    models = [named_gpu(name, driver) for name in gpus]
    text = "" if file is None else read_text(file)
    if file is None:
        if not gpus or len(haves) > len(gpus):
            raise click.UsageError("give FILE, or --gpu and a --have for each")
        padded = [*haves, *[""] * (len(gpus) - len(haves))]
        rows = [
            NodeRow(name, model, str(i), True, have, None, f"--gpu {i}")
            for i, (name, model, have) in enumerate(zip(gpus, models, padded, strict=True))
        ]
        found = lint_node(Node("", tuple(rows)))
    elif haves:
        raise click.UsageError("--have is for a call without FILE")
    elif "mig-configs" in text:
        found = lint_configs(read_mig_parted(text, source=file), models)
    else:
        found = lint_node(parse_node(text, source=file), models[0] if models else None)
    if as_json:
        emit_json(
            {
                "file": file,
                "findings": [
                    {"rule": f.rule, "where": f.where, "severity": f.severity, "message": f.message}
                    for f in found
                ],
            }
        )
    else:
        for finding in found:
            click.echo(f"{finding.severity}: {finding.where}: {finding.message} [{finding.rule}]")
        count = "1 finding" if len(found) == 1 else f"{len(found)} findings"
        click.echo(count if file is None else f"{file}: {count}")
    sys.exit(EXIT_NEGATIVE if found else 0)

"""``migopt schema``."""

from __future__ import annotations

from pathlib import Path

import click

from migopt.cli._common import emit_json, json_option


@click.command("schema", epilog="Example: migopt schema instance -o instance.schema.json")
@click.argument("kind", metavar="instance|schedule")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the schema to this file."
)
@json_option
def command(kind: str, output: Path | None, as_json: bool) -> None:
    """Print the JSON Schema of instance or schedule files.

    It is JSON in any case; with -o, --json prints the name of the file written.
    """
    from migopt.errors import InputError
    from migopt.io.json_schemas import json_schema_text

    text = json_schema_text(kind)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(output)) from None
    if as_json:
        emit_json({"schema_file": str(output)})
    else:
        click.echo(str(output))

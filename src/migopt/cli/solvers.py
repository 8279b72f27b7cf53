"""``migopt solvers list`` and ``migopt solvers check``."""

from __future__ import annotations

import sys
from typing import Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option


@click.group("solvers")
def command() -> None:
    """List solvers and rules, and check them with the conformance kit."""


@command.command("list", epilog="Example: migopt solvers list --json")
@json_option
def list_solvers(as_json: bool) -> None:
    """List the named solvers, and the rules that policies are made of."""
    from migopt.registry import entries
    from migopt.schedulers import dispatch_rules, partition_rules

    found = entries()
    if as_json:
        emit_json(
            {
                "solvers": [_as_dict(entry) for entry in found],
                "dispatch_rules": dispatch_rules(),
                "partition_rules": partition_rules(),
            }
        )
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("solver", "claims", "parameters", "what it is", title="Solvers")
    for entry in found:
        trouble = entry.error or ("missing: " + ", ".join(entry.missing) if entry.missing else "")
        parameters = ", ".join(
            f"{name}={default}" for name, (default, _) in entry.parameters.items()
        )
        table.add_row(
            entry.name, entry.claims, parameters, f"broken: {trouble}" if trouble else entry.summary
        )
    console = Console()
    console.print(table)
    console.print("Policies are dispatch+partition, for example edf_ss_restricted+static:3")
    console.print("  dispatch:  " + ", ".join(dispatch_rules()))
    console.print("  partition: " + ", ".join(partition_rules()))


def _as_dict(entry: Any) -> dict[str, Any]:
    return {
        "name": entry.name,
        "claims": entry.claims,
        "summary": entry.summary,
        "requires": list(entry.requires),
        "missing": list(entry.missing),
        "parameters": {
            name: {"default": d, "limits": limits} for name, (d, limits) in entry.parameters.items()
        },
        "path": str(entry.path),
        "error": entry.error,
    }


@command.command("check", epilog="Example: migopt solvers check my_rule.py")
@click.argument("targets", nargs=-1)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    help="Seconds per solve.",
)
@json_option
def check_solvers(targets: tuple[str, ...], time_limit: float, as_json: bool) -> None:
    """Test solvers and rules with the conformance kit: names, or files of one's own (default: everything).

    Exit code 1 when anything fails.
    """
    from migopt.testing import conformance

    reports = []
    for target in targets or conformance.all_targets():
        report = conformance.check_target(target, time_limit_s=time_limit)
        reports.append(report)
        if not as_json:
            for item in report.checks:
                mark = "ok  " if item.passed else "FAIL"
                click.echo(
                    f"{mark} {target}: {item.name}" + (f": {item.detail}" if item.detail else "")
                )
    failed = [report.target for report in reports if not report.passed]
    if as_json:
        emit_json({"passed": not failed, "reports": [report.as_dict() for report in reports]})
    else:
        click.echo(
            f"{len(reports)} checked, {len(failed)} failed"
            + (": " + ", ".join(failed) if failed else "")
        )
    if failed:
        sys.exit(EXIT_NEGATIVE)

"""``migopt mig plan``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from migopt.cli._common import EXIT_NEGATIVE, emit_json, json_option
from migopt.cli.mig._node import (
    given_node,
    gpu_label,
    node_options,
    numbered,
    reason_document,
    reason_text,
    warn,
)
from migopt.errors import InputError

if TYPE_CHECKING:
    from migopt.cli.mig._node import Given
    from migopt.mig.plan import PlanAnswer
    from migopt.mig.state import GpuState

EMPTY, UNTOUCHED = "empty", "-"


@click.command(
    "plan",
    epilog='Example: migopt mig plan --gpu A100-40GB --have "4g.20gb@0:busy,2g.10gb@4" '
    '--target "4g.20gb@0,3g.20gb@4". Exit code 0: possible, 1: impossible, 2: unusable input.',
)
@node_options
@click.option(
    "--want", metavar="SLICES", help="Make room: these slices must be there for new jobs."
)
@click.option(
    "--target", "targets", multiple=True, metavar="SLICES",
    help='Exactly these slices, with or without starts; one per GPU in order ("-": leave this GPU, '
    '"empty": no slice, "1=…": GPU 1). A single one without starts counts over all GPUs.',
)  # fmt: skip
@click.option(
    "--busy", type=click.Choice(["keep", "move", "destroy"]), default="keep", show_default=True,
    help="What may happen to busy slices where it is unavoidable.",
)  # fmt: skip
@click.option(
    "--commands", "commands_file", metavar="FILE", help="Write nvidia-smi commands (- for stdout)."
)
@click.option("--svg", "svg_file", metavar="FILE", help="Draw every GPU before and after.")
@click.option(
    "--html", "html_file", metavar="FILE", help="Write a page with the drawing and the steps."
)
@json_option
def command(
    want: str | None,
    targets: tuple[str, ...],
    busy: str,
    commands_file: str | None,
    svg_file: str | None,
    html_file: str | None,
    as_json: bool,
    **node: Any,
) -> None:
    """Get from the slices that exist to those wanted with the fewest destroys, step by step.

    Busy slices are kept unless --busy says otherwise; then as few as possible are moved. The answer
    is the result of an exact search; proved_minimal says that it was complete.
    """
    given = given_node(**node)
    answer = _solve(given, want, targets, busy)
    warn(given.warnings)
    _write(given.states, answer, commands_file, svg_file, html_file)
    if as_json:
        emit_json(_document(given, answer))
    elif commands_file != "-":
        click.echo(_text(given.states, answer))
    sys.exit(0 if answer.possible else EXIT_NEGATIVE)


def _solve(given: Given, want: str | None, targets: Sequence[str], busy: str) -> PlanAnswer:
    from migopt.mig.plan import make_room, reach, reach_counts
    from migopt.mig.state import Request, parse_request

    states = given.states
    if want is not None and targets:
        raise InputError("--want and --target exclude each other")
    if want is not None:
        return make_room(states, parse_request(want, where="--want"), busy=busy)
    if not targets:
        if not given.targets:
            raise InputError("nothing is wanted; use --want, --target, or targets in the node file")
        return reach(states, given.targets, busy=busy)
    goals: dict[int, Request] = {}
    for i, text in enumerate(targets):
        if len(targets) == 1 and len(states) > 1 and "=" not in text:
            request = parse_request(text, where="--target")
            if request.fixed or not request.free:
                raise InputError(
                    '--target with starts needs the GPU: "1=3g.20gb@0", or one per GPU'
                )
            return reach_counts(states, request, busy=busy)
        number, rest = numbered(text, i, states, "--target")
        if number in goals:
            raise InputError(f"--target: GPU {number} twice")
        if rest.strip() == UNTOUCHED:
            continue
        nothing = rest.strip() == EMPTY
        goals[number] = Request() if nothing else parse_request(rest, where="--target")
        if not nothing and not goals[number].names:
            raise InputError('no slice is named; write "empty" for none', where="--target")
    return reach(states, goals, busy=busy)


def _write(
    states: Sequence[GpuState],
    answer: PlanAnswer,
    commands_file: str | None,
    svg_file: str | None,
    html_file: str | None,
) -> None:
    from migopt.mig.draw import plan_html, plan_svg, write_drawing
    from migopt.mig.formats.commands import write_commands

    if svg_file is not None:
        write_drawing(svg_file, plan_svg(states, answer))
    if html_file is not None:
        write_drawing(html_file, plan_html(states, answer))
    if commands_file is not None and answer.possible:
        script = write_commands(states, answer.steps)
        if commands_file == "-":
            click.echo(script, nl=False)
        else:
            write_drawing(commands_file, script)


def _document(given: Given, answer: PlanAnswer) -> dict[str, Any]:
    states = given.states
    return {
        "possible": answer.possible,
        "placements": [
            {"gpu": gpu_label(state), "profile": place.profile, "start": place.start}
            for state, final in zip(states, answer.finals, strict=True)
            for place in (final if answer.possible else ())
        ],
        "steps": [
            {
                "op": step.op,
                "gpu": gpu_label(states[step.gpu]),
                "profile": step.placement.profile,
                "start": step.placement.start,
            }
            for step in answer.steps
        ],
        "destroys": answer.destroys,
        "creates": answer.creates,
        "moves": answer.moves,
        "evictions": answer.evictions,
        "proved_minimal": answer.proved_minimal,
        "orphans": [
            {"gpu": gpu_label(states[i]), "profile": place.profile, "start": place.start}
            for i, place in answer.orphans
        ],
        "reason": reason_document(answer.reason),
        "warnings": list(given.warnings),
    }


def _text(states: Sequence[GpuState], answer: PlanAnswer) -> str:
    lines = [
        f"orphan on GPU {states[i].label}: {place} (no compute instance, takes room)"
        for i, place in answer.orphans
    ]
    if answer.reason is not None:
        return "\n".join([*lines, reason_text(answer.reason)])
    proof = "proved minimal" if answer.proved_minimal else "not proved minimal"
    more = f", {answer.evictions} busy without a new place" if answer.evictions else ""
    lines.append(
        f"possible: {answer.destroys} destroyed, {answer.creates} created, "
        f"{answer.moves} moved{more}; {proof}"
    )
    for number, step in enumerate(answer.steps, 1):
        busy = ", busy" if step.was == "busy" else ""
        lines.append(f"  {number}. GPU {states[step.gpu].label}: {step.op} {step.placement}{busy}")
    for state, final in zip(states, answer.finals, strict=True):
        lines.append(f"  GPU {state.label} then: {final}")
    return "\n".join(lines)
